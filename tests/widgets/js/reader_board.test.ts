// The reader board: owners, moves, waits, checkpoints, lanes and their rows, reasons, picking.
import assert from "node:assert/strict";
import { test } from "node:test";
import { marks, pick } from "../../../widgets/reader_board/interaction.ts";
import * as layout from "../../../widgets/reader_board/layout.ts";
import { FORMATS, GroupModel, type Move, NOBODY, STATES } from "../../../widgets/reader_board/model.ts";
import * as moment from "../../../widgets/reader_board/moment.ts";
import { planOf, rowsOf, stacked } from "../../../widgets/reader_board/plan.ts";
import { initial } from "../../../widgets/reader_board/state.ts";
import { table } from "../../../widgets/reader_board/table.ts";
import * as words from "../../../widgets/reader_board/words.ts";
import { boxFor, give } from "./support.ts";

const OPEN = Number.POSITIVE_INFINITY;
const RUNNING = STATES.indexOf("running");
const COMPLETED = STATES.indexOf("completed");
const ALL = { only: "", sort: "joined" } as const;
const MARKUP = "<img src=x>";
const MOVES: Move[] = [
  [1, 0, 0, 0, 0, 0, 1, "start", "fair share", "inferred", []],
  [1, 0, 0, 1, 0, 0, 1, "start", "fair share", "inferred", []],
  [7, 6, 0, 0, 0, 1, 2, `left${MARKUP}`, "r1 went", "logged", []],
  [12, 11, 0, 2, 1, 2, 2, "successor", "predecessors read", "inferred", [0]],
];

/** r1 holds #0 and #1 and dies at 6 s; r2 takes #0, reads it, and takes its successor #2; #1 is free for long. */
function story(): GroupModel {
  const model = new GroupModel();
  const nan = Number.NaN;
  give(model.store, FORMATS, {
    kind: "snapshot",
    tables: {
      readers: [
        [0, nan, nan, nan],
        [1, 500, 18, 20],
      ],
      lags: [
        [0, 2, 100, 1],
        [0, 4, 300, 2],
        [1, 8, 200, 7],
      ],
      bars: [
        [0, 0, 0, 0, 0, 0, 1],
        [1, 0, 0, 1, 0, 0, 1],
        [2, 1, 0, 0, 0, 1, 6],
        [3, 1, 0, 1, 0, 1, 6],
        [4, 0, 0, 0, 0, 6, 7],
        [5, 0, 0, 1, 0, 6, OPEN],
        [6, 2, 0, 0, 0, 7, 11],
        [7, 2, 0, 2, 1, 12, OPEN],
        [8, 2, 0, 1, 0, 9, 9], // taken and released at once
      ],
      checkpoints: [
        [0, 3, 3, 0, 0], // which no reader saw
        [1, 3, 5, COMPLETED, 1],
        [2, 14, OPEN, RUNNING, 2],
      ],
      owed: [
        [1, 0],
        [2, 0],
        [2, 1],
      ],
      passes: [
        [1, 0, 5, 0],
        [2, 0, 15, 1],
      ],
    },
    facts: {
      group: "demo/readers",
      streams: ["demo/a"],
      ticking: true,
      origin_ms: 0,
      now_s: 20,
      "wait 0": ["demo/a", 2, 10, 12, "waits for #0"],
    },
    grown: {
      names: [
        [0, "host-r1"],
        [1, "host-r2"],
      ],
      presence: [
        [0.5, 0, "joined", "", ""],
        [2, 1, "joined", "", ""],
        [6, 0, "killed", "killed at 6 s", "done here"],
      ],
      checkpoint_names: [
        [1, "first"],
        [2, "second"],
      ],
      moves: MOVES,
    },
  });
  return model;
}

const numbersOf = (model: GroupModel, bars: readonly number[]) => bars.map((bar) => model.bar.number[bar]);

test("who holds what at a moment, and what nobody has", () => {
  const model = story();
  const at = (t: number) => [
    numbersOf(model, moment.heldAt(model, 0, t)),
    numbersOf(model, moment.heldAt(model, 1, t)),
    numbersOf(model, moment.freeAt(model, t)),
  ];
  assert.deepEqual(at(0.5), [[], [], [0, 1]]);
  assert.deepEqual(at(3), [[0, 1], [], []]);
  assert.deepEqual(at(6.5), [[], [], [0, 1]]);
  assert.deepEqual(at(9), [[], [0], [1]]);
  assert.deepEqual(at(13), [[], [2], [1]]);
  assert.deepEqual(moment.fairShare(model, 3), 1);
  assert.deepEqual(moment.fairShare(model, 9), 2);
  assert.deepEqual(moment.fairShare(model, 0.1), Number.NaN); // before any reader joined
});

test("a reader's state in a word, from before it joined until after its death", () => {
  const model = story();
  const [r1, r2] = model.readers as [never, never];
  assert.deepEqual(
    [0.1, 0.7, 2, 4, 5.5, 7].map((t) => moment.stateWord(model, r1, t)),
    ["", "idle", "reading", "checkpoint", "reading", "killed"],
  );
  assert.deepEqual(
    [2.5, 8, 16].map((t) => moment.stateWord(model, r2, t)),
    ["idle", "reading", "checkpoint"],
  );
  assert.equal(moment.summary(model, 9), "demo/readers: 1 of 2 readers online, 1 segment that nobody has");
});

test("a reader that comes back has a second session", () => {
  const model = story();
  give(model.store, FORMATS, { grown: { presence: [[10, 0, "joined", "", ""]] } });
  const r1 = model.readers[0]!;
  assert.deepEqual(
    [5, 8, 11].map((t) => moment.isOnline(r1, t)),
    [true, false, true],
  );
  assert.deepEqual(
    r1.online.map((s) => [s.from, s.to, s.how]),
    [
      [0.5, 6, "killed"],
      [10, OPEN, ""],
    ],
  );
});

test("checkpoints are counted without those that no reader saw, and wait for those who owe them", () => {
  const model = story();
  assert.deepEqual(
    [...model.numbers],
    [
      [1, 1],
      [2, 2],
    ],
  );
  const at = (c: number, t: number) => [moment.checkpointState(model, c, t), moment.checkpointWord(model, c, t)];
  assert.deepEqual(at(1, 4), ["running", "0 of 1"]);
  assert.deepEqual(at(1, 5), ["completed", "✓"]);
  assert.deepEqual(at(2, 16), ["running", "1 of 2"]);
  assert.deepEqual(
    [0, 1].map((reader) => moment.waitsFor(model, 2, reader, 16)),
    [false, true],
  );
  assert.deepEqual(moment.owes(model, 1, 16), [2]);
  assert.deepEqual(moment.owes(model, 1, 13), []);
});

test("unread bytes are those of the last measurement; at the newest moment those of the reader's row", () => {
  const model = story();
  assert.deepEqual(
    [1, 2, 3.9, 99].map((t) => moment.lagAt(model, 0, t, false)[0]),
    [Number.NaN, 100, 100, 300],
  );
  assert.deepEqual(moment.lagAt(model, 1, 20, true), [500, 18]);
});

test("what is held at the same time is in different rows, and a row is used again", () => {
  const rows = stacked([
    { key: 0, start: 0, end: 5 },
    { key: 1, start: 2, end: 9 },
    { key: 2, start: 5, end: 6 },
    { key: 3, start: 1, end: 3 },
  ]);
  assert.deepEqual([...rows.rows].sort(), [
    [0, 0],
    [1, 2],
    [2, 0],
    [3, 1],
  ]);
  assert.equal(rows.n, 3);
  assert.equal(stacked([]).n, 1);
});

test("in nobody's lane what waits is below what is free", () => {
  const model = story();
  const { rows, n } = rowsOf(model, NOBODY);
  assert.deepEqual([n, rows.get("wait 0")], [3, 2]);
  assert.equal(rows.has(8), false); // it lasted no time
});

test("lanes: nobody's first, then readers by choice and order", () => {
  const model = story();
  const names = (only: string, sort: "joined" | "lag" | "held" | "name") =>
    planOf(model, { only, sort }).lanes.map((lane) => model.laneName(lane.reader));
  assert.deepEqual(names("", "joined"), ["nobody", "host-r1", "host-r2"]);
  assert.deepEqual(names("", "held"), ["nobody", "host-r2", "host-r1"]);
  assert.deepEqual(names("", "lag"), ["nobody", "host-r2", "host-r1"]);
  assert.deepEqual(names("R2", "joined"), ["nobody", "host-r2"]);
  const { lanes, bottom } = planOf(model, ALL);
  assert.ok(lanes.every((lane, k) => lane.y + lane.h === (lanes[k + 1]?.y ?? bottom)));
});

test("of too many readers, those that went last and the busiest have lanes", () => {
  const model = new GroupModel();
  const n = 100;
  const many = Array.from({ length: n }, (_, i) => i);
  give(model.store, FORMATS, {
    facts: { now_s: 50, group: "g" },
    tables: { bars: many.slice(60).map((i, k) => [k, i + 1, 0, i, 0, 1, OPEN]) },
    grown: {
      names: many.map((i) => [i, `r${i}`]),
      presence: [
        ...many.map((i) => [0, i, "joined", "", ""]),
        ...many.slice(0, 10).map((i) => [10 + i, i, "left", "", ""]),
      ],
    },
  });
  const { lanes, shown, all } = planOf(model, ALL);
  assert.deepEqual([shown, all], [30, 100]);
  const readers = lanes.slice(1).map((lane) => lane.reader - 1);
  assert.deepEqual(readers.slice(0, 6), [5, 6, 7, 8, 9, 60]);
  const plan = planOf(model, ALL);
  assert.equal(words.leftOut(model, plan), "the busiest 30 of 100 readers drawn, +70");
});

test("a bar that lasts ends at now; what is outside the screen has no rectangle", () => {
  const model = story();
  const b = boxFor(0, 20_000, 20_000);
  const { of } = planOf(model, ALL);
  const lane = of.get(2)!;
  const [x, , w] = layout.barRectangle(model, b, lane, 7, 15)!;
  assert.deepEqual([x, x + w], [b.x(12_000), b.x(15_000)]);
  assert.equal(layout.barRectangle(model, b, lane, 7, 11.9), null);
  assert.equal(layout.barRectangle(model, boxFor(0, 5000), lane, 7, 15), null);
});

test("a connector joins the end of the old bar with the start of the new one", () => {
  const model = story();
  const b = boxFor(0, 20_000, 20_000);
  const plan = planOf(model, ALL);
  const [x0, y0, x1, y1] = layout.connector(model, b, plan, MOVES[2], 20)!;
  assert.deepEqual([x0, x1], [b.x(6000), b.x(7000)]);
  const middle = (lane: number, bar: number) => {
    const r = layout.barRectangle(model, b, plan.of.get(lane)!, bar, OPEN)!;
    return r[1] + r[3] / 2;
  };
  assert.deepEqual([y0, y1], [middle(1, 2), middle(2, 6)]);
  assert.equal(layout.connector(model, b, plan, MOVES[2], 6.5), null); // not yet
  assert.equal(layout.connector(model, b, planOf(model, { ...ALL, only: "r2" }), MOVES[2], 20), null);
  assert.equal(layout.movesOn(model, boxFor(8000, 13_000, 13_000), 13).length, 1);
});

test("reasons: newest first, none for a move within a lane, whole or reduced to what moved", () => {
  const model = story();
  const b = boxFor(0, 20_000, 20_000);
  const placed = (each: number) =>
    layout.placeReasons(model, b, 20, (text) => each * text.length).map((r) => [r.text, r.line]);
  const [newest, ...starts] = [MOVES[2], MOVES[1], MOVES[0]].map((move) => model.moveText(move));
  assert.deepEqual(placed(4), [
    [newest, 0],
    [starts[0], 0],
    [starts[1], 1],
  ]);
  assert.deepEqual(placed(30)[0], [model.moveTitle(MOVES[2]), 0]);
  assert.deepEqual(placed(200), []);
});

test("a narrow view says in a table what the columns would, and the arrow keys reach every reason", () => {
  const model = story();
  const said = JSON.stringify(table(model, planOf(model, ALL), 20, false));
  for (const word of ["reader", "held/fair", "unread", "1. ", "host-r1", "killed", "nobody"])
    assert.ok(said.includes(word), word);
  const reasons = marks(model, { ...initial(), t: 20 }).map((mark) => words.say(model, 20, mark));
  assert.ok(reasons.includes(model.moveText(MOVES[2])));
});

test("the pointer finds bars, checkpoints, moves, and the reader of an empty place", () => {
  const model = story();
  const b = boxFor(0, 20_000, 20_000);
  const state = { ...initial(), t: 20 };
  const { of, bottom } = planOf(model, ALL);
  const [r1, r2] = [of.get(1)!, of.get(2)!];
  const at = (ms: number, y: number) => pick(model, state, b.x(ms), y, b)?.key;
  assert.equal(at(9000, r2.y + 5), "demo/a/#0 e0");
  assert.equal(at(16_000, r2.y + 5), "demo/a/#2 e1");
  assert.equal(at(16_000, r1.y + 5), "reader host-r1");
  assert.equal(at(3000, r1.y + 5), "checkpoint first");
  assert.equal(at(7000, bottom + 20), "move 7 0 0");
  assert.equal(at(16_000, of.get(NOBODY)!.y - 5), undefined);
  assert.deepEqual(
    marks(model, state).map((m) => m.key),
    ["reader host-r1", "reader host-r2", "move 7 0 0", "move 1 0 1", "move 1 0 0"],
  );
});

test("the text of a move is text", () => {
  const model = story();
  const said = words.tip(model, 20, model.moveMark(MOVES[2]))!;
  const cells = JSON.stringify(said);
  assert.ok(cells.includes(`"children":["left${MARKUP}"]`));
  assert.ok(!cells.includes('"tag":"img"'));
  assert.equal(words.say(model, 20, model.moveMark(MOVES[2])), "#0 host-r1 → host-r2: r1 went (logged)");
});

test("words: a dead reader with its cause, a segment with who had it, a checkpoint with who passed", () => {
  const model = story();
  assert.equal(words.say(model, 8, model.readerMark(0, 8)), "reader host-r1, killed, killed at 6 s");
  assert.equal(words.say(model, 8, model.readerMark(1, 8)), "reader host-r2, reading, holds #0, unread 200 B");
  const segment = JSON.stringify(words.tip(model, 8, model.segmentMark(2)));
  assert.match(segment, /nobody.*host-r1.*for 5\.00 s.*nobody.*host-r2.*until now/);
  const checkpoint = JSON.stringify(words.tip(model, 16, model.checkpointMark(2)));
  assert.match(checkpoint, /checkpoint 2.* running.*second.*1 of 2.*host-r1.*1,000 ms, by leaving/);
  assert.equal(words.tip(model, 16, { ...model.readerMark(0, 8), group: "other" } as never), null);
});
