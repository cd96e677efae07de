// The query timeline: replays, phases until a moment, rows that have room, steps, picking.
import assert from "node:assert/strict";
import { test } from "node:test";
import { pick } from "../../../widgets/query_timeline/interaction.ts";
import * as layout from "../../../widgets/query_timeline/layout.ts";
import { BatchModel, FORMATS } from "../../../widgets/query_timeline/model.ts";
import { initial } from "../../../widgets/query_timeline/state.ts";
import * as words from "../../../widgets/query_timeline/words.ts";
import { boxFor, give } from "./support.ts";

const OPEN = Number.POSITIVE_INFINITY;
const [RUNNING, DONE, KILLED] = [0, 1, 3];
const REPLAYED = 256;

/** Batch 1 is done, batch 2 is killed and replayed, batch 3 runs. */
function story(): BatchModel {
  const model = new BatchModel();
  const nan = Number.NaN;
  give(model.store, FORMATS, {
    kind: "snapshot",
    tables: {
      batches: [
        [0, 1, 0, 2, 1, DONE],
        [1, 2, 2, 3, 1, KILLED],
        [2, 2, 5, 8, 2, DONE | REPLAYED],
        [3, 3, 8, OPEN, 1, RUNNING],
      ],
      phases: [
        [0, 0, 0.5, 0, 0, 0],
        [0, 0.5, 2, 1, 0, 0],
        [2, 5, 6, 0, 0, 0],
        [2, 7, 8, 0, 0, 0],
        [3, 8, OPEN, 1, 0, 0],
      ],
      flow: [
        [0, 2, 100, 90, 10, 200],
        [1, 3, nan, nan, nan, nan],
        [2, 8, 50, 45, nan, 150],
      ],
    },
    facts: {
      query: "delays",
      phases: [
        ["plan", "plan", "#56B4E9"],
        ["read", "read, process, write", "#0072B2"],
      ],
      told: ["plan", "read"],
      ticking: true,
      origin_ms: 0,
    },
    grown: {
      runs: [
        [0, "start", 1, "", "", ""],
        [3, "end", 1, "killed", "kill -9", "done here"],
        [4, "start", 2, "", "", ""],
      ],
    },
  });
  return model;
}

test("a batch spends in each phase what it had spent by then", () => {
  const model = story();
  const ms = (i: number, t: number) => model.spent(i, t).map(([[name], v]) => [name, v]);
  assert.deepEqual(ms(0, 1), [
    ["plan", 500],
    ["read", 500],
  ]);
  assert.deepEqual(ms(2, 7.5), [["plan", 1500]]); // two stretches of one phase are one sum
  assert.deepEqual(ms(3, 10), [["read", 2000]]);
  assert.equal(model.duration(3, 10), 2000);
});

test("replays and what was cut off are known by their flags", () => {
  const model = story();
  assert.deepEqual(
    [0, 1, 2, 3].map((i) => [model.outcome(i), model.isReplayed(i), model.isCutOff(i)]),
    [
      ["done", false, false],
      ["killed", false, true],
      ["done", true, false],
      ["running", false, false],
    ],
  );
  assert.equal(model.label(2), "2 ×2");
  assert.equal(model.summary(9), "delays: 2 batches done, 1 replayed");
  assert.equal(model.summary(4), "delays: 1 batch done, 0 replayed");
});

test("a batch that has not ended has no flow yet", () => {
  const model = story();
  assert.deepEqual(
    [1.5, 2].map((t) => model.flow("rows", 0, t)),
    [Number.NaN, 200],
  );
  assert.equal(model.flow("rows", 3, 99), Number.NaN);
});

test("while there is room, each batch has a row", () => {
  const b = boxFor(0, 10_000);
  const placed = layout.place(story(), b, layout.layout(b).rows);
  assert.deepEqual([placed.rows.length, placed.all, placed.longest], [4, 4, 0]);
  assert.equal(words.leftOut({ ...initial(), ...placed }), "");
});

/** Batches that begin one second after the other, and take 100 ms each but for number 70, which takes 900 ms. */
function many(n: number): BatchModel {
  const model = new BatchModel();
  const batches = Array.from({ length: n }, (_, i) => [i, i, i, i + (i === 70 ? 0.9 : 0.1), 1, DONE]);
  give(model.store, FORMATS, { tables: { batches } });
  return model;
}

test("when there are too many batches for rows, each is a bar as high as it took long", () => {
  const [model, b] = [many(200), boxFor(0, 200_000)];
  const area = layout.layout(b).rows;
  const placed = layout.place(model, b, area);
  assert.deepEqual([placed.rows.length, placed.all, Math.round(placed.longest)], [200, 200, 900]);
  const [usual, long] = [placed.rows[0], placed.rows[70]];
  assert.equal(Math.round((9 * usual.h) / long.h), 1);
  assert.deepEqual([Math.round(long.y), usual.y + usual.h], [Math.round(area.top), area.bottom]);
  assert.equal(layout.place(model, boxFor(10_500, 11_500, 11_500), area).longest, 0); // one batch, in a row
  const state = { ...initial(), ...placed, t: 200 };
  assert.equal(pick(model, state, b.x(70_500), area.top + 5, b)?.key, model.markOf(70).key);
  assert.equal(pick(model, state, b.x(20_050), area.top + 5, b)?.key, model.markOf(20).key); // also above its bar
  assert.equal(words.leftOut(state), "");
});

test("of the batches that begin in one pixel, the longest is drawn", () => {
  const [model, b] = [many(20_000), boxFor(0, 20_000_000)];
  const placed = layout.place(model, b, layout.layout(b).rows);
  assert.ok(placed.rows.length <= b.right - b.left + 1);
  assert.ok(placed.rows.some(({ i }) => i === 70));
  assert.equal(placed.newest, 19_999);
  assert.match(words.leftOut({ ...initial(), ...placed }), /^the longest \d+ of 20,000 drawn: zoom in$/);
});

test("steps cover their batches and leave out what is not known", () => {
  const model = story();
  const b = boxFor(0, 10_000);
  const steps = layout.steps(model, b, 10, "in");
  assert.deepEqual(
    steps.map(([, , v]) => v),
    [100, 50],
  );
  assert.deepEqual(
    steps.map(([a, z]) => [a, z]),
    [
      [b.x(0), b.x(2000)],
      [b.x(5000), b.x(8000)],
    ],
  );
});

test("the pointer finds runs, rows, and below the rows the batch of that moment", () => {
  const model = story();
  const b = boxFor(0, 10_000);
  const { rows, lag } = layout.layout(b);
  const state = { ...initial(), t: 10, ...layout.place(model, b, rows) };
  assert.equal(pick(model, state, b.x(3000) + 2, rows.top + 100, b)?.key, "run 1");
  assert.equal(pick(model, state, b.x(0) + 1, state.rows[2].y + 2, b)?.key, "delays 2 ×2 2");
  assert.equal(pick(model, state, b.x(1000), lag.top, b)?.key, "delays 1 0");
  assert.equal(pick(model, state, b.left - 5, rows.top, b), null);
});

test("words of a run and of a batch", () => {
  const model = story();
  const state = { ...initial(), t: 10 };
  const run = { kind: "run", key: "run 1", run: 1, query: "delays", time: 3000 };
  assert.match(JSON.stringify(words.tip(model, state, run)), /run 1: killed.*kill -9 .*\(done here\)/);
  assert.equal(words.say(model, state, model.markOf(2)), "batch 2 ×2, replayed, done, 3,000 ms: plan 2,000 ms");
  assert.equal(words.tip(model, state, { ...run, query: "other" } as typeof run), null);
});
