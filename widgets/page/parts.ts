// The elements around a view's canvas, from top to bottom. Their classes are in style.css.

import { JUMPS } from "./data/moments.ts";
import { element } from "./elements.ts";

const SPEEDS = [0.25, 1, 4, 16, 64];

export type Parts = ReturnType<typeof partsOf>;

export function partsOf(parent: Element, scale: number) {
  const root = element(parent, "div", "plab", { style: `--plab-scale:${scale}` });
  const head = headOf(root);
  const legend = element(root, "div", "plab-legend", { role: "list", "aria-label": "legend" });
  const body = element(root, "div", "plab-body"); // for what is better read than drawn
  const stage = element(root, "div", "plab-stage");
  const canvas = element(stage, "canvas", "plab-canvas", { tabindex: "0", role: "img", "aria-label": "not drawn yet" });
  const empty = element(stage, "div", "plab-empty");
  const tip = element(stage, "div", "plab-tip", { role: "tooltip" });
  const folded = element(root, "div", "plab-folded"); // the columns of a view that is too narrow for them
  const bar = barOf(root);
  const foot = element(root, "div", "plab-foot");
  const call = element(foot, "code", "plab-call");
  const keys = element(root, "div", "plab-help", { hidden: "" });
  const aloud = element(root, "div", "plab-aloud", { "aria-live": "polite" });
  const trouble = element(root, "div", "plab-trouble", { role: "status" }); // a tooltip of the header shows it
  return { root, ...head, legend, body, stage, canvas, empty, tip, folded, ...bar, call, keys, aloud, trouble };
}

function headOf(root: Element) {
  const head = element(root, "div", "plab-head");
  const title = element(head, "span", "plab-title");
  const badge = element(head, "span", "plab-badge");
  const time = element(head, "span", "plab-time");
  const gap = element(head, "span", "plab-gap", { role: "status" });
  const controls = element(head, "span", "plab-controls");
  return { title, badge, time, gap, controls };
}

function barOf(root: Element) {
  const bar = element(root, "div", "plab-bar");
  const button = (cls: string, text: string, says: string) =>
    element(bar, "button", cls, { type: "button", title: says, "aria-label": says }, text);
  const play = button("plab-play", "▶", "play");
  const stepBack = button("plab-step", "◂", "back to the last observation (Shift ←)");
  const stepOn = button("plab-step", "▸", "on to the next observation (Shift →)");
  const rail = element(bar, "span", "plab-rail");
  const moments = element(rail, "canvas", "plab-moments", { "aria-hidden": "true" });
  const slider = element(rail, "input", "plab-slider", { type: "range", min: 0, max: 1000, "aria-label": "time" });
  const newest = element(bar, "button", "plab-newest", { type: "button", title: "follow the newest" });
  const jumpBack = button("plab-jump", "|◂", "to the one before (,)");
  const jumpTo = element(bar, "select", "plab-jump-kind", { "aria-label": "jump to", title: "what to jump to" });
  for (const kind of Object.keys(JUMPS))
    element(jumpTo, "option", "", { value: kind }, kind === "any" ? "any event" : kind);
  const jumpOn = button("plab-jump", "▸|", "to the next one (.)");
  const fork = button("plab-fork", "fork", "fork from the last checkpoint before this moment (F)");
  const speed = element(bar, "select", "plab-speed", { "aria-label": "speed", title: "speed" });
  for (const s of SPEEDS) element(speed, "option", "", { value: s }, `${s}×`);
  speed.value = "1";
  const help = button("plab-help-button", "?", "keys");
  return { bar, play, stepBack, stepOn, moments, slider, newest, jumpBack, jumpTo, jumpOn, fork, speed, help };
}
