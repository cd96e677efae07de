// Print hashes of the journals of simulated runs in Pyodide, under Node: node pyodide.mjs ROOT GOOGLE SEEDS
// ROOT is the checkout, GOOGLE the folder "google" that has protobuf.
import { loadPyodide } from "pyodide";

const [root, google, seeds] = process.argv.slice(2);
const python = await loadPyodide();
python.FS.mkdirTree("/packages/google");
python.mountNodeFS("/checkout", root);
python.mountNodeFS("/packages/google", google);
python.globals.set("seeds", seeds);
python.runPython(`
import sys
from asyncio import events

sys.path += ["/checkout", "/packages"]
events._set_running_loop(None)  # Pyodide's own, which is always there; a simulation has a loop of its own
from tests.journals import main

main([seeds])
`);
