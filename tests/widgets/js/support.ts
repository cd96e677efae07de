// What the tests of the views share: rows as the kernel packs them, and boxes of a known size.

import type { Content, Store } from "../../../widgets/page/data/store.ts";
import { type Box, boxOf } from "../../../widgets/page/drawing/scale.ts";
import { themeOn } from "../../../widgets/page/drawing/theme.ts";
import type { Clock } from "../../../widgets/page/time/clock.ts";

/** Pack rows by a format such as "index:u start:f". */
export function packed(format: string, rows: readonly (readonly number[])[]): ArrayBuffer {
  const kinds = format.split(" ").map((field) => field.split(":")[1]);
  const buffer = new ArrayBuffer(4 * kinds.length * rows.length);
  const view = new DataView(buffer);
  rows.forEach((row, r) => {
    kinds.forEach((kind, k) => {
      const at = 4 * (r * kinds.length + k);
      if (kind === "u") view.setUint32(at, row[k], true);
      else view.setFloat32(at, row[k], true);
    });
  });
  return buffer;
}

interface Message {
  kind?: "snapshot" | "delta";
  tables?: Record<string, readonly (readonly number[])[]>;
  facts?: object;
  grown?: Record<string, unknown[]>;
}

/** Give a store a message of the kernel. */
// biome-ignore lint/suspicious/noExplicitAny: stores of all formats
export function give(store: Store<any, any, any>, formats: Record<string, { format: string }>, message: Message): void {
  const tables = Object.entries(message.tables ?? {});
  const content: Content = {
    kind: message.kind ?? "delta",
    seq: 1,
    tables: tables.map(([name]) => name),
    facts: message.facts ?? {},
    grown: message.grown ?? {},
  };
  store.take(
    content,
    tables.map(([name, rows]) => packed(formats[name].format, rows)),
  );
}

/** A box of 1000 by 460 pixels whose clock shows `from` to `to` (ms) at the moment `now`. */
export function boxFor(from: number, to: number, now = to, size = { scale: 1, width: 1000, height: 460 }): Box {
  const clock = { ticking: true, span: [from, to], now, start: from } as unknown as Clock;
  return boxOf(size, clock, themeOn("#ffffff"));
}
