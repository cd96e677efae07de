// Where things are: state to geometry, in CSS pixels.
import { seconds } from "../page/drawing/format.ts";
import type { Area, Box } from "../page/drawing/scale.ts";
import type { CheckpointModel } from "./model.ts";
import { known, passedAt, phasesOf, spent } from "./moment.ts";

export const BARS_MAX = 60;
const ROWS_MAX = 30;
const BARS_LEAST = 8; // places, so that few bars are not wide
const TURNED_FROM = 12; // as many words below bars are turned
const SIDE = { reader: 96, job: 158, folded: 112 }; // for the names of rows
const CUT = 72; // for the cut's column in a narrow view, whose labels are in the table below
export const TOP = { title: 14, bars: 64, numbers: 13, words: 14, turned: 60 };
const DETAIL = { words: 34, least: 108, row: 19, axis: 26 };
const ROW_MAX = 22;
const HEADING = 16; // of the other system's rows
const ROWS_SHARE = 0.68; // of the width; the rest is for words

export interface Layout {
  left: number;
  right: number;
  bars: Area;
  under: number; // where the upper picture ends
  rows: Area;
}

/** The place of a checkpoint in the upper picture. */
export interface Bar {
  c: number;
  x: number;
  w: number;
}

/** The row of a part in the lower picture. */
export interface Row {
  part: number;
  y: number;
  h: number;
}

/** The lower picture: its rows, and from seconds since the request to pixels. */
export interface Detail {
  rows: Row[];
  all: number; // parts that were asked for, whether they have room or not
  most: number; // the seconds that the axis has
  split: number; // the height of the other system's heading, or 0
  x(seconds: number): number;
}

export interface Cut extends Area {
  c: number;
  x: number;
  right: number;
}

export const isTurned = (n: number): boolean => n >= TURNED_FROM;

/** What the layout of the lower picture depends on. */
interface Shape {
  isJob: boolean;
  turned: boolean; // the words below the bars
  hasCut?: boolean;
}

type Room = Pick<Box, "scale" | "height" | "right"> & Partial<Pick<Box, "folded">>;

export function layout({ folded, ...b }: Room, { isJob, turned, hasCut }: Shape): Layout {
  const s = b.scale;
  const side = folded ? Math.min(SIDE.folded, isJob ? SIDE.job : SIDE.reader) : isJob ? SIDE.job : SIDE.reader;
  const right = b.right - (folded && hasCut ? CUT * s : 0);
  const bars = { top: TOP.title * s, bottom: (TOP.title + TOP.bars) * s };
  const under = bars.bottom + (TOP.numbers + (turned ? TOP.turned : TOP.words)) * s;
  const rows = { top: under + DETAIL.words * s, bottom: b.height - DETAIL.axis * s };
  return { left: side * s, right, bars, under, rows };
}

export function heightOf(model: CheckpointModel, scale: number): number {
  const all = known(model, Number.POSITIVE_INFINITY);
  const parts = all.slice(-BARS_MAX).map((c) => Math.min(ROWS_MAX, model.partsOf(c).length));
  const rows = Math.max(DETAIL.least, DETAIL.row * Math.max(0, ...parts));
  const words = isTurned(all.length) ? TOP.turned : TOP.words;
  return (TOP.title + TOP.bars + TOP.numbers + words + DETAIL.words + rows + DETAIL.axis) * scale;
}

/** Return a round number of seconds, at least `top`. */
export function nice(top: number): number {
  const power = 10 ** Math.floor(Math.log10(top));
  return [1, 2, 5, 10].map((k) => k * power).find((v) => v >= top) ?? 10 * power;
}

export const brief = (s: number): string => (s < 0.1 ? `${Number((1000 * s).toFixed(1))} ms` : seconds(1000 * s));

/** Return the places of the newest checkpoints that have room, oldest first. */
export function placeBars({ left, right }: Layout, all: readonly number[]): Bar[] {
  const shown = all.slice(-BARS_MAX);
  const w = (right - left) / Math.max(BARS_LEAST, shown.length);
  return shown.map((c, k) => ({ c, x: left + w * k, w }));
}

/** Return how far apart the numbers of checkpoints are below bars `w` wide, so that `widest` has room. */
export const numbersApart = (w: number, widest: number): number =>
  [1, 5, 10, 20, 50].find((n) => n * w >= widest) ?? 100;

/** Return the parts that have a row: in the order of rows, or if there are too many, the last to pass. */
export function partsShown(model: CheckpointModel, c: number, only: string, t: number): [parts: number[], all: number] {
  const mine = model.partsOf(c).filter((part) => model.rowName(part).toLowerCase().includes(only.toLowerCase()));
  const { row } = model.part;
  if (mine.length <= ROWS_MAX) return [mine.sort((p, q) => row[p] - row[q]), mine.length];
  const when = new Map(mine.map((part) => [part, passedAt(model, part, t)]));
  const late = [...mine].sort((p, q) => when.get(q)! - when.get(p)!);
  return [late.slice(0, ROWS_MAX), mine.length];
}

/** Place the rows of a checkpoint and its time axis, which is as long as what has ended by then. */
export function detailOf(
  model: CheckpointModel,
  l: Layout,
  scale: number,
  { c, only, t }: { c: number; only: string; t: number },
): Detail {
  const [parts, all] = partsShown(model, c, only, t);
  const start = model.col.start[c];
  const ends = parts.flatMap((part) => phasesOf(model, part, t).map(({ end }) => (end <= t ? end - start : 0)));
  const most = Math.max(0.01, spent(model, c, t), ...ends) * 1.02;
  const split = parts.some((part) => model.isReaderOfJob(part)) ? HEADING * scale : 0;
  const h = Math.min(ROW_MAX * scale, (l.rows.bottom - l.rows.top - split) / Math.max(1, parts.length));
  const rows = parts.map((part, k): Row => {
    return { part, y: l.rows.top + k * h + (model.isReaderOfJob(part) ? split : 0), h };
  });
  const x = (sec: number) => l.left + (Math.max(0, sec) / most) * (l.right - l.left) * ROWS_SHARE;
  return { rows, all, most, split, x };
}

export const cutArea = (l: Layout, scale: number): Area => ({ top: l.rows.top + 2 * scale, bottom: l.rows.bottom });
