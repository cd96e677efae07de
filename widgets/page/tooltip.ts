// The tooltip: what is hovered or selected by key, else what is pinned.

import type { Box } from "./drawing/scale.ts";
import { fill, piece } from "./elements.ts";
import type { Frame, Point } from "./frame.ts";

const PINNED_Y = 30;

export function showTip(frame: Frame, b: Box): void {
  const { clock, pointer } = frame;
  const { tip } = frame.parts;
  const isSelecting = pointer || document.activeElement === frame.parts.canvas;
  const mark = isSelecting && clock.hover?.kind ? clock.hover : clock.pin;
  const says = mark ? frame.spec.tip(mark) : null;
  tip.style.display = says ? "block" : "none";
  if (!mark || !says) return;
  const note = mark === clock.pin ? [piece("div", { class: "plab-pinned" }, "pinned · Esc releases it")] : [];
  fill(tip, [...says, ...note]);
  const at = placed(pointer ?? { x: b.x(mark.time), y: PINNED_Y }, tip.offsetWidth, tip.offsetHeight, b);
  tip.style.left = `${at.x}px`;
  tip.style.top = `${at.y}px`;
}

/** Return where a tooltip of this size is next to a point and within the view. */
export function placed({ x, y }: Point, width: number, height: number, b: Pick<Box, "width" | "height">): Point {
  const beside = x + 16 + width > b.width ? x - width - 12 : x + 16;
  return { x: Math.max(2, beside), y: Math.max(2, Math.min(y + 12, b.height - height - 2)) };
}
