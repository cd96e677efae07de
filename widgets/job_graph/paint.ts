// Geometry to canvas: channels below, boxes above them, the newest sentence at the foot.
import { mix } from "../page/drawing/colours.ts";
import { count, upTo } from "../page/drawing/format.ts";
import type { Context } from "../page/drawing/patterns.ts";
import type { Box } from "../page/drawing/scale.ts";
import { firstFit } from "../page/drawing/text.ts";
import { blockedSince, layout, placeMarks, SIZE, type Slot, slotsBefore, type TaskBox } from "./layout.ts";
import type { JobModel } from "./model.ts";
import { paintBox } from "./paint_box.ts";
import { paintPadlock, paintShape } from "./shapes.ts";
import type { State } from "./state.ts";

/** What all painters of one drawing need. */
export interface Scene {
  readonly ctx: Context;
  readonly b: Box;
  readonly model: JobModel;
  readonly state: State;
}

/** Return the painter of one place on the page. */
export function painter(model: JobModel, state: State): (ctx: Context, b: Box) => void {
  return (ctx, b) => {
    state.pinned = b.clock.pin?.key;
    state.isPast = b.clock.at !== null;
    state.t = upTo(Math.max((b.now - model.origin) / 1000, 0));
    [state.boxes, state.slots, state.marks] = [[], [], []];
    if (b.clock.ticking && !model.isEmpty) paintJob({ ctx, b, model, state });
    state.offer?.(b.clock);
  };
}

function paintJob(scene: Scene): void {
  const { b, model, state } = scene;
  const l = layout(model, b.width, b.scale, state.t);
  state.boxes = l.boxes;
  const places = new Map(l.boxes.flatMap((box) => box.tasks.map((task) => [task, box] as const)));
  for (const box of l.boxes)
    for (const slot of slotsBefore(model, box, l.slotWidth, b.scale, state.t)) paintSlot(scene, slot, places);
  l.boxes.forEach((box, k) => {
    if (box.vertex !== l.boxes[k - 1]?.vertex) paintHead(scene, box);
    paintBox(scene, box);
  });
  paintFoot(scene);
}

function paintHead({ ctx, b }: Scene, { vertex, x, w, headY }: TaskBox): void {
  ctx.font = b.font(11, "600");
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  ctx.fillStyle = b.theme.text;
  const number = `×${vertex.parallelism}`;
  ctx.fillText(firstFit(ctx, w, `${vertex.short} ${number}`, vertex.short, number), x, headY);
}

function paintFoot({ ctx, b, model, state }: Scene): void {
  state.sentence = model.sentenceAt(state.t);
  ctx.font = b.font(11);
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  ctx.fillStyle = b.theme.text;
  if (b.folded) return; // it is below the picture
  ctx.fillText(firstFit(ctx, b.width - 16, state.sentence), SIZE.edge * b.scale, b.height - 11 * b.scale);
}

function paintSlot(scene: Scene, slot: Slot, places: ReadonlyMap<number, TaskBox>): void {
  const { ctx, b, state } = scene;
  const s = b.scale;
  const right = slot.x + slot.w;
  const mid = slot.y + slot.h / 2;
  paintWires(scene, slot, mid, places);
  const full = slot.capacity ? Math.min(1, slot.records / slot.capacity) : 0;
  ctx.fillStyle = b.theme.ground;
  ctx.fillRect(slot.x, slot.y, slot.w, slot.h);
  if (full) {
    ctx.fillStyle = mix(b.theme.cold, b.theme.hot, 0.45 * full);
    ctx.fillRect(right - full * slot.w, slot.y, full * slot.w, slot.h);
  }
  state.slots.push(slot);
  const isHot = [b.clock.hover?.key, b.clock.pin?.key].includes(`channel ${slot.lane}`);
  ctx.strokeStyle = isHot ? b.theme.text : b.theme.line;
  ctx.strokeRect(slot.x + 0.5, Math.round(slot.y) + 0.5, slot.w - 1, slot.h - 1);
  let x = right - 3 * s;
  const since = blockedSince(slot);
  if (since !== null) {
    paintPadlock(ctx, b, x - 7 * s, mid);
    const text = `${count(Math.max(0, Math.round(1000 * (state.t - since))))} ms`;
    ctx.font = b.font(9);
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    ctx.fillText(text, x - 10 * s, mid);
    x -= ctx.measureText(text).width + 15 * s;
  }
  paintMarks(scene, slot, x, mid);
}

/** Paint the wires from the boxes that write into a slot. */
function paintWires({ ctx, b, model }: Scene, slot: Slot, mid: number, places: ReadonlyMap<number, TaskBox>): void {
  ctx.strokeStyle = b.theme.line;
  for (const from of new Set(slot.channels.map((c) => places.get(model.producerOf(c))))) {
    if (!from) continue;
    const [x, y] = [from.x + from.w, from.y + from.h / 2];
    const turn = (x + slot.x) / 2;
    ctx.beginPath();
    ctx.moveTo(x, y);
    ctx.bezierCurveTo(turn, y, turn, mid, slot.x, mid);
    ctx.stroke();
  }
}

function paintMarks({ ctx, b, state }: Scene, slot: Slot, right: number, mid: number): void {
  const s = b.scale;
  ctx.font = b.font(9.5);
  ctx.textBaseline = "middle";
  ctx.textAlign = "right";
  const { marks, more, end } = placeMarks(slot, right, s, (text) => ctx.measureText(text).width);
  for (const mark of marks) {
    ctx.fillStyle = ctx.strokeStyle = b.theme.text;
    const isHot = [b.clock.hover?.key, b.clock.pin?.key].includes(mark.key);
    if (isHot) ctx.strokeRect(mark.x + 2 * s, mark.y + 1, mark.w, mark.h - 2);
    ctx.fillText(mark.text, mark.x + mark.w, mid);
    paintShape(ctx, b, mark.what, mark.value, mark.x + 4 * s, mid);
    if (!slot.folded) state.marks.push(mark);
  }
  if (!more) return;
  ctx.fillStyle = b.theme.soft;
  ctx.fillText(`+${more}`, end, mid);
}
