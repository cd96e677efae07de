// A box: state, rates, size of the stored state, and a sink's trays.
import { VERMILION } from "../page/drawing/colours.ts";
import { bytes, count } from "../page/drawing/format.ts";
import { firstFit } from "../page/drawing/text.ts";
import type { TaskBox } from "./layout.ts";
import { keyOf } from "./marks.ts";
import { sum, type TaskState } from "./model.ts";
import type { Scene } from "./paint.ts";
import { blue, paintIcon } from "./shapes.ts";
import { isTime, speedWords, stateForms, timeWords } from "./words.ts";

const TRAYS = ["open", "pre", "committed"] as const;
const TRAY_WORDS = ["open", "pre-c.", "committed"];
const TRAY_SHARES = [0.27, 0.32, 0.41];

export function paintBox(scene: Scene, box: TaskBox): void {
  const { ctx, b, model, state } = scene;
  const told = box.tasks.map((task) => model.taskAt(task, state.t));
  const failed = told.some((one) => one.word === "failed");
  const done = told.every((one) => one.word === "finished");
  ctx.fillStyle = b.theme.ground;
  ctx.fillRect(box.x, box.y, box.w, box.h);
  if (done) {
    ctx.globalAlpha = 0.25;
    ctx.fillStyle = b.theme.line;
    ctx.fillRect(box.x, box.y, box.w, box.h);
    ctx.globalAlpha = 1;
  }
  const key = keyOf(model, box);
  const isPinned = b.clock.pin?.key === key;
  const edge = failed ? VERMILION : told.some((one) => one.word === "aligning") ? blue(b.theme) : b.theme.soft;
  ctx.strokeStyle = isPinned ? b.theme.text : edge;
  ctx.lineWidth = isPinned ? 2.4 : failed ? 2 : 1.2;
  ctx.setLineDash(b.clock.hover?.key === key && !isPinned ? [4, 2] : []);
  ctx.strokeRect(box.x + 0.5, box.y + 0.5, box.w - 1, box.h - 1);
  ctx.setLineDash([]);
  ctx.lineWidth = 1;
  paintState(scene, box, told, failed, done);
  paintMeasures(scene, box, told);
  if (model.hasTrays(box.tasks)) paintTrays(scene, box, told);
}

function paintMeasures({ ctx, b }: Scene, box: TaskBox, told: readonly TaskState[]): void {
  const s = b.scale;
  ctx.font = b.font(10);
  ctx.fillStyle = b.theme.soft;
  const speed = speedWords(told);
  ctx.fillText(firstFit(ctx, box.w - 12 * s, speed, speed.split(" · ")[0]), box.x + 6 * s, box.y + 27 * s);
  const sizes = told.map((one) => one.bytes).filter((n) => !Number.isNaN(n));
  const time = told.length === 1 && isTime(told[0].time) ? ` · ◇ ${timeWords(told[0].time)}` : "";
  const kept = sizes.length ? `state ${bytes(sum(sizes))}` : "no snapshot yet";
  ctx.fillText(firstFit(ctx, box.w - 12 * s, kept + time, kept), box.x + 6 * s, box.y + 42 * s);
}

function paintState(scene: Scene, box: TaskBox, told: readonly TaskState[], failed: boolean, done: boolean): void {
  const { ctx, b, model } = scene;
  const s = b.scale;
  const folded = box.tasks.length > 1;
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  ctx.font = b.font(11, "600");
  ctx.fillStyle = b.theme.text;
  const head = folded ? `${box.tasks.length}` : `${model.subtaskOf(box.tasks[0]) + 1}/${box.vertex.parallelism}`;
  const y = box.y + 12 * s;
  ctx.fillText(head, box.x + 6 * s, y);
  let x = box.x + 12 * s + ctx.measureText(head).width;
  ctx.font = b.font(10.5);
  ctx.fillStyle = ctx.strokeStyle = failed ? VERMILION : b.theme.text;
  if (!folded) {
    paintIcon(ctx, told[0].word, x + 4 * s, y, 4 * s);
    x += 12 * s;
  }
  const text = firstFit(ctx, box.x + box.w - x - 4 * s, ...stateForms(told));
  ctx.fillText(text, x, y);
  if (done) ctx.fillRect(x - 2, y - 0.5, ctx.measureText(text).width + 4, 1.2);
}

/** Paint how many transactions are open, pre-committed and committed, in as many words as there is room for. */
function paintTrays({ ctx, b }: Scene, box: TaskBox, told: readonly TaskState[]): void {
  const s = b.scale;
  const counts = TRAYS.map((name) => count(sum(told.map((one) => one.tray?.[name] ?? 0))));
  const room = box.w - 16 * s;
  ctx.font = b.font(9.5);
  const forms = [
    counts.map((n, k) => `${k + 1} ${TRAY_WORDS[k]} ${n}`),
    counts.map((n, k) => `${TRAY_WORDS[k]} ${n}`),
    counts.map((n, k) => `${k + 1}: ${n}`),
    counts.map((n, k) => `${k + 1}:${n}`),
  ];
  const fits = (text: string, k: number) => ctx.measureText(text).width < room * TRAY_SHARES[k] - 4 * s;
  const texts = forms.find((all) => all.every(fits)) ?? counts;
  let right = box.x + 4 * s;
  texts.forEach((text, k) => {
    const w = room * TRAY_SHARES[k];
    const x = right + 2 * s;
    right = x + w;
    ctx.strokeStyle = b.theme.none;
    ctx.strokeRect(x + 0.5, box.y + 50.5 * s, w - 1, 16 * s);
    ctx.fillStyle = b.theme.text;
    ctx.fillText(firstFit(ctx, w - 4 * s, text), x + 3 * s, box.y + 59 * s);
  });
}
