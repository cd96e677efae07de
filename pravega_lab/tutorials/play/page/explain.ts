// "Explain it": a second worker searches the fewest acts with which the run goes wrong, and the moment that decides.

import { element, fill, piece } from "../../../../widgets/page/elements.ts";
import { drawing } from "./drawing.ts";
import { fromLink, type Run, sameRun } from "./link.ts";
import type { Standing } from "./model.ts";
import type { Python } from "./python.ts";

const AT_ONCE = 2;
const STEPS = 100;

interface Found {
  runs: number;
  progress: number;
  is_over: boolean;
  said: string[];
  drawings: { svg: string; words: string[] }[];
  link: string;
  at_s: number | null;
}

interface Places {
  row: HTMLElement;
  bar: HTMLProgressElement;
  tried: HTMLElement;
  ask: HTMLButtonElement;
  stop: HTMLButtonElement;
  panel: HTMLElement;
}

export class Explain {
  #run: Run | null = null;
  #search = 0; // the number of the newest search; an older one ends
  #stopped = false;
  readonly #places: Places;
  readonly #second: () => Python;
  readonly #start: (run: Run) => unknown;
  readonly #refuse: (sentence: string) => void;

  constructor(places: Places, second: () => Python, start: (run: Run) => unknown, refuse: (sentence: string) => void) {
    this.#places = places;
    this.#second = second;
    this.#start = start;
    this.#refuse = refuse;
    places.ask.addEventListener("click", () => this.#explain());
    places.stop.addEventListener("click", () => {
      this.#stopped = true;
    });
  }

  /** Offer to explain the run that is shown, if it went wrong. What was said of another run goes away. */
  offer(run: Run, standing: Standing): void {
    const { row, panel } = this.#places;
    row.hidden = standing !== "wrong";
    if (this.#run && sameRun(this.#run, run)) return;
    this.#run = run;
    this.#search += 1;
    panel.hidden = true;
    this.#show(false);
  }

  async #explain(): Promise<void> {
    const run = this.#run;
    if (!run) return;
    const mine = ++this.#search;
    const { bar, tried } = this.#places;
    this.#stopped = false;
    this.#show(true);
    bar.value = 0;
    tried.textContent = "";
    try {
      for (;;) {
        const runs = this.#stopped ? 0 : AT_ONCE;
        const found = await this.#second().ask<Found>({ do: "explain", run: { ...run, at_s: null }, runs });
        if (mine !== this.#search) return;
        bar.value = Math.max(bar.value, Math.round(STEPS * found.progress));
        tried.textContent = `${found.runs} runs`;
        if (found.is_over) {
          this.#tell(found);
          return;
        }
      }
    } catch (error) {
      if (mine === this.#search) this.#refuse(String((error as Error).message));
    } finally {
      if (mine === this.#search) this.#show(false);
    }
  }

  /** Show the progress of a search, or the button that begins one. */
  #show(searching: boolean): void {
    const { ask, bar, tried, stop } = this.#places;
    ask.hidden = searching;
    for (const one of [bar.parentElement!, tried, stop]) one.hidden = !searching;
  }

  #tell(found: Found): void {
    const { panel } = this.#places;
    panel.replaceChildren();
    panel.hidden = false;
    element(panel, "h2", "", {}, "Why it went wrong");
    const said = element(panel, "ul");
    fill(
      said,
      [...found.said, `${found.runs} runs were tried.`].map((line) => piece("li", {}, line)),
    );
    for (const { svg, words } of found.drawings) panel.append(drawing(svg, words));
    const row = element(panel, "div", "row");
    const add = (id: string, text: string, run: Run) => {
      const button = element(row, "button", "", { type: "button", id }, text);
      button.addEventListener("click", () => this.#start(run));
    };
    const smallest = fromLink(found.link);
    if (smallest) add("smallest", "Show the smallest run", smallest);
    if (smallest && found.at_s !== null)
      add("decided", "Show the moment that decides", { ...smallest, at: found.at_s });
    panel.focus();
  }
}
