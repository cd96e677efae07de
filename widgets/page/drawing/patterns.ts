// Marks and fills that several views paint.
import { PALETTE, readerColour, VERMILION } from "./colours.ts";
import type { Theme } from "./theme.ts";

export type Context = CanvasRenderingContext2D;
export type Fill = string | CanvasPattern;

const shades = new Map<string, CanvasPattern>();

/** Return diagonal lines of a colour, as a fill. */
export function hatch(ctx: Context, colour: string, step = 6): Fill {
  const key = `${colour} ${step}`;
  const known = shades.get(key);
  if (known) return known;
  const tile = document.createElement("canvas");
  tile.width = tile.height = step;
  const c = tile.getContext("2d")!;
  c.strokeStyle = colour;
  c.lineWidth = 1.2;
  c.beginPath();
  for (const d of [-step, 0, step]) {
    c.moveTo(d, step);
    c.lineTo(d + step, 0);
  }
  c.stroke();
  const made = ctx.createPattern(tile, "repeat")!;
  shades.set(key, made);
  return made;
}

/** Fill a rectangle with a reader's colour. After six readers a pattern is added, another with every six. */
export function fillReader(ctx: Context, theme: Theme, i: number, x: number, y: number, w: number, h: number): void {
  ctx.fillStyle = readerColour(i);
  ctx.fillRect(x, y, w, h);
  if (i < PALETTE.length) return;
  ctx.fillStyle = hatch(ctx, theme.ground, 3 + 2 * Math.floor(i / PALETTE.length));
  ctx.fillRect(x, y, w, h);
}

/** Paint text that can be read on any ground. */
export function haloText(ctx: Context, theme: Theme, text: string, x: number, y: number, colour = theme.text): void {
  ctx.lineWidth = 3;
  ctx.lineJoin = "round";
  ctx.strokeStyle = theme.ground;
  ctx.strokeText(text, x, y);
  ctx.lineWidth = 1;
  ctx.fillStyle = colour;
  ctx.fillText(text, x, y);
}

/** Paint a failure: a vermilion cross of radius `r`. */
export function failure(ctx: Context, x: number, y: number, r: number, width = 2.2): void {
  ctx.strokeStyle = VERMILION;
  ctx.lineWidth = width;
  ctx.beginPath();
  ctx.moveTo(x - r, y - r);
  ctx.lineTo(x + r, y + r);
  ctx.moveTo(x - r, y + r);
  ctx.lineTo(x + r, y - r);
  ctx.stroke();
  ctx.lineWidth = 1;
}
