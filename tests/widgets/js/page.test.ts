// The parts that all views share: scale, rows, moments, text, legend, escape.
import assert from "node:assert/strict";
import { test } from "node:test";
import { merged } from "../../../widgets/page/data/moments.ts";
import { Table } from "../../../widgets/page/data/rows.ts";
import { lastUntil, Store } from "../../../widgets/page/data/store.ts";
import { ink, mix } from "../../../widgets/page/drawing/colours.ts";
import { bytes, count, seconds, wallTime } from "../../../widgets/page/drawing/format.ts";
import { ticks, timeTicks } from "../../../widgets/page/drawing/scale.ts";
import { commonStart, firstFit, placeLabels, shortName } from "../../../widgets/page/drawing/text.ts";
import { create, pairs, piece } from "../../../widgets/page/elements.ts";
import { stateOf } from "../../../widgets/page/header.ts";
import { hearAlways } from "../../../widgets/page/hearing.ts";
import { legendPieces } from "../../../widgets/page/legend.ts";
import { Clock, type Member } from "../../../widgets/page/time/clock.ts";
import { stepAt } from "../../../widgets/page/time/member.ts";
import { momentTicks } from "../../../widgets/page/time/scrubber.ts";
import { placed } from "../../../widgets/page/tooltip.ts";
import { boxFor, give, packed } from "./support.ts";

const measure = { measureText: (text: string) => ({ width: 10 * text.length }) as TextMetrics };

test("a time axis has seconds, and minutes and hours where it is long", () => {
  const labels = (a: number, b: number, n: number): string[] => timeTicks(a, b, n).map(([, label]) => label);
  assert.deepEqual(labels(0, 100, 5), ["0 s", "20 s", "40 s", "60 s", "80 s", "100 s"]);
  assert.deepEqual(labels(0, 3600, 6), ["0 s", "10 min", "20 min", "30 min", "40 min", "50 min", "1 h"]);
  assert.deepEqual(labels(4000, 9000, 4), ["1:30 h", "2 h", "2:30 h"]);
  assert.deepEqual(labels(0, 12 * 3600, 7), ["0 s", "2 h", "4 h", "6 h", "8 h", "10 h", "12 h"]);
  assert.deepEqual(labels(40_000, 40_020, 2), ["11:06:40 h", "11:06:50 h", "11:07 h"]);
  assert.deepEqual(labels(700, 702, 2), ["11:40 min", "11:41 min", "11:42 min"]);
  assert.deepEqual(labels(700, 700.4, 2), ["700 s", "700.2 s", "700.4 s"]);
  assert.deepEqual(labels(0, 900, 8), ["0 s", "2 min", "4 min", "6 min", "8 min", "10 min", "12 min", "14 min"]);
  assert.deepEqual(labels(590, 620, 3), ["590 s", "600 s", "610 s", "620 s"]);
  assert.deepEqual(labels(0, 40 * 86_400, 4), ["0 s", "240 h", "480 h", "720 h", "960 h"]);
});

test("ticks are round, within the ends, and not too many", () => {
  assert.deepEqual(ticks(0, 100, 10), [0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]);
  assert.deepEqual(ticks(3, 17, 4), [5, 10, 15]);
  assert.deepEqual(ticks(0.02, 0.05, 3), [0.02, 0.03, 0.04, 0.05]);
});

test("a box maps times to pixels and back", () => {
  const b = boxFor(1000, 3000);
  assert.equal(b.x(1000), b.left);
  assert.equal(b.x(3000), b.right);
  assert.equal(b.time(b.x(1700)), 1700);
});

test("a table grows, keeps what it has, and replaces keyed rows", () => {
  const format = "index:u t:f";
  const table = new Table(format, true);
  const all = Array.from({ length: 700 }, (_, i) => [i, i / 2]);
  assert.equal(table.put(packed(format, all)), 0);
  assert.equal(
    table.put(
      packed(format, [
        [3, 99],
        [700, 1],
      ]),
    ),
    700,
  );
  assert.equal(table.n, 701);
  assert.deepEqual([table.col.t[3], table.col.t[699], table.col.t[700]], [99, 349.5, 1]);
});

test("rows that begin within a larger buffer are read from there", () => {
  const whole = new Uint8Array([...new Uint8Array(8), ...new Uint8Array(packed("t:f", [[5]]))]);
  const table = new Table("t:f");
  table.put(whole.subarray(8));
  assert.equal(table.col.t[0], 5);
});

test("a snapshot replaces everything, a delta adds", () => {
  const formats = { points: { format: "t:f" } } as const;
  const learned: [string, number][] = [];
  const store = new Store(formats, (name, first) => learned.push([name, first]));
  give(store, formats, { tables: { points: [[1], [2]] }, facts: { title: "a" }, grown: { list: [1] } });
  give(store, formats, { tables: { points: [[3]] }, grown: { list: [2, 3] } });
  assert.equal(store.tables.points.n, 3);
  assert.deepEqual(store.lists, { list: [1, 2, 3] });
  give(store, formats, { kind: "snapshot", tables: { points: [[4]] } });
  assert.equal(store.tables.points.n, 1);
  assert.deepEqual([store.lists, store.facts], [{}, {}]);
  assert.deepEqual(learned, [
    ["points", 0],
    ["points", 2],
    ["", 0],
    ["points", 0],
  ]);
});

test("the last row until a time is found by bisection", () => {
  const at = Float32Array.of(9, 1, 2, 2, 5);
  const rows = [1, 2, 3, 4];
  assert.deepEqual(
    [0, 1, 2, 4.9, 5, 7].map((t) => lastUntil(rows, at, t)),
    [-1, 1, 3, 3, 4, 4],
  );
});

test("steps go to the nearest observation in a direction", () => {
  const store = new Store({});
  give(
    store,
    { steps: { format: "t:f seq:u" } },
    {
      tables: {
        steps: [
          [1, 10],
          [2, 20],
          [4, 40],
        ],
      },
    },
  );
  assert.deepEqual([stepAt(store, 0, 1500, 1), stepAt(store, 0, 1500, -1), stepAt(store, 0, 500, -1)], [1, 0, -1]);
});

const moment = (time: number, text: string, kind = "split") => ({ time, kind, text, hasCut: false });

test("moments that two journals report are there once", () => {
  const found = merged([
    [moment(100, "a"), moment(9000, "a")],
    [moment(120, "a"), moment(50, "b")],
  ]);
  assert.deepEqual(
    found.map((m) => m.time),
    [50, 100, 9000],
  );
});

test("the scrubber draws one tick per pixel and kind", () => {
  const moments = [moment(0, "a"), moment(1, "b"), moment(1, "c", "failure"), moment(1000, "d")];
  assert.deepEqual(momentTicks({ start: 0, newest: 1000, moments }, 116), [
    [8, "split"],
    [8, "failure"],
    [108, "split"],
  ]);
});

function member(origin: number, now: number, live = false): Member {
  const silent = { observed: () => -1, step: () => null, onClock: () => {} };
  return {
    journal: undefined,
    ticking: true,
    origin,
    now,
    live,
    moments: () => [moment(origin + 500, "x")],
    ...silent,
  };
}

test("a clock spans all its views, zooms at a moment, and jumps between moments", () => {
  const clock = new Clock("test");
  clock.join(member(1000, 5000));
  clock.join(member(2000, 9000));
  assert.deepEqual(clock.span, [1000, 9000]);
  clock.zoomAt(3000, 0.5);
  assert.deepEqual(clock.span, [2000, 6000]);
  clock.zoomAt(3000, 100);
  assert.equal(clock.zoom, null);
  clock.seek(0);
  assert.equal(clock.at, 1000);
  assert.equal(clock.jump(1)?.time, 1500);
  assert.equal(clock.jump(-1), undefined);
  clock.seek(1e9);
  assert.equal(clock.at, 9000); // nothing is live: it stays at the end instead of following
});

test("a live clock follows its end, also while zoomed", () => {
  const clock = new Clock("live");
  const view = member(0, 10_000, true);
  clock.join(view);
  clock.zoomAt(10_000, 0.5);
  view.now = 20_000;
  assert.deepEqual(clock.span, [15_000, 20_000]);
  clock.seek(20_000);
  assert.equal(clock.at, null);
});

test("names lose what they share, then are numbers; no text is cut", () => {
  assert.equal(commonStart(["group-reader-1", "group-reader-2"]), "group-reader-".length);
  assert.equal(commonStart(["alpha", "alps"]), 0);
  assert.equal(shortName(measure, "group-reader-1", 100, 6, 1), "reader-1");
  assert.equal(shortName(measure, "abcdefgh", 50, 0, 12), "12.");
  assert.equal(firstFit(measure, 50, "abcdefgh", "abcd"), "abcd");
  assert.equal(firstFit(measure, 5, "abcdefgh", "abcd"), "");
});

test("labels stay inside, apart, and whole", () => {
  const area = { left: 40, right: 440, lines: 2, least: 3 };
  const labels = Array.from({ length: 40 }, (_, k) => ({
    x: 430 - 10 * k,
    forms: [`label ${k}: a long reason`, `l ${k}`],
  }));
  const width = (text: string) => 6 * text.length;
  const placed = placeLabels(labels, area, width);
  assert.ok(placed.length >= 4);
  for (const { x, text, line } of placed) {
    assert.ok(labels.some(({ forms }) => forms.includes(text)));
    assert.ok(x >= area.left - 1 && x + width(text) <= area.right, text);
    for (const other of placed)
      if (other !== placed.find((p) => p.text === text) && other.line === line)
        assert.ok(other.x > x + width(text) || other.x + width(other.text) < x, `${text} on ${other.text}`);
  }
});

test("of very many labels few are measured", () => {
  const labels = Array.from({ length: 5000 }, (_, k) => ({ x: 440 - 0.08 * k, forms: [`label ${k}`] }));
  let measured = 0;
  const width = (text: string) => {
    measured += 1;
    return 6 * text.length;
  };
  const placed = placeLabels(labels, { left: 40, right: 440, lines: 2, least: 3 }, width);
  assert.ok(placed.length >= 10);
  assert.ok(measured <= 2 * placed.length, `${measured} measured for ${placed.length}`);
});

test("a narrow view gives its columns up, at every scale", () => {
  const box = (width: number, scale: number) => boxFor(0, 1000, 1000, { scale, width, height: 400 });
  assert.deepEqual([box(1000, 1).folded, box(1000, 1).right], [false, 760]);
  assert.deepEqual([box(450, 1).folded, box(450, 1).right], [true, 436]);
  assert.ok(box(1000, 1.5).folded);
});

test("numbers, sizes and times in words", () => {
  assert.deepEqual([1234567, 3.14, 12.6, null, Number.NaN].map(count), ["1,234,567", "3.1", "13", "–", "–"]);
  assert.deepEqual([512, 2048, 15 * 2 ** 20].map(bytes), ["512 B", "2.0 KiB", "15 MiB"]);
  assert.deepEqual([1500, 65_000, 150_000, 3_725_000].map(seconds), ["1.50 s", "65.0 s", "2:30 min", "1:02:05 h"]);
  assert.equal(wallTime(5000), "");
  const [evening, morning] = [new Date(2026, 10, 28, 23, 59, 58, 7), new Date(2026, 10, 29, 0, 0, 2)];
  assert.equal(wallTime(evening.getTime(), String(evening)), "23:59:58.007");
  assert.equal(wallTime(evening.getTime(), String(morning)), "2026-11-28 23:59:58.007"); // the lab was open at midnight
});

test("colours mix, and ink is readable on both ends", () => {
  assert.equal(mix("#000000", "#ffffff", 0.5), "#808080");
  assert.deepEqual([ink("#ffffff"), ink("#101010")], ["#000000", "#ffffff"]);
});

test("a legend has seven entries, then a count", () => {
  const entries = Array.from({ length: 9 }, (_, i) => ["#000", `reader ${i}`] as const);
  const said = JSON.stringify(legendPieces(entries, "12 of 40 drawn"));
  assert.match(said, /reader 6/);
  assert.doesNotMatch(said, /reader 7/);
  assert.match(said, /\+2.*12 of 40 drawn/);
  const eight = JSON.stringify(legendPieces(entries.slice(0, 8)));
  assert.match(eight, /reader 7/);
  assert.doesNotMatch(eight, /\+1/);
});

test("a tooltip stays within the view", () => {
  const b = { width: 450, height: 300 };
  assert.deepEqual(placed({ x: 400, y: 290 }, 120, 80, b), { x: 268, y: 218 });
  assert.deepEqual(placed({ x: 10, y: 10 }, 120, 80, b), { x: 26, y: 22 });
});

// A page of which only the text and the tree are looked at.
class Fake {
  tag = "";
  attributes: Record<string, string> = {};
  children: unknown[] = [];
  setAttribute(name: string, value: string) {
    this.attributes[name] = value;
  }
  append(...nodes: unknown[]) {
    this.children.push(...nodes);
  }
}

test("text is text, whatever it contains, and no attribute runs a script", (t) => {
  const document = {
    createElement: (tag: string) => Object.assign(new Fake(), { tag }),
    createTextNode: (text: string) => ({ text }),
  };
  (globalThis as { document?: unknown }).document = document;
  t.after(() => {
    delete (globalThis as { document?: unknown }).document;
  });
  const hostile = '<img src=x onerror="alert(1)"><!--<script>';
  const table = create(pairs([["why", hostile]])) as unknown as Fake;
  const cell = ((table.children[0] as Fake).children[1] as Fake).children[0];
  assert.deepEqual(cell, { text: hostile });
  assert.throws(() => create(piece("b", { onclick: "alert(1)" })), /no view sets the attribute onclick/);
  assert.throws(() => create(piece("a", { href: "javascript:alert(1)" })), /href/);
});

test("a model hears the kernel by the class below anywidget's", async () => {
  const heard: unknown[] = [];
  class Widget {
    receive?: (message: unknown) => Promise<void>;
    comm = {
      on_msg: (handler: (message: unknown) => Promise<void>) => {
        this.receive = handler;
      },
    };
    async _handle_comm_msg(message: unknown): Promise<void> {
      heard.push(message);
    }
  }
  class Impatient extends Widget {
    override async _handle_comm_msg(): Promise<void> {
      throw new Error("[anywidget] Failed to initialize model.");
    }
  }
  const whole = new Impatient();
  const model = { widget_manager: { get_model: async () => whole } };
  assert.equal(await hearAlways(model, "an id"), true);
  await whole.receive?.("a message");
  assert.deepEqual(heard, ["a message"]);
  assert.equal(await hearAlways(model, undefined), false);
  assert.equal(await hearAlways({}, "an id"), false);
});

test("a view that is in trouble is not live, and a recording is never in trouble", () => {
  assert.equal(stateOf({}), "");
  assert.equal(stateOf({ live: true, trouble: "" }), "live");
  assert.equal(stateOf({ live: true, trouble: "no answer" }), "not live");
  assert.equal(stateOf({ live: false, trouble: "no answer" }), "recording");
});
