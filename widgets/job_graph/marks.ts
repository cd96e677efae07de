// What can be hovered and pinned in the graph.
import type { Mark } from "../page/data/marks.ts";
import type { PlacedMark, Slot, TaskBox } from "./layout.ts";
import type { JobModel } from "./model.ts";

/** A subtask, or a folded vertex. */
export interface BoxMark extends Mark {
  kind: "task" | "vertex";
  name: string;
  id: string;
  group: string | undefined;
}

interface ChannelMark extends Mark {
  kind: "channel";
  lane: string;
}

/** Something that a channel holds. */
interface HeldMark extends Mark {
  kind: "mark";
  lane: string;
  what: string;
  value: number;
}

export const isHeld = (mark: Mark): mark is HeldMark => mark.kind === "mark";
export const isChannel = (mark: Mark): mark is ChannelMark => mark.kind === "channel";
/** Return whether a mark is a subtask of a job's graph; other views' marks of the same kind may have no id. */
export const isTask = (mark: Mark): mark is BoxMark => mark.kind === "task" && Boolean((mark as BoxMark).id);

export function keyOf(model: JobModel, { tasks, vertex }: TaskBox): string {
  return tasks.length > 1 ? `vertex ${vertex.name}` : `task ${model.labelOf(tasks[0])}`;
}

export function boxMark(model: JobModel, box: TaskBox, time: number): BoxMark {
  const [task] = box.tasks;
  const key = keyOf(model, box);
  const group = model.facts.source;
  if (box.tasks.length > 1) return { kind: "vertex", key, name: box.vertex.short, id: box.vertex.name, group, time };
  return { kind: "task", key, name: model.labelOf(task), id: model.idOf(task), group, time };
}

export const slotMark = ({ lane }: Slot, time: number): ChannelMark => ({
  kind: "channel",
  key: `channel ${lane}`,
  lane,
  time,
});

export const heldMark = ({ key, lane, what, value }: PlacedMark, time: number): HeldMark => ({
  kind: "mark",
  key,
  lane,
  what,
  value,
  time,
});
