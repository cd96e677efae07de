// A picture of Python's as an image, in which nothing runs.

import { create, piece } from "../../../../widgets/page/elements.ts";

export function drawing(svg: string, words: string[]): HTMLImageElement {
  const image = create(piece("img", { alt: words.join("\n") })) as HTMLImageElement;
  image.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  image.addEventListener("load", () => URL.revokeObjectURL(image.src));
  return image;
}
