// Text that has to fit into a width. The context's font decides how wide text is.

/** What measures text: a canvas context, or a stand-in in tests. */
type Measure = Pick<CanvasRenderingContext2D, "measureText">;

/** Return how many characters all names begin with, up to the end of a word. */
export function commonStart(names: readonly string[]): number {
  if (names.length < 2) return 0;
  let n = 0;
  while (n < names[0].length && names.every((name) => name[n] === names[0][n])) n += 1;
  while (n && /[A-Za-z0-9]/.test(names[0][n - 1])) n -= 1;
  return n;
}

/** Return the first of several texts that fits, from the most important on, or "": no text is cut. */
export const firstFit = (ctx: Measure, width: number, ...texts: readonly string[]): string =>
  texts.find((text) => text && ctx.measureText(text).width <= width) ?? "";

/** Return a name that fits, whole or without what all names begin with; else its number in the order of joining. */
export const shortName = (ctx: Measure, name: string, width: number, common: number, number: number): string =>
  firstFit(ctx, width, name, name.slice(common), `${number}.`);

/** A label at a tick, in its forms from the most important on; it is placed in a line, counted from the bottom. */
export interface Labelled {
  readonly x: number;
  readonly forms: readonly string[];
}
export interface PlacedLabel {
  readonly x: number; // of the left end of the text
  readonly text: string;
  readonly line: number;
}

/**
 * Place labels: those that come first matter most. Each has the first of its forms that is whole in a line, right of
 * its tick or else left of it. A label without room is left out.
 */
export function placeLabels(
  labels: readonly Labelled[],
  { left, right, lines, least }: { left: number; right: number; lines: number; least: number },
  widthOf: (text: string) => number,
): PlacedLabel[] {
  const limits = Array<number>(lines).fill(right);
  const out: PlacedLabel[] = [];
  for (const { x, forms } of labels) {
    const most = Math.max(...limits) - left;
    if (most < 6 * least) break;
    if (x > left + most) continue; // within the labels that are there: it fits on neither side
    for (const text of forms) {
      if (text.length * least > most) continue; // surely too long; measuring is slow
      const width = widthOf(text);
      const isRight = limits.findIndex((limit) => limit - x - 2 >= width);
      const line = isRight >= 0 ? isRight : limits.findIndex((limit) => x <= limit && x - width - 2 >= left);
      if (line < 0) continue;
      const from = isRight >= 0 ? x + 1 : x - width - 1;
      out.push({ x: from, text, line });
      limits[line] = from - 8;
      break;
    }
  }
  return out;
}
