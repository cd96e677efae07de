// The segments of a stream and what is known of each: rows to state. Ranges, predecessors, causes and thresholds come
// from the kernel. Times are seconds since the view's origin; `ms` converts them to the clock's milliseconds.

import type { Mark, Place, SegmentMark } from "../page/data/marks.ts";
import { isSegment } from "../page/data/marks.ts";
import { append, countWhile, Store } from "../page/data/store.ts";
import { bytes, count, plural } from "../page/drawing/format.ts";
import { keyPosition } from "./hashing.ts";

// segment_rows.py has the same formats.
export const FORMATS = {
  segments: { format: "index:u start:f end:f low:f high:f reader:u", keyed: true },
  names: { format: "index:u number:u epoch:u flags:u truncated:f pad:u", keyed: true },
  links: { format: "index:u predecessor:u" },
  rates: { format: "index:u t:f events:f bytes:f unread:f stored:f" },
  tiers: { format: "index:u until:f bytes:f", keyed: true },
  owners: { format: "index:u segment:u reader:u start:f end:f", keyed: true },
  crowd: { format: "start:f end:f low:f high:f n:u" },
} as const;
export const WAITS = 0xfffffffe; // in the place of an owner: the segment waits for its predecessors
export const NOBODY = 0;
export const UNKNOWN = 0xffffffff;
const INEXACT = 1;
const RATE_WINDOW_S = 2; // a rate is of so long a time, as in tracker.py
const NONE: readonly number[] = [];

export type Scale = [t: number, text: string, kind: string, rule: string, sealed: number[], created: number[]];
/** A time in which one reader (+1, or nobody, or WAITS) had a segment. */
export type Stretch = readonly [owner: number, from: number, to: number];

export interface Facts {
  stream: string;
  readers: string[];
  thresholds: [value: number, name: string][];
  rate_unit: string;
  events_how: string;
  knows: string[];
  has_group: boolean;
  colour: string;
  key: string;
}

export interface Lists {
  scales: Scale[];
  waits: [owner: number, words: string][];
}

const fresh = () => ({
  rates: [] as number[][],
  before: [] as number[][],
  after: [] as number[][],
  owners: [] as number[][],
  byNumber: new Map<number, number>(),
  waits: new Map<number, string>(),
  named: 0,
  waitsTaken: 0,
  unreadPeak: 0,
});

export class SegmentModel {
  readonly store: Store<typeof FORMATS, Facts, Lists>;
  #known = fresh();

  constructor() {
    this.store = new Store<typeof FORMATS, Facts, Lists>(FORMATS, (name, first) => this.#learn(name, first));
  }

  /** Index appended rows by segment. */
  #learn(name: string, first: number): void {
    const { tables } = this.store;
    const known = this.#known;
    if (name === "") this.#known = fresh();
    if (name === "owners") index(known.owners, tables.owners.col.segment, first, tables.owners.n);
    if (name === "rates") {
      index(known.rates, tables.rates.col.index, first, tables.rates.n);
      const { unread } = tables.rates.col;
      for (let i = first; i < tables.rates.n; i++) if (unread[i] > known.unreadPeak) known.unreadPeak = unread[i];
    }
    if (name === "names") {
      const { n, col } = tables.names;
      for (; known.named < n; known.named++) known.byNumber.set(col.number[known.named], known.named);
    }
    if (name === "links") {
      const { n, col } = tables.links;
      for (let i = first; i < n; i++) {
        append(known.before, col.index[i], col.predecessor[i]);
        append(known.after, col.predecessor[i], col.index[i]);
      }
    }
  }

  get facts() {
    return this.store.facts;
  }

  get n(): number {
    return this.store.tables.segments.n;
  }

  get seg() {
    return this.store.tables.segments.col;
  }

  get names() {
    return this.store.tables.names.col;
  }

  get rates() {
    return this.store.tables.rates.col;
  }

  get scales(): readonly Scale[] {
    return this.store.lists.scales ?? [];
  }

  get origin(): number {
    return this.facts.origin_ms ?? 0;
  }

  get byRate(): boolean {
    return this.facts.rate_unit === "bytes/s";
  }

  get rateColumn(): Float32Array {
    return this.byRate ? this.rates.bytes : this.rates.events;
  }

  /** The rate that a segment of this stream should have, or 0 where there is no such policy. */
  get target(): number {
    return this.facts.thresholds?.find(([, name]) => name === "target")?.[0] ?? 0;
  }

  /** The most unread bytes that any sample had. */
  get unreadPeak(): number {
    return this.#known.unreadPeak;
  }

  ms(s: number): number {
    return this.origin + 1000 * s;
  }

  /** Return seconds since the origin. */
  s(ms: number): number {
    return (ms - this.origin) / 1000;
  }

  knows(what: string): boolean {
    return (this.facts.knows ?? []).includes(what);
  }

  rateText(r: number): string {
    if (Number.isNaN(r)) return "–";
    return `${this.byRate ? bytes(r) : count(r)}/s`;
  }

  label(i: number): string {
    return `#${this.names.number[i]} e${this.names.epoch[i]}`;
  }

  short(i: number): string {
    return `#${this.names.number[i]}`;
  }

  isOpen(i: number, t: number): boolean {
    return this.seg.end[i] > t;
  }

  /** Return whether the beginning of a segment, or all of it, was truncated. */
  isTruncated(i: number): boolean {
    return this.names.truncated[i] > this.seg.start[i];
  }

  /** Return whether a part of a segment is in tier 2: what was written before `tiers.until`. */
  isTiered(i: number): boolean {
    const { n, col } = this.store.tables.tiers;
    return i < n && col.bytes[i] > 0 && col.until[i] > this.seg.start[i];
  }

  /** Return where the stored bytes of a segment are: "1.2 MB in the log, 3 MB in tier 2", or "" if it is unknown. */
  tierWords(i: number, stored: number): string {
    if (!this.knows("tiers")) return "";
    const { n, col } = this.store.tables.tiers;
    const moved = Math.min(stored, i < n ? col.bytes[i] : 0);
    return `${bytes(stored - moved)} in the log, ${bytes(moved)} in tier 2`;
  }

  isInexact(i: number): boolean {
    return Boolean(this.names.flags[i] & INEXACT);
  }

  before(i: number): readonly number[] {
    return this.#known.before[i] ?? NONE;
  }

  /** Return the successors that exist at a moment. */
  after(i: number, t = Number.POSITIVE_INFINITY): number[] {
    return (this.#known.after[i] ?? []).filter((k) => this.seg.start[k] <= t);
  }

  /** The samples of each segment, in order of time; a segment without one may have no list. */
  get samples(): readonly (readonly number[] | undefined)[] {
    return this.#known.rates;
  }

  /** Since when rates are known: the first sample says nothing of the time before an observer looked. */
  get ratesSince(): number {
    const { rates } = this.store.tables;
    return rates.n ? rates.col.t[0] - RATE_WINDOW_S : 0;
  }

  /** Return `sampleAt` for many calls in a row. */
  sampler(): (i: number, t: number) => number {
    const { samples } = this;
    const { t: at, events, bytes } = this.rates;
    const hasRate = (row: number) => events[row] >= 0 || bytes[row] >= 0;
    return (i, t) => {
      const rows = samples[i] ?? NONE;
      const n = countWhile(rows.length, (k) => at[rows[k]] <= t);
      if (!n || (n < rows.length && hasRate(rows[n - 1]) && !hasRate(rows[n]))) return -1;
      return rows[n - 1];
    };
  }

  /** Return the newest sample of a segment at a moment, or -1: a sample is of the time since the one before it, so one
   *  without rates ends a time in which no observer looked. */
  sampleAt(i: number, t: number): number {
    return this.sampler()(i, t);
  }

  /** Return who had a segment until a moment, in order of time. */
  stretches(i: number, t: number): Stretch[] {
    const { reader, start, end } = this.store.tables.owners.col;
    const mine = (this.#known.owners[i] ?? []).filter((k) => start[k] <= t);
    return mine.map((k) => [reader[k], start[k], Math.min(end[k], t)]);
  }

  /** Return reader + 1, NOBODY, WAITS, or UNKNOWN where nothing was observed; a successor waits until its group may read it. */
  ownerAt(i: number, t: number): number {
    const { reader, start, end } = this.store.tables.owners.col;
    const mine = this.#known.owners[i];
    if (!mine) return this.facts.has_group && this.before(i).length ? WAITS : this.seg.reader[i];
    const k = mine.findLast((one) => start[one] <= t);
    if (k !== undefined) return end[k] > t ? reader[k] : UNKNOWN;
    return this.before(i).length ? WAITS : UNKNOWN;
  }

  waitWords(i: number, t: number): string {
    const known = this.#known;
    const list = this.store.lists.waits ?? [];
    for (; known.waitsTaken < list.length; known.waitsTaken++) known.waits.set(...list[known.waitsTaken]);
    const { reader, start } = this.store.tables.owners.col;
    const k = (known.owners[i] ?? []).findLast((one) => start[one] <= t && reader[one] === WAITS);
    const said = k === undefined ? undefined : known.waits.get(k);
    return (
      said ||
      `waits for ${this.before(i)
        .map((p) => this.short(p))
        .join(" ")}`
    );
  }

  /** Return "r2", "nobody", "waits for #2", or "" where nothing was observed. */
  ownerWords(i: number, t: number): string {
    const owner = this.ownerAt(i, t);
    if (owner === UNKNOWN) return "";
    if (owner === WAITS) return this.waitWords(i, t);
    return owner === NOBODY ? "nobody" : (this.facts.readers?.[owner - 1] ?? "");
  }

  numbered(number: number): number | undefined {
    return this.#known.byNumber.get(number);
  }

  /** Return the index of a mark's segment, or -1 if it is not one of this stream. */
  indexOf(mark: Mark | Place | null): number {
    if (!isSegment(mark) || mark.stream !== this.facts.stream) return -1;
    return this.numbered(mark.number) ?? -1;
  }

  markOf(i: number): SegmentMark {
    const stream = this.facts.stream ?? "";
    const time = Math.max(this.ms(this.seg.start[i]), this.origin);
    return { kind: "segment", key: `${stream}/${this.label(i)}`, number: this.names.number[i], stream, time };
  }

  /** Return the scale that made a segment. */
  scaleOf(i: number): Scale | undefined {
    const t = this.seg.start[i];
    const made = this.scales.filter((s) => s[5].includes(i));
    return made.find((s) => Math.abs(s[0] - t) < 0.01) ?? made[0];
  }

  /** Return the segments that own a position until a moment, in order. A segment owns (low, high], the first also 0. */
  pathOf(at: number, t: number): number[] {
    const { low, high, start } = this.seg;
    const path: number[] = [];
    for (let i = 0; i < this.n; i++)
      if (start[i] <= t && at <= high[i] && (at > low[i] || (at === 0 && low[i] === 0))) path.push(i);
    return path.sort((p, q) => start[p] - start[q]);
  }

  /** Return the path of a routing key in words: "N725MQ (0.4821): #0 → #2 → #5". */
  keyPath(key: string, t: number): string {
    const at = keyPosition(key);
    const path = this.pathOf(at, t).map((i) => this.short(i));
    const shown = path.length > 8 ? [...path.slice(0, 2), "…", ...path.slice(-4)] : path;
    return `${key} (${at.toFixed(4)}): ${shown.join(" → ") || "no segment yet"}`;
  }

  /** Return a segment's key range with as many digits as it needs, or `least`: "0.25–0.5". */
  range(i: number, least = 3): string {
    const [low, high] = [this.seg.low[i], this.seg.high[i]];
    const digits = Math.max(least, Math.ceil(-Math.log10(high - low)) + 1);
    return [low, high].map((v) => (v === 0 || v === 1 ? String(v) : v.toFixed(digits).replace(/0+$/, ""))).join("–");
  }

  summary(t: number): string {
    const { n, col } = this.store.tables.segments;
    const { start, end } = col; // asked for once: there may be a hundred thousand segments
    let open = 0;
    for (let i = 0; i < n; i++) if (start[i] <= t && end[i] > t) open += 1;
    const scaled = this.scales.filter((s) => s[0] <= t).length;
    return `${this.facts.stream || "no stream"}: ${plural(open, "active segment")}, scaled ${plural(scaled, "time")}`;
  }
}

function index(lists: number[][], of: Uint32Array, first: number, n: number): void {
  for (let i = first; i < n; i++) append(lists, of[i], i);
}
