// The bar below the first view of a clock: play, slider, a tick per moment.

import { VERMILION } from "../drawing/colours.ts";
import type { Theme } from "../drawing/theme.ts";
import type { Frame } from "../frame.ts";
import type { Clock } from "./clock.ts";

const HEIGHT = 7;
const THUMB = 8; // the slider's own ends

export function showBar(frame: Frame, now: number): void {
  const { clock, parts, member } = frame;
  const leader = clock.views[0] === member;
  parts.bar.style.display = leader && clock.ticking ? "" : "none";
  if (leader) showMoments(frame);
  parts.play.textContent = clock.at === null ? (clock.live ? "❚❚" : "▶") : clock.playing ? "❚❚" : "▶";
  parts.play.setAttribute("aria-label", parts.play.textContent === "▶" ? "play" : "pause");
  parts.newest.textContent = clock.live ? "now" : "end";
  parts.newest.disabled = clock.at === null;
  const own = frame.spec.fork?.();
  if (own) {
    parts.fork.disabled = !own.ask;
    parts.fork.title = own.reason ?? `${own.call} (F)`;
  }
  const moved = document.activeElement === parts.slider && !clock.playing && clock.at !== null; // by its user
  if (moved) return;
  const span = clock.newest - clock.start || 1;
  parts.slider.value = String(clock.ticking ? Math.round((1000 * (now - clock.start)) / span) : 0);
}

function showMoments(frame: Frame): void {
  const { clock, theme } = frame;
  const canvas = frame.parts.moments;
  const width = canvas.clientWidth;
  const state = [width, clock.moments.length, clock.start, clock.newest, theme.dark].join(" ");
  if (!width || state === frame.momentsShown) return;
  frame.momentsShown = state;
  const ratio = globalThis.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = HEIGHT * ratio;
  const c = canvas.getContext("2d")!;
  c.scale(canvas.width / width, canvas.width / width);
  for (const [x, kind] of momentTicks(clock, width)) {
    c.fillStyle = tickColour(kind, theme);
    c.fillRect(x - 1, 0, kind === "failure" ? 3 : 2, HEIGHT);
  }
}

const tickColour = (kind: string, theme: Theme): string => {
  if (kind === "failure") return VERMILION;
  if (kind !== "checkpoint") return theme.soft;
  return theme.dark ? "#56B4E9" : "#0072B2";
};

/** Return a tick [x, kind] per moment; of one kind at most one a pixel. */
export function momentTicks(clock: Pick<Clock, "start" | "newest" | "moments">, width: number): [number, string][] {
  const { start, moments } = clock; // asked for once: there may be very many moments
  const span = clock.newest - start || 1;
  const last = new Map<string, number>();
  const out: [number, string][] = [];
  for (const { time, kind } of moments) {
    const x = Math.round(THUMB + ((time - start) / span) * (width - 2 * THUMB));
    if (last.get(kind) === x) continue;
    last.set(kind, x);
    out.push([x, kind]);
  }
  return out;
}
