// Time, zoom, hover and selection of all views that share a clock. Times are milliseconds since 1970, or since the
// start of a simulated run, so that views with different origins agree; rows carry seconds since the view's origin.
import type { Mark, Place } from "../data/marks.ts";
import { JUMPS, type Moment, MomentCache, type Moments, NEAR_MS } from "../data/moments.ts";
import { page } from "./registry.ts";

/** A view, as its clock sees it. */
export interface Member {
  journal: string | undefined;
  ticking: boolean;
  origin: number;
  now: number;
  live: boolean;
  onClock(): void;
  /** Return the number of the last observation until a moment, or -1. */
  observed(at: number): number;
  moments(): Moments;
  /** Return the time of the next observation (direction 1) or of the one before (-1), or null. */
  step(at: number, direction: number): number | null;
}

interface Zoom {
  from: number;
  to: number;
  follow: boolean;
}

/** What Python asks of a clock. */
export interface Order {
  at_ms: number | null;
  playing?: boolean;
  speed?: number;
}

const ZOOM_LEAST_MS = 20;

type State = Pick<Clock, "at" | "zoom" | "hover" | "pin" | "cut" | "speed" | "playing">;

export class Clock {
  readonly name: string;
  at: number | null = null; // null while it follows the newest
  zoom: Zoom | null = null;
  hover: Mark | Place | null = null;
  pin: Mark | null = null;
  cut: { time: number; text: string } | null = null; // where a fork would begin; every view draws it
  speed = 1;
  playing = false;
  views: Member[] = [];
  readonly listeners = new Set<() => void>();
  frame = 0;
  readonly #cache = new MomentCache();

  constructor(name: string) {
    this.name = name;
  }

  get start(): number {
    return Math.min(...this.views.filter((v) => v.ticking).map((v) => v.origin));
  }

  get newest(): number {
    return Math.max(...this.views.filter((v) => v.ticking).map((v) => v.now));
  }

  get ticking(): boolean {
    return this.views.some((v) => v.ticking);
  }

  get live(): boolean {
    return this.views.some((v) => v.live);
  }

  get now(): number {
    return this.at ?? this.newest;
  }

  /** The stretch of time on the screen, in ms. */
  get span(): [number, number] {
    const start = this.start;
    const newest = Math.max(this.newest, start + 1000);
    if (!this.zoom) return [start, newest];
    if (!this.zoom.follow) return [this.zoom.from, this.zoom.to];
    return [newest - (this.zoom.to - this.zoom.from), newest];
  }

  set(change: Partial<State>): void {
    Object.assign(this, change);
    for (const listener of this.listeners) listener();
  }

  seek(at: number): void {
    const newest = this.newest;
    const bounded = Math.max(this.start, Math.min(newest, at));
    this.set({ at: bounded >= newest && this.live ? null : bounded });
  }

  /** Moments of all views, in order of time. */
  get moments(): Moment[] {
    return this.#cache.take(this.views.map((v) => v.moments?.() ?? []));
  }

  /** Return the time of the next observation after this moment (or the one before it), or null. */
  stepFrom(at: number, direction: number): number | null {
    const found = this.views.map((v) => v.step?.(at, direction)).filter((t) => t != null);
    return found.length ? Math[direction > 0 ? "min" : "max"](...found) : null;
  }

  /** Go one observation forward, or back. */
  step(direction: number): void {
    const to = this.stepFrom(this.now, direction);
    if (to !== null) this.stay(to);
  }

  /** Go to the next moment of a kind, or the one before, and return it. */
  jump(direction: number, kind = "any"): Moment | undefined {
    const now = this.now;
    const all = this.moments.filter(JUMPS[kind] ?? JUMPS.any);
    const to = direction > 0 ? all.find((m) => m.time > now + NEAR_MS) : all.findLast((m) => m.time < now - NEAR_MS);
    if (to) this.stay(to.time);
    return to;
  }

  /** Go to a moment and stay there, also at the newest. */
  stay(at: number): void {
    this.playing = false;
    this.set({ at: Math.max(this.start, Math.min(this.newest, at + NEAR_MS / 10)) });
  }

  /** Do what Python asks for. */
  obey({ at_ms, playing, speed }: Order): void {
    cancelAnimationFrame(this.frame);
    this.playing = false;
    this.set({ at: at_ms === null ? null : at_ms + NEAR_MS / 10, speed: speed ?? this.speed, cut: null });
    if (playing && this.ticking) this.play(true);
  }

  /** Zoom by a factor; the moment under the pointer stays where it is. */
  zoomAt(time: number, factor: number): void {
    const [from, to] = this.span;
    const a = time - (time - from) * factor;
    const b = time + (to - time) * factor;
    const [start, newest] = [this.start, Math.max(this.newest, this.start + 1000)];
    if (b - a < ZOOM_LEAST_MS) return;
    const bounded = { from: Math.max(a, start), to: Math.min(b, newest) };
    const follow = this.live && this.at === null && bounded.to >= newest;
    this.set({ zoom: a <= start && b >= newest ? null : { ...bounded, follow } });
  }

  play(on: boolean): void {
    cancelAnimationFrame(this.frame);
    this.playing = on && this.ticking;
    if (!this.playing) {
      this.set({ at: this.at ?? (on ? null : this.newest) });
      return;
    }
    if (this.at === null || this.at >= this.newest) this.at = this.live ? this.at : this.start;
    let last = performance.now();
    const advance = (t: number) => {
      if (!this.playing) return;
      const next = this.now + (t - last) * this.speed;
      last = t;
      if (this.at !== null && next >= this.newest) {
        this.playing = this.live;
        this.set({ at: this.live ? null : this.newest });
      } else if (this.at !== null) this.set({ at: next });
      if (this.playing && this.at !== null) this.frame = requestAnimationFrame(advance);
    };
    this.set({});
    this.frame = requestAnimationFrame(advance);
  }

  join(view: Member): void {
    this.views.push(view);
    this.listeners.add(view.onClock);
    this.set({});
  }

  leave(view: Member): void {
    this.views = this.views.filter((v) => v !== view);
    this.listeners.delete(view.onClock);
    if (!this.views.length) {
      this.playing = false;
      cancelAnimationFrame(this.frame);
      page.clocks.delete(this.name);
    } else this.set({});
  }
}

export function clockNamed(name: string): Clock {
  const known = page.clocks.get(name);
  if (known) return known;
  const made = new Clock(name);
  page.clocks.set(name, made);
  return made;
}
