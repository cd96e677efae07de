// What one place on the page shows: the user's choices, the moment that was drawn, the lanes.
import type { GroupModel } from "./model.ts";
import { type Choice, type Plan, planOf, type Sort } from "./plan.ts";

export interface State {
  t: number; // the moment that is drawn, in seconds since the origin
  only: string | null; // null: what Python chose
  sort: Sort | null;
  plan: Plan | null;
  planned: string; // what the lanes were made for
}

export const initial = (): State => ({ t: 0, only: null, sort: null, plan: null, planned: "" });

export const choiceOf = ({ facts }: GroupModel, state: State): Choice => ({
  only: state.only ?? facts.only ?? "",
  sort: state.sort ?? (facts.sort as Sort | undefined) ?? "joined",
});

/** Return the lanes; they are made again only after a message or another choice. */
export function planFor(model: GroupModel, state: State): Plan {
  const choice = choiceOf(model, state);
  const key = `${model.store.updates} ${choice.only} ${choice.sort}`;
  if (!state.plan || state.planned !== key) state.plan = planOf(model, choice);
  state.planned = key;
  return state.plan;
}
