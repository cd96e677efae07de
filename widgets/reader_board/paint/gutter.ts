// Right of the lanes: what each reader does, how much it holds, what it has not read.
import { firstFit, shortName } from "../../page/drawing/text.ts";
import { gutterOf } from "../layout.ts";
import { NOBODY } from "../model.ts";
import { isGone } from "../moment.ts";
import { HEAD } from "../plan.ts";
import { COLUMNS, type Line, lineOf } from "../table.ts";
import type { Scene } from "./scene.ts";

const NAME = 0;
const UNREAD = 3;

export function paintGutter(scene: Scene): void {
  const { ctx, b, model, t } = scene;
  if (b.folded) return; // the table below the picture says it
  ctx.font = b.font(10);
  ctx.textBaseline = "middle";
  COLUMNS.forEach((word, k) => {
    put(scene, k, word, (HEAD - 11) * b.scale, b.theme.soft);
  });
  for (const lane of scene.plan.lanes) {
    const line = lineOf(model, lane.reader, t, b.clock.at === null);
    if (line) paintLine(scene, line, (lane.y + lane.h / 2) * b.scale, lane.reader);
  }
}

/** Paint a text in a column at a height, if it fits. */
function put({ ctx, b }: Scene, column: number, text: string, y: number, colour: string, ...others: string[]): void {
  const { columns, widths } = gutterOf(b);
  ctx.fillStyle = colour;
  ctx.textAlign = column === UNREAD ? "right" : "left";
  ctx.fillText(firstFit(ctx, widths[column], text, ...others), columns[column], y);
}

function paintLine(scene: Scene, { name, state, held, unread, age }: Line, y: number, lane: number): void {
  const { ctx, b, model } = scene;
  const { text, soft } = b.theme;
  const short = lane === NOBODY ? name : shortName(ctx, name, gutterOf(b).widths[NAME], model.common, lane);
  put(scene, NAME, short, y, isGone(state) ? soft : text);
  put(scene, 1, state, y, soft, state.split(", ")[0]);
  put(scene, 2, held, y, text);
  put(scene, UNREAD, `${unread}${age}`, y, text, unread);
}
