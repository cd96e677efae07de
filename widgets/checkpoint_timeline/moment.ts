// What was so at a moment of the past: which phases parts had begun, who had passed, what held a checkpoint up.
import { plural } from "../page/drawing/format.ts";
import { type CheckpointModel, PHASES_MAX, STATES } from "./model.ts";

const NEVER = Number.POSITIVE_INFINITY;
const NAMES_MAX = 3;

/** A phase of a part; `kind` is its place among the phases of the system. */
export interface Phase {
  kind: number;
  start: number;
  end: number;
}

/** Return the checkpoints that had begun. */
export function known({ n, col }: CheckpointModel, t: number): number[] {
  const found: number[] = [];
  for (let c = 0; c < n; c++) if (col.state[c] && col.start[c] <= t) found.push(c);
  return found;
}

export const stateAt = ({ col }: CheckpointModel, c: number, t: number): string =>
  col.end[c] > t ? "running" : STATES[col.state[c]];

/** Return the seconds that a checkpoint took, or has taken so far. */
export const spent = ({ col }: CheckpointModel, c: number, t: number): number => Math.min(col.end[c], t) - col.start[c];

/** Return the phases that a part had begun. */
export function phasesOf(model: CheckpointModel, part: number, t: number): Phase[] {
  const { n, col } = model.store.tables.phases;
  const found: Phase[] = [];
  const first = PHASES_MAX * part;
  for (let k = first; k < first + PHASES_MAX && k < n; k++)
    if (col.told[k] && col.start[k] <= t) found.push({ kind: k - first, start: col.start[k], end: col.end[k] });
  return found;
}

/** Return when a part passed, as far as phases that it had begun say so, or infinity. */
export const passedAt = (model: CheckpointModel, part: number, t: number): number =>
  phasesOf(model, part, t).findLast(({ kind }) => model.phase(kind)?.[4])?.end ?? NEVER;

export const hasPassed = (model: CheckpointModel, part: number, t: number): boolean => passedAt(model, part, t) <= t;

/** Return how many parts had passed. */
export const doneAt = (model: CheckpointModel, c: number, t: number): number =>
  model.partsOf(c).filter((part) => hasPassed(model, part, t)).length;

/** Return where a part was, "in segment #4", or which barriers it had not received. */
export function whereOf(model: CheckpointModel, part: number, t: number): string {
  const waiting = model.facts.waiting?.[part] ?? "";
  if (!model.isJob || hasPassed(model, part, t)) return model.passedAs(part)?.where ?? waiting;
  const { at, channel } = model.tick;
  const ticks = model.ticksOf(part);
  const missing = ticks.filter((i) => at[i] > t).map((i) => channel[i]);
  if (!missing.length || missing.length === ticks.length) return waiting;
  return `without the barrier of channel${missing.length > 1 ? "s" : ""} ${missing.sort((p, q) => p - q).join(", ")}`;
}

/** Return what a part that has not passed waits for. */
export const waitsFor = (model: CheckpointModel, part: number, t: number): string =>
  model.phase(phasesOf(model, part, t).at(-1)?.kind)?.[3] ?? "has not begun";

/** Return a checkpoint's state in a word, or how many have passed. */
export function wordAt(model: CheckpointModel, c: number, t: number): string {
  const word = stateAt(model, c, t);
  if (word === "running") return `${doneAt(model, c, t)} of ${model.partsOf(c).length}`;
  return model.endOf(c) ?? word;
}

const listed = (names: readonly string[]): string => {
  const more = names.length - NAMES_MAX;
  return `${names.slice(0, NAMES_MAX).join(", ")}${more > 0 ? ` and ${more} more` : ""}`;
};

/** Return a duration in words: "1.8 s", "320 ms". */
const spelled = (s: number): string =>
  Math.round(1000 * s) >= 1000 ? `${s.toFixed(1)} s` : `${Math.round(1000 * s)} ms`;

/** Return what held a checkpoint up: "held up by r3: 1.8 s in segment #4, waits for its next read". */
export function heldUp(model: CheckpointModel, c: number, t: number): string {
  const word = stateAt(model, c, t);
  if (word === "completed") return wasHeldUp(model, c, t);
  const waiting = model.partsOf(c).filter((part) => !hasPassed(model, part, t));
  const names = listed(waiting.map((part) => model.rowName(part)));
  const after = spelled(spent(model, c, t));
  if (word !== "running")
    return `${wordAt(model, c, t)} after ${after}${waiting.length ? `; ${names} had not passed` : ""}`;
  if (waiting.length !== 1) return `${after} so far, waits for ${names}`;
  const place = whereOf(model, waiting[0], t);
  return `held up by ${names}: ${after} so far${place ? ` ${place}` : ""}, ${waitsFor(model, waiting[0], t)}`;
}

function wasHeldUp(model: CheckpointModel, c: number, t: number): string {
  const when = (part: number) => passedAt(model, part, t);
  const last = [...model.partsOf(c)].sort((p, q) => when(q) - when(p))[0];
  if (last === undefined) return "nobody had to pass it";
  const took = spelled(when(last) - model.col.start[c]);
  const { where, skipped } = model.passedAs(last) ?? { where: "", skipped: "" };
  if (skipped) return `held up by ${model.rowName(last)}: ${took}, until it ${skipped}`;
  return `held up by ${model.rowName(last)}: ${took}${where ? ` ${where}` : ""}${model.facts.until ?? ""}`;
}

export function summary(model: CheckpointModel, t: number): string {
  const all = known(model, t);
  const completed = all.filter((c) => stateAt(model, c, t) === "completed").length;
  const requests = all.filter((c) => !model.col.number[c]).length;
  const asked = `${plural(all.length - requests, "checkpoint")}, ${completed} completed`;
  const failed = requests ? `, ${plural(requests, "failed request")}` : "";
  const last = all.at(-1);
  const newest = last === undefined ? "" : `; ${model.labelOf(last)}: ${heldUp(model, last, t)}`;
  return `${model.facts.source || "no group"}: ${asked}${failed}${newest}`;
}

/** Return the times (ms) at which checkpoints began and ended. */
export const events = (model: CheckpointModel): number[] =>
  known(model, NEVER)
    .flatMap((c) => [model.col.start[c], model.col.end[c]])
    .filter(Number.isFinite)
    .map((t) => model.ms(t));
