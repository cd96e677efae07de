// What the pointer finds.
import type { Mark } from "../page/data/marks.ts";
import type { Box } from "../page/drawing/scale.ts";
import { across, layout, type Row } from "./layout.ts";
import { type BatchModel, isShown, type RunMark } from "./model.ts";
import type { State } from "./state.ts";

const NEAR = 4; // pixels

export function pick(model: BatchModel, state: State, x: number, y: number, b: Box): Mark | null {
  const { rows, lag } = layout(b);
  if (y < rows.top - 4 || y > lag.bottom || x < b.left || x > b.right) return null;
  const run = runNear(model, state, x, b);
  if (run) return run;
  const row = state.longest && y <= rows.bottom ? barNear(model, state, x, b) : rowAt(state, y);
  if (row) return model.markOf(row.i);
  const at = model.s(b.time(x));
  const { start, end } = model.col;
  const found = state.rows.findLast((r) => start[r.i] <= at && end[r.i] >= at);
  return y > rows.bottom && found ? model.markOf(found.i) : null;
}

const rowAt = (state: State, y: number): Row | undefined => state.rows.find((r) => y >= r.y && y < r.y + r.h);

function barNear(model: BatchModel, state: State, x: number, b: Box): Row | undefined {
  let [nearest, least]: [Row | undefined, number] = [undefined, NEAR];
  for (const row of state.rows) {
    const [left, right] = across(model, b, row.i, state.t);
    const away = Math.max(left - x, x - right, 0);
    if (away < least) [nearest, least] = [row, away];
  }
  return nearest;
}

function runNear(model: BatchModel, state: State, x: number, b: Box): RunMark | null {
  const isNear = (t: number) => t <= state.t && Math.abs(b.x(model.ms(t)) - x) < NEAR;
  const run = model.runs.findIndex((one) => isNear(one[0]) && isShown(one));
  if (run < 0) return null;
  return { kind: "run", key: `run ${run}`, run, query: model.facts.query ?? "", time: model.ms(model.runs[run][0]) };
}
