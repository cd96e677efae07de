// Geometry to canvas: rows or bars of batches, starts and ends of runs, selection.
import { VERMILION } from "../page/drawing/colours.ts";
import { seconds, upTo } from "../page/drawing/format.ts";
import { type Context, failure } from "../page/drawing/patterns.ts";
import type { Box } from "../page/drawing/scale.ts";
import { across, clip, type Layout, layout, place, type Row } from "./layout.ts";
import { type BatchModel, isShown } from "./model.ts";
import { paintFlow, paintGutter } from "./paint_around.ts";
import { initial, type State } from "./state.ts";

/** What all painters of one drawing need. */
export interface Scene {
  readonly ctx: Context;
  readonly b: Box;
  readonly model: BatchModel;
  readonly state: State;
  readonly l: Layout;
  readonly t: number;
}

/** Return the painter of one place on the page. */
export function painter(model: BatchModel, state: State): (ctx: Context, b: Box) => void {
  return (ctx, b) => {
    const l = layout(b);
    const t = upTo(model.s(b.now));
    Object.assign(state, initial(), { t });
    const isDrawn = b.clock.ticking && model.n;
    if (isDrawn) Object.assign(state, place(model, b, l.rows));
    paintFrame(ctx, b, l, state);
    if (!isDrawn) return;
    const scene = { ctx, b, model, state, l, t };
    for (const row of state.rows) (state.longest ? paintBar : paintBatch)(scene, row);
    paintSelection(scene);
    paintRuns(scene);
    paintFlow(scene);
    paintGutter(scene);
  };
}

function paintFrame(ctx: Context, b: Box, { rows }: Layout, { longest }: State): void {
  ctx.strokeStyle = b.theme.line;
  ctx.strokeRect(b.left + 0.5, Math.round(rows.top) - 3.5, b.right - b.left, rows.bottom - rows.top + 6);
  ctx.save();
  ctx.translate(9 * b.scale, (rows.top + rows.bottom) / 2);
  ctx.rotate(-Math.PI / 2);
  ctx.font = b.font(10);
  ctx.fillStyle = b.theme.soft;
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  ctx.fillText(longest ? "duration of batches" : "← micro-batches", 0, 0);
  ctx.restore();
  if (!longest) return;
  ctx.font = b.font(9.5);
  ctx.fillStyle = b.theme.soft;
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  ctx.fillText(seconds(longest), b.left - 6, rows.top + 3);
  ctx.fillText("0", b.left - 6, rows.bottom - 1);
}

function paintBatch(scene: Scene, { i, y, h }: Row): void {
  const { ctx, b, model, t } = scene;
  const inset = h > 8 ? 2 : h > 5 ? 1 : 0.5;
  const [top, height] = [y + inset, Math.max(1, h - 2 * inset)];
  const [x0, end] = across(model, b, i, t);
  const x1 = Math.max(x0 + 1, end);
  ctx.fillStyle = b.theme.none;
  ctx.globalAlpha = 0.5;
  ctx.fillRect(x0, top, x1 - x0, height);
  ctx.globalAlpha = 1;
  paintPhases(scene, i, top, height);
  if (model.isReplayed(i)) {
    ctx.strokeStyle = b.theme.text;
    ctx.lineWidth = 1;
    ctx.strokeRect(x0 - 0.5, top - 0.5, x1 - x0 + 1, height + 1);
    ctx.strokeRect(x0 - 3.5, top - 3 + inset / 2, x1 - x0 + 7, height + 6 - inset);
  }
  const cut = !model.isRunning(i, t) && model.isCutOff(i);
  if (cut) failure(ctx, x1, top + height / 2, Math.min(5, height / 2 + 1), 2);
  if (h < 8.5 * b.scale) return;
  ctx.font = b.font(Math.min(10, h / b.scale - 2));
  ctx.fillStyle = b.theme.text;
  ctx.textBaseline = "middle";
  const text = model.label(i);
  const width = ctx.measureText(text).width + 7;
  const left = x0 - width >= b.left;
  ctx.textAlign = left ? "right" : "left";
  if (left || x1 + width < b.right) ctx.fillText(text, left ? x0 - 5 : x1 + 5 + (cut ? 5 : 0), top + height / 2 + 0.5);
}

function paintBar(scene: Scene, { i, y, h }: Row): void {
  const { ctx, b, model, t } = scene;
  const [x0, end] = across(model, b, i, t);
  const width = Math.max(1, end - x0);
  ctx.fillStyle = b.theme.none;
  ctx.fillRect(x0, y, width, h);
  let bottom = y + h;
  for (const [[, , colour], ms] of model.spent(i, t)) {
    const height = (h * ms) / Math.max(1, model.duration(i, t));
    bottom -= height;
    ctx.fillStyle = colour;
    ctx.fillRect(x0, bottom, width, height);
  }
  if (model.isReplayed(i)) {
    ctx.strokeStyle = b.theme.text;
    ctx.lineWidth = 1;
    for (const out of [0.5, 3.5]) ctx.strokeRect(x0 - out, y - out, width + 2 * out, h + out);
  }
  if (!model.isRunning(i, t) && model.isCutOff(i)) failure(ctx, x0 + width / 2, y, 4, 2);
}

function paintPhases({ ctx, b, model, t }: Scene, i: number, top: number, height: number): void {
  const { start, end } = model.store.tables.phases.col;
  for (const p of model.phasesOf(i)) {
    if (start[p] > t) continue;
    const a = clip(b, b.x(model.ms(start[p])));
    const z = clip(b, b.x(model.ms(Math.min(end[p], t))));
    if (z <= a) continue;
    ctx.fillStyle = model.colourOf(p);
    ctx.fillRect(a, top, Math.max(0.5, z - a), height);
  }
}

/** Paint ends and starts of the query's runs, from top to bottom. */
function paintRuns({ ctx, b, model, l, t }: Scene): void {
  ctx.font = b.font(10);
  ctx.textBaseline = "middle";
  let limit = Math.min(b.right + 60, b.width - 4);
  for (const one of [...model.runs].sort((p, q) => q[0] - p[0])) {
    const [at, what, run, how] = one;
    const x = b.x(model.ms(at));
    if (at > t || x < b.left - 1 || x > b.right + 1 || !isShown(one)) continue;
    const bad = what === "end" && ["killed", "failed", "gone"].includes(how);
    ctx.strokeStyle = bad ? VERMILION : b.theme.text;
    ctx.lineWidth = 1.5;
    ctx.setLineDash(what === "end" ? [4, 3] : []);
    ctx.beginPath();
    ctx.moveTo(x, l.rows.top - 4);
    ctx.lineTo(x, l.lag.bottom);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.lineWidth = 1;
    const text = what === "end" ? how : `restarted, run ${run}`;
    const width = ctx.measureText(text).width;
    const left = what === "end" ? x - width - 3 : x + 3; // the word of an end is left of its line, of a start right of it
    if (left + width > limit) continue;
    ctx.fillStyle = b.theme.text;
    ctx.textAlign = "left";
    ctx.fillText(text, left, l.rows.top - 10 * b.scale);
    limit = left - 4;
  }
}

function paintSelection({ ctx, b, model, state, t }: Scene): void {
  for (const mark of [b.clock.pin, b.clock.hover]) {
    const i = model.indexOf(mark);
    const row = state.rows.find((r) => r.i === i);
    if (!row) continue;
    const [x0, x1] = across(model, b, row.i, t);
    ctx.strokeStyle = b.theme.text;
    ctx.lineWidth = 2;
    ctx.strokeRect(x0 - 2, row.y, x1 - x0 + 4, row.h);
    ctx.lineWidth = 1;
  }
}
