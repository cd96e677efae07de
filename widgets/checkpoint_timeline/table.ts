// What the right of the picture and its long sentences say, in words below a narrow view.
import { VERMILION } from "../page/drawing/colours.ts";
import { columns, type Piece, piece, swatch } from "../page/elements.ts";
import type { Clock } from "../page/time/clock.ts";
import type { CheckpointModel } from "./model.ts";
import { heldUp, known, stateAt } from "./moment.ts";
import { positionWords } from "./paint/cut.ts";
import { chosen, type State } from "./state.ts";

/** Describe what held the chosen checkpoint up, and its cut, or what is known about a job's instead. */
export function table(model: CheckpointModel, state: State, pin: Clock["pin"]): Piece[] {
  const { t } = state;
  const c = chosen(model, state, pin, known(model, t));
  if (c === undefined) return [];
  const sentence = (text: string) => piece("p", {}, text);
  const found = [sentence(heldUp(model, c, t))];
  const word = stateAt(model, c, t);
  const positions = model.piecesOf(c);
  if (model.isJob && !positions.length) {
    if (word !== "running") found.push(...model.aboutOf(c).filter(Boolean).map(sentence));
    return found;
  }
  if (word !== "completed" || !positions.length)
    return [...found, sentence(word === "running" ? "the cut, when all passed" : "no cut")];
  if (positions.every((p) => Number.isNaN(p.low))) found.push(sentence("keys not known: observe the stream too"));
  const gaps = model
    .gapsOf(c)
    .map(({ low, high }) => [piece("span", {}, swatch(VERMILION), "gap"), `keys ${low}–${high}: in no position`]);
  const rows = positions.map((p) => [`${p.stream} #${p.number}`, positionWords(p)]);
  return [...found, columns(["cut", "position"], [...gaps, ...rows])];
}
