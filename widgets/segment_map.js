// Segments as rectangles: time across, key space up. Draws the rows it is given; ranges, predecessors, causes
// and thresholds come from the kernel. Below it a strip of rates with the causes of the scales.
import {
  GUTTER, PALETTE, Store, VERMILION, bytes, commonStart, count, esc, fillReader, fit, haloText, hatch, mix, rgb, seconds, squeezed, upTo, wallTime, widget,
} from "./common.js";

// The same formats stand in segment_rows.py.
const FORMATS = {
  segments: { format: "index:u start:f end:f low:f high:f reader:u", keyed: true },
  names: { format: "index:u number:u epoch:u flags:u truncated:f pad:u", keyed: true },
  links: { format: "index:u predecessor:u" },
  rates: { format: "index:u t:f events:f bytes:f unread:f stored:f" },
  owners: { format: "index:u segment:u reader:u start:f end:f", keyed: true },
  crowd: { format: "start:f end:f low:f high:f n:u" },
};
const WAITS = 0xfffffffe; // in the place of an owner: it waits for its predecessors
const NOBODY = 0;
const UNKNOWN = 0xffffffff;
const INEXACT = 1;
const HUES = 96;
const ONE_BY_ONE = 4000; // segments on screen above which pixels are set instead of rectangles filled
const HEAT_MAX = 400; // segments on screen up to which the rate is drawn over time within each
const LANE = 40; // three lines of causes
const STRIP = 48;
const MAP = 280;

/** Where a routing key falls in [0, 1): MurmurHash3 x64 128 of its UTF-16 units, upper half (reference A3). */
function keyPosition(key) {
  const M = (1n << 64n) - 1n;
  const mul = (a, b) => (a * b) & M;
  const rotl = (x, r) => ((x << BigInt(r)) | (x >> BigInt(64 - r))) & M;
  const mixed = (k) => {
    k = mul(k ^ (k >> 33n), 0xff51afd7ed558ccdn);
    k = mul(k ^ (k >> 33n), 0xc4ceb9fe1a85ec53n);
    return k ^ (k >> 33n);
  };
  const [c1, c2] = [0x87c37b91114253d5n, 0x4cf5ad432745937fn];
  const data = new Uint8Array(2 * key.length);
  for (let i = 0; i < key.length; i++) data.set([key.charCodeAt(i) & 255, key.charCodeAt(i) >> 8], 2 * i);
  const word = (at, n) => {
    let v = 0n;
    for (let i = n - 1; i >= 0; i--) v = (v << 8n) | BigInt(data[at + i]);
    return v;
  };
  let h1 = 1741865571n;
  let h2 = h1;
  const whole = data.length & ~15;
  for (let at = 0; at < whole; at += 16) {
    h1 ^= mul(rotl(mul(word(at, 8), c1), 31), c2);
    h1 = (mul((rotl(h1, 27) + h2) & M, 5n) + 0x52dce729n) & M;
    h2 ^= mul(rotl(mul(word(at + 8, 8), c2), 33), c1);
    h2 = (mul((rotl(h2, 31) + h1) & M, 5n) + 0x38495ab5n) & M;
  }
  const rest = data.length - whole;
  if (rest > 8) h2 ^= mul(rotl(mul(word(whole + 8, rest - 8), c2), 33), c1);
  if (rest > 0) h1 ^= mul(rotl(mul(word(whole, Math.min(8, rest)), c1), 31), c2);
  h1 ^= BigInt(data.length);
  h2 ^= BigInt(data.length);
  h1 = (h1 + h2) & M;
  h2 = (h2 + h1) & M;
  h1 = mixed(h1);
  h2 = mixed(h2);
  h1 = (h1 + h2) & M;
  return Number(h1 >> 12n) / 2 ** 52;
}

/** What the tables say, indexed for drawing. */
function segmentStore() {
  const fresh = () => ({ rates: [], before: [], after: [], owners: [], named: 0, byNumber: new Map(), waits: new Map(), told: 0 });
  const derived = fresh();
  const store = new Store(FORMATS, (name, first) => {
    if (name === "") Object.assign(derived, fresh());
    if (name === "owners") {
      const { n, col } = store.tables.owners;
      for (let i = first; i < n; i++) (derived.owners[col.segment[i]] ??= []).push(i);
    }
    if (name === "names") {
      const { n, col } = store.tables.names;
      for (; derived.named < n; derived.named++) derived.byNumber.set(col.number[derived.named], derived.named);
    }
    if (name === "links") {
      const { n, col } = store.tables.links;
      for (let i = first; i < n; i++) {
        (derived.before[col.index[i]] ??= []).push(col.predecessor[i]);
        (derived.after[col.predecessor[i]] ??= []).push(col.index[i]);
      }
    }
    if (name === "rates") {
      const { n, col } = store.tables.rates;
      for (let i = first; i < n; i++) (derived.rates[col.index[i]] ??= []).push(i);
    }
  });
  store.derived = derived;
  return store;
}

function segmentSpec(store) {
  const seg = () => store.tables.segments.col;
  const facts = () => store.facts;
  const state = { colour: null, key: "", shown: 0, drawn: 0 };
  const origin = () => facts().origin_ms ?? 0;
  const ms = (s) => origin() + 1000 * s;
  const label = (i) => {
    const { number, epoch } = store.tables.names.col;
    return `#${number[i]} e${epoch[i]}`;
  };
  const short = (i) => `#${store.tables.names.col.number[i]}`;
  const keyOf = (i) => `${facts().stream}/${label(i)}`;
  const byRate = () => facts().rate_unit === "bytes/s";
  const rateColumn = () => store.tables.rates.col[byRate() ? "bytes" : "events"];
  const rateText = (r) => Number.isNaN(r) ? "–" : (byRate() ? `${bytes(r)}/s` : `${count(r)}/s`);
  const colour = () => state.colour ?? facts().colour ?? "rate";

  /** The newest sample of a segment at a moment (in s), or -1. */
  function sampleAt(i, t) {
    const rows = store.derived.rates[i];
    if (!rows) return -1;
    const at = store.tables.rates.col.t;
    let [lo, hi] = [0, rows.length];
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (at[rows[mid]] <= t) lo = mid + 1;
      else hi = mid;
    }
    return lo ? rows[lo - 1] : -1;
  }

  const rateMax = () => {
    const target = facts().thresholds?.find((t) => t[1] === "target")?.[0];
    return target ? 2 * target : Math.max(1, state.peak ?? 1);
  };
  const hues = new Map(); // mixing is slow, and there are a hundred thousand segments
  function hue(theme, rate) {
    if (Number.isNaN(rate)) return theme.none;
    const step = Math.round(HUES * Math.min(1, rate / rateMax()));
    const key = theme.dark ? step : -1 - step;
    if (!hues.has(key)) hues.set(key, mix(theme.cold, theme.hot, step / HUES));
    return hues.get(key);
  }

  function ownerFill(ctx, theme, reader) {
    if (reader === UNKNOWN) return theme.none;
    if (reader === WAITS) return theme.ground;
    if (reader === NOBODY) return hatch(ctx, theme.soft);
    return PALETTE[(reader - 1) % PALETTE.length];
  }

  // Owners over time: stretches [reader + 1, from, to] of a segment.

  function stretches(i, t) {
    const { reader, start, end } = store.tables.owners.col;
    return (store.derived.owners[i] ?? []).filter((k) => start[k] <= t).map((k) => [reader[k], start[k], Math.min(end[k], t), k]);
  }

  /** Reader + 1, nobody, WAITS, or UNKNOWN where nobody told; a successor waits until its group may read it. */
  function ownerAt(i, t) {
    const { reader, start, end } = store.tables.owners.col;
    const mine = store.derived.owners[i];
    if (!mine) return facts().has_group && before(i).length ? WAITS : seg().reader[i];
    for (let k = mine.length - 1; k >= 0; k--) if (start[mine[k]] <= t) return end[mine[k]] > t ? reader[mine[k]] : UNKNOWN;
    return before(i).length ? WAITS : UNKNOWN;
  }

  function waitWords(i, t) {
    const d = store.derived;
    const list = store.lists.waits ?? [];
    for (; d.told < list.length; d.told++) d.waits.set(list[d.told][0], list[d.told][1]);
    const { reader, start } = store.tables.owners.col;
    const k = (d.owners[i] ?? []).findLast((one) => start[one] <= t && reader[one] === WAITS);
    return (k !== undefined && d.waits.get(k)) || `waits for ${before(i).map(short).join(" ")}`;
  }

  /** "r2", "nobody", "waits for #2", or "" where nobody told. */
  function ownerWords(i, t) {
    const owner = ownerAt(i, t);
    if (owner === UNKNOWN) return "";
    if (owner === WAITS) return waitWords(i, t);
    return owner === NOBODY ? "nobody" : facts().readers?.[owner - 1] ?? "";
  }

  function fillOf(ctx, b, i, t) {
    const { theme } = b;
    if (colour() === "owner") return ownerFill(ctx, theme, ownerAt(i, Math.min(t, seg().end[i] - 1e-4)));
    const rows = sampleAt(i, Math.min(t, seg().end[i] - 1e-4));
    const { unread } = store.tables.rates.col;
    if (colour() === "unread") {
      const most = Math.max(1, state.unreadPeak ?? 1);
      return rows < 0 || Number.isNaN(unread[rows]) ? theme.none : mix(theme.cold, theme.hot, Math.min(1, unread[rows] / most));
    }
    return rows < 0 ? theme.none : hue(theme, rateColumn()[rows]);
  }

  function layout(b) {
    const s = b.scale;
    const bottom = b.height - 22 * s;
    const strip = { top: bottom - STRIP * s, bottom };
    const lane = { top: strip.top - (LANE + 3) * s, bottom: strip.top - 3 * s };
    return { map: { top: 18 * s, bottom: lane.top - 3 * s }, lane, strip };
  }

  const yOf = (m, key) => m.bottom - key * (m.bottom - m.top);

  /** The segments on the screen at the clock's time, as indexes. */
  function visible(b) {
    const { start, end } = seg();
    const [from, to] = [(b.from - origin()) / 1000, (Math.min(b.to, b.now) - origin()) / 1000];
    const out = [];
    for (let i = 0; i < store.tables.segments.n; i++) if (start[i] <= to && end[i] >= from) out.push(i);
    return out;
  }

  function rectangle(b, m, i, t) {
    const { start, end, low, high } = seg();
    const x0 = Math.max(b.left, b.x(ms(start[i])));
    const x1 = Math.min(b.right, b.x(ms(Math.min(end[i], t))));
    const y0 = yOf(m, high[i]);
    const y1 = yOf(m, low[i]);
    const inset = y1 - y0 > 5 ? 1 : 0;
    return [x0, y0 + inset / 2, Math.max(0.5, x1 - x0 - (end[i] <= t && x1 - x0 > 4 ? 1 : 0)), Math.max(0.5, y1 - y0 - inset)];
  }

  const isOpen = (i, t) => seg().end[i] > t;

  function paintSegments(ctx, b, m, list, t) {
    const groups = new Map();
    for (const i of list) {
      const fill = fillOf(ctx, b, i, t);
      const open = isOpen(i, t);
      let group = groups.get(fill);
      if (!group) groups.set(fill, (group = [[], []]));
      group[open ? 1 : 0].push(i);
    }
    for (const [fill, parts] of groups) {
      parts.forEach((members, open) => {
        if (!members.length) return;
        ctx.globalAlpha = open ? 1 : 0.6;
        ctx.fillStyle = fill;
        ctx.beginPath();
        for (const i of members) ctx.rect(...rectangle(b, m, i, t));
        ctx.fill();
      });
    }
    ctx.globalAlpha = 1;
  }

  /**
   * Very many segments, most of them smaller than a pixel: sets pixels, which costs what they cover and nothing
   * per rectangle. What is drawn last covers what was before, as with rectangles.
   */
  function paintMany(ctx, b, m, list, t) {
    const ratio = ctx.getTransform().a;
    const width = Math.max(1, Math.ceil((b.right - b.left) * ratio));
    const height = Math.max(1, Math.ceil((m.bottom - m.top) * ratio));
    if (state.many?.width !== width || state.many?.height !== height) {
      state.many = Object.assign(document.createElement("canvas"), { width, height });
      state.image = state.many.getContext("2d").createImageData(width, height);
      state.pixels = new Uint32Array(state.image.data.buffer);
    }
    const { pixels } = state;
    pixels.fill(0);
    const { start, end, low, high } = seg();
    const scale = width / ((b.to - b.from) / 1000);
    const from = (b.from - origin()) / 1000;
    const pixelBy = [new Map(), new Map()]; // pixels of sealed ones and of open ones, by fill
    for (const i of list) {
      const open = end[i] > t;
      const fill = fillOf(ctx, b, i, t);
      const known = pixelBy[open ? 1 : 0];
      let colour_ = known.get(fill);
      if (colour_ === undefined) known.set(fill, (colour_ = pixelOf(b.theme, fill, open)));
      const x0 = Math.max(0, Math.floor((start[i] - from) * scale));
      const x1 = Math.min(width, Math.max(x0 + 1, Math.floor(((open ? t : end[i]) - from) * scale)));
      const y0 = Math.max(0, Math.floor((1 - high[i]) * height));
      const y1 = Math.min(height, Math.max(y0 + 1, Math.floor((1 - low[i]) * height)));
      for (let y = y0; y < y1; y++) pixels.fill(colour_, y * width + x0, y * width + x1);
    }
    state.many.getContext("2d").putImageData(state.image, 0, 0);
    ctx.drawImage(state.many, b.left, m.top, width / ratio, height / ratio);
  }

  /** A fill as a pixel; a pattern is the colour that it has from afar. */
  function pixelOf(theme, fill, open) {
    const solid = typeof fill === "string" ? fill : mix(theme.ground, theme.soft, 0.35);
    const [r, g, blue] = rgb(open ? solid : mix(theme.ground, solid, 0.6));
    return ((255 << 24) | (blue << 16) | (g << 8) | r) >>> 0;
  }

  /** Within each rectangle its rate over time, so that one sees it grow hot and split. */
  function paintHeat(ctx, b, m, list, t) {
    const { t: at } = store.tables.rates.col;
    const rate = rateColumn();
    for (const i of list) {
      const rows = store.derived.rates[i];
      if (!rows) continue;
      if (at[rows[0]] > t) continue;
      const [x, y, w, h] = rectangle(b, m, i, t);
      ctx.globalAlpha = 1;
      ctx.fillStyle = b.theme.ground;
      ctx.fillRect(x, y, w, h);
      ctx.globalAlpha = isOpen(i, t) ? 1 : 0.72;
      // A sample is the rate of the time before it; the newest holds until the next one comes.
      let lastX = Math.round(x);
      const right = Math.round(x + w);
      for (let k = 0; k < rows.length && lastX < right; k++) {
        const last = k + 1 === rows.length || at[rows[k + 1]] > t;
        const px = last ? right : Math.min(right, Math.round(b.x(ms(at[rows[k]]))));
        if (px > lastX) {
          ctx.fillStyle = hue(b.theme, rate[rows[k]]);
          ctx.fillRect(lastX, y, px - lastX, h);
          lastX = px;
        }
        if (last) break;
      }
    }
    ctx.globalAlpha = 1;
  }

  /** Within each rectangle who owned it when: nobody hatched, waiting for predecessors dotted. */
  function paintOwners(ctx, b, m, list, t) {
    for (const i of list) {
      const [x, y, w, h] = rectangle(b, m, i, t);
      ctx.fillStyle = b.theme.ground;
      ctx.fillRect(x, y, w, h);
      const mine = stretches(i, t);
      ctx.globalAlpha = isOpen(i, t) ? 1 : 0.62;
      for (const [reader, start, end] of mine) {
        const [x0, x1] = [Math.max(x, b.x(ms(start))), Math.min(x + w, b.x(ms(end)))];
        if (x1 <= x0 || reader === WAITS) continue;
        if (reader > NOBODY) fillReader(ctx, b.theme, reader - 1, x0, y, x1 - x0, h);
        else [(ctx.fillStyle = hatch(ctx, b.theme.soft)), ctx.fillRect(x0, y, x1 - x0, h)];
      }
      ctx.globalAlpha = 1;
      const from = mine[0]?.[1] ?? Infinity;
      if (facts().has_group && before(i).length) paintWait(ctx, b, [x, y, w, h], x, Math.min(x + w, b.x(ms(Math.min(from, t)))), i, t);
      for (const [reader, start, end] of mine) if (reader === WAITS) paintWait(ctx, b, [x, y, w, h], b.x(ms(start)), b.x(ms(end)), i, start);
    }
  }

  function paintWait(ctx, b, [x, y, w, h], from, to, i, t) {
    const [x0, x1] = [Math.max(x, from), Math.min(x + w, to)];
    if (x1 - x0 < 1) return;
    ctx.strokeStyle = b.theme.text;
    ctx.setLineDash([2, 3]);
    ctx.strokeRect(x0 + 1.5, y + 1.5, Math.max(0.5, x1 - x0 - 3), Math.max(0.5, h - 3));
    ctx.setLineDash([]);
    ctx.font = b.font(9.5);
    const words = waitWords(i, t);
    if (h < 30 * b.scale || ctx.measureText(words).width > x1 - x0 - 8) return;
    ctx.fillStyle = b.theme.text;
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    ctx.fillText(words, x0 + 5, y + h / 2 + 13 * b.scale);
  }

  /** Segments that are too old to be drawn one by one: counted in cells. */
  function paintCrowd(ctx, b, m, t) {
    const { n, col } = store.tables.crowd;
    const most = col.n.subarray(0, n).reduce((p, v) => Math.max(p, v), 1);
    for (let i = 0; i < n; i++) {
      if (col.start[i] > t) continue;
      const [x0, x1] = [Math.max(b.left, b.x(ms(col.start[i]))), Math.min(b.right, b.x(ms(Math.min(t, col.end[i]))))];
      if (x1 <= x0) continue;
      const y = yOf(m, col.high[i]);
      ctx.fillStyle = mix(b.theme.ground, b.theme.soft, 0.15 + 0.5 * Math.sqrt(col.n[i] / most));
      ctx.fillRect(x0, y, x1 - x0 + 0.5, yOf(m, col.low[i]) - y + 0.5);
    }
  }

  /** A checkpoint's cut: left of the line is before it. Where no position covers the keys, it is vermilion. */
  function paintCut(ctx, b, m) {
    const mark = [b.clock.hover, b.clock.pin].find((one) => one?.kind === "cut" && one.pieces.some((p) => p.stream === facts().stream));
    if (!mark) return;
    const mine = mark.pieces.filter((p) => p.stream === facts().stream && !Number.isNaN(p.low)).sort((p, q) => p.low - q.low);
    const whereIs = (p) => {
      const i = store.derived.byNumber.get(p.number);
      const sealed = i === undefined ? Infinity : seg().end[i];
      return b.x(p.done && sealed < Infinity ? ms(sealed) : (p.at ?? mark.time));
    };
    const lines = mine.map((p) => [whereIs(p), yOf(m, p.low), yOf(m, p.high)]);
    for (const [width, colour_] of [[6, b.theme.ground], [2.5, b.theme.text]]) {
      ctx.strokeStyle = colour_;
      ctx.lineWidth = width;
      ctx.beginPath();
      lines.forEach(([x, low, high], k) => {
        const joined = k && Math.abs(lines[k - 1][2] - low) < 0.5;
        ctx[joined ? "lineTo" : "moveTo"](x, low);
        ctx.lineTo(x, high);
      });
      ctx.stroke();
    }
    ctx.strokeStyle = VERMILION;
    ctx.lineWidth = 5;
    ctx.font = b.font(10.5, "600");
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    const x = b.x(mark.time);
    for (const { low, high } of mark.gaps.filter((g) => !g.stream || g.stream === facts().stream)) {
      ctx.beginPath();
      ctx.moveTo(x, yOf(m, low));
      ctx.lineTo(x, yOf(m, high));
      ctx.stroke();
      haloText(ctx, b.theme, "gap: in no position", x + 7, (yOf(m, low) + yOf(m, high)) / 2, VERMILION);
      ctx.lineWidth = 5;
    }
    ctx.lineWidth = 1;
    const top = lines.at(-1);
    if (top) haloText(ctx, b.theme, `cut of checkpoint ${mark.number}`, Math.min(top[0] + 6, b.right - 120 * b.scale), top[2] + 9 * b.scale);
  }

  function paintEdges(ctx, b, m, list, t) {
    ctx.strokeStyle = b.theme.dark ? "#ffffff55" : "#00000055";
    ctx.lineWidth = 1;
    ctx.beginPath();
    for (const i of list) {
      const [x, y, w, h] = rectangle(b, m, i, t);
      if (h < 4 || w < 3) continue;
      // A sealed segment is closed at its right edge; an active one is open there.
      ctx.moveTo(x + w, y + 0.5);
      ctx.lineTo(x + 0.5, y + 0.5);
      ctx.lineTo(x + 0.5, y + h - 0.5);
      ctx.lineTo(x + w, y + h - 0.5);
      if (!isOpen(i, t)) ctx.lineTo(x + w, y + 0.5);
    }
    ctx.stroke();
  }

  function paintTruncated(ctx, b, m, list, t) {
    const { truncated } = store.tables.names.col;
    for (const i of list) {
      if (!(truncated[i] > seg().start[i])) continue;
      const [x, y, w, h] = rectangle(b, m, i, t);
      const to = Math.min(x + w, b.x(ms(truncated[i])));
      if (to <= x) continue;
      ctx.fillStyle = b.theme.ground;
      ctx.globalAlpha = 0.6;
      ctx.fillRect(x, y, to - x, h);
      ctx.globalAlpha = 1;
      ctx.fillStyle = hatch(ctx, b.theme.text, 7);
      ctx.fillRect(x, y, to - x, h);
    }
  }

  function paintLabels(ctx, b, m, list, t) {
    ctx.font = b.font(10.5, "600");
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    for (const i of list) {
      const [x, y, w, h] = rectangle(b, m, i, t);
      const text = label(i);
      if (h < 12 * b.scale || w < ctx.measureText(text).width + 8) continue;
      haloText(ctx, b.theme, text, x + 5, y + h / 2); // what is below it changes from pixel to pixel
    }
  }

  function outline(ctx, b, m, i, t, width, dash) {
    const [x, y, w, h] = rectangle(b, m, i, t);
    ctx.setLineDash(dash);
    for (const [extra, colour_] of [[2, b.theme.ground], [0, b.theme.text]]) {
      ctx.strokeStyle = colour_;
      ctx.lineWidth = width + extra;
      ctx.strokeRect(x, y, w, h);
    }
    ctx.setLineDash([]);
  }

  const indexOf = (mark) => (mark?.kind === "segment" && mark.stream === facts().stream ? store.derived.byNumber.get(mark.number) ?? -1 : -1);
  const before = (i) => store.derived.before[i] ?? [];
  const after = (i) => (store.derived.after[i] ?? []).filter((k) => seg().start[k] <= (state.t ?? Infinity));

  function paintSelection(ctx, b, m, t, list) {
    for (const mark of [b.clock.pin, b.clock.hover]) {
      if (mark?.kind === "reader") {
        const place = (facts().readers ?? []).indexOf(mark.name) + 1;
        if (place) for (const k of list) if (isOpen(k, t) && ownerAt(k, t) === place) outline(ctx, b, m, k, t, 2, []);
        continue;
      }
      const i = indexOf(mark);
      if (i < 0 || i >= store.tables.segments.n || seg().start[i] > t) continue;
      for (const k of [...before(i), ...after(i)]) outline(ctx, b, m, k, t, 1.5, [4, 3]);
      outline(ctx, b, m, i, t, 2.5, []);
    }
  }

  function paintAxisUp(ctx, b, m) {
    ctx.font = b.font(10);
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    for (const key of [0, 0.25, 0.5, 0.75, 1]) {
      const y = Math.round(yOf(m, key)) + 0.5;
      ctx.strokeStyle = b.theme.line;
      ctx.beginPath();
      ctx.moveTo(b.left - 4, y);
      ctx.lineTo(b.right, y);
      ctx.stroke();
      ctx.fillStyle = b.theme.soft;
      ctx.fillText(key === 0 || key === 1 ? String(key) : key.toFixed(2), b.left - 6, Math.min(Math.max(y, m.top + 5), m.bottom - 4));
    }
    ctx.save();
    ctx.translate(9 * b.scale, (m.top + m.bottom) / 2);
    ctx.rotate(-Math.PI / 2);
    ctx.textAlign = "center";
    ctx.fillText("key space", 0, 0);
    ctx.restore();
  }

  /** Right of the now line: range, rate, size or unread and owner of each active segment that has room. */
  function paintGutter(ctx, b, m, list, t) {
    const row = 13 * b.scale;
    const active = list.filter((i) => isOpen(i, t));
    const open = thinned(active, m, row).sort((p, q) => seg().low[q] - seg().low[p]);
    const { unread, stored } = store.tables.rates.col;
    const x = b.right + 8 * b.scale;
    const owned = (facts().knows ?? []).includes("owner");
    const rateRight = Math.min(x + (owned ? 126 : 158) * b.scale, b.width - 4); // a narrow view has less room
    const columns = [x, rateRight - 46 * b.scale, rateRight + 6 * b.scale, rateRight + 52 * b.scale];
    ctx.font = b.font(10);
    ctx.textBaseline = "middle";
    ctx.fillStyle = b.theme.soft;
    ctx.textAlign = "left";
    ctx.fillText("active, keys", columns[0], m.top - 9 * b.scale);
    ctx.textAlign = "right";
    ctx.fillText(facts().rate_unit ?? "", columns[2] - 6 * b.scale, m.top - 9 * b.scale);
    ctx.textAlign = "left";
    const third = b.width - columns[2] > 48 * b.scale; // a narrow view does without the last column
    const reads = (facts().knows ?? []).includes("unread");
    if (third) ctx.fillText(reads ? "unread" : "stored", columns[2], m.top - 9 * b.scale);
    const common = owned ? commonStart(facts().readers ?? []) : 0;
    const fourth = owned && third && b.width - columns[3] > 30 * b.scale;
    if (fourth) ctx.fillText("owner", columns[3], m.top - 9 * b.scale);
    let last = m.top - row / 2;
    let shown = 0;
    const room = active.length > (m.bottom - m.top) / row ? m.bottom - row : m.bottom;
    for (const i of open) {
      const y = (yOf(m, seg().low[i]) + yOf(m, seg().high[i])) / 2;
      if (y - last < row - 0.5 || y > room) continue;
      last = y;
      shown += 1;
      const r = sampleAt(i, t);
      const owner = owned ? ownerWords(i, t) : "";
      ctx.strokeStyle = b.theme.line;
      ctx.beginPath();
      ctx.moveTo(b.right + 1, Math.round(y) + 0.5);
      ctx.lineTo(b.right + 6, Math.round(y) + 0.5);
      ctx.stroke();
      ctx.textAlign = "left";
      ctx.fillStyle = b.theme.text;
      ctx.fillText(fit(ctx, `${short(i)} ${range(i)}`, columns[1] - columns[0] - 4), columns[0], y);
      ctx.textAlign = "right";
      ctx.fillText(r < 0 ? "–" : rateText(rateColumn()[r]), columns[2] - 6 * b.scale, y);
      ctx.textAlign = "left";
      ctx.fillStyle = b.theme.soft;
      if (!third) continue;
      const size = r < 0 ? "" : bytes(reads ? unread[r] : stored[r]);
      ctx.fillText(fit(ctx, fourth ? size : [size, owner].filter(Boolean).join(" "), (fourth ? columns[3] - 3 : b.width) - columns[2]), columns[2], y);
      if (!fourth) continue;
      const words = ctx.measureText(owner).width > b.width - columns[3] ? owner.replace("waits for", "waits") : owner;
      ctx.fillStyle = b.theme.text;
      ctx.fillText(squeezed(ctx, words, b.width - columns[3], common), columns[3], y);
    }
    if (shown < active.length) {
      ctx.fillStyle = b.theme.soft;
      ctx.textAlign = "left";
      ctx.fillText(`${shown} of ${count(active.length)} active`, x, m.bottom - 5 * b.scale);
    }
  }

  /** Of very many, one for each line that there is room for. */
  function thinned(open, m, row) {
    if (open.length < 500) return open;
    const lines = [];
    for (const i of open) lines[Math.floor((yOf(m, (seg().low[i] + seg().high[i]) / 2) - m.top) / row)] ??= i;
    return lines.filter((i) => i !== undefined);
  }

  const range = (i) => {
    const [low, high] = [seg().low[i], seg().high[i]];
    const digits = Math.max(3, Math.ceil(-Math.log10(high - low)) + 1);
    return [low, high].map((v) => (v === 0 || v === 1 ? String(v) : v.toFixed(digits).replace(/0+$/, ""))).join("–");
  };

  function paintKey(ctx, b, m, t) {
    if (!state.key) return;
    const at = keyPosition(state.key);
    const y = yOf(m, at);
    ctx.strokeStyle = b.theme.text;
    ctx.lineWidth = 1.5;
    ctx.setLineDash([6, 3]);
    ctx.beginPath();
    ctx.moveTo(b.left, y);
    ctx.lineTo(b.right, y);
    ctx.stroke();
    ctx.setLineDash([]);
    ctx.lineWidth = 1;
    ctx.font = b.font(11, "600");
    const text = fit(ctx, keyPath(t), b.right - b.left - 22);
    const w = ctx.measureText(text).width + 10;
    const x = b.left + 6;
    const up = y - 20 * b.scale > m.top;
    ctx.fillStyle = b.theme.ground;
    ctx.strokeStyle = b.theme.text;
    ctx.beginPath();
    ctx.rect(x, up ? y - 19 * b.scale : y + 3 * b.scale, w, 16 * b.scale);
    ctx.fill();
    ctx.stroke();
    ctx.fillStyle = b.theme.text;
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    ctx.fillText(text, x + 5, up ? y - 11 * b.scale : y + 11 * b.scale);
  }

  /** "N725MQ: #0 → #2 → #5": the segments that own the key, in order. They own (low, high], the first also 0. */
  function keyPath(t) {
    const at = keyPosition(state.key);
    const { low, high, start } = seg();
    const path = [];
    for (let i = 0; i < store.tables.segments.n; i++)
      if (start[i] <= t && at <= high[i] && (at > low[i] || (at === 0 && low[i] === 0))) path.push(i);
    path.sort((p, q) => start[p] - start[q]);
    const text = path.length > 8 ? [...path.slice(0, 2).map(short), "…", ...path.slice(-4).map(short)] : path.map(short);
    return `${state.key} (${at.toFixed(4)}): ${text.join(" → ") || "no segment yet"}`;
  }

  const scales = () => store.lists.scales ?? []; // [t, text, kind, rule, sealed, created]

  /** The scales on the screen, newest first, at most as many per pixel as there are lines for their causes. */
  function scaleTicks(b, t) {
    const all = scales();
    const out = [];
    let [last, same] = [Infinity, 0];
    for (let k = all.length - 1; k >= 0; k--) {
      const x = b.x(ms(all[k][0]));
      if (all[k][0] > t || x > b.right || x < b.left) continue;
      same = last - x < 1 ? same + 1 : 0;
      if (same >= 3) continue;
      out.push([x, all[k][1]]);
      if (!same) last = x;
    }
    return out;
  }

  /** A tick per scale, with its cause where there is room: newest first, in the lowest line that holds it whole. */
  function paintLane(ctx, b, l, t) {
    ctx.font = b.font(10);
    ctx.textBaseline = "middle";
    ctx.textAlign = "left";
    const shown = scaleTicks(b, t);
    const crowded = shown.length > (b.right - b.left) / 8;
    const limits = [b.width - 4, b.width - 4, b.width - 4];
    const line = (l.lane.bottom - 7 - l.lane.top) / limits.length;
    ctx.fillStyle = b.theme.text;
    ctx.beginPath();
    for (const [x] of shown) {
      ctx.moveTo(x - 4, l.lane.bottom - 6);
      ctx.lineTo(x + 4, l.lane.bottom - 6);
      ctx.lineTo(x, l.lane.bottom);
    }
    ctx.fill();
    ctx.globalAlpha = crowded ? 0.08 : 0.45;
    for (const [x] of shown) ctx.fillRect(Math.round(x), l.lane.bottom, 1, l.strip.bottom - l.lane.bottom);
    ctx.globalAlpha = 1;
    for (const [x, text] of shown) {
      const rooms = limits.map((limit) => limit - x - 2);
      if (Math.max(...rooms) <= 30) continue;
      const most = Math.max(...rooms);
      if (most < 90 && most < 3.5 * b.scale * text.length) continue; // surely too long; measuring is slow
      const width = ctx.measureText(text).width;
      const whole = rooms.findIndex((room) => room >= width);
      const row = whole >= 0 ? whole : rooms.indexOf(most);
      if (whole < 0 && rooms[row] < 90) continue;
      const words = fit(ctx, text, rooms[row]);
      ctx.fillText(words, x + 1, l.lane.bottom - 7 - line * (row + 0.5));
      limits[row] = x - 7;
    }
  }

  /** The rate of the busiest segment per pixel, against the thresholds at which segments split and merge. */
  function paintStrip(ctx, b, l, list, t) {
    const { top, bottom } = l.strip;
    const left = Math.floor(b.left);
    const columns = new Float32Array(Math.max(1, Math.ceil(b.right) - left + 1));
    const { t: at } = store.tables.rates.col;
    const rate = rateColumn();
    for (const i of list) {
      const rows = store.derived.rates[i] ?? [];
      const stop = Math.min(seg().end[i], t);
      for (let k = 0; k < rows.length; k++) {
        if (k && at[rows[k - 1]] > t) break;
        const a = k ? at[rows[k - 1]] : seg().start[i];
        const z = k + 1 < rows.length ? Math.min(at[rows[k]], stop) : stop;
        const value = rate[rows[k]];
        if (!(value > 0) || z <= a) continue;
        const to = Math.min(columns.length - 1, Math.floor(b.x(ms(z)) - left));
        for (let p = Math.max(0, Math.floor(b.x(ms(a)) - left)); p <= to; p++) if (value > columns[p]) columns[p] = value;
      }
    }
    const peak = columns.reduce((p, v) => Math.max(p, v), 0);
    state.peak = Math.max(state.peak ?? 0, peak);
    const lines = facts().thresholds ?? [];
    const target = lines.find((x) => x[1] === "target")?.[0] ?? 0;
    const most = Math.max(peak * 1.15, target * 1.25, 1e-9);
    const y = (v) => bottom - (v / most) * (bottom - top);
    ctx.fillStyle = b.theme.line;
    ctx.fillRect(b.left, bottom, b.right - b.left, 1);
    const endX = Math.min(b.right, b.x(ms(t)));
    ctx.fillStyle = b.theme.dark ? "#56B4E9" : "#0072B2";
    ctx.globalAlpha = 0.35;
    ctx.beginPath();
    ctx.moveTo(left, bottom);
    for (let p = 0; p < columns.length && left + p <= endX; p++) ctx.lineTo(left + p, y(columns[p]));
    ctx.lineTo(Math.min(endX, left + columns.length), bottom);
    ctx.fill();
    ctx.globalAlpha = 1;
    ctx.strokeStyle = ctx.fillStyle;
    ctx.lineWidth = 1.2;
    ctx.beginPath();
    for (let p = 0; p < columns.length && left + p <= endX; p++) ctx[p ? "lineTo" : "moveTo"](left + p, y(columns[p]));
    ctx.stroke();
    ctx.lineWidth = 1;
    ctx.font = b.font(9.5);
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    let lastY = -Infinity;
    for (const [value, name] of [...lines].sort((p, q) => q[0] - p[0])) {
      if (value > most) continue;
      ctx.strokeStyle = b.theme.text;
      ctx.setLineDash(name === "target" ? [] : name.includes("÷") ? [2, 3] : [5, 3]);
      ctx.globalAlpha = 0.6;
      ctx.beginPath();
      ctx.moveTo(b.left, Math.round(y(value)) + 0.5);
      ctx.lineTo(b.right, Math.round(y(value)) + 0.5);
      ctx.stroke();
      ctx.globalAlpha = 1;
      ctx.setLineDash([]);
      if (y(value) - lastY < 10 * b.scale) continue;
      lastY = y(value);
      ctx.fillStyle = b.theme.soft;
      ctx.fillText(`${name} ${rateText(value)}`, b.right + 8, Math.min(Math.max(lastY, top + 4), bottom - 3));
    }
    ctx.textAlign = "right";
    ctx.fillStyle = b.theme.soft;
    ctx.fillText(rateText(most / 1.15).replace("/s", ""), b.left - 6, top + 6); // the unit is on the right
    ctx.fillText("0", b.left - 6, bottom - 3);
    ctx.textAlign = "left";
    ctx.fillText(`busiest segment, ${facts().rate_unit ?? "events/s"}`, b.right + 8, bottom + 12 * b.scale);
  }

  function paint(ctx, b) {
    const l = layout(b);
    if (!b.clock.ticking || !store.tables.segments.n) {
      paintAxisUp(ctx, b, l.map);
      return;
    }
    const t = upTo((b.now - origin()) / 1000);
    state.t = t;
    const list = visible(b);
    state.shown = list.length;
    paintAxisUp(ctx, b, l.map);
    ctx.save();
    ctx.beginPath();
    ctx.rect(b.left, l.map.top - 1, b.right - b.left + 1, l.map.bottom - l.map.top + 2);
    ctx.clip();
    paintCrowd(ctx, b, l.map, t);
    (list.length > ONE_BY_ONE ? paintMany : paintSegments)(ctx, b, l.map, list, t);
    if (colour() === "rate" && list.length <= HEAT_MAX) paintHeat(ctx, b, l.map, list, t);
    if (colour() === "owner" && store.tables.owners.n && list.length <= HEAT_MAX) paintOwners(ctx, b, l.map, list, t);
    paintTruncated(ctx, b, l.map, list, t);
    if (list.length <= 4000) paintEdges(ctx, b, l.map, list, t);
    if (list.length <= 1500) paintLabels(ctx, b, l.map, list, t);
    paintSelection(ctx, b, l.map, t, list);
    paintCut(ctx, b, l.map);
    paintKey(ctx, b, l.map, t);
    ctx.restore();
    paintGutter(ctx, b, l.map, list, t);
    paintLane(ctx, b, l, t);
    paintStrip(ctx, b, l, list, t);
  }

  const markOf = (i) => ({
    kind: "segment", key: keyOf(i), number: store.tables.names.col.number[i], stream: facts().stream, time: Math.max(ms(seg().start[i]), origin()),
  });

  function pick(x, y, b) {
    const l = layout(b);
    const t = (b.now - origin()) / 1000;
    if (y >= l.lane.top && y <= l.strip.bottom) {
      const near = scales().map((s, k) => [Math.abs(b.x(ms(s[0])) - x), k]).filter(([d, k]) => d < 6 && scales()[k][0] <= t);
      if (near.length) {
        const k = near.sort((p, q) => p[0] - q[0])[0][1];
        return { kind: "scale", key: `scale ${k}`, scale: k, stream: facts().stream, time: ms(scales()[k][0]) };
      }
      return null;
    }
    if (x < b.left || y < l.map.top || y > l.map.bottom) return null;
    const key = (l.map.bottom - y) / (l.map.bottom - l.map.top);
    const at = Math.min(t, ((x > b.right ? b.now : b.time(x)) - origin()) / 1000);
    const { start, end, low, high } = seg();
    for (let i = store.tables.segments.n - 1; i >= 0; i--)
      if (start[i] <= at && (end[i] > at || end[i] === at) && key > low[i] && key <= high[i]) return markOf(i);
    return null;
  }

  function causeOf(i) {
    const t = seg().start[i];
    const found = scales().find((s) => s[5].includes(i) && Math.abs(s[0] - t) < 0.01) ?? scales().find((s) => s[5].includes(i));
    return found ? `${esc(found[1])} <span class="soft">(${esc(found[2])}${found[3] ? `: ${esc(found[3])}` : ""})</span>` : "";
  }

  function tip(mark) {
    if (mark.stream !== facts().stream) return null;
    if (mark.kind === "scale") {
      const s = scales()[mark.scale];
      return s && `<b>${esc(s[1])}</b><br>${seconds(1000 * s[0])} ${wallTime(mark.time)}<br><span class="soft">${esc(s[2])}${s[3] ? `: ${esc(s[3])}` : ""}</span>`;
    }
    const i = indexOf(mark);
    if (i < 0 || i >= store.tables.segments.n) return null;
    const { start, end, low, high } = seg();
    const { flags } = store.tables.names.col;
    const open = isOpen(i, state.t);
    const r = sampleAt(i, state.t);
    const { unread, stored } = store.tables.rates.col;
    const about = flags[i] & INEXACT ? "about " : "";
    const names = (list) => list.map(label).join(", ") || "none";
    const rows = [
      ["owns", `(${low[i].toPrecision(6)}, ${high[i].toPrecision(6)}]${low[i] === 0 ? " and 0" : ""}`],
      ["opened", `${about}${seconds(1000 * start[i])} ${wallTime(ms(start[i]))}`],
      ["sealed", open ? "no, it is active" : `${seconds(1000 * end[i])} ${wallTime(ms(end[i]))}`],
      ["after", names(before(i))],
      ["before", names(after(i))],
    ];
    if (r >= 0 && open) rows.push(["rate", `${rateText(rateColumn()[r])}${facts().events_how ? "*" : ""}`]);
    if (r >= 0) rows.push(["stored", bytes(stored[r])]);
    if (r >= 0 && !Number.isNaN(unread[r])) rows.push(["unread", bytes(unread[r])]);
    const owner = open ? ownerWords(i, state.t) : "";
    if (owner) rows.push(["owner", esc(owner)]);
    const cause = causeOf(i);
    if (cause) rows.push(["cause", cause]);
    const table = rows.map(([k, v]) => `<tr><td class="soft">${k}</td><td>${v}</td></tr>`).join("");
    const how = facts().events_how && open ? `<span class="soft">* ${esc(facts().events_how)}</span>` : "";
    return `<b>${esc(facts().stream)} ${label(i)}</b><table>${table}</table>${how}`;
  }

  function say(mark) {
    if (mark.kind === "scale") return `${seconds(mark.time - origin())}: ${scales()[mark.scale][1]}`;
    const i = indexOf(mark);
    if (i < 0) return "";
    const r = sampleAt(i, state.t);
    const rate = r >= 0 && isOpen(i, state.t) ? `, ${rateText(rateColumn()[r])}` : "";
    const owner = isOpen(i, state.t) ? ownerWords(i, state.t) : "";
    return `segment ${label(i)}, keys ${seg().low[i].toPrecision(4)} to ${seg().high[i].toPrecision(4)}, ${isOpen(i, state.t) ? "active" : "sealed"}${rate}${owner ? `, ${owner}` : ""}`;
  }

  function ownerLegend(theme) {
    const readers = (facts().readers ?? []).map((name, k) => [PALETTE[k % PALETTE.length], name, k >= PALETTE.length ? "stripe" : ""]);
    const waiting = facts().has_group ? [[theme.text, "waits for predecessors", "dots"]] : [];
    return [[theme.soft, "nobody", "hatch"], ...waiting, [theme.none, "sealed: paler, closed", "pale"], ...readers];
  }

  function legend(theme) {
    const target = facts().thresholds?.find((x) => x[1] === "target")?.[0];
    const ramp = `linear-gradient(90deg, ${theme.cold}, ${theme.hot})`;
    const most = target ? `2 × target (${rateText(2 * target)})` : rateText(rateMax());
    const states = [[theme.none, "active: open at the right", ""], [theme.none, "sealed: paler, closed", "pale"]];
    if (colour() === "owner") return ownerLegend(theme);
    if (colour() === "unread") return [[ramp, `0 to ${bytes(state.unreadPeak ?? 0)} unread`, "ramp"], ...states];
    return [[ramp, `0 to ${most}`, "ramp"], ...states];
  }

  return {
    height: (s) => (MAP + LANE + STRIP + 52) * s,
    paint,
    pick,
    tip,
    say,
    legend,
    leftOut: () => facts().left_out || "",
    isEmpty: () => !store.tables.segments.n,
    get empty() {
      return facts().empty ?? ["No segments yet.", 'stream.write("hello", "a key")'];
    },
    marks: (b) => visible(b).filter((i) => isOpen(i, (b.now - origin()) / 1000)).sort((p, q) => seg().low[p] - seg().low[q]).map(markOf),
    events: () => [...new Set(scales().map((s) => ms(s[0])))],
    summary: () => {
      const t = state.t ?? 0;
      let open = 0;
      for (let i = 0; i < store.tables.segments.n; i++) open += seg().start[i] <= t && seg().end[i] > t ? 1 : 0;
      const scaled = scales().filter((s) => s[0] <= t).length;
      return `${facts().stream || "no stream"}: ${open} active segments, scaled ${scaled} times`;
    },
    controls({ parent, element, on, redraw, call }) {
      const choose = element(parent, "label", "");
      choose.textContent = "colour ";
      const select = element(choose, "select", "plab-colour", { "aria-label": "colour by" });
      for (const way of ["rate", "owner", "unread"]) element(select, "option", "", { value: way }).textContent = way;
      let typed = false;
      const sync = () => {
        select.value = colour();
        if (!typed) state.key = input.value = facts().key ?? "";
        for (const option of select.options) {
          const lacks = option.value !== "rate" && !(facts().knows ?? []).includes(option.value);
          option.disabled = lacks;
          option.title = lacks ? "nothing in this journal tells it" : "";
        }
      };
      on(select, "change", () => {
        state.colour = select.value;
        call(`SegmentMap(journal, colour="${select.value}")`);
        redraw();
      });
      const wrap = element(parent, "label", "");
      wrap.textContent = "key ";
      const input = element(wrap, "input", "plab-key", { type: "text", placeholder: "routing key", "aria-label": "routing key", spellcheck: "false" });
      on(input, "keydown", (e) => e.stopPropagation());
      on(input, "input", () => {
        typed = true;
        state.key = input.value;
        call(input.value ? `SegmentMap(journal, key=${JSON.stringify(input.value)})` : "");
        redraw();
      });
      store.listeners.add(sync);
      sync();
      return () => store.listeners.delete(sync);
    },
  };
}

export default () => widget({ makeStore: segmentStore, makeSpec: segmentSpec });
