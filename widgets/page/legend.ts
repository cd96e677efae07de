// The legend: a swatch and words per entry.
import { fill, type Piece, piece } from "./elements.ts";
import type { LegendEntry } from "./spec.ts";

const LEGEND_MAX = 7;

/** Describe a legend: at most seven entries, how many more there are, and what the view leaves out.
 *  An eighth takes the place of its count. */
export function legendPieces(entries: readonly LegendEntry[], leftOut = ""): Piece[] {
  const shown = entries.length === LEGEND_MAX + 1 ? entries : entries.slice(0, LEGEND_MAX);
  const items = shown.map(([colour, text, swatch]) =>
    piece("span", { role: "listitem" }, piece("i", { class: swatch ?? "", style: `--c:${colour}` }), text),
  );
  const more = entries.length - shown.length;
  if (more > 0) items.push(piece("span", { role: "listitem" }, `+${more}`));
  if (leftOut) items.push(piece("span", { class: "plab-left-out" }, leftOut));
  return items;
}

export function showLegend(parent: Element, entries: readonly LegendEntry[], leftOut?: string): void {
  fill(parent, legendPieces(entries, leftOut));
}
