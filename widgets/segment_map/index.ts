// The segment map: time across, key space up, a rectangle per segment; below it the causes of scales and the rates.
import type { Spec } from "../page/spec.ts";
import { widget } from "../page/widget.ts";
import * as interaction from "./interaction.ts";
import { heightOf } from "./layout.ts";
import { SegmentModel } from "./model.ts";
import { painter } from "./paint/index.ts";
import { initial } from "./state.ts";
import { table } from "./table.ts";
import * as words from "./words.ts";

function segmentSpec(model: SegmentModel): Spec {
  const state = initial();
  return {
    height: heightOf,
    paint: painter(model, state),
    pick: (x, y, b) => interaction.pick(model, x, y, b),
    marks: (b) => interaction.marks(model, b),
    controls: (host) => interaction.controls(model, state, host),
    tip: (mark) => words.tip(model, state, mark),
    say: (mark) => words.say(model, state, mark),
    legend: (theme) => words.legend(model, state, theme),
    folded: (b) => table(model, b, state.t ?? 0),
    leftOut: () => model.facts.left_out || "",
    isEmpty: () => !model.n,
    get empty() {
      return model.facts.empty ?? (["No segments yet.", 'stream.write("hello", "a key")'] as const);
    },
    events: () => [...new Set(model.scales.map((s) => model.ms(s[0])))],
    summary: () => model.summary(state.t ?? 0),
  };
}

export default () => widget(() => new SegmentModel(), segmentSpec);
