// Where things are: state to geometry, in CSS pixels.
//
// There may be a hundred thousand segments. Functions that go through all of them read the columns once and count
// through typed arrays, because plain arrays and for-of take two to five times as long.
import { type Area, type Box, yOf } from "../page/drawing/scale.ts";
import { type PlacedLabel, placeLabels } from "../page/drawing/text.ts";
import type { SegmentModel } from "./model.ts";

const LANE = 40; // three lines of causes
const STRIP = 48;
const MAP = 280;
const CAUSE_LINES = 3;

/** The height of all of it: map, lane of causes, strip of rates, axes. */
export const heightOf = (scale: number): number => (MAP + LANE + STRIP + 52) * scale;

export interface Layout {
  map: Area;
  lane: Area;
  strip: Area;
}

export type Rectangle = readonly [x: number, y: number, w: number, h: number];

export function layout(b: Pick<Box, "scale" | "height">): Layout {
  const s = b.scale;
  const bottom = b.height - 22 * s;
  const strip = { top: bottom - STRIP * s, bottom };
  const lane = { top: strip.top - (LANE + 3) * s, bottom: strip.top - 3 * s };
  return { map: { top: 18 * s, bottom: lane.top - 3 * s }, lane, strip };
}

/** Return the segments on the screen at the clock's time. */
export function visible(model: SegmentModel, b: Pick<Box, "from" | "to" | "now">): Uint32Array {
  const { start, end } = model.seg;
  const [from, to] = [model.s(b.from), model.s(Math.min(b.to, b.now))];
  const { n } = model;
  const out = new Uint32Array(n);
  let size = 0;
  for (let i = 0; i < n; i++) if (start[i] <= to && end[i] >= from) out[size++] = i;
  return out.subarray(0, size);
}

/** Return those of the segments that are open at a moment. */
export function opened(model: SegmentModel, list: Uint32Array, t: number): Uint32Array {
  const { end } = model.seg;
  const out = new Uint32Array(list.length);
  let size = 0;
  for (let k = 0; k < list.length; k++) if (end[list[k]] > t) out[size++] = list[k];
  return out.subarray(0, size);
}

/** Return a segment's rectangle at a moment; a sealed one leaves a gap to its right. */
export function rectangle(model: SegmentModel, b: Box, map: Area, i: number, t: number): Rectangle {
  const { start, end, low, high } = model.seg;
  const x0 = Math.max(b.left, b.x(model.ms(start[i])));
  const x1 = Math.min(b.right, b.x(model.ms(Math.min(end[i], t))));
  const y0 = yOf(map, high[i]);
  const y1 = yOf(map, low[i]);
  const inset = y1 - y0 > 5 ? 1 : 0;
  const gap = end[i] <= t && x1 - x0 > 4 ? 1 : 0;
  return [x0, y0 + inset / 2, Math.max(0.5, x1 - x0 - gap), Math.max(0.5, y1 - y0 - inset)];
}

/** Return the edge below the part of a rectangle that is in tier 2, from what is not truncated on. */
export function tierEdge([x, y, w, h]: Rectangle, from: number, until: number, scale: number): Rectangle | null {
  const left = Math.max(x, from);
  const right = Math.min(x + w, until);
  const height = Math.min(4 * scale, h / 3);
  return right > left ? [left, y + h - height, right - left, height] : null;
}

/** Of very many segments, keep one for each line that there is room for. */
export function thinned(model: SegmentModel, open: Uint32Array, map: Area, row: number): number[] {
  if (open.length < 500) return [...open];
  const { low, high } = model.seg;
  const lines: number[] = [];
  for (let k = 0; k < open.length; k++) {
    const i = open[k];
    lines[Math.floor((yOf(map, (low[i] + high[i]) / 2) - map.top) / row)] ??= i;
  }
  return lines.filter((i) => i !== undefined);
}

/** Return the scales on the screen [x, cause], newest first, per pixel at most as many as there are lines for causes. */
export function scaleTicks(model: SegmentModel, b: Box, t: number): [x: number, cause: string][] {
  const out: [number, string][] = [];
  let [last, same] = [Number.POSITIVE_INFINITY, 0];
  const { scales } = model;
  for (let k = scales.length - 1; k >= 0; k--) {
    const [at, cause] = scales[k];
    const x = b.x(model.ms(at));
    if (at > t || x > b.right || x < b.left) continue;
    same = last - x < 1 ? same + 1 : 0;
    if (same >= CAUSE_LINES) continue;
    out.push([x, cause]);
    if (!same) last = x;
  }
  return out;
}

/** Place causes, newest first; each is whole, or only the scale without its reason. */
export function placeCauses(
  ticks: readonly (readonly [x: number, cause: string])[],
  { left, right, scale }: { left: number; right: number; scale: number },
  widthOf: (text: string) => number,
): PlacedLabel[] {
  const labels = ticks.map(([x, cause]) => ({ x, forms: [cause, cause.split(": ")[0]] }));
  return placeLabels(labels, { left, right, lines: CAUSE_LINES, least: 3.5 * scale }, widthOf);
}

export const causeHeight = (lane: Area): number => (lane.bottom - 7 - lane.top) / CAUSE_LINES;

/** Return the rate of the busiest segment per pixel, from the left end of the map. */
export function busiest(model: SegmentModel, b: Box, list: Uint32Array, t: number): Float32Array {
  const left = Math.floor(b.left);
  const columns = new Float32Array(Math.max(1, Math.ceil(b.right) - left + 1));
  const at = model.rates.t;
  const rate = model.rateColumn;
  const { start, end } = model.seg;
  const { samples } = model;
  for (let j = 0; j < list.length; j++) {
    const i = list[j];
    const rows = samples[i];
    if (!rows) continue;
    const stop = Math.min(end[i], t);
    for (let k = 0; k < rows.length; k++) {
      if (k && at[rows[k - 1]] > t) break;
      // A sample is the rate of the time before it; the newest holds until the next one comes.
      const a = k ? at[rows[k - 1]] : Math.max(start[i], model.ratesSince);
      const z = k + 1 < rows.length ? Math.min(at[rows[k]], stop) : stop;
      const value = rate[rows[k]];
      if (!(value > 0) || z <= a) continue;
      const to = Math.min(columns.length - 1, Math.floor(b.x(model.ms(z)) - left));
      for (let p = Math.max(0, Math.floor(b.x(model.ms(a)) - left)); p <= to; p++)
        if (value > columns[p]) columns[p] = value;
    }
  }
  return columns;
}

/** The columns of the gutter, from left to right; only owned segments have the last one. */
export interface Gutter {
  columns: [range: number, rate: number, size: number, owner: number];
  owned: boolean;
}

export function gutterOf(b: Pick<Box, "right" | "scale">, owned: boolean): Gutter {
  const x = b.right + 8 * b.scale;
  const rateRight = x + (owned ? 126 : 158) * b.scale;
  const [rate, size, owner] = [rateRight - 46 * b.scale, rateRight + 6 * b.scale, rateRight + 52 * b.scale];
  return { columns: [x, rate, size, owner], owned };
}

/** Return the rows of the gutter [segment, y] that have room, from top to bottom. */
export function gutterRows(model: SegmentModel, active: Uint32Array, map: Area, row: number): [number, number][] {
  const { low, high } = model.seg;
  const open = thinned(model, active, map, row).sort((p, q) => low[q] - low[p]);
  const bottom = active.length > (map.bottom - map.top) / row ? map.bottom - row : map.bottom;
  const out: [number, number][] = [];
  let last = map.top - row / 2;
  for (const i of open) {
    const y = (yOf(map, low[i]) + yOf(map, high[i])) / 2;
    if (y - last < row - 0.5 || y > bottom) continue;
    last = y;
    out.push([i, y]);
  }
  return out;
}
