// The job graph: a column per chain, a box per subtask, before each box its channels with what they hold.
import { forkOfJob } from "../page/fork.ts";
import type { Spec } from "../page/spec.ts";
import { widget } from "../page/widget.ts";
import * as interaction from "./interaction.ts";
import { heightOf } from "./layout.ts";
import { JobModel } from "./model.ts";
import { painter } from "./paint.ts";
import { initial } from "./state.ts";
import { table } from "./table.ts";
import * as tips from "./tips.ts";

function jobSpec(model: JobModel): Spec {
  const state = initial();
  return {
    ownAxis: true,
    height: (scale) => heightOf(model, scale),
    paint: painter(model, state),
    pick: (x, y) => interaction.pick(model, state, x, y),
    marks: () => interaction.marks(model, state),
    controls: (host) => interaction.controls(model, state, host),
    tip: (mark) => tips.tip(model, state, mark),
    say: (mark) => tips.say(model, state, mark),
    legend: (theme) => tips.legend(state, theme),
    folded: () => table(model, state),
    leftOut: () => tips.leftOut(model),
    summary: () => tips.summary(model, state),
    fork: () => forkOfJob(model.facts),
    isEmpty: () => model.isEmpty,
    get empty() {
      return model.facts.empty ?? (["No job has begun.", "show(observer)"] as const);
    },
    events: () => model.events(),
  };
}

export default () => widget(() => new JobModel(), jobSpec);
