// The shapes of states and of what channels hold.
import type { Context } from "../page/drawing/patterns.ts";
import type { Box } from "../page/drawing/scale.ts";
import type { Theme } from "../page/drawing/theme.ts";

export const blue = (theme: Theme): string => (theme.dark ? "#4da3d9" : "#0072B2");

type Icon = (ctx: Context, x: number, y: number, r: number) => void;

const ICONS: Readonly<Record<string, Icon>> = {
  running: (ctx, x, y, r) => {
    ctx.moveTo(x - r * 0.7, y - r);
    ctx.lineTo(x + r, y);
    ctx.lineTo(x - r * 0.7, y + r);
    ctx.fill();
  },
  aligning: (ctx, x, y, r) => {
    ctx.fillRect(x - r * 0.8, y - r, r * 0.6, 2 * r);
    ctx.fillRect(x + r * 0.3, y - r, r * 0.6, 2 * r);
  },
  waits: (ctx, x, y, r) => {
    for (const [p, q] of [
      [-1, 1],
      [1, -1],
    ]) {
      ctx.moveTo(x - r * 0.8, y + p * r);
      ctx.lineTo(x + r * 0.8, y + p * r);
      ctx.lineTo(x, y + q * r * 0.1);
    }
    ctx.fill();
  },
  finished: (ctx, x, y, r) => {
    ctx.moveTo(x - r, y);
    ctx.lineTo(x - r * 0.2, y + r * 0.8);
    ctx.lineTo(x + r, y - r);
    ctx.stroke();
  },
  failed: (ctx, x, y, r) => {
    ctx.moveTo(x - r, y - r);
    ctx.lineTo(x + r, y + r);
    ctx.moveTo(x - r, y + r);
    ctx.lineTo(x + r, y - r);
    ctx.stroke();
  },
  restoring: (ctx, x, y, r) => {
    ctx.arc(x, y, r * 0.9, -0.3, Math.PI * 1.5);
    ctx.stroke();
    ctx.beginPath();
    ctx.moveTo(x - r * 0.1, y - r * 1.6);
    ctx.lineTo(x + r * 0.7, y - r * 0.9);
    ctx.lineTo(x - r * 0.1, y - r * 0.2);
    ctx.fill();
  },
};

const dots: Icon = (ctx, x, y, r) => {
  for (const k of [-1, 0, 1]) ctx.fillRect(x + k * r * 0.8 - 1, y - 1, 2, 2);
};

/** Paint the icon of a state; states without one have three dots. */
export function paintIcon(ctx: Context, word: string, x: number, y: number, r: number): void {
  ctx.beginPath();
  ctx.lineWidth = 1.6;
  (ICONS[word.split(" ")[0]] ?? dots)(ctx, x, y, r);
  ctx.lineWidth = 1;
}

export function paintPadlock(ctx: Context, { scale: s, theme }: Box, x: number, y: number): void {
  ctx.fillStyle = ctx.strokeStyle = theme.text;
  ctx.fillRect(x, y - 1 * s, 7 * s, 5 * s);
  ctx.lineWidth = 1.3;
  ctx.beginPath();
  ctx.arc(x + 3.5 * s, y - 1.5 * s, 2.2 * s, Math.PI, 0);
  ctx.stroke();
  ctx.lineWidth = 1;
}

/** Paint the shape of what a channel holds; `mid` is its middle. */
export function paintShape(
  ctx: Context,
  { scale: s, theme }: Box,
  what: string,
  value: number,
  x: number,
  mid: number,
): void {
  const colour = what === "barrier" ? blue(theme) : what === "records" ? theme.soft : theme.text;
  ctx.fillStyle = ctx.strokeStyle = colour;
  if (what === "records") ctx.fillRect(x, mid - 4 * s, 2.5 * s, 8 * s);
  if (what === "barrier") ctx.fillRect(x, mid - 6 * s, 3 * s, 12 * s);
  if (what === "end-of-partition") ctx.fillRect(x, mid - 5 * s, 4 * s, 10 * s);
  if (what === "end-of-data" && value) ctx.fillRect(x, mid - 3.5 * s, 7 * s, 7 * s);
  if (what === "end-of-data" && !value) ctx.strokeRect(x + 0.5, mid - 3 * s, 6 * s, 6 * s);
  if (what !== "watermark") return;
  ctx.beginPath();
  ctx.moveTo(x + 3.5 * s, mid - 4.5 * s);
  ctx.lineTo(x + 7 * s, mid);
  ctx.lineTo(x + 3.5 * s, mid + 4.5 * s);
  ctx.lineTo(x, mid);
  ctx.closePath();
  ctx.stroke();
}
