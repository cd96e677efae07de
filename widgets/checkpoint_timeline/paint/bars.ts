// The newest checkpoints as bars: how long each took, its number, how it ended.
import { VERMILION } from "../../page/drawing/colours.ts";
import { seconds } from "../../page/drawing/format.ts";
import { type Fill, hatch } from "../../page/drawing/patterns.ts";
import { firstFit } from "../../page/drawing/text.ts";
import { type Bar, brief, isTurned, nice, numbersApart, placeBars, TOP } from "../layout.ts";
import { spent, stateAt, wordAt } from "../moment.ts";
import { blue, type Scene } from "./scene.ts";

const BAR_MAX = 46;

// Under bars that are too narrow for a word; the legend has the words.
export const SYMBOLS: Readonly<Record<string, string>> = {
  completed: "✓",
  running: "…",
  failed: "×",
  cancelled: "–",
  unknown: "?",
};

export function paintBars(scene: Scene): void {
  const { ctx, b, model, state, l, t, picked } = scene;
  const s = b.scale;
  state.bars = placeBars(l, scene.all);
  const most = nice(Math.max(0.005, ...state.bars.map(({ c }) => spent(model, c, t))));
  const y = (v: number) => l.bars.bottom - (v / most) * (l.bars.bottom - l.bars.top - 6 * s);
  paintDurations(scene, most, y);
  const turned = isTurned(scene.all.length);
  ctx.font = b.font(9.5, "700");
  const largest = Math.max(...state.bars.map(({ c }) => model.col.number[c]));
  const apart = numbersApart(state.bars[0].w, ctx.measureText(String(largest)).width + 2 * s);
  for (const bar of state.bars) {
    const { c, x, w } = bar;
    paintBar(scene, bar, y(spent(model, c, t)));
    ctx.fillStyle = b.theme.text;
    ctx.font = b.font(9.5, c === picked ? "700" : "");
    ctx.textAlign = "center";
    const number = model.col.number[c];
    if (number % apart === 0) ctx.fillText(number ? String(number) : "–", x + w / 2, l.bars.bottom + 7 * s);
    if (turned) paintTurned(scene, bar);
    else paintWord(scene, bar);
    if (c === picked || model.isMine(b.clock.hover, c)) outline(scene, bar);
  }
}

function paintDurations({ ctx, b, l }: Scene, most: number, y: (v: number) => number): void {
  ctx.font = b.font(9.5);
  ctx.textBaseline = "middle";
  ctx.textAlign = "right";
  for (const v of [0, most / 2, most]) {
    ctx.fillStyle = b.theme.line;
    ctx.fillRect(l.left - 3, Math.round(y(v)), l.right - l.left + 3, v ? 0.5 : 1);
    ctx.fillStyle = b.theme.soft;
    const text = most < 0.1 ? brief(v) : seconds(1000 * v);
    ctx.fillText(text.replace(/\.?0+ s/, " s"), l.left - 6, y(v));
  }
  ctx.textAlign = "left";
  ctx.fillText("duration", 4 * b.scale, l.bars.top + 2 * b.scale);
}

function paintBar({ ctx, b, model, l, t }: Scene, { c, x, w }: Bar, top: number): void {
  const word = stateAt(model, c, t);
  const h = Math.max(1.5, l.bars.bottom - top);
  const width = Math.min(w * 0.64, BAR_MAX * b.scale);
  const left = x + (w - width) / 2;
  if (word === "running") {
    ctx.strokeStyle = blue(b.theme);
    ctx.lineWidth = 1.6;
    ctx.strokeRect(left + 0.8, l.bars.bottom - h + 0.8, width - 1.6, h - 0.8);
    ctx.lineWidth = 1;
    return;
  }
  const fills: Record<string, Fill> = {
    completed: blue(b.theme),
    failed: VERMILION,
    cancelled: b.theme.none,
    unknown: hatch(ctx, b.theme.soft),
  };
  ctx.fillStyle = fills[word];
  ctx.fillRect(left, l.bars.bottom - h, width, h);
}

const wordColour = ({ b, model, t }: Scene, c: number): string =>
  stateAt(model, c, t) === "failed" ? VERMILION : b.theme.text;

function paintWord(scene: Scene, { c, x, w }: Bar): void {
  const { ctx, b, model, l, t } = scene;
  const word = wordAt(model, c, t);
  ctx.font = b.font(9.5);
  ctx.fillStyle = wordColour(scene, c);
  ctx.textAlign = "center";
  const y = l.bars.bottom + (TOP.numbers + 7) * b.scale;
  const state = stateAt(model, c, t);
  ctx.fillText(firstFit(ctx, w - 6 * b.scale, word, state, SYMBOLS[state] ?? ""), x + w / 2, y);
}

/** Paint a word from below upwards. Where there is no room for one under each bar, "completed" is left out. */
function paintTurned(scene: Scene, { c, x, w }: Bar): void {
  const { ctx, b, model, l, t } = scene;
  const word = wordAt(model, c, t);
  if (w < 8 * b.scale && word === "completed") return;
  ctx.font = b.font(9.5);
  ctx.fillStyle = wordColour(scene, c);
  ctx.save();
  ctx.translate(x + w / 2, l.bars.bottom + TOP.numbers * b.scale + 1);
  ctx.rotate(-Math.PI / 2);
  ctx.textAlign = "right";
  ctx.fillText(word, 0, 0);
  ctx.restore();
}

function outline({ ctx, b, l, picked }: Scene, { c, x, w }: Bar): void {
  const s = b.scale;
  ctx.strokeStyle = b.theme.text;
  ctx.lineWidth = c === picked ? 1.6 : 1;
  ctx.setLineDash(c === picked ? [] : [3, 2]);
  ctx.strokeRect(x + 1, l.bars.top - 4 * s, w - 2, l.under - l.bars.top + 3 * s);
  ctx.setLineDash([]);
  ctx.lineWidth = 1;
}
