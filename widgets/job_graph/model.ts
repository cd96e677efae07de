// A job's subtasks and channels: rows to what was so at a moment. It knows no rule of checkpoints. Times are seconds
// since the view's origin.
import { append, countWhile, lastUntil, Store } from "../page/data/store.ts";

// rows.py has the same formats, states and marks.
export const FORMATS = {
  tasks: { format: "index:u vertex:u subtask:u", keyed: true },
  channels: { format: "index:u producer:u consumer:u number:u", keyed: true },
  states: { format: "task:u at:f state:u attempt:u checkpoint:u" },
  measures: { format: "task:u at:f ins:f outs:f total:f bytes:f hi:u lo:u" },
  contents: { format: "channel:u at:f records:u capacity:u blocked:u first:u n:u" },
  marks: { format: "what:u hi:u lo:u" },
  trays: { format: "task:u at:f open:u pre:u committed:u" },
} as const;
// biome-ignore format: a test reads it as one line
const STATES = ["starting", "restoring", "running", "aligning", "waits for final checkpoint", "finished", "failed", "canceling", "canceled"];
// biome-ignore format: a test reads it as one line
const MARKS = ["records", "watermark", "idle", "barrier", "cancel", "end-of-data", "end-of-partition"];
const FOLD_ABOVE = 8;

export interface Facts {
  source: string;
  simulated: boolean;
}

type SentVertex = [
  index: number,
  life: number,
  short: string,
  parallelism: number,
  operators: string[],
  depth: number,
  name: string,
];
type Said = [task: number, at: number, text: string];

export interface Lists {
  lives: [at: number, life: number][];
  vertices: SentVertex[];
  why: [task: number, at: number, why: string][];
  said: Said[];
  jobs: [at: number, word: string][];
  trays: [open: string[], pre: [checkpoint: number, name: string][]][];
}

export interface Vertex {
  index: number;
  life: number;
  short: string;
  parallelism: number;
  operators: string[];
  depth: number;
  name: string;
}

export interface Tray {
  open: number;
  pre: number;
  committed: number;
  row: number; // in the list of trays' names
}

/** A subtask at a moment; NaN or null where nothing was measured. */
export interface TaskState {
  word: string;
  since: number;
  why: string;
  attempt: number;
  ins: number;
  outs: number;
  total: number;
  bytes: number;
  time: number | null;
  tray: Tray | null;
}

/** What a channel holds: "records" with their number, "barrier" with its id, and so on. */
export interface Held {
  what: string;
  value: number;
}

export interface Contents {
  records: number;
  capacity: number;
  marks: Held[];
  since: number | null; // since when an alignment blocks it
}

const NOTHING: Contents = { records: 0, capacity: 0, marks: [], since: null };
type Followed = "states" | "measures" | "contents" | "trays";
const FOLLOWED: Readonly<Record<Followed, string>> = {
  states: "task",
  measures: "task",
  contents: "channel",
  trays: "task",
};

const fresh = () => ({
  rows: { states: [], measures: [], contents: [], trays: [] } as Record<Followed, number[][]>,
  said: [] as Said[][],
  saidTaken: 0,
});

interface Index {
  version: number;
  vertices: Vertex[];
  why: Map<string, string>;
  said: readonly Said[][];
  ofVertex: number[][];
  into: number[][];
}

export class JobModel {
  readonly store: Store<typeof FORMATS, Facts, Lists>;
  #known = fresh();
  #index: Index = { version: -1, vertices: [], why: new Map(), said: [], ofVertex: [], into: [] };

  constructor() {
    this.store = new Store<typeof FORMATS, Facts, Lists>(FORMATS, (name, first) => this.#learn(name, first));
  }

  #learn(name: string, first: number): void {
    if (name === "") {
      this.#known = fresh();
      this.#index.version = -1;
    }
    if (!(name in FOLLOWED)) return;
    const table = this.store.tables[name as Followed];
    const of = (table.col as unknown as Record<string, Uint32Array>)[FOLLOWED[name as Followed]];
    for (let i = first; i < table.n; i++) append(this.#known.rows[name as Followed], of[i], i);
  }

  /** What the lists say, looked at once per update. */
  get #indexed(): Index {
    if (this.#index.version === this.store.updates) return this.#index;
    const { tables, lists } = this.store;
    const known = this.#known;
    const said = lists.said ?? [];
    for (; known.saidTaken < said.length; known.saidTaken++)
      append(known.said, said[known.saidTaken][0], said[known.saidTaken]);
    const ofVertex: number[][] = [];
    for (let i = 0; i < tables.tasks.n; i++) append(ofVertex, tables.tasks.col.vertex[i], i);
    const into: number[][] = [];
    const { consumer, number } = tables.channels.col;
    for (let i = 0; i < tables.channels.n; i++) append(into, consumer[i], i);
    for (const list of into) list?.sort((p, q) => number[p] - number[q]);
    const why = new Map((lists.why ?? []).map(([task, at, words]) => [`${task} ${Math.fround(at)}`, words]));
    const vertices = (lists.vertices ?? []).map(vertexOf);
    this.#index = { version: this.store.updates, vertices, why, said: known.said, ofVertex, into };
    return this.#index;
  }

  get facts() {
    return this.store.facts;
  }

  get origin(): number {
    return this.facts.origin_ms ?? 0;
  }

  get isEmpty(): boolean {
    return !(this.store.lists.vertices ?? []).length;
  }

  get lives(): readonly [at: number, life: number][] {
    return this.store.lists.lives ?? [];
  }

  ms(s: number): number {
    return this.origin + 1000 * s;
  }

  /** Return the last row of a subtask or channel at a moment, or -1. */
  #lastRow(name: Followed, of: number, t: number): number {
    return lastUntil(this.#known.rows[name][of] ?? [], this.store.tables[name].col.at, t);
  }

  /** Return the vertices of the job as it was deployed at a moment. */
  verticesAt(t: number): Vertex[] {
    const life = this.lives.findLast(([at]) => at <= t)?.[1] ?? -1;
    return this.#indexed.vertices.filter((v) => v.life === life);
  }

  vertexOf(task: number): Vertex {
    return this.#indexed.vertices[this.store.tables.tasks.col.vertex[task]];
  }

  tasksOf(vertex: Vertex): readonly number[] {
    return this.#indexed.ofVertex[vertex.index] ?? [];
  }

  /** Return the channels into a subtask, in order. */
  channelsInto(task: number): readonly number[] {
    return this.#indexed.into[task] ?? [];
  }

  producerOf(channel: number): number {
    return this.store.tables.channels.col.producer[channel];
  }

  subtaskOf(task: number): number {
    return this.store.tables.tasks.col.subtask[task];
  }

  /** Return "count 2/3". */
  labelOf(task: number): string {
    const { short, parallelism } = this.vertexOf(task);
    return `${short} ${this.subtaskOf(task) + 1}/${parallelism}`;
  }

  /** Return the name by which calls know a subtask. */
  idOf(task: number): string {
    return `${this.vertexOf(task).name}[${this.subtaskOf(task)}]`;
  }

  /** Return the name by which calls know a channel. */
  laneOf(channel: number): string {
    const { producer, consumer, number } = this.store.tables.channels.col;
    return `${this.idOf(producer[channel])}>${this.idOf(consumer[channel])}:${number[channel]}`;
  }

  hasTrays(tasks: readonly number[]): boolean {
    return tasks.some((task) => this.#known.rows.trays[task]);
  }

  /** Return the names of open and pre-committed transactions. */
  trayNames(row: number): Lists["trays"][number] {
    return this.store.lists.trays?.[row] ?? [[], []];
  }

  /** Return a subtask at a moment. What an earlier attempt measured is not this one's, except its stored state. */
  taskAt(task: number, t: number): TaskState {
    const { states, measures, trays } = this.store.tables;
    const s = this.#lastRow("states", task, t);
    const m = this.#lastRow("measures", task, t);
    const tray = this.#lastRow("trays", task, t);
    const attempt = s < 0 ? 0 : states.col.attempt[s];
    const begun = s < 0 ? 0 : this.#attemptBegan(task, s);
    const isOld = m < 0 || measures.col.at[m] < begun;
    const get = (name: "ins" | "outs" | "total") => (isOld ? Number.NaN : measures.col[name][m]);
    return {
      word: s < 0 ? "starting" : STATES[states.col.state[s]],
      since: s < 0 ? 0 : states.col.at[s],
      why: s < 0 ? "" : (this.#indexed.why.get(`${task} ${states.col.at[s]}`) ?? ""),
      attempt,
      ins: get("ins"),
      outs: get("outs"),
      total: get("total"),
      bytes: m < 0 ? Number.NaN : measures.col.bytes[m],
      time: isOld ? null : whole(measures.col.hi[m], measures.col.lo[m]),
      tray: tray < 0 || trays.col.at[tray] < begun ? null : this.#tray(tray),
    };
  }

  #tray(row: number): Tray {
    const { open, pre, committed } = this.store.tables.trays.col;
    return { open: open[row], pre: pre[row], committed: committed[row], row };
  }

  /** Return when the attempt of a row of states began. */
  #attemptBegan(task: number, row: number): number {
    const { at, attempt } = this.store.tables.states.col;
    return at[firstOfStretch(this.#known.rows.states[task], row, (k) => attempt[k] === attempt[row])];
  }

  contentsAt(channel: number, t: number): Contents {
    const i = this.#lastRow("contents", channel, t);
    if (i < 0) return NOTHING;
    const { at, records, capacity, blocked, first, n } = this.store.tables.contents.col;
    const { what, hi, lo } = this.store.tables.marks.col;
    const marks: Held[] = [];
    for (let k = first[i]; k < first[i] + n[i]; k++) marks.push({ what: MARKS[what[k]], value: whole(hi[k], lo[k]) });
    const begin = (row: number) => firstOfStretch(this.#known.rows.contents[channel], row, (k) => Boolean(blocked[k]));
    const since = blocked[i] ? at[begin(i)] : null;
    return { records: records[i], capacity: capacity[i], marks, since };
  }

  /** Return the sentences about a subtask until a moment. */
  saidOf(task: number, t: number): Said[] {
    return (this.#indexed.said[task] ?? []).filter(([, at]) => at <= t);
  }

  /** Return the newest sentence of a moment. */
  sentenceAt(t: number): string {
    const all = this.store.lists.said ?? [];
    return all[countWhile(all.length, (i) => all[i][1] <= t) - 1]?.[2] ?? "";
  }

  jobAt(t: number): string {
    return (this.store.lists.jobs ?? []).findLast(([at]) => at <= t)?.[1] ?? "created";
  }

  /** Return the times (ms) at which the state of the job or of a subtask changed. */
  events(): number[] {
    const { n, col } = this.store.tables.states;
    const jobs = (this.store.lists.jobs ?? []).map(([at]) => this.ms(at));
    return [...jobs, ...Array.from(col.at.slice(0, n), (s) => this.ms(s))];
  }
}

const vertexOf = ([index, life, short, parallelism, operators, depth, name]: SentVertex): Vertex => ({
  index,
  life,
  short,
  parallelism,
  operators,
  depth,
  name,
});

/** Return the first of the rows before this one that are all `same`. */
function firstOfStretch(rows: readonly number[], row: number, same: (row: number) => boolean): number {
  let k = rows.indexOf(row);
  while (k > 0 && same(rows[k - 1])) k -= 1;
  return rows[k];
}

/** Join the halves of a 64-bit number. */
const whole = (hi: number, lo: number): number => (hi | 0) * 2 ** 32 + lo;

export const isFolded = (vertex: Vertex): boolean => vertex.parallelism > FOLD_ABOVE;

export const sum = (list: readonly number[]): number => list.reduce((n, v) => n + (Number.isNaN(v) ? 0 : v), 0);

/** Return what several channels hold together: each barrier once, and the number of records. */
export function summed(held: readonly Contents[]): Held[] {
  const all = held.flatMap((c) => c.marks);
  const records = sum(all.filter((m) => m.what === "records").map((m) => m.value));
  const barriers = [...new Set(all.filter((m) => m.what === "barrier").map((m) => m.value))];
  const out = barriers.map((value): Held => ({ what: "barrier", value }));
  return records ? [...out, { what: "records", value: records }] : out;
}
