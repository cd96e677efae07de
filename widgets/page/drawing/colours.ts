// The palette, and arithmetic with colours. Okabe-Ito, the same in every view and in the static pictures (palette.py).

/** The colours of readers in joining order. Vermilion is not among them: it means failure or loss and nothing else. */
export const PALETTE = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#F0E442"];
export const VERMILION = "#D55E00";

/** Return the colour of the reader that joined as number `i`, counted from 0. */
export const readerColour = (i: number): string => PALETTE[i % PALETTE.length];

export function rgb(hex: string): [number, number, number] {
  const n = Number.parseInt(hex.slice(1), 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}

/** Return the colour between `a` (t = 0) and `b` (t = 1). */
export function mix(a: string, b: string, t: number): string {
  const [x, y] = [rgb(a), rgb(b)];
  const hex = x.map((v, i) =>
    Math.round(v + (y[i] - v) * t)
      .toString(16)
      .padStart(2, "0"),
  );
  return `#${hex.join("")}`;
}

/** Return black or white, whichever is easier to read on this colour. */
export function ink(hex: string): string {
  const [r, g, b] = rgb(hex);
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#000000" : "#ffffff";
}
