// From time to pixels.
import type { Clock } from "../time/clock.ts";
import { longTime } from "./format.ts";
import type { Theme } from "./theme.ts";

// The same in every view, so that the time axes of stacked views are exactly above each other.
const LEFT = 46;
const GUTTER = 240;
const FOLDED_BELOW = 720; // in a narrower view the columns on the right are a table below the picture
const EDGE = 14; // right of a folded picture
const EMPTY_SPAN: [number, number] = [0, 60_000];

/** The area of a view and its time scale; times in ms, lengths in CSS pixels. */
export interface Box {
  readonly scale: number;
  readonly width: number;
  readonly height: number;
  readonly left: number;
  readonly right: number;
  /** The columns right of the picture have no room: `Spec.folded` says below the picture what they would. */
  readonly folded: boolean;
  readonly theme: Theme;
  readonly clock: Clock;
  readonly from: number;
  readonly to: number;
  readonly now: number;
  readonly origin: number;
  x(ms: number): number;
  time(x: number): number;
  font(px?: number, weight?: string): string;
}

/** A part of a view, from one y to another. */
export interface Area {
  top: number;
  bottom: number;
}

/** Return where a key of the key space is, with 0 at the bottom. */
export const yOf = ({ top, bottom }: Area, key: number): number => bottom - key * (bottom - top);

interface Size {
  scale: number;
  width: number;
  height: number;
}

export function boxOf({ scale, width, height }: Size, clock: Clock, theme: Theme): Box {
  const { ticking } = clock;
  const [from, to] = ticking ? clock.span : EMPTY_SPAN;
  const left = LEFT * scale;
  const folded = width < FOLDED_BELOW * scale;
  const right = width - (folded ? EDGE : GUTTER) * scale;
  return {
    scale,
    width,
    height,
    left,
    right,
    folded,
    theme,
    clock,
    from,
    to,
    now: ticking ? clock.now : 0,
    origin: ticking ? clock.start : 0,
    x: (ms) => left + ((ms - from) / (to - from)) * (right - left),
    time: (x) => from + ((x - left) / (right - left)) * (to - from),
    font: (px = 11, weight = "") => `${weight} ${px * scale}px ${theme.font}`,
  };
}

const LONG_S = 600; // such an axis has minutes and hours
const DAY_S = 86_400;
const LONG_STEPS = [1, 2, 5, 10, 20, 30, 60, 120, 180, 360, 720, 1440].map((minutes) => 60 * minutes);

/** Return round steps for a time axis between two moments in seconds, with their labels; see `ticks`. */
export function timeTicks(a: number, b: number, n: number): [s: number, label: string][] {
  if (b - a < LONG_S) {
    const found = ticks(a, b, n);
    const long = found.every((s) => s >= LONG_S && s % 1 === 0);
    return found.map((s) => [s, long ? longTime(s) : `${Number(s.toPrecision(8))} s`]);
  }
  const raw = (b - a) / Math.max(1, n);
  const step = LONG_STEPS.find((s) => s >= raw) ?? DAY_S * Math.ceil(raw / DAY_S);
  const out: [number, string][] = [];
  for (let s = Math.ceil(a / step) * step; s <= b; s += step) out.push([s, s ? longTime(s) : "0 s"]);
  return out;
}

/** Return round steps for an axis: at most about `n` of them between `a` and `b`. */
export function ticks(a: number, b: number, n: number): number[] {
  const raw = (b - a) / Math.max(1, n);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= raw) ?? 10 * power;
  const out: number[] = [];
  for (let t = Math.ceil(a / step) * step; t <= b + step * 1e-9; t += step) out.push(t);
  return out;
}
