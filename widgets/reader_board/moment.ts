// What was so at a moment of the past: who was online, held what, and had still to pass which checkpoint.
import { plural } from "../page/drawing/format.ts";
import { type GroupModel, NOBODY, type Reader, type Session, STATES } from "./model.ts";

const OWED_MAX = 3; // checkpoints that are named

/** Return the session that a reader began last. */
export const session = (reader: Reader, t: number): Session | undefined => reader.online.findLast((s) => s.from <= t);

export const isOnline = (reader: Reader, t: number): boolean => (session(reader, t)?.to ?? -1) > t;

/** Return the bars of what a reader holds. */
export const heldAt = (model: GroupModel, reader: number, t: number): number[] =>
  model.barsOf(reader + 1).filter((bar) => model.isOpen(bar, t));

/** Return the bars of what nobody has. */
export const freeAt = (model: GroupModel, t: number): number[] =>
  model.barsOf(NOBODY).filter((bar) => model.isOpen(bar, t));

/** Return the newest checkpoints that a reader has still to pass. */
export function owes(model: GroupModel, reader: number, t: number): number[] {
  const { state, asked, ended } = model.check;
  const found: number[] = [];
  for (let c = model.store.tables.checkpoints.n - 1; c >= 0 && found.length < OWED_MAX; c--) {
    if (!state[c] || asked[c] > t || ended[c] <= t) continue;
    if (waitsFor(model, c, reader, t)) found.push(c);
  }
  return found;
}

/** Return whether a checkpoint waits for a reader. */
export function waitsFor(model: GroupModel, c: number, reader: number, t: number): boolean {
  const owed = model.store.tables.owed.col;
  if (!model.owedOf(c).some((k) => owed.reader[k] === reader)) return false;
  const passes = model.store.tables.passes.col;
  return !model.passesOf(c).some((k) => passes.reader[k] === reader && passes.t[k] <= t);
}

/** Return what a reader does, in a word; "" before it joined. */
export function stateWord(model: GroupModel, reader: Reader, t: number): string {
  const s = session(reader, t);
  if (!s) return "";
  if (s.to <= t) return s.how === "killed" ? "killed" : "offline";
  if (owes(model, reader.index, t).length) return "checkpoint";
  return heldAt(model, reader.index, t).length ? "reading" : "idle";
}

export const isGone = (word: string): boolean => word === "killed" || word === "offline";

/** Return a reader's unread bytes and since when the oldest of them is unread, as last measured, or NaN. */
export function lagAt(
  model: GroupModel,
  reader: number,
  t: number,
  isNewest: boolean,
): [unread: number, since: number] {
  if (isNewest) {
    const { unread, behind } = model.store.tables.readers.col;
    return [unread[reader], behind[reader]];
  }
  const { t: at, unread, behind } = model.store.tables.lags.col;
  const row = model.lagsOf(reader).findLast((k) => !(at[k] > t));
  return row === undefined ? [Number.NaN, Number.NaN] : [unread[row], behind[row]];
}

/** Return how many segments each reader that is online should hold. */
export function fairShare(model: GroupModel, t: number): number {
  let [segments, online] = [0, 0];
  for (let lane = 0; lane <= model.readers.length; lane++)
    for (const bar of model.barsOf(lane)) segments += model.isOpen(bar, t) ? 1 : 0;
  for (const reader of model.readers) online += reader && isOnline(reader, t) ? 1 : 0;
  return online ? segments / online : Number.NaN;
}

export const checkpointState = ({ check }: GroupModel, c: number, t: number): string =>
  check.ended[c] > t ? "running" : STATES[check.state[c]];

/** Return how many readers have passed a checkpoint. */
export function passedBy(model: GroupModel, c: number, t: number): number {
  const { t: at } = model.store.tables.passes.col;
  return model.passesOf(c).filter((k) => at[k] <= t).length;
}

const ENDED_AS: Readonly<Record<string, string>> = { completed: "✓", cleared: "failed", reset: "dropped by reset" };

/** Return what the label of a checkpoint says next to its number. */
export function checkpointWord(model: GroupModel, c: number, t: number): string {
  const word = checkpointState(model, c, t);
  if (word === "running") return `${passedBy(model, c, t)} of ${model.check.of[c]}`;
  return ENDED_AS[word] ?? word;
}

export function summary(model: GroupModel, t: number): string {
  const readers = model.readers.filter((r) => r !== undefined).filter((r) => session(r, t));
  const online = readers.filter((r) => isOnline(r, t)).length;
  const free = freeAt(model, t).length;
  const group = model.facts.group || "no group";
  return `${group}: ${online} of ${plural(readers.length, "reader")} online, ${plural(free, "segment")} that nobody has`;
}
