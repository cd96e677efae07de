// What happens in a run: a chip per act, and a row of controls that adds an act at the moment that is shown.

import { element } from "../../../../widgets/page/elements.ts";
import { labelled } from "./form.ts";
import type { Run } from "./link.ts";
import { type Answer, type Scenario, secondOf, withAct, withoutAct } from "./model.ts";

interface Ways {
  now(): number;
  seek(second: number): void;
  start(run: Run): unknown;
}

const LEAD_S = 0.3; // an act is shown from a little before it

export function showActs(
  story: HTMLElement,
  row: HTMLElement,
  scenario: Scenario,
  run: Run,
  answer: Answer,
  ways: Ways,
): void {
  story.replaceChildren();
  story.hidden = !scenario.verbs.length;
  element(story, "span", "label", {}, "What happens");
  answer.acts.forEach((act, n) => {
    const chip = element(story, "span", "chip");
    const text = `${secondOf(act)} s  ${act.slice(act.indexOf(" ") + 1).replaceAll("-", " ")}`;
    const to = element(chip, "button", "to", { type: "button", title: "go there" }, text);
    to.addEventListener("click", () => ways.seek(secondOf(act)));
    const drop = element(chip, "button", "drop", { type: "button", "aria-label": `without: ${text}` }, "×");
    drop.addEventListener("click", () => ways.start({ ...withoutAct(run, answer.acts, n), at: ways.now() }));
  });
  showVerbs(row, scenario, run, answer, ways);
}

function showVerbs(row: HTMLElement, scenario: Scenario, run: Run, answer: Answer, ways: Ways): void {
  row.replaceChildren();
  row.hidden = !scenario.verbs.length;
  if (row.hidden) return;
  const verbs = labelled(row, "At this moment", "select", { id: "verb" });
  for (const verb of scenario.verbs) element(verbs, "option", "", { value: verb.name }, verb.label);
  const target = element(row, "select", "", { id: "target", "aria-label": "whom" });
  const number = element(row, "input", "ms", { type: "number", min: 1, max: 60000, id: "ms", "aria-label": "ms" });
  const unit = element(row, "span", "", {}, "ms");
  const refresh = () => {
    const verb = scenario.verbs.find((one) => one.name === verbs.value) ?? scenario.verbs[0];
    const known = answer.targets[verb.targets] ?? [];
    target.replaceChildren();
    for (const name of known) element(target, "option", "", { value: name }, name);
    target.hidden = !verb.targets;
    number.hidden = unit.hidden = verb.value === null;
    number.value = String(verb.value ?? "");
  };
  verbs.addEventListener("change", refresh);
  refresh();
  const go = element(row, "button", "primary", { type: "button", id: "do" }, "Do it");
  go.addEventListener("click", () => {
    const verb = scenario.verbs.find((one) => one.name === verbs.value) ?? scenario.verbs[0];
    const words = [verb.name, verb.targets ? target.value : "", verb.value === null ? "" : number.value];
    const second = Math.round(1000 * ways.now()) / 1000;
    const act = [second, ...words.filter(Boolean)].join(" ");
    ways.start({ ...withAct(run, answer.acts, act), at: Math.max(0, Math.round(1000 * (second - LEAD_S)) / 1000) });
  });
}
