// The map: rectangles, what happened within them, labels and selection.

import { isCut, isReader } from "../../page/data/marks.ts";
import { mix, VERMILION } from "../../page/drawing/colours.ts";
import { type Fill, fillReader, haloText, hatch } from "../../page/drawing/patterns.ts";
import { yOf } from "../../page/drawing/scale.ts";
import { type Rectangle, tierEdge } from "../layout.ts";
import { NOBODY, WAITS } from "../model.ts";
import { hottest } from "../state.ts";
import { hue } from "./fills.ts";
import { rectangleOf, type Scene, xOf } from "./scene.ts";

export function paintSegments(scene: Scene, fillOf: (i: number) => Fill): void {
  const { ctx, model, t } = scene;
  const groups = new Map<Fill, [sealed: number[], open: number[]]>();
  for (const i of scene.list) {
    const fill = fillOf(i);
    let group = groups.get(fill);
    if (!group) {
      group = [[], []];
      groups.set(fill, group);
    }
    group[model.isOpen(i, t) ? 1 : 0].push(i);
  }
  for (const [fill, parts] of groups) {
    parts.forEach((members, open) => {
      if (!members.length) return;
      ctx.globalAlpha = open ? 1 : 0.6;
      ctx.fillStyle = fill;
      ctx.beginPath();
      for (const i of members) ctx.rect(...rectangleOf(scene, i));
      ctx.fill();
    });
  }
  ctx.globalAlpha = 1;
}

/** Paint within each rectangle its rate over time, so that one sees it grow hot and split. */
export function paintHeat(scene: Scene): void {
  const { ctx, b, model, t } = scene;
  const at = model.rates.t;
  const rate = model.rateColumn;
  const most = hottest(model, scene.state);
  for (const i of scene.list) {
    const rows = model.samples[i];
    if (!rows || at[rows[0]] > t) continue;
    const [x, y, w, h] = rectangleOf(scene, i);
    ctx.globalAlpha = 1;
    ctx.fillStyle = b.theme.ground;
    ctx.fillRect(x, y, w, h);
    ctx.globalAlpha = model.isOpen(i, t) ? 1 : 0.72;
    // A sample is the rate of the time since the one before it; the newest of all holds until the next one comes.
    const right = Math.round(x + w);
    let lastX = Math.min(right, Math.max(Math.round(x), Math.round(xOf(scene, model.ratesSince))));
    ctx.fillStyle = b.theme.none;
    ctx.fillRect(Math.round(x), y, lastX - Math.round(x), h);
    for (let k = 0; k < rows.length && lastX < right; k++) {
      const px = k + 1 === rows.length ? right : Math.min(right, Math.round(xOf(scene, at[rows[k]])));
      if (px > lastX) {
        ctx.fillStyle = hue(b.theme, rate[rows[k]], most);
        ctx.fillRect(lastX, y, px - lastX, h);
        lastX = px;
      }
    }
  }
  ctx.globalAlpha = 1;
}

/** Paint within each rectangle who had it when: nobody is hatched, waiting for predecessors is dotted. */
export function paintOwners(scene: Scene): void {
  const { ctx, b, model, t } = scene;
  for (const i of scene.list) {
    const area = rectangleOf(scene, i);
    const [x, y, w, h] = area;
    ctx.fillStyle = b.theme.ground;
    ctx.fillRect(x, y, w, h);
    const mine = model.stretches(i, t);
    ctx.globalAlpha = model.isOpen(i, t) ? 1 : 0.62;
    for (const [owner, start, end] of mine) {
      const [x0, x1] = [Math.max(x, xOf(scene, start)), Math.min(x + w, xOf(scene, end))];
      if (x1 <= x0 || owner === WAITS) continue;
      if (owner > NOBODY) fillReader(ctx, b.theme, owner - 1, x0, y, x1 - x0, h);
      else {
        ctx.fillStyle = hatch(ctx, b.theme.soft);
        ctx.fillRect(x0, y, x1 - x0, h);
      }
    }
    ctx.globalAlpha = 1;
    const from = mine[0]?.[1] ?? Number.POSITIVE_INFINITY;
    if (model.facts.has_group && model.before(i).length)
      paintWait(scene, area, x, Math.min(x + w, xOf(scene, Math.min(from, t))), model.waitWords(i, t));
    for (const [owner, start, end] of mine)
      if (owner === WAITS) paintWait(scene, area, xOf(scene, start), xOf(scene, end), model.waitWords(i, start));
  }
}

function paintWait({ ctx, b }: Scene, [x, y, w, h]: Rectangle, from: number, to: number, words: string): void {
  const [x0, x1] = [Math.max(x, from), Math.min(x + w, to)];
  if (x1 - x0 < 1) return;
  ctx.strokeStyle = b.theme.text;
  ctx.setLineDash([2, 3]);
  ctx.strokeRect(x0 + 1.5, y + 1.5, Math.max(0.5, x1 - x0 - 3), Math.max(0.5, h - 3));
  ctx.setLineDash([]);
  ctx.font = b.font(9.5);
  if (h < 30 * b.scale || ctx.measureText(words).width > x1 - x0 - 8) return;
  ctx.fillStyle = b.theme.text;
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  ctx.fillText(words, x0 + 5, y + h / 2 + 13 * b.scale);
}

/** Paint segments that are too old to be drawn one by one: counted in cells. */
export function paintCrowd(scene: Scene): void {
  const { ctx, b, model, t } = scene;
  const { map } = scene.l;
  const { n, col } = model.store.tables.crowd;
  const most = col.n.subarray(0, n).reduce((p, v) => Math.max(p, v), 1);
  for (let i = 0; i < n; i++) {
    if (col.start[i] > t) continue;
    const x0 = Math.max(b.left, xOf(scene, col.start[i]));
    const x1 = Math.min(b.right, xOf(scene, Math.min(t, col.end[i])));
    if (x1 <= x0) continue;
    const y = yOf(map, col.high[i]);
    ctx.fillStyle = mix(b.theme.ground, b.theme.soft, 0.15 + 0.5 * Math.sqrt(col.n[i] / most));
    ctx.fillRect(x0, y, x1 - x0 + 0.5, yOf(map, col.low[i]) - y + 0.5);
  }
}

export function paintTruncated(scene: Scene): void {
  const { ctx, b, model } = scene;
  const { truncated } = model.names;
  for (let k = 0; k < scene.list.length; k++) {
    const i = scene.list[k];
    if (!model.isTruncated(i)) continue;
    const [x, y, w, h] = rectangleOf(scene, i);
    const to = Math.min(x + w, xOf(scene, truncated[i]));
    if (to <= x) continue;
    ctx.fillStyle = b.theme.ground;
    ctx.globalAlpha = 0.6;
    ctx.fillRect(x, y, to - x, h);
    ctx.globalAlpha = 1;
    ctx.fillStyle = hatch(ctx, b.theme.text, 7);
    ctx.fillRect(x, y, to - x, h);
  }
}

/** Paint a thick edge below what is in tier 2, on a line of the ground that sets it off from every colour. */
export function paintTiers(scene: Scene): void {
  const { ctx, b, model } = scene;
  const { until } = model.store.tables.tiers.col;
  const { truncated } = model.names;
  for (let k = 0; k < scene.list.length; k++) {
    const i = scene.list[k];
    if (!model.isTiered(i)) continue;
    const from = model.isTruncated(i) ? xOf(scene, truncated[i]) : Number.NEGATIVE_INFINITY;
    const edge = tierEdge(rectangleOf(scene, i), from, xOf(scene, until[i]), b.scale);
    if (!edge) continue;
    const [x, y, w, h] = edge;
    ctx.fillStyle = b.theme.ground;
    ctx.fillRect(x, y - 1, w, 1);
    ctx.fillStyle = b.theme.text;
    ctx.fillRect(x, y, w, h);
  }
}

/** Paint edges: a sealed segment is closed at its right, an active one is open there. */
export function paintEdges(scene: Scene): void {
  const { ctx, b, model, t } = scene;
  ctx.strokeStyle = b.theme.dark ? "#ffffff55" : "#00000055";
  ctx.lineWidth = 1;
  ctx.beginPath();
  for (const i of scene.list) {
    const [x, y, w, h] = rectangleOf(scene, i);
    if (h < 4 || w < 3) continue;
    ctx.moveTo(x + w, y + 0.5);
    ctx.lineTo(x + 0.5, y + 0.5);
    ctx.lineTo(x + 0.5, y + h - 0.5);
    ctx.lineTo(x + w, y + h - 0.5);
    if (!model.isOpen(i, t)) ctx.lineTo(x + w, y + 0.5);
  }
  ctx.stroke();
}

export function paintLabels(scene: Scene): void {
  const { ctx, b, model } = scene;
  ctx.font = b.font(10.5, "600");
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  for (const i of scene.list) {
    const [x, y, w, h] = rectangleOf(scene, i);
    const text = model.label(i);
    if (h < 12 * b.scale || w < ctx.measureText(text).width + 8) continue;
    haloText(ctx, b.theme, text, x + 5, y + h / 2); // what is below it changes from pixel to pixel
  }
}

function outline(scene: Scene, i: number, width: number, dash: number[]): void {
  const { ctx, b } = scene;
  const area = rectangleOf(scene, i);
  ctx.setLineDash(dash);
  for (const [extra, colour] of [
    [2, b.theme.ground],
    [0, b.theme.text],
  ] as const) {
    ctx.strokeStyle = colour;
    ctx.lineWidth = width + extra;
    ctx.strokeRect(...area);
  }
  ctx.setLineDash([]);
}

/** Outline what is hovered and pinned: a segment with its predecessors and successors, or all that a reader has. */
export function paintSelection(scene: Scene): void {
  const { b, model, t } = scene;
  for (const mark of [b.clock.pin, b.clock.hover]) {
    if (isReader(mark)) {
      const place = (model.facts.readers ?? []).indexOf(mark.name) + 1;
      if (!place) continue;
      for (const k of scene.list) if (model.isOpen(k, t) && model.ownerAt(k, t) === place) outline(scene, k, 2, []);
      continue;
    }
    const i = model.indexOf(mark);
    if (i < 0 || i >= model.n || model.seg.start[i] > t) continue;
    for (const k of [...model.before(i), ...model.after(i, t)]) outline(scene, k, 1.5, [4, 3]);
    outline(scene, i, 2.5, []);
  }
}

/** Paint a checkpoint's cut: left of the line is before it. Where no position covers the keys, it is vermilion. */
export function paintCut(scene: Scene): void {
  const { ctx, b, model } = scene;
  const { map } = scene.l;
  const { stream } = model.facts;
  const mark = [b.clock.hover, b.clock.pin].filter(isCut).find((one) => one.pieces.some((p) => p.stream === stream));
  if (!mark) return;
  const mine = mark.pieces.filter((p) => p.stream === stream && !Number.isNaN(p.low)).sort((p, q) => p.low - q.low);
  const lines = mine.map((p) => {
    const i = model.numbered(p.number);
    const sealed = i === undefined ? Number.POSITIVE_INFINITY : model.seg.end[i];
    const time = p.done && sealed < Number.POSITIVE_INFINITY ? model.ms(sealed) : (p.at ?? mark.time);
    return [b.x(time), yOf(map, p.low), yOf(map, p.high)] as const;
  });
  for (const [width, colour] of [
    [6, b.theme.ground],
    [2.5, b.theme.text],
  ] as const) {
    ctx.strokeStyle = colour;
    ctx.lineWidth = width;
    ctx.beginPath();
    lines.forEach(([x, low, high], k) => {
      const joined = k && Math.abs(lines[k - 1][2] - low) < 0.5;
      ctx[joined ? "lineTo" : "moveTo"](x, low);
      ctx.lineTo(x, high);
    });
    ctx.stroke();
  }
  paintGaps(
    scene,
    b.x(mark.time),
    mark.gaps.filter((g) => !g.stream || g.stream === stream),
  );
  const top = lines.at(-1);
  if (!top) return;
  const x = Math.min(top[0] + 6, b.right - 120 * b.scale);
  haloText(ctx, b.theme, `cut of checkpoint ${mark.number}`, x, top[2] + 9 * b.scale);
}

function paintGaps({ ctx, b, l }: Scene, x: number, gaps: readonly { low: number; high: number }[]): void {
  ctx.strokeStyle = VERMILION;
  ctx.lineWidth = 5;
  ctx.font = b.font(10.5, "600");
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  for (const { low, high } of gaps) {
    const [y0, y1] = [yOf(l.map, low), yOf(l.map, high)];
    ctx.strokeStyle = VERMILION;
    ctx.lineWidth = 5;
    ctx.beginPath();
    ctx.moveTo(x, y0);
    ctx.lineTo(x, y1);
    ctx.stroke();
    haloText(ctx, b.theme, "gap: in no position", x + 7, (y0 + y1) / 2, VERMILION);
  }
  ctx.lineWidth = 1;
}
