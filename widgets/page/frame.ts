// A view on the page: canvas, header, legend, tooltip, bar. It draws at most once per animation frame.

import type { Store } from "./data/store.ts";
import { paintAxis, paintMoment } from "./drawing/axis.ts";
import { type Box, boxOf } from "./drawing/scale.ts";
import { type Theme, themeOf, watchTheme } from "./drawing/theme.ts";
import { fill } from "./elements.ts";
import { showEmpty, showHeader } from "./header.ts";
import { ask, keepAlive, Teller } from "./kernel.ts";
import { listenToBar, listenToKeys } from "./keyboard.ts";
import { showLegend } from "./legend.ts";
import { type Parts, partsOf } from "./parts.ts";
import { listenToPointer } from "./pointer.ts";
import type { Host, Listen, Model, Settings, Spec } from "./spec.ts";
import { type Clock, clockNamed, type Member } from "./time/clock.ts";
import { learnTime, memberOf } from "./time/member.ts";
import { page } from "./time/registry.ts";
import { showBar } from "./time/scrubber.ts";
import { showTip } from "./tooltip.ts";
import { type Voice, voiceOf } from "./voice.ts";

export interface Point {
  x: number;
  y: number;
}

const WIDTH_UNKNOWN = 800;

export class Frame {
  readonly id = `p${page.next++}-${Math.random().toString(36).slice(2, 8)}`;
  readonly store: Store;
  readonly spec: Spec;
  readonly clock: Clock;
  readonly parts: Parts;
  readonly member: Member;
  readonly voice: Voice;
  readonly scale: number;
  theme: Theme;
  pointer: Point | null = null;
  momentsShown = ""; // the state in which the scrubber's ticks were drawn
  askTimer: ReturnType<typeof setTimeout> | undefined;
  readonly #ctx: CanvasRenderingContext2D;
  readonly #closing = new AbortController();
  readonly #teller: Teller;
  #themed = false; // not before the view is in the page, where the lab's colours reach it
  #requested = 0;
  #toSay: (() => string) | null = null; // read aloud once the drawing is up to date
  #label: string | null = null; // the canvas's
  #answered = "";

  constructor(model: Model, el: Element, store: Store, spec: Spec) {
    const settings: Settings = model.get("_settings") ?? {};
    this.store = store;
    this.spec = spec;
    this.scale = settings.scale ?? 1;
    this.clock = clockNamed(settings.clock ?? "page");
    this.parts = partsOf(el, this.scale);
    this.theme = themeOf(this.parts.root);
    this.#ctx = this.parts.canvas.getContext("2d")!;
    this.voice = voiceOf(model, settings.me, true);
    this.member = memberOf(store, settings.journal, () => {
      this.redraw();
      this.#teller.tell();
    });
    this.#teller = new Teller(this.clock, this.member, this.voice);
    // The kernel was restarted. Jupyter reports each restart, also the second one, so it is asked which state this is.
    model.on("comm_live_update", async () => {
      this.parts.root.classList.toggle("plab-gone", !(await model.widget_manager!.get_model(settings.me!)).comm_live);
    });
  }

  readonly on: Listen = (target, type, handler, options = {}) =>
    target.addEventListener(type, handler as EventListener, { signal: this.#closing.signal, ...options });

  readonly redraw = (): void => {
    this.#requested ||= requestAnimationFrame(() => this.#draw());
  };

  readonly box = (): Box => {
    const width = this.parts.canvas.clientWidth || WIDTH_UNKNOWN;
    const height = Math.round(this.spec.height(this.scale));
    return boxOf({ scale: this.scale, width, height }, this.clock, this.theme);
  };

  /** Show a call of Python, which a click copies. */
  readonly copyable = (text: string): void => {
    this.parts.call.textContent = text;
    this.parts.call.title = "click to copy";
  };

  /** Have something read aloud after the next drawing. */
  say(words: () => string): void {
    this.#toSay = words;
    this.redraw();
  }

  /** Begin to listen and draw, and return the function that takes everything away. */
  open(): () => void {
    const { store, clock, parts } = this;
    listenToPointer(this);
    listenToKeys(this);
    listenToBar(this);
    this.on(parts.call, "click", () => navigator.clipboard?.writeText(parts.call.textContent ?? ""));
    const host = { clock, on: this.on, redraw: this.redraw, call: this.copyable };
    const asking: Host["ask"] = (request, text) => ask(this, request, text);
    const uncontrol = this.spec.controls?.({ ...host, parent: parts.controls, ask: asking });
    const unbody = this.spec.body?.({ ...host, parent: parts.body });
    this.#watch();
    const updated = () => {
      this.#learn();
      clock.set({});
    };
    store.listeners.add(updated);
    this.#learn();
    clock.join(this.member);
    page.views += 1;
    const die = keepAlive(this);
    return () => {
      this.#closing.abort();
      cancelAnimationFrame(this.#requested);
      store.listeners.delete(updated);
      this.#teller.close();
      clearTimeout(this.askTimer);
      uncontrol?.();
      unbody?.();
      clock.leave(this.member);
      page.views -= 1;
      die();
      this.voice.close();
      parts.root.remove();
    };
  }

  /** Draw again when the size or the theme of the page changes. */
  #watch(): void {
    const { signal } = this.#closing;
    const sizes = new ResizeObserver(this.redraw);
    sizes.observe(this.parts.stage);
    signal.addEventListener("abort", () => sizes.disconnect());
    watchTheme(() => {
      this.#themed = false;
      this.redraw();
    }, signal);
  }

  #learn(): void {
    const { answer } = this.store.facts;
    if (answer && answer !== this.#answered) {
      this.#answered = this.parts.aloud.textContent = this.parts.call.textContent = answer;
      this.parts.call.title = "";
    }
    learnTime(this.member, this.store);
  }

  #draw(): void {
    this.#requested = 0;
    const { parts, store, spec } = this;
    if (!this.#themed) {
      this.theme = themeOf(parts.root);
      this.#themed = parts.root.isConnected;
    }
    const b = this.box();
    const ctx = this.#cleared(b);
    const started = performance.now();
    spec.paint(ctx, b);
    if (!spec.ownAxis) {
      paintAxis(ctx, b);
      paintMoment(ctx, b, this.clock.views[0] === this.member); // one label of a fork is enough
    }
    const { dataset } = parts.root;
    dataset.drawMs = (performance.now() - started).toFixed(2);
    dataset.waitMs = (performance.now() - store.at).toFixed(2);
    dataset.updates = String(store.updates);
    dataset.draws = String(Number(dataset.draws ?? 0) + 1);
    this.#show(b);
  }

  #cleared(b: Box): CanvasRenderingContext2D {
    const { canvas } = this.parts;
    const ratio = globalThis.devicePixelRatio || 1;
    const [width, height] = [Math.round(b.width * ratio), Math.round(b.height * ratio)];
    if (canvas.width !== width || canvas.height !== height) {
      canvas.style.height = `${b.height}px`;
      canvas.width = width;
      canvas.height = height;
    }
    this.#ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.#ctx.fillStyle = this.theme.ground;
    this.#ctx.fillRect(0, 0, b.width, b.height);
    return this.#ctx;
  }

  #show(b: Box): void {
    const { parts, spec } = this;
    showBar(this, b.now); // first, because it measures: after a change of the header the page would lay itself out twice
    showHeader(this, b);
    showEmpty(this);
    showLegend(parts.legend, spec.legend(this.theme), spec.leftOut?.());
    fill(parts.folded, b.folded && !spec.isEmpty() ? (spec.folded?.(b) ?? []) : []);
    const summary = spec.summary();
    if (summary !== this.#label) {
      this.#label = summary; // writing it is slow
      parts.canvas.setAttribute("aria-label", summary);
    }
    showTip(this, b);
    if (this.#toSay) parts.aloud.textContent = this.#toSay();
    this.#toSay = null;
  }
}
