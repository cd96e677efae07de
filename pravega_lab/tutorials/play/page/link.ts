// A run of the page and the text of its link, after the "#" of the address; spec.py reads and writes the same text.

export interface Run {
  scenario: string;
  seed: number;
  bug: string;
  switches: Record<string, string>;
  /** "13 kill eva", in order of time; null stands for the acts of the scenario. */
  acts: string[] | null;
  /** The moment that is shown, in virtual seconds; null shows the run from its beginning. */
  at: number | null;
}

const OWN = ["scenario", "seed", "bug", "act", "at"];

export function toLink(run: Run): string {
  const pairs = new URLSearchParams({ scenario: run.scenario, seed: String(run.seed) });
  if (run.bug) pairs.append("bug", run.bug);
  for (const name of Object.keys(run.switches).sort()) pairs.append(name, run.switches[name]);
  if (run.acts) for (const act of run.acts.length ? run.acts : [""]) pairs.append("act", act);
  if (run.at !== null) pairs.append("at", String(run.at));
  return pairs.toString();
}

/** Return the run of a link, or null where it names no scenario. Python judges the rest. */
export function fromLink(text: string): Run | null {
  const pairs = new URLSearchParams(text.replace(/^#/, ""));
  const scenario = pairs.get("scenario");
  if (!scenario) return null;
  const acts = pairs.getAll("act");
  const seed = Number(pairs.get("seed") ?? 0);
  const at = Number.parseFloat(pairs.get("at") ?? "");
  return {
    scenario,
    seed: Number.isSafeInteger(seed) && seed >= 0 ? seed : 0,
    bug: pairs.get("bug") ?? "",
    switches: Object.fromEntries([...pairs].filter(([name]) => !OWN.includes(name))),
    acts: acts.length ? acts.filter(Boolean) : null,
    at: Number.isFinite(at) ? at : null,
  };
}

/** Return whether two links are of one run, whatever moment they show. */
export const sameRun = (a: Run, b: Run): boolean => toLink({ ...a, at: null }) === toLink({ ...b, at: null });
