// Where things are: state to geometry, in CSS pixels.
import { PALETTE } from "../page/drawing/colours.ts";
import type { Area, Box } from "../page/drawing/scale.ts";
import type { LedgerModel, Name } from "./model.ts";
import { until } from "./model.ts";

const STRIP = 96;
const AXIS = 22;
const EMPTY = 190; // room for the code that fills the view

/** The counts that are drawn, with their colours. */
export const LINES: readonly (readonly [Name, string])[] = [
  ["written", PALETTE[0]],
  ["acknowledged", PALETTE[4]],
  ["read", PALETTE[1]],
  ["committed", PALETTE[2]],
];

export type Point = readonly [x: number, y: number];

export const heightOf = (model: LedgerModel, scale: number): number => (model.isEmpty() ? EMPTY : STRIP + AXIS) * scale;

export const stripOf = (b: Pick<Box, "scale" | "height">): Area => ({
  top: 20 * b.scale,
  bottom: b.height - AXIS * b.scale,
});

/** Return the highest count of a row that is drawn, at least 1. */
export const highest = (model: LedgerModel, row: number): number =>
  Math.max(1, ...LINES.map(([name]) => model.value(name, row) ?? 0));

export const yOf = (area: Area, value: number, most: number): number =>
  area.bottom - (value / most) * (area.bottom - area.top);

/** Return the corners of a count's line until a moment: it is level until the count changes. */
export function staircase(model: LedgerModel, b: Box, area: Area, name: Name, t: number, most: number): Point[] {
  const at = model.times;
  const points: Point[] = [];
  let last = area.bottom;
  for (let i = 0; i < model.n && at[i] <= t; i++) {
    const value = model.value(name, i);
    if (value === null) continue;
    const x = Math.max(b.left, Math.min(b.right, b.x(model.ms(at[i]))));
    if (points.length) points.push([x, last]);
    last = yOf(area, value, most);
    points.push([x, last]);
  }
  if (points.length) points.push([Math.min(b.right, b.x(b.now)), last]);
  return points;
}

/** Return the faults on the screen until a moment [x, text], newest first; a text without room is "". */
export function faultLabels(
  model: LedgerModel,
  b: Box,
  t: number,
  widthOf: (text: string) => number,
): [x: number, text: string][] {
  const out: [number, string][] = [];
  let limit = Math.min(b.right + 60, b.width - 4);
  for (const [at, text] of until(model.faults, t).reverse()) {
    const x = b.x(model.ms(at));
    if (x < b.left || x > b.right) continue;
    const fits = x + 4 + widthOf(text) <= limit;
    out.push([x, fits ? text : ""]);
    if (fits) limit = x - 4;
  }
  return out;
}
