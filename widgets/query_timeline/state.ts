// What one place on the page shows: the moment that was drawn last, and where its batches are.
import type { Placed } from "./layout.ts";

export interface State extends Placed {
  t: number; // seconds since the origin
}

export const initial = (): State => ({ t: 0, rows: [], all: 0, newest: -1, longest: 0 });
