// The fork of a job: from a step, by its run. What `lab.fork` copies are streams.

import type { CommonFacts } from "./data/store.ts";
import type { ForkWay } from "./spec.ts";

export function forkOfJob({ control, no_control }: Partial<CommonFacts>): ForkWay {
  if (!control) return { reason: `no fork here: ${no_control ?? "the kernel has not said yet what can be done"}` };
  return { call: `fork = ${control}.fork()  # at the step that is shown`, ask: { name: "fork", args: [] } };
}
