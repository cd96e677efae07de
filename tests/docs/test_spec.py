"""Citations of docs/spec resolve, and the tables there agree with the code.

How to cite: docs/spec/README.md.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import tokenize
import typing
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor

from pravega_lab.protocol.controller import controller_pb2 as pb
from pravega_lab.protocol.controller.methods import METHODS
from pravega_lab.protocol.wire.codec import COMMANDS

ROOT = Path(__file__).parents[2]
SPEC = ROOT / "docs" / "spec"
KINDS = ("*.py", "*.ts", "*.js", "*.java", "*.proto", "*.md", "*.ipynb")

ID = r"(?:[A-H][1-9]\d?(?:-\d+)?|\d+(?:\.\d+)?[a-z]?)(?![\w.]*[\w])"
CITATION = re.compile(rf"(?<![\w-])([\w-]+)\.md ({ID}(?:(?:, and|,| and| to) {ID})*)")
BARE_ID = re.compile(r"(?<![\w+#/.-])[A-E][1-9]\d?(?:-\d+)?(?![\w-])")
OLD_FORM = re.compile(
    r"\breference/[\w-]+\.md|\breference:?,? (?:[A-H]\d|[\w-]+\.md)|\b[\w-]+\.md, [A-H0-9]\d*\b"
)
HEADING_OR_ITEM = re.compile(rf"^(?:#+ |- \*\*)({ID})(?=[. ])", re.MULTILINE)


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--", *KINDS], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return [
        ROOT / name
        for name in listed.stdout.splitlines()
        # This file quotes forms that are wrong; generated modules repeat a schema.
        if (ROOT / name).is_file() and ROOT / name != Path(__file__) and not name.endswith("_pb2.py")
    ]


def one_line(text: str) -> str:
    """Return ``text`` without line ends, comment marks at the start of a line, and backticks."""
    text = re.sub(r'\\n",\s*"', "\n", text)  # the lines of a notebook's cell
    return re.sub(r"\s*\n[ \t]*(?:(?:#:?|//|\*)[ \t]+)?", " ", text).replace("`", "")


def citations(text: str) -> Iterator[tuple[str, str]]:
    """Yield (page, id) for every id that ``text`` cites."""
    for found in CITATION.finditer(one_line(text)):
        for cited in re.findall(ID, found[2]):
            yield found[1], cited


def without_citations(text: str) -> str:
    return CITATION.sub("", one_line(text))


def ids(page: str) -> set[str]:
    path = SPEC / f"{page}.md"
    return set(HEADING_OR_ITEM.findall(path.read_text())) if path.is_file() else set()


def prose(path: Path) -> str:
    """Return the comments and docstrings of a Python file, and the whole text of any other."""
    text = path.read_text()
    if path.suffix != ".py":
        return text
    parts = [
        t.string for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.type == tokenize.COMMENT
    ]
    parts += [
        node.value.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    ]
    return "\n\n".join(parts)


def test_every_citation_resolves() -> None:
    known = {path.stem: ids(path.stem) for path in SPEC.glob("*.md")}
    wrong = [
        f"{path.relative_to(ROOT)}: {page}.md {cited}"
        for path in tracked()
        for page, cited in citations(path.read_text())
        if cited not in known.get(page, set())
    ]
    assert not wrong, (
        "cite a page of docs/spec and an id that is a heading or bold item there:\n" + "\n".join(wrong)
    )


def test_citations_have_one_form() -> None:
    wrong = []
    for path in tracked():
        if path.is_relative_to(SPEC):
            continue
        wrong += [
            f"{path.relative_to(ROOT)}: {found[0]}" for found in OLD_FORM.finditer(one_line(path.read_text()))
        ]
        if not BARE_ID.search(path.read_text()):
            continue  # most files: saves reading them as Python
        text = without_citations(prose(path))
        # In other files, an id in the midst of code or data means nothing.
        bare = BARE_ID if path.suffix == ".py" else re.compile(rf"\({BARE_ID.pattern}")
        wrong += [f"{path.relative_to(ROOT)}: {found[0]} without a page" for found in bare.finditer(text)]
    assert not wrong, "write <page>.md <id>, as docs/spec/README.md says:\n" + "\n".join(wrong)


def test_ids_alone_are_of_the_same_page() -> None:
    wrong = [
        f"{path.name}: {found[0]}"
        for path in SPEC.glob("*.md")
        if path.name != "README.md"
        for found in BARE_ID.finditer(without_citations(path.read_text()))
        if found[0] not in ids(path.stem)
    ]
    assert not wrong, "no such heading on the page; name the other page before the id:\n" + "\n".join(wrong)


def test_ids_are_unique() -> None:
    for path in SPEC.glob("*.md"):
        found = HEADING_OR_ITEM.findall(path.read_text())
        assert len(found) == len(set(found)), f"{path.name} defines an id twice"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(pravega.md A10)", [("pravega", "A10")]),
        ("pravega.md A5,\n    A9 and E3-14.", [("pravega", "A5"), ("pravega", "A9"), ("pravega", "E3-14")]),
        ("# pravega.md\n# D1 to D5", [("pravega", "D1"), ("pravega", "D5")]),
        ("flink.md 13.2; spark.md 5.", [("flink", "13.2"), ("spark", "5")]),
        ("real-pravega.md 5b", [("real-pravega", "5b")]),
        ('"see pravega.md\\n",\n    "A3"', [("pravega", "A3")]),
        ("[options](spark.md)", []),
    ],
)
def test_what_a_citation_is(text: str, expected: list[tuple[str, str]]) -> None:
    assert list(citations(text)) == expected


@pytest.mark.parametrize(
    "text", ["(reference D3)", "reference/spark.md 11", "reference: spark.md 12", "pravega.md, B5"]
)
def test_old_forms_are_found(text: str) -> None:
    assert OLD_FORM.search(text)


# ---- tables ---------------------------------------------------------------------------------------


def wire_fields(command: type) -> str:
    """Return the fields of a command as the table of D2 writes them."""
    hints = typing.get_type_hints(command, include_extras=True)
    written = [f"{typing.get_args(hints[field.name])[1]} {field.name}" for field in fields(command)]
    return ", ".join(written) or "(none)"


def test_the_table_of_commands_is_the_code() -> None:
    page = (SPEC / "pravega.md").read_text()
    rows = [
        line.strip("| ").split(" | ") for line in page.splitlines() if re.match(r"\| -?\d+ \| [A-Z]", line)
    ]
    table = {int(row[0]): (row[1], row[4]) for row in rows if len(row) == 5}
    assert table == {command.code: (command.__name__, wire_fields(command)) for command in COMMANDS}


def message_fields(message: Descriptor) -> str:
    """Return the fields of a message as the table of D7 writes them."""
    return (
        ", ".join(f"{field.name} {field.number}: {message_type(field)}" for field in message.fields)
        or "(none)"
    )


def message_type(field: FieldDescriptor) -> str:
    names = {
        getattr(FieldDescriptor, name): name.removeprefix("TYPE_").lower()
        for name in dir(FieldDescriptor)
        if name.startswith("TYPE_")
    }
    nested = field.message_type
    if nested is not None and nested.GetOptions().map_entry:
        key, value = nested.fields
        return f"map<{names[key.type]}, {names[value.type]}>"
    if field.enum_type is not None:
        return "{" + ", ".join(value.name for value in field.enum_type.values) + "}"
    one = nested.name if nested is not None else names[field.type]
    return f"repeated {one}" if field.is_repeated else one


def test_the_tables_of_calls_and_messages_are_the_code() -> None:
    lines = (SPEC / "pravega.md").read_text().splitlines()
    for message in pb.DESCRIPTOR.message_types_by_name.values():
        for one in [message, *(m for m in message.nested_types if not m.GetOptions().map_entry)]:
            assert f"| {one.name} | {message_fields(one)} |" in lines, one.name
    for method in METHODS.values():
        row = f"| {method.name} | {method.request.DESCRIPTOR.name} → {method.response.DESCRIPTOR.name} | "
        assert any(line.startswith(row) for line in lines), row
