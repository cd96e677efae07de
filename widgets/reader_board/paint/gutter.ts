// Right of the lanes: what each reader does, how much it holds, what it has not read.
import { bytes } from "../../page/drawing/format.ts";
import { fit, squeezed } from "../../page/drawing/text.ts";
import { gutterOf } from "../layout.ts";
import { NOBODY, type Reader } from "../model.ts";
import { fairShare, freeAt, heldAt, isGone, lagAt, stateWord } from "../moment.ts";
import { HEAD } from "../plan.ts";
import type { Scene } from "./scene.ts";

/** Paint a text in a column, at a height, in a colour. */
type Put = (column: number, text: string, y: number, colour: string) => void;

const NAME = 0;
const UNREAD = 3;

export function paintGutter(scene: Scene): void {
  const { ctx, b, model, t } = scene;
  const { columns, widths } = gutterOf(b);
  ctx.font = b.font(10);
  ctx.textBaseline = "middle";
  const put: Put = (column, text, y, colour) => {
    ctx.fillStyle = colour;
    ctx.textAlign = column === UNREAD ? "right" : "left";
    const short = column === NAME ? squeezed(ctx, text, widths[NAME], model.common) : fit(ctx, text, widths[column]);
    ctx.fillText(short, columns[column], y);
  };
  ["reader", "state", "held/fair", "unread"].forEach((word, k) => {
    put(k, word, (HEAD - 11) * b.scale, b.theme.soft);
  });
  const share = fairShare(model, t);
  for (const lane of scene.plan.lanes) {
    const y = (lane.y + lane.h / 2) * b.scale;
    const reader = model.readers[lane.reader - 1];
    if (lane.reader === NOBODY) paintNobody(scene, put, y);
    else if (reader) paintReader(scene, put, y, reader, share);
  }
}

function paintNobody({ b, model, t }: Scene, put: Put, y: number): void {
  const free = freeAt(model, t).length;
  const waiting = model.waits.filter((w) => w.start <= t && w.end > t).length;
  const words = [free && `${free} free`, waiting && `${waiting} waiting`].filter(Boolean);
  put(NAME, "nobody", y, b.theme.text);
  put(1, words.join(", ") || "all held", y, b.theme.soft);
}

function paintReader({ b, model, t }: Scene, put: Put, y: number, reader: Reader, share: number): void {
  const word = stateWord(model, reader, t);
  if (!word) return;
  put(NAME, reader.name, y, isGone(word) ? b.theme.soft : b.theme.text);
  put(1, word, y, b.theme.soft);
  if (isGone(word)) return;
  const held = heldAt(model, reader.index, t).length;
  put(2, `${held}/${Number(share.toFixed(1))}`, y, b.theme.text);
  const [unread, since] = lagAt(model, reader.index, t, b.clock.at === null);
  const age = unread > 0 && since <= t ? ` ${(t - since).toFixed(t - since < 10 ? 1 : 0)} s` : "";
  put(UNREAD, `${bytes(unread)}${age}`, y, b.theme.text);
}
