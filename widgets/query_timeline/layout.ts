// Where things are: state to geometry, in CSS pixels.
import type { Box } from "../page/drawing/scale.ts";
import type { BatchModel } from "./model.ts";

const ROWS = 220;
const STRIP = 44;
const ROW_MAX = 17;
const ROW_MIN = 4;

export const heightOf = (scale: number): number => (ROWS + 2 * STRIP + 62) * scale;

export interface Area {
  top: number;
  bottom: number;
}

export interface Layout {
  rows: Area;
  rate: Area;
  lag: Area;
}

/** A batch's row. */
export interface Row {
  i: number;
  y: number;
  h: number;
}

export interface Placed {
  rows: Row[];
  all: number; // batches on the screen, whether they have room or not
}

/** A value over the time of one batch. */
export type Step = readonly [left: number, right: number, value: number];

export function layout(b: Pick<Box, "scale" | "height">): Layout {
  const s = b.scale;
  const bottom = b.height - 20 * s;
  const lag = { top: bottom - STRIP * s, bottom };
  const rate = { top: lag.top - (STRIP + 8) * s, bottom: lag.top - 8 * s };
  return { rows: { top: 18 * s, bottom: rate.top - 8 * s }, rate, lag };
}

/** Place the batches on the screen, oldest first; when there are too many, the newest that have room. */
export function place(model: BatchModel, b: Pick<Box, "from" | "to" | "now" | "scale">, area: Area): Placed {
  const { start, end } = model.col;
  const [from, to] = [model.s(b.from), model.s(Math.min(b.to, b.now))];
  const all: number[] = [];
  for (let i = 0; i < model.n; i++) if (start[i] <= to && end[i] >= from) all.push(i);
  const room = Math.max(1, Math.floor((area.bottom - area.top) / (ROW_MIN * b.scale)));
  const shown = all.slice(-room);
  const h = Math.min(ROW_MAX * b.scale, (area.bottom - area.top) / Math.max(1, shown.length));
  return { rows: shown.map((i, k) => ({ i, y: area.top + k * h, h })), all: all.length };
}

export const clip = (b: Pick<Box, "left" | "right">, x: number): number => Math.max(b.left, Math.min(b.right, x));

/** Return the left and right end of a batch at a moment. */
export function across(model: BatchModel, b: Box, i: number, t: number): [number, number] {
  const { start, end } = model.col;
  return [clip(b, b.x(model.ms(start[i]))), clip(b, b.x(model.ms(Math.min(end[i], t))))];
}

/** Return the steps of a number, one per batch, each over the batch's own time. */
export function steps(model: BatchModel, b: Box, t: number, column: "in" | "out" | "lag"): Step[] {
  const { start, end } = model.col;
  const out: Step[] = [];
  let last = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < model.n; i++) {
    const value = model.flow(column, i, t);
    if (Number.isNaN(value)) continue;
    const [a, z] = [b.x(model.ms(Math.max(start[i], last))), b.x(model.ms(end[i]))];
    last = end[i];
    if (z >= b.left && a <= b.right) out.push([clip(b, a), clip(b, z), value]);
  }
  return out;
}
