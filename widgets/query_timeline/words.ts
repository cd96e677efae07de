// What the timeline says of a mark: in the tooltip, aloud, in the legend.

import type { Mark } from "../page/data/marks.ts";
import { VERMILION } from "../page/drawing/colours.ts";
import { bytes, count, seconds, wallTime } from "../page/drawing/format.ts";
import type { Theme } from "../page/drawing/theme.ts";
import { lineBreak, type Piece, pairs, piece, pieces, soft, strong } from "../page/elements.ts";
import type { LegendEntry } from "../page/spec.ts";
import type { BatchMark, BatchModel, RunMark } from "./model.ts";
import type { State } from "./state.ts";

const YELLOW = "#F0E442";

const isRun = (mark: Mark): mark is RunMark => mark.kind === "run";

export function tip(model: BatchModel, state: State, mark: Mark): Piece[] | null {
  if ((mark as BatchMark | RunMark).query !== model.facts.query) return null;
  if (isRun(mark)) return runTip(model, mark);
  const i = model.indexOf(mark);
  return i < 0 || i >= model.n ? null : batchTip(model, i, state.t);
}

function runTip(model: BatchModel, mark: RunMark): Piece[] {
  const [at, what, run, how, cause, kind] = model.runs[mark.run];
  const title = strong(what === "end" ? `run ${run}: ${how}` : `run ${run} began`);
  const when = `${seconds(1000 * at)} ${wallTime(mark.time)}`;
  return cause ? [title, lineBreak, when, lineBreak, `${cause} `, soft(`(${kind})`)] : [title, lineBreak, when];
}

function batchTip(model: BatchModel, i: number, t: number): Piece[] {
  const running = model.isRunning(i, t);
  const start = model.col.start[i];
  const rows: [Piece | Piece[], string][] = [["began", `${seconds(1000 * start)} ${wallTime(model.ms(start))}`]];
  for (const [[, words, colour], v] of model.spent(i, t))
    rows.push([[piece("span", { style: `color:${colour}` }, "■"), ` ${words}`], `${count(v)} ms`]);
  rows.push([running ? "so far" : "together", `${count(model.duration(i, t))} ms`]);
  const [amount, lag] = [model.flow("rows", i, t), model.flow("lag", i, t)];
  if (!Number.isNaN(amount)) rows.push(["rows", count(amount)]);
  if (!Number.isNaN(lag)) rows.push(["lag at its end", bytes(lag)]);
  const again = model.isReplayed(i) ? `, replayed (attempt ${model.col.attempt[i]})` : "";
  const state = `: ${running ? "running" : model.outcome(i)}${again}`;
  return pieces(strong(`batch ${model.col.batch[i]}`), state, pairs(rows, { class: "n" }));
}

export function say(model: BatchModel, state: State, mark: Mark): string {
  if (isRun(mark)) {
    const [, , run, how] = model.runs[mark.run];
    return `run ${run} ${how || "began"}`;
  }
  const i = model.indexOf(mark);
  if (i < 0) return "";
  const parts = model.spent(i, state.t).map(([[, words], v]) => `${words} ${count(v)} ms`);
  const title = `batch ${model.label(i)}${model.isReplayed(i) ? ", replayed" : ""}, ${model.outcome(i)}`;
  return `${title}, ${count(model.duration(i, state.t))} ms: ${parts.join(", ")}`;
}

export function legend(model: BatchModel, theme: Theme): LegendEntry[] {
  const told = (model.facts.phases ?? []).filter(([name]) => (model.facts.told ?? []).includes(name));
  const entries = told.map(([, words, colour]): LegendEntry => [colour, words, colour === YELLOW ? "edged" : ""]);
  let [replayed, cutOff] = [false, false];
  for (let i = 0; i < model.n; i++) {
    replayed ||= model.isReplayed(i);
    cutOff ||= model.isCutOff(i);
  }
  if (replayed) entries.push([theme.text, "replayed", "double"]);
  if (cutOff) entries.push([VERMILION, "cut off", ""]);
  return entries;
}

export function leftOut({ rows, all }: State): string {
  return rows.length < all ? `the longest ${count(rows.length)} of ${count(all)} drawn: zoom in` : "";
}
