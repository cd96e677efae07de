// Geometry to canvas: the bars above, below them the rows and the cut of the checkpoint that was picked.
import { upTo } from "../../page/drawing/format.ts";
import type { Context } from "../../page/drawing/patterns.ts";
import type { Box } from "../../page/drawing/scale.ts";
import { isTurned, type Layout, layout } from "../layout.ts";
import type { CheckpointModel } from "../model.ts";
import { known } from "../moment.ts";
import { chosen, type State } from "../state.ts";
import { paintBars } from "./bars.ts";
import { paintCut } from "./cut.ts";
import { paintDetail } from "./detail.ts";

/** Return the painter of one place on the page. */
export function painter(model: CheckpointModel, state: State): (ctx: Context, b: Box) => void {
  return (ctx, b) => {
    state.t = upTo((b.now - model.origin) / 1000);
    const all = b.clock.ticking ? known(model, state.t) : [];
    const picked = chosen(model, state, b.clock.pin, all);
    const hasCut = picked !== undefined && model.piecesOf(picked).length > 0;
    const l = layout(b, { isJob: model.isJob, turned: isTurned(all.length), hasCut });
    state.cut = null;
    if (picked === undefined) {
      [state.bars, state.rows] = [[], []];
      return paintEmpty(ctx, b, l, known(model, Number.POSITIVE_INFINITY).length > 0);
    }
    const scene = { ctx, b, model, state, l, t: state.t, all, picked };
    paintBars(scene);
    paintDetail(scene);
    paintCut(scene);
  };
}

function paintEmpty(ctx: Context, b: Box, l: Layout, later: boolean): void {
  ctx.fillStyle = b.theme.line;
  ctx.fillRect(l.left, l.bars.bottom, l.right - l.left, 1);
  ctx.fillRect(l.left, l.bars.top, 1, l.bars.bottom - l.bars.top);
  if (!later) return; // the view is empty, and says so over the picture
  ctx.fillStyle = b.theme.text;
  ctx.font = b.font();
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  ctx.fillText("No checkpoint yet at this time.", l.left + 8 * b.scale, (l.bars.top + l.bars.bottom) / 2);
}
