// What the pointer finds, and the buttons for what is pinned: on a step that is past they fork there first.

import type { Mark } from "../page/data/marks.ts";
import { element } from "../page/elements.ts";
import type { Host } from "../page/spec.ts";
import { isInside } from "./layout.ts";
import { boxMark, heldMark, isChannel, isHeld, isTask, slotMark } from "./marks.ts";
import type { JobModel } from "./model.ts";
import type { State } from "./state.ts";

const DELAY_MS = 50;

export function pick(model: JobModel, state: State, x: number, y: number): Mark | null {
  const time = model.ms(state.t);
  const held = state.marks.find((m) => isInside(m, x, y));
  if (held) return heldMark(held, time);
  const box = state.boxes.find((one) => isInside(one, x, y));
  if (box) return boxMark(model, box, time);
  const slot = state.slots.find((one) => isInside(one, x, y));
  return slot ? slotMark(slot, time) : null;
}

export function marks(model: JobModel, state: State): Mark[] {
  const time = model.ms(state.t);
  return [
    ...state.boxes.map((box) => boxMark(model, box, time)),
    ...state.slots.map((slot) => slotMark(slot, time)),
    ...state.marks.map((held) => heldMark(held, time)),
  ];
}

/** Something that can be done to what is pinned. */
export interface Offer {
  words: string;
  name: string;
  args: (string | number)[];
}

export function offers(pin: Mark | null, delayMs: number): Offer[] {
  if (!pin) return [];
  if (isTask(pin))
    return [
      { words: "fail here", name: "fail", args: [pin.id] },
      { words: "kill its process", name: "kill", args: [pin.id] },
    ];
  if (!isHeld(pin) && !isChannel(pin)) return [];
  const delay = { words: "delay by", name: "delay", args: [pin.lane, delayMs] };
  return isHeld(pin) ? [{ words: "drop it", name: "drop", args: [pin.lane, pin.what] }, delay] : [delay];
}

/** Return the call of an offer, by the variable that acts. */
export function callOf({ name, args }: Offer, control: string, isPast: boolean): string {
  const done = (of: string) => `${of}.${name}(${args.map((v) => JSON.stringify(v)).join(", ")})`;
  return isPast ? `fork = ${control}.fork(); ${done("fork")}` : done(control);
}

export function controls(model: JobModel, state: State, { parent, clock, on, ask }: Host): () => void {
  const wrap = element(parent, "span", "plab-acts");
  const buttons = element(wrap, "span");
  const named = { "aria-label": "ms of delay", title: "ms of delay" };
  const input = element(wrap, "input", "plab-ms", { type: "number", min: 1, value: DELAY_MS, ...named });
  let shown = "";
  const addButton = (pin: Mark | null, { words, name }: Offer, control: string | undefined, isPast: boolean) => {
    const button = element(buttons, "button", `plab-act plab-act-${name}`, { type: "button" });
    const now = () => offers(pin, Number(input.value) || DELAY_MS).find((one) => one.name === name)!;
    button.textContent = isPast && control ? `fork and ${words}` : words;
    button.disabled = !control;
    button.title = control ? callOf(now(), control, isPast) : (model.facts.no_control ?? "");
    on(button, "click", () => {
      if (control) ask({ name, args: now().args }, callOf(now(), control, isPast));
    });
  };
  state.offer = ({ pin, at }) => {
    const { control, no_control } = model.facts;
    const isPast = at !== null;
    const now = JSON.stringify([pin?.key, isPast, control, no_control]);
    if (now === shown) return;
    shown = now;
    const made = offers(pin, DELAY_MS);
    buttons.replaceChildren();
    input.hidden = !made.some(({ name }) => name === "delay");
    for (const offer of made) addButton(pin, offer, control, isPast);
  };
  state.offer(clock);
  return () => {
    state.offer = null;
  };
}
