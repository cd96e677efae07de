// The checkpoint that was picked: its title, what held it up, and a row per part over the time since the request.
import { VERMILION } from "../../page/drawing/colours.ts";
import { count, seconds } from "../../page/drawing/format.ts";
import { ticks } from "../../page/drawing/scale.ts";
import { firstFit } from "../../page/drawing/text.ts";
import { brief, type Detail, detailOf } from "../layout.ts";
import { hasPassed, heldUp, passedAt, phasesOf, spent, stateAt, wordAt } from "../moment.ts";
import { onlyOf } from "../state.ts";
import { paintRow } from "./row.ts";
import type { Scene } from "./scene.ts";

export function paintDetail(scene: Scene): void {
  const { ctx, b, model, state, l, t, picked } = scene;
  paintTitle(scene);
  const detail = detailOf(model, l, b.scale, { c: picked, only: onlyOf(model, state), t });
  state.rows = detail.rows;
  paintScale(scene, detail);
  if (detail.split) paintSplit(scene, detail);
  for (const row of detail.rows) paintRow(scene, detail, row);
  if (detail.split) paintLinks(scene, detail);
  const [shown, all] = [detail.rows.length, detail.all];
  if (all === shown) return;
  ctx.fillStyle = b.theme.soft;
  ctx.textAlign = "right";
  const text = `the last ${shown} of ${count(all)} to pass, +${count(all - shown)}`;
  ctx.fillText(text, l.right, b.height - 6 * b.scale);
}

function paintTitle({ ctx, b, model, l, t, picked: c }: Scene): void {
  const s = b.scale;
  const y = l.under + 10 * s;
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  ctx.font = b.font(11, "600");
  ctx.fillStyle = b.theme.text;
  const title = `${model.facts.system ?? ""} ${model.labelOf(c)}`;
  ctx.fillText(title, 4 * s, y);
  const from = 4 * s + ctx.measureText(`${title}  `).width;
  ctx.font = b.font(10.5);
  ctx.fillStyle = b.theme.soft;
  const pinned = model.isMine(b.clock.pin, c) ? ", pinned" : "";
  const parts = [
    ...(model.col.number[c] ? [model.nameOf(c)] : []), // otherwise the title has the name
    `asked at ${seconds(1000 * model.col.start[c])}`,
    brief(spent(model, c, t)),
    `${wordAt(model, c, t)}${pinned}`,
  ];
  const forms = parts.map((_, k) => parts.slice(k).join(" · ")); // the name matters least
  ctx.fillText(firstFit(ctx, b.right - from, ...forms), from, y);
  if (b.folded) return; // what held it up is below the picture
  ctx.font = b.font(11);
  ctx.fillStyle = stateAt(model, c, t) === "failed" ? VERMILION : b.theme.text;
  ctx.fillText(firstFit(ctx, b.width - 8 * s, heldUp(model, c, t)), 4 * s, y + 15 * s);
}

function paintScale({ ctx, b, l }: Scene, { x, most }: Detail): void {
  ctx.font = b.font(9.5);
  ctx.textBaseline = "top";
  ctx.fillStyle = b.theme.line;
  ctx.fillRect(l.left, l.rows.bottom, l.right - l.left, 1);
  for (const v of ticks(0, most, Math.min(6, (x(most) - x(0)) / (60 * b.scale)))) {
    ctx.fillStyle = b.theme.line;
    ctx.fillRect(Math.round(x(v)), l.rows.top - 2, v ? 0.6 : 1.2, l.rows.bottom - l.rows.top + 6);
    ctx.fillStyle = b.theme.soft;
    ctx.textAlign = v ? "center" : "left";
    const text = most < 2 ? `${Math.round(1000 * v)} ms` : `${Number(v.toPrecision(3))} s`;
    if (!v || x(v) - x(0) > 50 * b.scale) ctx.fillText(v ? text : "asked", x(v), l.rows.bottom + 6 * b.scale);
  }
  ctx.textBaseline = "middle";
}

/** Paint the heading of the other system's rows. */
function paintSplit({ ctx, b, model, l }: Scene, { rows, split }: Detail): void {
  const first = rows.find(({ part }) => model.isReaderOfJob(part));
  if (!first) return;
  const y = first.y - split;
  ctx.fillStyle = b.theme.line;
  ctx.fillRect(4 * b.scale, Math.round(y + 1), l.right - 4 * b.scale, 1);
  ctx.font = b.font(9.5);
  ctx.fillStyle = b.theme.soft;
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  const text = firstFit(ctx, l.right - 12 * b.scale, `reader group ${model.facts.group}`, "reader group");
  ctx.fillText(text, 4 * b.scale, y + split / 2 + 2);
}

/** Paint arrows from what the job asked to the readers that it made pass, and one back when all had. */
function paintLinks({ ctx, b, model, t, picked: c }: Scene, { rows, x }: Detail): void {
  const places = new Map(rows.map((row) => [row.part, row.y + row.h / 2]));
  const begun = (part: number) => phasesOf(model, part, t)[0];
  const start = model.col.start[c];
  const links = model.linksOf(c).filter((parts) => parts.every((part) => places.has(part) && begun(part)));
  ctx.strokeStyle = ctx.fillStyle = b.theme.text;
  ctx.lineWidth = 1;
  for (const [from, to] of links) {
    const [at, bottom] = [x(begun(to).start - start) + 0.5, places.get(to)!];
    ctx.beginPath();
    ctx.moveTo(x(begun(from).start - start), places.get(from)!);
    ctx.lineTo(at, bottom - 4);
    ctx.stroke();
    ctx.beginPath();
    ctx.moveTo(at - 3, bottom - 7);
    ctx.lineTo(at + 3, bottom - 7);
    ctx.lineTo(at, bottom - 1);
    ctx.fill();
  }
  if (!links.length || !links.every(([, to]) => hasPassed(model, to, t))) return;
  const back = Math.max(...links.map(([, to]) => passedAt(model, to, t)));
  const home = begun(links[0][0]).end;
  if (!(home <= t) || home < back) return;
  ctx.setLineDash([4, 3]);
  ctx.beginPath();
  ctx.moveTo(x(back - start), Math.max(...links.map(([, to]) => places.get(to)!)));
  ctx.lineTo(x(home - start), places.get(links[0][0])!);
  ctx.stroke();
  ctx.setLineDash([]);
}
