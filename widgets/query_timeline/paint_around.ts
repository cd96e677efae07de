// Under the batches rows per second and lag, to their right what the chosen batch spent.
import { bytes, count } from "../page/drawing/format.ts";
import { fit } from "../page/drawing/text.ts";
import { type Area, type Step, steps } from "./layout.ts";
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
  return state.rows.at(-1)?.i ?? -1;
}

export function paintGutter(scene: Scene): void {
  const { ctx, b, model, l, t } = scene;
  const i = chosen(scene);
  if (i < 0) return;
  const x = b.right + 8 * b.scale;
  const right = b.width - 6 * b.scale;
  let y = l.rows.top - 9 * b.scale;
  ctx.textBaseline = "middle";
  const line = (left: string, value: string, colour: string, swatch?: string) => {
    if (y > l.rows.bottom) return;
    if (swatch) {
      ctx.fillStyle = swatch;
      ctx.fillRect(x, y - 4 * b.scale, 9 * b.scale, 8 * b.scale);
    }
    ctx.fillStyle = colour;
    ctx.textAlign = "right";
    ctx.fillText(value, right, y);
    const taken = ctx.measureText(value).width + 8;
    ctx.textAlign = "left";
    const from = x + (swatch ? 14 * b.scale : 0);
    ctx.fillText(fit(ctx, left, right - taken - from), from, y);
    y += 14 * b.scale;
  };
  ctx.font = b.font(11, "600");
  const outcome = model.isRunning(i, t) ? "running" : model.outcome(i);
  line(`batch ${model.label(i)}${model.isReplayed(i) ? ", replayed" : ""}`, outcome, b.theme.text);
  ctx.font = b.font(10);
  for (const [[, words, colour], v] of model.spent(i, t)) line(words, `${count(v)} ms`, b.theme.text, colour);
  line("together", `${count(model.duration(i, t))} ms`, b.theme.soft);
  const [rows, lag] = [model.flow("rows", i, t), model.flow("lag", i, t)];
  if (!Number.isNaN(rows)) line("rows", count(rows), b.theme.soft);
  if (!Number.isNaN(lag)) line("lag at its end", bytes(lag), b.theme.soft);
}
