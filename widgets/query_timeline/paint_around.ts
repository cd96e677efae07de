// Under the batches rows per second and lag, to their right what the chosen batch spent.

import { bytes, count } from "../page/drawing/format.ts";
import type { Area } from "../page/drawing/scale.ts";
import { firstFit } from "../page/drawing/text.ts";
import { columns, type Piece, piece, swatch } from "../page/elements.ts";
import { type Step, steps } from "./layout.ts";
import type { Scene } from "./paint.ts";

const ORANGE = "#E69F00";
const GREEN = "#009E73";

interface Series {
  points: Step[];
  colour: string;
  name: string;
  filled?: boolean;
}

interface Strip {
  area: Area;
  series: Series[];
  show: (value: number) => string;
  none: string; // what is said where nothing is known
}

export function paintFlow(scene: Scene): void {
  const { b, model, l, t } = scene;
  const blue = b.theme.dark ? "#4da3d9" : "#0072B2";
  const of = (column: "in" | "out" | "lag") => steps(model, b, t, column);
  const arriving = { points: of("in"), colour: ORANGE, name: "rows/s arriving" };
  const processed = { points: of("out"), colour: blue, name: "rows/s processed" };
  const lag = { points: of("lag"), colour: GREEN, name: "lag", filled: true };
  paintStrip(scene, { area: l.rate, series: [arriving, processed], show: count, none: "no rates told" });
  const none = "the source does not report its latest offset";
  paintStrip(scene, { area: l.lag, series: [lag], show: bytes, none });
}

function paintStrip(scene: Scene, { area, series, show, none }: Strip): void {
  const { ctx, b } = scene;
  const values = series.flatMap(({ points }) => points.map((p) => p[2]));
  const most = 1.15 * values.reduce((p, v) => Math.max(p, v), 1e-9);
  ctx.fillStyle = b.theme.line;
  ctx.fillRect(b.left, area.bottom, b.right - b.left, 1);
  ctx.font = b.font(9.5);
  ctx.textBaseline = "middle";
  for (const one of series) paintSeries(scene, area, one, most);
  ctx.fillStyle = b.theme.soft;
  ctx.textAlign = "right";
  ctx.fillText(values.length ? show(most / 1.15) : "–", b.left - 6, area.top + 6);
  ctx.fillText("0", b.left - 6, area.bottom - 3);
  ctx.textAlign = "left";
  if (!values.length) ctx.fillText(none, b.left + 6, (area.top + area.bottom) / 2);
  if (b.folded) return; // the legend below the picture names them
  series.forEach(({ name, colour }, k) => {
    const y = area.top + (8 + 13 * k) * b.scale;
    ctx.fillStyle = colour;
    ctx.fillRect(b.right + 8 * b.scale, y - 1, 12 * b.scale, 2.5);
    ctx.fillStyle = b.theme.soft;
    ctx.fillText(name, b.right + 25 * b.scale, y);
  });
}

function paintSeries({ ctx }: Scene, area: Area, { points, colour, filled }: Series, most: number): void {
  const y = (v: number) => area.bottom - (v / most) * (area.bottom - area.top);
  ctx.strokeStyle = ctx.fillStyle = colour;
  ctx.lineWidth = 1.4;
  ctx.beginPath();
  points.forEach(([a, z, v], k) => {
    const joined = k && a - points[k - 1][1] < 3;
    ctx[joined ? "lineTo" : "moveTo"](a, y(v));
    ctx.lineTo(z, y(v));
  });
  ctx.stroke();
  ctx.lineWidth = 1;
  if (!filled) return;
  ctx.globalAlpha = 0.3;
  for (const [a, z, v] of points) ctx.fillRect(a, y(v), Math.max(0.5, z - a), area.bottom - y(v));
  ctx.globalAlpha = 1;
}

/** Return the batch that the gutter describes: the one under the pointer, the pinned one, or the newest. */
function chosen({ b, model, state }: Scene): number {
  for (const mark of [b.clock.hover, b.clock.pin]) if (model.indexOf(mark) >= 0) return model.indexOf(mark);
  return state.newest;
}

/** A line about the chosen batch: what, how much, and the colour of the phase that it is about. */
type Line = readonly [words: string, value: string, colour?: string];

/** Return what is said of the chosen batch, its title first; nothing while there is none. */
function linesOf(scene: Scene): Line[] {
  const { model, t } = scene;
  const i = chosen(scene);
  if (i < 0) return [];
  const outcome = model.isRunning(i, t) ? "running" : model.outcome(i);
  const lines: Line[] = [[`batch ${model.label(i)}${model.isReplayed(i) ? ", replayed" : ""}`, outcome]];
  for (const [[, words, colour], v] of model.spent(i, t)) lines.push([words, `${count(v)} ms`, colour]);
  lines.push(["together", `${count(model.duration(i, t))} ms`]);
  const [rows, lag] = [model.flow("rows", i, t), model.flow("lag", i, t)];
  if (!Number.isNaN(rows)) lines.push(["rows", count(rows)]);
  if (!Number.isNaN(lag)) lines.push(["lag at its end", bytes(lag)]);
  return lines;
}

export function paintGutter(scene: Scene): void {
  const { ctx, b, l } = scene;
  if (b.folded) return; // the table below the picture says it
  const x = b.right + 8 * b.scale;
  const right = b.width - 6 * b.scale;
  let y = l.rows.top - 9 * b.scale;
  ctx.textBaseline = "middle";
  linesOf(scene).forEach(([words, value, colour], k) => {
    if (y > l.rows.bottom) return;
    ctx.font = k ? b.font(10) : b.font(11, "600");
    if (colour) {
      ctx.fillStyle = colour;
      ctx.fillRect(x, y - 4 * b.scale, 9 * b.scale, 8 * b.scale);
    }
    ctx.fillStyle = k && !colour ? b.theme.soft : b.theme.text;
    ctx.textAlign = "right";
    ctx.fillText(value, right, y);
    const taken = ctx.measureText(value).width + 8;
    ctx.textAlign = "left";
    const from = x + (colour ? 14 * b.scale : 0);
    ctx.fillText(firstFit(ctx, right - taken - from, words, words.split(/, | \(/)[0]), from, y);
    y += 14 * b.scale;
  });
}

/** Describe what is below a narrow picture: the lines of the strips, and the chosen batch. */
export function folded(scene: Omit<Scene, "ctx" | "l">): Piece[] {
  const { b } = scene;
  const blue = b.theme.dark ? "#4da3d9" : "#0072B2";
  const named = [
    [ORANGE, "rows/s arriving"],
    [blue, "rows/s processed"],
    [GREEN, "lag"],
  ].map(([colour, words]) => piece("span", {}, swatch(colour), `${words} `));
  const [title, ...lines] = linesOf(scene as Scene);
  if (!title) return [];
  const rows = lines.map(([words, value, colour]) => [piece("span", {}, colour && swatch(colour), words), value]);
  return [piece("p", {}, ...named), columns([title[0], title[1]], rows)];
}
