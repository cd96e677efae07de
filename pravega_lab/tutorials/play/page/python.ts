// The page's side of the worker: a promise per message.

type Answer<T> = T & { error?: string };

export class Python {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, (text: string) => void>();
  #next = 1;

  /** `onStage` hears what the worker does before it is ready, and of a failure to start. */
  constructor(onStage: (stage: string, error?: string) => void = () => {}) {
    this.#worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
    this.#worker.addEventListener("message", ({ data }) => {
      if (data.stage) onStage(data.stage, data.error);
      else {
        this.#waiting.get(data.id)?.(data.text);
        this.#waiting.delete(data.id);
      }
    });
  }

  /** Ask Python, and return its answer. A refusal of Python's is an error with its sentence. */
  async ask<T>(content: Record<string, unknown>): Promise<T> {
    const id = this.#next++;
    const text = await new Promise<string>((heard) => {
      this.#waiting.set(id, heard);
      this.#worker.postMessage({ id, text: JSON.stringify(content) });
    });
    const answer = JSON.parse(text) as Answer<T>;
    if (answer.error) throw new Error(answer.error);
    return answer;
  }

  close(): void {
    this.#worker.terminate();
  }
}
