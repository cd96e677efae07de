// The cut as a column of the key space, of one stream; what it leaves out is vermilion.

import { isCut } from "../../page/data/marks.ts";
import { ink, readerColour, VERMILION } from "../../page/drawing/colours.ts";
import { bytes } from "../../page/drawing/format.ts";
import { fillReader, hatch } from "../../page/drawing/patterns.ts";
import { type Area, yOf } from "../../page/drawing/scale.ts";
import { firstFit } from "../../page/drawing/text.ts";
import { type Cut, cutArea } from "../layout.ts";
import type { Piece } from "../model.ts";
import { stateAt } from "../moment.ts";
import type { Scene } from "./scene.ts";

const LABEL_LEAST = 11; // between two labels

/** A text right of the column, at a height. */
type Label = readonly [y: number, text: string, colour: string];

export function paintCut(scene: Scene): void {
  const { ctx, b, model, state, l, t, picked: c } = scene;
  const area = cutArea(l, b.scale);
  ctx.font = b.font(10);
  ctx.textAlign = "left";
  ctx.fillStyle = b.theme.soft;
  const word = stateAt(model, c, t);
  const pieces = model.piecesOf(c);
  if (model.isJob && !pieces.length) {
    if (word !== "running" && !b.folded) paintAbout(scene, area);
    return;
  }
  if (word !== "completed" || !pieces.length) {
    const text = word === "running" ? "the cut, when all passed" : "no cut";
    const left = l.right + 8 * b.scale;
    if (!b.folded) ctx.fillText(text, left, (area.top + area.bottom) / 2);
    return;
  }
  state.cut = { c, x: columnLeft(scene) - 6, right: b.width, ...area };
  paintColumn(scene, area, pieces);
  const { hover, pin } = b.clock;
  if (![hover, pin].some((mark) => isCut(mark) && model.isMine(mark, c))) return;
  ctx.strokeStyle = b.theme.text;
  ctx.lineWidth = 2;
  ctx.strokeRect(columnLeft(scene) - 3, area.top - 2, columnWidth(scene) + 6, area.bottom - area.top + 4);
  ctx.lineWidth = 1;
}

const columnLeft = ({ b, l }: Scene): number => l.right + 40 * b.scale;
const columnWidth = ({ b }: Scene): number => 30 * b.scale;

/** Paint what is known about a job's checkpoint instead of a cut. */
function paintAbout({ ctx, b, model, l, picked }: Scene, { top }: Area): void {
  const s = b.scale;
  model.aboutOf(picked).forEach((line, k) => {
    const room = b.width - l.right - 12 * s;
    ctx.fillText(firstFit(ctx, room, line, line.split(", ")[0]), l.right + 8 * s, top + (8 + 15 * k) * s);
  });
}

function paintColumn(scene: Scene, area: Area, pieces: readonly Piece[]): void {
  const { ctx, b, l } = scene;
  const s = b.scale;
  const streams = [...new Set(pieces.map((p) => p.stream))];
  const more = streams.length > 1 ? ` of ${streams[0]}, +${streams.length - 1}` : "";
  const forms = [`cut${more}: click draws it`, "cut: click draws it", "cut"];
  const head = firstFit(ctx, b.width - l.right - 10 * s, ...forms);
  ctx.fillText(head, l.right + 8 * s, l.under + 27 * s);
  paintKeys(scene, area);
  const mine = pieces.filter((p) => p.stream === streams[0] && !Number.isNaN(p.low));
  const labels = [...mine.map((p) => paintPiece(scene, area, p)), ...paintGaps(scene, area, streams[0])];
  ctx.textAlign = "left";
  ctx.font = b.font(10);
  paintLabels(scene, labels);
  if (!pieces.every((p) => Number.isNaN(p.low))) return;
  const x = columnLeft(scene) + columnWidth(scene) + 6;
  ctx.fillStyle = b.theme.soft;
  const unknown = ["keys not known: observe the stream too", "keys not known"];
  ctx.fillText(firstFit(ctx, b.width - x, ...unknown), x, (area.top + area.bottom) / 2);
}

function paintKeys(scene: Scene, area: Area): void {
  const { ctx, b } = scene;
  const x = columnLeft(scene);
  ctx.textAlign = "right";
  for (const key of [0, 0.5, 1]) {
    ctx.fillStyle = b.theme.soft;
    ctx.fillText(String(key), x - 5, Math.min(area.bottom - 4, Math.max(area.top + 5, yOf(area, key))));
  }
  ctx.strokeStyle = b.theme.line;
  ctx.strokeRect(x, area.top, columnWidth(scene), area.bottom - area.top);
}

export const positionWords = (p: Piece): string => (p.done ? "read to its end" : `up to ${bytes(p.offset)}`);

/** Paint a segment's part of the key space in the colour of its reader, and return its label. */
function paintPiece(scene: Scene, area: Area, p: Piece): Label {
  const { ctx, b, model } = scene;
  const [x, w] = [columnLeft(scene), columnWidth(scene)];
  const [y0, y1] = [yOf(area, p.high), yOf(area, p.low)];
  const reader = p.row - 1 - model.readersFrom;
  if (p.row) fillReader(ctx, b.theme, reader, x, y0, w, Math.max(0.5, y1 - y0 - 1));
  else {
    ctx.fillStyle = hatch(ctx, b.theme.soft);
    ctx.fillRect(x, y0, w, y1 - y0 - 1);
  }
  if (y1 - y0 > 12 * b.scale && p.row) {
    ctx.font = b.font(10, "600");
    ctx.textAlign = "center";
    ctx.fillStyle = ink(readerColour(reader));
    ctx.fillText(`#${p.number}`, x + w / 2, (y0 + y1) / 2);
  }
  return [(y0 + y1) / 2, `#${p.number} ${positionWords(p)}`, b.theme.text];
}

/** Paint the keys that no position covers, and return their labels. */
function paintGaps(scene: Scene, area: Area, stream: string): Label[] {
  const { ctx, model, picked } = scene;
  const gaps = model.gapsOf(picked).filter((gap) => !gap.stream || gap.stream === stream);
  return gaps.map(({ low, high }) => {
    const [y0, y1] = [yOf(area, high), yOf(area, low)];
    ctx.fillStyle = VERMILION;
    ctx.fillRect(columnLeft(scene) - 3, y0, columnWidth(scene) + 6, Math.max(2, y1 - y0 - 1));
    return [(y0 + y1) / 2, `gap ${low}–${high}: in no position`, VERMILION];
  });
}

function paintLabels(scene: Scene, labels: readonly Label[]): void {
  const { ctx, b } = scene;
  const x = columnLeft(scene) + columnWidth(scene) + 6;
  let last = Number.NEGATIVE_INFINITY;
  for (const [y, text, colour] of [...labels].sort((p, q) => p[0] - q[0])) {
    if (y - last < LABEL_LEAST * b.scale) continue;
    last = y;
    ctx.fillStyle = colour;
    ctx.fillText(firstFit(ctx, b.width - x - 2, text), x, y);
  }
}

/** Return whether a point is in the cut's column or its labels. */
export const isInCut = (cut: Cut, x: number, y: number): boolean =>
  x >= cut.x && x <= cut.right && y >= cut.top && y <= cut.bottom;
