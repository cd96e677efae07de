// The page's links and its choices: what a link says comes back, and what a person chooses becomes a run.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fromLink, sameRun, toLink } from "../../../pravega_lab/tutorials/play/page/link.ts";
import {
  fresh,
  nameOf,
  type Scenario,
  verdictWords,
  withAct,
  withBug,
  withoutAct,
  withSwitch,
} from "../../../pravega_lab/tutorials/play/page/model.ts";

const links: string[] = JSON.parse(readFileSync(new URL("../../tutorials/play/links.json", import.meta.url), "utf8"));
const gap: Scenario = {
  name: "gap",
  title: "A gap",
  words: "",
  acts: ["2.5 split 0", "5.7 fail 0"],
  switches: [
    {
      name: "way",
      label: "way",
      options: [
        ["b1", "one"],
        ["a", "two"],
      ],
    },
  ],
  bugs: [{ name: "not-reset", what: "", switches: { way: "a" } }],
  verbs: [],
};

test("a link comes back", () => {
  for (const link of links) assert.equal(toLink(fromLink(`#${link}`)!), link);
});

test("a link without a scenario is none, and a bad number is left out", () => {
  assert.equal(fromLink("#"), null);
  assert.equal(fromLink("#seed=3"), null);
  assert.deepEqual(fromLink("#scenario=gap&seed=1e99&at=soon"), { ...fresh(gap, 0) });
});

test("the moment does not make another run", () => {
  const run = fresh(gap);
  assert.ok(sameRun(run, { ...run, at: 3 }));
  assert.ok(!sameRun(run, { ...run, seed: 4 }));
});

test("a default is not in the link, and a bug brings the switches that show it", () => {
  const chosen = withSwitch(fresh(gap), gap, "way", "a");
  assert.deepEqual(chosen.switches, { way: "a" });
  assert.deepEqual(withSwitch(chosen, gap, "way", "b1").switches, {});
  assert.equal(toLink(withBug(fresh(gap), gap, "not-reset")), "scenario=gap&seed=3&bug=not-reset&way=a");
});

test("an act is put where its moment is, and taken out again", () => {
  const run = withAct(fresh(gap), gap.acts, "3 fail 1");
  assert.deepEqual(run.acts, ["2.5 split 0", "3 fail 1", "5.7 fail 0"]);
  assert.equal(nameOf(run, gap), "seed 3 · 3 fail 1");
  assert.deepEqual(withoutAct(run, run.acts!, 0).acts, ["3 fail 1", "5.7 fail 0"]);
});

test("the verdict is a line and what follows from it", () => {
  const said = { first: "event 1 was lost", problems: [] };
  assert.deepEqual(verdictWords({ standing: "wrong", verdict: "3 lost", ...said }), ["3 lost", "Event 1 was lost."]);
  assert.equal(verdictWords({ standing: "exact", verdict: "exact", first: "", problems: [] })[0], "Exact");
  assert.equal(
    verdictWords({ standing: "wrong", verdict: "exact", first: "", problems: ["It waits."] })[1],
    "It waits.",
  );
});
