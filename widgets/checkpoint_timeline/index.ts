// The checkpoint timeline: the last checkpoints as bars, and of one of them who passed when, with its cut in the key
// space.
import { forkOfJob } from "../page/fork.ts";
import type { Spec } from "../page/spec.ts";
import { widget } from "../page/widget.ts";
import * as interaction from "./interaction.ts";
import { heightOf } from "./layout.ts";
import { CheckpointModel } from "./model.ts";
import { events, summary } from "./moment.ts";
import { painter } from "./paint/index.ts";
import { initial } from "./state.ts";
import { table } from "./table.ts";
import * as words from "./words.ts";

function checkpointSpec(model: CheckpointModel): Spec {
  const state = initial();
  return {
    ownAxis: true,
    height: (scale) => heightOf(model, scale),
    paint: painter(model, state),
    pick: (x, y, b) => interaction.pick(model, state, x, y, b),
    marks: () => interaction.marks(model, state),
    controls: (host) => interaction.controls(model, state, host),
    tip: (mark) => words.tip(model, state.t, mark),
    say: (mark) => words.say(model, state.t, mark),
    legend: (theme) => words.legend(model, state, theme),
    folded: (b) => table(model, state, b.clock.pin),
    leftOut: () => words.leftOut(model, state.t),
    fork: () => (model.isJob ? forkOfJob(model.facts) : undefined),
    isEmpty: () => !model.n,
    get empty() {
      return model.facts.empty ?? (["No checkpoints yet.", 'group.initiate_checkpoint("first")'] as const);
    },
    events: () => events(model),
    summary: () => summary(model, state.t),
  };
}

export default () => widget(() => new CheckpointModel(), checkpointSpec);
