// What the timeline says of a mark: in the tooltip, aloud, in the legend.

import { isCut, type Mark } from "../page/data/marks.ts";
import { VERMILION } from "../page/drawing/colours.ts";
import { count, seconds, wallTime } from "../page/drawing/format.ts";
import type { Theme } from "../page/drawing/theme.ts";
import { lineBreak, type Piece, pairs, soft, strong } from "../page/elements.ts";
import type { LegendEntry } from "../page/spec.ts";
import { BARS_MAX, brief } from "./layout.ts";
import type { CheckpointModel, RowMark } from "./model.ts";
import { doneAt, hasPassed, heldUp, known, phasesOf, spent, stateAt, whereOf } from "./moment.ts";
import { SYMBOLS } from "./paint/bars.ts";
import { blue, phaseColour } from "./paint/scene.ts";
import type { State } from "./state.ts";

type Row = [name: string, value: string];

export function tip(model: CheckpointModel, t: number, mark: Mark): Piece[] | null {
  if (model.isRow(mark)) return rowTip(model, mark.part, t);
  const c = known(model, t).find((k) => model.isMine(mark, k));
  if (c === undefined) return null;
  const word = stateAt(model, c, t);
  const start = model.col.start[c];
  const rows: Row[] = [
    ["asked", `${seconds(1000 * start)} ${wallTime(model.ms(start))}`],
    ["passed", `${doneAt(model, c, t)} of ${model.partsOf(c).length}`],
  ];
  if (word !== "running") rows.push([word, `after ${brief(spent(model, c, t))}`]);
  for (const { low, high } of model.gapsOf(c)) rows.push(["gap", `keys ${low} to ${high}`]);
  const title = strong(model.labelOf(c));
  return [title, ` ${word}`, lineBreak, soft(model.nameOf(c)), pairs(rows), heldUp(model, c, t)];
}

function rowTip(model: CheckpointModel, part: number, t: number): Piece[] {
  const rows = phasesOf(model, part, t).map(({ kind, start, end }): Row => {
    const [, words, , waits] = model.phase(kind) ?? ["", "", "", ""];
    const lasting = `${seconds(1000 * (t - start))} so far, ${waits}`;
    return [words, end <= t ? `${count(Math.round(1000 * (end - start)))} ms` : lasting];
  });
  const why = hasPassed(model, part, t) && model.passedAs(part)?.skipped;
  if (why) rows.push([model.isJob ? "so" : "counts as passed", why]);
  const place = whereOf(model, part, t);
  if (place) rows.push([model.isJob ? "so" : "was", place]);
  const { at, channel } = model.tick;
  for (const i of model.ticksOf(part))
    if (at[i] <= t) rows.push([`barrier on channel ${channel[i]}`, `at ${seconds(1000 * at[i])}`]);
  return [strong(model.rowName(part)), pairs(rows)];
}

export function say(model: CheckpointModel, t: number, mark: Mark): string {
  if (mark.kind === "reader" || mark.kind === "task") {
    const { name, part } = mark as Partial<RowMark>;
    const state = part === undefined ? "" : hasPassed(model, part, t) ? "passed" : "has not passed";
    return `${name}: ${state}`;
  }
  const c = known(model, t).find((k) => model.isMine(mark, k));
  if (c === undefined) return "";
  const what = `${isCut(mark) ? "cut of " : ""}${model.labelOf(c)}`;
  const passed = `${doneAt(model, c, t)} of ${model.partsOf(c).length} passed`;
  return `${what}, ${stateAt(model, c, t)}, ${passed}, ${heldUp(model, c, t)}`;
}

/** Return the states of the bars and the phases of the rows that are shown. */
export function legend(model: CheckpointModel, { t, bars, rows }: State, theme: Theme): LegendEntry[] {
  const states = new Set(bars.map(({ c }) => stateAt(model, c, t)));
  const swatches: LegendEntry[] = [
    [blue(theme), "completed", ""],
    [blue(theme), "running", "ring"],
    [VERMILION, "failed", ""],
    [theme.none, "cancelled", ""],
    [theme.soft, "unknown", "hatch"],
  ];
  const entries = swatches
    .filter(([, word]) => states.has(word))
    .map(([colour, word, kind]): LegendEntry => [colour, `${word} ${SYMBOLS[word]}`, kind]);
  if (rows.some(({ part }) => model.betweenOf(part))) entries.push([theme.text, "between cut and barrier", "hatch"]);
  const kinds = new Set(rows.flatMap(({ part }) => phasesOf(model, part, t).map(({ kind }) => kind)));
  for (const kind of [...kinds].sort()) {
    const [name, words] = model.phase(kind) ?? ["finished", ""];
    if (name !== "finished") entries.push([phaseColour(model, theme, kind), words, "line"]);
  }
  return entries;
}

export function leftOut(model: CheckpointModel, t: number): string {
  const n = known(model, t).length;
  const older = n > BARS_MAX ? `the last ${BARS_MAX} of ${count(n)} drawn` : "";
  return [older, model.facts.left_out].filter(Boolean).join("; ");
}
