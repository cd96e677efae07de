// Where things are: state to geometry, in CSS pixels.
import type { Area, Box } from "../page/drawing/scale.ts";
import type { BatchModel } from "./model.ts";

const ROWS = 220;
const STRIP = 44;
const ROW_MAX = 17;
const ROW_MIN = 5.5;

export const heightOf = (scale: number): number => (ROWS + 2 * STRIP + 62) * scale;

export interface Layout {
  rows: Area;
  rate: Area;
  lag: Area;
}

/** Where a batch is: a row of its own, or, where there are too many, a bar that is as high as it took long. */
export interface Row {
  i: number;
  y: number;
  h: number;
}

export interface Placed {
  rows: Row[];
  all: number; // batches on the screen, drawn or not
  newest: number; // the last of them, or -1
  longest: number; // milliseconds of the highest bar; 0 where batches have rows
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

/** Place the batches on the screen, oldest first: in rows while there is room, else as bars side by side. */
export function place(model: BatchModel, b: Box, area: Area): Placed {
  const { start, end } = model.col;
  const [from, to] = [model.s(b.from), model.s(Math.min(b.to, b.now))];
  const all: number[] = [];
  for (let i = 0; i < model.n; i++) if (start[i] <= to && end[i] >= from) all.push(i);
  const height = area.bottom - area.top;
  const counted = { all: all.length, newest: all.at(-1) ?? -1 };
  if (all.length * ROW_MIN * b.scale > height) return { ...counted, ...bars(model, b, area, all) };
  const h = Math.min(ROW_MAX * b.scale, height / Math.max(1, all.length));
  return { ...counted, rows: all.map((i, k) => ({ i, y: area.top + k * h, h })), longest: 0 };
}

/** Return a bar for each batch. Of those that begin in one pixel, the one that took longest has it. */
function bars(model: BatchModel, b: Box, area: Area, batches: number[]): Pick<Placed, "rows" | "longest"> {
  const t = model.s(b.now);
  const drawn = new Map<number, number>();
  for (const i of batches) {
    const x = Math.floor(across(model, b, i, t)[0]);
    const other = drawn.get(x);
    if (other === undefined || model.duration(i, t) > model.duration(other, t)) drawn.set(x, i);
  }
  const kept = [...drawn.values()]; // in order of their columns
  const longest = kept.reduce((most, i) => Math.max(most, model.duration(i, t)), 1);
  const rows = kept.map((i) => {
    const h = (model.duration(i, t) / longest) * (area.bottom - area.top);
    return { i, y: area.bottom - h, h };
  });
  return { rows, longest };
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
