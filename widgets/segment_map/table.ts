// What each active segment does, as the table of a narrow view.

import { bytes } from "../page/drawing/format.ts";
import type { Box } from "../page/drawing/scale.ts";
import { columns, type Piece } from "../page/elements.ts";
import { opened, visible } from "./layout.ts";
import type { SegmentModel } from "./model.ts";

/** Describe the table below the picture: the columns that a wide view has on its right, highest keys first. */
export function table(model: SegmentModel, b: Box, t: number): Piece[] {
  const { low } = model.seg;
  const { unread, stored } = model.rates;
  const open = [...opened(model, visible(model, b), t)].sort((p, q) => low[q] - low[p]);
  const sizes = model.knows("unread") ? unread : stored;
  const head = ["segment", "keys", model.facts.rate_unit ?? "events/s", model.knows("unread") ? "unread" : "stored"];
  const isOwned = model.knows("owner");
  const isTiered = model.knows("tiers");
  const { tiers } = model.store.tables;
  const rows = open.map((i) => {
    const sample = model.sampleAt(i, t);
    const known = sample < 0 ? ["–", "–"] : [model.rateText(model.rateColumn[sample]), bytes(sizes[sample])];
    const moved = isTiered ? [i < tiers.n ? bytes(tiers.col.bytes[i]) : "–"] : [];
    return [model.short(i), model.range(i), ...known, ...moved, ...(isOwned ? [model.ownerWords(i, t)] : [])];
  });
  const heads = [...head, ...(isTiered ? ["in tier 2"] : []), ...(isOwned ? ["owner"] : [])];
  return rows.length ? [columns(heads, rows)] : [];
}
