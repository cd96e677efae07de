// Text that has to fit into a width. The context's font decides how wide text is.

/** What measures text: a canvas context, or a stand-in in tests. */
export type Measure = Pick<CanvasRenderingContext2D, "measureText">;

/** Return how many characters all names begin with, up to the end of a word. */
export function commonStart(names: readonly string[]): number {
  if (names.length < 2) return 0;
  let n = 0;
  while (n < names[0].length && names.every((name) => name[n] === names[0][n])) n += 1;
  while (n && /[A-Za-z0-9]/.test(names[0][n - 1])) n -= 1;
  return n;
}

/** Return a name that fits: whole, or without what all names begin with, or without its middle. */
export function squeezed(ctx: Measure, name: string, width: number, common: number): string {
  if (ctx.measureText(name).width <= width) return name;
  const text = name.slice(common);
  if (ctx.measureText(text).width <= width) return text;
  for (let keep = text.length - 1; keep > 1; keep--) {
    const short = `${text.slice(0, Math.ceil(keep / 2))}…${text.slice(text.length - Math.floor(keep / 2))}`;
    if (ctx.measureText(short).width <= width) return short;
  }
  return "";
}

/** Return text that ends in "…" where it does not fit, or "" where nothing fits. */
export function fit(ctx: Measure, text: string, width: number): string {
  const whole = ctx.measureText(text).width;
  if (whole <= width) return text;
  let keep = Math.floor((text.length * width) / whole); // near enough; measuring is slow
  while (keep > 1 && ctx.measureText(`${text.slice(0, keep)}…`).width > width) keep -= 1;
  return keep > 1 ? `${text.slice(0, keep)}…` : "";
}
