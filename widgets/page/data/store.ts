// Everything that the kernel has said about one view.
import { type Formats, Table } from "./rows.ts";

// For the scrubber, in the view that sends it (teller.py): when something was observed, and the last seq of that time.
const STEPS = { steps: { format: "t:f seq:u" } } as const;

export type Tables<F extends Formats> = { [K in keyof F]: Table<F[K]["format"]> };

/** A moment as the kernel sends it: seconds, kind, text, whether a fork can begin there. */
type SentMoment = [t: number, kind: string, text: string, hasCut: number];

/** The facts that every view has. */
export interface CommonFacts {
  title: string;
  live: boolean;
  trouble: string;
  seed: number | null;
  gap: string;
  origin_ms: number;
  now_s: number;
  ticking: boolean;
  answer: string;
  empty: [sentence: string, code: string];
  control: string;
  no_control: string;
  left_out: string;
}

/** A message of the kernel: a snapshot, which replaces everything, or a delta. */
export interface Content {
  kind: string;
  seq: number;
  tables: string[];
  facts: object;
  grown: Record<string, unknown[]>;
}

/** Called with a table's name and its first new row; with "" when everything is forgotten. */
type Learned = (name: string, first: number) => void;

export class Store<F extends Formats = Formats, Facts = object, Lists = object> {
  readonly tables: Tables<F & typeof STEPS>;
  facts: Partial<CommonFacts & Facts> = {};
  lists: Partial<Lists & { moments: SentMoment[] }> = {};
  readonly listeners = new Set<() => void>();
  updates = 0;
  at = 0; // when the newest update came
  learned: Learned;

  constructor(formats: F, learned: Learned = () => {}) {
    const all = Object.entries({ ...STEPS, ...formats } as Formats);
    const made = all.map(([name, { format, keyed }]) => [name, new Table(format, keyed)]);
    this.tables = Object.fromEntries(made) as Tables<F & typeof STEPS>;
    this.learned = learned;
  }

  /** Take a message; tables arrive as buffers in the order of their names. */
  take(content: Content, buffers: readonly (DataView | ArrayBuffer | Uint8Array)[]): void {
    const tables = this.tables as Record<string, Table>;
    if (content.kind === "snapshot") {
      for (const table of Object.values(tables)) table.clear();
      this.facts = {};
      this.lists = {};
      this.learned("", 0);
    }
    Object.assign(this.facts, content.facts);
    const lists = this.lists as Record<string, unknown[]>;
    for (const [name, items] of Object.entries(content.grown)) {
      lists[name] ??= [];
      for (const item of items) lists[name].push(item);
    }
    content.tables.forEach((name, i) => {
      this.learned(name, tables[name].put(buffers[i]));
    });
    this.updates += 1;
    this.at = performance.now();
    for (const listener of this.listeners) listener();
  }
}

/** Return the last of the rows (sorted by time) at or before `t`, or -1; `at` gives the times by row. */
export function lastUntil(rows: readonly number[], at: Float32Array, t: number): number {
  return rows[countWhile(rows.length, (i) => at[rows[i]] <= t) - 1] ?? -1;
}

/** Return how many of `n` places, from the first on, fulfil a condition that no later place fulfils. */
export function countWhile(n: number, holds: (i: number) => boolean): number {
  let [lo, hi] = [0, n];
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (holds(mid)) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

/** Append an item to the list of a key, which may be the first. */
export function append<T>(lists: T[][], key: number, item: T): void {
  const list = lists[key];
  if (list) list.push(item);
  else lists[key] = [item];
}
