// What the ledger says of a fault, and its legend.

import type { Mark } from "../page/data/marks.ts";
import { VERMILION } from "../page/drawing/colours.ts";
import type { Theme } from "../page/drawing/theme.ts";
import { lineBreak, type Piece, strong } from "../page/elements.ts";
import type { LegendEntry } from "../page/spec.ts";
import { LINES } from "./layout.ts";
import type { FaultMark, LedgerModel, Verdict } from "./model.ts";
import type { State } from "./state.ts";
import { moment } from "./tables.ts";

const SIGNS: Readonly<Record<Verdict, string>> = { exact: "✓", wrong: "✗", open: "?" };

export function verdictText(model: LedgerModel, row: number): string {
  const [text, verdict] = model.verdict(row);
  return `${SIGNS[verdict]} ${text}`;
}

export function tip(model: LedgerModel, state: State, mark: Mark): Piece[] | null {
  const fault = model.faultOf(mark);
  if (!fault) return null;
  const effect = `effect: ${model.effect((mark as FaultMark).fault, state.t)}`;
  return [strong(fault[1]), lineBreak, moment(model, fault[0]), lineBreak, effect];
}

export function say(model: LedgerModel, state: State, mark: Mark): string {
  const fault = model.faultOf(mark);
  return fault ? `fault: ${fault[1]}, effect: ${model.effect((mark as FaultMark).fault, state.t)}` : "";
}

export function legend(model: LedgerModel, state: State, theme: Theme): LegendEntry[] {
  const lines = LINES.filter(([name]) => model.value(name, state.row) !== null).map(
    ([name, colour]): LegendEntry => [colour, name, "line"],
  );
  if (model.faults.length) return [...lines, [VERMILION, "fault", "rule"]];
  return lines.length ? lines : [[theme.soft, "nothing counted", "line"]];
}
