// What all painters of one drawing need.
import type { Context } from "../../page/drawing/patterns.ts";
import type { Box } from "../../page/drawing/scale.ts";
import type { Theme } from "../../page/drawing/theme.ts";
import type { Layout } from "../layout.ts";
import type { CheckpointModel } from "../model.ts";
import type { State } from "../state.ts";

export interface Scene {
  readonly ctx: Context;
  readonly b: Box;
  readonly model: CheckpointModel;
  readonly state: State;
  readonly l: Layout;
  readonly t: number; // the moment that is drawn, in seconds since the origin
  readonly all: readonly number[]; // the checkpoints that had begun by then
  readonly picked: number; // the one whose rows are shown
}

const BLUE = "#0072B2"; // too dark on a dark ground

export const blue = (theme: Theme): string => (theme.dark ? "#4da3d9" : BLUE);

export function phaseColour(model: CheckpointModel, theme: Theme, kind: number): string {
  const colour = model.phase(kind)?.[2] ?? "";
  return colour === BLUE ? blue(theme) : colour;
}
