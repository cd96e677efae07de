// The tables above the picture: counts, faults, the first offending event.

import { count, seconds, wallTime } from "../page/drawing/format.ts";
import { type Piece, piece, pieces, soft } from "../page/elements.ts";
import { APART, COLUMNS, type Fault, type LedgerModel, type Name, type Offence, until, WRONGS } from "./model.ts";
import type { State } from "./state.ts";

const FAULTS_MAX = 6;

type Cell = Piece | readonly Piece[];

const list = (cell: Cell): readonly Piece[] => (Array.isArray(cell) ? cell : [cell as Piece]);
const td = (cell: Cell, cls = ""): Piece => piece("td", cls ? { class: cls } : {}, ...list(cell));
const head = (text: string, cls = ""): Piece =>
  piece("th", cls ? { scope: "col", class: cls } : { scope: "col" }, text);
const table = (...children: Piece[]): Piece => piece("table", { class: "plab-table" }, ...children);

/** Return a moment in words. */
export function moment(model: LedgerModel, t: number | null): string {
  return t === null ? "not known" : `${seconds(1000 * t)} ${wallTime(model.ms(t))}`;
}

/** Return a text with a button that takes the clock to a moment, if the moment is known. */
function withGo(text: string, t: number | null, word: string): Piece[] {
  if (t === null) return [text];
  return [`${text} `, piece("button", { type: "button", "data-go": t, title: "take the clock there" }, word)];
}

/** Describe everything below the verdict. */
export const tables = (model: LedgerModel, state: State): Piece[] => [
  countsTable(model, state),
  piece("div", {}, ...faultsTable(model, state), ...offenceTable(model, state)),
];

function countsTable(model: LedgerModel, { t, row }: State): Piece {
  const before = until(model.faults, t).at(-1)?.[3] ?? -1;
  const { judged, witnesses } = model.facts;
  const line = (name: Name, word: string, after = "") => countsRow(model, name, word, [before, row], after);
  const columns = [
    head("count"),
    head("before the fault", "n"),
    head("now", "n"),
    head("difference", "n"),
    head("witness"),
  ];
  return table(
    piece("caption", {}, "distinct events ", judged && soft(`judged at ${judged}`)),
    piece("thead", {}, piece("tr", {}, ...columns)),
    piece("tbody", {}, ...COLUMNS.map((name, k) => line(name, name, witnesses?.[k] || "no witness: unknown"))),
    piece("tbody", { class: "wrongs" }, ...WRONGS.map(([name, word]) => line(name, word))),
    piece("tbody", {}, ...APART.map(([name, word]) => line(name, word))),
  );
}

/** Describe a count before the last fault, now, and the difference. */
function countsRow(
  model: LedgerModel,
  name: Name,
  word: string,
  [before, now]: [before: number, now: number],
  after: string,
): Piece {
  const [was, is] = [model.value(name, before), model.value(name, now)];
  const none = td("–", "n soft");
  const cell = (n: number | null) => td(n === null ? "unknown" : count(n), "n");
  const more = was === null || is === null ? null : is - was;
  return piece(
    "tr",
    {},
    piece("th", { scope: "row" }, word),
    before < 0 ? none : cell(was),
    cell(is),
    more === null ? none : td(`${more > 0 ? "+" : ""}${count(more)}`, "n"),
    td(after, "soft"),
  );
}

function faultsTable(model: LedgerModel, { t }: State): Piece[] {
  const rows = until(model.faults, t).map(([at, text, kind]: Fault, k) =>
    piece(
      "tr",
      {},
      td(withGo(seconds(1000 * at), at, "go"), "n"),
      td([`${text} `, soft(`(${kind})`)]),
      td(model.effect(k, t)),
    ),
  );
  if (!rows.length) return [];
  return pieces(
    table(
      piece("caption", {}, "faults"),
      piece("thead", {}, piece("tr", {}, head("when"), head("what"), head("effect"))),
      piece("tbody", {}, ...rows.slice(-FAULTS_MAX)),
    ),
    rows.length > FAULTS_MAX && piece("div", { class: "soft" }, `the last ${FAULTS_MAX} of ${rows.length} faults`),
  );
}

function offenceTable(model: LedgerModel, { t }: State): Piece[] {
  const all = until(model.offences, t);
  if (!all.length) return [];
  const others = all.length > 1 && soft(` · ${all.length - 1} more told`);
  const rows = offenceRows(model, all[0]).map(([name, value]) =>
    piece("tr", {}, piece("th", { scope: "row" }, name), td(value)),
  );
  const caption = piece("caption", {}, `first offending event: ${all[0][1]}`, others);
  return [table(caption, piece("tbody", {}, ...rows))];
}

function offenceRows(model: LedgerModel, offence: Offence): [string, Cell][] {
  const [, , column, event, key, written, writtenWhere, read, readWhere, first, firstWhere] = offence;
  const when = (t: number | null, where: string) => withGo(`${moment(model, t)} ${where}`, t, "go there");
  const rows: [string, Cell][] = [
    ["event", event],
    ["routing key", key || "none, or not known"],
    ["written", when(written, writtenWhere)],
  ];
  if (first !== null) rows.push(["first read", when(first, firstWhere)]);
  const again = first === null ? "read" : "read again";
  if (read !== null) rows.push([column === "committed" ? "committed" : again, when(read, readWhere)]);
  return rows;
}
