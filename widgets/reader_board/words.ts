// What the board says of a mark: in the tooltip, aloud, in the legend.

import { type CheckpointMark, isReader, isSegment, type Mark, type SegmentMark } from "../page/data/marks.ts";
import { VERMILION } from "../page/drawing/colours.ts";
import { bytes, count, seconds, wallTime } from "../page/drawing/format.ts";
import type { Theme } from "../page/drawing/theme.ts";
import { lineBreak, type Piece, pairs, pieces, soft, strong } from "../page/elements.ts";
import type { LegendEntry } from "../page/spec.ts";
import type { GroupModel, HolderMark, MoveMark } from "./model.ts";
import * as moment from "./moment.ts";
import type { Plan } from "./plan.ts";

const BARS_MAX = 6; // in the tooltip of a segment
const PASSES_MAX = 4; // in the tooltip of a checkpoint

type Row = [name: string, value: Piece | Piece[]];

const isMove = (mark: Mark): mark is MoveMark => mark.kind === "move";
const isAsked = (mark: Mark): mark is CheckpointMark => mark.kind === "checkpoint";

const when = (model: GroupModel, s: number): string => `${seconds(1000 * s)} ${wallTime(model.ms(s))}`;

export function tip(model: GroupModel, t: number, mark: Mark): Piece[] | null {
  const { group } = model.facts;
  if (isSegment(mark)) return segmentTip(model, t, mark);
  if (isAsked(mark) && mark.source === group) return checkpointTip(model, t, mark);
  if ((mark as HolderMark | MoveMark).group !== group) return null;
  if (isReader(mark)) return readerTip(model, t, (mark as HolderMark).reader);
  return isMove(mark) ? moveTip(model, mark) : null;
}

function readerTip(model: GroupModel, t: number, i: number): Piece[] | null {
  const reader = model.readers[i];
  const session = reader && moment.session(reader, t);
  if (!reader || !session) return null;
  const word = moment.stateWord(model, reader, t);
  const rows: Row[] = [["online since", when(model, session.from)]];
  if (session.to <= t)
    rows.push([word, when(model, session.to)], ["why", [`${session.cause} `, soft(`(${session.kind})`)]]);
  else rows.push(...onlineRows(model, t, i));
  return [strong(reader.name), ` ${word} `, soft(`(${i + 1}. to join)`), pairs(rows)];
}

function onlineRows(model: GroupModel, t: number, i: number): Row[] {
  const held = moment.heldAt(model, i, t).map((bar) => model.short(bar));
  const [unread, since] = moment.lagAt(model, i, t, false);
  const oldest = unread > 0 ? `, the oldest ${seconds(1000 * (t - since))} old` : "";
  const rows: Row[] = [
    ["holds", held.join(" ") || "nothing"],
    ["fair share", moment.fairShare(model, t).toFixed(1)],
    ["unread", `${bytes(unread)}${oldest}`],
  ];
  const owed = moment
    .owes(model, i, t)
    .map((c) => `${model.checkpointTitle(c)}, for ${seconds(1000 * (t - model.check.asked[c]))}`);
  if (owed.length) rows.push(["has to pass", owed.flatMap((text, k) => (k ? [lineBreak, text] : [text]))]);
  return rows;
}

function segmentTip(model: GroupModel, t: number, mark: SegmentMark): Piece[] | null {
  const { reader, start, end } = model.bar;
  const mine: number[] = [];
  for (let bar = 0; bar < model.store.tables.bars.n; bar++)
    if (model.isOfBar(mark, bar) && start[bar] <= t) mine.push(bar);
  if (!mine.length) return null;
  const rows = mine.slice(-BARS_MAX).map((bar): Row => {
    const spent = model.isOpen(bar, t) ? "until now" : `for ${seconds(1000 * (end[bar] - start[bar]))}`;
    return [model.laneName(reader[bar]), `${when(model, start[bar])}, ${spent}`];
  });
  const streams = model.facts.streams ?? [];
  const last = model.moves.findLast(
    ([at, , stream, number]) => at <= t && number === mark.number && streams[stream] === mark.stream,
  );
  const why = last ? [`${model.moveText(last).replace(/ \([^)]*\)$/, "")} `, soft(`(${last[9]})`)] : [];
  return [strong(`${mark.stream} #${mark.number}`), pairs(rows), ...why];
}

function checkpointTip(model: GroupModel, t: number, mark: CheckpointMark): Piece[] | null {
  const c = [...model.numbers.keys()].find((k) => model.isOfCheckpoint(mark, k));
  const { asked, ended, of } = model.check;
  if (c === undefined || asked[c] > t) return null;
  const word = moment.checkpointState(model, c, t);
  const rows: Row[] = [
    ["asked", when(model, asked[c])],
    ["passed", `${moment.passedBy(model, c, t)} of ${of[c]}`],
  ];
  if (word !== "running") rows.push([word, `after ${seconds(1000 * (ended[c] - asked[c]))}`]);
  const { reader, t: at, leaving } = model.store.tables.passes.col;
  const late = model
    .passesOf(c)
    .filter((k) => at[k] <= t)
    .sort((p, q) => at[q] - at[p]);
  for (const k of late.slice(0, PASSES_MAX)) {
    const took = `${count(Math.round(1000 * (at[k] - asked[c])))} ms`;
    rows.push([model.nameOf(reader[k]), `${took}${leaving[k] ? ", by leaving" : ""}`]);
  }
  return [strong(model.checkpointTitle(c)), ` ${word}`, lineBreak, soft(mark.name ?? ""), pairs(rows)];
}

function moveTip(model: GroupModel, { move }: MoveMark): Piece[] {
  const [t, left, , , , , , kind, reason, reasonKind, before] = move;
  const rows: Row[] = [
    ["when", when(model, t)],
    ["nobody had it", `${count(Math.round(1000 * (t - left)))} ms`],
    ["why it was free", kind],
  ];
  if (before.length) rows.push(["after", before.map((i) => `#${i}`).join(" ")]);
  return pieces(strong(model.moveTitle(move)), pairs(rows), `${reason} `, soft(`(${reasonKind})`));
}

export function say(model: GroupModel, t: number, mark: Mark): string {
  if (isMove(mark)) return model.moveText(mark.move);
  if (isAsked(mark)) return `checkpoint ${mark.name}`;
  if (isSegment(mark)) return `segment ${mark.key}`;
  const i = (mark as HolderMark).reader;
  const reader = model.readers[i];
  const word = reader ? moment.stateWord(model, reader, t) : "";
  if (!reader || !word) return "";
  const held = moment.heldAt(model, i, t).map((bar) => model.short(bar));
  const [unread] = moment.lagAt(model, i, t, false);
  const holds = `holds ${held.join(", ") || "nothing"}, unread ${bytes(unread)}`;
  return `reader ${reader.name}, ${word}, ${moment.isGone(word) ? moment.session(reader, t)?.cause : holds}`;
}

export function legend(model: GroupModel, theme: Theme): LegendEntry[] {
  const killed = model.readers.some((r) => r?.online.some((s) => s.how === "killed"));
  const entries: LegendEntry[] = [
    [theme.text, "held by the reader of the lane", "ring"],
    [theme.soft, "nobody has it", "hatch"],
  ];
  if (model.waits.length) entries.push([theme.text, "waits for predecessors or a checkpoint", "dots"]);
  if (model.store.tables.checkpoints.n)
    entries.push([theme.text, "checkpoint asked", "rule"], [theme.text, "reader passed it", "dot"]);
  if (model.moves.length) entries.push([theme.text, "a segment moved", "line"]);
  if (killed) entries.push([VERMILION, "killed", ""]);
  return entries;
}

/** Return what the board does not show: readers without a lane, and what Python left out. */
export function leftOut(model: GroupModel, plan: Plan | null): string {
  const { shown, all } = plan ?? { shown: 0, all: 0 };
  const hidden = shown < all ? `the busiest ${shown} of ${count(all)} readers drawn, +${count(all - shown)}` : "";
  return [hidden, model.facts.left_out].filter(Boolean).join("; ");
}
