// Very many segments, most of them smaller than a pixel: pixels are set, which costs what they cover and nothing per
// rectangle. What is drawn last covers what was drawn before, as with rectangles.
import { mix, rgb } from "../page/drawing/colours.ts";
import type { Fill } from "../page/drawing/patterns.ts";
import type { Theme } from "../page/drawing/theme.ts";
import type { Scene } from "./scene.ts";

export interface Raster {
  canvas: HTMLCanvasElement;
  image: ImageData;
  pixels: Uint32Array;
}

function rasterOf(old: Raster | undefined, width: number, height: number): Raster {
  if (old && old.canvas.width === width && old.canvas.height === height) return old;
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  const image = canvas.getContext("2d")!.createImageData(width, height);
  return { canvas, image, pixels: new Uint32Array(image.data.buffer) };
}

/** Paint the segments of a scene, and return the raster, to be used again. */
export function paintMany(scene: Scene, fillOf: (i: number) => Fill, old: Raster | undefined): Raster {
  const { ctx, b, model, list, t } = scene;
  const { map } = scene.l;
  const ratio = ctx.getTransform().a;
  const width = Math.max(1, Math.ceil((b.right - b.left) * ratio));
  const height = Math.max(1, Math.ceil((map.bottom - map.top) * ratio));
  const raster = rasterOf(old, width, height);
  const { pixels } = raster;
  pixels.fill(0);
  const { start, end, low, high } = model.seg;
  const scale = width / ((b.to - b.from) / 1000);
  const from = model.s(b.from);
  const pixelBy = [new Map<Fill, number>(), new Map<Fill, number>()]; // of sealed ones and of open ones, by fill
  for (const i of list) {
    const open = end[i] > t;
    const fill = fillOf(i);
    const known = pixelBy[open ? 1 : 0];
    let pixel = known.get(fill);
    if (pixel === undefined) {
      pixel = pixelOf(b.theme, fill, open);
      known.set(fill, pixel);
    }
    const x0 = Math.max(0, Math.floor((start[i] - from) * scale));
    const x1 = Math.min(width, Math.max(x0 + 1, Math.floor(((open ? t : end[i]) - from) * scale)));
    const y0 = Math.max(0, Math.floor((1 - high[i]) * height));
    const y1 = Math.min(height, Math.max(y0 + 1, Math.floor((1 - low[i]) * height)));
    for (let y = y0; y < y1; y++) pixels.fill(pixel, y * width + x0, y * width + x1);
  }
  raster.canvas.getContext("2d")!.putImageData(raster.image, 0, 0);
  ctx.drawImage(raster.canvas, b.left, map.top, width / ratio, height / ratio);
  return raster;
}

/** Return a fill as a pixel; a pattern has the colour that it has from afar. */
export function pixelOf(theme: Theme, fill: Fill, open: boolean): number {
  const solid = typeof fill === "string" ? fill : mix(theme.ground, theme.soft, 0.35);
  const [r, g, blue] = rgb(open ? solid : mix(theme.ground, solid, 0.6));
  return ((255 << 24) | (blue << 16) | (g << 8) | r) >>> 0;
}
