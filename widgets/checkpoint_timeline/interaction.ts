// What the pointer finds, what the arrow keys select, and the view's own controls.

import { isCheckpoint, type Mark } from "../page/data/marks.ts";
import type { Box } from "../page/drawing/scale.ts";
import { element } from "../page/elements.ts";
import type { Host } from "../page/spec.ts";
import { isTurned, layout } from "./layout.ts";
import type { CheckpointModel } from "./model.ts";
import { isInCut } from "./paint/cut.ts";
import { onlyOf, type State } from "./state.ts";

export function pick(model: CheckpointModel, state: State, x: number, y: number, b: Box): Mark | null {
  const l = layout(b, { isJob: model.isJob, turned: isTurned(state.bars.length), hasCut: state.cut !== null });
  if (y < l.under) {
    const bar = state.bars.find((one) => x >= one.x && x < one.x + one.w);
    return bar ? model.markOf(bar.c) : null;
  }
  const { cut, t } = state;
  if (cut && isInCut(cut, x, y)) return model.cutMark(cut.c, t);
  const row = x < l.right ? state.rows.find((r) => y >= r.y && y < r.y + r.h) : undefined;
  return row ? model.rowMark(row.part, t) : null;
}

/** Return the bars, the cut and the rows that are shown. */
export const marks = (model: CheckpointModel, { bars, rows, cut, t }: State): Mark[] => [
  ...bars.map(({ c }) => model.markOf(c)),
  ...(cut ? [model.cutMark(cut.c, t)] : []),
  ...rows.map(({ part }) => model.rowMark(part, t)),
];

/** Add the choice of rows, and the button that shows the newest checkpoint. */
export function controls(model: CheckpointModel, state: State, { parent, on, redraw, call, clock }: Host): () => void {
  const wrap = element(parent, "label", "", {}, "only ");
  const named = { "aria-label": "rows whose name contains", placeholder: "part of a name" };
  const input = element(wrap, "input", "plab-only", { type: "text", spellcheck: "false", ...named });
  const title = "show the newest, and follow it";
  const follow = element(parent, "button", "plab-follow", { type: "button", title }, "follow newest");
  on(input, "input", () => {
    state.only = input.value;
    call(`CheckpointTimeline(journal, only=${JSON.stringify(input.value)})`);
    redraw();
  });
  on(follow, "click", () => {
    state.follow = true;
    if (isCheckpoint(clock.pin)) clock.set({ pin: null });
    call("CheckpointTimeline(journal)");
    redraw();
  });
  const sync = () => {
    if (document.activeElement !== input) input.value = onlyOf(model, state);
  };
  model.store.listeners.add(sync);
  sync();
  return () => model.store.listeners.delete(sync);
}
