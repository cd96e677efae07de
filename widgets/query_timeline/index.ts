// The query timeline: a row per attempt of a micro-batch, its phases over time; under them rows per second and lag.
import type { Spec } from "../page/spec.ts";
import { widget } from "../page/widget.ts";
import { pick } from "./interaction.ts";
import { heightOf } from "./layout.ts";
import { BatchModel } from "./model.ts";
import { painter } from "./paint.ts";
import { folded } from "./paint_around.ts";
import { initial } from "./state.ts";
import * as words from "./words.ts";

function batchSpec(model: BatchModel): Spec {
  const state = initial();
  return {
    height: heightOf,
    paint: painter(model, state),
    pick: (x, y, b) => pick(model, state, x, y, b),
    marks: () => state.rows.map((row) => model.markOf(row.i)),
    tip: (mark) => words.tip(model, state, mark),
    say: (mark) => words.say(model, state, mark),
    legend: (theme) => words.legend(model, theme),
    folded: (b) => folded({ b, model, state, t: state.t }),
    leftOut: () => words.leftOut(state),
    isEmpty: () => !model.n,
    get empty() {
      return model.facts.empty ?? (["No micro-batches yet.", "lab.show(query)"] as const);
    },
    events: () => model.events(),
    summary: () => model.summary(state.t),
  };
}

export default () => widget(() => new BatchModel(), batchSpec);
