"""Rules of the project that a reader should be able to rely on, each with what to use instead.

The arrows between the parts, what must not appear where things are decided, sizes of notebooks and
functions, no machine's path anywhere, and that every command and option is mentioned on a page.
"""

from __future__ import annotations

import ast
import gc
import re
import subprocess
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FUNCTION_LINES_MAX = 80
TYPESCRIPT_LINES_MAX = 400
NOTEBOOK_BYTES_MAX = 200_000

# Who may import whom. Every package and every module at the root is listed, lowest first, and may import
# only what is listed for it; everything after `portable` may also import `portable` and `errors`. The order
# of the list is the order of the layers: a test checks that no entry names a later one.
_ENGINE = {"engine.flow", "engine.store", "engine.server"}
ARROWS: dict[str, set[str]] = {
    "errors": set(),
    "portable": {"errors"},
    "protocol": set(),
    "client": {"protocol"},
    "progress": {"client"},
    "datasets": {"progress"},
    "engine.store": {"protocol"},
    "engine.registry": {"protocol"},
    "engine.server": {"engine.store", "engine.registry", "protocol"},
    "engine.flow": set(),
    "engine.cluster": {"engine.flow"},
    "engine.simulation": _ENGINE | {"client", "protocol"},
    "connector.flow": {"engine.flow", "client", "protocol"},
    "connector.simulation": {"engine.simulation", "connector.flow", "engine.flow", "client", "protocol"},
    "connector.rows": {"client", "protocol"},
    "connector.tables": {"connector.rows", "connector.flow", "engine.flow", "client", "protocol"},
    "connector.spark": {"connector.tables", "connector.rows", "client", "protocol"},
    "pyspark_pravega": {"connector.spark"},
    "observe": {"client", "protocol"},
    "terminal": {"observe", "connector.spark", "engine.store", "engine.server", "client", "protocol"},
    "widgets": {"observe", "progress"},
    "testing": _ENGINE | {"engine.simulation", "connector.flow", "observe", "client", "protocol"},
    "lab": _ENGINE
    | {"engine.simulation", "connector.spark", "connector.tables", "widgets", "observe", "client", "protocol"}
    | {"progress"},
    "tutorials": _ENGINE
    | {"engine.simulation", "connector.simulation", "connector.flow", "observe", "widgets", "testing"}
    | {"lab", "client", "protocol"},
    "demo": {"lab", "widgets", "connector.spark", "datasets", "progress", "client", "protocol"},
    "pravega_lab": {
        "lab",
        "terminal",
        "observe",
        "connector.spark",
        "connector.tables",
        "client",
        "protocol",
    },
    "cli": {
        "pravega_lab",
        "terminal",
        "demo",
        "tutorials",
        "connector.spark",
        "engine.flow",
        "engine.server",
    },
    "__main__": {"cli"},
}
FILES_MAX = 17  # "about fifteen"
# The parts of the store, lowest first. Each imports only earlier parts, so an event goes down to the log.
FLOW_LAYERS = [
    "errors",
    "cancelling",
    "calling",
    "closing",
    "clock",
    "subtask_states",
    "batch",
    "elements",
    "files",
    "observer",
    "state",
    "time",
]
FLOW_LAYERS += ["operators", "source", "sink", "graph", "checkpoint", "task", "master"]
STORE_LAYERS = [
    *("errors", "log_fields", "clock", "log", "storage", "tiers", "metadata", "security"),
    *("tables", "transactions", "streams", "retention", "autoscaling", "controller", "admin"),
]
HEAVY = {"numpy", "numba", "pandas", "pyarrow", "pyspark", "ipywidgets", "anywidget", "plotly"}

# Outside `portable`: what has two ways of keeping its values, and what cannot do without Arrow.
MAY_ASK_FOR_ARRAYS = {
    "pravega_lab/client/framing/event_batch.py",
    "pravega_lab/observe/ledger/ledger.py",
    "engine/flow/source/parquet.py",
}

# Where things are decided: time, chance, threads and files are handed in.
DECIDING = [
    "engine/store",
    "engine/registry",
    "engine/flow/checkpoint",
    "engine/flow/master/job_state.py",
    "engine/flow/master/restart.py",
    "engine/flow/source/event_gate.py",
    "engine/flow/subtask_states.py",
    "engine/flow/task/lifecycle.py",
    "pravega_lab/protocol",
    "pravega_lab/client/reader_group/core",
    "pravega_lab/observe",
]
NOT_DECIDING = {"engine/flow/checkpoint/command.py"}  # the command line, which runs a loop
BANNED = {
    "time": "take now_ms as an argument",
    "datetime": "take now_ms as an argument",
    "random": "take the generator as an argument",
    "secrets": "take the generator as an argument",
    "threading": "decide synchronously; the disk and the server own the threads",
    "asyncio": "decide synchronously; the loop around it waits (engine/server, engine/flow/master)",
    "socket": "speak through engine/server or the client",
}
MAY_TOUCH_DISK = {
    "engine/store/log/disk.py",
    "engine/store/log/folder_lock.py",
    "engine/store/log/unfinished_file.py",
    "pravega_lab/protocol/controller/generate.py",
}
# Folds, trackers, words and rows decide; these observe, wait, keep files, or parse a time.
LOOPS_OF_OBSERVE = {
    f"pravega_lab/observe/{path}.py"
    for path in (
        "watch", "journal/journal", "journal/file", "journal/spill", "group/observer", "stream/observer",
        "query/observer", "query/sources", "query/timestamps", "ledger/ledger",
    )
}  # fmt: skip


def tracked(*patterns: str) -> list[Path]:
    # ls-files rather than a walk: what nobody committed is not the project's.
    listed = subprocess.run(
        ["git", "ls-files", "--", *patterns], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


def modules() -> list[Path]:
    found = tracked("pravega_lab/*.py", "engine/*.py", "widgets/*.py")
    return [path for path in found if not path.name.endswith("_pb2.py")]


@cache
def tree(path: Path) -> ast.Module:
    """Return the syntax tree of a file.

    Python 3.11 fails with "AST constructor recursion depth mismatch" when garbage is collected during the
    parse.
    """
    gc.disable()
    try:
        return ast.parse(path.read_text())
    finally:
        gc.enable()


def module_name(path: Path) -> str:
    """Return the name under which ``path`` is imported, ``pravega_lab.engine.store.errors`` for example."""
    parts = list(path.relative_to(ROOT).with_suffix("").parts)
    if "discovery" in parts:
        return "pyspark_pravega"
    if parts[-1] == "__init__":
        parts.pop()
    return ".".join(parts if parts[0] == "pravega_lab" else ["pravega_lab", *parts])


def home(module: str) -> str:
    """Return the part that a module belongs to: ``engine.store``, ``client``, ``errors``…"""
    top, *parts = module.split(".")
    if not parts:
        return top
    if parts[0] in ("connector", "engine") and len(parts) > 1:
        return ".".join(parts[:2])
    return parts[0]


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield every statement below ``node``. Expressions, most of a tree, contain none."""
    for field in ("body", "handlers", "cases", "orelse", "finalbody"):
        for child in getattr(node, field, ()):
            yield child
            yield from statements(child)


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and full name of every import: lazy, relative, and for type checkers only, too.

    ``from x import y`` yields ``x.y``: `imported_module` finds out whether that is a module. Modules that a
    table or a call of `import_module` names by a text count, too.
    """
    yield from imports_by_name(path)
    package = module_name(path).split(".")
    if path.name != "__init__.py":
        package.pop()
    for node in statements(tree(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            name = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{name}.{alias.name}") for alias in node.names)


def imports_by_name(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and name of modules that are imported when they are needed, by a text.

    These are the tables ``_HOMES`` (names that a package publishes) and ``COMMANDS`` (the command line), and
    literal arguments of ``import_module``.
    """
    package = module_name(path)
    for node in statements(tree(path)):
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if isinstance(targets[0], ast.Name) and targets[0].id in ("_HOMES", "COMMANDS"):
            for text in ast.walk(node):
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    full = text.value.startswith("pravega_lab")
                    yield text.lineno, text.value if full else f"{package}.{text.value}"
    if "import_module(" in path.read_text():
        for call in calls_of(path, "import_module"):
            name = call.args[0]
            if isinstance(name, ast.Constant) and str(name.value).startswith("pravega_lab"):
                yield call.lineno, str(name.value)


def imported_module(name: str, known: Collection[str]) -> str | None:
    """Return the module of the project that an import of ``name`` loads, None for other people's."""
    if not name.startswith(("pravega_lab", "pyspark_pravega")):
        return None
    return name if name in known else name.rpartition(".")[0]


@cache
def graph() -> dict[str, dict[str, int]]:
    """Return, for each module, the modules that it imports, each with the line of the first import."""
    paths = {module_name(path): path for path in modules()}
    found: dict[str, dict[str, int]] = {}
    for module, path in paths.items():
        targets: dict[str, int] = {}
        for line, name in imports(path):
            target = imported_module(name, paths)
            if target is not None and target != module:
                targets.setdefault(target, line)
        found[module] = targets
    return found


def cycles(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the groups of nodes that reach each other, each sorted (Tarjan's algorithm)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        for target in edges.get(node, ()):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                found.append(sorted(group))

    for node in edges:
        if node not in index:
            visit(node)
    return sorted(found)


def calls_of(path: Path, function: str) -> list[ast.Call]:
    nodes = ast.walk(tree(path))
    return [
        n for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == function
    ]


def everybodys(part: str) -> set[str]:
    """Return the parts that ``part`` may import because everything above them may."""
    return set() if part in ("errors", "portable") else {"errors", "portable"}


def test_arrows() -> None:
    wrong = []
    for module, targets in graph().items():
        part = home(module)
        for target, line in targets.items():
            if home(target) not in {part} | ARROWS[part] | everybodys(part):
                wrong.append(f"{module}:{line} imports {target}; {part} may use {sorted(ARROWS[part])}")
    assert not wrong, "\n".join(wrong)


def test_the_parts_of_the_store_import_downwards() -> None:
    prefix = "pravega_lab.engine.store."
    edges = [
        (module, target, line)
        for module, targets in graph().items()
        for target, line in targets.items()
        if module.startswith(prefix) and target.startswith(prefix)
    ]
    part = lambda module: STORE_LAYERS.index(module.removeprefix(prefix).split(".")[0])  # noqa: E731
    wrong = [
        f"{m}:{line} imports {target}, which is above it"
        for m, target, line in edges
        if part(m) < part(target)
    ]
    assert edges
    assert not wrong, "\n".join(wrong)


def test_the_folders_of_the_flow_engine_import_downwards() -> None:
    prefix = "pravega_lab.engine.flow."
    inside = {m.removeprefix(prefix): t for m, t in graph().items() if m.startswith(prefix)}
    assert inside
    wrong = []
    for module, targets in inside.items():
        for target, line in targets.items():
            imported = target.removeprefix(prefix)
            above = FLOW_LAYERS.index(module.split(".")[0])
            below = FLOW_LAYERS.index(imported.split(".")[0]) if target.startswith(prefix) else 0
            if above < below:
                wrong.append(f"{module}:{line} imports {imported}, which is above it")
    assert not wrong, "\n".join(wrong)


def test_the_arrows_run_one_way() -> None:
    layers = list(ARROWS)
    wrong = [
        f"{part} may import {other}, which is above it"
        for part, others in ARROWS.items()
        for other in others
        if layers.index(other) >= layers.index(part)
    ]
    assert not wrong, wrong


def test_no_module_imports_itself_by_way_of_others() -> None:
    assert not cycles(graph())


def folder_edges(package: str) -> dict[str, set[str]]:
    """Return what the modules and folders directly in a package import of each other."""
    prefix = f"{package}."
    edges: dict[str, set[str]] = {}
    for module, targets in graph().items():
        for target in targets:
            if module.startswith(prefix) and target.startswith(prefix):
                here, there = (name.removeprefix(prefix).split(".")[0] for name in (module, target))
                edges.setdefault(here, set()).update({there} - {here})
    return edges


def test_no_folder_imports_itself_by_way_of_others() -> None:
    packages = [module_name(path) for path in modules() if path.name == "__init__.py"]
    assert len(packages) > 50
    wrong = {package: found for package in packages if (found := cycles(folder_edges(package)))}
    assert not wrong, wrong


def test_imports_by_name_are_read() -> None:
    assert "pravega_lab.demo.command" in graph()["pravega_lab.cli"]
    assert "pravega_lab.lab.lab" in graph()["pravega_lab"]
    assert "pravega_lab.engine.server.store_process" in graph()["pravega_lab.engine.server"]


def test_a_folder_has_few_files_and_no_prefix_that_three_of_them_share() -> None:
    folders: dict[Path, list[Path]] = {}
    for path in tracked("pravega_lab", "engine", "widgets", "tests", "benchmarks"):
        folders.setdefault(path.parent, []).append(path)
    wrong = []
    for folder, paths in folders.items():
        where = str(folder.relative_to(ROOT))
        if len(paths) > FILES_MAX:
            wrong.append(f"{where} has {len(paths)} files")
        prefixes: dict[str, set[str]] = {}
        for path in paths:
            name = path.name.split(".")[0]
            of_subject = name.removeprefix("test_") if where.startswith("tests") else name
            prefix, underscore, _ = of_subject.partition("_")
            if prefix and underscore:
                prefixes.setdefault(prefix, set()).add(path.name)
        wrong += [f"{where}: make a folder of {sorted(p)}" for p in prefixes.values() if len(p) > 2]
    assert not wrong, "\n".join(wrong)


def test_folders_of_the_client_are_in_the_order_that_it_states() -> None:
    path = ROOT / "pravega_lab/client/__init__.py"
    stated = re.search(r"checks\s+it\): ([\w, \n]+)\.", ast.get_docstring(ast.parse(path.read_text())) or "")
    assert stated is not None
    order = [name.strip() for name in stated.group(1).split(",")]
    edges = [
        (module.split(".")[2], target.split(".")[2], f"{module}:{line} imports {target}")
        for module, targets in graph().items()
        for target, line in targets.items()
        if module.startswith("pravega_lab.client.") and target.startswith("pravega_lab.client.")
    ]
    assert {name for source, target, _ in edges for name in (source, target)} == set(order)
    wrong = [text for source, target, text in edges if order.index(target) > order.index(source)]
    assert not wrong, "\n".join(wrong)


def test_the_finder_of_cycles_finds_them() -> None:
    assert cycles({"a": ["b"], "b": ["c"], "c": ["a", "d"], "d": []}) == [["a", "b", "c"]]
    assert cycles({"a": ["b"], "b": []}) == []


def test_relative_imports_are_read_on_every_level(tmp_path: Path) -> None:
    path = ROOT / "engine" / "flow" / "task" / "subtask.py"
    levels = {name for _, name in imports(path)}
    assert "pravega_lab.engine.flow.task.chain.Chain" in levels  # from .chain import Chain
    assert "pravega_lab.engine.flow.elements.Barrier" in levels  # from ..elements import Barrier


@pytest.mark.parametrize("top", ["engine", "widgets"])
def test_imports_inside_engine_and_widgets_are_relative(top: str) -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in tracked(f"{top}/*.py")
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom)
        and not node.level
        and (node.module or "").startswith(f"pravega_lab.{top}")
    ]
    assert not wrong, wrong


@pytest.mark.parametrize("place", DECIDING)
def test_what_decides_is_given_time_chance_and_disk(place: str) -> None:
    wrong = []
    paths = tracked(place if place.endswith(".py") else f"{place}/*.py")
    assert paths, f"{place} is not there: name the file or folder that decides now"
    for path in paths:
        where = str(path.relative_to(ROOT))
        if where in MAY_TOUCH_DISK | NOT_DECIDING | LOOPS_OF_OBSERVE or path.name.endswith("_pb2.py"):
            continue
        for line, name in imports(path):
            top = name.split(".")[0]
            if top in BANNED:
                wrong.append(f"{where}:{line} imports {top}: {BANNED[top]}")
        wrong += [f"{where}:{call.lineno} opens a file: use Disk" for call in calls_of(path, "open")]
    assert not wrong, "\n".join(wrong)


@pytest.mark.slow
def test_whoever_waits_takes_the_same_steps_on_every_python() -> None:
    used = {f"asyncio.{name}" for name in ("gather", "wait", "wait_for", "shield")}
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno} uses {ast.unparse(node)}: use pravega_lab.portable.waiting"
        for path in modules()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Attribute) and ast.unparse(node) in used
    ]
    assert not wrong, "\n".join(wrong)


def test_no_module_looks_by_itself_whether_numpy_and_pyarrow_are_there() -> None:
    """Code asks `pravega_lab.portable`, and so runs the same way in a browser."""
    words = re.compile("HAVE_ARRAYS|numpy|pyarrow")
    naming = [path for path in modules() if words.search(path.read_text())]
    asking = {str(path.relative_to(ROOT)) for path in naming if asks_for_arrays(tree(path))}
    wrong = {path for path in asking - MAY_ASK_FOR_ARRAYS if not path.startswith("pravega_lab/portable/")}
    assert not wrong, f"{sorted(wrong)}: import np and pa from portable.columns, or ask portable.few"
    assert asking > MAY_ASK_FOR_ARRAYS, f"the list is longer than it has to be: {MAY_ASK_FOR_ARRAYS - asking}"


def asks_for_arrays(module: ast.Module) -> bool:
    """Return whether a module asks `HAVE_ARRAYS`, or tries or chooses whether to import numpy or pyarrow."""
    for node in statements(module):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
        if "HAVE_ARRAYS" in names:
            return True
        chooses = (
            isinstance(node, ast.If) and node in module.body and ast.unparse(node.test) != "TYPE_CHECKING"
        )
        if isinstance(node, ast.Try) or chooses:
            for inner in node.body:  # type: ignore[attr-defined]
                found = [alias.name for alias in inner.names] if isinstance(inner, ast.Import) else []
                found += [inner.module or ""] if isinstance(inner, ast.ImportFrom) else []
                if any(name.partition(".")[0] in {"numpy", "pyarrow"} for name in found):
                    return True
    calls = (node for node in ast.walk(module) if isinstance(node, ast.Call))
    return any(
        ast.unparse(call.func).endswith(("find_spec", "is_installed", "import_module", "HAVE_ARRAYS"))
        and any(isinstance(a, ast.Constant) and a.value in ("numpy", "pyarrow") for a in call.args)
        for call in calls
    )


@pytest.mark.parametrize(
    ("source", "asks"),
    [
        ("from pravega_lab.portable import HAVE_ARRAYS", True),
        ("try:\n    import numpy as np\nexcept ImportError:\n    np = None", True),
        ("if is_fast:\n    from pyarrow.compute import sum", True),
        ("here = is_installed('pyarrow')", True),
        ("if TYPE_CHECKING:\n    import numpy as np", False),
        ("def rows():\n    import pyarrow as pa", False),
    ],
)
def test_the_search_for_such_modules_finds_them(source: str, asks: bool) -> None:
    assert asks_for_arrays(ast.parse(source)) is asks


def test_the_store_imports_nothing_heavy() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for path in tracked("engine/store/*.py", "engine/server/*.py", "pravega_lab/protocol/*.py")
        for line, name in imports(path)
        if name.split(".")[0] in HEAVY
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("pravega_lab", ["grpc", "numpy", "pyspark", "IPython", "pravega_lab.client"]),
        (
            "pravega_lab.engine.server.standalone",
            ["numpy", "numba", "pandas", "pyarrow", "pyspark", "IPython"],
        ),
        ("pravega_lab.connector.spark", ["grpc", "IPython"]),
        ("pravega_lab.engine.cluster.spark", ["pyspark", "grpc", "IPython"]),
        ("pyspark_pravega", ["grpc", "IPython"]),
        ("pravega_lab.observe", ["pyspark", "IPython", "ipywidgets"]),
    ],
)
def test_importing_stays_light(module: str, absent: list[str]) -> None:
    code = (
        f"import sys, threading, {module}\n"
        f"print([m for m in {absent!r} if m in sys.modules], threading.active_count())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[] 1"


def test_functions_stay_short() -> None:
    long = []
    for path in modules():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                lines = (node.end_lineno or 0) - body[0].lineno + 1 if body else 0
                if lines > FUNCTION_LINES_MAX:
                    long.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name} has {lines} lines")
    assert not long, "\n".join(long)


def typescript() -> list[Path]:
    return tracked("*.ts")


def test_typescript_stays_short() -> None:
    """Rely on the formatter: a block ends at the next line with the indentation of its first line."""
    long = []
    exempt = re.compile(r"(export )?(default )?(abstract )?(class|interface)\b")
    for path in typescript():
        lines = path.read_text().splitlines()
        where = path.relative_to(ROOT)
        if len(lines) > TYPESCRIPT_LINES_MAX:
            long.append(f"{where} has {len(lines)} lines")
        for first, line in enumerate(lines):
            if not line.endswith("{") or exempt.match(line):
                continue
            indent = line[: len(line) - len(line.lstrip())]
            last = next(n for n in range(first + 1, len(lines)) if lines[n].startswith(f"{indent}}}"))
            if last - first - 1 > FUNCTION_LINES_MAX:
                long.append(f"{where}:{first + 1} {line.strip()} has {last - first - 1} lines")
    assert not long, "\n".join(long)


def test_pages_are_made_of_elements_and_not_of_html() -> None:
    banned = re.compile(r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|eval)\b")
    makes = re.compile(r"\bcreateElement(NS)?\b")
    wrong = [
        f"{path.relative_to(ROOT)} has JavaScript in a text; write a bundle (widgets/lab_panel)"
        for path in modules()
        if "innerHTML" in path.read_text() or "document.createElement" in path.read_text()
    ]
    for path in typescript():
        where = str(path.relative_to(ROOT))
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if banned.search(line):
                wrong.append(f"{where}:{number} describe elements with page/elements.ts")
            allowed = '("canvas")' in line or where.startswith("tests/")
            if makes.search(line) and not allowed and where != "widgets/page/elements.ts":
                wrong.append(f"{where}:{number} page/elements.ts makes all elements")
    assert not wrong, "\n".join(wrong)


def test_every_module_says_what_it_is_for() -> None:
    silent = [str(p.relative_to(ROOT)) for p in modules() if not ast.get_docstring(tree(p))]
    assert not silent, silent


def test_every_package_says_in_two_sentences_what_it_contains_and_who_imports_what() -> None:
    wrong = []
    for path in modules():
        if path.name == "__init__.py" and "discovery" not in path.parts:
            text = " ".join((ast.get_docstring(tree(path)) or "").split())
            if len(re.findall(r"[.:](?= |$)", text)) < 2 or "import" not in text:
                wrong.append(f"{path.relative_to(ROOT)}: {text!r}")
    assert not wrong, "\n".join(wrong)


def undocumented(path: Path) -> list[str]:
    """Return the public classes, functions and methods of a file that have no docstring."""
    found = []

    def look(node: ast.Module | ast.ClassDef, prefix: str) -> None:
        for inner in node.body:
            if isinstance(inner, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                if inner.name.startswith("_"):
                    continue
                if not ast.get_docstring(inner):
                    found.append(f"{path.relative_to(ROOT)}:{inner.lineno} {prefix}{inner.name}")
                if isinstance(inner, ast.ClassDef):
                    look(inner, f"{inner.name}.")

    look(tree(path), "")
    return found


def test_everything_public_in_the_flow_engine_is_documented() -> None:
    missing = [name for path in tracked("engine/flow/*.py") for name in undocumented(path)]
    assert not missing, "\n".join(missing)


def test_no_path_of_a_machine_and_no_registry() -> None:
    pattern = re.compile(r"/(?:work|root|home/\w+)/|\bfiles\.pythonhosted\b|\brepo1?\.maven\b|/usr/local/lib")
    wrong = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in tracked(
            "*.py",
            "*.md",
            "*.ipynb",
            "*.js",
            "*.ts",
            "*.json",
            "*.toml",
            "*.sh",
            "*.yml",
            "Makefile",
            "binder",
        )
        if path != Path(__file__)
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if pattern.search(line)
    ]
    assert not wrong, "\n".join(wrong)


def test_notebooks_are_small_and_store_no_widget_state() -> None:
    for path in tracked("notebooks/*.ipynb"):
        assert path.stat().st_size <= NOTEBOOK_BYTES_MAX, f"{path.name}: {path.stat().st_size} bytes"
        assert '"application/vnd.jupyter.widget-state+json"' not in path.read_text(), path.name


def test_commands_and_options_are_on_a_page() -> None:
    from pravega_lab.cli import COMMANDS, build_parser

    pages = "\n".join(path.read_text() for path in tracked("README.md", "docs/*.md"))
    missing = []
    for command in COMMANDS:
        parser = build_parser(command)
        subparsers = next(a for a in parser._actions if hasattr(a, "choices") and a.choices)
        assert subparsers.choices is not None
        options = [
            o for a in subparsers.choices[command]._actions for o in a.option_strings if o.startswith("--")
        ]
        words = [f"pravega-lab {command}", *(o for o in options if o != "--help")]
        missing += [f"{command}: {word}" for word in words if word not in pages]
    assert not missing, missing
