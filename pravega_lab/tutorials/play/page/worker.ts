// The worker in which Python runs: it starts Pyodide from this site, unpacks our package, and passes messages on.

/** The part of Pyodide's interface that is used here. */
interface Runtime {
  loadPyodide(options: { indexURL: string }): Promise<{
    unpackArchive(packed: ArrayBuffer, format: string, options: { extractDir: string }): void;
    runPython(code: string): unknown;
    pyimport(name: string): { Player(): { answer(text: string): string } };
    _module: { HEAPU8: Uint8Array };
  }>;
}

interface Asked {
  id: number;
  text: string;
}

const here = (path: string): string => new URL(path, self.location.href).href;
const say = (what: Record<string, unknown>): void => self.postMessage(what);

async function start(): Promise<(text: string) => string> {
  say({ stage: "Python is loading" });
  const runtime = (await import(here("pyodide/pyodide.mjs"))) as Runtime;
  const [python, packed] = await Promise.all([
    runtime.loadPyodide({ indexURL: here("pyodide/") }),
    fetch(here("python.zip")).then((found) => found.arrayBuffer()),
  ]);
  say({ stage: "The laboratory is unpacked" });
  Object.assign(self, { memoryBytes: () => python._module.HEAPU8.length }); // for tests and benchmarks
  python.unpackArchive(packed, "zip", { extractDir: "/lab" });
  python.runPython("import sys; sys.path.insert(0, '/lab')");
  const player = python.pyimport("pravega_lab.tutorials.play.messages").Player();
  say({ stage: "ready" });
  return (text) => player.answer(text);
}

const started = start();
started.catch((error: unknown) => say({ stage: "failed", error: String(error) }));

self.addEventListener("message", async ({ data }: MessageEvent<Asked>) => {
  try {
    say({ id: data.id, text: (await started)(data.text) });
  } catch (error) {
    say({ id: data.id, text: JSON.stringify({ error: String(error).trim().split("\n").at(-1) }) });
  }
});
