// Which lanes there are, in which order and how high: rows to geometry without time or pixels.
import { type GroupModel, NOBODY, type Reader } from "./model.ts";
import { heldAt, isOnline, lagAt, session } from "./moment.ts";

const LANES_MAX = 30;
const SLOTS_MAX = 6; // rows of bars within a lane; with more they are thinner
export const HEAD = 34;
const GONE_MAX = 5; // of the lanes, when there are too many: for those that went last
const CAUSES = 40; // three lines of reasons
const EMPTY = 200;

export type Sort = "joined" | "lag" | "held" | "name";
export const SORTS: readonly Sort[] = ["joined", "lag", "held", "name"];

/** What the user, or Python, chose. */
export interface Choice {
  only: string;
  sort: Sort;
}

/** The row of each bar (its index) or wait ("wait 0") within a lane, and how many rows there are. */
export interface Rows {
  rows: Map<number | string, number>;
  n: number;
}

/** A lane; `reader` is its index + 1, or NOBODY. Heights at scale 1. */
export interface Lane extends Rows {
  reader: number;
  y: number;
  h: number;
}

export interface Plan {
  lanes: Lane[]; // from top to bottom, nobody's first
  of: Map<number, Lane>;
  bottom: number;
  shown: number; // readers with a lane
  all: number; // readers that were asked for
}

interface Stretch {
  key: number | string;
  start: number;
  end: number;
}

/** Give each stretch a row, so that what lasts at the same time is one below another. */
export function stacked(stretches: readonly Stretch[]): Rows {
  const ends: number[] = [];
  const rows = new Map<number | string, number>();
  for (const { key, start, end } of [...stretches].sort((p, q) => p.start - q.start)) {
    let row = ends.findIndex((last) => last <= start + 1e-6);
    if (row < 0) row = ends.push(0) - 1;
    ends[row] = end;
    rows.set(key, row);
  }
  return { rows, n: Math.max(1, ends.length) };
}

/** Return the readers that have a lane, in the order asked for: if too many, the last to go and then the busiest. */
export function chosen(model: GroupModel, { only, sort }: Choice, t: number): { shown: Reader[]; all: number } {
  const wanted = model.readers
    .filter((r) => r !== undefined)
    .filter((r) => r.name.toLowerCase().includes(only.toLowerCase()));
  const lag = (r: Reader) => (isOnline(r, t) ? lagAt(model, r.index, t, false)[0] || 0 : -1);
  const counts = new Map(wanted.map((r) => [r, heldAt(model, r.index, t).length]));
  const held = (r: Reader) => counts.get(r) ?? 0;
  const left = (r: Reader) => session(r, t)?.to ?? 0;
  const orders: Record<Sort, (p: Reader, q: Reader) => number> = {
    joined: (p, q) => p.index - q.index,
    lag: (p, q) => lag(q) - lag(p) || p.index - q.index,
    held: (p, q) => held(q) - held(p) || p.index - q.index,
    name: (p, q) => (p.name < q.name ? -1 : 1),
  };
  const offline = wanted.filter((r) => !isOnline(r, t)).sort((p, q) => left(q) - left(p));
  const gone = offline.slice(0, GONE_MAX);
  const busy = wanted.filter((r) => !gone.includes(r));
  busy.sort((p, q) => held(q) - held(p) || lag(q) - lag(p) || p.index - q.index);
  const shown = wanted.length > LANES_MAX ? [...gone, ...busy].slice(0, LANES_MAX) : wanted;
  return { shown: [...shown].sort(orders[sort]), all: wanted.length };
}

/** Return the rows of a lane. In nobody's lane, segments that wait are below those that are free. */
export function rowsOf(model: GroupModel, lane: number): Rows {
  const { start, end } = model.bar;
  const held = stacked(model.barsOf(lane).map((bar) => ({ key: bar, start: start[bar], end: end[bar] })));
  if (lane !== NOBODY || !model.waits.length) return held;
  const waiting = stacked(model.waits.map((wait, k) => ({ ...wait, key: `wait ${k}` })));
  for (const [key, row] of waiting.rows) held.rows.set(key, held.n + row);
  return { rows: held.rows, n: held.n + waiting.n };
}

/** Return the lanes. They are those of the newest moment, so they stay where they are while the user looks back. */
export function planOf(model: GroupModel, choice: Choice): Plan {
  const { shown, all } = chosen(model, choice, model.facts.now_s ?? 0);
  const readers = [NOBODY, ...shown.map((r) => r.index + 1)];
  const rows = readers.map((reader) => ({ reader, ...rowsOf(model, reader) }));
  const total = rows.reduce((sum, lane) => sum + Math.min(SLOTS_MAX, lane.n), 0);
  const row = total <= 14 ? 15 : total <= 28 ? 12 : total <= 60 ? 8 : 5;
  const least = rows.length <= 14 ? 22 : 15;
  let bottom = HEAD;
  const lanes = rows.map((lane): Lane => {
    const h = Math.max(least, row * Math.min(SLOTS_MAX, lane.n) + 5);
    bottom += h;
    return { ...lane, h, y: bottom - h };
  });
  return { lanes, of: new Map(lanes.map((l) => [l.reader, l])), bottom, shown: shown.length, all };
}

/** Return the height of the view at scale 1. */
export const heightOf = (plan: Plan | null): number => (plan?.bottom ?? EMPTY) + CAUSES + 30;

/** Return where the tips of the reasons' ticks are, at scale 1. */
export const reasonsBottom = (plan: Plan): number => plan.bottom + CAUSES + 4;
