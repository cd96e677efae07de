// "Report this run": the page and the journal as files, and the command that repeats the run.

import { create, element, piece } from "../../../../widgets/page/elements.ts";
import type { Run } from "./link.ts";
import type { Python } from "./python.ts";

interface Report {
  page: string;
  journal: string;
  command: string;
  name: string;
}

export function addReport(
  host: HTMLElement,
  said: HTMLElement,
  python: Python,
  run: () => Run,
  refuse: (sentence: string) => void,
): void {
  const report = element(host, "button", "primary", { type: "button", id: "report-run" }, "Report this run");
  report.addEventListener("click", async () => {
    try {
      const found = await python.ask<Report>({ do: "report", run: run() });
      save(`${found.name}.html`, "text/html", found.page);
      save(`${found.name}.jsonl`, "application/jsonl", found.journal);
      said.hidden = false;
      said.replaceChildren("Downloaded: the run as a page, and its journal. This command repeats it: ");
      element(said, "code", "", {}, found.command);
    } catch (error) {
      refuse(String((error as Error).message));
    }
  });
  const copy = element(host, "button", "", { type: "button", id: "copy-link" }, "Copy the link");
  copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(location.href).catch(() => {});
    copy.textContent = "Copied";
    setTimeout(() => {
      copy.textContent = "Copy the link";
    }, 1500);
  });
}

function save(name: string, type: string, text: string): void {
  const link = create(piece("a")) as HTMLAnchorElement;
  link.download = name;
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
