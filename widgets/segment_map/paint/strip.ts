// Under the map: a tick per scale with its cause, and the rate of the busiest segment against the thresholds.
import { haloText } from "../../page/drawing/patterns.ts";
import type { Box } from "../../page/drawing/scale.ts";
import { busiest, causeHeight, placeCauses, scaleTicks } from "../layout.ts";
import { type Scene, xOf } from "./scene.ts";

export function paintCauses({ ctx, b, model, l, t }: Scene): void {
  ctx.font = b.font(10);
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  const ticks = scaleTicks(model, b, t);
  const crowded = ticks.length > (b.right - b.left) / 8;
  ctx.fillStyle = b.theme.text;
  ctx.beginPath();
  for (const [x] of ticks) {
    ctx.moveTo(x - 4, l.lane.bottom - 6);
    ctx.lineTo(x + 4, l.lane.bottom - 6);
    ctx.lineTo(x, l.lane.bottom);
  }
  ctx.fill();
  ctx.globalAlpha = crowded ? 0.08 : 0.45;
  for (const [x] of ticks) ctx.fillRect(Math.round(x), l.lane.bottom, 1, l.strip.bottom - l.lane.bottom);
  ctx.globalAlpha = 1;
  const line = causeHeight(l.lane);
  const area = { left: b.left, right: b.width - 4, scale: b.scale };
  for (const { x, text, line: k } of placeCauses(ticks, area, (words) => ctx.measureText(words).width))
    ctx.fillText(text, x, l.lane.bottom - 7 - line * (k + 0.5));
}

export function paintRates(scene: Scene): void {
  const { ctx, b, model, state } = scene;
  const { top, bottom } = scene.l.strip;
  const columns = busiest(model, b, scene.list, scene.t);
  const peak = columns.reduce((p, v) => Math.max(p, v), 0);
  state.peak = Math.max(state.peak, peak);
  const most = Math.max(peak * 1.15, model.target * 1.25, 1e-9);
  const y = (v: number) => bottom - (v / most) * (bottom - top);
  ctx.fillStyle = b.theme.line;
  ctx.fillRect(b.left, bottom, b.right - b.left, 1);
  paintCurve(scene, columns, y);
  paintThresholds(scene, most, y);
  ctx.textAlign = "right";
  ctx.fillStyle = b.theme.soft;
  ctx.fillText(model.rateText(most / 1.15).replace("/s", ""), b.left - 6, top + 6); // the unit is on the right
  ctx.fillText("0", b.left - 6, bottom - 3);
  ctx.textAlign = "left";
  const unit = model.facts.rate_unit ?? "events/s";
  const words = `busiest segment, ${unit}`;
  if (b.folded) haloText(ctx, b.theme, words, b.left + 4, top + 6, b.theme.soft);
  else ctx.fillText(words, b.right + 8, bottom + 12 * b.scale);
}

function paintCurve(scene: Scene, columns: Float32Array, y: (v: number) => number): void {
  const { ctx, b } = scene;
  const { bottom } = scene.l.strip;
  const left = Math.floor(b.left);
  const endX = Math.min(b.right, xOf(scene, scene.t));
  ctx.fillStyle = b.theme.dark ? "#56B4E9" : "#0072B2";
  ctx.globalAlpha = 0.35;
  ctx.beginPath();
  ctx.moveTo(left, bottom);
  for (let p = 0; p < columns.length && left + p <= endX; p++) ctx.lineTo(left + p, y(columns[p]));
  ctx.lineTo(Math.min(endX, left + columns.length), bottom);
  ctx.fill();
  ctx.globalAlpha = 1;
  ctx.strokeStyle = ctx.fillStyle;
  ctx.lineWidth = 1.2;
  ctx.beginPath();
  for (let p = 0; p < columns.length && left + p <= endX; p++) ctx[p ? "lineTo" : "moveTo"](left + p, y(columns[p]));
  ctx.stroke();
  ctx.lineWidth = 1;
}

function paintThresholds(scene: Scene, most: number, y: (v: number) => number): void {
  const { ctx, b, model } = scene;
  const { top, bottom } = scene.l.strip;
  ctx.font = b.font(9.5);
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  let lastY = Number.NEGATIVE_INFINITY;
  for (const [value, name] of [...(model.facts.thresholds ?? [])].sort((p, q) => q[0] - p[0])) {
    if (value > most) continue;
    ctx.strokeStyle = b.theme.text;
    ctx.setLineDash(name === "target" ? [] : name.includes("÷") ? [2, 3] : [5, 3]);
    ctx.globalAlpha = 0.6;
    ctx.beginPath();
    ctx.moveTo(b.left, Math.round(y(value)) + 0.5);
    ctx.lineTo(b.right, Math.round(y(value)) + 0.5);
    ctx.stroke();
    ctx.globalAlpha = 1;
    ctx.setLineDash([]);
    if (y(value) - lastY < 10 * b.scale) continue;
    lastY = y(value);
    ctx.fillStyle = b.theme.soft;
    const at = Math.min(Math.max(lastY, top + 4), bottom - 3);
    paintName(ctx, b, `${name} ${model.rateText(value)}`, at);
  }
}

/** Paint the name of a threshold: right of the strip, or above its line where the strip has the whole width. */
function paintName(ctx: CanvasRenderingContext2D, b: Box, text: string, y: number): void {
  if (!b.folded) ctx.fillText(text, b.right + 8, y);
  else haloText(ctx, b.theme, text, b.right - ctx.measureText(text).width - 4, y - 6 * b.scale, b.theme.soft);
}
