// What the pointer finds, what the arrow keys select, and the text above the picture.

import type { Mark } from "../page/data/marks.ts";
import type { Box } from "../page/drawing/scale.ts";
import { element, fill } from "../page/elements.ts";
import type { Host } from "../page/spec.ts";
import { type LedgerModel, until } from "./model.ts";
import type { State } from "./state.ts";
import { tables } from "./tables.ts";
import { verdictText } from "./words.ts";

const NEAR = 6; // pixels

export function pick(model: LedgerModel, state: State, x: number, b: Box): Mark | null {
  const distance = (k: number) => Math.abs(b.x(model.ms(model.faults[k][0])) - x);
  const near = [...until(model.faults, state.t).keys()].filter((k) => distance(k) < NEAR);
  if (!near.length) return null;
  return model.markOf(near.reduce((p, q) => (distance(q) < distance(p) ? q : p)));
}

export const marks = (model: LedgerModel, state: State): Mark[] =>
  [...until(model.faults, state.t).keys()].map((k) => model.markOf(k));

/** Add the verdict and the tables; `state.refresh` brings them up to date. */
export function body(
  model: LedgerModel,
  state: State,
  { parent, on, clock, call }: Pick<Host, "parent" | "on" | "clock" | "call">,
): () => void {
  const says = element(parent, "div", "plab-verdict");
  const below = element(parent, "div", "plab-tables");
  state.refresh = () => {
    says.dataset.verdict = model.verdict(state.row)[1];
    const text = verdictText(model, state.row);
    if (says.textContent !== text) says.textContent = text;
    fill(below, tables(model, state));
    parent.style.display = model.isEmpty() ? "none" : "";
  };
  on(below, "click", (e) => {
    const t = (e.target as HTMLElement).dataset.go;
    if (t === undefined) return;
    const time = model.ms(Number(t));
    clock.stay(time);
    call(`board.clock.seek(${((time - clock.start) / 1000).toFixed(3)})`);
  });
  return () => {
    state.refresh = () => {};
  };
}
