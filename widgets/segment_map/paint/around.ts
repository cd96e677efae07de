// Around the map: the key axis, the gutter with what each active segment does, the path of a key.
import { bytes, count } from "../../page/drawing/format.ts";
import type { Context } from "../../page/drawing/patterns.ts";
import { type Box, yOf } from "../../page/drawing/scale.ts";
import { commonStart, firstFit } from "../../page/drawing/text.ts";
import { keyPosition } from "../hashing.ts";
import { type Gutter, gutterOf, gutterRows, type Layout, opened } from "../layout.ts";
import type { Scene } from "./scene.ts";

export function paintKeyAxis(ctx: Context, b: Box, { map }: Layout): void {
  ctx.font = b.font(10);
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  for (const key of [0, 0.25, 0.5, 0.75, 1]) {
    const y = Math.round(yOf(map, key)) + 0.5;
    ctx.strokeStyle = b.theme.line;
    ctx.beginPath();
    ctx.moveTo(b.left - 4, y);
    ctx.lineTo(b.right, y);
    ctx.stroke();
    ctx.fillStyle = b.theme.soft;
    const text = key === 0 || key === 1 ? String(key) : key.toFixed(2);
    ctx.fillText(text, b.left - 6, Math.min(Math.max(y, map.top + 5), map.bottom - 4));
  }
  ctx.save();
  ctx.translate(9 * b.scale, (map.top + map.bottom) / 2);
  ctx.rotate(-Math.PI / 2);
  ctx.textAlign = "center";
  ctx.fillText("key space", 0, 0);
  ctx.restore();
}

/** Paint range, rate, size or unread bytes, and owner of each active segment that has room. */
export function paintGutter(scene: Scene): void {
  const { ctx, b, model, t } = scene;
  if (b.folded) return; // the table below the picture says it
  const { map } = scene.l;
  const row = 13 * b.scale;
  const gutter = gutterOf(b, model.knows("owner"));
  const active = opened(model, scene.list, t);
  const rows = gutterRows(model, active, map, row);
  ctx.font = b.font(10);
  ctx.textBaseline = "middle";
  paintGutterHead(scene, gutter);
  const common = gutter.owned ? commonStart(model.facts.readers ?? []) : 0;
  for (const [i, y] of rows) paintGutterRow(scene, gutter, i, y, common);
  if (rows.length === active.length) return;
  ctx.fillStyle = b.theme.soft;
  ctx.textAlign = "left";
  ctx.fillText(`${rows.length} of ${count(active.length)} active`, gutter.columns[0], map.bottom - 5 * b.scale);
}

function paintGutterHead({ ctx, b, model, l }: Scene, { columns, owned }: Gutter): void {
  const y = l.map.top - 9 * b.scale;
  ctx.fillStyle = b.theme.soft;
  ctx.textAlign = "left";
  ctx.fillText("active, keys", columns[0], y);
  ctx.textAlign = "right";
  ctx.fillText(model.facts.rate_unit ?? "", columns[2] - 6 * b.scale, y);
  ctx.textAlign = "left";
  ctx.fillText(model.knows("unread") ? "unread" : "stored", columns[2], y);
  if (owned) ctx.fillText("owner", columns[3], y);
}

function paintGutterRow({ ctx, b, model, t }: Scene, gutter: Gutter, i: number, y: number, common: number): void {
  const { columns, owned } = gutter;
  const sample = model.sampleAt(i, t);
  const owner = owned ? model.ownerWords(i, t) : "";
  ctx.strokeStyle = b.theme.line;
  ctx.beginPath();
  ctx.moveTo(b.right + 1, Math.round(y) + 0.5);
  ctx.lineTo(b.right + 6, Math.round(y) + 0.5);
  ctx.stroke();
  ctx.textAlign = "left";
  ctx.fillStyle = b.theme.text;
  const room = columns[1] - columns[0] - 4;
  const name = model.short(i);
  const forms = [`${name} ${model.range(i)}`, `${name} ${model.range(i, 2)}`, name];
  ctx.fillText(firstFit(ctx, room, ...forms), columns[0], y);
  ctx.textAlign = "right";
  ctx.fillText(sample < 0 ? "–" : model.rateText(model.rateColumn[sample]), columns[2] - 6 * b.scale, y);
  ctx.textAlign = "left";
  ctx.fillStyle = b.theme.soft;
  const { unread, stored } = model.rates;
  const size = sample < 0 ? "" : bytes((model.knows("unread") ? unread : stored)[sample]);
  ctx.fillText(firstFit(ctx, (owned ? columns[3] - 3 : b.width) - columns[2], size), columns[2], y);
  if (!owned) return;
  const waits = owner.startsWith("wait") ? "waits" : "";
  ctx.fillStyle = b.theme.text;
  const owners = [owner, owner.replace(/ for a checkpoint.*/, ""), waits || owner.slice(common)];
  ctx.fillText(firstFit(ctx, b.width - columns[3], ...owners), columns[3], y);
}

/** Paint a line at the position of the user's key, and the segments that own it. */
export function paintKey({ ctx, b, model, state, l, t }: Scene): void {
  if (!state.key) return;
  const y = yOf(l.map, keyPosition(state.key));
  ctx.strokeStyle = b.theme.text;
  ctx.lineWidth = 1.5;
  ctx.setLineDash([6, 3]);
  ctx.beginPath();
  ctx.moveTo(b.left, y);
  ctx.lineTo(b.right, y);
  ctx.stroke();
  ctx.setLineDash([]);
  ctx.lineWidth = 1;
  ctx.font = b.font(11, "600");
  const path = model.keyPath(state.key, t);
  const last = path.split(" → ").at(-1) ?? "";
  const text = firstFit(ctx, b.right - b.left - 22, path, `${state.key}: ${last}`, last);
  const w = ctx.measureText(text).width + 10;
  const x = b.left + 6;
  const up = y - 20 * b.scale > l.map.top;
  ctx.fillStyle = b.theme.ground;
  ctx.strokeStyle = b.theme.text;
  ctx.beginPath();
  ctx.rect(x, up ? y - 19 * b.scale : y + 3 * b.scale, w, 16 * b.scale);
  ctx.fill();
  ctx.stroke();
  ctx.fillStyle = b.theme.text;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  ctx.fillText(text, x + 5, up ? y - 11 * b.scale : y + 11 * b.scale);
}
