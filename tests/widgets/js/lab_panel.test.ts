import assert from "node:assert/strict";
import { test } from "node:test";
import { panel } from "../../../widgets/lab_panel/table.ts";

const PART = { symbol: "●", state: "well", colour: "#009E73", name: "store", words: "embedded", remedy: "" };

test("a hostile name is a text of the panel, not an element", () => {
  const hostile = "<img src=x onerror=alert(1)>";
  const made = JSON.stringify(panel({ kind: "parts", title: hostile, parts: [{ ...PART, name: hostile }], seq: 1 }));
  assert.equal(made.split(JSON.stringify(hostile)).length - 1, 2);
  assert.ok(!made.includes('"tag":"img"'));
});

test("a remedy follows the words of its part, and only there", () => {
  const cell = (remedy: string): string =>
    JSON.stringify(panel({ kind: "parts", title: "Lab", parts: [{ ...PART, remedy }], seq: 1 }));
  assert.ok(cell("start it").includes('"→ start it"'));
  assert.ok(!cell("").includes("→"));
});
