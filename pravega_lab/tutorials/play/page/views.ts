// The lab's views on the page: each is the module that JupyterLab loads, with a model that never changes.

import { element } from "../../../../widgets/page/elements.ts";
import type { Clock } from "../../../../widgets/page/time/clock.ts";
import { page } from "../../../../widgets/page/time/registry.ts";
import type { SentView } from "./model.ts";

const CLOCK = "page";

interface ViewModule {
  default(): { initialize(host: unknown): () => void; render(host: unknown): () => void };
}

const bytes = (text: string): Uint8Array => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

/** Load the module of a view, which the build has put next to the page. */
function moduleOf(name: string): Promise<ViewModule> {
  const address = new URL(`./views/${name}.js`, import.meta.url).href;
  return import(address) as Promise<ViewModule>;
}

/** Draw the views in an element, and return what takes them away. */
export async function drawViews(parent: HTMLElement, sent: readonly SentView[]): Promise<() => void> {
  const modules = await Promise.all(sent.map(({ module }) => moduleOf(module)));
  const closing: (() => void)[] = [];
  sent.forEach(({ settings, payload }, n) => {
    const el = element(parent, "div", "view");
    const heard: ((content: unknown, buffers: unknown) => void)[] = [];
    const model = {
      get: (name: string) => (name === "_settings" ? settings : undefined),
      on: (name: string, callback: (typeof heard)[0]) => name === "msg:custom" && heard.push(callback),
      off: (_: string, callback: (typeof heard)[0]) => heard.splice(heard.indexOf(callback), 1),
      send: ({ kind }: { kind: string }) => {
        if (kind === "hello") for (const f of heard) f(payload, payload.buffers.map(bytes));
      },
    };
    const view = modules[n].default();
    closing.push(view.initialize({ model }), view.render({ model, el }));
  });
  return () => {
    for (const close of closing) close();
    parent.replaceChildren();
  };
}

/** Return the clock that all views of the page share; none while there is no view. */
export const clockOfPage = (): Clock | undefined => page.clocks.get(CLOCK);
