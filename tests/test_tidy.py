"""Rules of the project that a reader should be able to rely on, each with what to use instead.

The arrows between the parts, what must not appear where things are decided, sizes of notebooks and
functions, no machine's path anywhere, and that every command and option is mentioned on a page.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FUNCTION_LINES_MAX = 80
NOTEBOOK_BYTES_MAX = 200_000

# Who may import whom (DESIGN: arrows run one way). errors and the version are everybody's.
ARROWS = {
    "protocol": set(),
    "engine.store": {"protocol"},
    "engine.server": {"engine.store", "protocol"},
    "engine.flow": set(),
    "engine.cluster": {"engine.flow"},
    "engine.simulation": {
        "connector.flow",
        "engine.flow",
        "engine.server",
        "engine.store",
        "client",
        "protocol",
    },
    "client": {"protocol"},
    "connector.flow": {"engine.flow", "client", "protocol"},
    "connector.spark": {"client", "protocol"},
    "observe": {"client", "protocol"},
    "terminal": {"observe", "client", "protocol"},
    "widgets": {"observe"},
}
EVERYBODYS = {"errors", ""}
HEAVY = {"numpy", "numba", "pandas", "pyarrow", "pyspark", "ipywidgets", "anywidget", "plotly"}

# Where things are decided: time, chance, threads and files are handed in.
DECIDING = ["engine/store", "pravega_lab/protocol"]
BANNED = {
    "time": "take now_ms as an argument",
    "datetime": "take now_ms as an argument",
    "random": "take the generator as an argument",
    "secrets": "take the generator as an argument",
    "threading": "decide synchronously; the disk and the server own the threads",
    "asyncio": "decide synchronously; the loop around it lives in engine/server",
    "socket": "speak through engine/server or the client",
}
MAY_TOUCH_DISK = {"engine/store/disk.py", "pravega_lab/protocol/generate.py"}


def tracked(*patterns: str) -> list[Path]:
    # ls-files rather than a walk: what nobody committed is not the project's.
    listed = subprocess.run(
        ["git", "ls-files", "--", *patterns], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [ROOT / line for line in listed.stdout.splitlines() if (ROOT / line).is_file()]


def modules() -> list[Path]:
    found = tracked("pravega_lab/*.py", "engine/*.py", "widgets/*.py")
    return [path for path in found if not path.name.endswith("_pb2.py")]


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[1:] if parts[0] == "pravega_lab" else parts)


def home(module: str) -> str:
    """The part that a module belongs to: ``engine.store``, ``client``, ``errors``…"""
    parts = module.split(".")
    if parts[0] in ("connector", "engine") and len(parts) > 1:
        return ".".join(parts[:2])
    return "" if module == "__init__" else parts[0]


def imports(path: Path) -> Iterator[tuple[int, str]]:
    tree = ast.parse(path.read_text())
    package = module_name(path).rsplit(".", 1)[0]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            name = node.module or ""
            yield node.lineno, f"pravega_lab.{package}.{name}" if node.level else name


def calls_of(path: Path, function: str) -> list[ast.Call]:
    nodes = ast.walk(ast.parse(path.read_text()))
    return [
        n for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id == function
    ]


def test_arrows() -> None:
    wrong = []
    for path in modules():
        part = home(module_name(path))
        if part not in ARROWS:
            continue
        for line, name in imports(path):
            if name.startswith("pravega_lab"):
                target = home(name.removeprefix("pravega_lab").removeprefix("."))
                if target != part and target not in ARROWS[part] | EVERYBODYS:
                    wrong.append(
                        f"{path.relative_to(ROOT)}:{line} imports {name}; {part} may use {ARROWS[part]}"
                    )
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("folder", DECIDING)
def test_what_decides_is_given_time_chance_and_disk(folder: str) -> None:
    wrong = []
    for path in tracked(f"{folder}/*.py"):
        where = str(path.relative_to(ROOT))
        if where in MAY_TOUCH_DISK or path.name.endswith("_pb2.py"):
            continue
        for line, name in imports(path):
            top = name.split(".")[0]
            if top in BANNED:
                wrong.append(f"{where}:{line} imports {top}: {BANNED[top]}")
        wrong += [f"{where}:{call.lineno} opens a file: use Disk" for call in calls_of(path, "open")]
    assert not wrong, "\n".join(wrong)


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
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                lines = (node.end_lineno or 0) - body[0].lineno + 1 if body else 0
                if lines > FUNCTION_LINES_MAX:
                    long.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name} has {lines} lines")
    assert not long, "\n".join(long)


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        str(p.relative_to(ROOT))
        for p in modules()
        if p.read_text().strip() and not ast.get_docstring(ast.parse(p.read_text()))
    ]
    assert not silent, silent


def test_no_path_of_a_machine_and_no_registry() -> None:
    pattern = re.compile(r"/(?:work|root|home/\w+)/|\bfiles\.pythonhosted\b|\brepo1?\.maven\b|/usr/local/lib")
    wrong = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in tracked(
            "*.py", "*.md", "*.ipynb", "*.js", "*.toml", "*.sh", "*.yml", "Makefile", "binder"
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


def test_packages_in_pyproject_are_the_folders() -> None:
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    found = {"pyspark_pravega"}
    for path in tracked(
        "pravega_lab/*/__init__.py",
        "pravega_lab/__init__.py",
        "engine/*/__init__.py",
        "engine/__init__.py",
        "widgets/__init__.py",
    ):
        parts = path.relative_to(ROOT).parent.parts
        name = ".".join(parts if parts[0] == "pravega_lab" else ("pravega_lab", *parts))
        if not name.endswith(".pyspark_pravega"):
            found.add(name)
    assert listed == found


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
