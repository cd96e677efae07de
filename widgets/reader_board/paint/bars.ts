// Who held what: a bar per segment and time, in the lane of its reader or in nobody's.

import { isReader } from "../../page/data/marks.ts";
import { ink, PALETTE, readerColour } from "../../page/drawing/colours.ts";
import { count } from "../../page/drawing/format.ts";
import { fillReader, haloText, hatch } from "../../page/drawing/patterns.ts";
import { firstFit } from "../../page/drawing/text.ts";
import { barRectangle, nextStart, type Rectangle, rectangle } from "../layout.ts";
import { type HolderMark, NOBODY, type Wait } from "../model.ts";
import type { Lane } from "../plan.ts";
import type { Scene } from "./scene.ts";

export function paintBars(scene: Scene): void {
  const { ctx, b, model, plan, t } = scene;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  for (const lane of plan.lanes)
    for (const bar of model.barsOf(lane.reader)) {
      const r = barRectangle(model, b, lane, bar, t);
      if (!r) continue;
      if (lane.reader === NOBODY) paintFree(scene, lane, bar, r);
      else paintHeld(scene, bar, r);
    }
  const waiting = model.waits.flatMap((wait, k) => {
    const r = rectangle(model, b, plan.lanes[0], { ...wait, key: `wait ${k}` }, t);
    return r ? [{ wait, r }] : [];
  });
  for (const { wait, r } of waiting) {
    const behind = waiting.map((other) => other.r).filter(([x, y]) => y === r[1] && x > r[0]);
    paintWaiting(scene, wait, r, Math.min(b.right, ...behind.map(([x]) => x)));
  }
}

/** Paint what a reader holds: open at the right while it lasts. */
function paintHeld({ ctx, b, model, t }: Scene, bar: number, [x, y, w, h]: Rectangle): void {
  const reader = model.bar.reader[bar] - 1;
  fillReader(ctx, b.theme, reader, x, y, w, h);
  if (w > 3 && h > 4) {
    ctx.strokeStyle = b.theme.dark ? "#ffffff66" : "#00000066";
    ctx.beginPath();
    ctx.moveTo(x + w, y + 0.5);
    ctx.lineTo(x + 0.5, y + 0.5);
    ctx.lineTo(x + 0.5, y + h - 0.5);
    ctx.lineTo(x + w, y + h - 0.5);
    if (!model.isOpen(bar, t)) ctx.lineTo(x + w, y);
    ctx.stroke();
  }
  const text = model.short(bar);
  ctx.font = b.font(Math.min(10, h / b.scale - 1), "600");
  if (h < 8 * b.scale || w < ctx.measureText(text).width + 6) return;
  if (reader >= PALETTE.length) haloText(ctx, b.theme, text, x + 4, y + h / 2 + 0.5);
  else {
    ctx.fillStyle = ink(readerColour(reader));
    ctx.fillText(text, x + 4, y + h / 2 + 0.5);
  }
}

/** Paint one of nobody's bars: its length is how long nobody read the segment. */
function paintFree({ ctx, b, model, t }: Scene, lane: Lane, bar: number, [x, y, w, h]: Rectangle): void {
  ctx.fillStyle = b.theme.ground;
  ctx.fillRect(x, y, w, h);
  ctx.fillStyle = hatch(ctx, b.theme.soft, 5);
  ctx.fillRect(x, y, w, h);
  ctx.strokeStyle = b.theme.soft;
  if (h > 3) ctx.strokeRect(x + 0.5, y + 0.5, Math.max(0.5, w - 1), h - 1);
  if (h < 8 * b.scale) return;
  const spent = 1000 * (Math.min(model.bar.end[bar], t) - model.bar.start[bar]);
  ctx.font = b.font(Math.min(9.5, h / b.scale - 1.5));
  const text = `${model.short(bar)} ${count(Math.round(spent))} ms`;
  const room = nextStart(model, b, lane, bar, t) - (x + w) - 6;
  const width = ctx.measureText(text).width;
  if (room > width) haloText(ctx, b.theme, text, x + w + 3, y + h / 2 + 0.5);
  else if (w > width + 6) haloText(ctx, b.theme, text, x + 3, y + h / 2 + 0.5);
}

/** Paint a segment that waits for its predecessors, and what for, in the room up to `end`. */
function paintWaiting({ ctx, b }: Scene, wait: Wait, [x, y, w, h]: Rectangle, end: number): void {
  ctx.setLineDash([2, 2.5]);
  ctx.strokeStyle = b.theme.text;
  ctx.strokeRect(x + 0.5, y + 0.5, w - 1, Math.max(1, h - 1));
  ctx.setLineDash([]);
  if (h < 8 * b.scale) return;
  ctx.font = b.font(Math.min(9.5, h / b.scale - 1.5));
  const inside = w > end - x - w;
  const forms = [`#${wait.number} ${wait.words}`, `#${wait.number} waits`, `#${wait.number}`];
  const short = firstFit(ctx, inside ? w - 5 : end - x - w - 6, ...forms);
  if (short) haloText(ctx, b.theme, short, inside ? x + 3 : x + w + 3, y + h / 2 + 0.5);
}

/** Outline what is hovered and pinned: the lane of a reader, or all bars of a segment. */
export function paintSelection(scene: Scene): void {
  const { ctx, b, model, plan } = scene;
  for (const mark of [b.clock.pin, b.clock.hover]) {
    if (isReader(mark) && (mark as HolderMark).group === model.facts.group) {
      const lane = plan.of.get((mark as HolderMark).reader + 1);
      ctx.strokeStyle = b.theme.text;
      ctx.lineWidth = 1.5;
      if (lane) ctx.strokeRect(1, lane.y * b.scale + 0.5, b.width - 2, lane.h * b.scale - 1);
    }
    if (mark?.kind !== "segment") continue;
    for (const lane of plan.lanes)
      for (const bar of model.barsOf(lane.reader)) if (model.isOfBar(mark, bar)) outline(scene, lane, bar);
  }
  ctx.lineWidth = 1;
}

function outline({ ctx, b, model, t }: Scene, lane: Lane, bar: number): void {
  const r = barRectangle(model, b, lane, bar, t);
  if (!r) return;
  for (const [extra, colour] of [
    [2, b.theme.ground],
    [0, b.theme.text],
  ] as const) {
    ctx.strokeStyle = colour;
    ctx.lineWidth = 2 + extra;
    ctx.strokeRect(...r);
  }
}
