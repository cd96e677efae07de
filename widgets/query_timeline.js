// A row per attempt of a micro-batch, its phases over time; under them rows a second and lag. Draws the rows it is
// given: phases, outcomes and replays come from the kernel.
import { Store, VERMILION, bytes, count, esc, fit, seconds, upTo, wallTime, widget } from "./common.js";

// The same formats stand in query_timeline.py.
const FORMATS = {
  batches: { format: "index:u batch:u start:f end:f attempt:u flags:u", keyed: true },
  phases: { format: "index:u start:f end:f phase:u how:u pad:u" },
  flow: { format: "index:u t:f in:f out:f lag:f rows:f", keyed: true },
};
const OUTCOMES = ["running", "done", "failed", "killed", "gone", "stopped"];
const REPLAYED = 256;
const ROWS = 220;
const STRIP = 44;
const ROW_MAX = 17;
const ROW_MIN = 4;

function batchStore() {
  const derived = { phases: [] };
  const store = new Store(FORMATS, (name, first) => {
    if (name === "") derived.phases = [];
    if (name !== "phases") return;
    const { n, col } = store.tables.phases;
    for (let i = first; i < n; i++) (derived.phases[col.index[i]] ??= []).push(i);
  });
  store.derived = derived;
  return store;
}

function batchSpec(store) {
  const col = () => store.tables.batches.col;
  const facts = () => store.facts;
  const origin = () => facts().origin_ms ?? 0;
  const ms = (s) => origin() + 1000 * s;
  const state = { t: 0, rows: [], drawn: 0, all: 0 };
  const outcome = (i) => OUTCOMES[col().flags[i] & 255];
  const replayed = (i) => Boolean(col().flags[i] & REPLAYED);
  const label = (i) => `${col().batch[i]}${col().attempt[i] > 1 ? ` ×${col().attempt[i]}` : ""}`;
  const runs = () => store.lists.runs ?? []; // [t, "start" | "end", run, outcome, cause, kind]
  const flowOf = (i) => (i < store.tables.flow.n ? store.tables.flow.col : null);

  function layout(b) {
    const s = b.scale;
    const bottom = b.height - 20 * s;
    const lag = { top: bottom - STRIP * s, bottom };
    const rate = { top: lag.top - (STRIP + 8) * s, bottom: lag.top - 8 * s };
    return { rows: { top: 18 * s, bottom: rate.top - 8 * s }, rate, lag };
  }

  /** The batches on the screen, oldest first; when there are too many, the newest that have room. */
  function place(b, area) {
    const { start, end } = col();
    const [from, to] = [(b.from - origin()) / 1000, (Math.min(b.to, b.now) - origin()) / 1000];
    const all = [];
    for (let i = 0; i < store.tables.batches.n; i++) if (start[i] <= to && end[i] >= from) all.push(i);
    const room = Math.max(1, Math.floor((area.bottom - area.top) / (ROW_MIN * b.scale)));
    const shown = all.slice(-room);
    const height = Math.min(ROW_MAX * b.scale, (area.bottom - area.top) / Math.max(1, shown.length));
    state.rows = shown.map((i, k) => ({ i, y: area.top + k * height, h: height }));
    state.drawn = shown.length;
    state.all = all.length;
    return state.rows;
  }

  const clip = (b, x) => Math.max(b.left, Math.min(b.right, x));

  function paintBatch(ctx, b, { i, y, h }, t) {
    const { start, end } = col();
    const inset = h > 8 ? 2 : h > 5 ? 1 : 0.5;
    const [top, height] = [y + inset, Math.max(1, h - 2 * inset)];
    const x0 = clip(b, b.x(ms(start[i])));
    const x1 = Math.max(x0 + 1, clip(b, b.x(ms(Math.min(end[i], t)))));
    ctx.fillStyle = b.theme.none;
    ctx.globalAlpha = 0.5;
    ctx.fillRect(x0, top, x1 - x0, height);
    ctx.globalAlpha = 1;
    const phases = store.tables.phases.col;
    for (const p of store.derived.phases[i] ?? []) {
      if (phases.start[p] > t) continue;
      const [a, z] = [clip(b, b.x(ms(phases.start[p]))), clip(b, b.x(ms(Math.min(phases.end[p], t))))];
      if (z <= a) continue;
      ctx.fillStyle = facts().phases[phases.phase[p]][2];
      ctx.fillRect(a, top, Math.max(0.5, z - a), height);
    }
    const cut = end[i] <= t && ["killed", "gone", "failed"].includes(outcome(i));
    if (replayed(i)) {
      ctx.strokeStyle = b.theme.text;
      ctx.lineWidth = 1;
      ctx.strokeRect(x0 - 0.5, top - 0.5, x1 - x0 + 1, height + 1);
      ctx.strokeRect(x0 - 3.5, top - 3 + inset / 2, x1 - x0 + 7, height + 6 - inset);
    }
    if (cut) cross(ctx, x1, top + height / 2, Math.min(5, height / 2 + 1));
    if (h >= 8.5 * b.scale) {
      ctx.font = b.font(Math.min(10, h / b.scale - 2));
      ctx.fillStyle = b.theme.text;
      ctx.textBaseline = "middle";
      const text = label(i);
      const width = ctx.measureText(text).width + 7;
      const left = x0 - width >= b.left;
      ctx.textAlign = left ? "right" : "left";
      if (left || x1 + width < b.right) ctx.fillText(text, left ? x0 - 5 : x1 + 5 + (cut ? 5 : 0), top + height / 2 + 0.5);
    }
  }

  function cross(ctx, x, y, r) {
    ctx.strokeStyle = VERMILION;
    ctx.lineWidth = 2;
    ctx.beginPath();
    ctx.moveTo(x - r, y - r);
    ctx.lineTo(x + r, y + r);
    ctx.moveTo(x - r, y + r);
    ctx.lineTo(x + r, y - r);
    ctx.stroke();
    ctx.lineWidth = 1;
  }

  /** Ends and starts of the query's runs, from top to bottom. */
  function paintRuns(ctx, b, l, t) {
    ctx.font = b.font(10);
    ctx.textBaseline = "middle";
    let limit = b.right + 60;
    for (const [at, what, run, how] of [...runs()].sort((p, q) => q[0] - p[0])) {
      const x = b.x(ms(at));
      if (at > t || x < b.left - 1 || x > b.right + 1 || (what === "start" && run === 1)) continue;
      const bad = what === "end" && ["killed", "failed", "gone"].includes(how);
      ctx.strokeStyle = bad ? VERMILION : b.theme.text;
      ctx.lineWidth = 1.5;
      ctx.setLineDash(what === "end" ? [4, 3] : []);
      ctx.beginPath();
      ctx.moveTo(x, l.rows.top - 4);
      ctx.lineTo(x, l.lag.bottom);
      ctx.stroke();
      ctx.setLineDash([]);
      ctx.lineWidth = 1;
      const text = what === "end" ? how : `restarted, run ${run}`;
      const width = ctx.measureText(text).width;
      const left = what === "end" ? x - width - 3 : x + 3; // an end stands before its line, a start behind it
      if (left + width > limit) continue;
      ctx.fillStyle = b.theme.text;
      ctx.textAlign = "left";
      ctx.fillText(text, left, l.rows.top - 10 * b.scale);
      limit = left - 4;
    }
  }

  /** Steps, one per batch, each over the batch's own time. */
  function steps(b, t, column) {
    const { start, end } = col();
    const out = [];
    let last = -Infinity;
    for (let i = 0; i < store.tables.batches.n; i++) {
      const flow = flowOf(i);
      if (!flow || !(end[i] <= t) || Number.isNaN(flow[column][i])) continue;
      const [a, z] = [b.x(ms(Math.max(start[i], last))), b.x(ms(end[i]))];
      last = end[i];
      if (z >= b.left && a <= b.right) out.push([clip(b, a), clip(b, z), flow[column][i]]);
    }
    return out;
  }

  function paintStrip(ctx, b, strip, series, name, show, none) {
    const most = 1.15 * Math.max(1e-9, ...series.flatMap(([points]) => points.map((p) => p[2])));
    const y = (v) => strip.bottom - (v / most) * (strip.bottom - strip.top);
    ctx.fillStyle = b.theme.line;
    ctx.fillRect(b.left, strip.bottom, b.right - b.left, 1);
    ctx.font = b.font(9.5);
    ctx.textBaseline = "middle";
    for (const [points, colour, filled] of series) {
      ctx.strokeStyle = ctx.fillStyle = colour;
      ctx.lineWidth = 1.4;
      ctx.beginPath();
      points.forEach(([a, z, v], k) => {
        const joined = k && a - points[k - 1][1] < 3;
        ctx[joined ? "lineTo" : "moveTo"](a, y(v));
        ctx.lineTo(z, y(v));
      });
      ctx.stroke();
      ctx.lineWidth = 1;
      if (!filled) continue;
      ctx.globalAlpha = 0.3;
      for (const [a, z, v] of points) ctx.fillRect(a, y(v), Math.max(0.5, z - a), strip.bottom - y(v));
      ctx.globalAlpha = 1;
    }
    const any = series.some(([points]) => points.length);
    ctx.fillStyle = b.theme.soft;
    ctx.textAlign = "right";
    ctx.fillText(any ? show(most / 1.15) : "–", b.left - 6, strip.top + 6);
    ctx.fillText("0", b.left - 6, strip.bottom - 3);
    ctx.textAlign = "left";
    if (!any && none) ctx.fillText(none, b.left + 6, (strip.top + strip.bottom) / 2);
    name.forEach(([text, colour], k) => {
      const yy = strip.top + (8 + 13 * k) * b.scale;
      ctx.fillStyle = colour;
      ctx.fillRect(b.right + 8 * b.scale, yy - 1, 12 * b.scale, 2.5);
      ctx.fillStyle = b.theme.soft;
      ctx.fillText(text, b.right + 25 * b.scale, yy);
    });
  }

  const indexOf = (mark) => (mark?.kind === "batch" && mark.query === facts().query ? mark.index : -1);

  /** What the gutter tells of: the one under the pointer, the pinned one, or the newest. */
  function chosen(b) {
    for (const mark of [b.clock.hover, b.clock.pin]) if (indexOf(mark) >= 0) return indexOf(mark);
    const last = state.rows.at(-1);
    return last ? last.i : -1;
  }

  function spent(i, t) {
    const { start, end, phase } = store.tables.phases.col;
    const sums = new Map();
    for (const p of store.derived.phases[i] ?? [])
      if (start[p] <= t) sums.set(phase[p], (sums.get(phase[p]) ?? 0) + 1000 * (Math.min(end[p], t) - start[p]));
    return [...sums].sort((p, q) => p[0] - q[0]).map(([k, v]) => [facts().phases[k], v]);
  }

  const duration = (i, t) => 1000 * (Math.min(col().end[i], t) - col().start[i]);

  function paintGutter(ctx, b, l, t) {
    const i = chosen(b);
    if (i < 0) return;
    const x = b.right + 8 * b.scale;
    const right = b.width - 6 * b.scale;
    const row = 14 * b.scale;
    let y = l.rows.top - 9 * b.scale;
    ctx.textBaseline = "middle";
    const line = (left, value, colour, swatch) => {
      if (y > l.rows.bottom) return;
      if (swatch) {
        ctx.fillStyle = swatch;
        ctx.fillRect(x, y - 4 * b.scale, 9 * b.scale, 8 * b.scale);
      }
      ctx.fillStyle = colour;
      ctx.textAlign = "right";
      ctx.fillText(value, right, y);
      const taken = ctx.measureText(value).width + 8;
      ctx.textAlign = "left";
      const from = x + (swatch ? 14 * b.scale : 0);
      ctx.fillText(fit(ctx, left, right - taken - from), from, y);
      y += row;
    };
    ctx.font = b.font(11, "600");
    const state_ = col().end[i] > t ? "running" : outcome(i);
    line(`batch ${label(i)}${replayed(i) ? ", replayed" : ""}`, state_, b.theme.text);
    ctx.font = b.font(10);
    for (const [[, words, colour], v] of spent(i, t)) line(words, `${count(v)} ms`, b.theme.text, colour);
    line("together", `${count(duration(i, t))} ms`, b.theme.soft);
    const flow = flowOf(i);
    if (flow && col().end[i] <= t && !Number.isNaN(flow.rows[i])) line("rows", count(flow.rows[i]), b.theme.soft);
    if (flow && col().end[i] <= t && !Number.isNaN(flow.lag[i])) line("lag at its end", bytes(flow.lag[i]), b.theme.soft);
  }

  function paintSelection(ctx, b, t) {
    for (const mark of [b.clock.pin, b.clock.hover]) {
      const row = state.rows.find((r) => r.i === indexOf(mark));
      if (!row) continue;
      const { start, end } = col();
      const x0 = clip(b, b.x(ms(start[row.i])));
      const x1 = clip(b, b.x(ms(Math.min(end[row.i], t))));
      ctx.strokeStyle = b.theme.text;
      ctx.lineWidth = 2;
      ctx.strokeRect(x0 - 2, row.y, x1 - x0 + 4, row.h);
      ctx.lineWidth = 1;
    }
  }

  function paint(ctx, b) {
    const l = layout(b);
    const blue = b.theme.dark ? "#4da3d9" : "#0072B2";
    const t = upTo((b.now - origin()) / 1000);
    state.t = t;
    ctx.strokeStyle = b.theme.line;
    ctx.strokeRect(b.left + 0.5, Math.round(l.rows.top) - 3.5, b.right - b.left, l.rows.bottom - l.rows.top + 6);
    ctx.save();
    ctx.translate(9 * b.scale, (l.rows.top + l.rows.bottom) / 2);
    ctx.rotate(-Math.PI / 2);
    ctx.font = b.font(10);
    ctx.fillStyle = b.theme.soft;
    ctx.textAlign = "center";
    ctx.textBaseline = "middle";
    ctx.fillText("micro-batches ↓", 0, 0);
    ctx.restore();
    if (!b.clock.ticking || !store.tables.batches.n) return;
    for (const row of place(b, l.rows)) paintBatch(ctx, b, row, t);
    paintSelection(ctx, b, t);
    paintRuns(ctx, b, l, t);
    const flow = [[steps(b, t, "in"), "#E69F00", false], [steps(b, t, "out"), blue, false]];
    paintStrip(ctx, b, l.rate, flow, [["rows/s arriving", "#E69F00"], ["rows/s processed", blue]], count, "no rates told");
    const lag = [[steps(b, t, "lag"), "#009E73", true]];
    paintStrip(ctx, b, l.lag, lag, [["lag", "#009E73"]], bytes, "the source does not report its latest offset");
    paintGutter(ctx, b, l, t);
  }

  const markOf = (i) => ({ kind: "batch", key: `${facts().query} ${label(i)} ${i}`, index: i, query: facts().query, time: ms(col().start[i]) });

  function pick(x, y, b) {
    const l = layout(b);
    if (y < l.rows.top - 4 || y > l.lag.bottom || x < b.left || x > b.right) return null;
    const near = runs().findIndex((r) => r[0] <= state.t && Math.abs(b.x(ms(r[0])) - x) < 4 && !(r[1] === "start" && r[2] === 1));
    if (near >= 0) return { kind: "run", key: `run ${near}`, run: near, query: facts().query, time: ms(runs()[near][0]) };
    const row = state.rows.find((r) => y >= r.y && y < r.y + r.h);
    if (row) return markOf(row.i);
    const at = (b.time(x) - origin()) / 1000;
    const { start, end } = col();
    const found = state.rows.findLast((r) => start[r.i] <= at && end[r.i] >= at);
    return y > l.rows.bottom && found ? markOf(found.i) : null;
  }

  function tip(mark) {
    if (mark.query !== facts().query) return null;
    if (mark.kind === "run") {
      const [at, what, run, how, cause, kind] = runs()[mark.run];
      const text = what === "end" ? `run ${run}: ${how}` : `run ${run} began`;
      return `<b>${esc(text)}</b><br>${seconds(1000 * at)} ${wallTime(mark.time)}${cause ? `<br>${esc(cause)} <span class="soft">(${esc(kind)})</span>` : ""}`;
    }
    const i = indexOf(mark);
    if (i < 0 || i >= store.tables.batches.n) return null;
    const t = state.t;
    const running = col().end[i] > t;
    const flow = flowOf(i);
    const rows = [["began", `${seconds(1000 * col().start[i])} ${wallTime(ms(col().start[i]))}`]];
    for (const [[, words, colour], v] of spent(i, t)) rows.push([`<span style="color:${colour}">■</span> ${esc(words)}`, `${count(v)} ms`]);
    rows.push([running ? "so far" : "together", `${count(duration(i, t))} ms`]);
    if (flow && !running && !Number.isNaN(flow.rows[i])) rows.push(["rows", count(flow.rows[i])]);
    if (flow && !running && !Number.isNaN(flow.lag[i])) rows.push(["lag at its end", bytes(flow.lag[i])]);
    const table = rows.map(([k, v]) => `<tr><td class="soft">${k}</td><td class="n">${v}</td></tr>`).join("");
    const again = replayed(i) ? `, replayed (attempt ${col().attempt[i]})` : "";
    return `<b>batch ${col().batch[i]}</b>: ${running ? "running" : outcome(i)}${again}<table>${table}</table>`;
  }

  function say(mark) {
    if (mark.kind === "run") return `run ${runs()[mark.run][2]} ${runs()[mark.run][3] || "began"}`;
    const i = indexOf(mark);
    if (i < 0) return "";
    const parts = spent(i, state.t).map(([[, words], v]) => `${words} ${count(v)} ms`);
    return `batch ${label(i)}${replayed(i) ? ", replayed" : ""}, ${outcome(i)}, ${count(duration(i, state.t))} ms: ${parts.join(", ")}`;
  }

  return {
    height: (s) => (ROWS + 2 * STRIP + 62) * s,
    paint,
    pick,
    tip,
    say,
    legend: (theme) => {
      const told = (facts().phases ?? []).filter(([name]) => (facts().told ?? []).includes(name));
      const some = told.map(([, words, colour]) => [colour, words, colour === "#F0E442" ? "edged" : ""]);
      const { n } = store.tables.batches;
      const has = (test) => [...Array(n).keys()].some(test);
      if (has(replayed)) some.push([theme.text, "replayed", "double"]);
      if (has((i) => ["killed", "gone", "failed"].includes(outcome(i)))) some.push([VERMILION, "cut off", ""]);
      return some;
    },
    leftOut: () => (state.drawn < state.all ? `the newest ${count(state.drawn)} of ${count(state.all)} drawn: zoom in` : ""),
    isEmpty: () => !store.tables.batches.n,
    get empty() {
      return facts().empty ?? ["No micro-batches yet.", "lab.show(query)"];
    },
    marks: () => state.rows.map((r) => markOf(r.i)),
    events: () => {
      const starts = Array.from(col().start.subarray(0, store.tables.batches.n), ms);
      return [...new Set([...starts, ...runs().map((r) => ms(r[0]))])];
    },
    summary: () => {
      const { n } = store.tables.batches;
      let [done, again] = [0, 0];
      for (let i = 0; i < n; i++) {
        if (col().start[i] > state.t) continue;
        done += col().end[i] <= state.t && outcome(i) === "done" ? 1 : 0;
        again += replayed(i) ? 1 : 0;
      }
      return `${facts().query || "no query"}: ${done} batches done, ${again} replayed`;
    },
  };
}

export default () => widget({ makeStore: batchStore, makeSpec: batchSpec });
