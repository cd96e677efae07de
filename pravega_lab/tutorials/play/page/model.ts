// What the page knows: the scenarios that Python described when the page was built, and answers of the worker.

import type { Run } from "./link.ts";

interface Bug {
  name: string;
  what: string;
  /** The switches with which the bug shows. */
  switches: Record<string, string>;
}

interface Verb {
  name: string;
  label: string;
  /** The name of the list in `Answer.targets` that the act chooses from, or "". */
  targets: string;
  /** The default of a number in ms that follows, or null. */
  value: number | null;
}

export interface Scenario {
  name: string;
  title: string;
  words: string;
  acts: string[];
  switches: { name: string; label: string; options: [value: string, words: string][] }[];
  bugs: Bug[];
  verbs: Verb[];
}

export interface Lesson {
  name: string;
  title: string;
  steps: { words: string; ask: string; link: string; right: string; then: string }[];
}

export interface Catalogue {
  scenarios: Scenario[];
  lessons: Lesson[];
  outcomes: Record<string, string>;
}

export interface SentView {
  module: string;
  settings: Record<string, unknown>;
  payload: { kind: string; buffers: string[] } & Record<string, unknown>;
}

export type Standing = "exact" | "wrong" | "open";

/** The answer to "run" (messages.py). */
export interface Answer {
  link: string;
  acts: string[];
  views: SentView[];
  drawings: { svg: string; words: string[] }[];
  standing: Standing;
  verdict: string;
  first: string;
  problems: string[];
  targets: Record<string, string[]>;
  zero_ms: number;
  steps: number;
  /** How long the run took in the worker. */
  seconds: number;
  virtual_s: number;
  rule: { where: string; code: string; wrong: string };
}

/** Return the run of a scenario as it begins. */
export const fresh = (scenario: Scenario, seed = 3): Run => ({
  scenario: scenario.name,
  seed,
  bug: "",
  switches: {},
  acts: null,
  at: null,
});

/** Return a run with one more act, in order of time. */
export function withAct(run: Run, acts: readonly string[], act: string): Run {
  return { ...run, acts: [...acts, act].sort((a, b) => secondOf(a) - secondOf(b)) };
}

/** Return a run without its n-th act. */
export const withoutAct = (run: Run, acts: readonly string[], n: number): Run => ({
  ...run,
  acts: acts.filter((_, k) => k !== n),
});

export const secondOf = (act: string): number => Number.parseFloat(act);

/** Return a switch's values without those that are its defaults, so that links stay short. */
export function withSwitch(run: Run, scenario: Scenario, name: string, value: string): Run {
  const { [name]: _, ...others } = run.switches;
  const standard = scenario.switches.find((one) => one.name === name)?.options[0][0];
  return { ...run, switches: value === standard ? others : { ...others, [name]: value } };
}

/** Return a run with a planted bug, or without one, with the switches that show the bug. */
export function withBug(run: Run, scenario: Scenario, name: string): Run {
  const bug = scenario.bugs.find((one) => one.name === name);
  if (!bug) return { ...run, bug: "" };
  return Object.entries(bug.switches).reduce((made, [key, value]) => withSwitch(made, scenario, key, value), {
    ...run,
    bug: bug.name,
  });
}

/** Return what the page says of a run that is over: a line, and what follows from it. */
export function verdictWords(answer: Pick<Answer, "standing" | "verdict" | "first" | "problems">): [string, string] {
  const { standing, verdict, first, problems } = answer;
  if (standing === "exact") return ["Exact", "Everything arrived once and in order."];
  const said = verdict === "exact" ? "Not at its end" : verdict.charAt(0).toUpperCase() + verdict.slice(1);
  const sentence = first ? `${first.charAt(0).toUpperCase()}${first.slice(1)}.` : "";
  return [said, [...problems.slice(0, 2), sentence].filter(Boolean).join(" ")];
}

/** Return a name for a run in the list of runs: what is different about it. */
export function nameOf(run: Run, scenario: Scenario): string {
  const extra = (run.acts ?? []).filter((act) => !scenario.acts.includes(act));
  const parts = [`seed ${run.seed}`, run.bug, ...Object.values(run.switches), ...extra.slice(0, 2)];
  if (extra.length > 2) parts.push(`+${extra.length - 2}`);
  return parts.filter(Boolean).join(" · ");
}
