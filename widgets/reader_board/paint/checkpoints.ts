// Checkpoints: a line where each was asked for, and which readers have passed it.
import { VERMILION } from "../../page/drawing/colours.ts";
import { haloText } from "../../page/drawing/patterns.ts";
import { checkpointsOn, isCovered, isCrowded } from "../layout.ts";
import { checkpointState, checkpointWord, waitsFor } from "../moment.ts";
import { HEAD } from "../plan.ts";
import { type Scene, xOf } from "./scene.ts";

const isChosen = ({ b, model }: Scene, c: number): boolean =>
  [b.clock.hover, b.clock.pin].some((mark) => model.isOfCheckpoint(mark, c));

/** Paint the checkpoints on the screen, newest first; a label is there where it does not cover a newer one. */
export function paintCheckpoints(scene: Scene): void {
  const { ctx, b, model, t } = scene;
  const list = checkpointsOn(model, b, t);
  const crowded = isCrowded(list, b);
  const covered = isCovered(list, b);
  let limit = b.right;
  ctx.textBaseline = "middle";
  for (const c of list.reverse()) {
    const x = Math.round(xOf(scene, model.check.asked[c]));
    const pale = crowded && !isChosen(scene, c);
    paintAsked(scene, c, x, pale, covered);
    if (!pale) paintPasses(scene, c);
    ctx.font = b.font(9.5);
    ctx.textAlign = "left";
    const label = `${model.numbers.get(c)} ${checkpointWord(model, c, t)}`;
    const width = ctx.measureText(label).width;
    const left = limit === b.right ? Math.min(x - 2, b.right - 2 - width) : x - 2;
    if (x < b.left || left + width > limit) continue;
    const colour = checkpointState(model, c, t) === "cleared" ? VERMILION : b.theme.text;
    haloText(ctx, b.theme, label, left, (HEAD - 12) * b.scale, colour);
    limit = left - 4;
  }
  ctx.lineWidth = 1;
}

function paintAsked(scene: Scene, c: number, x: number, pale: boolean, covered: boolean): void {
  const { ctx, b, model, plan, t } = scene;
  const word = checkpointState(model, c, t);
  const plain = word === "completed" || word === "running";
  ctx.strokeStyle = word === "cleared" ? VERMILION : plain ? b.theme.text : b.theme.soft;
  ctx.lineWidth = isChosen(scene, c) ? 2.5 : 1;
  ctx.globalAlpha = pale ? 0.25 : 0.8;
  ctx.setLineDash(word === "completed" ? [] : [4, 3]);
  ctx.beginPath();
  ctx.moveTo(x + 0.5, (HEAD - 6) * b.scale);
  ctx.lineTo(x + 0.5, (pale && covered && word !== "cleared" ? HEAD : plan.bottom) * b.scale);
  if (x >= b.left) ctx.stroke();
  ctx.setLineDash([]);
  ctx.globalAlpha = 1;
}

/** Paint a filled dot where a reader passed, and a ring at the line of now where it has still to. */
function paintPasses(scene: Scene, c: number): void {
  const { model, t } = scene;
  const { reader, t: at, leaving } = model.store.tables.passes.col;
  for (const k of model.passesOf(c)) {
    if (at[k] > t) continue;
    const end = paintWay(scene, c, reader[k], at[k]);
    if (end && !leaving[k]) paintDot(scene, end, true);
  }
  if (model.check.ended[c] <= t) return;
  const owed = model.store.tables.owed.col;
  for (const k of model.owedOf(c)) {
    if (!waitsFor(model, c, owed.reader[k], t)) continue;
    const end = paintWay(scene, c, owed.reader[k], t);
    if (end) paintDot(scene, end, false);
  }
}

/** Paint the time from the request to a moment in a reader's lane, and return its end, or null if it is not drawn. */
function paintWay(scene: Scene, c: number, reader: number, time: number): { x: number; y: number } | null {
  const { ctx, b, model, plan } = scene;
  const lane = plan.of.get(reader + 1);
  const x = xOf(scene, time);
  if (!lane || x < b.left || x > b.right + 2) return null;
  const y = (lane.y + lane.h / 2) * b.scale;
  const from = Math.max(xOf(scene, model.check.asked[c]), b.left);
  ctx.fillStyle = b.theme.text;
  ctx.fillRect(from, y - 0.5, x - from, 1.2);
  return { x, y };
}

function paintDot({ ctx, b }: Scene, { x, y }: { x: number; y: number }, filled: boolean): void {
  const [fill, edge] = filled ? [b.theme.text, b.theme.ground] : [b.theme.ground, b.theme.text];
  ctx.beginPath();
  ctx.arc(x, y, 3.6 * b.scale, 0, 7);
  ctx.fillStyle = fill;
  ctx.fill();
  ctx.lineWidth = 1.4;
  ctx.strokeStyle = edge;
  ctx.stroke();
  ctx.lineWidth = 1;
}
