// What one place on the page shows: the moment that was drawn last, and where its rows are.
import type { Row } from "./layout.ts";

export interface State {
  t: number; // seconds since the origin
  rows: Row[];
  all: number; // batches on the screen, whether they have room or not
}

export const initial = (): State => ({ t: 0, rows: [], all: 0 });
