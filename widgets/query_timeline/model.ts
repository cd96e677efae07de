// The micro-batches of a query: rows to state. Phases, outcomes and replays come from the kernel. Times are seconds
// since the view's origin.
import type { Mark, Place } from "../page/data/marks.ts";
import { append, Store } from "../page/data/store.ts";
import { plural } from "../page/drawing/format.ts";

// view.py has the same formats.
export const FORMATS = {
  batches: { format: "index:u batch:u start:f end:f attempt:u flags:u", keyed: true },
  phases: { format: "index:u start:f end:f phase:u how:u pad:u" },
  flow: { format: "index:u t:f in:f out:f lag:f rows:f", keyed: true },
} as const;
const OUTCOMES = ["running", "done", "failed", "killed", "gone", "stopped"];
const CUT_OFF = ["killed", "gone", "failed"];
const REPLAYED = 256;

export type Phase = [name: string, words: string, colour: string];
/** The start or the end of a run of the query. */
export type Run = [t: number, what: "start" | "end", run: number, outcome: string, cause: string, kind: string];

/** Return whether a run's start or end is drawn: the first start of a query is no restart. */
export const isShown = ([, what, run]: Run): boolean => what === "end" || run !== 1;

export interface Facts {
  query: string;
  phases: Phase[];
  told: string[];
}

export interface Lists {
  runs: Run[];
}

export interface BatchMark extends Mark {
  kind: "batch";
  index: number;
  query: string;
}

export interface RunMark extends Mark {
  kind: "run";
  run: number;
  query: string;
}

export class BatchModel {
  readonly store: Store<typeof FORMATS, Facts, Lists>;
  #phases: number[][] = [];

  constructor() {
    this.store = new Store<typeof FORMATS, Facts, Lists>(FORMATS, (name, first) => {
      if (name === "") this.#phases = [];
      if (name !== "phases") return;
      const { n, col } = this.store.tables.phases;
      for (let i = first; i < n; i++) append(this.#phases, col.index[i], i);
    });
  }

  get facts() {
    return this.store.facts;
  }

  get n(): number {
    return this.store.tables.batches.n;
  }

  get col() {
    return this.store.tables.batches.col;
  }

  get runs(): readonly Run[] {
    return this.store.lists.runs ?? [];
  }

  get origin(): number {
    return this.facts.origin_ms ?? 0;
  }

  ms(s: number): number {
    return this.origin + 1000 * s;
  }

  /** Return seconds since the origin. */
  s(ms: number): number {
    return (ms - this.origin) / 1000;
  }

  outcome(i: number): string {
    return OUTCOMES[this.col.flags[i] & 255];
  }

  isCutOff(i: number): boolean {
    return CUT_OFF.includes(this.outcome(i));
  }

  isReplayed(i: number): boolean {
    return Boolean(this.col.flags[i] & REPLAYED);
  }

  isRunning(i: number, t: number): boolean {
    return this.col.end[i] > t;
  }

  label(i: number): string {
    return `${this.col.batch[i]}${this.col.attempt[i] > 1 ? ` ×${this.col.attempt[i]}` : ""}`;
  }

  /** Return a number of a batch's flow, or NaN where it is not known (yet). */
  flow(column: "in" | "out" | "lag" | "rows", i: number, t: number): number {
    const { n, col } = this.store.tables.flow;
    return i < n && this.col.end[i] <= t ? col[column][i] : Number.NaN;
  }

  phasesOf(i: number): readonly number[] {
    return this.#phases[i] ?? [];
  }

  colourOf(phase: number): string {
    return this.facts.phases?.[this.store.tables.phases.col.phase[phase]]?.[2] ?? "";
  }

  /** Return the milliseconds that a batch has spent in each phase until a moment, in the order of phases. */
  spent(i: number, t: number): [phase: Phase, ms: number][] {
    const { start, end, phase } = this.store.tables.phases.col;
    const sums = new Map<number, number>();
    for (const p of this.phasesOf(i))
      if (start[p] <= t) sums.set(phase[p], (sums.get(phase[p]) ?? 0) + 1000 * (Math.min(end[p], t) - start[p]));
    const phases = this.facts.phases ?? [];
    return [...sums].sort((p, q) => p[0] - q[0]).map(([k, v]) => [phases[k], v]);
  }

  /** Return the milliseconds since a batch began, or that it took. */
  duration(i: number, t: number): number {
    return 1000 * (Math.min(this.col.end[i], t) - this.col.start[i]);
  }

  indexOf(mark: Mark | Place | null): number {
    if (mark?.kind !== "batch") return -1;
    const { query, index } = mark as BatchMark;
    return query === this.facts.query ? index : -1;
  }

  markOf(i: number): BatchMark {
    const query = this.facts.query ?? "";
    return { kind: "batch", key: `${query} ${this.label(i)} ${i}`, index: i, query, time: this.ms(this.col.start[i]) };
  }

  /** Return the times (ms) at which batches and runs began or ended. */
  events(): number[] {
    const starts = Array.from(this.col.start.subarray(0, this.n), (s) => this.ms(s));
    return [...new Set([...starts, ...this.runs.map((r) => this.ms(r[0]))])];
  }

  summary(t: number): string {
    let [done, again] = [0, 0];
    for (let i = 0; i < this.n; i++) {
      if (this.col.start[i] > t) continue;
      done += this.col.end[i] <= t && this.outcome(i) === "done" ? 1 : 0;
      again += this.isReplayed(i) ? 1 : 0;
    }
    return `${this.facts.query || "no query"}: ${plural(done, "batch", "batches")} done, ${again} replayed`;
  }
}
