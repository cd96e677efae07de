// Elements of the page. `create` makes every one of them, from text and attributes: no text is ever read as HTML.

type Tag = keyof HTMLElementTagNameMap;
type Attributes = Readonly<Record<string, string | number>>;

/** A description of text or of an element: plain data, so that what a view says can be tested without a page. */
export type Piece =
  | string
  | { readonly tag: Tag; readonly attributes: Attributes; readonly children: readonly Piece[] };
type Child = Piece | null | undefined | false | "";

// Attributes that would run text as a script, or load something.
const REFUSED = /^(on|src|href|action|formaction)/i;

/** Describe an element; children that are empty are left out. */
export function piece(tag: Tag, attributes: Attributes = {}, ...children: readonly Child[]): Piece {
  return { tag, attributes, children: pieces(...children) };
}

/** Return the children that are there. */
export const pieces = (...children: readonly Child[]): Piece[] =>
  children.filter((child): child is Piece => Boolean(child));

export const soft = (...children: readonly Child[]): Piece => piece("span", { class: "soft" }, ...children);
export const strong = (...children: readonly Child[]): Piece => piece("b", {}, ...children);
export const lineBreak: Piece = piece("br");

/** Describe a table of names and values, as tooltips have it. */
export function pairs(
  rows: readonly (readonly [Child | readonly Child[], Child | readonly Child[]])[],
  value: Attributes = {},
): Piece {
  const list = (cell: Child | readonly Child[]): readonly Child[] => (Array.isArray(cell) ? cell : [cell as Child]);
  const lines = rows.map(([name, text]) =>
    piece("tr", {}, piece("td", { class: "soft" }, ...list(name)), piece("td", value, ...list(text))),
  );
  return piece("table", {}, ...lines);
}

const FOLDED_MAX = 12; // rows

/** Describe a table with a head; of very many rows the first, and how many more there are. */
export function columns(head: readonly string[], rows: readonly (readonly Child[])[]): Piece {
  const line = (cells: readonly Child[], tag: "td" | "th", attributes: Attributes) =>
    piece("tr", {}, ...cells.map((cell) => piece(tag, attributes, cell)));
  const shown = rows.slice(0, FOLDED_MAX).map((cells) => line(cells, "td", {}));
  const more = rows.length - FOLDED_MAX;
  if (more > 0) shown.push(piece("tr", {}, piece("td", { class: "soft", colspan: head.length }, `+${more}`)));
  const top = piece("thead", {}, line(head, "th", { scope: "col" }));
  return piece("table", { class: "plab-table" }, top, piece("tbody", {}, ...shown));
}

/** Describe a swatch of a colour. */
export const swatch = (colour: string): Piece => piece("i", { class: "plab-swatch", style: `--c:${colour}` });

/** Make an element, or a text, of its description. */
export function create(what: Piece): Node {
  if (typeof what === "string") return document.createTextNode(what);
  const made = document.createElement(what.tag);
  for (const [name, value] of Object.entries(what.attributes)) {
    if (REFUSED.test(name)) throw new Error(`no view sets the attribute ${name}`);
    // A policy that forbids inline style does not forbid the object of a style.
    if (name === "style") made.style.cssText = String(value);
    else made.setAttribute(name, String(value));
  }
  made.append(...what.children.map(create));
  return made;
}

/** Append a new element to a parent and return it. */
export function element<T extends Tag>(
  parent: Element,
  tag: T,
  cls = "",
  attributes: Attributes = {},
  text = "",
): HTMLElementTagNameMap[T] {
  const made = create(piece(tag, cls ? { class: cls, ...attributes } : attributes, text)) as HTMLElementTagNameMap[T];
  parent.append(made);
  return made;
}

const shown = new WeakMap<Element, string>();

/** Make these the only children of an element; do nothing where they are already. A button in it keeps the focus. */
export function fill(parent: Element, children: readonly Piece[]): void {
  const key = JSON.stringify(children);
  if (shown.get(parent) === key) return;
  shown.set(parent, key);
  const focused = ([...parent.querySelectorAll("button")] as (Element | null)[]).indexOf(document.activeElement);
  parent.replaceChildren(...children.map(create));
  parent.querySelectorAll("button")[focused]?.focus({ preventScroll: true });
}
