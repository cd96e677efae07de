// What one place on the page shows: the moment that was drawn last, and where things were.
import type { Clock } from "../page/time/clock.ts";
import type { PlacedMark, Slot, TaskBox } from "./layout.ts";

export interface State {
  t: number; // seconds since the origin
  boxes: TaskBox[];
  slots: Slot[];
  marks: PlacedMark[];
  sentence: string;
  pinned: string | undefined; // the key of the pinned mark
  isPast: boolean; // a step before the newest is shown: what one does begins with a fork
  offer: ((clock: Clock) => void) | null; // renews the buttons for what is pinned
}

export const initial = (): State => ({
  t: 0,
  boxes: [],
  slots: [],
  marks: [],
  sentence: "",
  pinned: undefined,
  isPast: false,
  offer: null,
});
