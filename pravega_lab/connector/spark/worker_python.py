"""Which Python runs Spark's workers, and whether the data source can run in it (spark.md 11.1).

Spark starts its workers with a Python of its own choice, not with the Python of the driver. Where an
environment is not activated, that is the ``python3`` of the ``PATH``, which does not have this package.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pravega_lab.errors import SetupError

#: What Spark runs if nothing is set.
DEFAULT = "python3"
TASKS_VARIABLE, SEARCH_VARIABLE = "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"
#: Only ``spark-submit`` reads this setting, and only for tasks.
SETTING = "spark.pyspark.python"
#: The packages that the data source imports in a worker. Spark itself brings pyspark there.
NEEDED = ("pravega_lab", "pyarrow", "grpc")
PROBE_S_MAX = 30
_PROBE = """
import importlib.util, json, pkgutil, sys
print(json.dumps({
    "executable": sys.executable,
    "prefix": sys.prefix,
    "version": list(sys.version_info[:2]),
    "missing": [name for name in sys.argv[1:] if importlib.util.find_spec(name) is None],
    "discovers": any(module.name == "pyspark_pravega" for module in pkgutil.iter_modules()),
}))
"""


@dataclass(frozen=True)
class WorkerPython:
    """The command with which Spark starts workers, and the variable, setting or ``PATH`` that names it."""

    command: str
    source: str


@dataclass(frozen=True)
class Probe:
    """What a Python was found to have.

    ``executable`` is the path of the interpreter, or the command if it cannot be run. ``fault`` completes the
    sentence "This Python …" and is empty if the data source can run. ``discovers`` says whether Spark's
    search for formats finds ``pyspark_pravega``, and ``is_own`` whether it has the environment of this
    process.
    """

    executable: str
    fault: str = ""
    discovers: bool = False
    is_own: bool = False


def search_python(environ: Mapping[str, str]) -> WorkerPython:
    """Return the Python in which Spark searches for formats and runs the formats that it finds."""
    for variable in (SEARCH_VARIABLE, TASKS_VARIABLE):
        if environ.get(variable):
            return WorkerPython(environ[variable], variable)
    return WorkerPython(DEFAULT, "PATH")


def tasks_python(environ: Mapping[str, str]) -> WorkerPython:
    """Return the Python in which Spark runs Python functions, and formats that were registered."""
    command = environ.get(TASKS_VARIABLE)
    return WorkerPython(command, TASKS_VARIABLE) if command else WorkerPython(DEFAULT, "PATH")


def submit_python(environ: Mapping[str, str]) -> WorkerPython | None:
    """Return the Python that ``spark-defaults.conf`` sets for ``spark-submit``, or ``None``."""
    import pyspark

    home = Path(environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)
    file = Path(environ.get("SPARK_CONF_DIR") or home / "conf") / "spark-defaults.conf"
    if not file.is_file():
        return None
    found = re.search(
        rf"^\s*{re.escape(SETTING)}[\s=:]+(\S+)", file.read_text(errors="replace"), re.MULTILINE
    )
    return WorkerPython(found[1], f"{SETTING} in {file}") if found else None


def probe(command: str) -> Probe:
    """Run ``command`` and return what this Python has. A wrong command is a fault and raises no error."""
    try:
        done = subprocess.run(
            [command, "-c", _PROBE, *NEEDED],
            capture_output=True,
            text=True,
            timeout=PROBE_S_MAX,
            check=False,
        )
        found: dict[str, Any] = json.loads(done.stdout)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Probe(command, f"cannot be run ({error})")
    except ValueError:
        return Probe(command, "is not a Python interpreter")
    version, own = (".".join(map(str, one)) for one in (found["version"], sys.version_info[:2]))
    fault = f"does not have {', '.join(found['missing'])}" if found["missing"] else ""
    if not fault and version != own:
        fault = f"is Python {version}, and the driver is Python {own}"
    return Probe(found["executable"], fault, found["discovers"], found["prefix"] == sys.prefix)


def set_worker_python(spark: Any) -> None:
    """Make the workers of a session on this machine run the Python of this process.

    A Python that the user chose with ``PYSPARK_PYTHON`` is kept. On a cluster, and with Spark Connect, the
    workers are on other machines, so nothing is changed.

    Raises:
        SetupError: The Python that the user chose cannot run the data source.
    """
    context = getattr(spark, "sparkContext", None)  # Spark Connect has none
    if context is None or not context.master.startswith("local"):
        return
    chosen = context.pythonExec
    if chosen == DEFAULT:
        context.pythonExec = sys.executable
    elif chosen != sys.executable and (fault := probe(chosen).fault):
        raise SetupError(
            f"Spark's workers run '{chosen}', as {TASKS_VARIABLE} or {SETTING} says. This Python {fault}. "
            f"Remove the setting, or set it to '{sys.executable}', before the session starts"
        )


def check_packages() -> None:
    """Refuse to run in a Python that lacks a package of the data source; called in a worker.

    Raises:
        SetupError: A package is missing. The message names this Python and the variables that choose it.
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise SetupError(
            f"format('pravega') runs in '{sys.executable}', the Python of Spark's workers, which does not "
            f"have {', '.join(missing)}. Set {TASKS_VARIABLE}, and {SEARCH_VARIABLE} if it is set, to the "
            "Python in which you installed 'pravega-lab[spark]', before the session starts"
        )


def remedy(chosen: WorkerPython, environ: Mapping[str, str]) -> str:
    """Return what to set so that Spark takes the Python of this process instead of ``chosen``."""
    if chosen.source.startswith(SETTING):
        return f"set it to {sys.executable}"
    both = [TASKS_VARIABLE, *([SEARCH_VARIABLE] if environ.get(SEARCH_VARIABLE) else [])]
    line = "export " + " ".join(f"{variable}={sys.executable}" for variable in both)
    if chosen.source == "PATH":
        return f"{line}, or activate the environment (register(spark) and Lab().spark set it by themselves)"
    return line
