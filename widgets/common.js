// What all views share: tables of rows, one clock and one selection per page, header, legend, keys, theme.
// Plain ES module, no build, no network. A view's own module is put behind this one (module.py), so names
// are shared; the exported page runs the same text with a model that stands still.
//
// Times: rows carry seconds since the view's origin; the clock carries milliseconds since 1970 (or since the
// start of a simulated run), so that views with different origins agree.

// Okabe-Ito. Vermilion (#D55E00) means failure or loss and nothing else, so no reader gets it.
export const PALETTE = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#F0E442"];
export const VERMILION = "#D55E00";
export const LEGEND_MAX = 7;
// The same in every view, so that the time axes of stacked views stand exactly above each other.
export const LEFT = 46;
export const GUTTER = 240;

const SHARED = Symbol.for("pravega_lab.page");
const page = (globalThis[SHARED] ??= { clocks: new Map(), views: 0, next: 1 });

// ---------------------------------------------------------------- tables

/** Columns that grow. Format: "index:u start:f": u32 and f32, little-endian, in this order. */
export class Table {
  constructor(format, { keyed = false } = {}) {
    this.fields = format.split(" ").map((f) => f.split(":"));
    this.stride = 4 * this.fields.length;
    this.keyed = keyed;
    this.clear();
  }

  clear() {
    this.n = 0;
    this.room = 0;
    this.col = {};
    this.grow(256);
  }

  grow(room) {
    if (room <= this.room) return;
    const wanted = Math.max(room, 2 * this.room);
    for (const [name, type] of this.fields) {
      const old = this.col[name];
      this.col[name] = type === "u" ? new Uint32Array(wanted) : new Float32Array(wanted);
      if (old) this.col[name].set(old);
    }
    this.room = wanted;
  }

  /** Takes the rows of a buffer; returns the index of the first appended one. */
  put(buffer) {
    const view = new DataView(buffer.buffer ?? buffer, buffer.byteOffset ?? 0, buffer.byteLength);
    const first = this.n;
    for (let at = 0; at + this.stride <= view.byteLength; at += this.stride) {
      const i = this.keyed ? view.getUint32(at, true) : this.n;
      this.grow(i + 1);
      this.fields.forEach(([name, type], k) => {
        this.col[name][i] = type === "u" ? view.getUint32(at + 4 * k, true) : view.getFloat32(at + 4 * k, true);
      });
      this.n = Math.max(this.n, i + 1);
    }
    return first;
  }
}

// For the scrubber, in whatever view tells it (teller.py): when something was observed, and the last seq of then.
const STEPS = { steps: { format: "t:f seq:u" } };

/** All that the kernel has said about one view. `learned(name, first)` is called for appended rows. */
export class Store {
  constructor(formats, learned = () => {}) {
    this.tables = {};
    for (const [name, { format, keyed }] of Object.entries({ ...STEPS, ...formats })) this.tables[name] = new Table(format, { keyed });
    this.learned = learned;
    this.facts = {};
    this.lists = {};
    this.listeners = new Set();
    this.updates = 0;
    this.at = 0; // when the newest update came
  }

  take(content, buffers) {
    if (content.kind === "snapshot") {
      for (const table of Object.values(this.tables)) table.clear();
      this.facts = {};
      this.lists = {};
      this.learned("", 0);
    }
    Object.assign(this.facts, content.facts);
    for (const [name, items] of Object.entries(content.grown)) (this.lists[name] ??= []).push(...items);
    content.tables.forEach((name, i) => this.learned(name, this.tables[name].put(buffers[i])));
    this.updates += 1;
    this.at = performance.now();
    for (const listener of this.listeners) listener();
  }
}

// ---------------------------------------------------------------- clock and selection

/** What the scrubber jumps to. "split" is any scale. */
const JUMPS = {
  any: () => true,
  split: (m) => m.kind === "split" || m.kind === "merge",
  checkpoint: (m) => m.kind === "checkpoint",
  failure: (m) => m.kind === "failure",
};
const SAME_MS = 2000; // the same words of two journals within this time are about the same; as in clock.py
const NONE = [];
const MANY = 2000; // moments; more are not sorted again for every new one
const ANSWER_MS = 8000; // after which it is said that nobody answers
const NEAR_MS = 0.5; // rows have seconds as f32: closer than this is the same moment

/**
 * Time, zoom, hover and selection of all views that share it. `at` is null while it follows the newest. `cut` is
 * where a fork would begin: {time, text}; every view draws it.
 */
export class Clock {
  constructor(name) {
    this.name = name;
    this.at = null;
    this.zoom = null; // {from, to, follow}
    this.hover = null; // {kind, key, time} or {time}
    this.pin = null;
    this.cut = null;
    this.speed = 1;
    this.playing = false;
    this.views = [];
    this.listeners = new Set();
    this.frame = 0;
    [this.sorted, this.size, this.momentsOf, this.sortedAt] = [[], 0, [], 0];
  }

  get start() {
    return Math.min(...this.views.filter((v) => v.ticking).map((v) => v.origin));
  }

  get newest() {
    return Math.max(...this.views.filter((v) => v.ticking).map((v) => v.now));
  }

  get ticking() {
    return this.views.some((v) => v.ticking);
  }

  get live() {
    return this.views.some((v) => v.live);
  }

  get now() {
    return this.at ?? this.newest;
  }

  /** The stretch of time on the screen, in ms. */
  get span() {
    const start = this.start;
    const newest = Math.max(this.newest, start + 1000);
    if (!this.zoom) return [start, newest];
    if (!this.zoom.follow) return [this.zoom.from, this.zoom.to];
    return [newest - (this.zoom.to - this.zoom.from), newest];
  }

  set(change) {
    Object.assign(this, change);
    for (const listener of this.listeners) listener();
  }

  seek(at) {
    const newest = this.newest;
    const bounded = Math.max(this.start, Math.min(newest, at));
    this.set({ at: bounded >= newest && this.live ? null : bounded });
  }

  /** Moments of all views, in order of time: {time, kind, text, hasCut}. */
  get moments() {
    const parts = this.views.map((v) => v.moments?.() ?? []);
    const size = parts.reduce((n, part) => n + part.length, 0);
    const of = parts.map((part) => part.of);
    const same = of.length === this.momentsOf.length && of.every((list, i) => list === this.momentsOf[i]);
    const now = performance.now();
    if (same && (size === this.size || (size > MANY && now - this.sortedAt < 500))) return this.sorted;
    const told = new Map(); // two journals may tell of the same
    this.sorted = parts.flat().sort((p, q) => p.time - q.time).filter((m) => {
      const words = `${m.kind} ${m.text}`;
      const fresh = !(m.time - told.get(words) < SAME_MS);
      told.set(words, m.time);
      return fresh;
    });
    [this.size, this.momentsOf, this.sortedAt] = [size, of, now];
    return this.sorted;
  }

  /** The time of the next observation after this moment (or the one before it), or null. */
  stepFrom(at, direction) {
    const found = this.views.map((v) => v.step?.(at, direction)).filter((t) => t != null);
    return found.length ? Math[direction > 0 ? "min" : "max"](...found) : null;
  }

  /** One observation on, or back. */
  step(direction) {
    const to = this.stepFrom(this.now, direction);
    if (to !== null) this.stay(to);
  }

  /** To the next moment of a kind, or the one before; gives it, or undefined. */
  jump(direction, kind = "any") {
    const now = this.now;
    const all = this.moments.filter(JUMPS[kind] ?? JUMPS.any);
    const to = direction > 0 ? all.find((m) => m.time > now + NEAR_MS) : all.findLast((m) => m.time < now - NEAR_MS);
    if (to) this.stay(to.time);
    return to;
  }

  /** Go there and stay, also at the newest. */
  stay(at) {
    this.playing = false;
    this.set({ at: Math.max(this.start, Math.min(this.newest, at + NEAR_MS / 10)) });
  }

  /** What Python asks for. */
  obey({ at_ms, playing, speed }) {
    cancelAnimationFrame(this.frame);
    this.playing = false;
    this.set({ at: at_ms === null ? null : at_ms + NEAR_MS / 10, speed: speed ?? this.speed, cut: null });
    if (playing && this.ticking) this.play(true);
  }

  /** Wheel: the moment under the pointer stays where it is. */
  zoomAt(time, factor) {
    const [from, to] = this.span;
    const a = time - (time - from) * factor;
    const b = time + (to - time) * factor;
    const [start, newest] = [this.start, Math.max(this.newest, this.start + 1000)];
    if (b - a < 20) return;
    if (a <= start && b >= newest) return this.set({ zoom: null });
    const bounded = { from: Math.max(a, start), to: Math.min(b, newest) };
    this.set({ zoom: { ...bounded, follow: this.live && this.at === null && bounded.to >= newest } });
  }

  play(on) {
    cancelAnimationFrame(this.frame);
    this.playing = on && this.ticking;
    if (!this.playing) return this.set({ at: this.at ?? (on ? null : this.newest) });
    if (this.at === null || this.at >= this.newest) this.at = this.live ? this.at : this.start;
    let last = performance.now();
    const step = (t) => {
      if (!this.playing) return;
      const next = this.now + (t - last) * this.speed;
      last = t;
      if (this.at !== null && next >= this.newest) {
        this.playing = this.live;
        this.set({ at: this.live ? null : this.newest });
      } else if (this.at !== null) this.set({ at: next });
      if (this.playing && this.at !== null) this.frame = requestAnimationFrame(step);
    };
    this.set({});
    this.frame = requestAnimationFrame(step);
  }

  join(view) {
    this.views.push(view);
    this.listeners.add(view.onClock);
    this.set({});
  }

  leave(view) {
    this.views = this.views.filter((v) => v !== view);
    this.listeners.delete(view.onClock);
    if (!this.views.length) {
      this.playing = false;
      cancelAnimationFrame(this.frame);
      page.clocks.delete(this.name);
    } else this.set({});
  }
}

export function clockNamed(name) {
  if (!page.clocks.has(name)) page.clocks.set(name, new Clock(name));
  return page.clocks.get(name);
}

// ---------------------------------------------------------------- what we say to the kernel

/** A widget's model by its id. After a reload the page brings models back in any order, so it is looked for again. */
async function found(manager, id) {
  for (let tries = 1; ; tries++) {
    try {
      return await manager.get_model(id);
    } catch (error) {
      if (tries === 40) throw error;
      await new Promise((later) => setTimeout(later, 250));
    }
  }
}

/**
 * A way to the kernel that works also while a cell blocks it (control.py says why): messages go over a comm that
 * carries no data and is greeted now and then. Until it is there, and where there is none, over the view's own.
 */
function voiceOf(model, view, isShown) {
  const { control } = model.get("_settings") ?? {};
  const send = (to, content) => {
    try {
      to.send(content);
    } catch {
      // The kernel was restarted and its comms are closed: nobody is there to be told.
    }
  };
  if (!model.widget_manager || !control) return { say: (content) => send(model, content), close() {} };
  let [way, open] = [null, true];
  const voice = (page.voices ??= new Map()).get(control) ?? { users: 0, model: found(model.widget_manager, control) };
  if (isShown) [voice.users += 1, page.voices.set(control, voice)]; // a model that nobody shows greets nobody
  voice.model.then(
    (it) => {
      if (!open || !it) return;
      way = it;
      const greet = () => send(way, { kind: "greeting" });
      if (isShown && !voice.timer) [voice.timer] = [setInterval(greet, 1500), greet()];
    },
    () => {},
  );
  return {
    say: (content) => (way ? send(way, { ...content, view }) : send(model, content)),
    close() {
      open = false;
      if (!isShown || (voice.users -= 1)) return;
      clearInterval(voice.timer);
      page.voices.delete(control);
    },
  };
}

// ---------------------------------------------------------------- words and colours

export const esc = (text) =>
  String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

/** 1234 -> "1,234"; small numbers keep a digit. */
export function count(n) {
  if (n === null || Number.isNaN(n)) return "–";
  if (n < 10 && !Number.isInteger(n)) return n.toFixed(1);
  return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ","); // toLocaleString is slow
}

export function bytes(n) {
  if (n === null || Number.isNaN(n)) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let k = 0;
  while (n >= 1024 && k < units.length - 1) [n, k] = [n / 1024, k + 1];
  return `${k && n < 10 ? n.toFixed(1) : Math.round(n)} ${units[k]}`;
}

export function seconds(ms) {
  const s = ms / 1000;
  if (s < 120) return `${s.toFixed(Math.abs(s) < 10 ? 2 : 1)} s`;
  const [h, m] = [Math.floor(s / 3600), Math.floor(s / 60) % 60];
  const rest = String(Math.floor(s % 60)).padStart(2, "0");
  return h ? `${h}:${String(m).padStart(2, "0")}:${rest} h` : `${m}:${rest} min`;
}

/** A moment (s) of the clock for comparing with rows: these carry seconds in fewer digits. */
export const upTo = (t) => t + Math.max(1e-4, t * 2e-7);

/** Clock time of a moment, or "" in a simulated run, whose time starts at 0. */
export function wallTime(ms) {
  if (ms < 1e11) return "";
  const d = new Date(ms);
  return `${d.toTimeString().slice(0, 8)}.${String(Math.floor(ms % 1000)).padStart(3, "0")}`;
}

export function rgb(hex) {
  const n = parseInt(hex.slice(1), 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}

/** Between two colours; t from 0 to 1. */
export function mix(a, b, t) {
  const [x, y] = [rgb(a), rgb(b)];
  return `#${x.map((v, i) => Math.round(v + (y[i] - v) * t).toString(16).padStart(2, "0")).join("")}`;
}

/** The fork of a job: from a step, by its run; what `lab.fork` copies are streams. */
export const forkOfJob = ({ control, no_control }) =>
  control
    ? { call: `fork = ${control}.fork()  # at the step that is shown`, ask: { name: "fork", args: [] } }
    : { reason: `no fork here: ${no_control ?? "the kernel has not said yet what can be done"}` };

/** Black or white, whichever reads better on this colour. */
export function ink(hex) {
  const [r, g, b] = rgb(hex);
  return 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#000000" : "#ffffff";
}

/** The colours of JupyterLab's theme, or the page's own where there is no lab. */
export function themeOf(el) {
  const style = getComputedStyle(el);
  const get = (name, otherwise) => style.getPropertyValue(name).trim() || otherwise;
  const ground = get("--jp-layout-color0", "#ffffff");
  const probe = document.createElement("canvas").getContext("2d");
  probe.fillStyle = ground;
  const hex = /^#/.test(probe.fillStyle) ? probe.fillStyle : "#ffffff";
  const dark = ink(hex) === "#ffffff";
  return {
    dark,
    ground: hex,
    text: dark ? "#e6e6e6" : "#1a1a1a",
    soft: dark ? "#b4b4b4" : "#555555",
    line: dark ? "#4a4a4a" : "#d0d0d0",
    none: dark ? "#5a5a5a" : "#c4c4c4",
    cold: dark ? "#1b3a52" : "#dcebf6",
    hot: dark ? "#7cc4f8" : "#08519c",
    font: get("--jp-ui-font-family", "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"),
  };
}

/** Round steps for an axis: at most n of them between a and b. */
export function ticks(a, b, n) {
  const raw = (b - a) / Math.max(1, n);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((k) => k * power).find((s) => s >= raw);
  const out = [];
  for (let t = Math.ceil(a / step) * step; t <= b + step * 1e-9; t += step) out.push(t);
  return out;
}

const shades = new Map();
/** Diagonal lines of a colour, as a fill. */
export function hatch(ctx, colour, step = 6) {
  const key = `${colour} ${step}`;
  if (!shades.has(key)) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = step;
    const c = tile.getContext("2d");
    c.strokeStyle = colour;
    c.lineWidth = 1.2;
    c.beginPath();
    for (const d of [-step, 0, step]) {
      c.moveTo(d, step);
      c.lineTo(d + step, 0);
    }
    c.stroke();
    shades.set(key, ctx.createPattern(tile, "repeat"));
  }
  return shades.get(key);
}

/** The colour of the reader that joined as number i, from 0. */
export const readerColour = (i) => PALETTE[i % PALETTE.length];

/** A rectangle of a reader's colour; after six readers a pattern is added, another with every six. */
export function fillReader(ctx, theme, i, x, y, w, h) {
  ctx.fillStyle = readerColour(i);
  ctx.fillRect(x, y, w, h);
  if (i < PALETTE.length) return;
  ctx.fillStyle = hatch(ctx, theme.ground, 3 + 2 * Math.floor(i / PALETTE.length));
  ctx.fillRect(x, y, w, h);
}

/** Text that is read on any ground. */
export function haloText(ctx, theme, text, x, y, colour = theme.text) {
  ctx.lineWidth = 3;
  ctx.lineJoin = "round";
  ctx.strokeStyle = theme.ground;
  ctx.strokeText(text, x, y);
  ctx.lineWidth = 1;
  ctx.fillStyle = colour;
  ctx.fillText(text, x, y);
}

/** Failure: a vermilion cross. */
export function failure(ctx, x, y, r) {
  ctx.strokeStyle = VERMILION;
  ctx.lineWidth = 2.2;
  ctx.beginPath();
  ctx.moveTo(x - r, y - r);
  ctx.lineTo(x + r, y + r);
  ctx.moveTo(x - r, y + r);
  ctx.lineTo(x + r, y - r);
  ctx.stroke();
  ctx.lineWidth = 1;
}

/** How much of the names is the same in all, up to a word's end. */
export function commonStart(names) {
  if (names.length < 2) return 0;
  let n = 0;
  while (n < names[0].length && names.every((name) => name[n] === names[0][n])) n += 1;
  while (n && /[A-Za-z0-9]/.test(names[0][n - 1])) n -= 1;
  return n;
}

/** A name without what all begin with, where it does not fit; then without its middle. */
export function squeezed(ctx, name, width, common) {
  if (ctx.measureText(name).width <= width) return name;
  const text = name.slice(common);
  if (ctx.measureText(text).width <= width) return text;
  for (let keep = text.length - 1; keep > 1; keep--) {
    const short = `${text.slice(0, Math.ceil(keep / 2))}…${text.slice(text.length - Math.floor(keep / 2))}`;
    if (ctx.measureText(short).width <= width) return short;
  }
  return "";
}

/** Text that ends in "…" where it does not fit. */
export function fit(ctx, text, width) {
  const whole = ctx.measureText(text).width;
  if (whole <= width) return text;
  let keep = Math.floor((text.length * width) / whole); // near enough; measuring is slow
  while (keep > 1 && ctx.measureText(`${text.slice(0, keep)}…`).width > width) keep -= 1;
  return keep > 1 ? `${text.slice(0, keep)}…` : "";
}

// ---------------------------------------------------------------- the frame around a canvas

const HELP = [
  ["space", "pause, or go on"],
  ["← →", "back and forth in time"],
  ["Shift ← →", "to the last, the next observation"],
  [". ,", "to the next event, the one before"],
  ["F", "where a fork would begin, and its code"],
  ["Home End", "the start, the newest"],
  ["↑ ↓", "select the next mark"],
  ["Enter", "pin what is selected"],
  ["+ − 0", "zoom time in, out, all of it"],
  ["wheel", "zoom at the pointer"],
  ["drag", "move the zoomed time"],
  ["Esc", "let go"],
];

function element(parent, tag, cls, attributes = {}) {
  const e = document.createElement(tag);
  if (cls) e.className = cls;
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  parent.append(e);
  return e;
}

/**
 * A view on the page. `spec` says what it shows:
 *   height(scale), paint(ctx, box), pick(x, y) -> mark | null, marks() -> [mark], events() -> [ms],
 *   tip(mark) -> html, say(mark) -> text, legend() -> [[colour, text, style]], empty: [sentence, code],
 *   controls({parent, element, on, redraw, call, clock, ask}), summary() -> text, fork() -> {call, ask} or {reason} where
 *   it is not the lab's; and, where there is more to read than to draw,
 *   body({parent, element, on, redraw, call, clock}) -> what takes it away, called once; the spec keeps it up to date
 *   in paint.
 * A mark is {kind, key, time}. Returns the function that takes everything away again.
 */
export function mount({ model, el, store, spec }) {
  const settings = model.get("_settings") ?? {};
  const scale = settings.scale ?? 1;
  const id = `p${page.next++}-${Math.random().toString(36).slice(2, 8)}`;
  const clock = clockNamed(settings.clock ?? "page");
  const closing = new AbortController();
  const on = (target, type, handler, options = {}) =>
    target.addEventListener(type, handler, { signal: closing.signal, ...options });

  const root = element(el, "div", "plab", { style: `--plab-scale:${scale}` });
  const head = element(root, "div", "plab-head");
  const title = element(head, "span", "plab-title");
  const badge = element(head, "span", "plab-badge");
  const time = element(head, "span", "plab-time");
  const gap = element(head, "span", "plab-gap", { role: "status" });
  const controls = element(head, "span", "plab-controls");
  const legend = element(root, "div", "plab-legend", { role: "list", "aria-label": "legend" });
  const stage = element(root, "div", "plab-stage");
  const canvas = element(stage, "canvas", "plab-canvas", { tabindex: "0", role: "img" });
  const empty = element(stage, "div", "plab-empty");
  const tip = element(stage, "div", "plab-tip", { role: "tooltip" });
  const bar = element(root, "div", "plab-bar");
  const button = (cls, text, says) => {
    const made = element(bar, "button", cls, { type: "button", title: says, "aria-label": says });
    made.textContent = text;
    return made;
  };
  const play = button("plab-play", "▶", "play");
  const stepBack = button("plab-step", "◂", "back to the last observation (Shift ←)");
  const stepOn = button("plab-step", "▸", "on to the next observation (Shift →)");
  const rail = element(bar, "span", "plab-rail");
  const marks = element(rail, "canvas", "plab-moments", { "aria-hidden": "true" });
  const slider = element(rail, "input", "plab-slider", { type: "range", min: 0, max: 1000, "aria-label": "time" });
  const newest = element(bar, "button", "plab-newest", { type: "button", title: "follow the newest" });
  const jumpBack = button("plab-jump", "|◂", "to the one before (,)");
  const jumpTo = element(bar, "select", "plab-jump-kind", { "aria-label": "jump to", title: "what to jump to" });
  for (const kind of Object.keys(JUMPS)) element(jumpTo, "option", "", { value: kind }).textContent = kind === "any" ? "any event" : kind;
  const jumpOn = button("plab-jump", "▸|", "to the next one (.)");
  const fork = button("plab-fork", "fork", "fork from the last checkpoint before this moment (F)");
  const speed = element(bar, "select", "plab-speed", { "aria-label": "speed", title: "speed" });
  for (const s of [0.25, 1, 4, 16, 64]) element(speed, "option", "", { value: s }).textContent = `${s}×`;
  const help = element(bar, "button", "plab-help-button", { type: "button", title: "keys", "aria-label": "keys" });
  help.textContent = "?";
  const foot = element(root, "div", "plab-foot");
  const call = element(foot, "code", "plab-call");
  const keys = element(root, "div", "plab-help", { hidden: "" });
  keys.innerHTML = HELP.map(([k, w]) => `<kbd>${k}</kbd> ${w}`).join("<br>");
  const aloud = element(root, "div", "plab-aloud", { "aria-live": "polite" });

  const ctx = canvas.getContext("2d");
  let theme = themeOf(root);
  let themed = false; // not before the view stands in the page, where the lab's colours reach it
  let frame = 0;
  let pointer = null;
  let drag = null;
  let cursor = -1;
  let toSay = null; // said once the drawing is up to date
  let said = null; // the canvas's label

  const me = {
    journal: settings.journal,
    observed: (at) => { // the number of the last observation until a moment, or -1
      const row = stepAt(at + NEAR_MS, -1);
      return row < 0 ? -1 : store.tables.steps.col.seq[row];
    },
    ticking: false, origin: 0, now: 0, live: false,
    onClock: () => (redraw(), tellClock()),
    moments: () => {
      const told = store.lists.moments ?? NONE;
      if (me.known.of !== told || me.known.origin !== me.origin) me.known = Object.assign([], { of: told, origin: me.origin });
      for (let i = me.known.length; i < told.length; i++) {
        const [t, kind, text, hasCut] = told[i];
        me.known.push({ time: me.origin + 1000 * t, kind, text, hasCut: Boolean(hasCut) });
      }
      return me.known;
    },
    known: [],
    step: (at, direction) => {
      const row = stepAt(at + direction * NEAR_MS, direction);
      return row < 0 ? null : me.origin + 1000 * store.tables.steps.col.t[row];
    },
  };

  /** The row of the first observation after a moment (direction 1), or of the last one before it; or -1. */
  function stepAt(at, direction) {
    const { n, col } = store.tables.steps;
    const t = (at - me.origin) / 1000;
    let best = -1;
    for (let i = 0; i < n; i++) {
      if (direction > 0 ? col.t[i] < t : col.t[i] > t) continue;
      if (best < 0 || (direction > 0 ? col.t[i] < col.t[best] : col.t[i] >= col.t[best])) best = i;
    }
    return best;
  }

  // Python hears where the clock is (clock.py): at once when it jumps, a few times a second while it moves.
  let told = JSON.stringify([null, false, 1, undefined]); // a page that opens is told where it is: it says nothing first
  let tellTimer = 0;
  function tellClock() {
    if (clock.views[0] !== me || tellTimer) return;
    tellTimer = setTimeout(() => {
      tellTimer = 0;
      if (clock.views[0] !== me || !clock.ticking) return;
      const { at, playing, speed, pin } = clock;
      const words = JSON.stringify([at, playing, speed, pin?.key]);
      if (words === told) return;
      told = words;
      voice.say({ kind: "clock", at_ms: at, playing: playing && at !== null, speed, pin });
    }, 100);
  }

  const copyable = (text) => {
    call.textContent = text;
    call.title = "click to copy";
  };
  on(call, "click", () => navigator.clipboard?.writeText(call.textContent));

  /** Ask the kernel to do something at the moment that is shown; `text` is the call of it. */
  let askTimer = 0;
  function ask(content, text) {
    copyable(text);
    const before = store.updates;
    voice.say({ kind: "ask", page: id, at_ms: clock.at, ...content });
    clearTimeout(askTimer);
    askTimer = setTimeout(() => store.updates === before && copyable(`${text}  # no answer yet: the kernel is busy, or does not run`), ANSWER_MS);
  }

  let answered = "";
  function learn() {
    const f = store.facts;
    if (f.answer && f.answer !== answered) {
      answered = aloud.textContent = call.textContent = f.answer;
      call.title = "";
    }
    me.ticking = Boolean(f.ticking);
    me.origin = f.origin_ms ?? 0;
    me.now = me.origin + 1000 * (f.now_s ?? 0);
    me.live = Boolean(f.live);
  }

  const redraw = () => {
    frame ||= requestAnimationFrame(draw);
  };

  function box() {
    const width = canvas.clientWidth || 800;
    const height = Math.round(spec.height(scale));
    const [from, to] = clock.ticking ? clock.span : [0, 60000];
    const left = LEFT * scale;
    const right = width - Math.min(GUTTER * scale, Math.max(120 * scale, 0.3 * width));
    return {
      scale, width, height, left, right, theme, clock, from, to, now: clock.ticking ? clock.now : 0,
      origin: clock.ticking ? clock.start : 0,
      x: (ms) => left + ((ms - from) / (to - from)) * (right - left),
      time: (x) => from + ((x - left) / (right - left)) * (to - from),
      font: (px = 11, weight = "") => `${weight} ${px * scale}px ${theme.font}`,
    };
  }

  function draw() {
    frame = 0;
    if (!themed) [theme, themed] = [themeOf(root), root.isConnected];
    const b = box();
    const ratio = globalThis.devicePixelRatio || 1;
    if (canvas.width !== Math.round(b.width * ratio) || canvas.height !== Math.round(b.height * ratio)) {
      canvas.style.height = `${b.height}px`;
      canvas.width = Math.round(b.width * ratio);
      canvas.height = Math.round(b.height * ratio);
    }
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.fillStyle = theme.ground;
    ctx.fillRect(0, 0, b.width, b.height);
    const started = performance.now();
    spec.paint(ctx, b);
    if (!spec.ownAxis) [axis(ctx, b), crosshair(ctx, b)];
    root.dataset.drawMs = (performance.now() - started).toFixed(2);
    root.dataset.waitMs = (performance.now() - store.at).toFixed(2);
    root.dataset.updates = store.updates;
    root.dataset.draws = Number(root.dataset.draws ?? 0) + 1;
    header(b);
    if (toSay) aloud.textContent = toSay();
    toSay = null;
  }

  function axis(c, b) {
    const y = b.height - 18 * scale;
    c.font = b.font(10);
    c.textBaseline = "top";
    c.strokeStyle = theme.line;
    c.beginPath();
    c.moveTo(b.left, y + 0.5);
    c.lineTo(b.right, y + 0.5);
    c.stroke();
    const width = b.right - b.left;
    for (const s of ticks((b.from - b.origin) / 1000, (b.to - b.origin) / 1000, width / (80 * scale))) {
      const x = b.x(b.origin + 1000 * s);
      c.fillStyle = theme.line;
      c.fillRect(Math.round(x), y, 1, 4);
      const text = `${Number(s.toPrecision(8))} s`;
      c.fillStyle = theme.soft;
      c.textAlign = x < b.left + 12 ? "left" : x > b.right - 12 ? "right" : "center";
      c.fillText(text, x, y + 5 * scale);
    }
  }

  function crosshair(c, b) {
    if (!b.clock.ticking) return;
    const nowX = b.x(b.now);
    if (nowX >= b.left && nowX <= b.right + 1) {
      c.fillStyle = theme.text;
      c.fillRect(Math.round(nowX) - 1, 2, clock.at === null ? 1 : 2, b.height - 20 * scale);
    }
    if (clock.cut) forkLine(c, b);
    const at = clock.hover?.time;
    if (at == null || at < b.from || at > b.to) return;
    c.setLineDash([3, 3]);
    c.strokeStyle = theme.soft;
    c.beginPath();
    c.moveTo(Math.round(b.x(at)) + 0.5, 2);
    c.lineTo(Math.round(b.x(at)) + 0.5, b.height - 18 * scale);
    c.stroke();
    c.setLineDash([]);
  }

  /** Where a fork would begin, in every view. */
  function forkLine(c, b) {
    const x = Math.round(b.x(clock.cut.time)) + 0.5;
    if (x < b.left || x > b.right + 1) return;
    const text = clock.cut.text;
    c.font = b.font(10, "600");
    const width = c.measureText(text).width + 8;
    const left = Math.max(b.left, Math.min(x - width / 2, b.right - width));
    c.strokeStyle = theme.text;
    c.lineWidth = 1.5;
    c.setLineDash([8, 3, 2, 3]);
    c.beginPath();
    c.moveTo(x, 16 * scale);
    c.lineTo(x, b.height - 18 * scale);
    c.stroke();
    c.setLineDash([]);
    c.lineWidth = 1;
    if (clock.views[0] !== me) return; // one label is enough
    c.fillStyle = theme.text;
    c.fillRect(left, 1, width, 15 * scale);
    c.fillStyle = theme.ground;
    c.textAlign = "left";
    c.textBaseline = "middle";
    c.fillText(text, left + 4, 1 + 7.5 * scale);
  }

  /** Above the slider: a tick per moment, failures in vermilion. */
  let painted = "";
  function paintMoments() {
    const width = marks.clientWidth;
    const state = [width, clock.moments.length, clock.start, clock.newest, theme.dark].join(" ");
    if (!width || state === painted) return;
    painted = state;
    marks.width = width * (globalThis.devicePixelRatio || 1);
    marks.height = 7 * (globalThis.devicePixelRatio || 1);
    const c = marks.getContext("2d");
    const span = clock.newest - clock.start || 1;
    const thumb = 8; // the slider's own ends
    const colours = { failure: VERMILION, checkpoint: theme.dark ? "#56B4E9" : "#0072B2" };
    c.scale(marks.width / width, marks.width / width);
    const start = clock.start; // asked for once: there may be very many moments
    const last = {}; // by kind: one tick a pixel
    for (const m of clock.moments) {
      const x = Math.round(thumb + ((m.time - start) / span) * (width - 2 * thumb));
      if (last[m.kind] === x) continue;
      last[m.kind] = x;
      c.fillStyle = colours[m.kind] ?? theme.soft;
      c.fillRect(x - 1, 0, m.kind === "failure" ? 3 : 2, 7);
    }
  }

  function header(b) {
    const f = store.facts;
    root.dataset.theme = theme.dark ? "dark" : "light";
    title.textContent = f.title ?? "";
    badge.textContent = f.live === undefined ? "" : f.live ? "● live" : "■ recording";
    badge.classList.toggle("is-live", Boolean(f.live));
    const seed = f.seed == null ? "" : ` · seed ${f.seed}`;
    time.textContent = me.ticking ? `${seconds(b.now - b.origin)} ${wallTime(b.now)}${seed}` : seed;
    gap.textContent = f.gap ? `gap: ${f.gap}` : "";
    gap.title = gap.textContent;
    const isEmpty = store.updates > 0 && spec.isEmpty();
    empty.style.display = isEmpty ? "" : "none";
    if (isEmpty && !empty.firstChild) fillEmpty();
    // On a board one view of each journal tells what was observed when.
    const tellers = clock.views.filter((v) => v === me || (me.journal !== undefined && v.journal === me.journal));
    const seq = Math.max(...tellers.map((v) => v.observed(b.now)));
    root.dataset.seq = seq < 0 ? "" : seq;
    time.title = seq < 0 ? "" : `observation ${count(seq)}`;
    const leader = clock.views[0] === me;
    bar.style.display = leader && clock.ticking ? "" : "none";
    if (leader) paintMoments();
    play.textContent = clock.at === null ? (clock.live ? "❚❚" : "▶") : clock.playing ? "❚❚" : "▶";
    play.setAttribute("aria-label", play.textContent === "▶" ? "play" : "pause");
    newest.textContent = clock.live ? "now" : "end";
    newest.disabled = clock.at === null;
    const own = spec.fork?.();
    if (own) [fork.disabled, fork.title] = [!own.ask, own.reason ?? `${own.call} (F)`];
    const span = clock.newest - clock.start || 1;
    if (document.activeElement !== slider || clock.playing || clock.at === null)
      slider.value = me.ticking ? Math.round((1000 * (b.now - clock.start)) / span) : 0;
    showLegend();
    const summary = spec.summary();
    if (summary !== said) canvas.setAttribute("aria-label", (said = summary)); // writing it is slow
    showTip(b);
  }

  let legendText = "";
  function showLegend() {
    const entries = spec.legend(theme);
    const shown = entries.slice(0, LEGEND_MAX);
    const items = shown.map(([colour, text, style]) => `<span role="listitem"><i class="${style ?? ""}" style="--c:${colour}"></i>${esc(text)}</span>`);
    if (entries.length > LEGEND_MAX) items.push(`<span role="listitem">+${entries.length - LEGEND_MAX}</span>`);
    const left = spec.leftOut?.();
    if (left) items.push(`<span class="plab-left-out">${esc(left)}</span>`);
    const html = items.join("");
    if (html !== legendText) legend.innerHTML = legendText = html;
  }

  function fillEmpty() {
    const [sentence, code] = spec.empty;
    empty.innerHTML = `<p>${esc(sentence)}</p><pre><code>${esc(code)}</code></pre>`;
    const copy = element(empty, "button", "", { type: "button" });
    copy.textContent = "copy";
    on(copy, "click", async () => {
      await navigator.clipboard?.writeText(code);
      copy.textContent = "copied";
    });
  }

  let tipText = "";
  function showTip(b) {
    const mark = pointer && clock.hover?.kind ? clock.hover : clock.pin;
    const html = mark ? spec.tip(mark) : null;
    tip.style.display = html ? "block" : "none";
    if (!html) return;
    const note = mark === clock.pin ? '<div class="plab-pinned">pinned · Esc lets go</div>' : "";
    if (html + note !== tipText) tip.innerHTML = tipText = html + note;
    const px = pointer ? pointer.x : b.x(mark.time);
    const py = pointer ? pointer.y : 30;
    const w = tip.offsetWidth;
    const h = tip.offsetHeight;
    tip.style.left = `${Math.max(2, px + 16 + w > b.width ? px - w - 12 : px + 16)}px`;
    tip.style.top = `${Math.max(2, Math.min(py + 12, b.height - h - 2))}px`;
  }

  // Pointer.
  const where = (e) => {
    const r = canvas.getBoundingClientRect();
    return { x: e.clientX - r.left, y: e.clientY - r.top };
  };
  on(canvas, "pointermove", (e) => {
    pointer = where(e);
    const b = box();
    if (drag) {
      const shift = ((drag.x - pointer.x) / (b.right - b.left)) * (b.to - b.from);
      if (Math.abs(drag.x - pointer.x) > 3) drag.moved = true;
      if (drag.moved && clock.zoom) {
        const width = drag.to - drag.from;
        const from = Math.max(clock.start, Math.min(drag.from + shift, clock.newest - width));
        clock.set({ zoom: { from, to: from + width, follow: false } });
      }
      return;
    }
    const inside = !spec.ownAxis && pointer.x >= b.left && pointer.x <= b.right;
    const mark = clock.ticking ? spec.pick(pointer.x, pointer.y, b) : null;
    clock.set({ hover: mark ? { ...mark, time: inside ? b.time(pointer.x) : mark.time } : inside ? { time: b.time(pointer.x) } : null });
  });
  on(canvas, "pointerleave", () => {
    pointer = null;
    drag = null;
    clock.set({ hover: null });
  });
  on(canvas, "pointerdown", (e) => {
    const b = box();
    drag = { ...where(e), from: b.from, to: b.to, moved: false };
  });
  on(canvas, "pointerup", (e) => {
    const moved = drag?.moved;
    drag = null;
    if (moved || !clock.ticking) return;
    const p = where(e);
    const mark = spec.pick(p.x, p.y, box());
    clock.set({ pin: mark && clock.pin?.key !== mark.key ? mark : null });
    if (mark) speak(mark);
  });
  on(canvas, "wheel", (e) => {
    if (!clock.ticking || spec.ownAxis) return;
    e.preventDefault();
    clock.zoomAt(box().time(where(e).x), e.deltaY > 0 ? 1.25 : 0.8);
  }, { passive: false });

  // Keys.
  const speak = (mark) => {
    toSay = () => (mark ? spec.say(mark) : "");
    redraw();
  };
  const sayTime = () => {
    toSay = () => `${seconds(clock.now - clock.start)}: ${spec.summary()}`;
    redraw();
  };
  /** To the next event of this view (what its picture shows as one), or the one before. */
  function toEvent(direction) {
    const now = clock.now;
    const all = spec.events().filter((t) => (direction > 0 ? t > now + NEAR_MS : t < now - NEAR_MS));
    if (all.length) clock.seek(direction > 0 ? Math.min(...all) : Math.max(...all));
    sayTime();
  }
  function jump(direction) {
    const moment = clock.jump(direction, jumpTo.value);
    toSay = () => (moment ? `${seconds(moment.time - clock.start)}: ${moment.text}` : `no ${jumpTo.value} ${direction > 0 ? "after" : "before"} this`);
    if (moment) copyable(`board.clock.${direction > 0 ? "next" : "previous"}(${jumpTo.value === "any" ? "" : JSON.stringify(jumpTo.value)})  # ${moment.text}`);
    else aloud.textContent = call.textContent = toSay();
    redraw();
  }
  function oneStep(direction) {
    clock.step(direction);
    copyable(`board.clock.step(${direction > 0 ? "" : -1})`);
    sayTime();
  }
  /** Where a fork from here begins: the last checkpoint before now; without one, at the tails of this moment. */
  function markFork() {
    const now = clock.now;
    const own = spec.fork?.();
    if (own) {
      if (own.ask) ask(own.ask, own.call);
      else call.textContent = own.reason;
      toSay = () => own.call ?? own.reason;
      return redraw();
    }
    const from = clock.moments.findLast((m) => m.hasCut && m.time <= now + NEAR_MS);
    const at = ((now - clock.start) / 1000).toFixed(2);
    clock.set({ cut: from ? { time: from.time, text: `fork: ${from.text}` } : { time: now, text: `fork: the tails at ${at} s` } });
    copyable(`fork = lab.fork(board, at_s=${at})`);
    toSay = () => `a fork begins at ${seconds(clock.cut.time - clock.start)}, ${clock.cut.text}`;
    redraw();
  }
  function select(direction) {
    const marks = spec.marks(box());
    if (!marks.length) return;
    const current = marks.findIndex((m) => m.key === clock.hover?.key);
    cursor = current < 0 ? (direction > 0 ? 0 : marks.length - 1) : (current + direction + marks.length) % marks.length;
    clock.set({ hover: marks[cursor], pin: clock.pin ? marks[cursor] : null });
    speak(marks[cursor]);
  }
  const actions = {
    " ": () => clock.play(!(clock.playing || (clock.live && clock.at === null))),
    ArrowLeft: (e) => (e.shiftKey ? oneStep(-1) : (clock.seek(clock.now - stride()), sayTime())),
    ArrowRight: (e) => (e.shiftKey ? oneStep(1) : (clock.seek(clock.now + stride()), sayTime())),
    ArrowUp: () => select(1),
    ArrowDown: () => select(-1),
    ".": () => toEvent(1),
    ",": () => toEvent(-1),
    f: () => markFork(),
    F: () => markFork(),
    Home: () => (clock.seek(clock.start), sayTime()),
    End: () => (clock.set({ at: null, playing: false }), sayTime()),
    Enter: () => clock.hover?.kind && (clock.set({ pin: clock.hover }), speak(clock.hover)),
    Escape: () => (clock.set({ pin: null, hover: null, cut: null }), (keys.hidden = true)),
    "+": () => clock.zoomAt(clock.now, 0.8),
    "-": () => clock.zoomAt(clock.now, 1.25),
    0: () => clock.set({ zoom: null }),
    "?": () => (keys.hidden = !keys.hidden),
  };
  const stride = () => (clock.span[1] - clock.span[0]) / 100;
  on(canvas, "keydown", (e) => {
    const action = actions[e.key];
    if (!action || e.ctrlKey || e.metaKey || e.altKey || !clock.ticking) return;
    e.preventDefault();
    e.stopPropagation(); // or the notebook acts on it too
    action(e);
  });

  // Bar.
  on(play, "click", () => actions[" "]());
  on(newest, "click", () => actions.End());
  on(stepBack, "click", () => oneStep(-1));
  on(stepOn, "click", () => oneStep(1));
  on(jumpBack, "click", () => jump(-1));
  on(jumpOn, "click", () => jump(1));
  on(fork, "click", () => markFork());
  on(help, "click", () => actions["?"]());
  on(slider, "input", () => {
    clock.playing = false;
    clock.seek(clock.start + (slider.value / 1000) * (clock.newest - clock.start));
    copyable(`view.at(${((clock.now - clock.start) / 1000).toFixed(2)})`);
    sayTime();
  });
  on(slider, "keydown", (e) => e.stopPropagation());
  on(speed, "change", () => clock.set({ speed: Number(speed.value) }));
  speed.value = "1";
  const uncontrol = spec.controls?.({ parent: controls, element, on, redraw, call: copyable, clock, ask });
  const body = element(root, "div", "plab-body"); // for what is better read than drawn: spec.body(…)
  root.insertBefore(body, stage);
  const unbody = spec.body?.({ parent: body, element, on, redraw, call: copyable, clock });

  // What changes around us.
  const sizes = new ResizeObserver(redraw);
  sizes.observe(stage);
  const themes = new MutationObserver(() => {
    themed = false;
    redraw();
  });
  themes.observe(document.body, { attributes: true });
  const media = globalThis.matchMedia?.("(prefers-color-scheme: dark)");
  if (media) on(media, "change", () => ((themed = false), redraw()));

  const updated = () => {
    learn();
    clock.set({});
  };
  store.listeners.add(updated);
  learn();
  clock.join(me);
  page.views += 1;

  // A reload and a second view ask for a snapshot; while we live we say so, or the kernel sends less.
  const voice = voiceOf(model, settings.me, true);
  const hello = (kind) => voice.say({ kind, page: id });
  hello("hello");
  on(globalThis, "pagehide", () => hello("bye"));
  on(globalThis, "pageshow", (e) => e.persisted && hello("hello"));
  const heart = setInterval(() => hello("here"), 2000);

  return () => {
    closing.abort();
    clearInterval(heart);
    cancelAnimationFrame(frame);
    sizes.disconnect();
    themes.disconnect();
    store.listeners.delete(updated);
    clearTimeout(tellTimer);
    clearTimeout(askTimer);
    uncontrol?.();
    unbody?.();
    clock.leave(me);
    page.views -= 1;
    hello("bye");
    voice.close();
    root.remove();
  };
}

/**
 * The two functions of an anywidget module: one store per model, a frame per place where it is shown. To be
 * called once per model (a module's default export may be a function), for the host hands `initialize` and
 * `render` different objects for the same model.
 */
export function widget({ makeStore, makeSpec }) {
  const store = makeStore();
  return {
    initialize({ model }) {
      const voice = voiceOf(model, model.get("_settings")?.me, false);
      const take = (content, buffers) => {
        if (content.kind === "clock") return page.clocks.get(model.get("_settings").clock)?.obey(content);
        if (content.kind !== "snapshot" && content.kind !== "delta") return;
        store.take(content, buffers);
        voice.say({ kind: "ack", seq: content.seq });
      };
      model.on("msg:custom", take);
      return () => {
        model.off("msg:custom", take);
        voice.close();
      };
    },
    render({ model, el }) {
      return mount({ model, el, store, spec: makeSpec(store) });
    },
  };
}
