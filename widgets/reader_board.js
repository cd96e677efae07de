// A lane per reader of a group: the segments it held, from where they came and why, and which checkpoints it passed.
// Draws the rows it is given; who took what and why comes from the kernel. What was so at a moment of the past is
// what the bars and marks before that moment say.
import {
  Store, VERMILION, bytes, commonStart, count, esc, failure, fillReader, fit, haloText, hatch, ink, readerColour, seconds, squeezed, upTo, wallTime, widget,
} from "./common.js";

// The same formats stand in reader_board.py. A reader is its index, and +1 where 0 is nobody.
const FORMATS = {
  readers: { format: "index:u unread:f behind:f lag:f", keyed: true },
  lags: { format: "index:u t:f unread:f behind:f" },
  bars: { format: "index:u reader:u stream:u number:u epoch:u start:f end:f", keyed: true },
  checkpoints: { format: "index:u asked:f ended:f state:u of:u", keyed: true },
  owed: { format: "checkpoint:u reader:u" },
  passes: { format: "checkpoint:u reader:u t:f leaving:u" },
};
const STATES = ["", "running", "completed", "cancelled", "cleared", "reset", "unknown"];
const LANES_MAX = 30;
const SLOTS_MAX = 6; // rows of bars within a lane; with more they are thinner
const GONE_MAX = 5; // of the lanes, when there are too many: for those that went last
const CAUSES = 40; // three lines of reasons
const HEAD = 34;

function boardStore() {
  const fresh = () => ({ lags: [], bars: [], owed: [], passes: [], readers: [], names: new Map(), version: -1 });
  const derived = fresh();
  const group = (table, column, into) => {
    const { n, col } = store.tables[table];
    return (first) => {
      for (let i = first; i < n; i++) (into[col[column][i]] ??= []).push(i);
    };
  };
  const store = new Store(FORMATS, (name, first) => {
    if (name === "") Object.assign(derived, fresh());
    if (name === "lags") group("lags", "index", derived.lags)(first);
    if (name === "owed") group("owed", "checkpoint", derived.owed)(first);
    if (name === "passes") group("passes", "checkpoint", derived.passes)(first);
  });
  store.derived = derived;
  return store;
}

/** The lists of the kernel, indexed: readers with their times online, names of checkpoints, bars by reader. */
function indexed(store) {
  const d = store.derived;
  if (d.version === store.updates) return d;
  d.version = store.updates;
  d.readers = [];
  for (const [index, name] of store.lists.names ?? []) d.readers[index] = { index, name, online: [] };
  d.common = commonStart(d.readers.filter(Boolean).map((r) => r.name));
  for (const [t, reader, what, cause, kind] of store.lists.presence ?? []) {
    const online = d.readers[reader]?.online;
    if (what === "joined") online?.push({ from: t, to: Infinity, how: "", cause: "", kind: "" });
    else if (online?.length) Object.assign(online.at(-1), { to: t, how: what, cause, kind });
  }
  d.names = new Map((store.lists.checkpoint_names ?? []).map(([index, name]) => [index, name]));
  d.bars = [];
  d.slots = [];
  const { n, col } = store.tables.bars;
  for (let i = 0; i < n; i++) if (col.end[i] > col.start[i]) (d.bars[col.reader[i]] ??= []).push(i);
  d.waits = Object.entries(store.facts).filter(([name]) => name.startsWith("wait ")).map(([, w]) => ({
    stream: w[0], number: w[1], start: w[2], end: w[3] ?? Infinity, words: w[4],
  }));
  d.numbers = new Map(); // checkpoints are counted as people count them: those that readers saw, from 1
  const checkpoints = store.tables.checkpoints;
  for (let i = 0; i < checkpoints.n; i++) if (checkpoints.col.state[i]) d.numbers.set(i, d.numbers.size + 1);
  return d;
}

/** Rows within a lane, so that what is held at the same time stands one under another: item -> row. */
function stacked(items) {
  const ends = [];
  const rows = new Map();
  for (const item of [...items].sort((p, q) => p.start - q.start)) {
    let row = ends.findIndex((end) => end <= item.start + 1e-6);
    if (row < 0) row = ends.push(0) - 1;
    ends[row] = item.end;
    rows.set(item.key, row);
  }
  return { rows, n: Math.max(1, ends.length) };
}

function boardSpec(store) {
  const facts = () => store.facts;
  const origin = () => facts().origin_ms ?? 0;
  const ms = (s) => origin() + 1000 * s;
  const bar = () => store.tables.bars.col;
  const check = () => store.tables.checkpoints.col;
  const state = { t: 0, only: null, sort: null, plan: null, planned: "" };
  const only = () => state.only ?? facts().only ?? "";
  const sort = () => state.sort ?? facts().sort ?? "joined";
  const nameOf = (i) => indexed(store).readers[i]?.name ?? "?";
  const laneName = (reader) => (reader ? nameOf(reader - 1) : "nobody");
  const streamOf = (i) => (facts().streams ?? [])[bar().stream[i]] ?? "";
  const short = (i) => `#${bar().number[i]}`;
  const moves = () => store.lists.moves ?? []; // [t, left, stream, number, epoch, from, to, kind, reason, its kind, before]
  const isOpen = (i, t) => bar().start[i] <= t && bar().end[i] > t;

  // What was so at a moment.

  const session = (reader, t) => reader.online.findLast((s) => s.from <= t);
  const isOnline = (reader, t) => (session(reader, t)?.to ?? -1) > t;
  const heldAt = (i, t) => (indexed(store).bars[i + 1] ?? []).filter((k) => isOpen(k, t));

  /** The checkpoints that a reader has still to pass. */
  function owes(i, t) {
    const found = [];
    for (let c = store.tables.checkpoints.n - 1; c >= 0 && found.length < 3; c--) {
      if (!check().state[c] || check().asked[c] > t || check().ended[c] <= t) continue;
      if (waitsFor(c, i, t)) found.push(c);
    }
    return found;
  }

  function waitsFor(c, i, t) {
    const { reader } = store.tables.owed.col;
    if (!(store.derived.owed[c] ?? []).some((k) => reader[k] === i)) return false;
    const passes = store.tables.passes.col;
    return !(store.derived.passes[c] ?? []).some((k) => passes.reader[k] === i && passes.t[k] <= t);
  }

  function stateWord(reader, t) {
    const s = session(reader, t);
    if (!s) return "";
    if (s.to <= t) return s.how === "killed" ? "killed" : "offline";
    if (owes(reader.index, t).length) return "checkpoint";
    return heldAt(reader.index, t).length ? "reading" : "idle";
  }

  /** [bytes, since] as last measured. */
  function lagAt(i, t, isNewest) {
    const { unread, behind } = store.tables.readers.col;
    if (isNewest) return [unread[i], behind[i]];
    const rows = store.derived.lags[i] ?? [];
    const lags = store.tables.lags.col;
    let k = rows.length - 1;
    while (k >= 0 && lags.t[rows[k]] > t) k -= 1;
    return k < 0 ? [NaN, NaN] : [lags.unread[rows[k]], lags.behind[rows[k]]];
  }

  function fairShare(t) {
    const d = indexed(store);
    let [segments, online] = [0, 0];
    for (const list of d.bars) for (const i of list ?? []) segments += isOpen(i, t) ? 1 : 0;
    for (const reader of d.readers) online += reader && isOnline(reader, t) ? 1 : 0;
    return online ? segments / online : NaN;
  }

  // Lanes: which, how high, where.

  function chosen(t) {
    const wanted = indexed(store).readers.filter((r) => r && r.name.toLowerCase().includes(only().toLowerCase()));
    const lag = (r) => (isOnline(r, t) ? lagAt(r.index, t, false)[0] || 0 : -1);
    const held = new Map(wanted.map((r) => [r, heldAt(r.index, t).length]));
    const orders = {
      joined: (p, q) => p.index - q.index,
      lag: (p, q) => lag(q) - lag(p) || p.index - q.index,
      held: (p, q) => held.get(q) - held.get(p) || p.index - q.index,
      name: (p, q) => (p.name < q.name ? -1 : 1),
    };
    const gone = wanted.filter((r) => !isOnline(r, t)).sort((p, q) => (session(q, t)?.to ?? 0) - (session(p, t)?.to ?? 0)).slice(0, GONE_MAX);
    const busy = wanted.filter((r) => !gone.includes(r)).sort((p, q) => held.get(q) - held.get(p) || lag(q) - lag(p) || p.index - q.index);
    const shown = wanted.length > LANES_MAX ? [...gone, ...busy].slice(0, LANES_MAX) : wanted;
    return { shown: [...shown].sort(orders[sort()]), all: wanted.length };
  }

  /** The bars of a lane in rows; in nobody's, segments that wait stand below those that are free. */
  function arranged(reader) {
    const d = indexed(store);
    const free = stacked((d.bars[reader] ?? []).map((i) => ({ key: i, start: bar().start[i], end: bar().end[i] })));
    if (reader || !d.waits.length) return free;
    const waiting = stacked(d.waits.map((w, k) => ({ key: `wait ${k}`, ...w })));
    for (const [key, row] of waiting.rows) free.rows.set(key, free.n + row);
    return { rows: free.rows, n: free.n + waiting.n };
  }

  /** The lanes from top to bottom, nobody's first; made anew when something came or was asked for. */
  function plan() {
    const key = `${store.updates} ${only()} ${sort()}`;
    if (state.planned === key) return state.plan;
    const { shown, all } = chosen(facts().now_s ?? 0); // lanes stay where they are while one looks back
    const lanes = [0, ...shown.map((r) => r.index + 1)].map((reader) => ({ reader, ...arranged(reader) }));
    const rows = lanes.reduce((sum, l) => sum + Math.min(SLOTS_MAX, l.n), 0);
    const row = rows <= 14 ? 15 : rows <= 28 ? 12 : rows <= 60 ? 8 : 5;
    const least = lanes.length <= 14 ? 22 : 15;
    let y = HEAD;
    for (const lane of lanes) {
      lane.h = Math.max(least, row * Math.min(SLOTS_MAX, lane.n) + 5);
      lane.y = y;
      y += lane.h;
    }
    [state.planned, state.plan] = [key, { lanes, bottom: y, all, shown: shown.length, of: new Map(lanes.map((l) => [l.reader, l])) }];
    return state.plan;
  }

  const height = (s) => ((store.lists.names?.length ? plan().bottom : 200) + CAUSES + 30) * s;

  /** The rectangle of a bar, clipped to the screen; null when none of it is there. */
  function rectangle(b, lane, key, start, end, t) {
    const s = b.scale;
    const x0 = Math.max(b.left, b.x(ms(start)));
    const x1 = Math.min(b.right, b.x(ms(Math.min(end, t))));
    if (start > t || x1 < b.left || x0 > b.right) return null;
    const h = (lane.h - 5) / lane.n;
    const gap = h > 6 ? 1.5 : h > 3 ? 0.5 : 0;
    return [x0, (lane.y + 2.5 + h * (lane.rows.get(key) ?? 0)) * s, Math.max(1, x1 - x0), Math.max(1, (h - gap) * s)];
  }

  const barRectangle = (b, i, t) => {
    const lane = plan().of.get(bar().reader[i]);
    return lane ? rectangle(b, lane, i, bar().start[i], bar().end[i], t) : null;
  };

  // Painting.

  function paintLanes(ctx, b, t) {
    const s = b.scale;
    ctx.textBaseline = "middle";
    for (const lane of plan().lanes) {
      const [y, h] = [lane.y * s, lane.h * s];
      ctx.fillStyle = b.theme.line;
      ctx.fillRect(b.left - 42 * s, Math.round(y + h) - 0.5, b.width - b.left + 42 * s, 0.6);
      const reader = lane.reader ? indexed(store).readers[lane.reader - 1] : null;
      for (const online of reader?.online ?? []) {
        const [x0, x1] = [Math.max(b.left, b.x(ms(online.from))), Math.min(b.right, b.x(ms(Math.min(online.to, t))))];
        if (online.from > t || x1 <= x0) continue;
        ctx.globalAlpha = b.theme.dark ? 0.22 : 0.14;
        ctx.fillStyle = readerColour(reader.index);
        ctx.fillRect(x0, y + 1, x1 - x0, h - 2);
        ctx.globalAlpha = 1;
      }
      const here = !reader || (session(reader, t) && true);
      const gone = reader && !isOnline(reader, t);
      ctx.globalAlpha = here ? (gone ? 0.5 : 1) : 0.3;
      ctx.font = b.font(10.5, "600");
      ctx.textAlign = "left";
      if (reader) fillReader(ctx, b.theme, reader.index, 3 * s, y + h / 2 - 5 * s, 5 * s, 10 * s);
      ctx.fillStyle = b.theme.text;
      const name = reader ? reader.name : "nobody";
      if (!reader) ctx.font = b.font(10);
      const room = b.left - (reader ? 11 : 3) * s;
      ctx.fillText(reader ? squeezed(ctx, name, room, indexed(store).common) : name, (reader ? 11 : 3) * s, y + h / 2);
      ctx.globalAlpha = 1;
    }
  }

  function paintBars(ctx, b, t) {
    const d = indexed(store);
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    for (const lane of plan().lanes) {
      for (const i of d.bars[lane.reader] ?? []) {
        const r = rectangle(b, lane, i, bar().start[i], bar().end[i], t);
        if (r) (lane.reader ? paintHeld : paintFree)(ctx, b, i, r, t);
      }
    }
    const nobody = plan().of.get(0);
    d.waits.forEach((w, k) => {
      const r = rectangle(b, nobody, `wait ${k}`, w.start, w.end, t);
      if (r) paintWaiting(ctx, b, w, r);
    });
  }

  function paintHeld(ctx, b, i, [x, y, w, h], t) {
    const reader = bar().reader[i] - 1;
    fillReader(ctx, b.theme, reader, x, y, w, h);
    if (w > 3 && h > 4) {
      ctx.strokeStyle = b.theme.dark ? "#ffffff66" : "#00000066";
      ctx.beginPath(); // open at the right while it lasts
      ctx.moveTo(x + w, y + 0.5);
      ctx.lineTo(x + 0.5, y + 0.5);
      ctx.lineTo(x + 0.5, y + h - 0.5);
      ctx.lineTo(x + w, y + h - 0.5);
      if (!isOpen(i, t)) ctx.lineTo(x + w, y);
      ctx.stroke();
    }
    ctx.font = b.font(Math.min(10, h / b.scale - 1), "600");
    if (h < 8 * b.scale || w < ctx.measureText(short(i)).width + 6) return;
    if (reader >= 6) haloText(ctx, b.theme, short(i), x + 4, y + h / 2 + 0.5);
    else {
      ctx.fillStyle = ink(readerColour(reader));
      ctx.fillText(short(i), x + 4, y + h / 2 + 0.5);
    }
  }

  /** Nobody's: its length is how long nobody read the segment. */
  function paintFree(ctx, b, i, [x, y, w, h], t) {
    ctx.fillStyle = b.theme.ground;
    ctx.fillRect(x, y, w, h);
    ctx.fillStyle = hatch(ctx, b.theme.soft, 5);
    ctx.fillRect(x, y, w, h);
    ctx.strokeStyle = b.theme.soft;
    if (h > 3) ctx.strokeRect(x + 0.5, y + 0.5, Math.max(0.5, w - 1), h - 1);
    if (h < 8 * b.scale) return;
    const long = 1000 * (Math.min(bar().end[i], t) - bar().start[i]);
    ctx.font = b.font(Math.min(9.5, h / b.scale - 1.5));
    const text = `${short(i)} ${count(Math.round(long))} ms`;
    const room = nextStart(i, t) - (x + w) - 6;
    if (room > ctx.measureText(text).width) haloText(ctx, b.theme, text, x + w + 3, y + h / 2 + 0.5);
    else if (w > ctx.measureText(text).width + 6) haloText(ctx, b.theme, text, x + 3, y + h / 2 + 0.5);

    function nextStart(k, until) {
      const lane = plan().of.get(0);
      const row = lane.rows.get(k);
      let next = b.right;
      for (const other of indexed(store).bars[0])
        if (lane.rows.get(other) === row && bar().start[other] >= bar().end[k] && bar().start[other] <= until)
          next = Math.min(next, b.x(ms(bar().start[other])));
      return next;
    }
  }

  function paintWaiting(ctx, b, w, [x, y, width, h]) {
    ctx.setLineDash([2, 2.5]);
    ctx.strokeStyle = b.theme.text;
    ctx.strokeRect(x + 0.5, y + 0.5, width - 1, Math.max(1, h - 1));
    ctx.setLineDash([]);
    if (h < 8 * b.scale) return;
    ctx.font = b.font(Math.min(9.5, h / b.scale - 1.5));
    const text = `#${w.number} ${w.words}`;
    const inside = ctx.measureText(text).width < width - 5;
    if (inside || b.right - x - width > ctx.measureText(text).width) haloText(ctx, b.theme, text, inside ? x + 3 : x + width + 3, y + h / 2 + 0.5);
  }

  /** Comings and goings: a death is a cross, and what is not known is an end with a word. */
  function paintGone(ctx, b, t) {
    const s = b.scale;
    for (const lane of plan().lanes.slice(1)) {
      const { online } = indexed(store).readers[lane.reader - 1];
      online.forEach((one, k) => {
        if (one.to > t) return;
        const x = b.x(ms(one.to));
        if (x < b.left - 1 || x > b.right + 1) return;
        const y = (lane.y + lane.h / 2) * s;
        ctx.fillStyle = b.theme.text;
        if (one.how === "killed") failure(ctx, x, y, Math.min(7, lane.h / 3) * s);
        else ctx.fillRect(x - 1, lane.y * s + 2, 2, lane.h * s - 4);
        const until = k + 1 < online.length && online[k + 1].from <= t ? b.x(ms(online[k + 1].from)) : b.right;
        ctx.font = b.font(10);
        ctx.textAlign = "left";
        const word = one.how === "killed" ? "killed" : "offline";
        const why = one.cause.startsWith(word) ? one.cause : `${word}: ${one.cause}`;
        const text = [`${why} (${one.kind})`, word].find((w) => ctx.measureText(w).width < until - x - 14);
        if (text) haloText(ctx, b.theme, text, x + 10, y + 0.5);
      });
    }
  }

  const shownChecks = (b, t) => {
    const found = [];
    for (let c = 0; c < store.tables.checkpoints.n; c++) {
      if (!check().state[c] || check().asked[c] > t) continue;
      if (b.x(ms(Math.min(check().ended[c], t))) >= b.left && b.x(ms(check().asked[c])) <= b.right) found.push(c);
    }
    return found;
  };
  const checkState = (c, t) => (check().ended[c] > t ? "running" : STATES[check().state[c]]);
  const checkWord = (c, t) => {
    const word = checkState(c, t);
    if (word === "running") return `${passedBy(c, t)} of ${check().of[c]}`;
    return { completed: "", cleared: "failed", reset: "dropped by reset" }[word] ?? word;
  };
  const passedBy = (c, t) => (store.derived.passes[c] ?? []).filter((k) => store.tables.passes.col.t[k] <= t).length;
  const checkTitle = (c) => `checkpoint ${indexed(store).numbers.get(c)}`;

  function paintCheckpoints(ctx, b, t) {
    const s = b.scale;
    const list = shownChecks(b, t);
    const crowded = list.length > (b.right - b.left) / 9;
    const [top, bottom] = [(HEAD - 6) * s, plan().bottom * s];
    let limit = b.right;
    ctx.textBaseline = "middle";
    for (const c of list.reverse()) {
      const x = Math.round(b.x(ms(check().asked[c])));
      const word = checkState(c, t);
      const colour = word === "cleared" ? VERMILION : word === "completed" || word === "running" ? b.theme.text : b.theme.soft;
      const chosen_ = [b.clock.hover, b.clock.pin].some((m) => isCheckpoint(m, c));
      ctx.strokeStyle = colour;
      ctx.lineWidth = chosen_ ? 2.5 : 1;
      ctx.globalAlpha = crowded && !chosen_ ? 0.25 : 0.8;
      ctx.setLineDash(word === "completed" ? [] : [4, 3]);
      ctx.beginPath();
      ctx.moveTo(x + 0.5, top);
      ctx.lineTo(x + 0.5, bottom);
      if (x >= b.left) ctx.stroke();
      ctx.setLineDash([]);
      ctx.globalAlpha = 1;
      if (!crowded || chosen_) paintPasses(ctx, b, c, t);
      ctx.font = b.font(9.5);
      ctx.textAlign = "left";
      const text = [`✓`, checkWord(c, t)][word === "completed" ? 0 : 1];
      const label = `${indexed(store).numbers.get(c)} ${text}`;
      const width = ctx.measureText(label).width;
      const left = limit === b.right ? Math.min(x - 2, b.right - 2 - width) : x - 2;
      if (x < b.left || left + width > limit) continue;
      haloText(ctx, b.theme, label, left, top - 6 * s, word === "cleared" ? VERMILION : b.theme.text);
      limit = left - 4;
    }
    ctx.lineWidth = 1;
  }

  /** A filled dot where a reader passed; a ring at the now line where it has still to. */
  function paintPasses(ctx, b, c, t) {
    const { reader, t: at, leaving } = store.tables.passes.col;
    const asked = b.x(ms(check().asked[c]));
    const dot = (index, time, filled, left) => {
      const lane = plan().of.get(index + 1);
      const x = b.x(ms(time));
      if (!lane || x < b.left || x > b.right + 2) return;
      const y = (lane.y + lane.h / 2) * b.scale;
      ctx.strokeStyle = ctx.fillStyle = b.theme.text;
      ctx.fillRect(Math.max(asked, b.left), y - 0.5, x - Math.max(asked, b.left), 1.2);
      if (left) return;
      ctx.beginPath();
      ctx.arc(x, y, 3.6 * b.scale, 0, 7);
      ctx.fillStyle = filled ? b.theme.text : b.theme.ground;
      ctx.fill();
      ctx.lineWidth = 1.4;
      ctx.strokeStyle = filled ? b.theme.ground : b.theme.text;
      ctx.stroke();
      ctx.lineWidth = 1;
    };
    for (const k of store.derived.passes[c] ?? []) if (at[k] <= t) dot(reader[k], at[k], true, leaving[k]);
    if (check().ended[c] <= t) return;
    for (const k of store.derived.owed[c] ?? []) {
      const i = store.tables.owed.col.reader[k];
      if (waitsFor(c, i, t)) dot(i, t, false, 0);
    }
  }

  /** Where a connector starts and ends: [x, y, x, y], or null when one of its lanes is not drawn. */
  function connector(b, m, t) {
    const [time, left, , number, , from, to, , , , before] = m;
    const lanes = plan().of;
    if (time > t || !lanes.has(to) || !lanes.has(from)) return null;
    const d = indexed(store);
    const middle = (lane, i, start, end) => {
      const r = i === undefined ? null : rectangle(b, lane, i, start, end, Infinity);
      return r ? r[1] + r[3] / 2 : (lane.y + lane.h / 2) * b.scale;
    };
    const near = (p, q) => Math.abs(p - q) < 0.002;
    const mine = before.length ? before : [number];
    const old = (d.bars[from] ?? []).find((i) => near(bar().end[i], from ? left : time) && (from ? mine : [number]).includes(bar().number[i]));
    const next = (d.bars[to] ?? []).find((i) => near(bar().start[i], time) && bar().number[i] === number);
    const of = (i) => (i === undefined ? [0, 0] : [bar().start[i], bar().end[i]]);
    return [b.x(ms(from ? left : time)), middle(lanes.get(from), old, ...of(old)), b.x(ms(time)), middle(lanes.get(to), next, ...of(next))];
  }

  function paintMoves(ctx, b, t) {
    const list = moves().filter((m) => m[0] <= t && b.x(ms(m[0])) >= b.left && b.x(ms(m[1])) <= b.right);
    const crowded = list.length > 300;
    for (const m of crowded ? list.slice(-300) : list) {
      if (m[5] === m[6]) continue; // it stays in its lane
      const line = connector(b, m, t);
      if (!line) continue;
      const [x0, y0, x1, y1] = line;
      const chosen_ = [b.clock.hover, b.clock.pin].some((k) => k?.kind === "move" && k.key === moveKey(m));
      ctx.strokeStyle = ctx.fillStyle = b.theme.text;
      ctx.lineWidth = chosen_ ? 2.5 : 1;
      ctx.globalAlpha = chosen_ ? 1 : 0.7;
      ctx.beginPath();
      ctx.moveTo(Math.max(b.left, x0), y0);
      ctx.bezierCurveTo(Math.max(b.left, x0), (y0 + y1) / 2, x1, (y0 + y1) / 2, x1, y1);
      ctx.stroke();
      const down = y1 > y0 ? -1 : 1;
      ctx.beginPath();
      ctx.moveTo(x1, y1);
      ctx.lineTo(x1 - 3, y1 + 6 * down);
      ctx.lineTo(x1 + 3, y1 + 6 * down);
      ctx.fill();
    }
    ctx.globalAlpha = 1;
    ctx.lineWidth = 1;
  }

  const moveKey = (m) => `move ${m[0]} ${m[2]} ${m[3]}`;
  const moveText = (m) => `#${m[3]} ${m[5] ? `${laneName(m[5])} → ` : "→ "}${laneName(m[6])}: ${m[8]} (${m[9]})`;

  /** A tick per move, with its reason where there is room: newest first, in the lowest line that holds it whole. */
  function paintReasons(ctx, b, t) {
    const s = b.scale;
    const bottom = (plan().bottom + CAUSES + 4) * s;
    const shown = moves().filter((m) => m[0] <= t && m[5] !== m[6] && b.x(ms(m[0])) >= b.left && b.x(ms(m[0])) <= b.right).slice(-400);
    const limits = [b.width - 4, b.width - 4, b.width - 4];
    const line = 12 * s;
    ctx.font = b.font(10);
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    ctx.fillStyle = b.theme.text;
    for (const m of shown.reverse()) {
      const x = b.x(ms(m[0]));
      ctx.beginPath();
      ctx.moveTo(x - 3.5, bottom);
      ctx.lineTo(x + 3.5, bottom);
      ctx.lineTo(x, bottom - 5 * s);
      ctx.fill();
      const text = moveText(m);
      const rooms = limits.map((limit) => limit - x - 2);
      const width = ctx.measureText(text).width;
      const whole = rooms.findIndex((room) => room >= width);
      const row = whole >= 0 ? whole : rooms.indexOf(Math.max(...rooms));
      if (whole < 0 && rooms[row] < 110) continue;
      ctx.fillText(fit(ctx, text, rooms[row]), x + 1, bottom - 11 * s - line * row);
      limits[row] = x - 7;
    }
  }

  function paintBands(ctx, b, t) {
    const s = b.scale;
    const [top, bottom] = [HEAD * s, plan().bottom * s];
    const band = (from, to, word) => {
      const [x0, x1] = [Math.max(b.left, b.x(ms(from))), Math.min(b.right, b.x(ms(Math.min(to, t))))];
      if (x1 < b.left || x0 > b.right || from > t) return;
      ctx.fillStyle = hatch(ctx, b.theme.line, 8);
      ctx.fillRect(x0, top, Math.max(2, x1 - x0), bottom - top);
      ctx.font = b.font(9.5, "600");
      ctx.textAlign = "center";
      ctx.textBaseline = "middle";
      haloText(ctx, b.theme, word, (x0 + x1) / 2, 6 * s);
    };
    const resets = store.lists.resets ?? [];
    resets.forEach(([at, begun], k) => begun && band(at, resets[k + 1]?.[1] === false ? resets[k + 1][0] : Infinity, "reset"));
    for (const at of store.lists.gaps ?? []) band(at, at, "gap in the log");
  }

  function paintGutter(ctx, b, t) {
    const s = b.scale;
    const x = b.right + 8 * s;
    const room = b.width - x - 4;
    const columns = [x, x + room * 0.27, x + room * 0.53, b.width - 4]; // name, state, held / share, unread
    const y0 = (HEAD - 11) * s;
    ctx.font = b.font(10);
    ctx.textBaseline = "middle";
    ctx.fillStyle = b.theme.soft;
    const put = (k, text, y, right) => {
      ctx.textAlign = right ? "right" : "left";
      const width = right ? room * 0.3 : (k === 2 ? room * 0.22 : columns[k + 1] - columns[k] - 4);
      ctx.fillText(k ? fit(ctx, text, width) : squeezed(ctx, text, width, indexed(store).common), columns[k], y);
    };
    put(0, "reader", y0);
    put(1, "state", y0);
    put(2, "held/fair", y0);
    put(3, "unread", y0, true);
    const share = fairShare(t);
    const newest = b.clock.at === null;
    for (const lane of plan().lanes) {
      const y = (lane.y + lane.h / 2) * s;
      if (!lane.reader) {
        const free = (indexed(store).bars[0] ?? []).filter((i) => isOpen(i, t));
        const waiting = indexed(store).waits.filter((w) => w.start <= t && w.end > t);
        ctx.fillStyle = b.theme.text;
        const words = [free.length && `${free.length} free`, waiting.length && `${waiting.length} waiting`].filter(Boolean);
        put(0, "nobody", y);
        ctx.fillStyle = b.theme.soft;
        put(1, words.join(", ") || "all held", y);
        continue;
      }
      const reader = indexed(store).readers[lane.reader - 1];
      const word = stateWord(reader, t);
      if (!word) continue;
      const gone = word === "killed" || word === "offline";
      ctx.fillStyle = gone ? b.theme.soft : b.theme.text;
      put(0, reader.name, y);
      ctx.fillStyle = b.theme.soft;
      put(1, word, y);
      if (gone) continue;
      const held = heldAt(reader.index, t).length;
      ctx.fillStyle = b.theme.text;
      put(2, `${held}/${Number(share.toFixed(1))}`, y);
      const [unread, since] = lagAt(reader.index, t, newest);
      const age = unread > 0 && since <= t ? ` ${(t - since).toFixed(t - since < 10 ? 1 : 0)} s` : "";
      put(3, `${bytes(unread)}${age}`, y, true);
    }
  }

  // Selection.

  const isCheckpoint = (mark, c) =>
    (mark?.kind === "checkpoint" || mark?.kind === "cut") && mark.source === facts().group && mark.name === indexed(store).names.get(c);
  const isSegment = (mark, i) => mark?.kind === "segment" && mark.stream === streamOf(i) && mark.number === bar().number[i];

  function paintSelection(ctx, b, t) {
    for (const mark of [b.clock.pin, b.clock.hover]) {
      if (mark?.kind === "reader" && mark.group === facts().group) {
        const lane = plan().of.get(mark.reader + 1);
        ctx.strokeStyle = b.theme.text;
        ctx.lineWidth = 1.5;
        if (lane) ctx.strokeRect(1, lane.y * b.scale + 0.5, b.width - 2, lane.h * b.scale - 1);
      }
      if (mark?.kind !== "segment") continue;
      for (const lane of plan().lanes)
        for (const i of indexed(store).bars[lane.reader] ?? []) {
          const r = isSegment(mark, i) ? barRectangle(b, i, t) : null;
          if (!r) continue;
          for (const [extra, colour] of [[2, b.theme.ground], [0, b.theme.text]]) {
            ctx.strokeStyle = colour;
            ctx.lineWidth = 2 + extra;
            ctx.strokeRect(...r);
          }
        }
    }
    ctx.lineWidth = 1;
  }

  function paint(ctx, b) {
    const t = upTo((b.now - origin()) / 1000);
    state.t = t;
    if (!b.clock.ticking || !store.lists.names?.length) return paintEmpty(ctx, b);
    paintLanes(ctx, b, t);
    paintBands(ctx, b, t);
    paintBars(ctx, b, t);
    paintCheckpoints(ctx, b, t);
    paintMoves(ctx, b, t);
    paintGone(ctx, b, t);
    paintSelection(ctx, b, t);
    paintReasons(ctx, b, t);
    paintGutter(ctx, b, t);
  }

  function paintEmpty(ctx, b) {
    ctx.fillStyle = b.theme.line;
    for (let k = 0; k < 5; k++) ctx.fillRect(b.left, (HEAD + 26 * k) * b.scale, b.right - b.left, 0.6);
    ctx.font = b.font(10.5);
    ctx.fillStyle = b.theme.soft;
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    ctx.fillText("nobody", 3 * b.scale, (HEAD + 13) * b.scale);
  }

  const segmentMark = (i) => ({
    kind: "segment", key: `${streamOf(i)}/#${bar().number[i]} e${bar().epoch[i]}`, stream: streamOf(i), number: bar().number[i],
    bar: i, time: ms(bar().start[i]),
  });
  const readerMark = (i) => ({ kind: "reader", key: `reader ${nameOf(i)}`, reader: i, name: nameOf(i), group: facts().group, time: ms(state.t) });
  const checkpointMark = (c) => ({
    kind: "checkpoint", key: `checkpoint ${indexed(store).names.get(c)}`, name: indexed(store).names.get(c), source: facts().group, time: ms(check().asked[c]),
  });
  const moveMark = (m) => ({ kind: "move", key: moveKey(m), group: facts().group, move: m, time: ms(m[0]) });

  function pick(x, y, b) {
    const [t, s] = [state.t, b.scale];
    if (!store.lists.names?.length) return null;
    const { lanes, bottom } = plan();
    if (y > bottom * s) {
      const near = moves().filter((m) => m[0] <= t && Math.abs(b.x(ms(m[0])) - x) < 5);
      return near.length ? moveMark(near.at(-1)) : null;
    }
    const line = shownChecks(b, t).filter((c) => Math.abs(b.x(ms(check().asked[c])) - x) < (y < HEAD * s ? 12 : 3));
    if (line.length) return checkpointMark(line.at(-1));
    const lane = lanes.find((l) => y >= l.y * s && y < (l.y + l.h) * s);
    if (!lane) return null;
    for (const i of [...(indexed(store).bars[lane.reader] ?? [])].reverse()) {
      const r = rectangle(b, lane, i, bar().start[i], bar().end[i], t);
      if (r && x >= r[0] - 1 && x <= r[0] + r[2] + 1 && y >= r[1] && y <= r[1] + r[3] + 1.5) return segmentMark(i);
    }
    return lane.reader ? readerMark(lane.reader - 1) : null;
  }

  // Words.

  const soft = (text) => `<span class="soft">${esc(text)}</span>`;
  const rowsOf = (rows) => `<table>${rows.map(([k, v]) => `<tr><td class="soft">${k}</td><td>${v}</td></tr>`).join("")}</table>`;
  const when = (s) => `${seconds(1000 * s)} ${wallTime(ms(s))}`;

  function tipReader(i) {
    const t = state.t;
    const reader = indexed(store).readers[i];
    const s = reader && session(reader, t);
    if (!s) return null;
    const word = stateWord(reader, t);
    const rows = [["online since", when(s.from)]];
    if (s.to <= t) rows.push([word, when(s.to)], ["why", `${esc(s.cause)} ${soft(`(${s.kind})`)}`]);
    else {
      const held = heldAt(i, t).map(short);
      rows.push(["holds", held.join(" ") || "nothing"], ["fair share", fairShare(t).toFixed(1)]);
      const [unread, since] = lagAt(i, t, false);
      rows.push(["unread", `${bytes(unread)}${unread > 0 ? `, the oldest ${seconds(1000 * (t - since))} old` : ""}`]);
      const owed = owes(i, t);
      if (owed.length) rows.push(["has to pass", owed.map((c) => `${checkTitle(c)}, for ${seconds(1000 * (t - check().asked[c]))}`).join("<br>")]);
    }
    return `<b>${esc(reader.name)}</b> ${word}${rowsOf(rows)}`;
  }

  function tipSegment(mark) {
    const t = state.t;
    const { n } = store.tables.bars;
    const mine = [...Array(n).keys()].filter((i) => isSegment(mark, i) && bar().start[i] <= t);
    if (!mine.length) return null;
    const rows = mine.slice(-6).map((i) => [
      bar().reader[i] ? esc(laneName(bar().reader[i])) : "nobody",
      `${when(bar().start[i])}, ${isOpen(i, t) ? "until now" : `for ${seconds(1000 * (bar().end[i] - bar().start[i]))}`}`,
    ]);
    const last = moves().findLast((m) => m[0] <= t && m[3] === mark.number && (facts().streams ?? [])[m[2]] === mark.stream);
    const why = last ? `${esc(moveText(last).replace(/ \([^)]*\)$/, ""))} ${soft(`(${last[9]})`)}` : "";
    return `<b>${esc(mark.stream)} #${mark.number}</b>${rowsOf(rows)}${why}`;
  }

  function tipCheckpoint(mark) {
    const t = state.t;
    const c = [...indexed(store).numbers.keys()].find((k) => isCheckpoint(mark, k));
    if (c === undefined || check().asked[c] > t) return null;
    const word = checkState(c, t);
    const rows = [["asked", when(check().asked[c])], ["passed", `${passedBy(c, t)} of ${check().of[c]}`]];
    if (word !== "running") rows.push([word, `after ${seconds(1000 * (check().ended[c] - check().asked[c]))}`]);
    const { reader, t: at, leaving } = store.tables.passes.col;
    const late = (store.derived.passes[c] ?? []).filter((k) => at[k] <= t).sort((p, q) => at[q] - at[p]);
    for (const k of late.slice(0, 4)) rows.push([esc(nameOf(reader[k])), `${count(Math.round(1000 * (at[k] - check().asked[c])))} ms${leaving[k] ? ", by leaving" : ""}`]);
    return `<b>${checkTitle(c)}</b> ${word === "running" ? "running" : word}<br>${soft(mark.name)}${rowsOf(rows)}`;
  }

  function tipMove(mark) {
    const m = mark.move;
    const gap = Math.round(1000 * (m[0] - m[1]));
    const rows = [["when", when(m[0])], ["nobody had it", `${count(gap)} ms`], ["why it was free", m[7]]];
    if (m[10].length) rows.push(["after", m[10].map((i) => `#${i}`).join(" ")]);
    return `<b>#${m[3]} ${m[5] ? `${esc(laneName(m[5]))} → ` : "→ "}${esc(laneName(m[6]))}</b>${rowsOf(rows)}${esc(m[8])} ${soft(`(${m[9]})`)}`;
  }

  function tip(mark) {
    if (mark.kind === "segment") return tipSegment(mark);
    if (mark.kind === "checkpoint" && mark.source === facts().group) return tipCheckpoint(mark);
    if (mark.group !== facts().group) return null;
    return mark.kind === "reader" ? tipReader(mark.reader) : mark.kind === "move" ? tipMove(mark) : null;
  }

  function say(mark) {
    const t = state.t;
    if (mark.kind === "move") return moveText(mark.move);
    if (mark.kind === "checkpoint") return `checkpoint ${mark.name}`;
    if (mark.kind === "segment") return `segment ${mark.key}`;
    const reader = indexed(store).readers[mark.reader];
    const word = reader ? stateWord(reader, t) : "";
    if (!word) return "";
    const held = heldAt(mark.reader, t).map(short);
    const [unread] = lagAt(mark.reader, t, false);
    const rest = word === "killed" || word === "offline" ? session(reader, t).cause : `holds ${held.join(", ") || "nothing"}, unread ${bytes(unread)}`;
    return `reader ${reader.name}, ${word}, ${rest}`;
  }

  function legend(theme) {
    const { lanes } = plan();
    const has = (how) => indexed(store).readers.some((r) => r?.online.some((s) => s.how === how));
    const some = [[theme.text, "held by the reader of the lane", "ring"], [theme.soft, "nobody has it", "hatch"]];
    if (indexed(store).waits.length) some.push([theme.text, "waits for predecessors", "dots"]);
    if (store.tables.checkpoints.n) some.push([theme.text, "checkpoint asked", "rule"], [theme.text, "reader passed it", "dot"]);
    if (moves().length && lanes.length) some.push([theme.text, "a segment moved", "line"]);
    if (has("killed")) some.push([VERMILION, "killed", ""]);
    return some;
  }

  return {
    height,
    paint,
    pick,
    tip,
    say,
    legend,
    leftOut: () => {
      const { shown, all } = store.lists.names?.length ? plan() : { shown: 0, all: 0 };
      const hidden = shown < all ? `the busiest ${shown} of ${count(all)} readers drawn, +${count(all - shown)}` : "";
      return [hidden, facts().left_out].filter(Boolean).join("; ");
    },
    isEmpty: () => !store.lists.names?.length,
    get empty() {
      return facts().empty ?? ["No readers yet.", 'group.create_reader("r1")'];
    },
    marks: () => plan().lanes.slice(1).map((l) => readerMark(l.reader - 1)),
    events: () => {
      const asked = [...indexed(store).numbers.keys()].map((c) => check().asked[c]);
      return [...new Set([...moves().map((m) => m[0]), ...asked, ...(store.lists.presence ?? []).map((p) => p[0])])].map(ms);
    },
    summary: () => {
      const t = state.t;
      const readers = indexed(store).readers.filter((r) => r && session(r, t));
      const online = readers.filter((r) => isOnline(r, t)).length;
      const free = (indexed(store).bars[0] ?? []).filter((i) => isOpen(i, t)).length;
      return `${facts().group || "no group"}: ${online} of ${readers.length} readers online, ${free} segments that nobody has`;
    },
    controls({ parent, element, on, redraw, call }) {
      const wrap = element(parent, "label", "");
      wrap.textContent = "only ";
      const input = element(wrap, "input", "plab-only", { type: "text", placeholder: "part of a name", "aria-label": "readers whose name contains", spellcheck: "false" });
      const choose = element(parent, "label", "");
      choose.textContent = "sort ";
      const select = element(choose, "select", "plab-sort", { "aria-label": "sort lanes by" });
      for (const way of ["joined", "lag", "held", "name"]) element(select, "option", "", { value: way }).textContent = way;
      const said = () => call(`ReaderBoard(journal, only=${JSON.stringify(only())}, sort="${sort()}")`);
      const sync = () => {
        if (document.activeElement !== input) input.value = only();
        select.value = sort();
      };
      on(input, "keydown", (e) => e.stopPropagation());
      on(input, "input", () => ((state.only = input.value), said(), redraw()));
      on(select, "change", () => ((state.sort = select.value), said(), redraw()));
      store.listeners.add(sync);
      sync();
      return () => store.listeners.delete(sync);
    },
  };
}

export default () => widget({ makeStore: boardStore, makeSpec: boardSpec });
