// The ledger: a sentence, a table of counts, a row per fault, the first offending event; under them the counts over
// time. Everything shows what was counted by the clock's time.
import type { Spec } from "../page/spec.ts";
import { widget } from "../page/widget.ts";
import * as interaction from "./interaction.ts";
import { heightOf } from "./layout.ts";
import { LedgerModel } from "./model.ts";
import { painter } from "./paint.ts";
import { initial } from "./state.ts";
import * as words from "./words.ts";

function ledgerSpec(model: LedgerModel): Spec {
  const state = initial();
  return {
    height: (scale) => heightOf(model, scale),
    paint: painter(model, state),
    pick: (x, _y, b) => interaction.pick(model, state, x, b),
    marks: () => interaction.marks(model, state),
    tip: (mark) => words.tip(model, state, mark),
    say: (mark) => words.say(model, state, mark),
    legend: (theme) => words.legend(model, state, theme),
    isEmpty: () => model.isEmpty(),
    get empty() {
      return model.facts.empty ?? (["Nothing counted yet.", "ledger = lab.ledger(stream)"] as const);
    },
    events: () => model.events(),
    summary: () => model.summary(state.row),
    body: (host) => interaction.body(model, state, host),
  };
}

export default () => widget(() => new LedgerModel(), ledgerSpec);
