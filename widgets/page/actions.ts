// What keys and buttons do.

import type { Mark } from "./data/marks.ts";
import { NEAR_MS } from "./data/moments.ts";
import { seconds } from "./drawing/format.ts";
import type { Frame } from "./frame.ts";
import { ask } from "./kernel.ts";

/** Have a mark read aloud. */
export function speak(frame: Frame, mark: Mark): void {
  frame.say(() => frame.spec.say(mark));
}

function sayTime(frame: Frame): void {
  frame.say(() => `${seconds(frame.clock.now - frame.clock.start)}: ${frame.spec.summary()}`);
}

export function togglePlay({ clock }: Frame): void {
  clock.play(!(clock.playing || (clock.live && clock.at === null)));
}

export function seek(frame: Frame, at: number): void {
  frame.clock.seek(at);
  sayTime(frame);
}

export function follow(frame: Frame): void {
  frame.clock.set({ at: null, playing: false });
  sayTime(frame);
}

/** Go to the next event of this view (what its picture shows as one), or to the one before. */
export function toEvent(frame: Frame, direction: number): void {
  const { now } = frame.clock;
  const all = frame.spec.events().filter((t) => (direction > 0 ? t > now + NEAR_MS : t < now - NEAR_MS));
  if (all.length) frame.clock.seek(direction > 0 ? Math.min(...all) : Math.max(...all));
  sayTime(frame);
}

/** Go to the next moment of the chosen kind, or to the one before. */
export function jump(frame: Frame, direction: number): void {
  const { clock, parts } = frame;
  const kind = parts.jumpTo.value;
  const moment = clock.jump(direction, kind);
  if (moment) {
    const argument = kind === "any" ? "" : JSON.stringify(kind);
    frame.copyable(`board.clock.${direction > 0 ? "next" : "previous"}(${argument})  # ${moment.text}`);
    frame.say(() => `${seconds(moment.time - clock.start)}: ${moment.text}`);
  } else {
    const words = `no ${kind} ${direction > 0 ? "after" : "before"} this`;
    parts.aloud.textContent = parts.call.textContent = words;
    frame.say(() => words);
  }
}

export function oneStep(frame: Frame, direction: number): void {
  frame.clock.step(direction);
  frame.copyable(`board.clock.step(${direction > 0 ? "" : -1})`);
  sayTime(frame);
}

/** Show where a fork from here begins: at the last checkpoint before now, or without one at the tails of this moment. */
export function markFork(frame: Frame): void {
  const { clock } = frame;
  const own = frame.spec.fork?.();
  if (own) {
    if (own.ask) ask(frame, own.ask, own.call);
    else frame.parts.call.textContent = own.reason;
    frame.say(() => own.call ?? own.reason);
    return;
  }
  const { now } = clock;
  const from = clock.moments.findLast((m) => m.hasCut && m.time <= now + NEAR_MS);
  const at = ((now - clock.start) / 1000).toFixed(2);
  const cut = from
    ? { time: from.time, text: `fork: ${from.text}` }
    : { time: now, text: `fork: the tails at ${at} s` };
  clock.set({ cut });
  frame.copyable(`fork = lab.fork(board, at_s=${at})`);
  frame.say(() => `a fork begins at ${seconds(cut.time - clock.start)}, ${cut.text}`);
}

/** Select the next mark of this view, or the one before. */
export function select(frame: Frame, direction: number): void {
  const { clock } = frame;
  const marks = frame.spec.marks(frame.box());
  if (!marks.length) return;
  const current = marks.findIndex((m) => m.key === clock.hover?.key);
  const first = direction > 0 ? 0 : marks.length - 1;
  const mark = marks[current < 0 ? first : (current + direction + marks.length) % marks.length];
  clock.set({ hover: mark, pin: clock.pin ? mark : null });
  speak(frame, mark);
}

export function pin(frame: Frame): void {
  const { hover } = frame.clock;
  if (!hover?.kind) return;
  frame.clock.set({ pin: hover });
  speak(frame, hover);
}

export function letGo(frame: Frame): void {
  frame.clock.set({ pin: null, hover: null, cut: null });
  frame.parts.keys.hidden = true;
}

export function toggleHelp({ parts }: Frame): void {
  parts.keys.hidden = !parts.keys.hidden;
}
