// What the map says of a mark: in the tooltip, aloud, in the legend.

import type { Mark, SegmentMark } from "../page/data/marks.ts";
import { PALETTE } from "../page/drawing/colours.ts";
import { bytes, seconds, wallTime } from "../page/drawing/format.ts";
import type { Theme } from "../page/drawing/theme.ts";
import { lineBreak, type Piece, pairs, pieces, soft, strong } from "../page/elements.ts";
import type { LegendEntry } from "../page/spec.ts";
import type { Scale, SegmentModel } from "./model.ts";
import { colouring, hottest, type State } from "./state.ts";

/** A split or merge; `scale` is its number in the list of scales. */
export interface ScaleMark extends Mark {
  kind: "scale";
  scale: number;
  stream: string;
}

export type MapMark = SegmentMark | ScaleMark;

const isScale = (mark: Mark): mark is ScaleMark => mark.kind === "scale";

export function tip(model: SegmentModel, state: State, mark: Mark): Piece[] | null {
  if ((mark as MapMark).stream !== model.facts.stream) return null;
  if (isScale(mark)) return scaleTip(model.scales[mark.scale], mark.time);
  const i = model.indexOf(mark);
  return i < 0 || i >= model.n ? null : segmentTip(model, i, state.t ?? 0);
}

const reason = ([, , kind, rule]: Scale): Piece => soft(rule ? `${kind}: ${rule}` : kind);

function scaleTip(scale: Scale | undefined, time: number): Piece[] | null {
  if (!scale) return null;
  const when = `${seconds(1000 * scale[0])} ${wallTime(time)}`;
  return [strong(scale[1]), lineBreak, when, lineBreak, reason(scale)];
}

function segmentTip(model: SegmentModel, i: number, t: number): Piece[] {
  const { start, end, low, high } = model.seg;
  const open = model.isOpen(i, t);
  const sample = model.sampleAt(i, t);
  const { unread, stored } = model.rates;
  const when = (s: number) => `${seconds(1000 * s)} ${wallTime(model.ms(s))}`;
  const names = (list: readonly number[]) => list.map((k) => model.label(k)).join(", ") || "none";
  const how = open ? model.facts.events_how : "";
  const rows: [string, Piece | Piece[]][] = [
    ["owns", `(${low[i].toPrecision(6)}, ${high[i].toPrecision(6)}]${low[i] === 0 ? " and 0" : ""}`],
    ["opened", `${model.isInexact(i) ? "about " : ""}${when(start[i])}`],
    ["sealed", open ? "no, it is active" : when(end[i])],
    ["after", names(model.before(i))],
    ["before", names(model.after(i, t))],
  ];
  if (sample >= 0 && open) rows.push(["rate", `${model.rateText(model.rateColumn[sample])}${how ? "*" : ""}`]);
  if (sample >= 0) rows.push(["stored", model.tierWords(i, stored[sample]) || bytes(stored[sample])]);
  if (sample >= 0 && !Number.isNaN(unread[sample])) rows.push(["unread", bytes(unread[sample])]);
  if (model.isTruncated(i)) rows.push(["truncated", `until about ${when(model.names.truncated[i])}`]);
  const owner = open ? model.ownerWords(i, t) : "";
  if (owner) rows.push(["owner", owner]);
  const cause = model.scaleOf(i);
  if (cause) {
    const [, text, kind, rule] = cause;
    rows.push(["cause", [`${text} `, soft(`(${rule ? `${kind}: ${rule}` : kind})`)]]);
  }
  return pieces(strong(`${model.facts.stream} ${model.label(i)}`), pairs(rows), how && soft(`* ${how}`));
}

export function say(model: SegmentModel, state: State, mark: Mark): string {
  if (isScale(mark)) return `${seconds(mark.time - model.origin)}: ${model.scales[mark.scale][1]}`;
  const i = model.indexOf(mark);
  if (i < 0) return "";
  const t = state.t ?? 0;
  const open = model.isOpen(i, t);
  const sample = model.sampleAt(i, t);
  const parts = [
    `segment ${model.label(i)}`,
    `keys ${model.seg.low[i].toPrecision(4)} to ${model.seg.high[i].toPrecision(4)}`,
    open ? "active" : "sealed",
    model.isTruncated(i) ? "truncated in part or as a whole" : "",
    sample >= 0 && open ? model.rateText(model.rateColumn[sample]) : "",
    sample >= 0 ? model.tierWords(i, model.rates.stored[sample]) : "",
    open ? model.ownerWords(i, t) : "",
  ];
  return parts.filter(Boolean).join(", ");
}

export function legend(model: SegmentModel, state: State, theme: Theme): LegendEntry[] {
  const way = colouring(model, state);
  if (way === "owner") return ownerLegend(model, theme);
  const ramp = `linear-gradient(90deg, ${theme.cold}, ${theme.hot})`;
  const most = hottest(model, state);
  const states: LegendEntry[] = [
    [theme.none, "not known", ""],
    [theme.cold, "active: open at the right", ""],
    [theme.cold, "sealed: paler, closed", "pale"],
    ...truncated(model, theme),
  ];
  if (way === "unread") return [[ramp, `0 to ${bytes(model.unreadPeak)} unread`, "ramp"], ...states];
  const words = model.target ? `2 × target (${model.rateText(most)})` : model.rateText(most);
  return [[ramp, `0 to ${words}`, "ramp"], ...states];
}

/** Explain the hatching of what can no longer be read, and the edge below what is in tier 2, where there is any. */
function truncated(model: SegmentModel, theme: Theme): LegendEntry[] {
  const tiered: LegendEntry[] = model.knows("tiers") ? [[theme.text, "in tier 2: edge below", "base"]] : [];
  for (let i = 0; i < model.n; i++) if (model.isTruncated(i)) return [...tiered, [theme.text, "truncated", "hatch"]];
  return tiered;
}

function ownerLegend(model: SegmentModel, theme: Theme): LegendEntry[] {
  const readers = (model.facts.readers ?? []).map(
    (name, k): LegendEntry => [PALETTE[k % PALETTE.length], name, k >= PALETTE.length ? "stripe" : ""],
  );
  const waiting: LegendEntry[] = model.facts.has_group
    ? [[theme.text, "waits for predecessors or a checkpoint", "dots"]]
    : [];
  const sealed: LegendEntry = [theme.none, "sealed: paler, closed", "pale"];
  return [[theme.soft, "nobody", "hatch"], ...waiting, sealed, ...truncated(model, theme), ...readers];
}
