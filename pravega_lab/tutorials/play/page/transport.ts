// Time on the page: play, pause, step, a slider and the moment in words, on the clock of the views.

import { element } from "../../../../widgets/page/elements.ts";
import type { Clock } from "../../../../widgets/page/time/clock.ts";

const PLAYED_IN_S = 25; // a whole run at the default speed
const SPEEDS = [0.05, 0.1, 0.25, 0.5, 1, 2, 5];

export class Transport {
  /** Whether a person, or the page itself, has left the beginning. */
  moved = false;
  #clock: Clock | undefined;
  #zero = 0;
  readonly #host: HTMLElement;
  readonly #play: HTMLButtonElement;
  readonly #slider: HTMLInputElement;
  readonly #time: HTMLElement;
  readonly #so_far: HTMLElement;
  readonly #speed: HTMLSelectElement;
  readonly #changed: () => void;
  readonly #heard = () => this.#show();

  constructor(host: HTMLElement, changed: () => void) {
    this.#host = host;
    this.#changed = changed;
    const button = (id: string, text: string, name: string, act: () => void): HTMLButtonElement => {
      const made = element(host, "button", "", { type: "button", id, "aria-label": name, title: name }, text);
      made.addEventListener("click", act);
      return made;
    };
    button("begin", "⇤", "to the beginning", () => this.seek(0));
    button("back", "◂", "one step back (,)", () => this.step(-1));
    this.#play = button("play", "▶", "play (space)", () => this.toggle());
    button("step", "▸", "one step forward (.)", () => this.step(1));
    this.#slider = element(host, "input", "", {
      type: "range",
      min: 0,
      max: 1000,
      step: 1,
      id: "moment",
      "aria-label": "moment",
    });
    this.#slider.addEventListener("input", () => this.#toShare(Number(this.#slider.value) / 1000));
    this.#time = element(host, "output", "", { id: "now", for: "moment" });
    this.#speed = element(host, "select", "", { id: "speed", "aria-label": "speed" });
    for (const speed of SPEEDS) element(this.#speed, "option", "", { value: speed }, `× ${speed}`);
    this.#speed.addEventListener("change", () => this.#clock?.set({ speed: Number(this.#speed.value) }));
    this.#so_far = element(host, "span", "so-far", { id: "so-far" });
  }

  /** Take the clock of a new run, and show a moment of it; without one, play it from its beginning. */
  begin(clock: Clock | undefined, zero: number, at: number | null): void {
    this.#clock = clock;
    this.#zero = zero;
    this.moved = clock !== undefined && at !== null;
    this.#host.hidden = !clock;
    if (!clock) return;
    clock.listeners.add(this.#heard);
    const wanted = (clock.newest - clock.start) / 1000 / PLAYED_IN_S;
    const speed = SPEEDS.find((one) => one >= wanted) ?? 5;
    this.#speed.value = String(speed);
    clock.set({ speed });
    if (at !== null) this.seek(at);
    else if (matchMedia("(prefers-reduced-motion: reduce)").matches) clock.stay(clock.newest);
    else {
      clock.stay(clock.start);
      clock.play(true);
    }
  }

  get playing(): boolean {
    return this.#clock?.playing ?? false;
  }

  /** The moment that is shown, in ms of the journals. */
  get at(): number {
    return this.#clock ? this.#clock.now : 0;
  }

  /** The moment that is shown, in virtual seconds. */
  get second(): number {
    return Math.max(0, Math.round(this.at - this.#zero) / 1000);
  }

  seek(second: number): void {
    this.moved = true;
    this.#clock?.stay(this.#zero + 1000 * second);
  }

  step(direction: number): void {
    this.moved = true;
    this.#clock?.step(direction);
  }

  pause(): void {
    if (this.playing) this.#clock?.play(false);
  }

  toggle(): void {
    this.moved = true;
    this.#clock?.play(!this.playing);
  }

  /** Show the verdict as of the moment that is shown. */
  say(verdict: string): void {
    this.#so_far.textContent = verdict && `so far: ${verdict}`;
  }

  /** Handle a key that no control and no view has taken. */
  key(event: KeyboardEvent): void {
    const at = event.target as HTMLElement;
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (at !== document.body && at.id !== "result") return;
    const acts: Record<string, () => void> = {
      " ": () => this.toggle(),
      ".": () => this.step(1),
      ",": () => this.step(-1),
    };
    const act = acts[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  #toShare(share: number): void {
    const clock = this.#clock;
    this.moved = true;
    if (clock) clock.stay(clock.start + share * (clock.newest - clock.start));
  }

  #show(): void {
    const clock = this.#clock;
    if (!clock?.ticking) return;
    const playing = clock.playing;
    this.#play.textContent = playing ? "❚❚" : "▶";
    this.#play.setAttribute("aria-label", playing ? "pause (space)" : "play (space)");
    const end = (clock.newest - this.#zero) / 1000;
    this.#time.textContent = `${this.second.toFixed(2)} s of ${end.toFixed(1)} s`;
    if (document.activeElement !== this.#slider || playing)
      this.#slider.value = String(Math.round((1000 * (clock.now - clock.start)) / (clock.newest - clock.start || 1)));
    this.#slider.setAttribute("aria-valuetext", this.#time.textContent);
    this.#changed();
  }
}
