// The colour of a segment: by its rate, its owner or its unread bytes.
import { mix, readerColour } from "../../page/drawing/colours.ts";
import { type Context, type Fill, hatch } from "../../page/drawing/patterns.ts";
import type { Box } from "../../page/drawing/scale.ts";
import type { Theme } from "../../page/drawing/theme.ts";
import { NOBODY, type SegmentModel, UNKNOWN, WAITS } from "../model.ts";
import { colouring, hottest, type State } from "../state.ts";

const HUES = 96;
const JUST_BEFORE = 1e-4; // s; a sealed segment has the colour of its last moment

/** Mixing is slow, and there are a hundred thousand segments: hues are kept by theme and step. */
const hues = new Map<number, string>();

export function hue(theme: Theme, rate: number, most: number): string {
  if (Number.isNaN(rate)) return theme.none;
  const step = Math.round(HUES * Math.min(1, rate / most));
  const key = theme.dark ? step : -1 - step;
  let made = hues.get(key);
  if (made === undefined) {
    made = mix(theme.cold, theme.hot, step / HUES);
    hues.set(key, made);
  }
  return made;
}

function ownerFill(ctx: Context, theme: Theme, owner: number): Fill {
  if (owner === UNKNOWN) return theme.none;
  if (owner === WAITS) return theme.ground;
  return owner === NOBODY ? hatch(ctx, theme.soft) : readerColour(owner - 1);
}

/** Return a function from segment to fill, for one drawing at a moment. */
export function fillsAt(ctx: Context, b: Box, model: SegmentModel, state: State, t: number): (i: number) => Fill {
  const { theme } = b;
  const { end } = model.seg;
  const way = colouring(model, state);
  if (way === "owner") return (i) => ownerFill(ctx, theme, model.ownerAt(i, Math.min(t, end[i] - JUST_BEFORE)));
  const sampleAt = model.sampler();
  const sample = (i: number) => sampleAt(i, Math.min(t, end[i] - JUST_BEFORE));
  if (way === "unread") {
    const { unread } = model.rates;
    const most = Math.max(1, model.unreadPeak);
    return (i) => {
      const row = sample(i);
      return row < 0 ? theme.none : hue(theme, unread[row], most);
    };
  }
  const rates = model.rateColumn;
  const most = hottest(model, state);
  return (i) => {
    const row = sample(i);
    return row < 0 ? theme.none : hue(theme, rates[row], most);
  };
}
