// The readers of a group and who held which segment: rows to state. Who took what and why comes from the kernel.
// Times are seconds since the view's origin. A reader is its index; where 0 is nobody, it is its index + 1.
import type { CheckpointMark, Mark, Place, ReaderMark, SegmentMark } from "../page/data/marks.ts";
import { isCheckpoint, isSegment } from "../page/data/marks.ts";
import { append, Store } from "../page/data/store.ts";
import { commonStart } from "../page/drawing/text.ts";

// view.py has the same formats.
export const FORMATS = {
  readers: { format: "index:u unread:f behind:f lag:f", keyed: true },
  lags: { format: "index:u t:f unread:f behind:f" },
  bars: { format: "index:u reader:u stream:u number:u epoch:u start:f end:f", keyed: true },
  checkpoints: { format: "index:u asked:f ended:f state:u of:u", keyed: true },
  owed: { format: "checkpoint:u reader:u" },
  passes: { format: "checkpoint:u reader:u t:f leaving:u" },
} as const;
export const STATES = ["", "running", "completed", "cancelled", "cleared", "reset", "unknown"];
export const NOBODY = 0; // a lane; a reader's is its index + 1
const OPEN = Number.POSITIVE_INFINITY;

/** A segment came to a reader: it left the lane `from` at `left`. `kind` says why it was free. */
export type Move = [
  t: number,
  left: number,
  stream: number,
  number: number,
  epoch: number,
  from: number,
  to: number,
  kind: string,
  reason: string,
  reasonKind: string,
  predecessors: number[],
];
type Coming = [t: number, reader: number, what: "joined" | "left" | "killed", cause: string, kind: string];

/** A time in which a reader was online; `how` it ended is "" while it lasts. */
export interface Session {
  from: number;
  to: number;
  how: string;
  cause: string;
  kind: string;
}

export interface Reader {
  index: number;
  name: string;
  online: Session[];
}

/** A successor that waits for its predecessors. */
export interface Wait {
  stream: string;
  number: number;
  start: number;
  end: number;
  words: string;
}

type SentWait = [stream: string, number: number, start: number, end: number | null, words: string];

export interface Facts {
  group: string;
  streams: string[];
  only: string;
  sort: string;
}

export interface Lists {
  names: [index: number, name: string][];
  presence: Coming[];
  checkpoint_names: [index: number, name: string][];
  moves: Move[];
  resets: [t: number, begun: boolean][];
  gaps: number[];
}

export interface HolderMark extends ReaderMark {
  reader: number;
  group: string | undefined;
}

export interface MoveMark extends Mark {
  kind: "move";
  group: string | undefined;
  move: Move;
}

/** Rows by what they belong to, made as they come. */
const freshRows = () => ({ lags: [] as number[][], owed: [] as number[][], passes: [] as number[][] });

export class GroupModel {
  readonly store: Store<typeof FORMATS, Facts, Lists>;
  #rows = freshRows();
  #known: ReturnType<typeof known> | undefined;
  #version = -1;

  constructor() {
    this.store = new Store<typeof FORMATS, Facts, Lists>(FORMATS, (name, first) => {
      const { lags, owed, passes } = this.store.tables;
      if (name === "") this.#rows = freshRows();
      if (name === "lags") index(this.#rows.lags, lags.col.index, first, lags.n);
      if (name === "owed") index(this.#rows.owed, owed.col.checkpoint, first, owed.n);
      if (name === "passes") index(this.#rows.passes, passes.col.checkpoint, first, passes.n);
    });
  }

  /** What is made of all rows and lists, once per message. */
  get #index() {
    if (!this.#known || this.#version !== this.store.updates) this.#known = known(this.store);
    this.#version = this.store.updates;
    return this.#known;
  }

  get facts() {
    return this.store.facts;
  }

  get bar() {
    return this.store.tables.bars.col;
  }

  get check() {
    return this.store.tables.checkpoints.col;
  }

  get moves(): readonly Move[] {
    return this.store.lists.moves ?? [];
  }

  get hasReaders(): boolean {
    return Boolean(this.store.lists.names?.length);
  }

  /** Readers by index; an index without a name is a hole. */
  get readers(): readonly (Reader | undefined)[] {
    return this.#index.readers;
  }

  /** How many characters all names of readers begin with. */
  get common(): number {
    return this.#index.common;
  }

  get waits(): readonly Wait[] {
    return this.#index.waits;
  }

  /** The checkpoints that readers saw, with their numbers from 1, as people count them. */
  get numbers(): ReadonlyMap<number, number> {
    return this.#index.numbers;
  }

  get origin(): number {
    return this.facts.origin_ms ?? 0;
  }

  ms(s: number): number {
    return this.origin + 1000 * s;
  }

  /** Return the bars of a lane. */
  barsOf(lane: number): readonly number[] {
    return this.#index.bars[lane] ?? [];
  }

  lagsOf(reader: number): readonly number[] {
    return this.#rows.lags[reader] ?? [];
  }

  owedOf(checkpoint: number): readonly number[] {
    return this.#rows.owed[checkpoint] ?? [];
  }

  passesOf(checkpoint: number): readonly number[] {
    return this.#rows.passes[checkpoint] ?? [];
  }

  nameOf(reader: number): string {
    return this.readers[reader]?.name ?? "?";
  }

  laneName(lane: number): string {
    return lane === NOBODY ? "nobody" : this.nameOf(lane - 1);
  }

  checkpointName(c: number): string | undefined {
    return this.#index.names.get(c);
  }

  checkpointTitle(c: number): string {
    return `checkpoint ${this.numbers.get(c)}`;
  }

  streamOf(bar: number): string {
    return this.facts.streams?.[this.bar.stream[bar]] ?? "";
  }

  short(bar: number): string {
    return `#${this.bar.number[bar]}`;
  }

  isOpen(bar: number, t: number): boolean {
    return this.bar.start[bar] <= t && this.bar.end[bar] > t;
  }

  moveKey([t, , stream, number]: Move): string {
    return `move ${t} ${stream} ${number}`;
  }

  /** Return a move without its reason: "#4 r1 → r2". */
  moveTitle([, , , number, , from, to]: Move): string {
    return `#${number} ${from ? `${this.laneName(from)} → ` : "→ "}${this.laneName(to)}`;
  }

  moveText(move: Move): string {
    return `${this.moveTitle(move)}: ${move[8]} (${move[9]})`;
  }

  isOfCheckpoint(mark: Mark | Place | null, c: number): boolean {
    return isCheckpoint(mark) && mark.source === this.facts.group && mark.name === this.checkpointName(c);
  }

  isOfBar(mark: Mark | Place | null, bar: number): boolean {
    return isSegment(mark) && mark.stream === this.streamOf(bar) && mark.number === this.bar.number[bar];
  }

  segmentMark(bar: number): SegmentMark & { bar: number } {
    const [stream, number] = [this.streamOf(bar), this.bar.number[bar]];
    const key = `${stream}/#${number} e${this.bar.epoch[bar]}`;
    return { kind: "segment", key, stream, number, bar, time: this.ms(this.bar.start[bar]) };
  }

  readerMark(reader: number, t: number): HolderMark {
    const name = this.nameOf(reader);
    return { kind: "reader", key: `reader ${name}`, reader, name, group: this.facts.group, time: this.ms(t) };
  }

  checkpointMark(c: number): CheckpointMark {
    const name = this.checkpointName(c);
    const time = this.ms(this.check.asked[c]);
    return { kind: "checkpoint", key: `checkpoint ${name}`, name, source: this.facts.group, time };
  }

  moveMark(move: Move): MoveMark {
    return { kind: "move", key: this.moveKey(move), group: this.facts.group, move, time: this.ms(move[0]) };
  }

  /** Return the times (ms) of moves, checkpoints, and comings and goings. */
  events(): number[] {
    const asked = [...this.numbers.keys()].map((c) => this.check.asked[c]);
    const came = (this.store.lists.presence ?? []).map(([t]) => t);
    return [...new Set([...this.moves.map(([t]) => t), ...asked, ...came])].map((t) => this.ms(t));
  }
}

function index(lists: number[][], of: Uint32Array, first: number, n: number): void {
  for (let i = first; i < n; i++) append(lists, of[i], i);
}

function known({ tables, lists, facts }: GroupModel["store"]) {
  const readers = sessions(lists.names ?? [], lists.presence ?? []);
  const bars: number[][] = [];
  const { reader, start, end } = tables.bars.col;
  for (let i = 0; i < tables.bars.n; i++) if (end[i] > start[i]) append(bars, reader[i], i);
  const numbers = new Map<number, number>();
  for (let c = 0; c < tables.checkpoints.n; c++) if (tables.checkpoints.col.state[c]) numbers.set(c, numbers.size + 1);
  return {
    readers,
    bars,
    numbers,
    common: commonStart(readers.filter((r) => r !== undefined).map((r) => r.name)),
    names: new Map(lists.checkpoint_names),
    waits: waitsIn(facts),
  };
}

/** Return the readers with the times in which they were online. */
function sessions(names: Lists["names"], presence: readonly Coming[]): (Reader | undefined)[] {
  const readers: (Reader | undefined)[] = [];
  for (const [i, name] of names) readers[i] = { index: i, name, online: [] };
  for (const [t, reader, what, cause, kind] of presence) {
    const online = readers[reader]?.online;
    if (what === "joined") online?.push({ from: t, to: OPEN, how: "", cause: "", kind: "" });
    else if (online?.length) Object.assign(online.at(-1)!, { to: t, how: what, cause, kind });
  }
  return readers;
}

/** Return the waits; each is a fact of its own, "wait 3", because its end is not known at first. */
function waitsIn(facts: object): Wait[] {
  const sent = Object.entries(facts).filter(([name]) => name.startsWith("wait "));
  return sent.map(([, wait]) => {
    const [stream, number, start, end, words] = wait as SentWait;
    return { stream, number, start, end: end ?? OPEN, words };
  });
}
