// The newest sentence and each subtask's state in words, below a narrow view.
import { bytes } from "../page/drawing/format.ts";
import { columns, type Piece, piece } from "../page/elements.ts";
import { isFolded, type JobModel, sum } from "./model.ts";
import type { State } from "./state.ts";
import { countedWords, speedWords } from "./words.ts";

/** Describe what the boxes may have no room for, in the order of the graph. */
export function table(model: JobModel, { t, sentence }: State): Piece[] {
  const rows = model.verticesAt(t).flatMap((vertex) => {
    const tasks = model.tasksOf(vertex);
    return (isFolded(vertex) ? [tasks] : tasks.map((task) => [task])).map((mine) => {
      const told = mine.map((task) => model.taskAt(task, t));
      const sizes = told.map((one) => one.bytes).filter((n) => !Number.isNaN(n));
      const place = mine.length > 1 ? `×${mine.length}` : `${model.subtaskOf(mine[0]) + 1}/${vertex.parallelism}`;
      const state = mine.length > 1 ? countedWords(told) : told[0].word;
      return [`${vertex.short} ${place}`, state, speedWords(told), sizes.length ? bytes(sum(sizes)) : "–"];
    });
  });
  return [piece("p", {}, sentence), columns(["subtask", "state", "records/s", "stored state"], rows)];
}
