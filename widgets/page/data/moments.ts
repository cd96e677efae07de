// Moments that the scrubber shows and jumps to.

export interface Moment {
  time: number;
  kind: string;
  text: string;
  hasCut: boolean;
}

/** Moments of one view; `of` is the list that they were made from, so that a change of it is noticed. */
export type Moments = Moment[] & { of?: readonly unknown[]; origin?: number };

/** What the scrubber jumps to. "split" is any scale. */
export const JUMPS: Readonly<Record<string, (m: Moment) => boolean>> = {
  any: () => true,
  split: (m) => m.kind === "split" || m.kind === "merge",
  checkpoint: (m) => m.kind === "checkpoint",
  failure: (m) => m.kind === "failure",
};

export const NEAR_MS = 0.5; // rows have seconds as f32: closer than this is the same moment
const SAME_MS = 2000; // two journals that say the same within this time mean the same moment; as in clock.py
const MANY = 2000; // above as many moments, they are not sorted again for every new one
const SORTED_EVERY_MS = 500;

/** Return the moments of several views in order of time; what two journals both report is there once. */
export function merged(parts: readonly (readonly Moment[])[]): Moment[] {
  const seen = new Map<string, number>();
  return parts
    .flat()
    .sort((p, q) => p.time - q.time)
    .filter((m) => {
      const words = `${m.kind} ${m.text}`;
      const before = seen.get(words);
      seen.set(words, m.time);
      return before === undefined || m.time - before >= SAME_MS;
    });
}

/** The merged moments of views, made again only when there are new ones. */
export class MomentCache {
  #sorted: Moment[] = [];
  #size = 0;
  #of: (readonly unknown[] | undefined)[] = [];
  #sortedAt = 0;

  take(parts: readonly Moments[]): Moment[] {
    const size = parts.reduce((n, part) => n + part.length, 0);
    const of = parts.map((part) => part.of);
    const same = of.length === this.#of.length && of.every((list, i) => list === this.#of[i]);
    const now = performance.now();
    const recent = size > MANY && now - this.#sortedAt < SORTED_EVERY_MS;
    if (same && (size === this.#size || recent)) return this.#sorted;
    this.#sorted = merged(parts);
    [this.#size, this.#of, this.#sortedAt] = [size, of, now];
    return this.#sorted;
  }
}
