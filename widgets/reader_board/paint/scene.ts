// What all painters of one drawing need.
import type { Context } from "../../page/drawing/patterns.ts";
import type { Box } from "../../page/drawing/scale.ts";
import type { GroupModel } from "../model.ts";
import type { Plan } from "../plan.ts";

export interface Scene {
  readonly ctx: Context;
  readonly b: Box;
  readonly model: GroupModel;
  readonly plan: Plan;
  readonly t: number; // the moment that is drawn, in seconds since the origin
}

/** Return the x of a time in seconds. */
export const xOf = ({ model, b }: Scene, s: number): number => b.x(model.ms(s));
