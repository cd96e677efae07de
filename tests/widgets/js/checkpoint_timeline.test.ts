// The checkpoint timeline: phases until a moment, who held a checkpoint up, cuts and gaps, places, picking.
import assert from "node:assert/strict";
import { test } from "node:test";
import { marks, pick } from "../../../widgets/checkpoint_timeline/interaction.ts";
import * as layout from "../../../widgets/checkpoint_timeline/layout.ts";
import { CheckpointModel, FORMATS, PHASES_MAX, STATES } from "../../../widgets/checkpoint_timeline/model.ts";
import * as moment from "../../../widgets/checkpoint_timeline/moment.ts";
import { namesOf, rowText } from "../../../widgets/checkpoint_timeline/paint/row.ts";
import { chosen, initial, type State } from "../../../widgets/checkpoint_timeline/state.ts";
import * as words from "../../../widgets/checkpoint_timeline/words.ts";
import { boxFor, give } from "./support.ts";

const OPEN = Number.POSITIVE_INFINITY;
const nan = Number.NaN;
const state = (word: string) => STATES.indexOf(word);
const phase = (part: number, kind: number, start: number, end: number) => [PHASES_MAX * part + kind, 1, start, end];

/** Checkpoint 1 is completed (r2 was last), 2 failed, and 3 waits for r2. Its cut leaves out the keys above 0.5. */
function story(): CheckpointModel {
  const model = new CheckpointModel();
  give(model.store, FORMATS, {
    kind: "snapshot",
    tables: {
      checkpoints: [
        [0, 1, 1, 4, state("completed")],
        [1, 2, 5, 7, state("failed")],
        [2, 3, 9, OPEN, state("running")],
      ],
      parts: [0, 1, 2, 3, 4, 5].map((i) => [i, Math.floor(i / 2), i % 2, 0]),
      phases: [
        phase(0, 0, 1, 2),
        phase(1, 0, 1, 4),
        phase(2, 0, 5, 6),
        phase(3, 0, 5, OPEN),
        phase(4, 0, 9, 10),
        phase(5, 0, 9, OPEN),
      ],
      pieces: [
        [0, 0, 0, 0, 1, 0, 0, 0.25, 3, 2048],
        [0, 0, 1, 0, 2, 1, 0.25, 0.5, nan, -1],
        [0, 1, 7, 0, 0, 0, nan, nan, nan, 10],
      ],
    },
    facts: {
      source: "demo/readers",
      system: "reader group",
      phases: [["pass", "asked → passed", "#0072B2", "waits for its next read", 1]],
      until: ", until its next read",
      counts: ", which counts",
      readers_from: 0,
      group: "",
      streams: ["demo/a", "demo/b"],
      waiting: { 5: "in segment #4" },
      chosen: null,
      ticking: true,
      origin_ms: 0,
      now_s: 20,
    },
    grown: {
      rows: [
        [0, "r1"],
        [1, "r2"],
      ],
      names: [
        [0, "first"],
        [1, "second"],
        [2, "third"],
      ],
      words: [[1, "cleared"]],
      where: [[1, "in segment #2", ""]],
      gaps: [[0, "demo/a", 0.5, 1]],
    },
  });
  return model;
}

/** One checkpoint of a job: a subtask with two channels, and a reader that it made pass. */
function job(): CheckpointModel {
  const model = new CheckpointModel();
  give(model.store, FORMATS, {
    kind: "snapshot",
    tables: {
      checkpoints: [[0, 1, 0, 10, state("completed")]],
      parts: [
        [0, 0, 0, 0],
        [1, 0, 1, 0],
        [2, 0, 2, 1],
      ],
      phases: [phase(0, 0, 0, 4), phase(0, 1, 4, 6), phase(1, 0, 0, 2), phase(1, 1, 2, 3), phase(2, 1, 5, 6)],
      ticks: [
        [0, 2, 1],
        [0, 4, 0],
      ],
    },
    facts: {
      source: "words",
      system: "job",
      phases: [
        ["first", "→ first barrier", "#0072B2", "waits for barriers", 0],
        ["ack", "→ acknowledged", "#009E73", "writes its state", 1],
      ],
      readers_from: 2,
      group: "demo/readers",
    },
    grown: {
      rows: [
        [0, "map 1/1"],
        [1, "once 1/1"],
        [2, "r1"],
      ],
      names: [[0, "chk-1"]],
      where: [[1, "", "finished, nothing to snapshot"]],
      between: [[2, 5, 6, -3]],
      links: [[0, 0, 2]],
    },
  });
  return model;
}

test("a row that has no room for its name has a shorter one: the head of a chain, or the number of a reader", () => {
  const model = job();
  const chain = "count → format → sink 1/2";
  give(model.store, FORMATS, { grown: { rows: [[0, chain]] } });
  assert.deepEqual(namesOf(model, 0), [chain, "count 1/2", chain, "1/2"]);
  assert.equal(namesOf(model, 2).at(-1), "1.");
  assert.equal(namesOf(story(), 1).at(-1), "2.");
});

test("a checkpoint runs until it ends, and only those that have begun are known", () => {
  const model = story();
  assert.deepEqual(
    [0.5, 2, 9].map((t) => moment.known(model, t)),
    [[], [0], [0, 1, 2]],
  );
  assert.deepEqual(
    [2, 4, 99].map((t) => moment.stateAt(model, 0, t)),
    ["running", "completed", "completed"],
  );
  assert.deepEqual([moment.wordAt(model, 0, 2), moment.wordAt(model, 1, 8)], ["1 of 2", "cleared"]);
  assert.deepEqual(moment.events(model), [1000, 4000, 5000, 7000, 9000]);
});

test("a part has passed when the phase that passes is over", () => {
  const model = job();
  assert.deepEqual(moment.phasesOf(model, 0, 5), [
    { kind: 0, start: 0, end: 4 },
    { kind: 1, start: 4, end: 6 },
  ]);
  assert.deepEqual(
    [3, 5, 6].map((t) => [moment.passedAt(model, 0, t), moment.hasPassed(model, 0, t)]),
    [
      [OPEN, false],
      [6, false],
      [6, true],
    ],
  );
  assert.equal(moment.doneAt(model, 0, 3), 1);
});

test("what held a checkpoint up: who was last, who is waited for, how it failed", () => {
  const model = story();
  assert.equal(moment.heldUp(model, 0, 8), "held up by r2: 3.0 s in segment #2, until its next read");
  assert.equal(moment.heldUp(model, 0, 1.5), "500 ms so far, waits for r1, r2");
  assert.equal(moment.heldUp(model, 1, 8), "cleared after 2.0 s; r2 had not passed");
  const waits = "held up by r2: 3.0 s so far in segment #4, waits for its next read";
  assert.equal(moment.heldUp(model, 2, 12), waits);
  assert.equal(moment.summary(model, 12), `demo/readers: 3 checkpoints, 1 completed; checkpoint 3: ${waits}`);
});

test("a subtask names the channels whose barriers are missing, once one has come", () => {
  const model = job();
  assert.deepEqual(
    [1, 3, 5].map((t) => moment.whereOf(model, 0, t)),
    ["", "without the barrier of channel 0", ""],
  );
});

test("a row says what the part waits for, then how long it took, or why it need not pass", () => {
  const model = job();
  const at = (part: number, t: number) =>
    rowText({ model, t, picked: 0 }, part, moment.phasesOf(model, part, t).length);
  assert.equal(at(0, 3), "without the barrier of channel 0, waits for barriers");
  assert.equal(at(0, 7), "acknowledged after 6,000 ms");
  assert.equal(at(1, 7), "finished, nothing to snapshot");
  const readers = story();
  assert.equal(rowText({ model: readers, t: 8, picked: 1 }, 3, 1), "had not passed");
});

test("the mark of a cut has the positions and the gaps, for another view to draw", () => {
  const { pieces, gaps, number, time } = story().cutMark(0, 99);
  assert.deepEqual([number, time], [1, 4000]);
  assert.deepEqual(gaps, [{ stream: "demo/a", low: 0.5, high: 1 }]);
  assert.deepEqual(
    pieces.map((p) => [p.stream, p.number, p.at, p.done]),
    [
      ["demo/a", 0, 3000, false],
      ["demo/a", 1, null, true],
      ["demo/b", 7, null, false],
    ],
  );
});

test("the pinned checkpoint is shown, then the one that Python chose, then the newest", () => {
  const model = story();
  const all = [0, 1, 2];
  assert.equal(chosen(model, initial(), null, all), 2);
  give(model.store, FORMATS, { facts: { chosen: "second" } });
  assert.equal(chosen(model, initial(), null, all), 1);
  assert.equal(chosen(model, initial(), model.markOf(0), all), 0);
  assert.equal(chosen(model, initial(), { ...model.markOf(0), source: "other" } as never, all), 1);
  assert.equal(chosen(model, { ...initial(), follow: true }, null, all), 2);
  assert.equal(chosen(model, initial(), null, []), undefined);
});

test("of many checkpoints the newest sixty have bars, and few bars are not wide", () => {
  const l = layout.layout({ scale: 1, height: 400, right: 696 }, { isJob: false, turned: true });
  const all = Array.from({ length: 100 }, (_, c) => c);
  const bars = layout.placeBars(l, all);
  assert.deepEqual([bars.length, bars[0].c, bars[0].x, bars[0].w], [60, 40, 96, 10]);
  assert.equal(layout.placeBars(l, [0])[0].w, 75);
  assert.deepEqual([layout.isTurned(11), layout.isTurned(12)], [false, true]);
});

test("numbers below narrow bars are so far apart that they have room", () => {
  assert.equal(layout.numbersApart(16, 12), 1);
  assert.equal(layout.numbersApart(16, 18), 5); // 100 and more, in a whole pane
  assert.equal(layout.numbersApart(5, 24), 5);
  assert.equal(layout.numbersApart(5, 30), 10); // 10,000 and more, in a narrow one
});

test("of many parts those that pass last have rows", () => {
  const model = new CheckpointModel();
  const many = Array.from({ length: 100 }, (_, i) => i);
  give(model.store, FORMATS, {
    tables: {
      checkpoints: [[0, 1, 0, 200, state("completed")]],
      parts: many.map((i) => [i, 0, i, 0]),
      phases: many.map((i) => phase(i, 0, 0, 100 - i)),
    },
    facts: { phases: [["pass", "", "#0072B2", "", 1]] },
    grown: { rows: many.map((i) => [i, `r${i}`]) },
  });
  const [parts, all] = layout.partsShown(model, 0, "", 300);
  assert.deepEqual([parts, all], [many.slice(0, 30), 100]);
  assert.deepEqual(layout.partsShown(model, 0, "R9", 300), [[9, ...many.slice(90)], 11]);
});

test("a job's rows of readers are below a heading, and the axis covers what has ended", () => {
  const model = job();
  const l = layout.layout({ scale: 1, height: 400, right: 760 }, { isJob: true, turned: false });
  const { rows, split, most, x } = layout.detailOf(model, l, 1, { c: 0, only: "", t: 20 });
  assert.deepEqual(
    rows.map(({ part, y }) => [part, y]),
    [
      [0, l.rows.top],
      [1, l.rows.top + 22],
      [2, l.rows.top + 44 + 16],
    ],
  );
  assert.deepEqual([split, most, x(0)], [16, 10 * 1.02, l.left]);
  assert.ok(x(10) < l.right);
});

test("round numbers of seconds, short ones in milliseconds", () => {
  assert.deepEqual([0.005, 0.06, 1, 1.1, 23].map(layout.nice), [0.005, 0.1, 1, 2, 50]);
  assert.deepEqual([0.0123, 0.2].map(layout.brief), ["12.3 ms", "0.20 s"]);
});

/** Return the state after a drawing at 12 s. */
function drawn(model: CheckpointModel): State {
  const b = boxFor(0, 20_000, 12_000);
  const l = layout.layout(b, { isJob: false, turned: false });
  const { rows } = layout.detailOf(model, l, 1, { c: 0, only: "", t: 12 });
  const cut = { c: 0, x: b.right + 34, right: b.width, ...layout.cutArea(l, 1) };
  return { ...initial(), t: 12, bars: layout.placeBars(l, [0, 1, 2]), rows, cut };
}

test("the pointer finds bars, rows and the cut", () => {
  const model = story();
  const b = boxFor(0, 20_000, 12_000);
  const now = drawn(model);
  const { bars, rows } = now;
  const at = (x: number, y: number) => pick(model, now, x, y, b)?.key;
  assert.equal(at(bars[1].x + 1, 40), "checkpoint second");
  assert.equal(at(bars[2].x + bars[2].w + 1, 40), undefined);
  assert.equal(at(200, rows[1].y + 2), "reader r2");
  assert.equal(at(b.right + 50, rows[0].y + 5), "cut first");
  assert.deepEqual(
    marks(model, now).map((m) => m.key),
    ["checkpoint first", "checkpoint second", "checkpoint third", "cut first", "reader r1", "reader r2"],
  );
});

test("words: checkpoints, cuts, rows, and nothing about another group's", () => {
  const model = story();
  const held = "held up by r2: 3.0 s in segment #2, until its next read";
  assert.equal(words.say(model, 8, model.cutMark(0, 8)), `cut of checkpoint 1, completed, 2 of 2 passed, ${held}`);
  assert.equal(words.say(model, 8, model.rowMark(3, 8)), "r2: has not passed");
  const said = JSON.stringify(words.tip(model, 8, model.markOf(0)));
  assert.match(said, /checkpoint 1.* completed.*first.*2 of 2.*after 3\.00 s.*keys 0\.5 to 1/);
  assert.match(JSON.stringify(words.tip(model, 12, model.rowMark(5, 12))), /3\.00 s so far, waits for its next read/);
  assert.equal(words.tip(model, 8, { ...model.markOf(0), source: "other" } as never), null);
  assert.deepEqual(
    words.legend(model, drawn(model), boxFor(0, 1).theme).map(([, text]) => text),
    ["completed ✓", "running …", "failed ×", "asked → passed"],
  );
});
