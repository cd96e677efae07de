// What a shown view says to the kernel: that it is there, where its clock is, and what the user asks for.

import type { Frame } from "./frame.ts";
import type { Request } from "./spec.ts";
import type { Clock, Member } from "./time/clock.ts";
import type { Voice } from "./voice.ts";

const TELL_AFTER_MS = 100;
const ANSWER_MS = 8000; // after which the view says that the kernel does not answer
const HEART_MS = 2000;

/** Report where the clock is (clock.py): at once when it jumps, a few times a second while it moves. */
export class Teller {
  // A page that opens learns from the kernel where its clock is, so it does not report the initial state.
  #told = JSON.stringify([null, false, 1, undefined]);
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #clock: Clock;
  readonly #me: Member;
  readonly #voice: Voice;

  constructor(clock: Clock, me: Member, voice: Voice) {
    this.#clock = clock;
    this.#me = me;
    this.#voice = voice;
  }

  tell(): void {
    if (this.#clock.views[0] !== this.#me || this.#timer) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#tellNow();
    }, TELL_AFTER_MS);
  }

  #tellNow(): void {
    if (this.#clock.views[0] !== this.#me || !this.#clock.ticking) return;
    const { at, playing, speed, pin } = this.#clock;
    const words = JSON.stringify([at, playing, speed, pin?.key]);
    if (words === this.#told) return;
    this.#told = words;
    this.#voice.say({ kind: "clock", at_ms: at, playing: playing && at !== null, speed, pin });
  }

  close(): void {
    clearTimeout(this.#timer);
  }
}

/**
 * Say that a page shows the view, and whether it is in sight, until the view is taken away. The kernel sends fewer
 * updates while the tab is hidden, or the view is scrolled away or in a hidden panel.
 */
export function keepAlive(frame: Frame): () => void {
  let onScreen = true;
  let left = false; // a page that is left becomes hidden after that
  const hello = (kind: string) => frame.voice.say({ kind, page: frame.id, seen: onScreen && !document.hidden });
  hello("hello"); // a reload and a second view ask for a snapshot
  frame.on(globalThis, "pagehide", () => {
    left = true;
    hello("bye");
  });
  frame.on<PageTransitionEvent>(globalThis, "pageshow", (e) => {
    left = false;
    if (e.persisted) hello("hello");
  });
  frame.on(document, "visibilitychange", () => left || hello("here"));
  const sight = new IntersectionObserver((entries) => {
    const { isIntersecting } = entries[entries.length - 1];
    if (isIntersecting === onScreen) return;
    onScreen = isIntersecting;
    hello("here");
  });
  sight.observe(frame.parts.root);
  const heart = setInterval(() => hello("here"), HEART_MS);
  return () => {
    sight.disconnect();
    clearInterval(heart);
    hello("bye");
  };
}

/** Ask the kernel to do something at the moment that is shown; `text` is the call of it. */
export function ask(frame: Frame, request: Request, text: string): void {
  frame.copyable(text);
  const before = frame.store.updates;
  frame.voice.say({ kind: "ask", page: frame.id, at_ms: frame.clock.at, ...request });
  clearTimeout(frame.askTimer);
  frame.askTimer = setTimeout(() => {
    if (frame.store.updates === before) frame.copyable(`${text}  # no answer yet: the kernel is busy, or does not run`);
  }, ANSWER_MS);
}
