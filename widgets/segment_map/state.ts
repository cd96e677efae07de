// What one place on the page shows: the user's choices, and what was found while drawing.
import type { SegmentModel } from "./model.ts";

export type Colouring = "rate" | "owner" | "unread";

export interface State {
  colour: Colouring | null; // null: what Python chose
  key: string;
  t: number | undefined; // the moment that is drawn, in seconds since the origin; undefined before the first drawing
  peak: number; // the highest rate that was drawn
}

export const initial = (): State => ({ colour: null, key: "", t: undefined, peak: 0 });

export const colouring = (model: SegmentModel, state: State): Colouring =>
  state.colour ?? (model.facts.colour as Colouring | undefined) ?? "rate";

/** Return the rate that has the hottest colour: twice the target, or the highest that was drawn. */
export const hottest = (model: SegmentModel, state: State): number =>
  model.target ? 2 * model.target : Math.max(1, state.peak || 1);
