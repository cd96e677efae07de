// A part's row: its phases, barriers, what lies between two systems' cuts, and what it waited for.
import { ink, VERMILION } from "../../page/drawing/colours.ts";
import { count } from "../../page/drawing/format.ts";
import { fillReader, hatch } from "../../page/drawing/patterns.ts";
import { firstFit } from "../../page/drawing/text.ts";
import type { Detail, Row } from "../layout.ts";
import type { CheckpointModel } from "../model.ts";
import { hasPassed, type Phase, passedAt, phasesOf, waitsFor, whereOf } from "../moment.ts";
import { phaseColour, type Scene } from "./scene.ts";

/** The middle of a row's bars and their height. */
interface Band {
  mid: number;
  size: number;
}

export function paintRow(scene: Scene, detail: Detail, row: Row): void {
  const { ctx, b, model, l, t } = scene;
  const s = b.scale;
  const { part, y, h } = row;
  const band = { mid: y + h / 2, size: Math.max(2, h * 0.62) };
  const across = paintName(scene, row);
  const phases = phasesOf(model, part, t);
  let right = l.left;
  for (const phase of phases) right = Math.max(right, paintPhase(scene, detail, row, band, phase, phases.length > 1));
  paintTicks(scene, detail, part, band);
  if ([b.clock.hover?.key, b.clock.pin?.key].includes(model.rowMark(part, t).key)) {
    ctx.strokeStyle = b.theme.text;
    ctx.strokeRect(2.5 * s, y + 0.5, l.right - 4 * s, h - 1);
  }
  const between = paintBetween(scene, detail, part, band);
  ctx.font = b.font(Math.min(10, h / s - 1));
  if (h < 8 * s) return;
  const passed = hasPassed(model, part, t);
  ctx.fillStyle = passed ? b.theme.soft : b.theme.text;
  const text = rowText(scene, part, phases.length);
  const brief = /[\d,]+ ms/.exec(text)?.[0] ?? "";
  const forms = [text + between, text, text.split(/, |: /)[0], brief];
  ctx.fillText(firstFit(ctx, l.right - right - 8, ...forms), right + 5, band.mid);
  if (passed && model.passedAs(part)?.skipped) ctx.fillRect(13 * s, band.mid - 0.5, across, 1.2);
}

/** Return the forms of a row's name, the longest first. A reader has a number, and a chain the name of its head. */
export function namesOf(model: CheckpointModel, part: number): string[] {
  const name = model.rowName(part);
  const reader = model.part.row[part] - model.readersFrom;
  if (reader >= 0) return [name, name.slice(model.common), `${reader + 1}.`];
  return [name, name.replace(/ → .* /, " "), name.replace(/^coord\. /, ""), name.split(" ").at(-1)!];
}

/** Paint the name of a row and return its width. */
function paintName({ ctx, b, model, l }: Scene, { part, y, h }: Row): number {
  const s = b.scale;
  const mid = y + h / 2;
  const reader = model.part.row[part] - model.readersFrom;
  const top = mid - Math.min(5 * s, h / 2 - 1);
  if (reader >= 0) fillReader(ctx, b.theme, reader, 4 * s, top, 5 * s, Math.min(10 * s, h - 2));
  ctx.font = b.font(Math.min(10.5, h / s - 1), "600");
  ctx.textAlign = "left";
  ctx.fillStyle = b.theme.text;
  const name = firstFit(ctx, l.left - 18 * s, ...namesOf(model, part));
  if (h > 7 * s) ctx.fillText(name, 13 * s, mid);
  return ctx.measureText(name).width;
}

/** Paint a phase, open while it lasts, and return its right end. */
function paintPhase(
  scene: Scene,
  { x, most }: Detail,
  { part, h }: Row,
  { mid, size }: Band,
  { kind, start, end }: Phase,
  isOneOfSeveral: boolean,
): number {
  const { ctx, b, model, t, picked } = scene;
  const asked = model.col.start[picked];
  const until = end <= t ? end : Math.min(t, Math.max(start, model.col.end[picked]), asked + most);
  const [x0, x1] = [x(start - asked), x(until - asked)];
  if (end > t) {
    ctx.strokeStyle = b.theme.text;
    ctx.setLineDash([3, 2]);
    ctx.strokeRect(x0 + 0.5, mid - size / 2 + 0.5, Math.max(1, x1 - x0 - 1), size - 1);
    ctx.setLineDash([]);
    return x1;
  }
  const skipped = model.part.skipped[part];
  const colour = phaseColour(model, b.theme, kind);
  ctx.fillStyle = colour;
  ctx.globalAlpha = skipped ? 0.35 : 1;
  ctx.fillRect(x0, mid - size / 2, Math.max(1.5, x1 - x0), size);
  ctx.globalAlpha = 1;
  const { at } = model.tick;
  const isTicked = model.ticksOf(part).some((i) => at[i] > start && at[i] < end);
  if (isOneOfSeveral && !isTicked && !skipped && h > 14 * b.scale)
    paintSpent(scene, end - start, colour, [x0, x1], mid);
  return x1;
}

/** Paint how long a phase took, where there is room in it. */
function paintSpent({ ctx, b }: Scene, sec: number, colour: string, [x0, x1]: [number, number], y: number): void {
  const text = `${count(Math.round(1000 * sec))} ms`;
  ctx.font = b.font(9);
  if (ctx.measureText(text).width > x1 - x0 - 6 * b.scale) return;
  ctx.textAlign = "center";
  ctx.fillStyle = ink(colour);
  ctx.fillText(text, (x0 + x1) / 2, y + 0.5);
  ctx.textAlign = "left";
}

/** Paint a line where a barrier came on one of a subtask's channels. */
function paintTicks({ ctx, b, model, t, picked }: Scene, { x }: Detail, part: number, { mid, size }: Band): void {
  const { at } = model.tick;
  ctx.fillStyle = b.theme.text;
  for (const i of model.ticksOf(part)) {
    if (at[i] > t) continue;
    ctx.fillRect(Math.round(x(at[i] - model.col.start[picked])) - 0.5, mid - size / 2 - 2, 1.5, size + 4);
  }
}

/** Paint what lies between the other system's cut and our barrier, and return it in words. */
function paintBetween({ ctx, b, model, t, picked }: Scene, { x }: Detail, part: number, { mid, size }: Band): string {
  const between = model.betweenOf(part);
  if (!between) return "";
  const [cut, barrier, events] = between;
  if (barrier > t || cut > t) return "";
  const start = model.col.start[picked];
  const [from, to] = [x(Math.min(cut, barrier) - start), x(Math.max(cut, barrier) - start)];
  const colour = events > 0 ? b.theme.text : VERMILION; // to read twice is no loss
  const area = [from, mid - size / 2 - 2, Math.max(3, to - from), size + 4] as const;
  ctx.fillStyle = hatch(ctx, colour, 5);
  ctx.fillRect(...area);
  ctx.strokeStyle = colour;
  ctx.strokeRect(...area);
  return events > 0 ? ` · would be read twice: ${count(events)}` : ` · would be lost: ${count(-events)}`;
}

/** Return what a row says: how long the part took, or what it waits for. */
export function rowText(
  { model, t, picked }: Pick<Scene, "model" | "t" | "picked">,
  part: number,
  phases: number,
): string {
  const { start, end } = model.col;
  if (!hasPassed(model, part, t)) {
    if (end[picked] <= t) return "had not passed";
    const place = whereOf(model, part, t);
    return `${place ? `${place}, ` : ""}${waitsFor(model, part, t)}`;
  }
  const took = `${count(Math.round(1000 * (passedAt(model, part, t) - start[picked])))} ms`;
  const time = `${model.isJob && phases > 1 ? "acknowledged after " : ""}${took}`;
  const why = model.passedAs(part)?.skipped;
  if (!why) return time;
  return model.isJob ? why : `${time}: ${why}${model.facts.counts}`;
}
