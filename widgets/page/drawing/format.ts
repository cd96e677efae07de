// Numbers, sizes and times as text.

/** Return a number with separators, 1234 as "1,234"; small fractions keep a digit, and what is not known is "–". */
export function count(n: number | null): string {
  if (n === null || Number.isNaN(n)) return "–";
  if (n < 10 && !Number.isInteger(n)) return n.toFixed(1);
  return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ","); // toLocaleString is slow
}

/** Return n things in words: "1 segment", "1,234 segments". */
export function plural(n: number, noun: string, nouns = `${noun}s`): string {
  return `${count(n)} ${n === 1 ? noun : nouns}`;
}

export function bytes(n: number | null): string {
  if (n === null || Number.isNaN(n)) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let [size, k] = [n, 0];
  while (size >= 1024 && k < units.length - 1) [size, k] = [size / 1024, k + 1];
  return `${k && size < 10 ? size.toFixed(1) : Math.round(size)} ${units[k]}`;
}

/** Return a duration in milliseconds as text, in seconds, minutes or hours. */
export function seconds(ms: number): string {
  const s = ms / 1000;
  return s < 120 ? `${s.toFixed(Math.abs(s) < 10 ? 2 : 1)} s` : colons(s);
}

/** Return a time without the parts that are zero at its end: "20 min", "1:30 h", "11:06:40 h". */
export const longTime = (s: number): string => colons(s).replace(/(:00)+ /, " ");

function colons(s: number): string {
  const [h, m] = [Math.floor(s / 3600), Math.floor(s / 60) % 60];
  const rest = String(Math.floor(s % 60)).padStart(2, "0");
  return h ? `${h}:${String(m).padStart(2, "0")}:${rest} h` : `${m}:${rest} min`;
}

/** Return the clock time of a moment, with its date unless it is today; "" in a simulated run, whose time starts at 0. */
export function wallTime(ms: number, today = Date()): string {
  if (ms < 1e11) return "";
  const d = new Date(ms);
  const date = today.startsWith(d.toDateString()) ? "" : `${d.toLocaleDateString("sv")} `; // 2026-11-28
  return `${date}${d.toTimeString().slice(0, 8)}.${String(Math.floor(ms % 1000)).padStart(3, "0")}`;
}

/** Return a moment of the clock (s) to compare rows with: rows carry seconds in fewer digits. */
export const upTo = (t: number): number => t + Math.max(1e-4, t * 2e-7);
