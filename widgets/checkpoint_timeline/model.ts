// The checkpoints of a reader group or of a job: rows to state. Phases and their words come from the kernel, so this
// model serves both systems. A part is a reader or a subtask in one checkpoint. Times are seconds since the origin.
import { type CheckpointMark, type CutMark, isCheckpoint, type Mark, type Place } from "../page/data/marks.ts";
import { append, Store } from "../page/data/store.ts";
import { commonStart } from "../page/drawing/text.ts";

// view.py has the same formats.
export const FORMATS = {
  checkpoints: { format: "index:u number:u start:f end:f state:u", keyed: true },
  parts: { format: "index:u checkpoint:u row:u skipped:u", keyed: true },
  phases: { format: "index:u told:u start:f end:f", keyed: true },
  ticks: { format: "part:u at:f channel:u" },
  pieces: { format: "checkpoint:u stream:u number:u epoch:u row:u done:u low:f high:f at:f offset:f" },
} as const;
export const STATES = ["", "running", "completed", "failed", "cancelled", "unknown"];
export const PHASES_MAX = 8; // of a system: a phase's index is its part's × 8 and its place

/** `waits` says what a part in this phase waits for; a part has passed when a phase that `passes` is over. */
type PhaseKind = [name: string, words: string, colour: string, waits: string, passes: number];

/** The events between the cut of the other system and the barrier; below 0 they would be lost. */
type Between = readonly [cut: number, barrier: number, events: number];

export interface Facts {
  source: string;
  system: string;
  phases: PhaseKind[];
  until: string;
  counts: string;
  readers_from: number; // the first row that is a reader, not a subtask
  group: string;
  streams: string[];
  waiting: Record<string, string>; // by part: where it is while it has not passed
  chosen: string | null;
  only: string;
}

export interface Lists {
  names: [checkpoint: number, name: string][];
  words: [checkpoint: number, how: string][];
  rows: [row: number, name: string][];
  gaps: [checkpoint: number, stream: string, low: number, high: number][];
  where: [part: number, where: string, skipped: string][];
  about: [checkpoint: number, lines: string[]][];
  between: [part: number, ...Between][];
  links: [checkpoint: number, from: number, to: number][];
}

/** A segment's position in a cut. */
export interface Piece {
  stream: string;
  number: number;
  row: number; // of the reader that had it, + 1, or 0
  done: boolean;
  low: number;
  high: number;
  at: number;
  offset: number;
}

/** A row of the lower picture: a reader or a subtask. */
export interface RowMark extends Mark {
  kind: "reader" | "task";
  name: string;
  group: string | undefined;
  part: number;
  reader?: number;
}

interface Passed {
  where: string;
  skipped: string; // why it need not pass, or ""
}

export class CheckpointModel {
  readonly store: Store<typeof FORMATS, Facts, Lists>;
  #pieces: number[][] = [];
  #ticks: number[][] = [];
  #known: ReturnType<typeof known> | undefined;
  #version = -1;

  constructor() {
    this.store = new Store<typeof FORMATS, Facts, Lists>(FORMATS, (name, first) => {
      const { pieces, ticks } = this.store.tables;
      if (name === "") [this.#pieces, this.#ticks] = [[], []];
      if (name === "pieces") for (let i = first; i < pieces.n; i++) append(this.#pieces, pieces.col.checkpoint[i], i);
      if (name === "ticks") for (let i = first; i < ticks.n; i++) append(this.#ticks, ticks.col.part[i], i);
    });
  }

  /** What is made of all lists, once per message. */
  get #index() {
    if (!this.#known || this.#version !== this.store.updates) this.#known = known(this.store);
    this.#version = this.store.updates;
    return this.#known;
  }

  get facts() {
    return this.store.facts;
  }

  get n(): number {
    return this.store.tables.checkpoints.n;
  }

  get col() {
    return this.store.tables.checkpoints.col;
  }

  get part() {
    return this.store.tables.parts.col;
  }

  get tick() {
    return this.store.tables.ticks.col;
  }

  get isJob(): boolean {
    return this.facts.system === "job";
  }

  get readersFrom(): number {
    return this.facts.readers_from ?? 0;
  }

  /** How many characters the names of all readers begin with, up to the end of a word. */
  get common(): number {
    const readers = [...this.#index.rows].filter(([row]) => row >= this.readersFrom);
    return commonStart(readers.map(([, name]) => name));
  }

  get origin(): number {
    return this.facts.origin_ms ?? 0;
  }

  ms(s: number): number {
    return this.origin + 1000 * s;
  }

  nameOf(c: number): string {
    return this.#index.names.get(c) ?? "";
  }

  /** Return how a checkpoint ended, in words, if the kernel has some. */
  endOf(c: number): string | undefined {
    return this.#index.words.get(c);
  }

  aboutOf(c: number): readonly string[] {
    return this.#index.about.get(c) ?? [];
  }

  linksOf(c: number): readonly (readonly [from: number, to: number])[] {
    return this.#index.links.get(c) ?? [];
  }

  partsOf(c: number): readonly number[] {
    return this.#index.parts[c] ?? [];
  }

  rowName(part: number): string {
    return this.#index.rows.get(this.part.row[part]) ?? "?";
  }

  /** Return whether a part is a reader of the group that a job made a checkpoint of. */
  isReaderOfJob(part: number): boolean {
    return this.isJob && this.part.row[part] >= this.readersFrom;
  }

  passedAs(part: number): Passed | undefined {
    return this.#index.where.get(part);
  }

  betweenOf(part: number): Between | undefined {
    return this.#index.between.get(part);
  }

  ticksOf(part: number): readonly number[] {
    return this.#ticks[part] ?? [];
  }

  phase(kind: number | undefined): PhaseKind | undefined {
    return kind === undefined ? undefined : this.facts.phases?.[kind];
  }

  piecesOf(c: number): Piece[] {
    const p = this.store.tables.pieces.col;
    const streams = this.facts.streams ?? [];
    return (this.#pieces[c] ?? []).map((i) => ({
      stream: streams[p.stream[i]],
      number: p.number[i],
      row: p.row[i],
      done: Boolean(p.done[i]),
      low: p.low[i],
      high: p.high[i],
      at: p.at[i],
      offset: p.offset[i],
    }));
  }

  /** Return the key ranges that no position of a cut covers. A gap without a stream is one of any stream. */
  gapsOf(c: number): { stream: string; low: number; high: number }[] {
    const gaps = (this.store.lists.gaps ?? []).filter(([checkpoint]) => checkpoint === c);
    return gaps.map(([, stream, low, high]) => ({ stream, low, high }));
  }

  /** Return "checkpoint 3", or "checkpoint request 2" of those that failed before they had a number. */
  labelOf(c: number): string {
    return this.col.number[c] ? `checkpoint ${this.col.number[c]}` : this.nameOf(c);
  }

  isMine(mark: Mark | Place | null, c: number): boolean {
    return isCheckpoint(mark) && mark.source === this.facts.source && mark.name === this.nameOf(c);
  }

  isRow(mark: Mark): mark is RowMark {
    const { part, group } = mark as Partial<RowMark>;
    const ours = [this.facts.source, this.facts.group].includes(group);
    return part !== undefined && (mark.kind === "task" || mark.kind === "reader") && ours;
  }

  markOf(c: number): CheckpointMark {
    const [name, source] = [this.nameOf(c), this.facts.source];
    return { kind: "checkpoint", key: `checkpoint ${name}`, name, source, time: this.ms(this.col.start[c]) };
  }

  /** Return the mark of a cut, which has everything that another view needs to draw it. */
  cutMark(c: number, t: number): CutMark {
    const name = this.nameOf(c);
    const pieces = this.piecesOf(c).map((p) => ({ ...p, at: p.done || Number.isNaN(p.at) ? null : this.ms(p.at) }));
    const time = this.ms(Math.min(this.col.end[c], t));
    const number = this.col.number[c];
    return { ...this.markOf(c), kind: "cut", key: `cut ${name}`, number, pieces, gaps: this.gapsOf(c), time };
  }

  rowMark(part: number, t: number): RowMark {
    const name = this.rowName(part);
    const reader = this.part.row[part] - this.readersFrom;
    const { source, group } = this.facts;
    const time = this.ms(t);
    if (reader < 0) return { kind: "task", key: `task ${name}`, name, group: source, part, time };
    return { kind: "reader", key: `reader ${name}`, reader, name, group: group || source, part, time };
  }
}

function known({ tables, lists }: CheckpointModel["store"]) {
  const links = new Map<number, [number, number][]>();
  for (const [c, from, to] of lists.links ?? []) links.set(c, [...(links.get(c) ?? []), [from, to]]);
  const parts: number[][] = [];
  for (let i = 0; i < tables.parts.n; i++) append(parts, tables.parts.col.checkpoint[i], i);
  return {
    links,
    parts,
    names: new Map(lists.names),
    words: new Map(lists.words),
    rows: new Map(lists.rows),
    about: new Map(lists.about),
    between: new Map((lists.between ?? []).map(([part, ...rest]): [number, Between] => [part, rest])),
    where: new Map((lists.where ?? []).map(([part, where, skipped]): [number, Passed] => [part, { where, skipped }])),
  };
}
