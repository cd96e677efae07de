// Geometry to canvas, in the order in which things cover each other.
import { upTo } from "../../page/drawing/format.ts";
import type { Context } from "../../page/drawing/patterns.ts";
import type { Box } from "../../page/drawing/scale.ts";
import { layout, visible } from "../layout.ts";
import type { SegmentModel } from "../model.ts";
import { colouring, type State } from "../state.ts";
import { paintGutter, paintKey, paintKeyAxis } from "./around.ts";
import { fillsAt } from "./fills.ts";
import { paintMany, type Raster } from "./many.ts";
import * as map from "./map.ts";
import type { Scene } from "./scene.ts";
import { paintCauses, paintRates } from "./strip.ts";

// How many segments may be on the screen for each way of drawing them.
const ONE_BY_ONE = 4000; // above, pixels are set instead of rectangles filled
const HEAT_MAX = 400; // the rate, or the owner, over time within each
const LABELS_MAX = 1500;

/** Return the painter of one place on the page. */
export function painter(model: SegmentModel, state: State): (ctx: Context, b: Box) => void {
  let raster: Raster | undefined;
  return (ctx, b) => {
    const l = layout(b);
    paintKeyAxis(ctx, b, l);
    if (!b.clock.ticking || !model.n) return;
    const t = upTo(model.s(b.now));
    state.t = t;
    const scene: Scene = { ctx, b, model, state, l, t, list: visible(model, b) };
    ctx.save();
    ctx.beginPath();
    ctx.rect(b.left, l.map.top - 1, b.right - b.left + 1, l.map.bottom - l.map.top + 2);
    ctx.clip();
    map.paintCrowd(scene);
    const fillOf = fillsAt(ctx, b, model, state, t);
    if (scene.list.length > ONE_BY_ONE) raster = paintMany(scene, fillOf, raster);
    else map.paintSegments(scene, fillOf);
    paintDetails(scene);
    ctx.restore();
    paintGutter(scene);
    paintCauses(scene);
    paintRates(scene);
  };
}

function paintDetails(scene: Scene): void {
  const { model, list } = scene;
  const way = colouring(model, scene.state);
  if (way === "rate" && list.length <= HEAT_MAX) map.paintHeat(scene);
  if (way === "owner" && model.store.tables.owners.n && list.length <= HEAT_MAX) map.paintOwners(scene);
  map.paintTruncated(scene);
  map.paintTiers(scene);
  if (list.length <= ONE_BY_ONE) map.paintEdges(scene);
  if (list.length <= LABELS_MAX) map.paintLabels(scene);
  map.paintSelection(scene);
  map.paintCut(scene);
  paintKey(scene);
}
