// Very many segments, most of them smaller than a pixel. No rectangles are filled: pixels are set, each of them once, so
// that only what can be seen costs time. As with rectangles, a later segment covers the earlier ones.
import { mix, rgb } from "../../page/drawing/colours.ts";
import type { Fill } from "../../page/drawing/patterns.ts";
import type { Theme } from "../../page/drawing/theme.ts";
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
  const { ctx, b } = scene;
  const { map } = scene.l;
  const ratio = ctx.getTransform().a;
  const width = Math.max(1, Math.ceil((b.right - b.left) * ratio));
  const height = Math.max(1, Math.ceil((map.bottom - map.top) * ratio));
  const raster = rasterOf(old, width, height);
  setPixels(raster.pixels, width, height, scene, fillOf);
  raster.canvas.getContext("2d")!.putImageData(raster.image, 0, 0);
  ctx.drawImage(raster.canvas, b.left, map.top, width / ratio, height / ratio);
  return raster;
}

/**
 * Set the pixels of a scene's segments; `pixels` has the rows from top to bottom. The last segment comes first, and
 * each one sets the pixels that are still free. A stream's segments are in order of their start: what the later ones
 * have set is the right end of a row, which is left out at once.
 */
export function setPixels(
  pixels: Uint32Array,
  width: number,
  height: number,
  { b, model, list, t }: Pick<Scene, "b" | "model" | "list" | "t">,
  fillOf: (i: number) => Fill,
): void {
  pixels.fill(0);
  const fullFrom = new Int32Array(height).fill(width); // by row: from there on all pixels are set
  const { start, end, low, high } = model.seg;
  const scale = width / ((b.to - b.from) / 1000);
  const from = model.s(b.from);
  const pixelBy = [new Map<Fill, number>(), new Map<Fill, number>()]; // of sealed ones and of open ones, by fill
  for (let k = list.length - 1; k >= 0; k--) {
    const i = list[k];
    const open = end[i] > t;
    // Numbers within the raster are cut to 32-bit integers, with which indexes are computed faster.
    const x0 = Math.max(0, (start[i] - from) * scale) | 0;
    const x1 = Math.min(width, Math.max(x0 + 1, ((open ? t : end[i]) - from) * scale)) | 0;
    const y0 = Math.max(0, (1 - high[i]) * height) | 0;
    const y1 = Math.min(height, Math.max(y0 + 1, (1 - low[i]) * height)) | 0;
    const pixel = pixelOf(b.theme, fillOf(i), open, pixelBy[open ? 1 : 0]);
    for (let y = y0; y < y1; y++) {
      const full = fullFrom[y];
      const stop = y * width + Math.min(x1, full);
      for (let p = y * width + x0; p < stop; p++) pixels[p] ||= pixel;
      if (x0 < full && x1 >= full) fullFrom[y] = x0;
    }
  }
}

/** Return a fill as a pixel, and keep it in `known`; a pattern has the colour that it has from afar. */
function pixelOf(theme: Theme, fill: Fill, open: boolean, known: Map<Fill, number>): number {
  let pixel = known.get(fill);
  if (pixel === undefined) {
    const solid = typeof fill === "string" ? fill : mix(theme.ground, theme.soft, 0.35);
    const [r, g, blue] = rgb(open ? solid : mix(theme.ground, solid, 0.6));
    pixel = ((255 << 24) | (blue << 16) | (g << 8) | r) >>> 0;
    known.set(fill, pixel);
  }
  return pixel;
}
