// Subtasks, and what channels hold, in words.
import { count } from "../page/drawing/format.ts";
import { sum, type TaskState } from "./model.ts";

const OVER = ["finished", "failed", "canceled"];

const FOREVER = 2 ** 62; // from here on a time is an end of time

export function timeWords(v: number | null): string {
  if (v === null || v <= -FOREVER) return "–";
  return v >= FOREVER ? "∞" : count(v);
}

export const isTime = (v: number | null): v is number => v !== null && v > -FOREVER;

/** Return a checkpoint's number, or "end" for the one that a finished job has. */
export const checkpointWords = (n: number): string => (n > FOREVER ? "end" : String(n));

const SHAPE_WIDTHS: Readonly<Record<string, number>> = {
  records: 4,
  barrier: 5,
  watermark: 9,
  "end-of-data": 8,
  "end-of-partition": 7,
};

export const shapeWidth = (what: string): number => SHAPE_WIDTHS[what] ?? 0;

/** Return the text next to a mark's shape. */
export function markText(what: string, value: number): string {
  if (what === "records" || what === "barrier") return count(value);
  if (what === "watermark") return timeWords(value);
  if (what === "cancel") return `×${value}`;
  if (what === "idle") return value ? "idle" : "active";
  return "";
}

export function markWords(what: string, value: number): string {
  const words: Record<string, string> = {
    records: `${count(value)} record${value === 1 ? "" : "s"}`,
    barrier: `barrier ${value}`,
    watermark: `watermark ${timeWords(value)}`,
    cancel: `cancellation of checkpoint ${value}`,
    idle: value ? "idle" : "active again",
    "end-of-data": value ? "end of data (drain)" : "end of data (no drain)",
    "end-of-partition": "end of partition",
  };
  return words[what];
}

/** Return what subtasks read and write together, or "–" where none of them runs. */
export function speedWords(told: readonly TaskState[]): string {
  if (!told.some((one) => !OVER.includes(one.word) && !Number.isNaN(one.outs))) return "– records/s";
  const [ins, outs] = [sum(told.map((one) => one.ins)), sum(told.map((one) => one.outs))];
  return ins && outs ? `${count(ins)} in/s · ${count(outs)} out/s` : `${count(ins || outs)} records/s`;
}

/** Return how many subtasks are in which state: "2 running, 1 failed". */
export function countedWords(told: readonly TaskState[]): string {
  const counts = new Map<string, number>();
  for (const { word } of told) counts.set(word, (counts.get(word) ?? 0) + 1);
  return [...counts].map(([word, n]) => `${n} ${word}`).join(", ");
}

/** Return the state of a box in words, from the whole to what matters most: what failed. */
export function stateForms(told: readonly TaskState[]): string[] {
  if (told.length === 1) return [told[0].word, told[0].word.split(" ")[0]];
  const words = countedWords(told);
  const parts = words.split(", ");
  return [words, parts.find((part) => part.endsWith("failed")) ?? parts[0]];
}
