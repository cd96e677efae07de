// The ledger: verdicts, effects of faults, lines, labels, tables.
import assert from "node:assert/strict";
import { test } from "node:test";
import { marks, pick } from "../../../widgets/ledger/interaction.ts";
import * as layout from "../../../widgets/ledger/layout.ts";
import { FORMATS, LedgerModel } from "../../../widgets/ledger/model.ts";
import { initial } from "../../../widgets/ledger/state.ts";
import { tables } from "../../../widgets/ledger/tables.ts";
import * as words from "../../../widgets/ledger/words.ts";
import { boxFor, give } from "./support.ts";

const NO = 0xffffffff; // not known

/** t, written, acknowledged, read, committed, lost, doubled, out of order, strange, unknown, in flight, late */
const COUNTS = [
  [1, 100, 100, 80, NO, 0, 0, 0, 0, 0, 20, 0],
  [2, 200, 200, 150, NO, 0, 0, 0, 0, 5, 45, 0],
  [3, 300, 300, 290, NO, 0, 37, 0, 0, 0, 10, 0],
  [4, 400, 400, 380, NO, 2, 37, 1, 0, 0, 0, 0],
];

function story(): LedgerModel {
  const model = new LedgerModel();
  give(model.store, FORMATS, {
    kind: "snapshot",
    tables: { counts: COUNTS },
    facts: { ledger: "flights", witnesses: ["the producer", "", "r1", ""], ticking: true, origin_ms: 0 },
    grown: {
      faults: [
        [2.5, "r1 killed", "done here", 1],
        [3.5, "r2 killed", "done here", 2],
      ],
      offences: [[3, "read twice", "read", "<b>17</b>", "", 0.5, "w1", 2.9, "r2", 1.5, "r1"]],
    },
  });
  return model;
}

test("the counts of a moment are the newest ones, and before the first there are none", () => {
  const model = story();
  assert.deepEqual(
    [0.9, 1, 2.9, 99].map((t) => model.rowAt(t)),
    [-1, 0, 1, 3],
  );
  assert.deepEqual([model.value("read", 0), model.value("committed", 0), model.value("read", -1)], [80, null, null]);
});

test("a verdict is exact only while nothing is wrong and nothing unknown", () => {
  const model = story();
  assert.deepEqual(
    [-1, 0, 1, 2, 3].map((row) => model.verdict(row)),
    [
      ["nothing counted yet", "open"],
      ["exact", "exact"],
      ["5 not yet known", "open"],
      ["37 doubled", "wrong"],
      ["2 lost, 37 doubled, 1 out of order", "wrong"],
    ],
  );
});

test("without a witness of what was written, nothing is exact", () => {
  const model = new LedgerModel();
  give(model.store, FORMATS, { tables: { counts: [[1, 0, 0, 10, NO, NO, 0, 0, 0, 0, 0, 3]] } });
  assert.deepEqual(model.verdict(0), ["3 late, what was lost is not known: nobody witnessed what was written", "open"]);
});

test("a fault's effect ends with the next fault and is what was known by then", () => {
  const model = story();
  assert.equal(model.effect(0, 2.6), "none so far; 5 not yet known");
  assert.equal(model.effect(0, 3.2), "37 doubled");
  assert.equal(model.effect(0, 99), "37 doubled");
  assert.equal(model.effect(1, 99), "2 lost, 1 out of order");
  assert.equal(model.effect(1, 3.6), "none");
  assert.equal(model.effect(0, 0.5), "nothing counted yet");
});

test("a count's line is level until the count changes, and reaches the clock's moment", () => {
  const model = story();
  const b = boxFor(0, 5000, 2500);
  const area = { top: 0, bottom: 100 };
  const points = layout.staircase(model, b, area, "read", 2.5, 200);
  assert.deepEqual(points, [
    [b.x(1000), 60],
    [b.x(2000), 60],
    [b.x(2000), 25],
    [b.x(2500), 25],
  ]);
  assert.deepEqual(layout.staircase(model, b, area, "committed", 2.5, 200), []);
  assert.equal(layout.highest(model, 1), 200);
  assert.equal(layout.highest(model, -1), 1);
});

test("of two faults close to each other the newer one has its label", () => {
  const model = story();
  const b = boxFor(0, 10_000);
  const labels = (width: number, t: number) => layout.faultLabels(model, b, t, () => width).map(([, text]) => text);
  assert.deepEqual(labels(60, 10), ["r2 killed", "r1 killed"]);
  assert.deepEqual(labels(80, 10), ["r2 killed", ""]);
  assert.deepEqual(labels(80, 3), ["r1 killed"]);
});

test("the pointer finds the nearer of two faults, and none from later", () => {
  const model = story();
  const b = boxFor(0, 500_000);
  const state = { ...initial(), t: 10 };
  assert.equal(pick(model, state, b.x(2600), b)?.key, "fault 0");
  assert.equal(pick(model, state, b.x(3400), b)?.key, "fault 1");
  assert.equal(pick(model, { ...state, t: 3 }, b.x(3400), b)?.key, "fault 0");
  assert.equal(pick(model, state, b.x(3400) + 7, b), null);
  assert.deepEqual(
    marks(model, { ...state, t: 3 }).map((m) => m.key),
    ["fault 0"],
  );
});

test("the tables say before, now and difference, and show an event's text as text", () => {
  const model = story();
  const text = JSON.stringify(tables(model, { ...initial(), t: 3.2, row: 2 }));
  assert.match(text, /"doubled".*?"0".*?"37".*?"\+37"/);
  assert.match(text, /"committed".*?"unknown".*?"unknown".*?"–"/);
  assert.match(text, /first offending event: read twice/);
  assert.match(text, /"<b>17<\/b>"/); // a string, not an element
  assert.match(text, /read again.*"data-go":2.9/);
  const early = JSON.stringify(tables(model, { ...initial(), t: 1, row: 0 }));
  assert.doesNotMatch(early, /faults|offending/);
});

test("words: the fault and its effect, and nothing about another ledger's", () => {
  const model = story();
  const state = { ...initial(), t: 3.2, row: 2 };
  assert.equal(words.say(model, state, model.markOf(0)), "fault: r1 killed, effect: 37 doubled");
  const other = { ...model.markOf(0), ledger: "other" };
  assert.equal(words.tip(model, state, other), null);
  assert.equal(words.verdictText(model, 0), "✓ exact");
  assert.deepEqual(
    words.legend(model, state, boxFor(0, 1).theme).map(([, text]) => text),
    ["written", "acknowledged", "read", "fault"],
  );
});
