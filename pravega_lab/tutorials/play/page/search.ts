// "Break it": a second worker tries seed after seed until one shows the planted bug.

import type { Run } from "./link.ts";
import { type Scenario, withBug } from "./model.ts";
import type { Python } from "./python.ts";

const SEEDS_MAX = 100;
const AT_ONCE = 2;

export class Search {
  #stopped = false;
  readonly #host: HTMLElement;
  readonly #bar: HTMLProgressElement;
  readonly #tried: HTMLElement;
  readonly #second: () => Python;

  constructor(
    host: HTMLElement,
    bar: HTMLProgressElement,
    tried: HTMLElement,
    stop: HTMLElement,
    second: () => Python,
  ) {
    this.#host = host;
    this.#bar = bar;
    this.#tried = tried;
    this.#second = second;
    stop.addEventListener("click", () => {
      this.#stopped = true;
    });
  }

  /** Return the run of the first seed that shows the bug, or null. Without a bug the first one of the scenario counts. */
  async run(run: Run, scenario: Scenario): Promise<Run | null> {
    if (!this.#host.hidden || !scenario.bugs.length) return null;
    const planted = run.bug ? run : withBug(run, scenario, scenario.bugs[0].name);
    this.#stopped = false;
    this.#host.hidden = false;
    try {
      for (let tried = 0; tried < SEEDS_MAX && !this.#stopped; tried += AT_ONCE) {
        this.#bar.value = tried;
        this.#tried.textContent = `${tried} of ${SEEDS_MAX}`;
        const asked = { do: "search", run: { ...planted, seed: tried }, seeds: AT_ONCE };
        const { found } = await this.#second().ask<{ found: number | null }>(asked);
        if (found !== null) return { ...planted, seed: found, at: null };
      }
      if (!this.#stopped) throw new Error(`None of ${SEEDS_MAX} seeds shows ${planted.bug.replaceAll("-", " ")}.`);
      return null;
    } finally {
      this.#host.hidden = true;
    }
  }
}
