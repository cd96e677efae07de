// The two functions of an anywidget module.

import type { Content, Store } from "./data/store.ts";
import { Frame } from "./frame.ts";
import { hearAlways } from "./hearing.ts";
import type { Model, Spec } from "./spec.ts";
import type { Order } from "./time/clock.ts";
import { page } from "./time/registry.ts";
import { voiceOf } from "./voice.ts";

type Buffers = readonly (DataView | ArrayBuffer | Uint8Array)[];

/** What the kernel has said about a view, in the view's own form. */
// biome-ignore lint/suspicious/noExplicitAny: stores of all formats; each view's model knows its own
type ViewModel = { readonly store: Store<any, any, any> };

/**
 * Return the two functions: one model per widget, a frame per place where it is shown. To be called once per widget (a
 * module's default export may be a function), for the host passes `initialize` and `render` different objects for the
 * same widget.
 */
export function widget<M extends ViewModel>(makeModel: () => M, makeSpec: (model: M) => Spec) {
  const view = makeModel();
  return {
    initialize({ model }: { model: Model }): () => void {
      const settings = model.get("_settings") ?? {};
      const voice = voiceOf(model, settings.me, false);
      const take = (content: Content | (Order & { kind: "clock" }), buffers: Buffers) => {
        if ("at_ms" in content) return page.clocks.get(model.get("_settings")?.clock ?? "")?.obey(content);
        if (content.kind !== "snapshot" && content.kind !== "delta") return;
        view.store.take(content, buffers);
        voice.acknowledge(content.seq);
      };
      model.on("msg:custom", take);
      hearAlways(model, settings.me).catch(() => {}); // another host, which brings models back in another way
      return () => {
        model.off("msg:custom", take);
        voice.close();
      };
    },
    render({ model, el }: { model: Model; el: Element }): () => void {
      return new Frame(model, el, view.store, makeSpec(view)).open();
    },
  };
}
