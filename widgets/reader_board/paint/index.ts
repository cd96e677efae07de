// Geometry to canvas, in the order in which things cover each other.
import { upTo } from "../../page/drawing/format.ts";
import type { Context } from "../../page/drawing/patterns.ts";
import type { Box } from "../../page/drawing/scale.ts";
import type { GroupModel } from "../model.ts";
import { HEAD } from "../plan.ts";
import { planFor, type State } from "../state.ts";
import { paintBars, paintSelection } from "./bars.ts";
import { paintCheckpoints } from "./checkpoints.ts";
import { paintGutter } from "./gutter.ts";
import { paintBands, paintGone, paintLanes } from "./lanes.ts";
import { paintMoves, paintReasons } from "./moves.ts";
import type { Scene } from "./scene.ts";

/** Return the painter of one place on the page. */
export function painter(model: GroupModel, state: State): (ctx: Context, b: Box) => void {
  return (ctx, b) => {
    state.t = upTo((b.now - model.origin) / 1000);
    if (!b.clock.ticking || !model.hasReaders) return paintEmpty(ctx, b);
    const scene: Scene = { ctx, b, model, plan: planFor(model, state), t: state.t };
    paintLanes(scene);
    paintBands(scene);
    paintBars(scene);
    paintCheckpoints(scene);
    paintMoves(scene);
    paintGone(scene);
    paintSelection(scene);
    paintReasons(scene);
    paintGutter(scene);
  };
}

function paintEmpty(ctx: Context, b: Box): void {
  ctx.fillStyle = b.theme.line;
  for (let k = 0; k < 5; k++) ctx.fillRect(b.left, (HEAD + 26 * k) * b.scale, b.right - b.left, 0.6);
  ctx.font = b.font(10.5);
  ctx.fillStyle = b.theme.soft;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  ctx.fillText("nobody", 3 * b.scale, (HEAD + 13) * b.scale);
}
