// Moves of segments: connectors between lanes, and under the lanes a tick per move with its reason.
import type { Context } from "../../page/drawing/patterns.ts";
import { type Connector, connector, movesOn, placeReasons, reasonsOn, reasonsY } from "../layout.ts";
import type { Move } from "../model.ts";
import type { Scene } from "./scene.ts";

export function paintMoves(scene: Scene): void {
  const { ctx, b, model, plan, t } = scene;
  const chosen = [b.clock.hover, b.clock.pin].filter((mark) => mark?.kind === "move").map((mark) => mark?.key);
  const staysInLane = ([, , , , , from, to]: Move) => from === to;
  for (const move of movesOn(model, b, t)) {
    if (staysInLane(move)) continue;
    const line = connector(model, b, plan, move, t);
    if (!line) continue;
    const isChosen = chosen.includes(model.moveKey(move));
    ctx.strokeStyle = ctx.fillStyle = b.theme.text;
    ctx.lineWidth = isChosen ? 2.5 : 1;
    ctx.globalAlpha = isChosen ? 1 : 0.7;
    paintConnector(ctx, line, b.left);
  }
  ctx.globalAlpha = 1;
  ctx.lineWidth = 1;
}

function paintConnector(ctx: Context, [from, y0, x1, y1]: Connector, least: number): void {
  const x0 = Math.max(least, from);
  ctx.beginPath();
  ctx.moveTo(x0, y0);
  ctx.bezierCurveTo(x0, (y0 + y1) / 2, x1, (y0 + y1) / 2, x1, y1);
  ctx.stroke();
  const down = y1 > y0 ? -1 : 1;
  ctx.beginPath();
  ctx.moveTo(x1, y1);
  ctx.lineTo(x1 - 3, y1 + 6 * down);
  ctx.lineTo(x1 + 3, y1 + 6 * down);
  ctx.fill();
}

export function paintReasons({ ctx, b, model, plan, t }: Scene): void {
  const s = b.scale;
  const bottom = reasonsY(plan, b);
  ctx.font = b.font(10);
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  ctx.fillStyle = b.theme.text;
  for (const { x } of reasonsOn(model, b, t)) {
    ctx.beginPath();
    ctx.moveTo(x - 3.5, bottom);
    ctx.lineTo(x + 3.5, bottom);
    ctx.lineTo(x, bottom - 5 * s);
    ctx.fill();
  }
  for (const { x, text, line } of placeReasons(model, b, t, (words) => ctx.measureText(words).width))
    ctx.fillText(text, x, bottom - 11 * s - 12 * s * line);
}
