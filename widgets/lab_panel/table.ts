// The panel of a lab as a description of elements: a line for each of its parts.

import { type Piece, piece } from "../page/elements.ts";

/** One part of a lab, as `pravega_lab.lab.panel` sends it. */
interface Part {
  readonly symbol: string;
  readonly state: string;
  readonly colour: string;
  readonly name: string;
  readonly words: string;
  readonly remedy: string;
}

export interface Content {
  readonly kind: string;
  readonly title: string;
  readonly parts: readonly Part[];
  readonly seq: number;
}

const FRAME =
  "display:inline-block;font-family:var(--jp-ui-font-family,sans-serif);font-size:12px;" +
  "color:var(--jp-ui-font-color1,inherit);background:var(--jp-layout-color1,transparent);" +
  "border:1px solid var(--jp-border-color2,#888);border-radius:4px;padding:6px 10px";

/** Describe the panel: its title, and a table with a row for each part. */
export function panel({ title, parts }: Content): Piece {
  const table = { style: "margin:4px 0 0;border-collapse:collapse;background:none;color:inherit" };
  return piece("div", { style: FRAME }, piece("b", {}, title), piece("table", table, ...parts.map(row)));
}

function row({ symbol, state, colour, name, words, remedy }: Part): Piece {
  const mark = { style: `text-align:left;color:${colour}`, title: state, "aria-label": state };
  return piece(
    "tr",
    {},
    piece("td", mark, symbol),
    piece("td", { style: "text-align:left;padding:1px 12px 1px 4px" }, piece("b", {}, name)),
    piece("td", { style: "text-align:left" }, words, remedy && " ", remedy && piece("i", {}, `→ ${remedy}`)),
  );
}
