// What the graph says of a mark: in the tooltip, aloud, in the legend.

import type { Mark } from "../page/data/marks.ts";
import { mix } from "../page/drawing/colours.ts";
import { count, seconds, wallTime } from "../page/drawing/format.ts";
import type { Theme } from "../page/drawing/theme.ts";
import { lineBreak, type Piece, pairs, piece, pieces, soft, strong } from "../page/elements.ts";
import type { LegendEntry } from "../page/spec.ts";
import { blockedSince, heldIn, type TaskBox } from "./layout.ts";
import { type BoxMark, isChannel, isHeld, keyOf } from "./marks.ts";
import type { JobModel, Tray } from "./model.ts";
import { blue } from "./shapes.ts";
import type { State } from "./state.ts";
import { checkpointWords, countedWords, markWords } from "./words.ts";

const SAID_MAX = 20;
const SAID_FEW = 3;
const TASKS_MAX = 12;
const TRAYS_MAX = 4;
const NAME_MAX = 40;
const WHY_MAX = 160;

/** Describe a call that acts on the job, or say why there is none. */
function act(model: JobModel, state: State, call: string): Piece {
  const { control, no_control } = model.facts;
  if (!control) return soft(no_control ?? "");
  return piece("code", {}, state.isPast ? `fork = ${control}.fork(); fork.${call}` : `${control}.${call}`);
}

const boxOf = (model: JobModel, state: State, mark: Mark): TaskBox | undefined =>
  state.boxes.find((one) => keyOf(model, one) === mark.key);

export function tip(model: JobModel, state: State, mark: Mark): Piece[] | null {
  if (isHeld(mark)) {
    const call = `drop(${JSON.stringify(mark.lane)}, ${JSON.stringify(mark.what)})`;
    const words = strong(markWords(mark.what, mark.value));
    return [words, lineBreak, soft(mark.lane), lineBreak, act(model, state, call)];
  }
  if (isChannel(mark)) return channelTip(model, state, mark.lane);
  const box = boxOf(model, state, mark);
  if (!box) return null;
  return box.tasks.length > 1 ? vertexTip(model, state, box) : taskTip(model, state, box.tasks[0], mark);
}

function channelTip(model: JobModel, state: State, lane: string): Piece[] | null {
  const slot = state.slots.find((one) => one.lane === lane);
  if (!slot) return null;
  const holds = heldIn(slot).map((m) => markWords(m.what, m.value));
  const rows = [
    ["holds", holds.join(", ") || "nothing"],
    ["room", `${count(slot.records)} of ${count(slot.capacity)} records taken`],
  ] as const;
  const name = slot.folded ? `${slot.channels.length} channels` : lane;
  const call = slot.folded ? null : act(model, state, `delay(${JSON.stringify(lane)}, 50)`);
  return pieces(strong(name), pairs(rows), call);
}

function vertexTip(model: JobModel, state: State, { tasks, vertex }: TaskBox): Piece[] {
  const rows = tasks
    .slice(0, TASKS_MAX)
    .map((task) => [model.labelOf(task), model.taskAt(task, state.t).word] as const);
  const more = tasks.length > TASKS_MAX ? [[`+${tasks.length - TASKS_MAX}`, ""] as const] : [];
  return [strong(vertex.name), pairs([...rows, ...more])];
}

function taskTip(model: JobModel, state: State, task: number, mark: Mark): Piece[] {
  const one = model.taskAt(task, state.t);
  const label = model.labelOf(task);
  const rows: [string, Piece | Piece[]][] = [
    ["operators", model.vertexOf(task).operators.join(" → ")],
    [one.word, `since ${seconds(1000 * one.since)} ${wallTime(model.ms(one.since))}`],
  ];
  if (one.why) rows.push(["why", one.why.split("\n")[0].slice(0, WHY_MAX)]);
  if (one.attempt) rows.push(["attempt", String(one.attempt + 1)]);
  if (!Number.isNaN(one.total)) rows.push(["records out", count(one.total)]);
  if (one.tray) rows.push(...trayRows(model, one.tray));
  const isPinned = mark.kind === "task" && mark.key === state.pinned;
  const said = model.saidOf(task, state.t).slice(isPinned ? -SAID_MAX : -SAID_FEW);
  const lines = said.map(([, at, text]) => {
    const shorter = text.replaceAll(` ${label}`, "").replace(`${label} `, "");
    return piece("tr", {}, piece("td", { class: "n soft" }, `${at.toFixed(3)} s`), piece("td", {}, shorter));
  });
  const list = lines.length > 0 && piece("table", { class: "plab-said" }, ...lines);
  return pieces(strong(label), pairs(rows), list, act(model, state, `fail(${JSON.stringify(model.idOf(task))})`));
}

function trayRows(model: JobModel, tray: Tray): [string, Piece | Piece[]][] {
  const [open, pre] = model.trayNames(tray.row);
  const shorter = (name: unknown) => String(name).slice(0, NAME_MAX);
  const names = pre
    .slice(0, TRAYS_MAX)
    .flatMap(([n, name], k): Piece[] => [...(k ? [lineBreak] : []), `${checkpointWords(n)}: ${shorter(name)}`]);
  return [
    ["open", open.length ? shorter(open[0]) : "none"],
    ["pre-committed", names.length ? names : "none"],
    ["committed", count(tray.committed)],
  ];
}

export function say(model: JobModel, state: State, mark: Mark): string {
  if (isHeld(mark)) return `${markWords(mark.what, mark.value)} on ${mark.lane}`;
  if (isChannel(mark)) return `channel ${mark.lane}`;
  const box = boxOf(model, state, mark);
  if (!box) return "";
  if (box.tasks.length > 1) return `${box.vertex.short}, ${box.tasks.length} subtasks`;
  return `${(mark as BoxMark).name}, ${model.taskAt(box.tasks[0], state.t).word}`;
}

export function legend(state: State, theme: Theme): LegendEntry[] {
  const entries: LegendEntry[] = [
    [theme.soft, "records, their number", "rule"],
    [blue(theme), "barrier, its id", "rule"],
    [theme.text, "◇ watermark ■ end of data ▮ end of partition", "line"],
    [mix(theme.cold, theme.hot, 0.3), "how full a channel is", ""],
  ];
  const isAligning = state.slots.some((slot) => blockedSince(slot) !== null);
  return isAligning ? [...entries, [theme.text, "padlock: an alignment holds it", "line"]] : entries;
}

export function leftOut({ facts }: JobModel): string {
  const sampled = facts.simulated || !facts.source ? "" : "channels are sampled";
  return [sampled, facts.left_out].filter(Boolean).join("; ");
}

export function summary(model: JobModel, state: State): string {
  const told = state.boxes.flatMap((box) => box.tasks).map((task) => model.taskAt(task, state.t));
  const name = model.facts.source || "not begun";
  const sentence = state.sentence ? `; ${state.sentence}` : "";
  return `job ${name} is ${model.jobAt(state.t)}: ${countedWords(told) || "no subtask"}${sentence}`;
}
