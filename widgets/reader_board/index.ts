// The reader board: a lane per reader of a group with the segments that it held, from where they came and why, and
// which checkpoints it passed.
import type { Spec } from "../page/spec.ts";
import { widget } from "../page/widget.ts";
import * as interaction from "./interaction.ts";
import { GroupModel } from "./model.ts";
import { summary } from "./moment.ts";
import { painter } from "./paint/index.ts";
import { heightOf } from "./plan.ts";
import { initial, planFor } from "./state.ts";
import { table } from "./table.ts";
import * as words from "./words.ts";

function boardSpec(model: GroupModel): Spec {
  const state = initial();
  const plan = () => (model.hasReaders ? planFor(model, state) : null);
  return {
    height: (scale) => heightOf(plan()) * scale,
    paint: painter(model, state),
    pick: (x, y, b) => interaction.pick(model, state, x, y, b),
    marks: () => interaction.marks(model, state),
    controls: (host) => interaction.controls(model, state, host),
    tip: (mark) => words.tip(model, state.t, mark),
    say: (mark) => words.say(model, state.t, mark),
    legend: (theme) => words.legend(model, theme),
    folded: (b) => {
      const lanes = plan();
      return lanes ? table(model, lanes, state.t, b.clock.at === null) : [];
    },
    leftOut: () => words.leftOut(model, plan()),
    isEmpty: () => !model.hasReaders,
    get empty() {
      return model.facts.empty ?? (["No readers yet.", 'group.create_reader("r1")'] as const);
    },
    events: () => model.events(),
    summary: () => summary(model, state.t),
  };
}

export default () => widget(() => new GroupModel(), boardSpec);
