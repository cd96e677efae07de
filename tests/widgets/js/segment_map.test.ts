// The segment map: splits, merges, owners, cells, keys, geometry.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { mix, rgb } from "../../../widgets/page/drawing/colours.ts";
import { yOf } from "../../../widgets/page/drawing/scale.ts";
import { keyPosition } from "../../../widgets/segment_map/hashing.ts";
import { marks, pick } from "../../../widgets/segment_map/interaction.ts";
import * as layout from "../../../widgets/segment_map/layout.ts";
import { FORMATS, SegmentModel, WAITS } from "../../../widgets/segment_map/model.ts";
import { setPixels } from "../../../widgets/segment_map/paint/many.ts";
import { initial } from "../../../widgets/segment_map/state.ts";
import { table } from "../../../widgets/segment_map/table.ts";
import * as words from "../../../widgets/segment_map/words.ts";
import { boxFor, give } from "./support.ts";

const OPEN = Number.POSITIVE_INFINITY;
const UNKNOWN = 0xffffffff;

/** #0 and #1 begin; at 10 s #0 splits into #2 and #3; at 20 s #3 and #1 merge into #4. */
function story(): SegmentModel {
  const model = new SegmentModel();
  const nan = Number.NaN;
  give(model.store, FORMATS, {
    kind: "snapshot",
    tables: {
      segments: [
        [0, 0, 10, 0, 0.5, UNKNOWN],
        [1, 0, 20, 0.5, 1, UNKNOWN],
        [2, 10, OPEN, 0, 0.25, UNKNOWN],
        [3, 10, 20, 0.25, 0.5, UNKNOWN],
        [4, 20, OPEN, 0.25, 1, UNKNOWN],
      ],
      names: [0, 1, 2, 3, 4].map((i) => [i, i, i < 2 ? 0 : i < 4 ? 1 : 2, 0, nan, 0]),
      links: [
        [2, 0],
        [3, 0],
        [4, 3],
        [4, 1],
      ],
      rates: [
        [0, 1, 50, 500, 10, 100],
        [0, 5, 300, 3000, 900, 200],
        [1, 5, 20, 200, nan, 300],
        [2, 15, 120, 1200, 40, 50],
      ],
    },
    facts: {
      stream: "demo/a",
      rate_unit: "events/s",
      thresholds: [
        [100, "target"],
        [200, "2 × target"],
      ],
      readers: ["r1", "r2"],
      ticking: true,
      origin_ms: 0,
    },
    grown: {
      scales: [
        [10, "#0 → #2 #3: 300/s > 2 × 100/s", "inferred", "measured rate", [0], [2, 3]],
        [20, "#3 #1 → #4", "logged", "", [3, 1], [4]],
      ],
    },
  });
  return model;
}

test("a split has successors from its moment on, a merge has both predecessors", () => {
  const model = story();
  assert.deepEqual(model.after(0, 9), []);
  assert.deepEqual(model.after(0, 10), [2, 3]);
  assert.deepEqual(model.before(4), [3, 1]);
  assert.equal(model.scaleOf(3)?.[1], "#0 → #2 #3: 300/s > 2 × 100/s");
  assert.equal(model.scaleOf(0), undefined);
});

test("active segments at a moment, from the lowest key up, then scales, the newest first", () => {
  const model = story();
  const selected = (now: number) =>
    marks(model, boxFor(0, 30_000, now)).map((m) =>
      m.kind === "scale" ? m.key : (m as never as { number: number }).number,
    );
  assert.deepEqual(selected(5000), [0, 1]);
  assert.deepEqual(selected(15_000), [2, 3, 1, "scale 0"]);
  assert.deepEqual(selected(25_000), [2, 4, "scale 1", "scale 0"]);
  assert.equal(model.summary(15), "demo/a: 3 active segments, scaled 1 time");
});

test("the newest sample of a moment counts, and none from later", () => {
  const model = story();
  assert.deepEqual(
    [0.5, 1, 4.9, 5, 9].map((t) => model.sampleAt(0, t)),
    [-1, 0, 0, 1, 1],
  );
  assert.equal(model.unreadPeak, 900);
});

test("owners: a reader, nobody in a gap, waiting for predecessors", () => {
  const model = story();
  assert.equal(model.ownerWords(2, 12), "");
  give(model.store, FORMATS, {
    facts: { has_group: true },
    tables: {
      owners: [
        [0, 0, 1, 0, 4],
        [1, 0, 0, 4, 6],
        [2, 0, 2, 6, OPEN],
        [3, 2, WAITS, 11, 12],
        [4, 2, 1, 12, OPEN],
      ],
    },
    grown: { waits: [[3, "waits for the reader of #0"]] },
  });
  assert.deepEqual(
    [1, 5, 7].map((t) => model.ownerWords(0, t)),
    ["r1", "nobody", "r2"],
  );
  assert.deepEqual(
    [10.5, 11.5, 12.5].map((t) => model.ownerWords(2, t)),
    ["waits for #0", "waits for the reader of #0", "r1"],
  );
  assert.equal(model.ownerWords(4, 21), "waits for #3 #1");
  assert.deepEqual(model.stretches(0, 5), [
    [1, 0, 4],
    [0, 4, 5],
  ]);
});

test("an owner's end that becomes known later replaces its row", () => {
  const model = story();
  give(model.store, FORMATS, { tables: { owners: [[0, 1, 1, 0, OPEN]] } });
  assert.equal(model.ownerWords(1, 8), "r1");
  give(model.store, FORMATS, { tables: { owners: [[0, 1, 1, 0, 6]] } });
  assert.equal(model.ownerWords(1, 8), "");
});

test("a key's path follows splits and merges; the first segment also owns 0", () => {
  const model = story();
  assert.deepEqual(model.pathOf(0.3, 30), [0, 3, 4]);
  assert.deepEqual(model.pathOf(0.3, 12), [0, 3]);
  assert.deepEqual(model.pathOf(0.25, 30), [0, 2]); // (low, high]
  assert.deepEqual(model.pathOf(0, 30), [0, 2]);
  assert.equal(model.keyPath("a", -1).split(": ")[1], "no segment yet");
});

test("keys are placed as the client places them", () => {
  const file = readFileSync(new URL("./key_positions.json", import.meta.url), "utf8"); // test_views.py checks the file
  for (const [key, position] of Object.entries(JSON.parse(file))) assert.equal(keyPosition(key), position, key);
});

test("rectangles: a sealed segment ends before its successors, an open one at now", () => {
  const model = story();
  const b = boxFor(0, 30_000, 25_000);
  const { map } = layout.layout(b);
  const [x, y, w, h] = layout.rectangle(model, b, map, 0, 25);
  assert.deepEqual([x, x + w], [b.left, b.x(10_000) - 1]);
  assert.ok(Math.abs(y + h / 2 - yOf(map, 0.25)) < 1);
  const open = layout.rectangle(model, b, map, 4, 25);
  assert.equal(open[0] + open[2], b.x(25_000));
});

test("the pointer finds the segment under it, and the scale in the lane", () => {
  const model = story();
  const b = boxFor(0, 30_000, 25_000);
  const { map, lane } = layout.layout(b);
  assert.equal(pick(model, b.x(12_000), yOf(map, 0.3), b)?.key, "demo/a/#3 e1");
  assert.equal(pick(model, b.right + 20, yOf(map, 0.3), b)?.key, "demo/a/#4 e2");
  assert.equal(pick(model, b.x(10_000) + 3, lane.top + 2, b)?.key, "scale 0");
  assert.equal(pick(model, b.x(15_000), lane.top + 2, b), null);
});

test("what ended before the screen begins is not visible", () => {
  assert.deepEqual([...layout.visible(story(), boxFor(12_000, 18_000, 18_000))], [1, 2, 3]);
});

test("the strip shows the busiest segment of each pixel", () => {
  const model = story();
  const b = boxFor(0, 30_000, 30_000);
  const columns = layout.busiest(model, b, layout.visible(model, b), 30);
  const at = (s: number) => columns[Math.floor(b.x(1000 * s) - Math.floor(b.left))];
  assert.deepEqual([0.5, 3, 8, 16].map(at), [50, 300, 300, 120]);
});

test("no rate is shown of the time before an observer looked", () => {
  const model = new SegmentModel();
  give(model.store, FORMATS, {
    kind: "snapshot",
    tables: { segments: [[0, 0, OPEN, 0, 1, UNKNOWN]], rates: [[0, 20, 50, 500, 0, 0]] },
    facts: { rate_unit: "events/s", ticking: true, origin_ms: 0 },
  });
  const b = boxFor(0, 30_000, 30_000);
  const columns = layout.busiest(model, b, layout.visible(model, b), 30);
  const at = (s: number) => columns[Math.floor(b.x(1000 * s) - Math.floor(b.left))];
  assert.deepEqual([3, 17, 19, 25].map(at), [0, 0, 50, 50]);
});

test("of very many open segments one per line of the gutter is kept", () => {
  const model = new SegmentModel();
  const rows = Array.from({ length: 1000 }, (_, i) => [i, 0, OPEN, i / 1000, (i + 1) / 1000, UNKNOWN]);
  give(model.store, FORMATS, { tables: { segments: rows } });
  const map = { top: 0, bottom: 260 };
  const all = layout.opened(model, layout.visible(model, boxFor(0, 1000)), 1);
  assert.equal(all.length, 1000);
  assert.equal(layout.thinned(model, all, map, 13).length, 20);
  const shown = layout.gutterRows(model, all, map, 13);
  assert.ok(shown.length >= 10 && shown.length <= 20);
  assert.ok(shown.every(([, y], k) => !k || y - shown[k - 1][1] >= 12.5));
});

test("of very many segments each pixel has the colour of the last one that covers it", () => {
  const model = new SegmentModel();
  let seed = 1;
  const random = () => {
    seed = (seed * 16807) % 2147483647;
    return seed / 2147483647;
  };
  // In no order of time, and with gaps, as no stream has them.
  const rows = Array.from({ length: 300 }, (_, i) => {
    const [start, low] = [30 * random(), 0.9 * random()];
    return [i, start, random() < 0.3 ? OPEN : start + 8 * random(), low, low + 0.1 * random(), UNKNOWN];
  });
  give(model.store, FORMATS, { tables: { segments: rows } });
  const { start, end, low, high } = model.seg;
  const fillOf = (i: number) => `#${(0x100000 + 7919 * i).toString(16)}`;
  const [width, height] = [90, 40];
  for (const [from, to, now] of [
    [0, 32_000, 32_000],
    [0, 40_000, 32_000], // before the newest
    [10_000, 10_020, 6e8], // zoomed, long ago
  ]) {
    const b = boxFor(from, to, now);
    const [list, t] = [layout.visible(model, b), now / 1000];
    const pixels = new Uint32Array(width * height).fill(1);
    setPixels(pixels, width, height, { b, model, list, t }, fillOf);
    const expected = new Uint32Array(width * height);
    for (const i of list) {
      const [r, g, blue] = rgb(end[i] > t ? fillOf(i) : mix(b.theme.ground, fillOf(i), 0.6));
      const column = (s: number) => Math.floor((s - from / 1000) * (width / ((to - from) / 1000)));
      const [left, top] = [Math.max(0, column(start[i])), Math.floor((1 - high[i]) * height)];
      const right = Math.min(width, Math.max(left + 1, column(Math.min(end[i], t))));
      const bottom = Math.max(top + 1, Math.floor((1 - low[i]) * height));
      for (let y = top; y < bottom; y++)
        expected.fill(((255 << 24) | (blue << 16) | (g << 8) | r) >>> 0, y * width + left, y * width + right);
    }
    assert.deepEqual(pixels, expected);
    assert.ok(new Set(expected).size > 20 && expected.includes(0));
  }
});

test("causes are whole or reduced to the scale, in the lowest line with room, and never cut", () => {
  const width = (text: string) => 6 * text.length;
  const placed = layout.placeCauses(
    [
      [960, "#3 → #4 #5: 210/s > 2 × 100/s"],
      [880, "middle one"],
      [300, "early"],
      [52, "#0 → #1: by hand"],
    ],
    { left: 46, right: 1000, scale: 1 },
    width,
  );
  assert.deepEqual(
    placed.map((c) => [c.text, c.line]),
    [
      ["#3 → #4 #5: 210/s > 2 × 100/s", 0], // left of its tick
      ["middle one", 1],
      ["early", 0],
      ["#0 → #1: by hand", 0],
    ],
  );
  const crowded = layout.placeCauses([[60, "#0 → #1: by hand"]], { left: 46, right: 130, scale: 1 }, width);
  assert.deepEqual(
    crowded.map((c) => c.text),
    ["#0 → #1"],
  );
});

test("a narrow view has a table in place of the columns on its right", () => {
  const model = story();
  const said = JSON.stringify(table(model, boxFor(0, 25_000, 25_000, { scale: 1, width: 450, height: 400 }), 25));
  for (const word of ["segment", "keys", "events/s", "#2", "120/s"]) assert.ok(said.includes(word), word);
});

test("words: range, rate with its unit, cause with its kind", () => {
  const model = story();
  const state = { ...initial(), t: 25 };
  assert.equal(words.say(model, state, model.markOf(2)), "segment #2 e1, keys 0.000 to 0.2500, active, 120/s");
  const said = JSON.stringify(words.tip(model, state, model.markOf(3)));
  assert.match(said, /#0 → #2 #3: 300\/s > 2 × 100\/s .*\(inferred: measured rate\)/);
  assert.equal(words.tip(model, state, { ...model.markOf(3), stream: "demo/other" } as words.MapMark), null);
});

test("a key range has a shorter form where columns are narrow", () => {
  const model = story();
  const { low, high } = model.store.tables.segments.col;
  [low[0], high[0]] = [1 / 3, 2 / 3];
  assert.deepEqual([model.range(0), model.range(0, 2)], ["0.333–0.667", "0.33–0.67"]);
  [low[0], high[0]] = [0.501, 0.502];
  assert.equal(model.range(0, 2), "0.501–0.502");
});

test("what was truncated is explained in the tooltip, aloud and in the legend", () => {
  const model = story();
  const theme = boxFor(0, 1).theme;
  const names = () => words.legend(model, initial(), theme).map(([, name]) => name);
  assert.equal(names().includes("truncated"), false);
  give(model.store, FORMATS, { kind: "delta", tables: { names: [[0, 0, 0, 0, 10, 0]] } });
  assert.equal(names().at(-1), "truncated");
  const state = { ...initial(), t: 25 };
  assert.match(words.say(model, state, model.markOf(0)), /sealed, truncated in part or as a whole/);
  assert.match(JSON.stringify(words.tip(model, state, model.markOf(0))), /"truncated".*until about 10.0 s/);
});

test("what is in tier 2 has an edge, and the bytes per tier are in words", () => {
  const model = story();
  const theme = boxFor(0, 1).theme;
  const names = () => words.legend(model, initial(), theme).map(([, name]) => name);
  const state = { ...initial(), t: 25 };
  assert.ok(!names().some((name) => name.includes("tier")));
  assert.ok(!words.say(model, state, model.markOf(0)).includes("tier"));
  give(model.store, FORMATS, {
    kind: "delta",
    tables: { tiers: [[0, 6, 150], [2, Number.NaN, 0]] }, // biome-ignore format: a row each
    facts: { knows: ["tiers"] },
  });
  assert.deepEqual([0, 1, 2, 4].map((i) => model.isTiered(i)), [true, false, false, false]); // biome-ignore format: one line
  assert.ok(names().includes("in tier 2: edge below"));
  assert.match(words.say(model, state, model.markOf(0)), /50 B in the log, 150 B in tier 2/);
  assert.match(JSON.stringify(words.tip(model, state, model.markOf(2))), /50 B in the log, 0 B in tier 2/);
  const narrow = boxFor(0, 25_000, 25_000, { scale: 1, width: 450, height: 400 });
  assert.ok(JSON.stringify(table(model, narrow, 25)).includes("in tier 2"));
  // From what is not truncated to what has moved, inside the rectangle, and thinner in a thin one.
  assert.deepEqual(layout.tierEdge([100, 10, 50, 30], 110, 130, 1), [110, 36, 20, 4]);
  assert.deepEqual(layout.tierEdge([100, 10, 50, 6], Number.NEGATIVE_INFINITY, 900, 1), [100, 14, 50, 2]);
  assert.equal(layout.tierEdge([100, 10, 50, 30], 130, 130, 1), null);
});

test("between two observers nothing is known, and the legend names the grey", () => {
  const model = story();
  const nan = Number.NaN;
  const rows = [[2, 18, nan, nan, 40, 60], [2, 18.5, 90, 900, 40, 70]]; // biome-ignore format: a row each
  give(model.store, FORMATS, { kind: "delta", tables: { rates: rows } });
  const texts = [14, 15, 17.9, 18, 18.5, 30].map((t) => {
    const sample = model.sampleAt(2, t);
    return sample < 0 ? "" : model.rateText(model.rateColumn[sample]);
  });
  assert.deepEqual(texts, ["", "", "", "–", "90/s", "90/s"]);
  assert.equal(model.sampleAt(0, 4), 0); // the next sample has a rate
  const theme = boxFor(0, 1).theme;
  const swatches = words.legend(model, initial(), theme).filter(([colour]) => colour === theme.none);
  assert.deepEqual(swatches, [[theme.none, "not known", ""]]);
});

test("the legend names the target where there is one", () => {
  const theme = boxFor(0, 1).theme;
  assert.equal(words.legend(story(), initial(), theme)[0][1], "0 to 2 × target (200/s)");
  assert.deepEqual(words.legend(story(), { ...initial(), colour: "unread" }, theme)[0][1], "0 to 900 B unread");
});
