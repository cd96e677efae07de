// What all views of a page share, although each view's bundle has its own copy of this module.

import type { SharedVoice } from "../voice.ts";
import type { Clock } from "./clock.ts";

interface Page {
  clocks: Map<string, Clock>;
  voices?: Map<string, SharedVoice>;
  acks?: Map<string, Record<string, number>>; // not sent yet: by control, the newest update by view
  views: number;
  next: number;
}

const SHARED = Symbol.for("pravega_lab.page");
const global = globalThis as unknown as Record<symbol, Page | undefined>;

global[SHARED] ??= { clocks: new Map(), views: 0, next: 1 };
export const page: Page = global[SHARED];
