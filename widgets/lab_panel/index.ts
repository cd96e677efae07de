// The live panel of a lab: it draws what the kernel sends, and reports every few seconds that it is shown.

import type { AnyModel, RenderProps } from "@anywidget/types";
import { element, fill } from "../page/elements.ts";
import { hearAlways } from "../page/hearing.ts";
import { type Content, panel } from "./table.ts";

const HERE_EVERY_MS = 5000;

function render({ model, el }: RenderProps): () => void {
  const page = element(el, "div", "plab-lab", { role: "status" });
  const draw = (content: Content): void => {
    if (content.kind !== "parts") return;
    fill(page, [panel(content)]);
    page.dataset.seq = String(content.seq);
  };
  model.on("msg:custom", draw);
  hearAlways(model, model.get("_settings")?.me).catch(() => {}); // another host
  const heart = setInterval(() => here(model), HERE_EVERY_MS);
  here(model);
  return () => {
    clearInterval(heart);
    model.off("msg:custom", draw);
    page.remove();
  };
}

function here(model: AnyModel): void {
  try {
    model.send({ kind: "here" });
  } catch {
    // The kernel was restarted.
  }
}

export default { render };
