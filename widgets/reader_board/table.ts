// What each reader does, how much it holds, what it has not read: for the gutter, and for the table of a narrow view.
import { readerColour } from "../page/drawing/colours.ts";
import { bytes } from "../page/drawing/format.ts";
import { columns, type Piece, piece, swatch } from "../page/elements.ts";
import { type GroupModel, NOBODY } from "./model.ts";
import { fairShare, freeAt, heldAt, isGone, lagAt, stateWord } from "./moment.ts";
import type { Plan } from "./plan.ts";

export const COLUMNS = ["reader", "state", "held/fair", "unread"] as const;

/** A line of the table; `age` is how old the oldest unread byte is. */
export interface Line {
  name: string;
  state: string;
  held: string;
  unread: string;
  age: string;
}

/** Return the line of a lane, or null before its reader joined. */
export function lineOf(model: GroupModel, lane: number, t: number, isNewest: boolean): Line | null {
  if (lane === NOBODY) return nobody(model, t);
  const reader = model.readers[lane - 1];
  const state = reader ? stateWord(model, reader, t) : "";
  if (!reader || !state) return null;
  if (isGone(state)) return { name: reader.name, state, held: "", unread: "", age: "" };
  const held = `${heldAt(model, reader.index, t).length}/${Number(fairShare(model, t).toFixed(1))}`;
  const [unread, since] = lagAt(model, reader.index, t, isNewest);
  const age = unread > 0 && since <= t ? ` ${(t - since).toFixed(t - since < 10 ? 1 : 0)} s` : "";
  return { name: reader.name, state, held, unread: bytes(unread), age };
}

function nobody(model: GroupModel, t: number): Line {
  const free = freeAt(model, t).length;
  const waiting = model.waits.filter((w) => w.start <= t && w.end > t).length;
  const words = [free && `${free} free`, waiting && `${waiting} waiting`].filter(Boolean);
  return { name: "nobody", state: words.join(", ") || "all held", held: "", unread: "", age: "" };
}

/** Describe the table below the picture. Readers have their number where names may not fit into their lanes. */
export function table(model: GroupModel, plan: Plan, t: number, isNewest: boolean): Piece[] {
  const rows = plan.lanes.flatMap(({ reader }) => {
    const line = lineOf(model, reader, t, isNewest);
    if (!line) return [];
    const { name, state, held, unread, age } = line;
    const mark = reader === NOBODY ? [] : [swatch(readerColour(reader - 1)), `${reader}. `];
    return [[piece("span", {}, ...mark, name), state, held, `${unread}${age}`]];
  });
  return [columns(COLUMNS, rows)];
}
