// A picture of Python's as an image, in which nothing runs.

export function drawing(svg: string, words: string[]): HTMLImageElement {
  const image = document.createElement("img");
  image.alt = words.join("\n");
  image.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  image.addEventListener("load", () => URL.revokeObjectURL(image.src));
  return image;
}
