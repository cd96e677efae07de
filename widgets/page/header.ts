// The line above the picture: title, state, time, trouble, gaps; and what is shown while there is nothing to draw.

import type { CommonFacts } from "./data/store.ts";
import { count, seconds, wallTime } from "./drawing/format.ts";
import type { Box } from "./drawing/scale.ts";
import { element } from "./elements.ts";
import type { Frame } from "./frame.ts";

export function showHeader(frame: Frame, b: Box): void {
  const { parts, member, theme } = frame;
  const { facts } = frame.store;
  parts.root.dataset.theme = theme.dark ? "dark" : "light";
  parts.title.textContent = facts.title ?? "";
  showState(frame);
  const seed = facts.seed == null ? "" : ` · seed ${facts.seed}`;
  parts.time.textContent = member.ticking ? `${seconds(b.now - b.origin)} ${wallTime(b.now)}${seed}` : seed;
  parts.gap.textContent = facts.gap ? `gap: ${facts.gap}` : "";
  parts.gap.title = parts.gap.textContent;
  showObservation(frame, b.now);
}

/** Return the state of a view: live, live but without news because of trouble, or a recording. */
export function stateOf({ live, trouble }: Partial<CommonFacts>): "" | "live" | "not live" | "recording" {
  if (live === undefined) return "";
  return !live ? "recording" : trouble ? "not live" : "live";
}

const MARKS = { "": "", live: "● live", "not live": "✕ not live", recording: "■ recording" };

function showState({ parts, store: { facts } }: Frame): void {
  const state = stateOf(facts);
  parts.badge.textContent = MARKS[state];
  parts.badge.classList.toggle("is-live", state === "live");
  parts.badge.classList.toggle("is-ill", state === "not live");
  const trouble = state === "not live" ? (facts.trouble ?? "") : "";
  if (parts.trouble.textContent === trouble) return; // a screen reader would say it again
  parts.trouble.textContent = trouble;
  parts.badge.title = trouble;
}

/** Show the number of the last observation. On a board one view of each journal knows what was observed when. */
function showObservation({ clock, member, parts }: Frame, now: number): void {
  const tellers = clock.views.filter(
    (v) => v === member || (member.journal !== undefined && v.journal === member.journal),
  );
  const seq = Math.max(...tellers.map((v) => v.observed(now)));
  parts.root.dataset.seq = seq < 0 ? "" : String(seq);
  parts.time.title = seq < 0 ? "" : `observation ${count(seq)}`;
}

/** Show one sentence and the code that fills the view, with a button that copies it. */
export function showEmpty(frame: Frame): void {
  const { empty } = frame.parts;
  const isEmpty = frame.store.updates > 0 && frame.spec.isEmpty();
  empty.style.display = isEmpty ? "" : "none";
  if (!isEmpty || empty.firstChild) return;
  const [sentence, code] = frame.spec.empty;
  element(empty, "p", "", {}, sentence);
  element(element(empty, "pre"), "code", "", {}, code);
  const copy = element(empty, "button", "", { type: "button" }, "copy");
  frame.on(copy, "click", async () => {
    await navigator.clipboard?.writeText(code);
    copy.textContent = "copied";
  });
}
