"""What works without the optional packages, what errors say where one is needed, and how extras are named."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from pravega_lab import cli
from pravega_lab.errors import EXTRA_OF, MissingExtraError, SetupError, require
from tests.standalone import Standalone

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
USER_EXTRAS = ["fast", "pandas", "spark", "connect", "notebook", "data", "tiers", "metrics", "frames"]

BLOCK = """
import sys

class Absent:  # not None in sys.modules: pyarrow looks there for pandas
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""
STORE = """
from pravega_lab.cli import main
sys.exit(main())
"""
CLIENT = """
from pravega_lab import connect, observe
from pravega_lab.client.framing.arrays import array_framing
from pravega_lab.errors import MissingExtraError
from pravega_lab.protocol.metadata.reader_group import ReaderGroupConfig
from pravega_lab.protocol.stream_cut import UNBOUNDED

assert array_framing().__name__.endswith(".uncompiled")
events = [f"event {i}" for i in range(500)]
keys = [f"key {i % 7}" for i in range(500)]
with connect(sys.argv[1]) as client:
    stream = client.create_stream("extras/base")
    stream.write(events[:3], keys[:3])  # few events take pure Python, many take arrays
    stream.write(events[3:], keys[3:])
    with stream.read() as batches:
        read = [event.decode() for batch in batches for event in batch.column("event").to_pylist()]
    assert read == events, (len(read), read[:3])
    group = client.create_reader_group("extras/group", ReaderGroupConfig({"extras/base": UNBOUNDED}))
    with group.create_reader("reader") as reader:
        read = []
        while len(read) < 500:
            found = reader.read_next(10.0)
            assert found.event is not None, found
            read.append(found.event.decode())
    assert read == events, (len(read), read[:3])
    with observe(sys.argv[1], stream="extras/base") as watch:
        assert watch.look()
        try:
            watch.journal.to_pandas()
        except MissingExtraError as error:
            print(error)
"""


class StoreAlone(Standalone):
    """A store in a process that can import neither the optional packages nor those for arrays."""

    _absent = sorted([*EXTRA_OF, "numpy", "pyarrow", "fsspec", "rich", "tqdm"])
    command = (sys.executable, "-c", BLOCK.format(absent=_absent) + STORE)


@pytest.mark.slow
def test_store_and_client_work_with_the_base_packages_alone() -> None:
    with StoreAlone("--memory") as uri:
        code = BLOCK.format(absent=sorted(EXTRA_OF)) + CLIENT
        done = subprocess.run(
            [sys.executable, "-c", code, uri], capture_output=True, text=True, timeout=120, check=False
        )
    assert done.stderr == ""
    assert done.returncode == 0
    assert done.stdout == "this needs pandas, which is not installed: pip install 'pravega-lab[pandas]'\n"


def test_an_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "plotly", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'pravega-lab\[notebook\]'") as raised:
        require("plotly")
    assert isinstance(raised.value, SetupError)
    assert isinstance(raised.value, ImportError)
    assert raised.value.module == "plotly"
    require("pandas")


WITHOUT_NOTEBOOK = """
from pravega_lab import Lab
from pravega_lab.errors import MissingExtraError

with Lab() as lab:
    stream = lab.create_stream("extras/s")
    def views():
        import pravega_lab.widgets
        pravega_lab.widgets.show()
    for call in (lambda: lab.show(stream), lab.controls, views, views):
        try:
            call()
        except MissingExtraError as error:
            print(error)
    assert "text/html" in lab._repr_mimebundle_()[0]
"""


@pytest.mark.slow
def test_without_the_notebook_extra_a_view_says_what_to_install() -> None:
    absent = sorted(module for module, extra in EXTRA_OF.items() if extra == "notebook")
    code = BLOCK.format(absent=absent) + WITHOUT_NOTEBOOK
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stderr == ""
    said = "this needs anywidget, which is not installed: pip install 'pravega-lab[notebook]'\n"
    assert done.stdout == 4 * said


def test_a_command_without_its_packages_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for module in [name for name in sys.modules if name.startswith("pravega_lab.demo")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert cli.main(["demo", "--events", "10"]) == 1
    said = capsys.readouterr().err
    assert said == (
        "pravega-lab demo: this needs pandas, which is not installed: pip install 'pravega-lab[lab]'\n"
    )


def lines_of_the_page() -> dict[str, list[str]]:
    """Return the lines in the table of docs/install.md by the extra that they need."""
    found: dict[str, list[str]] = {}
    for line, extra in re.findall(
        r"^\| `(.*?)` \| `?(\w+)`? \|$", (ROOT / "docs" / "install.md").read_text(), re.MULTILINE
    ):
        if line.startswith(("import ", "from ")):
            found.setdefault(extra, []).append(line)
    return found


def modules_of(extra: str) -> set[str]:
    """Return the optional modules that ``extra`` installs, with the extras that it includes."""
    if extra == "none":
        return set()
    included = [name for line in EXTRAS[extra] for name in re.findall(r"pravega-lab\[(.*?)\]", line)]
    names = {extra, *(name for joined in included for name in joined.split(","))}
    return {module for module, owner in EXTRA_OF.items() if owner in names}


@pytest.mark.slow
@pytest.mark.parametrize("extra", ["none", "spark"])
def test_the_install_page_says_what_each_import_needs(extra: str) -> None:
    lines = lines_of_the_page()
    assert set(lines) == {"none", "spark"}
    code = BLOCK.format(absent=sorted(set(EXTRA_OF) - modules_of(extra)))
    code += "\n".join(lines[extra])
    for other in set(lines) - {extra, "none"}:
        for line in lines[other]:
            code += f"\ntry:\n    {line}\nexcept Exception: pass\nelse: print({line!r})"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "", "needs less than the page says"


def test_every_extra_for_users_is_in_lab() -> None:
    text = " ".join(line for extra in ("lab", "spark", "notebook") for line in EXTRAS[extra])
    for extra in set(USER_EXTRAS) - {"tiers"}:  # no tutorial needs S3
        assert re.search(rf"pravega-lab\[[^]]*\b{extra}\b", text), extra
    assert set(EXTRA_OF.values()) == set(USER_EXTRAS)


def test_packages_have_an_upper_bound() -> None:
    lines = [*PROJECT["dependencies"], *(line for extra in USER_EXTRAS for line in EXTRAS[extra])]
    floating = [line for line in lines if "pravega-lab[" not in line and not re.search(r"==|<", line)]
    assert not floating


def test_optional_packages_are_not_in_the_base() -> None:
    base = {re.split(r"[<>=;!~ ]", line)[0] for line in PROJECT["dependencies"]}
    assert not base & set(EXTRA_OF)
