// The job graph: attempts, what channels hold, folding, marks that have room, offers.
import assert from "node:assert/strict";
import { test } from "node:test";
import { callOf, offers, pick } from "../../../widgets/job_graph/interaction.ts";
import * as layout from "../../../widgets/job_graph/layout.ts";
import { boxMark } from "../../../widgets/job_graph/marks.ts";
import { FORMATS, JobModel, summed } from "../../../widgets/job_graph/model.ts";
import { initial } from "../../../widgets/job_graph/state.ts";
import * as tips from "../../../widgets/job_graph/tips.ts";
import { countedWords, markWords, timeWords } from "../../../widgets/job_graph/words.ts";
import { give } from "./support.ts";

const [RUNNING, ALIGNING, FINISHED, FAILED] = [2, 3, 5, 6];
const [RECORDS, WATERMARK, BARRIER] = [0, 1, 3];
const NEGATIVE = 0xffffffff;

/** Two sources feed `parallelism` counting subtasks; count 1/n fails at 5 s and runs again from 6 s. */
function story(parallelism = 2): JobModel {
  const model = new JobModel();
  const counts = Array.from({ length: parallelism }, (_, k) => k);
  give(model.store, FORMATS, {
    kind: "snapshot",
    tables: {
      tasks: [[0, 0, 0], [1, 0, 1], ...counts.map((k) => [2 + k, 1, k])],
      channels: counts.flatMap((k) => [
        [2 * k, 0, 2 + k, 0],
        [2 * k + 1, 1, 2 + k, 1],
      ]),
      states: [
        [2, 0, RUNNING, 0, 0],
        [2, 5, FAILED, 0, 0],
        [2, 6, RUNNING, 1, 1],
        [3, 0, ALIGNING, 0, 0],
        [0, 8, FINISHED, 0, 0],
      ],
      measures: [
        [2, 1, 10, 9, 90, 1024, 0, 500],
        [2, 7, 20, 18, 30, 2048, NEGATIVE, NEGATIVE],
      ],
      contents: [
        [0, 1, 5, 10, 0, 0, 2],
        [0, 2, 5, 10, 1, 0, 2],
        [0, 3, 6, 10, 1, 2, 1],
        [1, 3, 2, 10, 0, 0, 2],
      ],
      marks: [
        [BARRIER, 0, 7],
        [RECORDS, 0, 5],
        [WATERMARK, NEGATIVE, NEGATIVE],
      ],
      trays: [[2, 1, 1, 2, 3]],
    },
    facts: { source: "words", simulated: true, control: "run", ticking: true, origin_ms: 0 },
    grown: {
      lives: [[0, 0]],
      vertices: [
        [0, 0, "source", 2, ["read"], 0, "source words"],
        [1, 0, "count", parallelism, ["count", "sink"], 1, "count words"],
      ],
      why: [[2, 5, "OSError: no space"]],
      said: [
        [2, 1, "count 1/2 began"],
        [3, 4, "count 2/2 took barrier 7 on channel 1, waits for channel 2"],
      ],
      jobs: [
        [0, "running"],
        [9, "finished"],
      ],
      trays: [
        [
          ["t-9"],
          [
            [2 ** 63, "t-8"],
            [6, "t-7"],
          ],
        ],
      ],
    },
  });
  return model;
}

test("a subtask at a moment: what an earlier attempt measured is not this one's", () => {
  const model = story();
  const at = (t: number) => {
    const { word, why, attempt, total, time } = model.taskAt(2, t);
    return [word, why, attempt, total, time];
  };
  assert.deepEqual(at(4), ["running", "", 0, 90, 500]);
  assert.deepEqual(at(5), ["failed", "OSError: no space", 0, 90, 500]);
  assert.deepEqual(at(6.5), ["running", "", 1, Number.NaN, null]);
  assert.equal(model.taskAt(2, 6.5).bytes, 1024); // the stored state is still there
  assert.equal(model.taskAt(2, 6.5).tray, null);
  assert.deepEqual(at(7), ["running", "", 1, 30, -1]);
  assert.equal(model.taskAt(1, 3).word, "starting");
});

test("a channel at a moment: from head to tail, and since when it is blocked", () => {
  const model = story();
  assert.deepEqual(model.contentsAt(0, 0.5).marks, []);
  assert.deepEqual(model.contentsAt(0, 1), {
    records: 5,
    capacity: 10,
    marks: [
      { what: "barrier", value: 7 },
      { what: "records", value: 5 },
    ],
    since: null,
  });
  assert.equal(model.contentsAt(0, 3).since, 2);
  assert.deepEqual(model.contentsAt(0, 3).marks, [{ what: "watermark", value: -1 }]);
});

test("several channels hold each barrier once, and all records", () => {
  const model = story();
  const held = [model.contentsAt(0, 1), model.contentsAt(1, 3)];
  assert.deepEqual(summed(held), [
    { what: "barrier", value: 7 },
    { what: "records", value: 10 },
  ]);
});

test("a column per depth, a box per subtask, and channels before their consumer", () => {
  const model = story();
  const { boxes, slotWidth } = layout.layout(model, 1000, 1, 1);
  assert.deepEqual(
    boxes.map((box) => box.tasks),
    [[0], [1], [2], [3]],
  );
  assert.deepEqual(
    boxes.map((box) => box.slots),
    [[], [], [[0], [1]], [[2], [3]]],
  );
  assert.ok(boxes[2].x - slotWidth > boxes[0].x + boxes[0].w);
  assert.ok(boxes[1].y >= boxes[0].y + boxes[0].h);
  assert.ok(boxes[2].h > boxes[0].h); // count has trays
});

test("above eight subtasks a vertex is one box, with one slot per producer", () => {
  const model = story(9);
  const { boxes } = layout.layout(model, 1000, 1, 1);
  assert.equal(boxes.length, 3);
  assert.deepEqual([boxes[2].tasks.length, boxes[2].slots.map((s) => s.length)], [9, [18]]);
  const told = boxes[2].tasks.map((task) => model.taskAt(task, 1));
  assert.equal(countedWords(told), "1 running, 1 aligning, 7 starting");
});

test("marks go from the head to the left; those without room are counted", () => {
  const model = story();
  const { boxes } = layout.layout(model, 1000, 1, 1);
  const [slot] = layout.slotsBefore(model, boxes[2], 100, 1, 1);
  const place = (width: number) => layout.placeMarks({ ...slot, x: 0, w: width }, width, 1, (text) => 10 * text.length);
  assert.deepEqual(
    place(100).marks.map((m) => [m.what, m.x, m.w]),
    [
      ["barrier", 80, 20],
      ["records", 61, 19],
    ],
  );
  assert.deepEqual([place(37).marks.length, place(37).more], [1, 1]);
  assert.deepEqual([place(30).marks.length, place(30).more], [0, 2]);
});

test("the pointer finds marks before boxes and channels", () => {
  const model = story();
  const { boxes } = layout.layout(model, 1000, 1, 1);
  const slots = layout.slotsBefore(model, boxes[2], 100, 1, 1);
  const { marks } = layout.placeMarks(slots[0], slots[0].x + 97, 1, () => 10);
  const state = { ...initial(), t: 1, boxes, slots, marks };
  assert.equal(pick(model, state, marks[0].x + 1, marks[0].y + 1)?.kind, "mark");
  assert.equal(pick(model, state, slots[0].x + 1, slots[0].y + 1)?.key, "channel source words[0]>count words[0]:0");
  assert.equal(pick(model, state, boxes[3].x + 1, boxes[3].y + 1)?.key, "task count 2/2");
  assert.equal(pick(model, state, 0, 0), null);
});

test("offers for what is pinned; on a past step the call forks first", () => {
  const model = story();
  const { boxes } = layout.layout(model, 1000, 1, 1);
  const [fail] = offers(boxMark(model, boxes[2], 0), 50);
  assert.equal(callOf(fail, "run", false), 'run.fail("count words[0]")');
  assert.equal(callOf(fail, "run", true), 'fork = run.fork(); fork.fail("count words[0]")');
  assert.deepEqual(offers({ kind: "task", key: "another view's", time: 0 }, 50), []);
  assert.deepEqual(offers(null, 50), []);
});

test("tips name attempts, reasons and transactions, and say what acts", () => {
  const model = story();
  const { boxes } = layout.layout(model, 1000, 1, 1);
  const said = (t: number) => JSON.stringify(tips.tip(model, { ...initial(), boxes, t }, boxMark(model, boxes[2], 0)));
  assert.match(said(5), /OSError: no space/);
  assert.match(said(2), /"end: t-8".*"6: t-7"/);
  assert.match(said(7), /attempt.*"2".*run\.fail\(\\"count words\[0\]\\"\)/);
  assert.equal(tips.summary(model, { ...initial(), boxes, t: 9 }).split(":")[0], "job words is finished");
});

test("times and marks in words", () => {
  assert.deepEqual([null, 2 ** 63, -(2 ** 63), 1234].map(timeWords), ["–", "∞", "–", "1,234"]);
  assert.equal(markWords("records", 1), "1 record");
  assert.equal(markWords("end-of-data", 0), "end of data (no drain)");
});
