"""The Python of the pages runs as printed, all that they name exists, and each term has one definition."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from pravega_lab.engine.server.limits.limits import Limits

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
sys.path.insert(0, str(DOCS / "site"))
sections: Any = import_module("sections")
GLOSSARY = DOCS / "glossary.md"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("**/*.md")])
#: Pages for readers, without the specifications.
OPENING = sorted([*DOCS.glob("*.md"), *DOCS.glob("howto/*.md"), *DOCS.glob("compare/*.md")])
TRACKED = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
CELL_CHARACTERS_MAX = 120  # two lines of a rendered table
CHANGE_GROUPS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]  # of Keep a Changelog
OUTSIDE = ("http://", "https://", "mailto:")


@pytest.mark.slow
@pytest.mark.parametrize("page", ["acting.md", "client.md", "connector-flow.md", "observe.md"])
def test_the_lines_of_a_page_run_as_printed(page: str, store: str) -> None:
    text = (DOCS / page).read_text()
    names: dict[str, Any] = {"uri": store}
    blocks = list(re.finditer(r"```python\n(.*?)```", text, re.DOTALL))
    assert blocks
    for block in blocks:
        line = text[: block.start()].count("\n") + 1  # so that a traceback names the line of the page
        exec(compile("\n" * line + block[1], page, "exec"), names)


def test_the_jobs_of_the_engine_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "engine.md").read_text(), re.DOTALL)
    [files_then_stream] = [block for block in blocks if "HybridSource(" in block]
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in (blocks[0], files_then_stream):
        exec(compile(block, "engine.md", "exec"), names)
    for folder, words in (("out", {"to", "be", "or", "not"}), ("all-words", set("abcd"))):
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        assert {json.loads(line)["word"] for path in files for line in path.open()} == words


@pytest.mark.parametrize("page", ["acting.md", "howto/incident.md"])
def test_a_board_is_the_last_line_of_a_block_so_that_a_notebook_shows_it(page: str) -> None:
    blocks = re.findall(r"```python\n(.*?)\n```", (DOCS / page).read_text(), re.DOTALL)
    [made] = [block for block in blocks if re.search(r"^board = ", block, re.MULTILINE)]
    assert made.splitlines()[-1].startswith("board ")
    assert not made.splitlines()[-1].startswith("board =")


def prose(page: Path) -> str:
    """Return the text of ``page`` without its blocks of code, where ``#`` is a comment and not a heading."""
    return re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> list[str]:
    """Return the anchors that GitHub gives the headings of ``page``, in order."""
    headings = re.findall(r"^#+ +(.+?) *$", prose(page), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return [heading.replace(" ", "-") for heading in plain]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if link.startswith(OUTSIDE):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            broken.append(f"{link}: no such file")
        elif anchor and anchor not in anchors(target):
            broken.append(f"{link}: {target.name} has no such heading")
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize("page", OPENING, ids=lambda page: page.name)
def test_a_page_opens_with_what_its_reader_can_do(page: Path) -> None:
    _, _, rest = page.read_text().partition("\n\n")
    assert rest.startswith("After reading "), f"say first what a reader of {page.name} can do: {rest[:60]!r}"


@pytest.mark.parametrize("page", OPENING, ids=lambda page: page.name)
def test_a_cell_of_a_table_is_short(page: Path) -> None:
    rows = [line for line in prose(page).splitlines() if line.startswith("|")]
    cells = [re.sub(r"\]\([^)]*\)", "]", cell).strip() for row in rows for cell in row.split(" | ")]
    long = [cell for cell in cells if len(cell) > CELL_CHARACTERS_MAX]
    assert not long, "write a list or a paragraph instead: " + "\n".join(long)


@pytest.mark.parametrize("page", sorted(DOCS.glob("compare/*.md")), ids=lambda page: page.name)
def test_figures_of_a_comparison_are_in_the_pages_that_it_links(page: Path) -> None:
    """A figure that was measured again changes in all places, or the test fails."""
    checked = 0
    for block in re.split(r"\n\n|\n(?=- )", prose(page)):
        linked = [page.parent / link for link in re.findall(r"\]\(([^)#\s]+\.(?:md|ipynb))", block)]
        texts = " ".join(target.read_text() for target in linked).replace(",", "")
        numbers = re.findall(r"(?<![\w.,-])\d+[\d,.]*\d", re.sub(r"\]\([^)]*\)", "", block)) if linked else []
        missing = [number for number in numbers if number.replace(",", "") not in texts]
        assert not missing, f"{missing}: not in {[target.name for target in linked]}"
        checked += len(numbers)
    assert checked > 5


def source_of(dotted: str) -> tuple[Path, list[str]]:
    """Return the longest module or package that ``dotted`` begins with, and the names that follow it."""
    path = ROOT
    names = dotted.split(".")
    while names and ((path / names[0]).is_dir() or (path / f"{names[0]}.py").is_file()):
        path /= names.pop(0)
    return (path / "__init__.py" if path.is_dir() else path.with_suffix(".py")), names


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_empty_line_cuts_a_table(page: Path) -> None:
    """Rows after it are rendered as plain text, unless they begin a table of their own."""
    assert re.findall(r"\|\n\n(\|.*)\n(?!\|[-: |]+\n)", prose(page)) == []


def test_the_unit_file_allows_the_connections_that_the_store_serves_by_default() -> None:
    [descriptors] = re.findall(r"^LimitNOFILE=(\d+)$", (DOCS / "operations.md").read_text(), re.MULTILINE)
    assert Limits().within(int(descriptors)) == Limits()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_files_and_modules_that_a_page_names_exist(page: Path) -> None:
    text = page.read_text()
    folders = "pravega_lab|engine|widgets|tests|benchmarks|notebooks|binder|docs"
    missing = [
        name for name in re.findall(rf"`((?:{folders})/[\w./-]+)`", text) if not (ROOT / name).exists()
    ]
    for dotted in sorted(set(re.findall(r"\bpravega_lab(?:\.\w+)+", text))):
        source, names = source_of(dotted)
        if names and not re.search(rf"\b{names[0]}\b", source.read_text()):
            missing.append(f"{dotted}: {source.relative_to(ROOT)} has no {names[0]}")
    files = [f"/{file}" for file in TRACKED.stdout.split()]
    missing += [
        name
        for name in re.findall(r"`([\w/-]+\.(?:py|js|ts|java|sh|ini))`", text)
        if not any(file.endswith(f"/{name}") for file in files)
    ]
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("section", ["tutorials", "guides", "explanation"])
def test_the_page_of_a_section_links_all_its_pages(section: str) -> None:
    links = set(re.findall(r"\]\(([^)#]+)", (DOCS / f"{section}.md").read_text()))
    pages = sections.pages(section)
    assert [page for page in pages if not {f"{page}.md", f"{page}.ipynb"} & links] == []


def test_tests_that_a_page_names_exist() -> None:
    tests = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    named = {name for page in PAGES for name in re.findall(r"`(test_\w+)…?`", page.read_text())}
    assert len(named) > 10
    assert sorted(name for name in named if f"def {name}" not in tests) == []


def test_tickets_and_proposals_of_flink_are_explained() -> None:
    explained = (DOCS / "spec" / "flink.md").read_text().partition("## 14.")[2]
    tracked = [ROOT / name for name in TRACKED.stdout.splitlines() if name.endswith((".py", ".md", ".ipynb"))]
    cited = {ticket for path in tracked for ticket in re.findall(r"\bFL(?:INK|IP)-\d+", path.read_text())}
    assert len(cited) > 10
    assert sorted(ticket for ticket in cited if ticket.removeprefix("FLINK-") not in explained) == []


def terms() -> list[tuple[str, str]]:
    """Return the entries of the glossary: the term, and the text below its heading."""
    parts = re.split(
        r"^### +(.+)$", re.sub(r"^## .*$", "", GLOSSARY.read_text(), flags=re.MULTILINE), flags=re.MULTILINE
    )
    return [(term.strip(), text.strip()) for term, text in zip(parts[1::2], parts[2::2], strict=True)]


def test_each_term_is_defined_once() -> None:
    counts = Counter(re.sub(r"\W+", " ", term.casefold()) for term, _ in terms())
    assert len(counts) > 60
    assert [term for term, times in counts.items() if times > 1] == []


def test_each_term_has_a_definition_and_the_words_of_the_three_systems() -> None:
    for term, text in terms():
        definition, _, words = text.rpartition("\n\n")
        assert definition.endswith("."), f"{term}: a definition is made of sentences"
        found = re.fullmatch(r"Pravega: (.+)\. Flink: (.+)\. Spark: (.+)\.", " ".join(words.split()))
        assert found, f"{term}: its last paragraph is 'Pravega: …. Flink: …. Spark: ….', not {words!r}"


def test_the_index_of_the_glossary_lists_every_term() -> None:
    index = GLOSSARY.read_text().partition("## Index")[2].partition("## ")[0]
    assert re.findall(r"\[([^\]]+)\]", " ".join(index.split())) == sorted(
        (term for term, _ in terms()), key=str.casefold
    )


def test_links_of_the_glossary_lead_from_one_term_to_another() -> None:
    known = set(anchors(GLOSSARY))
    for term, text in terms():
        linked = re.findall(r"\]\(#([^)]+)\)", text)
        own = re.sub(r"[^\w\- ]", "", term.lower()).replace(" ", "-")
        assert set(linked) <= known - {own}, term


def test_the_changelog_has_releases_groups_and_sentences() -> None:
    """Each release has the groups of Keep a Changelog, each at most once, and entries that are sentences."""
    _, *releases = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert releases
    for number, release in enumerate(releases):
        heading, _, text = release.partition("\n")
        dated = re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d\d-\d\d", heading)
        assert dated or (number == 0 and heading == "[Unreleased]"), f"no version and date: {heading!r}"
        _, *parts = re.split(r"^### +", text, flags=re.MULTILINE)
        groups = [part.partition("\n")[0] for part in parts]
        assert groups == [group for group in CHANGE_GROUPS if group in groups], groups
        for group, part in zip(groups, parts, strict=True):
            body = re.sub(r"^#### .*$", "", part.partition("\n")[2], flags=re.MULTILINE)
            before, *entries = re.split(r"^- ", body, flags=re.MULTILINE)
            assert entries, f"{group}: an empty group is left out"
            assert not before.strip(), f"{group}: begin each change with '- ', not {before.strip()!r}"
            unended = [entry for entry in entries if not re.search(r"\.\)?$", " ".join(entry.split()))]
            assert not unended, f"{group}: end each change with a sentence: {unended}"
