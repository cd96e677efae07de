// A view as its clock sees it: how far its journal is, and what was observed when.

import { type Moments, NEAR_MS } from "../data/moments.ts";
import type { Store } from "../data/store.ts";
import type { Member } from "./clock.ts";

const NONE: never[] = [];

export function memberOf(store: Store, journal: string | undefined, onClock: () => void): Member {
  let known: Moments = [];
  const me: Member = {
    journal,
    ticking: false,
    origin: 0,
    now: 0,
    live: false,
    onClock,
    observed: (at) => {
      const row = stepAt(store, me.origin, at + NEAR_MS, -1);
      return row < 0 ? -1 : store.tables.steps.col.seq[row];
    },
    moments: () => {
      const sent = store.lists.moments ?? NONE;
      if (known.of !== sent || known.origin !== me.origin) known = Object.assign([], { of: sent, origin: me.origin });
      for (let i = known.length; i < sent.length; i++) {
        const [t, kind, text, hasCut] = sent[i];
        known.push({ time: me.origin + 1000 * t, kind, text, hasCut: Boolean(hasCut) });
      }
      return known;
    },
    step: (at, direction) => {
      const row = stepAt(store, me.origin, at + direction * NEAR_MS, direction);
      return row < 0 ? null : me.origin + 1000 * store.tables.steps.col.t[row];
    },
  };
  return me;
}

/** Take what the kernel said about the view's time. */
export function learnTime(me: Member, { facts }: Store): void {
  me.ticking = Boolean(facts.ticking);
  me.origin = facts.origin_ms ?? 0;
  me.now = me.origin + 1000 * (facts.now_s ?? 0);
  me.live = Boolean(facts.live);
}

/** Return the row of the first observation after a moment (direction 1), or of the last one before it, or -1. */
export function stepAt(store: Store, origin: number, at: number, direction: number): number {
  const { n, col } = store.tables.steps;
  const t = (at - origin) / 1000;
  let best = -1;
  for (let i = 0; i < n; i++) {
    if (direction > 0 ? col.t[i] < t : col.t[i] > t) continue;
    if (best < 0 || (direction > 0 ? col.t[i] < col.t[best] : col.t[i] >= col.t[best])) best = i;
  }
  return best;
}
