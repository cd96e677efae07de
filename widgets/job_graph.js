// A job as a graph: a column per chain, a box per subtask, before each box its channels with what they hold, the head
// at the right. Draws the rows it is given, as they were at the clock's moment; knows no rule of checkpoints.
import { Store, VERMILION, bytes, count, esc, fit, forkOfJob, mix, seconds, upTo, wallTime, widget } from "./common.js";

// The same formats stand in job_graph.py.
const FORMATS = {
  tasks: { format: "index:u vertex:u subtask:u", keyed: true },
  channels: { format: "index:u producer:u consumer:u number:u", keyed: true },
  states: { format: "task:u at:f state:u attempt:u checkpoint:u" },
  measures: { format: "task:u at:f ins:f outs:f total:f bytes:f hi:u lo:u" },
  contents: { format: "channel:u at:f records:u capacity:u blocked:u first:u n:u" },
  marks: { format: "what:u hi:u lo:u" },
  trays: { format: "task:u at:f open:u pre:u committed:u" },
};
const STATES = ["starting", "restoring", "running", "aligning", "waits for final checkpoint", "finished", "failed", "canceling", "canceled"];
const MARKS = ["records", "watermark", "idle", "barrier", "cancel", "end-of-data", "end-of-partition"];
const FOLD_ABOVE = 8;
const SAID_MAX = 20;
const SIZE = { edge: 8, top: 6, head: 20, box: 52, trays: 20, slot: 15, space: 8, foot: 24, boxMax: 220, gapMax: 220 };
const OF_ROW = { states: "task", measures: "task", contents: "channel", trays: "task" };

function jobStore() {
  const fresh = () => ({ states: [], measures: [], contents: [], trays: [], said: [], saidTo: 0, version: -1 });
  const derived = fresh();
  const store = new Store(FORMATS, (name, first) => {
    if (name === "") Object.assign(derived, fresh());
    if (!OF_ROW[name]) return;
    const { n, col } = store.tables[name];
    for (let i = first; i < n; i++) (derived[name][col[OF_ROW[name]][i]] ??= []).push(i);
  });
  store.derived = derived;
  return store;
}

/** What the lists say, looked at once per update. */
function indexed(store) {
  const d = store.derived;
  if (d.version === store.updates) return d;
  d.version = store.updates;
  const all = store.lists.said ?? [];
  for (; d.saidTo < all.length; d.saidTo++) (d.said[all[d.saidTo][0]] ??= []).push(all[d.saidTo]);
  d.vertices = (store.lists.vertices ?? []).map(([index, life, short, parallelism, operators, depth, name]) => ({ index, life, short, parallelism, operators, depth, name }));
  d.why = new Map((store.lists.why ?? []).map(([task, at, why]) => [`${task} ${at}`, why]));
  const { n, col } = store.tables.tasks;
  d.ofVertex = [];
  for (let i = 0; i < n; i++) (d.ofVertex[col.vertex[i]] ??= []).push(i);
  d.into = [];
  const c = store.tables.channels;
  for (let i = 0; i < c.n; i++) (d.into[c.col.consumer[i]] ??= []).push(i);
  for (const list of d.into) list?.sort((p, q) => c.col.number[p] - c.col.number[q]);
  return d;
}

function jobSpec(store) {
  const facts = () => store.facts;
  const origin = () => facts().origin_ms ?? 0;
  const ms = (s) => origin() + 1000 * s;
  const state = { t: 0, boxes: [], slots: [], marks: [], now: null };
  const blue = (theme) => (theme.dark ? "#4da3d9" : "#0072B2");

  // What was so at a moment.

  /** The last row of a subtask or channel that was told by then; -1: none. */
  function lastRow(name, of, t) {
    const rows = store.derived[name][of] ?? [];
    const { at } = store.tables[name].col;
    let [low, high] = [0, rows.length];
    while (low < high) {
      const mid = (low + high) >> 1;
      if (at[rows[mid]] <= t) low = mid + 1;
      else high = mid;
    }
    return low ? rows[low - 1] : -1;
  }

  const lifeAt = (t) => (store.lists.lives ?? []).filter(([at]) => at <= t).at(-1)?.[1] ?? -1;
  const verticesAt = (t) => indexed(store).vertices.filter((v) => v.life === lifeAt(t));
  const vertexOf = (task) => indexed(store).vertices[store.tables.tasks.col.vertex[task]];
  const subtaskOf = (task) => store.tables.tasks.col.subtask[task];
  const labelOf = (task) => `${vertexOf(task).short} ${subtaskOf(task) + 1}/${vertexOf(task).parallelism}`;
  const idOf = (task) => `${vertexOf(task).name}[${subtaskOf(task)}]`;
  const laneOf = (c) => {
    const { producer, consumer, number } = store.tables.channels.col;
    return `${idOf(producer[c])}>${idOf(consumer[c])}:${number[c]}`;
  };

  function taskAt(task, t) {
    const s = lastRow("states", task, t);
    const m = lastRow("measures", task, t);
    const tray = lastRow("trays", task, t);
    const { states, measures, trays } = store.tables;
    const attempt = s < 0 ? 0 : states.col.attempt[s];
    // What an earlier attempt measured is not this one's.
    const begun = s < 0 ? 0 : firstOfAttempt(task, s, attempt);
    const isOld = m >= 0 && measures.col.at[m] < begun;
    const get = (name) => (m < 0 || isOld ? NaN : measures.col[name][m]);
    return {
      word: s < 0 ? "starting" : STATES[states.col.state[s]],
      since: s < 0 ? 0 : states.col.at[s],
      why: s < 0 ? "" : indexed(store).why.get(`${task} ${nearest(task, states.col.at[s])}`) ?? "",
      attempt,
      checkpoint: s < 0 ? 0 : states.col.checkpoint[s],
      ins: get("ins"), outs: get("outs"), total: get("total"), bytes: m < 0 ? NaN : measures.col.bytes[m],
      time: m < 0 || isOld ? null : whole(measures.col.hi[m], measures.col.lo[m]),
      tray: tray < 0 || trays.col.at[tray] < begun ? null : { open: trays.col.open[tray], pre: trays.col.pre[tray], committed: trays.col.committed[tray], row: tray },
    };
  }

  function firstOfAttempt(task, row, attempt) {
    const rows = store.derived.states[task];
    const { at, attempt: of } = store.tables.states.col;
    let k = rows.indexOf(row);
    while (k > 0 && of[rows[k - 1]] === attempt) k -= 1;
    return at[rows[k]];
  }

  /** The reason's own time: rows carry less digits than lists do. */
  const nearest = (task, at) => (store.lists.why ?? []).find(([of, when]) => of === task && Math.fround(when) === at)?.[1];

  /** Two halves of a 64-bit number; its ends are the ends of time. */
  const whole = (hi, lo) => (hi | 0) * 2 ** 32 + lo;
  const timeWords = (v) => (v === null ? "–" : v >= 2 ** 62 ? "∞" : v <= -(2 ** 62) ? "–" : `${count(v)}`);

  function contentsAt(c, t) {
    const i = lastRow("contents", c, t);
    if (i < 0) return { records: 0, capacity: 0, marks: [], since: null };
    const { records, capacity, blocked, first, n } = store.tables.contents.col;
    const { what, hi, lo } = store.tables.marks.col;
    const marks = [];
    for (let k = first[i]; k < first[i] + n[i]; k++) marks.push({ what: MARKS[what[k]], value: whole(hi[k], lo[k]) });
    return { records: records[i], capacity: capacity[i], marks, since: blocked[i] ? blockedSince(c, i) : null };
  }

  function blockedSince(c, row) {
    const rows = store.derived.contents[c];
    const { at, blocked } = store.tables.contents.col;
    let k = rows.indexOf(row);
    while (k > 0 && blocked[rows[k - 1]]) k -= 1;
    return at[rows[k]];
  }

  // Where things stand.

  const isFolded = (vertex) => vertex.parallelism > FOLD_ABOVE;
  const tasksOf = (vertex) => indexed(store).ofVertex[vertex.index] ?? [];

  /** Channels before a box: one each, or one per producer where either side is folded. */
  function slotsOf(tasks) {
    const { producer } = store.tables.channels.col;
    const groups = new Map();
    for (const task of tasks)
      for (const c of indexed(store).into[task] ?? []) {
        const from = vertexOf(producer[c]);
        const key = tasks.length > 1 || isFolded(from) ? `v${from.index}` : c;
        groups.set(key, [...(groups.get(key) ?? []), c]);
      }
    return [...groups.values()];
  }

  const hasTrays = (tasks) => tasks.some((task) => store.derived.trays[task]);

  function layout(width, s, t) {
    const vertices = verticesAt(t);
    const columns = Math.max(0, ...vertices.map((v) => v.depth)) + 1;
    const room = width - 2 * SIZE.edge * s;
    let gap = columns > 1 ? Math.min(SIZE.gapMax * s, (0.46 * room) / columns) : 0;
    const box = Math.min(SIZE.boxMax * s, (room - gap * (columns - 1)) / columns);
    if (columns > 1) gap = Math.min(SIZE.gapMax * 1.4 * s, (room - box * columns) / (columns - 1));
    const bottoms = new Array(columns).fill(SIZE.top * s);
    const boxes = [];
    for (const vertex of vertices) {
      const x = SIZE.edge * s + vertex.depth * (box + gap);
      let y = bottoms[vertex.depth] + SIZE.head * s;
      const head = { vertex, x, y: y - 8 * s, w: box };
      const tasks = tasksOf(vertex);
      for (const mine of isFolded(vertex) ? [tasks] : tasks.map((task) => [task])) {
        const slots = slotsOf(mine);
        const h = Math.max((SIZE.box + (hasTrays(mine) ? SIZE.trays : 0)) * s, (SIZE.slot * slots.length + 4) * s);
        boxes.push({ tasks: mine, vertex, x, y, w: box, h, slots, head: mine === undefined ? null : head });
        y += h + SIZE.space * s;
      }
      bottoms[vertex.depth] = y + SIZE.space * s;
    }
    return { boxes, slotWidth: 0.62 * gap, bottom: Math.max(...bottoms) };
  }

  function height(s) {
    const lives = (store.lists.lives ?? []).map(([at]) => layout(1000, s, at).bottom);
    return Math.max(150 * s, ...lives) + SIZE.foot * s;
  }

  // Painting.

  function icon(ctx, word, x, y, r) {
    ctx.beginPath();
    ctx.lineWidth = 1.6;
    if (word === "running") {
      ctx.moveTo(x - r * 0.7, y - r);
      ctx.lineTo(x + r, y);
      ctx.lineTo(x - r * 0.7, y + r);
      ctx.fill();
    } else if (word === "aligning") {
      ctx.fillRect(x - r * 0.8, y - r, r * 0.6, 2 * r);
      ctx.fillRect(x + r * 0.3, y - r, r * 0.6, 2 * r);
    } else if (word.startsWith("waits")) {
      for (const [p, q] of [[-1, 1], [1, -1]]) {
        ctx.moveTo(x - r * 0.8, y + p * r);
        ctx.lineTo(x + r * 0.8, y + p * r);
        ctx.lineTo(x, y + q * r * 0.1);
      }
      ctx.fill();
    } else if (word === "finished") {
      ctx.moveTo(x - r, y);
      ctx.lineTo(x - r * 0.2, y + r * 0.8);
      ctx.lineTo(x + r, y - r);
      ctx.stroke();
    } else if (word === "failed") {
      ctx.moveTo(x - r, y - r);
      ctx.lineTo(x + r, y + r);
      ctx.moveTo(x - r, y + r);
      ctx.lineTo(x + r, y - r);
      ctx.stroke();
    } else if (word === "restoring") {
      ctx.arc(x, y, r * 0.9, -0.3, Math.PI * 1.5);
      ctx.stroke();
      ctx.beginPath();
      ctx.moveTo(x - r * 0.1, y - r * 1.6);
      ctx.lineTo(x + r * 0.7, y - r * 0.9);
      ctx.lineTo(x - r * 0.1, y - r * 0.2);
      ctx.fill();
    } else {
      for (const k of [-1, 0, 1]) ctx.fillRect(x + k * r * 0.8 - 1, y - 1, 2, 2);
    }
    ctx.lineWidth = 1;
  }

  function padlock(ctx, b, x, y) {
    const s = b.scale;
    ctx.fillStyle = ctx.strokeStyle = b.theme.text;
    ctx.fillRect(x, y - 1 * s, 7 * s, 5 * s);
    ctx.lineWidth = 1.3;
    ctx.beginPath();
    ctx.arc(x + 3.5 * s, y - 1.5 * s, 2.2 * s, Math.PI, 0);
    ctx.stroke();
    ctx.lineWidth = 1;
  }

  function paint(ctx, b) {
    const t = Math.max((b.now - origin()) / 1000, 0);
    state.t = upTo(t);
    [state.boxes, state.slots, state.marks] = [[], [], []];
    if (!b.clock.ticking || !(store.lists.vertices ?? []).length) return;
    const l = layout(b.width, b.scale, state.t);
    state.boxes = l.boxes;
    const places = new Map(l.boxes.flatMap((box) => box.tasks.map((task) => [task, box])));
    for (const box of l.boxes) box.slots.forEach((slot, k) => paintSlot(ctx, b, box, slot, k, l.slotWidth, places));
    let named = null;
    for (const box of l.boxes) {
      if (box.vertex !== named) paintHead(ctx, b, box);
      named = box.vertex;
      paintBox(ctx, b, box);
    }
    paintFoot(ctx, b);
  }

  function paintHead(ctx, b, box) {
    ctx.font = b.font(11, "600");
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    ctx.fillStyle = b.theme.text;
    ctx.fillText(fit(ctx, `${box.vertex.short} ×${box.vertex.parallelism}`, box.w), box.x, box.head.y);
  }

  /** The newest sentence by then. */
  function paintFoot(ctx, b) {
    const all = store.lists.said ?? [];
    let [low, high] = [0, all.length];
    while (low < high) {
      const mid = (low + high) >> 1;
      if (all[mid][1] <= state.t) low = mid + 1;
      else high = mid;
    }
    state.now = low ? all[low - 1][2] : "";
    ctx.font = b.font(11);
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    ctx.fillStyle = b.theme.text;
    ctx.fillText(fit(ctx, state.now, b.width - 16), SIZE.edge * b.scale, b.height - 11 * b.scale);
  }

  function paintSlot(ctx, b, box, slot, k, width, places) {
    const s = b.scale;
    const h = SIZE.slot * s;
    const y = box.y + box.h / 2 + (k - box.slots.length / 2) * h;
    const [x1, mid] = [box.x - 6 * s, y + h / 2];
    const x0 = x1 - width;
    const { producer } = store.tables.channels.col;
    ctx.strokeStyle = b.theme.line;
    for (const from of new Set(slot.map((c) => places.get(producer[c])))) {
      if (!from) continue;
      const [xs, ys] = [from.x + from.w, from.y + from.h / 2];
      ctx.beginPath();
      ctx.moveTo(xs, ys);
      ctx.bezierCurveTo((xs + x0) / 2, ys, (xs + x0) / 2, mid, x0, mid);
      ctx.stroke();
    }
    const held = slot.map((c) => contentsAt(c, state.t));
    const [records, capacity] = [held.reduce((n, c) => n + c.records, 0), held.reduce((n, c) => n + c.capacity, 0)];
    const full = capacity ? Math.min(1, records / capacity) : 0;
    ctx.fillStyle = b.theme.ground;
    ctx.fillRect(x0, y + 1, width, h - 2);
    if (full) {
      ctx.fillStyle = mix(b.theme.cold, b.theme.hot, 0.45 * full);
      ctx.fillRect(x1 - full * width, y + 1, full * width, h - 2);
    }
    const lane = laneOf(slot[0]);
    const at = { slot, lane, x: x0, y: y + 1, w: width, h: h - 2, records, capacity, held, folded: slot.length > 1 };
    state.slots.push(at);
    const isHot = [b.clock.hover?.key, b.clock.pin?.key].includes(`channel ${lane}`);
    ctx.strokeStyle = isHot ? b.theme.text : b.theme.line;
    ctx.strokeRect(x0 + 0.5, Math.round(y + 1) + 0.5, width - 1, h - 3);
    let x = x1 - 3 * s;
    const since = Math.min(...held.map((c) => c.since ?? Infinity));
    if (since < Infinity) {
      padlock(ctx, b, x - 7 * s, mid);
      const text = `${count(Math.max(0, Math.round(1000 * (state.t - since))))} ms`;
      ctx.font = b.font(9);
      ctx.textAlign = "right";
      ctx.textBaseline = "middle";
      ctx.fillText(text, x - 10 * s, mid);
      x -= ctx.measureText(text).width + 15 * s;
    }
    paintMarks(ctx, b, at, x, x0, mid);
  }

  const summed = (held) => {
    const all = held.flatMap((c) => c.marks);
    const records = all.filter((m) => m.what === "records").reduce((n, m) => n + m.value, 0);
    const barriers = [...new Set(all.filter((m) => m.what === "barrier").map((m) => m.value))];
    return [...barriers.map((value) => ({ what: "barrier", value })), ...(records ? [{ what: "records", value: records }] : [])];
  };

  function paintMarks(ctx, b, at, from, x0, mid) {
    const s = b.scale;
    const marks = at.folded ? summed(at.held) : at.held[0].marks;
    let x = from;
    ctx.font = b.font(9.5);
    ctx.textBaseline = "middle";
    for (const [k, { what, value }] of marks.entries()) {
      const text = markText(what, value);
      const need = ctx.measureText(text).width + shapeWidth(what) * s + 5 * s;
      if (x - need < x0 + (k + 1 < marks.length ? 16 * s : 1)) {
        ctx.textAlign = "right";
        ctx.fillStyle = b.theme.soft;
        ctx.fillText(`+${marks.length - k}`, x, mid);
        return;
      }
      const key = `mark ${at.lane} ${k} ${what} ${value}`;
      const isHot = [b.clock.hover?.key, b.clock.pin?.key].includes(key);
      ctx.textAlign = "right";
      ctx.fillStyle = ctx.strokeStyle = b.theme.text;
      if (isHot) ctx.strokeRect(x - need + 2 * s, at.y + 1, need, at.h - 2);
      ctx.fillText(text, x, mid);
      shape(ctx, b, what, value, x - need + 4 * s, mid);
      if (!at.folded) state.marks.push({ key, lane: at.lane, what, value, x: x - need, y: at.y, w: need, h: at.h });
      x -= need;
    }
  }

  const shapeWidth = (what) => ({ records: 4, barrier: 5, watermark: 9, "end-of-data": 8, "end-of-partition": 7 })[what] ?? 0;

  function shape(ctx, b, what, value, x, mid) {
    const s = b.scale;
    ctx.fillStyle = ctx.strokeStyle = what === "barrier" ? blue(b.theme) : what === "records" ? b.theme.soft : b.theme.text;
    if (what === "records") ctx.fillRect(x, mid - 4 * s, 2.5 * s, 8 * s);
    if (what === "barrier") ctx.fillRect(x, mid - 6 * s, 3 * s, 12 * s);
    if (what === "end-of-partition") ctx.fillRect(x, mid - 5 * s, 4 * s, 10 * s);
    if (what === "end-of-data") value ? ctx.fillRect(x, mid - 3.5 * s, 7 * s, 7 * s) : ctx.strokeRect(x + 0.5, mid - 3 * s, 6 * s, 6 * s);
    if (what !== "watermark") return;
    ctx.beginPath();
    ctx.moveTo(x + 3.5 * s, mid - 4.5 * s);
    ctx.lineTo(x + 7 * s, mid);
    ctx.lineTo(x + 3.5 * s, mid + 4.5 * s);
    ctx.lineTo(x, mid);
    ctx.closePath();
    ctx.stroke();
  }

  function markText(what, value) {
    if (what === "records" || what === "barrier") return count(value);
    if (what === "watermark") return timeWords(value);
    if (what === "cancel") return `×${value}`;
    if (what === "idle") return value ? "idle" : "active";
    return "";
  }

  const markWords = (what, value) =>
    ({
      records: `${count(value)} record${value === 1 ? "" : "s"}`,
      barrier: `barrier ${value}`,
      watermark: `watermark ${timeWords(value)}`,
      cancel: `cancellation of checkpoint ${value}`,
      idle: value ? "idle" : "active again",
      "end-of-data": value ? "end of data (drain)" : "end of data (no drain)",
      "end-of-partition": "end of partition",
    })[what];

  function paintBox(ctx, b, box) {
    const s = b.scale;
    const told = box.tasks.map((task) => taskAt(task, state.t));
    const failed = told.some((one) => one.word === "failed");
    const done = told.every((one) => one.word === "finished");
    const edge = failed ? VERMILION : told.some((one) => one.word === "aligning") ? blue(b.theme) : b.theme.soft;
    ctx.fillStyle = b.theme.ground;
    ctx.fillRect(box.x, box.y, box.w, box.h);
    if (done) {
      ctx.globalAlpha = 0.25;
      ctx.fillStyle = b.theme.line;
      ctx.fillRect(box.x, box.y, box.w, box.h);
      ctx.globalAlpha = 1;
    }
    const key = keyOf(box);
    const isPinned = b.clock.pin?.key === key;
    ctx.strokeStyle = isPinned ? b.theme.text : edge;
    ctx.lineWidth = isPinned ? 2.4 : failed ? 2 : 1.2;
    ctx.setLineDash(b.clock.hover?.key === key && !isPinned ? [4, 2] : []);
    ctx.strokeRect(box.x + 0.5, box.y + 0.5, box.w - 1, box.h - 1);
    ctx.setLineDash([]);
    ctx.lineWidth = 1;
    paintState(ctx, b, box, told, failed, done);
    const rates = [sum(told.map((one) => one.ins)), sum(told.map((one) => one.outs))];
    const sizes = told.map((one) => one.bytes).filter((n) => !Number.isNaN(n));
    const over = ["finished", "failed", "canceled"];
    const moves = told.some((one) => !over.includes(one.word) && !Number.isNaN(one.outs));
    ctx.font = b.font(10);
    ctx.fillStyle = b.theme.soft;
    const both = rates[0] && rates[1] ? `${count(rates[0])} in/s · ${count(rates[1])} out/s` : `${count(rates[0] || rates[1])} records/s`;
    const speed = moves ? both : "– records/s";
    ctx.fillText(fit(ctx, speed, box.w - 12 * s), box.x + 6 * s, box.y + 27 * s);
    const time = box.tasks.length === 1 && told[0].time !== null && told[0].time > -(2 ** 62) ? ` · ◇ ${timeWords(told[0].time)}` : "";
    const kept = sizes.length ? `state ${bytes(sum(sizes))}` : "no snapshot yet";
    ctx.fillText(fit(ctx, kept + time, box.w - 12 * s), box.x + 6 * s, box.y + 42 * s);
    if (hasTrays(box.tasks)) paintTrays(ctx, b, box, told);
  }

  const sum = (list) => list.reduce((n, v) => n + (Number.isNaN(v) ? 0 : v), 0);

  function paintState(ctx, b, box, told, failed, done) {
    const s = b.scale;
    const folded = box.tasks.length > 1;
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    ctx.font = b.font(11, "600");
    ctx.fillStyle = b.theme.text;
    const head = folded ? `${box.tasks.length}` : `${subtaskOf(box.tasks[0]) + 1}/${box.vertex.parallelism}`;
    const y = box.y + 12 * s;
    ctx.fillText(head, box.x + 6 * s, y);
    let x = box.x + 12 * s + ctx.measureText(head).width;
    ctx.font = b.font(10.5);
    ctx.fillStyle = ctx.strokeStyle = failed ? VERMILION : b.theme.text;
    const counts = new Map();
    for (const { word } of told) counts.set(word, (counts.get(word) ?? 0) + 1);
    const words = folded ? [...counts].map(([word, n]) => `${n} ${word}`).join(", ") : told[0].word;
    if (!folded) icon(ctx, told[0].word, x + 4 * s, y, 4 * s), (x += 12 * s);
    const text = fit(ctx, words, box.x + box.w - x - 4 * s);
    ctx.fillText(text, x, y);
    if (done) ctx.fillRect(x - 2, y - 0.5, ctx.measureText(text).width + 4, 1.2);
  }

  function paintTrays(ctx, b, box, told) {
    const s = b.scale;
    const trays = told.map((one) => one.tray ?? { open: 0, pre: 0, committed: 0 });
    const counts = ["open", "pre", "committed"].map((name) => sum(trays.map((tray) => tray[name])));
    const room = box.w - 16 * s;
    let right = box.x + 4 * s;
    ctx.font = b.font(9.5);
    const words = ["open", "pre-c.", "committed"];
    const wide = (k) => room * [0.27, 0.32, 0.41][k];
    const forms = [(word, n, k) => `${k + 1} ${word} ${n}`, (word, n) => `${word} ${n}`, (_, n, k) => `${k + 1}: ${n}`];
    const said = forms.map((form) => words.map((word, k) => form(word, count(counts[k]), k)));
    const texts = said.find((all) => all.every((text, k) => ctx.measureText(text).width < wide(k) - 4 * s)) ?? said.at(-1);
    texts.forEach((text, k) => {
      const w = wide(k);
      const x = right + 2 * s;
      right = x + w;
      ctx.strokeStyle = b.theme.none;
      ctx.strokeRect(x + 0.5, box.y + 50.5 * s, w - 1, 16 * s);
      ctx.fillStyle = b.theme.text;
      ctx.fillText(fit(ctx, text, w - 4 * s), x + 3 * s, box.y + 59 * s);
    });
  }

  // Selection.

  const keyOf = (box) => (box.tasks.length > 1 ? `vertex ${box.vertex.name}` : `task ${labelOf(box.tasks[0])}`);
  const boxMark = (box) => ({
    kind: box.tasks.length > 1 ? "vertex" : "task", key: keyOf(box), name: box.tasks.length > 1 ? box.vertex.short : labelOf(box.tasks[0]),
    id: box.tasks.length > 1 ? box.vertex.name : idOf(box.tasks[0]), group: facts().source, time: ms(state.t),
  });
  const slotMark = (at) => ({ kind: "channel", key: `channel ${at.lane}`, lane: at.lane, time: ms(state.t) });
  const markMark = (m) => ({ kind: "mark", key: m.key, lane: m.lane, what: m.what, value: m.value, time: ms(state.t) });
  const inside = (r, x, y) => x >= r.x && x < r.x + r.w && y >= r.y && y < r.y + r.h;

  function pick(x, y) {
    const mark = state.marks.find((m) => inside(m, x, y));
    if (mark) return markMark(mark);
    const box = state.boxes.find((one) => inside(one, x, y));
    if (box) return boxMark(box);
    const slot = state.slots.find((one) => inside(one, x, y));
    return slot ? slotMark(slot) : null;
  }

  // Words.

  const table = (rows) => `<table>${rows.map(([k, v]) => `<tr><td class="soft">${k}</td><td>${v}</td></tr>`).join("")}</table>`;
  const acts = (text) => (facts().control ? `<code>${esc(state.isPast ? `fork = ${facts().control}.fork(); fork.${text}` : `${facts().control}.${text}`)}</code>` : `<span class="soft">${esc(facts().no_control ?? "")}</span>`);

  function tip(mark) {
    if (mark.kind === "mark") return `<b>${esc(markWords(mark.what, mark.value))}</b><br><span class="soft">${esc(mark.lane)}</span><br>${acts(`drop(${JSON.stringify(mark.lane)}, ${JSON.stringify(mark.what)})`)}`;
    if (mark.kind === "channel") return tipChannel(mark);
    const box = state.boxes.find((one) => keyOf(one) === mark.key);
    if (!box) return null;
    return box.tasks.length > 1 ? tipVertex(box) : tipTask(box.tasks[0], mark);
  }

  function tipChannel(mark) {
    const at = state.slots.find((one) => one.lane === mark.lane);
    if (!at) return null;
    const holds = at.folded ? summed(at.held) : at.held[0].marks;
    const rows = [["holds", holds.length ? holds.map((m) => esc(markWords(m.what, m.value))).join(", ") : "nothing"]];
    rows.push(["room", `${count(at.records)} of ${count(at.capacity)} records taken`]);
    const name = at.folded ? `${at.slot.length} channels` : mark.lane;
    return `<b>${esc(name)}</b>${table(rows)}${at.folded ? "" : acts(`delay(${JSON.stringify(mark.lane)}, 50)`)}`;
  }

  function tipVertex(box) {
    const rows = box.tasks.slice(0, 12).map((task) => [esc(labelOf(task)), esc(taskAt(task, state.t).word)]);
    if (box.tasks.length > 12) rows.push([`+${box.tasks.length - 12}`, ""]);
    return `<b>${esc(box.vertex.name)}</b>${table(rows)}`;
  }

  function tipTask(task, mark) {
    const one = taskAt(task, state.t);
    const rows = [["operators", esc(vertexOf(task).operators.join(" → "))], [esc(one.word), `since ${seconds(1000 * one.since)} ${wallTime(ms(one.since))}`]];
    if (one.why) rows.push(["why", esc(one.why.split("\n")[0].slice(0, 160))]);
    if (one.attempt) rows.push(["attempt", one.attempt + 1]);
    if (!Number.isNaN(one.total)) rows.push(["records out", count(one.total)]);
    if (one.tray) rows.push(...trayRows(one.tray));
    const isPinned = mark.kind === "task" && mark.key === state.pinned;
    const said = (indexed(store).said[task] ?? []).filter(([, at]) => at <= state.t).slice(isPinned ? -SAID_MAX : -3);
    const lines = said.map(([, at, text]) => `<tr><td class="n soft">${at.toFixed(3)} s</td><td>${esc(text.replaceAll(` ${labelOf(task)}`, "").replace(`${labelOf(task)} `, ""))}</td></tr>`);
    return `<b>${esc(labelOf(task))}</b>${table(rows)}${lines.length ? `<table class="plab-said">${lines.join("")}</table>` : ""}${acts(`fail(${JSON.stringify(idOf(task))})`)}`;
  }

  function trayRows(tray) {
    const [open, pre] = (store.lists.trays ?? [])[tray.row] ?? [[], []];
    const names = pre.slice(0, 4).map(([n, name]) => esc(`${n > 2 ** 62 ? "end" : n}: ${String(name).slice(0, 40)}`)).join("<br>");
    return [["open", open.length ? esc(String(open[0]).slice(0, 40)) : "none"], ["pre-committed", names || "none"], ["committed", count(tray.committed)]];
  }

  function say(mark) {
    if (mark.kind === "mark") return `${markWords(mark.what, mark.value)} on ${mark.lane}`;
    if (mark.kind === "channel") return `channel ${mark.lane}`;
    const box = state.boxes.find((one) => keyOf(one) === mark.key);
    if (!box) return "";
    const told = box.tasks.map((task) => taskAt(task, state.t).word);
    return box.tasks.length > 1 ? `${box.vertex.short}, ${box.tasks.length} subtasks` : `${mark.name}, ${told[0]}`;
  }

  // Buttons for what is pinned: on a step that is past they fork there first.

  const DELAY_MS = 50;
  function offers(pin, delayMs) {
    if (pin?.kind === "task" && pin.id) return [["fail here", "fail", [pin.id]], ["kill its process", "kill", [pin.id]]];
    const delay = ["delay by", "delay", [pin?.lane, delayMs]];
    if (pin?.kind === "mark") return [["drop it", "drop", [pin.lane, pin.what]], delay];
    return pin?.kind === "channel" ? [delay] : [];
  }

  function controls({ parent, element, on, clock, ask }) {
    const wrap = element(parent, "span", "plab-acts");
    const buttons = element(wrap, "span", "");
    const input = element(wrap, "input", "plab-ms", { type: "number", min: 1, value: DELAY_MS, "aria-label": "ms of delay", title: "ms of delay" });
    on(input, "keydown", (e) => e.stopPropagation());
    let shown = "";
    state.offer = ({ pin, at }) => {
      const { control, no_control } = facts();
      const isPast = at !== null;
      const now = JSON.stringify([pin?.key, isPast, control, no_control]);
      if (now === shown) return;
      shown = now;
      const made = offers(pin, 0);
      buttons.replaceChildren();
      input.hidden = !made.some(([, name]) => name === "delay");
      for (const [words, name] of made) {
        const button = element(buttons, "button", `plab-act plab-act-${name}`, { type: "button" });
        const args = () => offers(pin, Number(input.value) || DELAY_MS).find((one) => one[1] === name)[2];
        const done = (of) => `${of}.${name}(${args().map((v) => JSON.stringify(v)).join(", ")})`;
        const call = () => (isPast ? `fork = ${control}.fork(); ${done("fork")}` : done(control));
        button.textContent = isPast && control ? `fork and ${words}` : words;
        button.disabled = !control;
        button.title = control ? call() : (no_control ?? "");
        on(button, "click", () => ask({ name, args: args() }, call()));
      }
    };
    state.offer(clock);
    return () => (state.offer = null);
  }

  const jobAt = (t) => (store.lists.jobs ?? []).filter(([at]) => at <= t).at(-1)?.[1] ?? "created";

  function legend(theme) {
    return [
      [theme.soft, "records, their number", "rule"], [blue(theme), "barrier, its id", "rule"], [theme.text, "◇ watermark ■ end of data ▮ end of partition", "line"],
      [mix(theme.cold, theme.hot, 0.3), "how full a channel is", ""], ...(state.slots.some((at) => at.held.some((c) => c.since !== null)) ? [[theme.text, "padlock: an alignment holds it", "line"]] : []),
    ];
  }

  return {
    ownAxis: true,
    height,
    paint: (ctx, b) => ((state.pinned = b.clock.pin?.key), (state.isPast = b.clock.at !== null), paint(ctx, b), state.offer?.(b.clock)),
    pick,
    tip,
    say,
    legend,
    leftOut: () => [facts().simulated || !facts().source ? "" : "channels are sampled", facts().left_out].filter(Boolean).join("; "),
    fork: () => forkOfJob(facts()),
    controls,
    isEmpty: () => !(store.lists.vertices ?? []).length,
    get empty() {
      return facts().empty ?? ["No job has begun.", "show(observer)"];
    },
    marks: () => [...state.boxes.map(boxMark), ...state.slots.map(slotMark), ...state.marks.map(markMark)],
    events: () => [...(store.lists.jobs ?? []).map(([at]) => ms(at)), ...Array.from(store.tables.states.col.at.slice(0, store.tables.states.n), ms)],
    summary: () => {
      const told = state.boxes.flatMap((box) => box.tasks).map((task) => taskAt(task, state.t).word);
      const counts = new Map();
      for (const word of told) counts.set(word, (counts.get(word) ?? 0) + 1);
      const words = [...counts].map(([word, n]) => `${n} ${word}`).join(", ");
      return `job ${facts().source || "not begun"} is ${jobAt(state.t)}: ${words || "no subtask"}${state.now ? `; ${state.now}` : ""}`;
    },
  };
}

export default () => widget({ makeStore: jobStore, makeSpec: jobSpec });
