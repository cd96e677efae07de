// The lanes themselves: names, times online, how readers went, resets and gaps.
import { readerColour } from "../../page/drawing/colours.ts";
import { failure, fillReader, haloText, hatch } from "../../page/drawing/patterns.ts";
import { shortName } from "../../page/drawing/text.ts";
import { across } from "../layout.ts";
import { NOBODY, type Reader, type Session } from "../model.ts";
import { isOnline, session } from "../moment.ts";
import { HEAD, type Lane } from "../plan.ts";
import { type Scene, xOf } from "./scene.ts";

export function paintLanes(scene: Scene): void {
  const { ctx, b, model } = scene;
  const s = b.scale;
  ctx.textBaseline = "middle";
  for (const lane of scene.plan.lanes) {
    ctx.fillStyle = b.theme.line;
    ctx.fillRect(b.left - 42 * s, Math.round((lane.y + lane.h) * s) - 0.5, b.width - b.left + 42 * s, 0.6);
    const reader = lane.reader === NOBODY ? undefined : model.readers[lane.reader - 1];
    if (reader) paintOnline(scene, lane, reader);
    paintName(scene, lane, reader);
  }
}

/** Paint the times in which a reader was online. */
function paintOnline({ ctx, b, model, t }: Scene, { y, h }: Lane, reader: Reader): void {
  for (const online of reader.online) {
    const [x0, x1] = across(model, b, online, t);
    if (online.from > t || x1 <= x0) continue;
    ctx.globalAlpha = b.theme.dark ? 0.22 : 0.14;
    ctx.fillStyle = readerColour(reader.index);
    ctx.fillRect(x0, y * b.scale + 1, x1 - x0, h * b.scale - 2);
    ctx.globalAlpha = 1;
  }
}

/** Paint a lane's name: paler where the reader is offline, palest before it joined. */
function paintName({ ctx, b, model, t }: Scene, lane: Lane, reader: Reader | undefined): void {
  const s = b.scale;
  const middle = (lane.y + lane.h / 2) * s;
  ctx.textAlign = "left";
  if (!reader) {
    ctx.font = b.font(10);
    ctx.fillStyle = b.theme.text;
    ctx.fillText("nobody", 3 * s, middle);
    return;
  }
  ctx.globalAlpha = session(reader, t) ? (isOnline(reader, t) ? 1 : 0.5) : 0.3;
  ctx.font = b.font(10.5, "600");
  fillReader(ctx, b.theme, reader.index, 3 * s, middle - 5 * s, 5 * s, 10 * s);
  ctx.fillStyle = b.theme.text;
  ctx.fillText(shortName(ctx, reader.name, b.left - 13 * s, model.common, reader.index + 1), 11 * s, middle);
  ctx.globalAlpha = 1;
}

/** Paint how readers went: a death is a cross, any other end a line; where there is room, with its cause. */
export function paintGone(scene: Scene): void {
  for (const lane of scene.plan.lanes) {
    const online = scene.model.readers[lane.reader - 1]?.online ?? [];
    online.forEach((one, k) => {
      if (one.to <= scene.t) paintEnd(scene, lane, one, online[k + 1]);
    });
  }
}

function paintEnd(scene: Scene, lane: Lane, one: Session, next: Session | undefined): void {
  const { ctx, b, t } = scene;
  const s = b.scale;
  const x = xOf(scene, one.to);
  if (x < b.left - 1 || x > b.right + 1) return;
  const y = (lane.y + lane.h / 2) * s;
  ctx.fillStyle = b.theme.text;
  if (one.how === "killed") failure(ctx, x, y, Math.min(7, lane.h / 3) * s);
  else ctx.fillRect(x - 1, lane.y * s + 2, 2, lane.h * s - 4);
  const until = next && next.from <= t ? xOf(scene, next.from) : b.right;
  ctx.font = b.font(10);
  ctx.textAlign = "left";
  const word = one.how === "killed" ? "killed" : "offline";
  const why = one.cause.startsWith(word) ? one.cause : `${word}: ${one.cause}`;
  const text = [`${why} (${one.kind})`, word].find((w) => ctx.measureText(w).width < until - x - 14);
  if (text) haloText(ctx, b.theme, text, x + 10, y + 0.5);
}

/** Paint resets and gaps as bands across all lanes. */
export function paintBands(scene: Scene): void {
  const { resets = [], gaps = [] } = scene.model.store.lists;
  resets.forEach(([from, begun], k) => {
    const next = resets[k + 1];
    const to = next?.[1] === false ? next[0] : Number.POSITIVE_INFINITY;
    if (begun) paintBand(scene, { from, to }, "reset");
  });
  for (const at of gaps) paintBand(scene, { from: at, to: at }, "gap in the log");
}

function paintBand({ ctx, b, model, plan, t }: Scene, time: { from: number; to: number }, word: string): void {
  const [top, bottom] = [HEAD * b.scale, plan.bottom * b.scale];
  const [x0, x1] = across(model, b, time, t);
  if (x1 < b.left || x0 > b.right || time.from > t) return;
  ctx.fillStyle = hatch(ctx, b.theme.line, 8);
  ctx.fillRect(x0, top, Math.max(2, x1 - x0), bottom - top);
  ctx.font = b.font(9.5, "600");
  ctx.textAlign = "center";
  ctx.textBaseline = "middle";
  haloText(ctx, b.theme, word, (x0 + x1) / 2, 6 * b.scale);
}
