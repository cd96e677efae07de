// A lesson: words, a prediction, the run that answers it, and what explains the outcome.

import { element } from "../../../../widgets/page/elements.ts";
import { fromLink, type Run } from "./link.ts";
import type { Lesson } from "./model.ts";

export class Lessons {
  #lesson: Lesson | null = null;
  #step = 0;
  readonly #bar: HTMLElement;
  readonly #panel: HTMLElement;
  readonly #all: Lesson[];
  readonly #outcomes: [name: string, words: string][];
  readonly #start: (run: Run) => Promise<unknown>;

  constructor(
    bar: HTMLElement,
    panel: HTMLElement,
    all: Lesson[],
    outcomes: Record<string, string>,
    start: (run: Run) => Promise<unknown>,
  ) {
    this.#bar = bar;
    this.#panel = panel;
    this.#all = all;
    this.#outcomes = Object.entries(outcomes);
    this.#start = start;
    this.#showBar();
  }

  /** Begin the lesson of a link, "#lesson=reader-groups", and return whether it names one. */
  open(hash: string): boolean {
    const name = new URLSearchParams(hash.replace(/^#/, "")).get("lesson");
    const lesson = this.#all.find((one) => one.name === name);
    if (lesson) this.#begin(lesson);
    return lesson !== undefined;
  }

  #showBar(): void {
    this.#bar.replaceChildren();
    element(this.#bar, "span", "label", {}, "Learn it in five minutes");
    for (const lesson of this.#all) {
      const pressed = String(lesson === this.#lesson);
      const button = element(this.#bar, "button", "run", { type: "button", "aria-pressed": pressed }, lesson.title);
      button.addEventListener("click", () => this.#begin(lesson));
    }
  }

  #begin(lesson: Lesson): void {
    this.#lesson = lesson;
    this.#step = 0;
    this.#showBar();
    this.#ask();
  }

  #end(): void {
    this.#lesson = null;
    this.#panel.hidden = true;
    delete document.body.dataset.lesson;
    this.#showBar();
  }

  /** Show a step, with the run hidden until a person has predicted its outcome. */
  #ask(): void {
    const lesson = this.#lesson!;
    const step = lesson.steps[this.#step];
    const panel = this.#panel;
    document.body.dataset.lesson = "asking";
    panel.hidden = false;
    panel.replaceChildren();
    element(panel, "h2", "", {}, `${lesson.title} · ${this.#step + 1} of ${lesson.steps.length}`);
    element(panel, "p", "", {}, step.words);
    element(panel, "p", "ask", { id: "ask" }, step.ask);
    const answers = element(panel, "div", "row", { role: "group", "aria-labelledby": "ask" });
    for (const [name, words] of this.#outcomes) {
      const button = element(answers, "button", "answer", { type: "button", "data-outcome": name }, words);
      button.addEventListener("click", () => this.#answer(name));
    }
    const leave = element(answers, "button", "leave", { type: "button" }, "Leave the lesson");
    leave.addEventListener("click", () => this.#end());
    panel.focus();
  }

  async #answer(name: string): Promise<void> {
    const lesson = this.#lesson!;
    const step = lesson.steps[this.#step];
    const words = (wanted: string) => this.#outcomes.find(([one]) => one === wanted)?.[1] ?? "";
    const answers = this.#panel.querySelector<HTMLElement>("[role=group]")!;
    answers.replaceChildren();
    const said = element(this.#panel, "p", "then", { role: "status" }, "The run is on its way …");
    document.body.dataset.lesson = "shown";
    await this.#start(fromLink(step.link)!);
    said.replaceChildren();
    said.dataset.right = String(name === step.right);
    element(said, "b", "", {}, name === step.right ? "As you said. " : "Not so. ");
    said.append(`${words(step.right)} ${step.then}`);
    const isLast = this.#step + 1 === lesson.steps.length;
    const next = element(answers, "button", "primary", { type: "button", id: "next" }, isLast ? "Done" : "Next");
    next.addEventListener("click", () => {
      this.#step += 1;
      if (isLast) this.#end();
      else this.#ask();
    });
    next.focus();
  }
}
