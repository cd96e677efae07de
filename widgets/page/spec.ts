// What a view tells the frame around it, and what it receives.

import type { Mark } from "./data/marks.ts";
import type { Context } from "./drawing/patterns.ts";
import type { Box } from "./drawing/scale.ts";
import type { Theme } from "./drawing/theme.ts";
import type { Piece } from "./elements.ts";
import type { Clock } from "./time/clock.ts";

/** Set once by Python (view.py) before the page sees the view. */
export interface Settings {
  clock?: string;
  control?: string;
  me?: string;
  journal?: string;
  scale?: number;
}

/** The part of an anywidget model that views use; the model of an exported page has no more. */
export interface Model {
  get(name: "_settings"): Settings | undefined;
  on(name: "msg:custom", callback: (content: never, buffers: never) => void): void;
  on(name: "comm_live_update", callback: () => void): void;
  off(name: "msg:custom", callback: (content: never, buffers: never) => void): void;
  send(content: Record<string, unknown>): void;
  widget_manager?: { get_model(id: string): Promise<Model> };
  comm_live?: boolean; // of the whole model, which the manager has
}

/** Colour (or CSS background), text, and the class of the swatch in style.css. */
export type LegendEntry = readonly [colour: string, text: string, swatch?: string];

/** A fork that a view makes itself: the call and what to ask of the kernel, or the reason why there is none. */
export type ForkWay =
  | { call: string; ask: Request; reason?: undefined }
  | { reason: string; call?: undefined; ask?: undefined };

/** What a page asks of the kernel. */
export interface Request {
  name: string;
  args: readonly unknown[];
}

/** What a view may use to add controls, or a body of text. */
export interface Host {
  parent: HTMLElement;
  clock: Clock;
  /** Listen until the view is taken away. */
  on: Listen;
  redraw(): void;
  /** Show a call of Python, ready to copy. */
  call(text: string): void;
  /** Ask the kernel to do something at the moment that is shown; `text` is the call of it. */
  ask(request: Request, text: string): void;
}

export type Listen = <E extends Event>(
  target: EventTarget,
  type: string,
  handler: (event: E) => void,
  options?: AddEventListenerOptions,
) => void;

/** What a view shows. Functions are called often; only `paint` and `body` may change anything. */
export interface Spec {
  /** The view has no time axis of its own below it. */
  readonly ownAxis?: boolean;
  height(scale: number): number;
  paint(ctx: Context, box: Box): void;
  pick(x: number, y: number, box: Box): Mark | null;
  /** Return what the arrow keys select, in order. */
  marks(box: Box): Mark[];
  /** Return the times (ms) that "." and "," go to. */
  events(): number[];
  /** Return what the tooltip says of a mark, or null if it is another view's. */
  tip(mark: Mark): Piece[] | null;
  /** Return what a screen reader says of a mark. */
  say(mark: Mark): string;
  legend(theme: Theme): LegendEntry[];
  leftOut?(): string;
  isEmpty(): boolean;
  /** A sentence, and the code that fills the view. */
  readonly empty: readonly [sentence: string, code: string];
  summary(): string;
  /** How this view forks, where it is not `lab.fork`. */
  fork?(): ForkWay | undefined;
  /** Return what the columns right of the picture say, for a view that is too narrow for them (`Box.folded`). */
  folded?(box: Box): Piece[];
  /** Add controls to the header, and return what takes them away. */
  controls?(host: Host): () => void;
  /** Add what is better read than drawn, and return what takes it away; `paint` keeps it up to date. */
  body?(host: Omit<Host, "ask">): () => void;
}
