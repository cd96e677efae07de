"""What is wrong in a narrow pane: texts that are cut or on each other, and elements outside of their view."""

from __future__ import annotations

# Every text of the last drawing of each canvas: its number, the text, and its box.
RECORD = """() => {
  globalThis.painted = new Map();
  const { fillRect, fillText } = CanvasRenderingContext2D.prototype;
  CanvasRenderingContext2D.prototype.fillRect = function (x, y, width, height) {
    const whole = (size, all) => Math.abs(size * devicePixelRatio - all) < 2;
    if (whole(width, this.canvas.width) && whole(height, this.canvas.height)) painted.set(this.canvas, []);
    return fillRect.apply(this, arguments);
  };
  CanvasRenderingContext2D.prototype.fillText = function (text, x, y) {
    const size = this.measureText(text);
    const { a, b, c, d, e, f } = this.getTransform();
    const ends = [
      [x - size.actualBoundingBoxLeft, y - size.actualBoundingBoxAscent],
      [x + size.actualBoundingBoxRight, y + size.actualBoundingBoxDescent],
    ];
    const across = ends.map(([x, y]) => (a * x + c * y + e) / devicePixelRatio).sort((p, q) => p - q);
    const down = ends.map(([x, y]) => (b * x + d * y + f) / devicePixelRatio).sort((p, q) => p - q);
    if (text.trim()) painted.get(this.canvas)?.push([text, ...across, ...down]);
    return fillText.apply(this, arguments);
  };
}"""
# Texts that are not whole on their canvas, and pairs of texts of which one is on the other.
CUT = """() => [...painted].flatMap(([canvas, texts]) => texts.filter(([text, left, right, top, bottom]) =>
  left < -1 || right > canvas.clientWidth + 1 || top < -1 || bottom > canvas.clientHeight + 1 ||
  text.slice(1).includes("…")))"""
OVERLAPPING = """() => [...painted.values()].flatMap((texts) => texts.flatMap((one, k) => texts.slice(k + 1)
  .filter((other) => Math.min(one[2], other[2]) - Math.max(one[1], other[1]) > 1
    && Math.min(one[4], other[4]) - Math.max(one[3], other[3]) > 1)
  .map((other) => [one, other])))"""
# The elements around a canvas that hide a part of their text.
CLIPPED = """() => [...document.querySelectorAll(".plab-head, .plab-head *, .plab-legend *, .plab-folded *")]
  .filter((e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflow !== "visible")
  .map((e) => e.outerHTML)"""


# The elements that are wider than their view.
OUTSIDE = """() => [...document.querySelectorAll(".plab")].flatMap((view) => [...view.querySelectorAll("*")]
  .filter((e) => e.getBoundingClientRect().right > view.getBoundingClientRect().right + 1)
  .map((e) => e.outerHTML.slice(0, 160)))"""
