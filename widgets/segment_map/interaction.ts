// What the pointer finds, what the arrow keys select, and the view's own controls.

import type { Mark } from "../page/data/marks.ts";
import type { Box } from "../page/drawing/scale.ts";
import { element } from "../page/elements.ts";
import type { Host } from "../page/spec.ts";
import { layout, opened, visible } from "./layout.ts";
import type { SegmentModel } from "./model.ts";
import { type Colouring, colouring, type State } from "./state.ts";
import type { ScaleMark } from "./words.ts";

const NEAR = 6; // pixels
const SCALES_MAX = 100; // that the arrow keys select

export function pick(model: SegmentModel, x: number, y: number, b: Box): Mark | null {
  const { map, lane, strip } = layout(b);
  const t = model.s(b.now);
  if (y >= lane.top && y <= strip.bottom) return scaleNear(model, x, b, t);
  if (x < b.left || y < map.top || y > map.bottom) return null;
  const key = (map.bottom - y) / (map.bottom - map.top);
  const at = Math.min(t, model.s(x > b.right ? b.now : b.time(x)));
  const { start, end, low, high } = model.seg;
  for (let i = model.n - 1; i >= 0; i--)
    if (start[i] <= at && end[i] >= at && key > low[i] && key <= high[i]) return model.markOf(i);
  return null;
}

function scaleNear(model: SegmentModel, x: number, b: Box, t: number): ScaleMark | null {
  const distance = (k: number) => Math.abs(b.x(model.ms(model.scales[k][0])) - x);
  const near = [...model.scales.keys()].filter((k) => distance(k) < NEAR && model.scales[k][0] <= t);
  if (!near.length) return null;
  return scaleMark(
    model,
    near.reduce((p, q) => (distance(q) < distance(p) ? q : p)),
  );
}

/** Return the active segments on the screen, from the lowest key up, and then the scales with their causes. */
export function marks(model: SegmentModel, b: Box): Mark[] {
  const t = model.s(b.now);
  const open = [...opened(model, visible(model, b), t)];
  const segments = open.sort((p, q) => model.seg.low[p] - model.seg.low[q]).map((i) => model.markOf(i));
  const scales = [...model.scales.keys()].filter((k) => model.scales[k][0] <= t).slice(-SCALES_MAX);
  return [...segments, ...scales.reverse().map((k) => scaleMark(model, k))];
}

function scaleMark(model: SegmentModel, scale: number): ScaleMark {
  const time = model.ms(model.scales[scale][0]);
  return { kind: "scale", key: `scale ${scale}`, scale, stream: model.facts.stream ?? "", time };
}

/** Add the choice of colours and the routing key. */
export function controls(model: SegmentModel, state: State, { parent, on, redraw, call }: Host): () => void {
  const choose = element(parent, "label", "", {}, "colour ");
  const select = element(choose, "select", "plab-colour", { "aria-label": "colour by" });
  for (const way of ["rate", "owner", "unread"]) element(select, "option", "", { value: way }, way);
  const wrap = element(parent, "label", "", {}, "key ");
  const named = { "aria-label": "routing key", placeholder: "routing key" };
  const input = element(wrap, "input", "plab-key", { type: "text", spellcheck: "false", ...named });
  let typed = false;
  const sync = () => {
    select.value = colouring(model, state);
    if (!typed) state.key = input.value = model.facts.key ?? "";
    for (const option of select.options) {
      const lacks = option.value !== "rate" && !model.knows(option.value);
      option.disabled = lacks;
      option.title = lacks ? "nothing in this journal tells it" : "";
    }
  };
  on(select, "change", () => {
    state.colour = select.value as Colouring;
    call(`SegmentMap(journal, colour="${select.value}")`);
    redraw();
  });
  on(input, "input", () => {
    typed = true;
    state.key = input.value;
    call(input.value ? `SegmentMap(journal, key=${JSON.stringify(input.value)})` : "");
    redraw();
  });
  model.store.listeners.add(sync);
  sync();
  return () => model.store.listeners.delete(sync);
}
