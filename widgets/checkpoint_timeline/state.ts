// What one place on the page shows: the user's choices, the moment that was drawn, and where things are.
import type { Clock } from "../page/time/clock.ts";
import type { Bar, Cut, Row } from "./layout.ts";
import type { CheckpointModel } from "./model.ts";

export interface State {
  t: number; // the moment that is drawn, in seconds since the origin
  only: string | null; // null: what Python chose
  follow: boolean; // show the newest checkpoint instead of the one that Python chose
  bars: Bar[];
  rows: Row[];
  cut: Cut | null;
}

export const initial = (): State => ({ t: 0, only: null, follow: false, bars: [], rows: [], cut: null });

export const onlyOf = ({ facts }: CheckpointModel, state: State): string => state.only ?? facts.only ?? "";

/** Return the checkpoint to show rows of: the pinned one, the one that Python chose, or the newest. */
export function chosen(
  model: CheckpointModel,
  { follow }: State,
  pin: Clock["pin"],
  all: readonly number[],
): number | undefined {
  const pinned = all.find((c) => model.isMine(pin, c));
  if (pinned !== undefined) return pinned;
  const wanted = follow ? undefined : all.find((c) => model.nameOf(c) === model.facts.chosen);
  return wanted ?? all.at(-1);
}
