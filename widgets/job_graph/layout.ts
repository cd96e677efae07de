// Where things are: a column per chain, a box per subtask, before each box its channels, the head at the right.
import { type Contents, type Held, isFolded, type JobModel, summed, type Vertex } from "./model.ts";
import { markText, shapeWidth } from "./words.ts";

// In CSS pixels.
export const SIZE = {
  edge: 8,
  top: 6,
  head: 20,
  box: 52,
  trays: 20,
  slot: 15,
  space: 8,
  foot: 24,
  boxMax: 220,
  gapMax: 220,
};
const WIDTH_FOR_HEIGHT = 1000; // the height does not depend on the width
const HEIGHT_LEAST = 150;

export interface Area {
  x: number;
  y: number;
  w: number;
  h: number;
}

/** A subtask, or all subtasks of a folded vertex. */
export interface TaskBox extends Area {
  tasks: readonly number[];
  vertex: Vertex;
  headY: number;
  slots: number[][]; // channels before the box
}

export interface Layout {
  boxes: TaskBox[];
  slotWidth: number;
  bottom: number;
}

/** One channel, or several that are drawn as one, with what they hold. */
export interface Slot extends Area {
  channels: number[];
  lane: string;
  records: number;
  capacity: number;
  held: Contents[];
  folded: boolean;
}

/** A mark in a channel; `x` is its left end. */
export interface PlacedMark extends Area {
  key: string;
  lane: string;
  what: string;
  value: number;
  text: string;
}

/** Group the channels before a box: one each, or one per producing vertex where either side is folded. */
function slotsOf(model: JobModel, tasks: readonly number[]): number[][] {
  const groups = new Map<string | number, number[]>();
  for (const task of tasks)
    for (const c of model.channelsInto(task)) {
      const from = model.vertexOf(model.producerOf(c));
      const key = tasks.length > 1 || isFolded(from) ? `v${from.index}` : c;
      const group = groups.get(key);
      if (group) group.push(c);
      else groups.set(key, [c]);
    }
  return [...groups.values()];
}

export function layout(model: JobModel, width: number, s: number, t: number): Layout {
  const vertices = model.verticesAt(t);
  const columns = Math.max(0, ...vertices.map((v) => v.depth)) + 1;
  const room = width - 2 * SIZE.edge * s;
  let gap = columns > 1 ? Math.min(SIZE.gapMax * s, (0.46 * room) / columns) : 0;
  const w = Math.min(SIZE.boxMax * s, (room - gap * (columns - 1)) / columns);
  if (columns > 1) gap = Math.min(SIZE.gapMax * 1.4 * s, (room - w * columns) / (columns - 1));
  const bottoms = new Array<number>(columns).fill(SIZE.top * s);
  const boxes: TaskBox[] = [];
  for (const vertex of vertices) {
    const x = SIZE.edge * s + vertex.depth * (w + gap);
    let y = bottoms[vertex.depth] + SIZE.head * s;
    const headY = y - 8 * s;
    const tasks = model.tasksOf(vertex);
    for (const mine of isFolded(vertex) ? [tasks] : tasks.map((task) => [task])) {
      const slots = slotsOf(model, mine);
      const least = (SIZE.box + (model.hasTrays(mine) ? SIZE.trays : 0)) * s;
      const h = Math.max(least, (SIZE.slot * slots.length + 4) * s);
      boxes.push({ tasks: mine, vertex, x, y, w, h, slots, headY });
      y += h + SIZE.space * s;
    }
    bottoms[vertex.depth] = y + SIZE.space * s;
  }
  return { boxes, slotWidth: 0.62 * gap, bottom: Math.max(...bottoms) };
}

/** Return the height that every deployment of the job has room in. */
export function heightOf(model: JobModel, s: number): number {
  const lives = model.lives.map(([at]) => layout(model, WIDTH_FOR_HEIGHT, s, at).bottom);
  return Math.max(HEIGHT_LEAST * s, ...lives) + SIZE.foot * s;
}

/** Place the channels before a box, with what they held at a moment. */
export function slotsBefore(model: JobModel, box: TaskBox, width: number, s: number, t: number): Slot[] {
  const h = SIZE.slot * s;
  return box.slots.map((channels, k) => {
    const y = box.y + box.h / 2 + (k - box.slots.length / 2) * h;
    const held = channels.map((c) => model.contentsAt(c, t));
    return {
      channels,
      lane: model.laneOf(channels[0]),
      x: box.x - 6 * s - width,
      y: y + 1,
      w: width,
      h: h - 2,
      records: held.reduce((n, c) => n + c.records, 0),
      capacity: held.reduce((n, c) => n + c.capacity, 0),
      held,
      folded: channels.length > 1,
    };
  });
}

/** Return since when an alignment blocks a slot, or null. */
export function blockedSince({ held }: Slot): number | null {
  const times = held.map((c) => c.since).filter((since) => since !== null);
  return times.length ? Math.min(...times) : null;
}

export const heldIn = (slot: Slot): Held[] => (slot.folded ? summed(slot.held) : slot.held[0].marks);

interface PlacedMarks {
  marks: PlacedMark[];
  more: number; // that have no room
  end: number; // the x up to which marks go
}

/** Place marks from the head at `right` to the left, as many as have room. */
export function placeMarks(slot: Slot, right: number, s: number, widthOf: (text: string) => number): PlacedMarks {
  const all = heldIn(slot);
  const out: PlacedMark[] = [];
  let x = right;
  for (const [k, { what, value }] of all.entries()) {
    const text = markText(what, value);
    const w = widthOf(text) + shapeWidth(what) * s + 5 * s;
    if (x - w < slot.x + (k + 1 < all.length ? 16 * s : 1)) return { marks: out, more: all.length - k, end: x };
    const key = `mark ${slot.lane} ${k} ${what} ${value}`;
    out.push({ key, lane: slot.lane, what, value, text, x: x - w, y: slot.y, w, h: slot.h });
    x -= w;
  }
  return { marks: out, more: 0, end: x };
}

export const isInside = (r: Area, x: number, y: number): boolean =>
  x >= r.x && x < r.x + r.w && y >= r.y && y < r.y + r.h;
