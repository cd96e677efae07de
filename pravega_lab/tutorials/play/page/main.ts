// The page: it ties the form, the worker, the views and the address together.

import { element, fill, piece } from "../../../../widgets/page/elements.ts";
import { drawing } from "./drawing.ts";
import { Explain } from "./explain.ts";
import { chooseBar, showForm, showScenarios } from "./form.ts";
import { Lessons } from "./lesson.ts";
import { fromLink, type Run, sameRun, toLink } from "./link.ts";
import { type Answer, type Catalogue, fresh, nameOf, type Scenario, verdictWords } from "./model.ts";
import { Python } from "./python.ts";
import { addReport } from "./report.ts";
import { Search } from "./search.ts";
import { showActs } from "./story.ts";
import { Transport } from "./transport.ts";
import { clockOfPage, drawViews } from "./views.ts";

const SAY_EVERY_MS = 250;
const get = <T extends HTMLElement = HTMLElement>(id: string): T => document.getElementById(id) as T;

const { scenarios, lessons, outcomes } = (await (await fetch("./catalogue.json")).json()) as Catalogue;
const scenarioOf = (run: Run): Scenario => scenarios.find((one) => one.name === run.scenario) ?? scenarios[0];

let run: Run = fromLink(location.hash) ?? fresh(scenarios[0]);
let answer: Answer | null = null;
let closeViews = (): void => {};
let asking = 0; // the number of the newest run that was asked for
const runs: Run[] = [];

const python = new Python((stage, error) => {
  get("status").dataset.stage = stage;
  get("status-words").textContent = error ?? (stage === "ready" ? "Python is ready, in this page" : `${stage} …`);
});
const transport = new Transport(get("transport"), () => seen());
let searcher: Python | null = null; // a second worker, so that the page answers while it searches
const second = (): Python => {
  searcher ??= new Python();
  return searcher;
};
const search = new Search(get("searching"), get<HTMLProgressElement>("progress"), get("tried"), get("stop"), second);
const explain = new Explain(
  {
    row: get("why"),
    bar: get<HTMLProgressElement>("explaining"),
    tried: get("explain-tried"),
    ask: get<HTMLButtonElement>("explain"),
    stop: get<HTMLButtonElement>("explain-stop"),
    panel: get("explained"),
  },
  second,
  (next) => start(next),
  (sentence) => refuse(sentence),
);

/** Show the choices of a run, before it has run. */
function showChoices(): void {
  const scenario = scenarioOf(run);
  showScenarios(get("scenarios"), scenarios, run, (chosen) => start(fresh(chosen)));
  get("words").textContent = scenario.words;
  showForm(get("form"), scenario, run, start);
  chooseBar(get("form"), scenario, run, start, () => breakIt());
  const bug = scenario.bugs.find((one) => one.name === run.bug);
  get("bug-words").hidden = !bug;
  get("bug-words").textContent = bug ? `Planted in this run: ${bug.what}` : "";
}

/** Run it, and show it from the moment of its link, or from its beginning. */
async function start(next: Run, remember = true): Promise<void> {
  const mine = ++asking;
  run = next;
  showChoices();
  transport.pause();
  get("views").setAttribute("aria-busy", "true");
  get("result").dataset.state = "running";
  try {
    const found = await python.ask<Answer>({ do: "run", run: { ...next, at_s: next.at } });
    if (mine !== asking) return;
    closeViews();
    answer = found;
    get("error").hidden = true;
    if (remember) note(next);
    await show(found);
  } catch (error) {
    if (mine === asking) refuse(String((error as Error).message));
  }
}

function refuse(sentence: string): void {
  get("error").hidden = false;
  get("error").textContent = sentence;
  get("result").dataset.state = "refused";
  get("views").setAttribute("aria-busy", "false");
}

function note(next: Run): void {
  if (!runs.some((known) => sameRun(known, next))) runs.push(next);
  if (location.hash.slice(1) !== toLink(next)) history.pushState(null, "", `#${toLink(next)}`);
}

async function show(found: Answer): Promise<void> {
  const [line, words] = verdictWords(found);
  get("verdict").dataset.standing = found.standing;
  get("verdict-line").textContent = line;
  get("verdict-words").textContent = words;
  closeViews = await drawViews(get("views"), found.views);
  for (const { svg, words: said } of found.drawings) showDrawing(svg, said);
  explain.offer(run, found.standing);
  transport.begin(clockOfPage(), found.zero_ms, run.at);
  showRule(found.rule);
  showStory();
  showRuns();
  get("command").hidden = true;
  get("views").setAttribute("aria-busy", "false");
  get("result").dataset.state = "shown";
  get("status-words").textContent =
    `${found.steps.toLocaleString("en")} steps in ${found.seconds.toFixed(1)} s, in this page`;
  Object.assign(get("result").dataset, { steps: found.steps, seconds: found.seconds });
  get("result").dataset.shown = String(Number(get("result").dataset.shown ?? 0) + 1);
  await say();
}

function showDrawing(svg: string, words: string[]): void {
  const image = drawing(svg, words);
  get("views").append(image);
  const before = closeViews;
  closeViews = () => {
    before();
    image.remove();
  };
}

function showRule({ where, code, wrong }: Answer["rule"]): void {
  get("rule-where").textContent = where;
  const right = piece(
    "figure",
    {},
    piece("figcaption", {}, wrong ? "As it is" : ""),
    piece("pre", { tabindex: 0 }, code),
  );
  const planted = piece(
    "figure",
    { class: "planted" },
    piece("figcaption", {}, "Planted in this run"),
    piece("pre", { tabindex: 0 }, wrong),
  );
  fill(get("rule"), wrong ? [planted, right] : [right]);
}

function showStory(): void {
  if (!answer) return;
  showActs(get("story"), get("act"), scenarioOf(run), run, answer, {
    now: () => transport.second,
    seek: (second) => transport.seek(second),
    start,
  });
}

function showRuns(): void {
  const host = get("runs");
  host.replaceChildren();
  const mine = runs.filter((known) => known.scenario === run.scenario);
  host.hidden = mine.length < 2;
  element(host, "span", "label", {}, "Runs on this page");
  for (const known of mine.slice(-8)) {
    const current = sameRun(known, run);
    const button = element(host, "button", "run", { type: "button", "aria-pressed": String(current) });
    button.textContent = nameOf(known, scenarioOf(known));
    button.addEventListener("click", () => start({ ...known, at: transport.second }));
  }
}

// What is true at the moment that is shown, a few times a second, and the address.

let saying = false;
let timer: ReturnType<typeof setTimeout> | undefined;

function seen(): void {
  if (timer !== undefined) return;
  timer = setTimeout(() => {
    timer = undefined;
    void say();
  }, SAY_EVERY_MS);
}

async function say(): Promise<void> {
  if (!answer) return;
  const second = transport.second;
  if (!transport.playing && get("result").dataset.state === "shown" && transport.moved) {
    run = { ...run, at: second };
    history.replaceState(null, "", `#${toLink(run)}`);
  }
  if (saying) return;
  saying = true;
  const at = transport.at;
  try {
    const found = await python.ask<{ verdict: string; said: string[] }>({ do: "at", at_ms: at });
    fill(
      get("said"),
      found.said.map((line) => piece("li", {}, line)),
    );
    transport.say(found.verdict);
  } finally {
    saying = false;
    if (transport.at !== at) seen();
  }
}

async function breakIt(): Promise<void> {
  try {
    const found = await search.run(run, scenarioOf(run));
    if (found) await start(found);
  } catch (error) {
    refuse(String((error as Error).message));
  }
}

addReport(get("report"), get("command"), python, () => run, refuse);
const teacher = new Lessons(get("lessons"), get("lesson"), lessons, outcomes, (next) => start(next));
globalThis.addEventListener("hashchange", (event) => {
  const { hash } = new URL(event.newURL); // `say` may have written another one into the address since
  if (teacher.open(hash)) return;
  const asked = fromLink(hash);
  if (!asked) return;
  if (answer && sameRun(asked, run)) transport.seek(asked.at ?? 0);
  else void start(asked);
});
document.addEventListener("keydown", (event) => transport.key(event));
if ("serviceWorker" in navigator) navigator.serviceWorker.register("./service_worker.js").catch(() => {});
showChoices();
if (!teacher.open(location.hash)) await start(run);
