// The choices of a run: scenario, seed, planted bug and switches.

import { element } from "../../../../widgets/page/elements.ts";
import type { Run } from "./link.ts";
import { fresh, type Scenario, withBug, withSwitch } from "./model.ts";

type Start = (run: Run) => unknown;

export function showScenarios(host: HTMLElement, all: Scenario[], run: Run, choose: (one: Scenario) => void): void {
  const focused = host.contains(document.activeElement);
  host.replaceChildren();
  for (const one of all) {
    const label = element(host, "label", "scenario");
    const radio = element(label, "input", "", { type: "radio", name: "scenario", value: one.name });
    radio.checked = one.name === run.scenario;
    element(label, "span", "", {}, one.title);
    radio.addEventListener("change", () => choose(one));
    if (radio.checked) host.scrollLeft = Math.max(0, label.offsetLeft - host.offsetLeft - 40);
    if (radio.checked && focused) radio.focus();
  }
}

export function showForm(host: HTMLElement, scenario: Scenario, run: Run, start: Start): void {
  host.replaceChildren();
  const seed = labelled(host, "Seed", "input", {
    type: "number",
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    step: 1,
    id: "seed",
  });
  seed.value = String(run.seed);
  seed.addEventListener("change", () =>
    start({ ...run, seed: Math.max(0, Math.floor(Number(seed.value)) || 0), at: null }),
  );
  for (const one of scenario.switches) {
    const select = labelled(host, one.label, "select", { id: `switch-${one.name}` });
    for (const [value, words] of one.options) element(select, "option", "", { value }, words);
    select.value = run.switches[one.name] ?? one.options[0][0];
    select.addEventListener("change", () => start({ ...withSwitch(run, scenario, one.name, select.value), at: null }));
  }
  const bugs = labelled(host, "Planted bug", "select", { id: "bug" });
  element(bugs, "option", "", { value: "" }, "none");
  for (const bug of scenario.bugs) element(bugs, "option", "", { value: bug.name }, bug.name.replaceAll("-", " "));
  bugs.value = run.bug;
  bugs.addEventListener("change", () => start({ ...withBug(run, scenario, bugs.value), at: null }));
}

/** Add the buttons below the form. */
export function chooseBar(host: HTMLElement, scenario: Scenario, run: Run, start: Start, breakIt: () => unknown): void {
  const add = (id: string, text: string, title: string, act: () => unknown) => {
    const button = element(host, "button", "", { type: "button", id, title }, text);
    button.addEventListener("click", act);
  };
  add("next-seed", "Another seed", "the same story with other chances", () =>
    start({ ...run, seed: run.seed + 1, at: null }),
  );
  add("break", "Break it", "search a seed that shows the planted bug", breakIt);
  add("reset", "From the top", "the story as it was", () => start(fresh(scenario)));
}

export function labelled<T extends "input" | "select">(
  host: HTMLElement,
  text: string,
  tag: T,
  attributes: Record<string, string | number>,
): HTMLElementTagNameMap[T] {
  const label = element(host, "label", "field");
  element(label, "span", "", {}, text);
  return element(label, tag, "", attributes);
}
