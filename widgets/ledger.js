// The ledger: a sentence, a table of counts, a row per fault, the first offending event; under them the counts
// over time. Words and sums come from the kernel; what is shown is what was counted by the clock's time.
import { PALETTE, Store, VERMILION, count, esc, seconds, upTo, wallTime, widget } from "./common.js";

// The same format stands in ledger.py.
const FORMATS = {
  counts: {
    format: "t:f written:u acknowledged:u read:u committed:u lost:u doubled:u out_of_order:u strange:u unknown:u in_flight:u late:u",
  },
};
const NOT_KNOWN = 0xffffffff;
const COLUMNS = ["written", "acknowledged", "read", "committed"];
const WRONGS = [["lost", "lost"], ["doubled", "doubled"], ["out_of_order", "out of order"], ["strange", "never written"]];
const APART = [["late", "late"], ["in_flight", "in flight"], ["unknown", "not yet known"]];
const STRIP = 96;
const EMPTY = 190; // room for the code that fills it

function ledgerSpec(store) {
  const facts = () => store.facts;
  const origin = () => facts().origin_ms ?? 0;
  const ms = (s) => origin() + 1000 * s;
  const faults = () => store.lists.faults ?? []; // [t, text, kind, row of the counts before it]
  const offences = () => store.lists.offences ?? []; // see ledger.py
  const state = { t: 0, row: -1, refresh: () => {} };

  /** The newest count of a moment (s), or -1. */
  function rowAt(t) {
    const at = store.tables.counts.col.t;
    let [lo, hi] = [0, store.tables.counts.n];
    while (lo < hi) {
      const mid = (lo + hi) >> 1;
      if (at[mid] <= t) lo = mid + 1;
      else hi = mid;
    }
    return lo - 1;
  }

  const value = (name, row) => {
    const v = row < 0 ? NOT_KNOWN : store.tables.counts.col[name][row];
    return v === NOT_KNOWN ? null : v;
  };

  const nothing = () => !COLUMNS.some((name) => value(name, store.tables.counts.n - 1));

  /** As ledger_fold.sentence: exact only when everything is known and nothing is wrong. */
  function verdict(row) {
    if (row < 0 || !["written", "read", "committed"].some((name) => value(name, row))) return ["nothing counted yet", "open"];
    const parts = WRONGS.filter(([name]) => value(name, row)).map(([name, word]) => `${count(value(name, row))} ${word}`);
    const wrong = parts.length > 0;
    const judged = value("read", row) !== null || value("committed", row) !== null;
    if (value("late", row)) parts.push(`${count(value("late", row))} late`);
    if (value("lost", row) === null && judged) parts.push("what was lost is not known: nobody witnessed what was written");
    else if (value("unknown", row)) parts.push(`${count(value("unknown", row))} not yet known`);
    return parts.length ? [parts.join(", "), wrong ? "wrong" : "open"] : ["exact", "exact"];
  }

  /** As ledger_fold.effect. */
  function effect(k) {
    const was = faults()[k][3];
    const now = Math.min(faults()[k + 1]?.[3] ?? Infinity, rowAt(state.t));
    if (now < 0) return "nothing counted yet";
    const parts = WRONGS.map(([name, word]) => [(value(name, now) ?? 0) - (value(name, was) ?? 0), word]);
    const more = parts.filter(([n]) => n > 0).map(([n, word]) => `${count(n)} ${word}`);
    if (more.length) return more.join(", ");
    return value("unknown", now) ? `none so far; ${count(value("unknown", now))} not yet known` : "none";
  }

  const past = (list) => list.filter((item) => item[0] <= state.t);

  function tableHtml(row) {
    const lastFault = past(faults()).at(-1);
    const before = lastFault ? lastFault[3] : -1;
    const cell = (n) => `<td class="n">${n === null ? "unknown" : count(n)}</td>`;
    const line = (name, word, after) => {
      const [was, now] = [value(name, before), value(name, row)];
      const more = was === null || now === null ? null : now - was;
      const shown = before < 0 ? "<td class='n soft'>–</td>" : cell(was);
      const difference = more === null ? "<td class='n soft'>–</td>" : `<td class="n">${more > 0 ? "+" : ""}${count(more)}</td>`;
      return `<tr><th scope="row">${word}</th>${shown}${cell(now)}${difference}<td class="soft">${after}</td></tr>`;
    };
    const witness = (k) => esc(facts().witnesses?.[k] || "no witness: unknown");
    const judged = facts().judged ? `<span class="soft">judged at ${esc(facts().judged)}</span>` : "";
    return `<table class="plab-table"><caption>distinct events ${judged}</caption>
      <thead><tr><th></th><th scope="col" class="n">before the fault</th><th scope="col" class="n">now</th><th scope="col" class="n">difference</th><th scope="col">witness</th></tr></thead>
      <tbody>${COLUMNS.map((name, k) => line(name, name, witness(k))).join("")}</tbody>
      <tbody class="wrongs">${WRONGS.map(([name, word]) => line(name, word, "")).join("")}</tbody>
      <tbody>${APART.map(([name, word]) => line(name, word, "")).join("")}</tbody></table>`;
  }

  const moment = (t) => (t === null || t === undefined ? "not known" : `${seconds(1000 * t)} ${wallTime(ms(t))}`);
  const go = (t, word) => (t === null || t === undefined ? "" : ` <button type="button" data-go="${t}" title="take the clock there">${word}</button>`);

  function faultsHtml() {
    const rows = past(faults()).map(([t, text, kind], k) =>
      `<tr><td class="n">${seconds(1000 * t)}${go(t, "go")}</td><td>${esc(text)} <span class="soft">(${esc(kind)})</span></td><td>${esc(effect(k))}</td></tr>`);
    if (!rows.length) return "";
    return `<table class="plab-table"><caption>faults</caption><thead><tr><th scope="col">when</th><th scope="col">what</th>
      <th scope="col">effect</th></tr></thead><tbody>${rows.slice(-6).join("")}</tbody></table>
      ${rows.length > 6 ? `<div class="soft">the last 6 of ${rows.length} faults</div>` : ""}`;
  }

  function offenceHtml() {
    const told = past(offences());
    if (!told.length) return "";
    const [, what, column, event, key, written, writtenBy, read, readBy, first, firstBy] = told[0];
    const rows = [["event", esc(event)], ["routing key", esc(key || "none, or not known")]];
    rows.push(["written", `${moment(written)} ${esc(writtenBy)}${go(written, "go there")}`]);
    if (first !== null) rows.push(["first read", `${moment(first)} ${esc(firstBy)}${go(first, "go there")}`]);
    if (read !== null) rows.push([column === "committed" ? "committed" : first === null ? "read" : "read again", `${moment(read)} ${esc(readBy)}${go(read, "go there")}`]);
    const others = told.length > 1 ? `<span class="soft"> · ${told.length - 1} more told</span>` : "";
    return `<table class="plab-table"><caption>first offending event: ${esc(what)}${others}</caption><tbody>
      ${rows.map(([k, v]) => `<tr><th scope="row">${k}</th><td>${v}</td></tr>`).join("")}</tbody></table>`;
  }

  const LINES = [["written", PALETTE[0]], ["acknowledged", PALETTE[4]], ["read", PALETTE[1]], ["committed", PALETTE[2]]];

  function paintStrip(ctx, b) {
    const [top, bottom] = [20 * b.scale, b.height - 22 * b.scale];
    const { n, col } = store.tables.counts;
    const most = Math.max(1, ...LINES.map(([name]) => (state.row < 0 ? 0 : value(name, state.row) ?? 0)));
    const y = (v) => bottom - (v / most) * (bottom - top);
    ctx.fillStyle = b.theme.line;
    ctx.fillRect(b.left, bottom, b.right - b.left, 1);
    for (const [name, colour] of LINES) {
      if (value(name, state.row) === null) continue;
      ctx.strokeStyle = colour;
      ctx.lineWidth = name === "written" ? 3 : 1.6;
      ctx.beginPath();
      let [begun, lastY] = [false, bottom];
      for (let i = 0; i < n && col.t[i] <= state.t; i++) {
        const v = value(name, i);
        if (v === null) continue;
        const x = Math.max(b.left, Math.min(b.right, b.x(ms(col.t[i]))));
        if (!begun) ctx.moveTo(x, y(v));
        else {
          ctx.lineTo(x, lastY);
          ctx.lineTo(x, y(v));
        }
        [begun, lastY] = [true, y(v)];
      }
      if (begun) ctx.lineTo(Math.min(b.right, b.x(b.now)), lastY);
      ctx.stroke();
    }
    ctx.lineWidth = 1;
    ctx.font = b.font(10);
    ctx.textBaseline = "middle";
    ctx.fillStyle = b.theme.soft;
    ctx.textAlign = "right";
    ctx.fillText(count(most), b.left - 6, top + 5);
    ctx.fillText("0", b.left - 6, bottom - 3);
    ctx.textAlign = "left";
    ctx.fillText("distinct events", b.right + 8, top + 5);
    paintFaults(ctx, b, top, bottom);
  }

  function paintFaults(ctx, b, top, bottom) {
    ctx.strokeStyle = VERMILION;
    ctx.fillStyle = b.theme.text;
    ctx.lineWidth = 2;
    let limit = b.right + 60;
    for (const [t, text] of past(faults()).toReversed()) {
      const x = b.x(ms(t));
      if (x < b.left || x > b.right) continue;
      ctx.beginPath();
      ctx.moveTo(x, top - 4);
      ctx.lineTo(x, bottom);
      ctx.stroke();
      const width = ctx.measureText(text).width;
      if (x + 4 + width > limit) continue;
      ctx.fillText(text, x + 4, top - 10);
      limit = x - 4;
    }
    ctx.lineWidth = 1;
  }

  const faultMark = (k) => ({ kind: "fault", key: `fault ${k}`, fault: k, ledger: facts().ledger, time: ms(faults()[k][0]) });
  const isOurs = (mark) => mark.kind === "fault" && mark.ledger === facts().ledger && faults()[mark.fault];

  return {
    height: (s) => (nothing() ? EMPTY : STRIP + 22) * s,
    paint(ctx, b) {
      state.t = b.clock.ticking ? upTo((b.now - origin()) / 1000) : 0;
      state.row = rowAt(state.t);
      if (store.tables.counts.n) paintStrip(ctx, b);
      state.refresh();
    },
    pick(x, y, b) {
      const near = past(faults()).map((f, k) => [Math.abs(b.x(ms(f[0])) - x), k]).filter(([d]) => d < 6);
      return near.length ? faultMark(near.sort((p, q) => p[0] - q[0])[0][1]) : null;
    },
    tip: (mark) => isOurs(mark) && `<b>${esc(faults()[mark.fault][1])}</b><br>${moment(faults()[mark.fault][0])}<br>effect: ${esc(effect(mark.fault))}`,
    say: (mark) => (isOurs(mark) ? `fault: ${faults()[mark.fault][1]}, effect: ${effect(mark.fault)}` : ""),
    legend: (theme) => {
      const lines = LINES.filter(([name]) => value(name, state.row) !== null).map(([name, colour]) => [colour, name, "line"]);
      return faults().length ? [...lines, [VERMILION, "fault", "rule"]] : lines.length ? lines : [[theme.soft, "nothing counted", "line"]];
    },
    isEmpty: nothing,
    get empty() {
      return facts().empty ?? ["Nothing counted yet.", "ledger = lab.ledger(stream)"];
    },
    marks: () => past(faults()).map((_, k) => faultMark(k)),
    events: () => [...faults(), ...offences()].map((item) => ms(item[0])),
    summary: () => `${facts().ledger || "ledger"}: ${verdict(state.row)[0]}`,
    body({ parent, element, on, clock, call }) {
      const says = element(parent, "div", "plab-verdict");
      const tables = element(parent, "div", "plab-tables");
      let shown = "";
      state.refresh = () => {
        const [text, kind] = verdict(state.row);
        const words = { exact: "✓", wrong: "✗", open: "?" };
        const html = `${tableHtml(state.row)}<div>${faultsHtml()}${offenceHtml()}</div>`;
        says.dataset.verdict = kind;
        if (says.textContent !== `${words[kind]} ${text}`) says.textContent = `${words[kind]} ${text}`;
        if (html !== shown) tables.innerHTML = shown = html;
        parent.style.display = nothing() ? "none" : "";
      };
      on(tables, "click", (e) => {
        const t = e.target.dataset?.go;
        if (t === undefined) return;
        clock.stay(ms(Number(t)));
        call(`board.clock.seek(${((ms(Number(t)) - clock.start) / 1000).toFixed(3)})`);
      });
      return () => {
        state.refresh = () => {};
      };
    },
  };
}

export default () => widget({ makeStore: () => new Store(FORMATS), makeSpec: ledgerSpec });
