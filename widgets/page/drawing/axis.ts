// The time axis, and the lines that every view draws at a moment: now, the pointer's moment, the place of a fork.
import type { Context } from "./patterns.ts";
import { type Box, timeTicks } from "./scale.ts";

const AXIS = 18; // pixels below the picture

export function paintAxis(c: Context, b: Box): void {
  const y = b.height - AXIS * b.scale;
  c.font = b.font(10);
  c.textBaseline = "top";
  c.strokeStyle = b.theme.line;
  c.beginPath();
  c.moveTo(b.left, y + 0.5);
  c.lineTo(b.right, y + 0.5);
  c.stroke();
  const most = (b.right - b.left) / (80 * b.scale);
  for (const [s, label] of timeTicks((b.from - b.origin) / 1000, (b.to - b.origin) / 1000, most)) {
    const x = b.x(b.origin + 1000 * s);
    c.fillStyle = b.theme.line;
    c.fillRect(Math.round(x), y, 1, 4);
    c.fillStyle = b.theme.soft;
    c.textAlign = x < b.left + 12 ? "left" : x > b.right - 12 ? "right" : "center";
    c.fillText(label, x, y + 5 * b.scale);
  }
}

/** Paint the moment that is shown, the fork's place, and the moment under the pointer of any view. */
export function paintMoment(c: Context, b: Box, labelsFork: boolean): void {
  if (!b.clock.ticking) return;
  const nowX = b.x(b.now);
  if (nowX >= b.left && nowX <= b.right + 1) {
    c.fillStyle = b.theme.text;
    c.fillRect(Math.round(nowX) - 1, 2, b.clock.at === null ? 1 : 2, b.height - 20 * b.scale);
  }
  if (b.clock.cut) paintFork(c, b, b.clock.cut, labelsFork);
  const at = b.clock.hover?.time;
  if (at == null || at < b.from || at > b.to) return;
  c.setLineDash([3, 3]);
  c.strokeStyle = b.theme.soft;
  c.beginPath();
  c.moveTo(Math.round(b.x(at)) + 0.5, 2);
  c.lineTo(Math.round(b.x(at)) + 0.5, b.height - AXIS * b.scale);
  c.stroke();
  c.setLineDash([]);
}

function paintFork(c: Context, b: Box, cut: { time: number; text: string }, labelled: boolean): void {
  const x = Math.round(b.x(cut.time)) + 0.5;
  if (x < b.left || x > b.right + 1) return;
  c.font = b.font(10, "600");
  const width = c.measureText(cut.text).width + 8;
  const left = Math.max(b.left, Math.min(x - width / 2, b.right - width));
  c.strokeStyle = b.theme.text;
  c.lineWidth = 1.5;
  c.setLineDash([8, 3, 2, 3]);
  c.beginPath();
  c.moveTo(x, 16 * b.scale);
  c.lineTo(x, b.height - AXIS * b.scale);
  c.stroke();
  c.setLineDash([]);
  c.lineWidth = 1;
  if (!labelled) return;
  c.fillStyle = b.theme.text;
  c.fillRect(left, 1, width, 15 * b.scale);
  c.fillStyle = b.theme.ground;
  c.textAlign = "left";
  c.textBaseline = "middle";
  c.fillText(cut.text, left + 4, 1 + 7.5 * b.scale);
}
