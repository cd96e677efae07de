// What the pointer finds, what the arrow keys select, and the view's own controls.

import type { Mark } from "../page/data/marks.ts";
import type { Box } from "../page/drawing/scale.ts";
import { element } from "../page/elements.ts";
import type { Host } from "../page/spec.ts";
import { barRectangle, checkpointsOn } from "./layout.ts";
import { type GroupModel, NOBODY } from "./model.ts";
import { HEAD, type Plan, SORTS, type Sort } from "./plan.ts";
import { choiceOf, planFor, type State } from "./state.ts";

// In pixels.
const NEAR_MOVE = 5;
const NEAR_LABEL = 12; // of a checkpoint, above the lanes
const NEAR_LINE = 3;
const MOVES_MAX = 100; // that the arrow keys select

export function pick(model: GroupModel, state: State, x: number, y: number, b: Box): Mark | null {
  if (!model.hasReaders) return null;
  const plan = planFor(model, state);
  const { t } = state;
  const isNear = (s: number, pixels: number) => Math.abs(b.x(model.ms(s)) - x) < pixels;
  if (y > plan.bottom * b.scale) {
    const move = model.moves.findLast(([at]) => at <= t && isNear(at, NEAR_MOVE));
    return move ? model.moveMark(move) : null;
  }
  const pixels = y < HEAD * b.scale ? NEAR_LABEL : NEAR_LINE;
  const checkpoint = checkpointsOn(model, b, t).findLast((c) => isNear(model.check.asked[c], pixels));
  if (checkpoint !== undefined) return model.checkpointMark(checkpoint);
  return pickInLane(model, plan, t, x, y, b);
}

/** Return the bar under the pointer, or else the lane's reader. */
function pickInLane(model: GroupModel, plan: Plan, t: number, x: number, y: number, b: Box): Mark | null {
  const lane = plan.lanes.find((l) => y >= l.y * b.scale && y < (l.y + l.h) * b.scale);
  if (!lane) return null;
  const bar = model.barsOf(lane.reader).findLast((one) => {
    const r = barRectangle(model, b, lane, one, t);
    return r && x >= r[0] - 1 && x <= r[0] + r[2] + 1 && y >= r[1] && y <= r[1] + r[3] + 1.5;
  });
  if (bar !== undefined) return model.segmentMark(bar);
  return lane.reader === NOBODY ? null : model.readerMark(lane.reader - 1, t);
}

/** Return the readers with a lane, from top to bottom, and then the moves with their reasons, newest first. */
export const marks = (model: GroupModel, state: State): Mark[] => [
  ...planFor(model, state)
    .lanes.slice(1)
    .map((lane) => model.readerMark(lane.reader - 1, state.t)),
  ...model.moves
    .filter(([at, , , , , from, to]) => at <= state.t && from !== to)
    .slice(-MOVES_MAX)
    .reverse()
    .map((move) => model.moveMark(move)),
];

/** Add the choice of readers and of their order. */
export function controls(model: GroupModel, state: State, { parent, on, redraw, call }: Host): () => void {
  const wrap = element(parent, "label", "", {}, "only ");
  const named = { "aria-label": "readers whose name contains", placeholder: "part of a name" };
  const input = element(wrap, "input", "plab-only", { type: "text", spellcheck: "false", ...named });
  const choose = element(parent, "label", "", {}, "sort ");
  const select = element(choose, "select", "plab-sort", { "aria-label": "sort lanes by" });
  for (const way of SORTS) element(select, "option", "", { value: way }, way);
  const changed = () => {
    const { only, sort } = choiceOf(model, state);
    call(`ReaderBoard(journal, only=${JSON.stringify(only)}, sort="${sort}")`);
    redraw();
  };
  const sync = () => {
    const { only, sort } = choiceOf(model, state);
    if (document.activeElement !== input) input.value = only;
    select.value = sort;
  };
  on(input, "input", () => {
    state.only = input.value;
    changed();
  });
  on(select, "change", () => {
    state.sort = select.value as Sort;
    changed();
  });
  model.store.listeners.add(sync);
  sync();
  return () => model.store.listeners.delete(sync);
}
