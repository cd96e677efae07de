// What all painters of one drawing need.
import type { Context } from "../../page/drawing/patterns.ts";
import type { Box } from "../../page/drawing/scale.ts";
import { type Layout, type Rectangle, rectangle } from "../layout.ts";
import type { SegmentModel } from "../model.ts";
import type { State } from "../state.ts";

export interface Scene {
  readonly ctx: Context;
  readonly b: Box;
  readonly model: SegmentModel;
  readonly state: State;
  readonly l: Layout;
  readonly t: number; // the moment that is drawn, in seconds since the origin
  readonly list: Uint32Array; // the segments on the screen
}

export const rectangleOf = ({ model, b, l, t }: Scene, i: number): Rectangle => rectangle(model, b, l.map, i, t);

/** Return the x of a time in seconds. */
export const xOf = ({ model, b }: Scene, s: number): number => b.x(model.ms(s));
