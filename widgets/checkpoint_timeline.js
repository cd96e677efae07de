// The last checkpoints as bars, and of one of them who passed when; beside it the cut in the key space. Draws the
// rows it is given: phases, their words and what a part waits for come from the kernel, whatever system they are of.
import {
  Store, VERMILION, bytes, count, esc, fillReader, fit, forkOfJob, haloText, hatch, ink, readerColour, seconds, ticks, upTo, wallTime, widget,
} from "./common.js";

// The same formats stand in checkpoint_timeline.py.
const FORMATS = {
  checkpoints: { format: "index:u number:u start:f end:f state:u", keyed: true },
  parts: { format: "index:u checkpoint:u row:u skipped:u", keyed: true },
  phases: { format: "index:u told:u start:f end:f", keyed: true },
  ticks: { format: "part:u at:f channel:u" },
  pieces: { format: "checkpoint:u stream:u number:u epoch:u row:u done:u low:f high:f at:f offset:f" },
};
const STATES = ["", "running", "completed", "failed", "cancelled", "unknown"];
const PHASES_MAX = 8; // of a system: a phase's index is its part's × 8 and its place
const BARS_MAX = 60;
const ROWS_MAX = 30;
const SIDE = { reader: 96, job: 158 }; // for the names of rows
const TOP = { title: 14, bars: 64, numbers: 13, words: 14, turned: 60 };
const DETAIL = { words: 34, least: 108, row: 19, axis: 26 };

function checkpointStore() {
  const fresh = () => ({ parts: [], pieces: [], ticks: [], names: new Map(), rows: new Map(), where: new Map(), version: -1 });
  const derived = fresh();
  const store = new Store(FORMATS, (name, first) => {
    if (name === "") Object.assign(derived, fresh());
    if (name !== "pieces" && name !== "ticks") return;
    const { n, col } = store.tables[name];
    const of = name === "pieces" ? col.checkpoint : col.part;
    for (let i = first; i < n; i++) (derived[name][of[i]] ??= []).push(i);
  });
  store.derived = derived;
  return store;
}

function indexed(store) {
  const d = store.derived;
  if (d.version === store.updates) return d;
  d.version = store.updates;
  d.names = new Map(store.lists.names ?? []);
  d.words = new Map(store.lists.words ?? []); // how it ended
  d.rows = new Map(store.lists.rows ?? []);
  d.between = new Map((store.lists.between ?? []).map(([part, ...rest]) => [part, rest]));
  d.links = new Map();
  for (const [c, from, to] of store.lists.links ?? []) d.links.set(c, [...(d.links.get(c) ?? []), [from, to]]);
  d.about = new Map(store.lists.about ?? []);
  d.where = new Map((store.lists.where ?? []).map(([part, where, skipped]) => [part, { where, skipped }]));
  d.parts = [];
  const { n, col } = store.tables.parts;
  for (let i = 0; i < n; i++) (d.parts[col.checkpoint[i]] ??= []).push(i);
  return d;
}

function checkpointSpec(store) {
  const facts = () => store.facts;
  const origin = () => facts().origin_ms ?? 0;
  const ms = (s) => origin() + 1000 * s;
  const col = () => store.tables.checkpoints.col;
  const state = { t: 0, only: null, follow: false, bars: [], rows: [], cut: null };
  const only = () => state.only ?? facts().only ?? "";
  const nameOf = (c) => indexed(store).names.get(c) ?? "";
  const rowName = (i) => indexed(store).rows.get(store.tables.parts.col.row[i]) ?? "?";
  const phaseColour = (theme, k) => (facts().phases[k][2] === "#0072B2" ? blue(theme) : facts().phases[k][2]);
  const blue = (theme) => (theme.dark ? "#4da3d9" : "#0072B2");

  // What was so at a moment.

  const stateAt = (c, t) => (col().end[c] > t ? "running" : STATES[col().state[c]]);
  const spent = (c, t) => Math.min(col().end[c], t) - col().start[c];
  const partsOf = (c) => indexed(store).parts[c] ?? [];

  /** The phases that a part had begun by then: [place, start, end]. */
  function phasesOf(part, t) {
    const { told, start, end } = store.tables.phases.col;
    const found = [];
    for (let k = PHASES_MAX * part; k < PHASES_MAX * (part + 1) && k < store.tables.phases.n; k++)
      if (told[k] && start[k] <= t) found.push([k - PHASES_MAX * part, start[k], end[k]]);
    return found;
  }

  const isJob = () => facts().system === "job";
  const passedAt = (part, t) => phasesOf(part, t).filter(([k]) => facts().phases[k][4]).at(-1)?.[2] ?? Infinity;
  const hasPassed = (part, t) => passedAt(part, t) <= t;
  const doneAt = (c, t) => partsOf(c).filter((p) => hasPassed(p, t)).length;
  function whereOf(part, t) {
    if (!isJob() || hasPassed(part, t)) return indexed(store).where.get(part)?.where ?? facts().waiting?.[part] ?? "";
    const { at, channel } = store.tables.ticks.col;
    const ticks = store.derived.ticks[part] ?? [];
    const missing = ticks.filter((i) => at[i] > t).map((i) => channel[i]);
    if (!missing.length || missing.length === ticks.length) return facts().waiting?.[part] ?? "";
    return `without the barrier of channel${missing.length > 1 ? "s" : ""} ${missing.sort((p, q) => p - q).join(", ")}`;
  }

  function wordAt(c, t) {
    const word = stateAt(c, t);
    return word === "running" ? `${doneAt(c, t)} of ${partsOf(c).length}` : indexed(store).words.get(c) ?? word;
  }

  const list = (names) => `${names.slice(0, 3).join(", ")}${names.length > 3 ? ` and ${names.length - 3} more` : ""}`;

  /** "held up by r3: 1.8 s in segment #4, waits for its next read" */
  function heldUp(c, t) {
    const word = stateAt(c, t);
    const parts = partsOf(c);
    const waiting = parts.filter((p) => !hasPassed(p, t));
    const spell = (sec) => (Math.round(1000 * sec) >= 1000 ? `${sec.toFixed(1)} s` : `${Math.round(1000 * sec)} ms`);
    const after = spell(spent(c, t));
    if (word === "completed") {
      const last = [...parts].sort((p, q) => passedAt(q, t) - passedAt(p, t))[0];
      if (last === undefined) return "nobody had to pass it";
      const took = spell(passedAt(last, t) - col().start[c]);
      const { where, skipped } = indexed(store).where.get(last) ?? { where: "", skipped: "" };
      if (skipped) return `held up by ${rowName(last)}: ${took}, until it ${skipped}`;
      return `held up by ${rowName(last)}: ${took}${where ? ` ${where}` : ""}${facts().until ?? ""}`;
    }
    if (word !== "running") return `${wordAt(c, t)} after ${after}${waiting.length ? `; ${list(waiting.map(rowName))} had not passed` : ""}`;
    if (waiting.length !== 1) return `${after} so far, waits for ${list(waiting.map(rowName))}`;
    const phase = facts().phases?.[phasesOf(waiting[0], t).at(-1)?.[0]];
    const place = whereOf(waiting[0], t);
    return `held up by ${rowName(waiting[0])}: ${after} so far${place ? ` ${place}` : ""}, ${phase?.[3] ?? "has not begun"}`;
  }

  // Which one, and which rows of it.

  const known = (t) => {
    const found = [];
    for (let c = 0; c < store.tables.checkpoints.n; c++) if (col().state[c] && col().start[c] <= t) found.push(c);
    return found;
  };
  const isMine = (mark, c) => (mark?.kind === "checkpoint" || mark?.kind === "cut") && mark.source === facts().source && mark.name === nameOf(c);

  /** The pinned one, the one asked for, or the newest. */
  function chosen(clock, all) {
    const pinned = all.find((c) => isMine(clock.pin, c));
    if (pinned !== undefined) return pinned;
    const wanted = state.follow ? undefined : all.find((c) => nameOf(c) === facts().chosen);
    return wanted ?? all.at(-1);
  }

  function rowsOf(c, t) {
    const mine = partsOf(c).filter((p) => rowName(p).toLowerCase().includes(only().toLowerCase()));
    const { row } = store.tables.parts.col;
    if (mine.length <= ROWS_MAX) return [mine.sort((p, q) => row[p] - row[q]), mine.length];
    const late = [...mine].sort((p, q) => passedAt(q, t) - passedAt(p, t)).slice(0, ROWS_MAX);
    return [late, mine.length];
  }

  function layout(b, words) {
    const s = b.scale;
    const left = (isJob() ? SIDE.job : SIDE.reader) * s;
    const bars = { top: TOP.title * s, bottom: (TOP.title + TOP.bars) * s };
    const under = bars.bottom + (TOP.numbers + (words ? TOP.turned : TOP.words)) * s;
    const rows = { top: under + DETAIL.words * s, bottom: b.height - DETAIL.axis * s };
    return { left, right: b.right, bars, under, rows };
  }

  const isTurned = (n) => n > 11;

  function height(s) {
    const all = known(Infinity);
    const most = Math.max(0, ...all.slice(-BARS_MAX).map((c) => Math.min(ROWS_MAX, partsOf(c).length)));
    const rows = Math.max(DETAIL.least, DETAIL.row * most);
    return (TOP.title + TOP.bars + TOP.numbers + (isTurned(all.length) ? TOP.turned : TOP.words) + DETAIL.words + rows + DETAIL.axis) * s;
  }

  // Painting: the bars.

  const brief = (sec) => (sec < 0.1 ? `${Number((1000 * sec).toFixed(1))} ms` : seconds(1000 * sec));

  const nice = (top) => {
    const power = 10 ** Math.floor(Math.log10(top));
    return [1, 2, 5, 10].map((k) => k * power).find((v) => v >= top);
  };

  function paintBars(ctx, b, l, all, picked, t) {
    const s = b.scale;
    const shown = all.slice(-BARS_MAX);
    const most = nice(Math.max(0.005, ...shown.map((c) => spent(c, t))));
    const slots = Math.max(8, shown.length);
    const slot = (l.right - l.left) / slots;
    const y = (v) => l.bars.bottom - (v / most) * (l.bars.bottom - l.bars.top - 6 * s);
    ctx.font = b.font(9.5);
    ctx.textBaseline = "middle";
    ctx.textAlign = "right";
    for (const v of [0, most / 2, most]) {
      ctx.fillStyle = b.theme.line;
      ctx.fillRect(l.left - 3, Math.round(y(v)), l.right - l.left + 3, v ? 0.5 : 1);
      ctx.fillStyle = b.theme.soft;
      ctx.fillText((most < 0.1 ? brief(v) : seconds(1000 * v)).replace(/\.?0+ s/, " s"), l.left - 6, y(v));
    }
    ctx.textAlign = "left";
    ctx.fillText("duration", 4 * s, l.bars.top + 2 * s);
    state.bars = shown.map((c, k) => ({ c, x: l.left + slot * k, w: slot }));
    for (const { c, x, w } of state.bars) {
      const at = { x: x + w * 0.18, w: Math.min(w * 0.64, 46 * s), top: y(spent(c, t)) };
      at.x = x + (w - at.w) / 2;
      paintBar(ctx, b, l, c, at, t);
      ctx.fillStyle = b.theme.text;
      ctx.font = b.font(9.5, c === picked ? "700" : "");
      ctx.textAlign = "center";
      if (w > 14 * s || col().number[c] % 5 === 0) ctx.fillText(String(col().number[c]), x + w / 2, l.bars.bottom + 7 * s);
      paintWord(ctx, b, l, c, x + w / 2, w, t, isTurned(all.length));
      const hovered = isMine(b.clock.hover, c);
      if (c !== picked && !hovered) continue;
      ctx.strokeStyle = b.theme.text;
      ctx.lineWidth = c === picked ? 1.6 : 1;
      ctx.setLineDash(c === picked ? [] : [3, 2]);
      ctx.strokeRect(x + 1, l.bars.top - 4 * s, w - 2, l.under - l.bars.top + 3 * s);
      ctx.setLineDash([]);
      ctx.lineWidth = 1;
    }
  }

  function paintBar(ctx, b, l, c, { x, w, top }, t) {
    const word = stateAt(c, t);
    const h = Math.max(1.5, l.bars.bottom - top);
    if (word === "running") {
      ctx.strokeStyle = blue(b.theme);
      ctx.lineWidth = 1.6;
      ctx.strokeRect(x + 0.8, l.bars.bottom - h + 0.8, w - 1.6, h - 0.8);
      ctx.lineWidth = 1;
      return;
    }
    const fills = { completed: blue(b.theme), failed: VERMILION, cancelled: b.theme.none, unknown: hatch(ctx, b.theme.soft) };
    ctx.fillStyle = fills[word];
    ctx.fillRect(x, l.bars.bottom - h, w, h);
  }

  function paintWord(ctx, b, l, c, x, w, t, turned) {
    const s = b.scale;
    const word = wordAt(c, t);
    ctx.font = b.font(9.5);
    ctx.fillStyle = stateAt(c, t) === "failed" ? VERMILION : b.theme.text;
    const y = l.bars.bottom + TOP.numbers * s;
    if (!turned) {
      ctx.textAlign = "center";
      const whole = ctx.measureText(word).width < w - 2;
      ctx.fillText(whole ? word : fit(ctx, stateAt(c, t), w - 2), x, y + 7 * s);
      return;
    }
    if (w < 8 * s && word === "completed") return; // no room for a word under each: those that say more
    ctx.save();
    ctx.translate(x, y + 1);
    ctx.rotate(-Math.PI / 2);
    ctx.textAlign = "right";
    ctx.fillText(word, 0, 0);
    ctx.restore();
  }

  // Painting: the chosen one.

  function paintDetail(ctx, b, l, c, t) {
    const s = b.scale;
    const word = stateAt(c, t);
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    ctx.font = b.font(11, "600");
    ctx.fillStyle = b.theme.text;
    const y = l.under + 10 * s;
    const title = `${facts().system ?? ""} checkpoint ${col().number[c]}`;
    ctx.fillText(title, 4 * s, y);
    const from = 4 * s + ctx.measureText(`${title}  `).width;
    ctx.font = b.font(10.5);
    ctx.fillStyle = b.theme.soft;
    const pinned = isMine(b.clock.pin, c) ? ", pinned" : "";
    const about = `${nameOf(c)} · asked at ${seconds(1000 * col().start[c])} · ${wordAt(c, t)} · ${brief(spent(c, t))}${pinned}`;
    ctx.fillText(fit(ctx, about, l.right - from), from, y);
    ctx.font = b.font(11);
    ctx.fillStyle = word === "failed" ? VERMILION : b.theme.text;
    ctx.fillText(fit(ctx, heldUp(c, t), b.width - 8 * s), 4 * s, y + 15 * s);
    const [rows, all] = rowsOf(c, t);
    const ends = rows.flatMap((p) => phasesOf(p, t).map(([, , end]) => (end <= t ? end - col().start[c] : 0)));
    const most = Math.max(0.01, spent(c, t), ...ends) * 1.02;
    const x = (sec) => l.left + (Math.max(0, sec) / most) * (l.right - l.left) * 0.68;
    const { row: rowOf } = store.tables.parts.col;
    const isReader = (part) => isJob() && rowOf[part] >= facts().readers_from;
    const split = rows.some(isReader) ? 16 * s : 0; // for the heading of the other system
    const row = Math.min(22 * s, (l.rows.bottom - l.rows.top - split) / Math.max(1, rows.length));
    state.rows = rows.map((part, k) => ({ part, y: l.rows.top + k * row + (isReader(part) ? split : 0), h: row }));
    paintScale(ctx, b, l, x, most);
    if (split) paintSplit(ctx, b, l, state.rows.find((r) => isReader(r.part)).y - split, split);
    for (const at of state.rows) paintRow(ctx, b, l, c, at, x, t, most);
    if (split) paintLinks(ctx, b, c, x, t);
    if (all > rows.length) {
      ctx.fillStyle = b.theme.soft;
      ctx.textAlign = "right";
      ctx.fillText(`the last ${rows.length} of ${count(all)} to pass, +${count(all - rows.length)}`, l.right, b.height - 6 * s);
    }
    paintCut(ctx, b, l, c, t);
  }

  function paintScale(ctx, b, l, x, most) {
    ctx.font = b.font(9.5);
    ctx.textBaseline = "top";
    ctx.fillStyle = b.theme.line;
    ctx.fillRect(l.left, l.rows.bottom, l.right - l.left, 1);
    for (const v of ticks(0, most, 6)) {
      ctx.fillStyle = b.theme.line;
      ctx.fillRect(Math.round(x(v)), l.rows.top - 2, v ? 0.6 : 1.2, l.rows.bottom - l.rows.top + 6);
      ctx.fillStyle = b.theme.soft;
      ctx.textAlign = v ? "center" : "left";
      ctx.fillText(v ? (most < 2 ? `${Math.round(1000 * v)} ms` : `${Number(v.toPrecision(3))} s`) : "asked", x(v), l.rows.bottom + 6 * b.scale);
    }
    ctx.textBaseline = "middle";
  }

  /** The other system begins here. */
  function paintSplit(ctx, b, l, y, h) {
    ctx.fillStyle = b.theme.line;
    ctx.fillRect(4 * b.scale, Math.round(y + 1), l.right - 4 * b.scale, 1);
    ctx.font = b.font(9.5);
    ctx.fillStyle = b.theme.soft;
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    ctx.fillText(fit(ctx, `reader group ${facts().group}`, l.right - 12 * b.scale), 4 * b.scale, y + h / 2 + 2);
  }

  /** From what the job asked to the readers that it made pass, and back when all had. */
  function paintLinks(ctx, b, c, x, t) {
    const places = new Map(state.rows.map((r) => [r.part, r.y + r.h / 2]));
    const begun = (part) => phasesOf(part, t)[0];
    const links = (indexed(store).links.get(c) ?? []).filter(([from, to]) => places.has(from) && places.has(to) && begun(from) && begun(to));
    ctx.strokeStyle = ctx.fillStyle = b.theme.text;
    ctx.lineWidth = 1;
    for (const [from, to] of links) {
      const [at, top, bottom] = [x(begun(to)[1] - col().start[c]) + 0.5, places.get(from), places.get(to)];
      ctx.beginPath();
      ctx.moveTo(x(begun(from)[1] - col().start[c]), top);
      ctx.lineTo(at, bottom - 4);
      ctx.stroke();
      ctx.beginPath();
      ctx.moveTo(at - 3, bottom - 7);
      ctx.lineTo(at + 3, bottom - 7);
      ctx.lineTo(at, bottom - 1);
      ctx.fill();
    }
    const back = links.length && Math.max(...links.map(([, to]) => passedAt(to, t)));
    const home = links.length && begun(links[0][0])[2];
    if (!links.length || !(back <= t) || !(home <= t) || home < back) return;
    ctx.setLineDash([4, 3]);
    ctx.beginPath();
    ctx.moveTo(x(back - col().start[c]), Math.max(...links.map(([, to]) => places.get(to))));
    ctx.lineTo(x(home - col().start[c]), places.get(links[0][0]));
    ctx.stroke();
    ctx.setLineDash([]);
  }

  /** What lies between the other system's cut and our barrier. */
  function paintBetween(ctx, b, c, part, mid, size, x, t) {
    const told = indexed(store).between.get(part);
    if (!told || told[1] > t || told[0] > t) return "";
    const [from, to] = [Math.min(told[0], told[1]), Math.max(told[0], told[1])].map((v) => x(v - col().start[c]));
    const colour = told[2] > 0 ? b.theme.text : VERMILION; // twice is no loss
    ctx.fillStyle = hatch(ctx, colour, 5);
    ctx.fillRect(from, mid - size / 2 - 2, Math.max(3, to - from), size + 4);
    ctx.strokeStyle = colour;
    ctx.strokeRect(from, mid - size / 2 - 2, Math.max(3, to - from), size + 4);
    return told[2] > 0 ? ` · would be read twice: ${count(told[2])}` : ` · would be lost: ${count(-told[2])}`;
  }

  /** How long a phase took, where there is room in it. */
  function paintSpent(ctx, b, sec, colour, x, y, room) {
    const text = `${count(Math.round(1000 * sec))} ms`;
    ctx.font = b.font(9);
    if (ctx.measureText(text).width > room - 6 * b.scale) return;
    ctx.textAlign = "center";
    ctx.fillStyle = ink(colour);
    ctx.fillText(text, x, y + 0.5);
    ctx.textAlign = "left";
  }

  function paintRow(ctx, b, l, c, { part, y, h }, x, t, most) {
    const s = b.scale;
    const { row, skipped } = store.tables.parts.col;
    const passed = hasPassed(part, t);
    const [mid, size] = [y + h / 2, Math.max(2, h * 0.62)];
    const reader = row[part] - (facts().readers_from ?? 0);
    if (reader >= 0) fillReader(ctx, b.theme, reader, 4 * s, mid - Math.min(5 * s, h / 2 - 1), 5 * s, Math.min(10 * s, h - 2));
    ctx.font = b.font(Math.min(10.5, h / s - 1), "600");
    ctx.textAlign = "left";
    ctx.fillStyle = b.theme.text;
    const name = fit(ctx, rowName(part), l.left - 18 * s);
    const across = ctx.measureText(name).width;
    if (h > 7 * s) ctx.fillText(name, 13 * s, mid);
    let right = l.left;
    const mine = phasesOf(part, t);
    for (const [k, start, end] of mine) {
      const until = end <= t ? end : Math.min(t, Math.max(start, col().end[c]), col().start[c] + most);
      const [x0, x1] = [x(start - col().start[c]), x(until - col().start[c])];
      right = Math.max(right, x1);

      if (end <= t) {
        ctx.fillStyle = phaseColour(b.theme, k);
        ctx.globalAlpha = skipped[part] ? 0.35 : 1;
        ctx.fillRect(x0, mid - size / 2, Math.max(1.5, x1 - x0), size);
        ctx.globalAlpha = 1;
        const { at } = store.tables.ticks.col;
        const isTicked = (store.derived.ticks[part] ?? []).some((i) => at[i] > start && at[i] < end);
        if (mine.length > 1 && !isTicked && !skipped[part] && h > 14 * s) paintSpent(ctx, b, end - start, phaseColour(b.theme, k), (x0 + x1) / 2, mid, x1 - x0);
      } else {
        ctx.strokeStyle = b.theme.text;
        ctx.setLineDash([3, 2]);
        ctx.strokeRect(x0 + 0.5, mid - size / 2 + 0.5, Math.max(1, x1 - x0 - 1), size - 1);
        ctx.setLineDash([]);
      }
    }
    for (const i of store.derived.ticks[part] ?? []) {
      const { at } = store.tables.ticks.col;
      if (at[i] > t) continue;
      ctx.fillStyle = b.theme.text; // a barrier came on one of its channels
      ctx.fillRect(Math.round(x(at[i] - col().start[c])) - 0.5, mid - size / 2 - 2, 1.5, size + 4);
    }
    const key = rowMark(part).key;
    if ([b.clock.hover?.key, b.clock.pin?.key].includes(key)) {
      ctx.strokeStyle = b.theme.text;
      ctx.strokeRect(2.5 * s, y + 0.5, l.right - 4 * s, h - 1);
    }
    const lies = paintBetween(ctx, b, c, part, mid, size, x, t);
    ctx.font = b.font(Math.min(10, h / s - 1));
    if (h < 8 * s) return;
    const took = (until) => `${count(Math.round(1000 * (until - col().start[c])))} ms`;
    const over = col().end[c] <= t;
    const why = passed ? indexed(store).where.get(part)?.skipped : "";
    const phase = facts().phases?.[mine.at(-1)?.[0]];
    const place = whereOf(part, t);
    const time = `${isJob() && mine.length > 1 ? "acknowledged after " : ""}${took(passedAt(part, t))}`;
    const ended = why ? (isJob() ? why : `${time}: ${why}${facts().counts}`) : time;
    const open = `${place ? `${place}, ` : ""}${phase?.[3] ?? "has not begun"}`;
    const text = (passed ? ended : over ? "had not passed" : open) + lies;
    ctx.fillStyle = passed ? b.theme.soft : b.theme.text;
    const room = l.right - right - 8;
    ctx.fillText(fit(ctx, text, room), right + 5, mid);
    if (!why) return;
    ctx.fillRect(13 * s, mid - 0.5, across, 1.2);
  }

  /** The cut as a column of the key space, of one stream; what it leaves out is vermilion. */
  function paintCut(ctx, b, l, c, t) {
    const s = b.scale;
    const x = l.right + 40 * s;
    const w = 30 * s;
    const area = { top: l.rows.top + 2 * s, bottom: l.rows.bottom };
    state.cut = null;
    ctx.font = b.font(10);
    ctx.textAlign = "left";
    ctx.fillStyle = b.theme.soft;
    const word = stateAt(c, t);
    const pieces = (store.derived.pieces[c] ?? []).map(pieceOf);
    const streams = [...new Set(pieces.map((p) => p.stream))];
    const head = l.under + 25 * s;
    if (isJob() && !pieces.length) {
      const lines = word === "running" ? [] : indexed(store).about.get(c) ?? [];
      lines.filter(Boolean).forEach((line, k) => ctx.fillText(fit(ctx, line, b.width - l.right - 12 * s), l.right + 8 * s, area.top + (8 + 15 * k) * s));
      return;
    }
    if (word !== "completed" || !pieces.length) {
      ctx.fillText(fit(ctx, word === "running" ? "the cut, when all passed" : "no cut", b.width - x), l.right + 8 * s, (area.top + area.bottom) / 2);
      return;
    }
    const more = streams.length > 1 ? ` of ${streams[0]}, +${streams.length - 1}` : "";
    ctx.fillText(fit(ctx, `cut${more}: click draws it`, b.width - l.right - 10 * s), l.right + 8 * s, head + 2 * s);
    const y = (key) => area.bottom - key * (area.bottom - area.top);
    ctx.textAlign = "right";
    for (const key of [0, 0.5, 1]) {
      ctx.fillStyle = b.theme.soft;
      ctx.fillText(String(key), x - 5, Math.min(area.bottom - 4, Math.max(area.top + 5, y(key))));
    }
    ctx.strokeStyle = b.theme.line;
    ctx.strokeRect(x, area.top, w, area.bottom - area.top);
    state.cut = { c, x: x - 6, right: b.width, ...area };
    const labels = [];
    for (const p of pieces.filter((q) => q.stream === streams[0])) {
      if (Number.isNaN(p.low)) continue;
      const [y0, y1] = [y(p.high), y(p.low)];
      if (p.row) fillReader(ctx, b.theme, p.row - 1 - (facts().readers_from ?? 0), x, y0, w, Math.max(0.5, y1 - y0 - 1));
      else {
        ctx.fillStyle = hatch(ctx, b.theme.soft);
        ctx.fillRect(x, y0, w, y1 - y0 - 1);
      }
      if (y1 - y0 > 12 * s && p.row) {
        ctx.font = b.font(10, "600");
        ctx.textAlign = "center";
        ctx.fillStyle = ink(readerColour(p.row - 1 - (facts().readers_from ?? 0)));
        ctx.fillText(`#${p.number}`, x + w / 2, (y0 + y1) / 2);
      }
      labels.push([(y0 + y1) / 2, p.done ? `#${p.number} read to its end` : `#${p.number} up to ${bytes(p.offset)}`, b.theme.text]);
    }
    for (const [low, high] of gapsOf(c, streams[0])) {
      ctx.fillStyle = VERMILION;
      ctx.fillRect(x - 3, y(high), w + 6, Math.max(2, y(low) - y(high) - 1));
      labels.push([(y(low) + y(high)) / 2, `gap ${low}–${high}: in no position`, VERMILION]);
    }
    ctx.textAlign = "left";
    ctx.font = b.font(10);
    let last = -Infinity;
    for (const [at, text, colour] of labels.sort((p, q) => p[0] - q[0])) {
      if (at - last < 11 * s) continue;
      last = at;
      ctx.fillStyle = colour;
      ctx.fillText(fit(ctx, text, b.width - x - w - 8), x + w + 6, at);
    }
    if (pieces.every((p) => Number.isNaN(p.low))) {
      ctx.fillStyle = b.theme.soft;
      ctx.fillText(fit(ctx, "keys not known: observe the stream too", b.width - x - w - 6), x + w + 6, (area.top + area.bottom) / 2);
    }
    if (!isCut(b.clock.hover, c) && !isCut(b.clock.pin, c)) return;
    ctx.strokeStyle = b.theme.text;
    ctx.lineWidth = 2;
    ctx.strokeRect(x - 3, area.top - 2, w + 6, area.bottom - area.top + 4);
    ctx.lineWidth = 1;
  }

  const isCut = (mark, c) => mark?.kind === "cut" && isMine(mark, c);

  function pieceOf(i) {
    const p = store.tables.pieces.col;
    return {
      stream: (facts().streams ?? [])[p.stream[i]], number: p.number[i], row: p.row[i], done: Boolean(p.done[i]), low: p.low[i],
      high: p.high[i], at: p.at[i], offset: p.offset[i],
    };
  }

  const gapsOf = (c, stream) => (store.lists.gaps ?? []).filter((g) => g[0] === c && (!g[1] || g[1] === stream)).map((g) => [g[2], g[3]]);

  function paint(ctx, b) {
    const t = upTo((b.now - origin()) / 1000);
    state.t = t;
    const all = b.clock.ticking ? known(t) : [];
    const l = layout(b, isTurned(all.length));
    if (!all.length) {
      [state.bars, state.rows, state.cut] = [[], [], null];
      ctx.fillStyle = b.theme.line;
      ctx.fillRect(l.left, l.bars.bottom, l.right - l.left, 1);
      ctx.fillRect(l.left, l.bars.top, 1, l.bars.bottom - l.bars.top);
      return;
    }
    const picked = chosen(b.clock, all);
    state.picked = picked;
    paintBars(ctx, b, l, all, picked, t);
    paintDetail(ctx, b, l, picked, t);
  }

  // Selection. A mark of a cut carries all that another view needs to draw it.

  const checkpointMark = (c) => ({ kind: "checkpoint", key: `checkpoint ${nameOf(c)}`, name: nameOf(c), source: facts().source, time: ms(col().start[c]) });
  function cutMark(c) {
    const pieces = (store.derived.pieces[c] ?? []).map(pieceOf).map((p) => ({ ...p, at: p.done || Number.isNaN(p.at) ? null : ms(p.at) }));
    const gaps = (store.lists.gaps ?? []).filter((g) => g[0] === c).map(([, stream, low, high]) => ({ stream, low, high }));
    return { ...checkpointMark(c), kind: "cut", key: `cut ${nameOf(c)}`, number: col().number[c], pieces, gaps, time: ms(Math.min(col().end[c], state.t)) };
  }
  const rowMark = (part) => {
    const row = store.tables.parts.col.row[part] - (facts().readers_from ?? 0);
    if (row < 0) return { kind: "task", key: `task ${rowName(part)}`, name: rowName(part), group: facts().source, part, time: ms(state.t) };
    return { kind: "reader", key: `reader ${rowName(part)}`, reader: row, name: rowName(part), group: facts().group || facts().source, part, time: ms(state.t) };
  };
  const isRow = (mark) => mark.part !== undefined && (mark.kind === "task" || mark.kind === "reader") && [facts().source, facts().group].includes(mark.group);

  function pick(x, y, b) {
    const l = layout(b, isTurned(state.bars.length));
    if (y < l.under) {
      const bar = state.bars.find((one) => x >= one.x && x < one.x + one.w);
      return bar ? checkpointMark(bar.c) : null;
    }
    const cut = state.cut;
    if (cut && x >= cut.x && x <= cut.right && y >= cut.top && y <= cut.bottom) return cutMark(cut.c);
    const row = x < l.right ? state.rows.find((r) => y >= r.y && y < r.y + r.h) : null;
    return row ? rowMark(row.part) : null;
  }

  // Words.

  const table = (rows) => `<table>${rows.map(([k, v]) => `<tr><td class="soft">${k}</td><td>${v}</td></tr>`).join("")}</table>`;
  const when = (s) => `${seconds(1000 * s)} ${wallTime(ms(s))}`;

  function tip(mark) {
    const t = state.t;
    if (isRow(mark)) return tipRow(mark.part, t);
    const c = known(t).find((k) => isMine(mark, k));
    if (c === undefined) return null;
    const word = stateAt(c, t);
    const rows = [["asked", when(col().start[c])], ["passed", `${doneAt(c, t)} of ${partsOf(c).length}`]];
    if (word !== "running") rows.push([word, `after ${brief(spent(c, t))}`]);
    for (const [low, high] of (store.lists.gaps ?? []).filter((g) => g[0] === c).map((g) => [g[2], g[3]])) rows.push(["gap", `keys ${low} to ${high}`]);
    return `<b>checkpoint ${col().number[c]}</b> ${esc(word)}<br><span class="soft">${esc(nameOf(c))}</span>${table(rows)}${esc(heldUp(c, t))}`;
  }

  function tipRow(part, t) {
    const rows = phasesOf(part, t).map(([k, start, end]) => [
      esc(facts().phases[k][1]), end <= t ? `${count(Math.round(1000 * (end - start)))} ms` : `${seconds(1000 * (t - start))} so far, ${esc(facts().phases[k][3])}`,
    ]);
    const why = hasPassed(part, t) && indexed(store).where.get(part)?.skipped;
    if (why) rows.push([isJob() ? "so" : "counts as passed", esc(why)]);
    const place = whereOf(part, t);
    if (place) rows.push([isJob() ? "so" : "was", esc(place)]);
    const { at, channel } = store.tables.ticks.col;
    for (const i of store.derived.ticks[part] ?? [])
      if (at[i] <= t) rows.push([`barrier on channel ${channel[i]}`, `at ${seconds(1000 * at[i])}`]);
    return `<b>${esc(rowName(part))}</b>${table(rows)}`;
  }

  function say(mark) {
    const t = state.t;
    if (mark.kind === "reader" || mark.kind === "task") return `${mark.name}: ${mark.part === undefined ? "" : hasPassed(mark.part, t) ? "passed" : "has not passed"}`;
    const c = known(t).find((k) => isMine(mark, k));
    if (c === undefined) return "";
    const what = mark.kind === "cut" ? "cut of checkpoint" : "checkpoint";
    return `${what} ${col().number[c]}, ${stateAt(c, t)}, ${doneAt(c, t)} of ${partsOf(c).length} passed, ${heldUp(c, t)}`;
  }

  function legend(theme) {
    const states = new Set(state.bars.map(({ c }) => stateAt(c, state.t)));
    const colours = { completed: [blue(theme), ""], running: [blue(theme), "ring"], failed: [VERMILION, ""], cancelled: [theme.none, ""], unknown: [theme.soft, "hatch"] };
    const some = Object.keys(colours).filter((word) => states.has(word)).map((word) => [colours[word][0], word, colours[word][1]]);
    const isLying = state.rows.some(({ part }) => indexed(store).between.has(part));
    if (isLying) some.push([theme.text, "between cut and barrier", "hatch"]);
    const told = new Set((state.rows ?? []).flatMap(({ part }) => phasesOf(part, state.t).map(([k]) => k)));
    return [...some, ...[...told].sort().filter((k) => facts().phases[k][0] !== "finished").map((k) => [phaseColour(theme, k), facts().phases[k][1], "line"])];
  }

  return {
    ownAxis: true,
    height,
    paint,
    pick,
    tip,
    say,
    legend,
    fork: () => (isJob() ? forkOfJob(facts()) : undefined),
    leftOut: () => {
      const n = known(state.t).length;
      const older = n > BARS_MAX ? `the last ${BARS_MAX} of ${count(n)} drawn` : "";
      return [older, facts().left_out].filter(Boolean).join("; ");
    },
    isEmpty: () => !store.tables.checkpoints.n,
    get empty() {
      return facts().empty ?? ["No checkpoints yet.", 'group.initiate_checkpoint("first")'];
    },
    marks: () => [...state.bars.map(({ c }) => checkpointMark(c)), ...(state.cut ? [cutMark(state.cut.c)] : []), ...state.rows.map((r) => rowMark(r.part))],
    events: () => known(Infinity).flatMap((c) => [col().start[c], col().end[c]]).filter(Number.isFinite).map(ms),
    summary: () => {
      const all = known(state.t);
      const completed = all.filter((c) => stateAt(c, state.t) === "completed").length;
      const newest = all.length ? `; checkpoint ${col().number[all.at(-1)]}: ${heldUp(all.at(-1), state.t)}` : "";
      return `${facts().source || "no group"}: ${all.length} checkpoints, ${completed} completed${newest}`;
    },
    controls({ parent, element, on, redraw, call, clock }) {
      const wrap = element(parent, "label", "");
      wrap.textContent = "only ";
      const input = element(wrap, "input", "plab-only", { type: "text", placeholder: "part of a name", "aria-label": "rows whose name contains", spellcheck: "false" });
      const follow = element(parent, "button", "plab-follow", { type: "button", title: "show the newest, and go on with it" });
      follow.textContent = "follow newest";
      on(input, "keydown", (e) => e.stopPropagation());
      on(input, "input", () => {
        state.only = input.value;
        call(`CheckpointTimeline(journal, only=${JSON.stringify(input.value)})`);
        redraw();
      });
      on(follow, "click", () => {
        state.follow = true;
        if (["checkpoint", "cut"].includes(clock.pin?.kind)) clock.set({ pin: null });
        call("CheckpointTimeline(journal)");
        redraw();
      });
      const sync = () => {
        if (document.activeElement !== input) input.value = only();
      };
      store.listeners.add(sync);
      sync();
      return () => store.listeners.delete(sync);
    },
  };
}

export default () => widget({ makeStore: checkpointStore, makeSpec: checkpointSpec });
