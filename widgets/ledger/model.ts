// What was counted by a moment, what was wrong, and what a fault changed. Sums and texts come from the kernel. Times
// are seconds since the view's origin.

import type { Mark } from "../page/data/marks.ts";
import { countWhile, Store } from "../page/data/store.ts";
import { count } from "../page/drawing/format.ts";

// view.py has the same format.
export const FORMATS = {
  counts: {
    format:
      "t:f written:u acknowledged:u read:u committed:u lost:u doubled:u out_of_order:u strange:u unknown:u in_flight:u late:u",
  },
} as const;
const NOT_KNOWN = 0xffffffff;

export type Name =
  | "written"
  | "acknowledged"
  | "read"
  | "committed"
  | "lost"
  | "doubled"
  | "out_of_order"
  | "strange"
  | "unknown"
  | "in_flight"
  | "late";
export const COLUMNS: readonly Name[] = ["written", "acknowledged", "read", "committed"];
export const WRONGS: readonly (readonly [Name, string])[] = [
  ["lost", "lost"],
  ["doubled", "doubled"],
  ["out_of_order", "out of order"],
  ["strange", "never written"],
];
export const APART: readonly (readonly [Name, string])[] = [
  ["late", "late"],
  ["in_flight", "in flight"],
  ["unknown", "not yet known"],
];

/** A fault; `before` is the row of the last counts before it. */
export type Fault = [t: number, text: string, kind: string, before: number];

/** An offending event: when it was reported, what is wrong, then times and places of writing and reading. */
export type Offence = [
  t: number,
  what: string,
  column: string,
  event: string,
  key: string,
  written: number | null,
  writtenWhere: string,
  read: number | null,
  readWhere: string,
  first: number | null,
  firstWhere: string,
];

export interface Facts {
  ledger: string;
  witnesses: string[];
  judged: string;
}

export interface Lists {
  faults: Fault[];
  offences: Offence[];
}

export type Verdict = "exact" | "wrong" | "open";

export interface FaultMark extends Mark {
  kind: "fault";
  fault: number;
  ledger: string | undefined;
}

export class LedgerModel {
  readonly store = new Store<typeof FORMATS, Facts, Lists>(FORMATS);

  get facts() {
    return this.store.facts;
  }

  get n(): number {
    return this.store.tables.counts.n;
  }

  get times(): Float32Array {
    return this.store.tables.counts.col.t;
  }

  get faults(): readonly Fault[] {
    return this.store.lists.faults ?? [];
  }

  get offences(): readonly Offence[] {
    return this.store.lists.offences ?? [];
  }

  get origin(): number {
    return this.facts.origin_ms ?? 0;
  }

  ms(s: number): number {
    return this.origin + 1000 * s;
  }

  /** Return the row of the newest counts at a moment, or -1. */
  rowAt(t: number): number {
    const at = this.times;
    return countWhile(this.n, (row) => at[row] <= t) - 1;
  }

  /** Return a count, or null where it is not known. */
  value(name: Name, row: number): number | null {
    const value = row < 0 ? NOT_KNOWN : this.store.tables.counts.col[name][row];
    return value === NOT_KNOWN ? null : value;
  }

  /** Return whether nothing has been counted yet. */
  isEmpty(): boolean {
    return !COLUMNS.some((name) => this.value(name, this.n - 1));
  }

  /** Return the sentence about a row and its kind, as ledger_fold.sentence: exact only if all is known and right. */
  verdict(row: number): [sentence: string, verdict: Verdict] {
    const value = (name: Name) => this.value(name, row);
    if (row < 0 || !(["written", "read", "committed"] as const).some(value)) return ["nothing counted yet", "open"];
    const parts = WRONGS.filter(([name]) => value(name)).map(([name, word]) => `${count(value(name))} ${word}`);
    const wrong = parts.length > 0;
    const judged = value("read") !== null || value("committed") !== null;
    if (value("late")) parts.push(`${count(value("late"))} late`);
    if (value("lost") === null && judged) parts.push("what was lost is not known: nobody witnessed what was written");
    else if (value("unknown")) parts.push(`${count(value("unknown"))} not yet known`);
    return parts.length ? [parts.join(", "), wrong ? "wrong" : "open"] : ["exact", "exact"];
  }

  /** Return what went wrong between a fault and the next one, at most until a moment, as ledger_fold.effect. */
  effect(fault: number, t: number): string {
    const before = this.faults[fault][3];
    const now = Math.min(this.faults[fault + 1]?.[3] ?? Number.POSITIVE_INFINITY, this.rowAt(t));
    if (now < 0) return "nothing counted yet";
    const more = WRONGS.map(([name, word]) => {
      return [(this.value(name, now) ?? 0) - (this.value(name, before) ?? 0), word] as const;
    }).filter(([n]) => n > 0);
    if (more.length) return more.map(([n, word]) => `${count(n)} ${word}`).join(", ");
    const unknown = this.value("unknown", now);
    return unknown ? `none so far; ${count(unknown)} not yet known` : "none";
  }

  markOf(fault: number): FaultMark {
    const time = this.ms(this.faults[fault][0]);
    return { kind: "fault", key: `fault ${fault}`, fault, ledger: this.facts.ledger, time };
  }

  /** Return the fault of a mark, or undefined if the mark is another view's. */
  faultOf(mark: Mark): Fault | undefined {
    if (mark.kind !== "fault") return undefined;
    const { fault, ledger } = mark as FaultMark;
    return ledger === this.facts.ledger ? this.faults[fault] : undefined;
  }

  /** Return the times (ms) of faults and of offending events. */
  events(): number[] {
    return [...this.faults, ...this.offences].map(([t]) => this.ms(t));
  }

  summary(row: number): string {
    return `${this.facts.ledger || "ledger"}: ${this.verdict(row)[0]}`;
  }
}

/** Return the items of a list (sorted by time) that happened by a moment. */
export const until = <T extends readonly [t: number, ...rest: unknown[]]>(list: readonly T[], t: number): T[] =>
  list.filter(([at]) => at <= t);
