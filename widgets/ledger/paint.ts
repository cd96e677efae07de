// The counts over time, and a line per fault: geometry to canvas.
import { VERMILION } from "../page/drawing/colours.ts";
import { count, upTo } from "../page/drawing/format.ts";
import { type Context, haloText } from "../page/drawing/patterns.ts";
import type { Area, Box } from "../page/drawing/scale.ts";
import { faultLabels, highest, LINES, type Point, staircase, stripOf } from "./layout.ts";
import type { LedgerModel } from "./model.ts";
import type { State } from "./state.ts";

/** Return the painter of one place on the page; it also brings the text above the picture up to date. */
export function painter(model: LedgerModel, state: State): (ctx: Context, b: Box) => void {
  return (ctx, b) => {
    state.t = b.clock.ticking ? upTo((b.now - model.origin) / 1000) : 0;
    state.row = model.rowAt(state.t);
    if (model.n) paintStrip(ctx, b, model, state);
    state.refresh();
  };
}

function paintStrip(ctx: Context, b: Box, model: LedgerModel, { t, row }: State): void {
  const area = stripOf(b);
  const most = highest(model, row);
  ctx.fillStyle = b.theme.line;
  ctx.fillRect(b.left, area.bottom, b.right - b.left, 1);
  for (const [name, colour] of LINES) {
    if (model.value(name, row) === null) continue;
    ctx.strokeStyle = colour;
    ctx.lineWidth = name === "written" ? 3 : 1.6;
    paintLine(ctx, staircase(model, b, area, name, t, most));
  }
  ctx.lineWidth = 1;
  ctx.font = b.font(10);
  ctx.textBaseline = "middle";
  ctx.fillStyle = b.theme.soft;
  ctx.textAlign = "right";
  ctx.fillText(count(most), b.left - 6, area.top + 5);
  ctx.fillText("0", b.left - 6, area.bottom - 3);
  ctx.textAlign = "left";
  if (b.folded) haloText(ctx, b.theme, "distinct events", b.left + 6, area.top + 5, b.theme.soft);
  else ctx.fillText("distinct events", b.right + 8, area.top + 5);
  paintFaults(ctx, b, area, model, t);
}

function paintLine(ctx: Context, points: readonly Point[]): void {
  ctx.beginPath();
  points.forEach(([x, y], k) => {
    ctx[k ? "lineTo" : "moveTo"](x, y);
  });
  ctx.stroke();
}

function paintFaults(ctx: Context, b: Box, { top, bottom }: Area, model: LedgerModel, t: number): void {
  ctx.strokeStyle = VERMILION;
  ctx.fillStyle = b.theme.text;
  ctx.lineWidth = 2;
  for (const [x, text] of faultLabels(model, b, t, (words) => ctx.measureText(words).width)) {
    ctx.beginPath();
    ctx.moveTo(x, top - 4);
    ctx.lineTo(x, bottom);
    ctx.stroke();
    if (text) ctx.fillText(text, x + 4, top - 10);
  }
  ctx.lineWidth = 1;
}
