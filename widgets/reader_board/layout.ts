// Where things are at a moment: lanes and rows to pixels.
import type { Box } from "../page/drawing/scale.ts";
import { type Labelled, type PlacedLabel, placeLabels } from "../page/drawing/text.ts";
import { type GroupModel, type Move, NOBODY, type Session } from "./model.ts";
import { type Lane, type Plan, reasonsBottom } from "./plan.ts";

const MOVES_MAX = 300;
const REASONS_MAX = 400;
const REASON_LINES = 3;
const SAME_S = 0.002; // times of one event that two rows carry differ by less

export type Rectangle = readonly [x: number, y: number, w: number, h: number];

/** What geometry needs to know of the time axis. */
type Axis = Pick<Box, "x" | "left" | "right" | "scale">;

/** Return the rectangle of what lasted from `start` to `end`, clipped to the screen, or null where it is outside. */
export function rectangle(
  model: GroupModel,
  b: Axis,
  lane: Lane,
  { key, start, end }: { key: number | string; start: number; end: number },
  t: number,
): Rectangle | null {
  const s = b.scale;
  const x0 = Math.max(b.left, b.x(model.ms(start)));
  const x1 = Math.min(b.right, b.x(model.ms(Math.min(end, t))));
  if (start > t || x1 < b.left || x0 > b.right) return null;
  const h = (lane.h - 5) / lane.n;
  const gap = h > 6 ? 1.5 : h > 3 ? 0.5 : 0;
  const y = (lane.y + 2.5 + h * (lane.rows.get(key) ?? 0)) * s;
  return [x0, y, Math.max(1, x1 - x0), Math.max(1, (h - gap) * s)];
}

export function barRectangle(model: GroupModel, b: Axis, lane: Lane, bar: number, t: number): Rectangle | null {
  return rectangle(model, b, lane, { key: bar, start: model.bar.start[bar], end: model.bar.end[bar] }, t);
}

/** Return the ends of a stretch of time on the screen until a moment, or null if none of it is there. */
export function across(
  model: GroupModel,
  b: Axis,
  { from, to }: Pick<Session, "from" | "to">,
  t: number,
): [x0: number, x1: number] {
  return [Math.max(b.left, b.x(model.ms(from))), Math.min(b.right, b.x(model.ms(Math.min(to, t))))];
}

/** Return where the next bar begins in the row of one of nobody's bars, or the right end of the lanes. */
export function nextStart(model: GroupModel, b: Axis, lane: Lane, bar: number, t: number): number {
  const { start, end } = model.bar;
  const row = lane.rows.get(bar);
  let next = b.right;
  for (const other of model.barsOf(NOBODY))
    if (lane.rows.get(other) === row && start[other] >= end[bar] && start[other] <= t)
      next = Math.min(next, b.x(model.ms(start[other])));
  return next;
}

/** Return the checkpoints on the screen, in the order in which they were asked for. */
export function checkpointsOn(model: GroupModel, b: Axis, t: number): number[] {
  const { state, asked, ended } = model.check;
  const found: number[] = [];
  for (let c = 0; c < model.store.tables.checkpoints.n; c++) {
    if (!state[c] || asked[c] > t) continue;
    if (b.x(model.ms(Math.min(ended[c], t))) >= b.left && b.x(model.ms(asked[c])) <= b.right) found.push(c);
  }
  return found;
}

/** Return whether there are too many checkpoints to draw everything of each. */
export const isCrowded = (checkpoints: readonly number[], b: Axis): boolean =>
  checkpoints.length > (b.right - b.left) / 9;

/** Return whether there are so many that their lines would cover the lanes. */
export const isCovered = (checkpoints: readonly number[], b: Axis): boolean =>
  checkpoints.length > (b.right - b.left) / 4;

/** Return the moves on the screen, the newest of very many. */
export function movesOn(model: GroupModel, b: Axis, t: number): Move[] {
  const list = model.moves.filter(
    ([time, left]) => time <= t && b.x(model.ms(time)) >= b.left && b.x(model.ms(left)) <= b.right,
  );
  return list.slice(-MOVES_MAX);
}

/** Where a connector starts and ends. */
export type Connector = readonly [x0: number, y0: number, x1: number, y1: number];

/** Return the connector of a move, or null if one of its lanes is not drawn. */
export function connector(model: GroupModel, b: Axis, { of }: Plan, move: Move, t: number): Connector | null {
  const [time, left, , number, , from, to, , , , before] = move;
  const [source, target] = [of.get(from), of.get(to)];
  if (time > t || !source || !target) return null;
  const { start, end, number: numbers } = model.bar;
  const ended = from ? left : time;
  const near = (p: number, q: number) => Math.abs(p - q) < SAME_S;
  const mine = from && before.length ? before : [number];
  const old = model.barsOf(from).find((bar) => near(end[bar], ended) && mine.includes(numbers[bar]));
  const next = model.barsOf(to).find((bar) => near(start[bar], time) && numbers[bar] === number);
  const middle = (lane: Lane, bar: number | undefined) => {
    const r = bar === undefined ? null : barRectangle(model, b, lane, bar, Number.POSITIVE_INFINITY);
    return r ? r[1] + r[3] / 2 : (lane.y + lane.h / 2) * b.scale;
  };
  return [b.x(model.ms(ended)), middle(source, old), b.x(model.ms(time)), middle(target, next)];
}

/** Return the ticks of the moves on the screen, newest first, with their reasons: whole, or only what moved. */
export function reasonsOn(model: GroupModel, b: Axis, t: number): Labelled[] {
  const labels: Labelled[] = [];
  for (let k = model.moves.length - 1; k >= 0 && labels.length < REASONS_MAX; k--) {
    const move = model.moves[k];
    const x = b.x(model.ms(move[0]));
    if (move[0] > t || move[5] === move[6] || x < b.left || x > b.right) continue;
    labels.push({ x, forms: [model.moveText(move), model.moveTitle(move)] });
  }
  return labels;
}

/** Place the reasons of moves. What has no room is read on hover, with the arrow keys, and in `.words`. */
export function placeReasons(
  model: GroupModel,
  b: Axis & Pick<Box, "width">,
  t: number,
  widthOf: (text: string) => number,
): PlacedLabel[] {
  const area = { left: b.left, right: b.width - 4, lines: REASON_LINES, least: 3.5 * b.scale };
  return placeLabels(reasonsOn(model, b, t), area, widthOf);
}

export const reasonsY = (plan: Plan, b: Axis): number => reasonsBottom(plan) * b.scale;

/** The columns of the gutter: name, state, held and fair share, unread bytes (which end at their x). */
export interface Gutter {
  columns: readonly [number, number, number, number];
  widths: readonly [number, number, number, number];
}

export function gutterOf(b: Pick<Box, "right" | "width" | "scale">): Gutter {
  const x = b.right + 8 * b.scale;
  const room = b.width - x - 4;
  const columns = [x, x + room * 0.27, x + room * 0.53, b.width - 4] as const;
  const until = (k: number) => columns[k + 1] - columns[k] - 4;
  return { columns, widths: [until(0), until(1), room * 0.22, room * 0.3] };
}
