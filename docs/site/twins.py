"""Write the Markdown of each page beside its HTML, and ``llms.txt``, which lists them for programs.

A page of Markdown keeps its text, and a tutorial becomes its text, its code and what it printed. A page of
the reference is made of directives: `markdown` turns its document tree into text. Links lead from one
Markdown page to another, and to the pages with code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from os.path import relpath
from pathlib import Path

import linked_code
import nbformat
from docutils import nodes
from sections import SECTIONS, pages, place
from sphinx import addnodes
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
ABOUT = (
    "pravega_lab is a laboratory for streaming storage in JupyterLab: an embedded Pravega, a client, "
    "a connector to Spark, a checkpointing engine, and live views of them."
)
FENCE = re.compile(r"^(```.*?^```)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"(!?)\[([^\]\[]*)\]\(([^)\s#:]+)(#[^)\s]*)?(?: \"[^\"]*\")?\)")
LISTS = (nodes.bullet_list, nodes.enumerated_list)
WITHOUT_TEXT = (nodes.comment, nodes.target, nodes.image, nodes.raw, addnodes.index)


def notebook_text(path: Path) -> str:
    """Return the text, the code and the printed output of a notebook as Markdown."""
    parts = []
    for cell in nbformat.read(path, nbformat.NO_CONVERT).cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        elif cell.cell_type == "code":
            parts.append(f"```python\n{cell.source}\n```")
            printed = "".join(_printed(output) for output in cell.outputs)
            if printed.strip():
                parts.append(f"```text\n{printed.rstrip()}\n```")
    return "\n\n".join(parts) + "\n"


def _printed(output: nbformat.NotebookNode) -> str:
    if output.output_type == "stream":
        return str(output.text)
    return str(output.get("data", {}).get("text/plain", ""))


def with_links(text: str, page: str, known: Iterable[str]) -> str:
    """Return Markdown whose links lead to files of the site; a link to any other file becomes its words.

    Args:
        text: The source of a page, whose links lead to files of the repository.
        page: The name of the page, such as ``docs/install``.
        known: The names of all pages.
    """
    names, folder = set(known), Path(page).parent

    def replace(found: re.Match[str]) -> str:
        mark, words, target, anchor = found.groups("")
        if mark:
            return f"![{words}]({relpath(f'_images/{Path(target).name}', folder)})"
        name = relpath(folder / target, ".")
        stem = name.removesuffix(".md").removesuffix(".ipynb")
        if stem in names:
            return f"[{words}]({relpath(f'{stem}.md', folder)}{anchor})"
        line = re.match(r"#L(\d+)", anchor)
        if linked_code.LINK.match(f"]({target}") and (
            code := linked_code.place(ROOT / name, line[1] if line else "")
        ):
            return f"[{words}]({relpath(f'{linked_code.FOLDER}/{code[0]}.html', folder)}#{code[1]})"
        return words

    parts = FENCE.split(text)
    return "".join(part if part.startswith("```") else LINK.sub(replace, part) for part in parts)


def markdown(tree: nodes.Node, level: int = 1) -> str:
    """Return a resolved document tree as Markdown; ``level`` is that of its first heading."""
    return "\n\n".join(block for block in _blocks(tree, level) if block.strip()) + "\n"


def _blocks(node: nodes.Node, level: int) -> Iterator[str]:
    """Yield the blocks of text of a node."""
    if isinstance(node, WITHOUT_TEXT):
        return
    if isinstance(node, nodes.section):
        for child in node.children:
            yield from _blocks(child, level + (not isinstance(child, nodes.title)))
    elif isinstance(node, nodes.title):
        yield f"{'#' * level} {_inline(node)}"
    elif isinstance(node, addnodes.desc):
        yield from _entry(node, level)
    elif isinstance(node, nodes.rubric):
        yield f"**{_inline(node)}**"
    elif isinstance(node, nodes.literal_block):
        yield f"```{node.get('language', 'text')}\n{node.astext()}\n```"
    elif isinstance(node, LISTS):
        yield "\n".join(_item(item, level) for item in node.children)
    elif isinstance(node, nodes.field):
        name, body = node.children
        yield f"**{_inline(name)}**:"
        yield from _blocks(body, level)
    elif isinstance(node, nodes.definition_list_item):
        yield from (f"**{_inline(child)}**" for child in node.children if isinstance(child, nodes.term))
        yield from (b for child in node.findall(nodes.definition) for b in _blocks(child, level))
    elif isinstance(node, nodes.TextElement) and not any(isinstance(child, LISTS) for child in node.children):
        yield _inline(node)
    else:
        for child in node.children:
            yield from _blocks(child, level)


def _entry(node: nodes.Element, level: int) -> Iterator[str]:
    """Yield a public name: its signature as a heading, and below it what its docstring says."""
    for child in node.children:
        if isinstance(child, addnodes.desc_signature):
            yield f"{'#' * level} `{' '.join(child.astext().split())}`"
        else:
            yield from _blocks(child, level + 1)


def _item(item: nodes.Node, level: int) -> str:
    text = "\n\n".join(block for child in item.children for block in _blocks(child, level))
    return "- " + text.replace("\n", "\n  ").replace("\n  \n", "\n\n")


def _inline(node: nodes.Node) -> str:
    """Return the text of a node in one line, with its marks."""
    if isinstance(node, nodes.Text):
        return " ".join(re.split(r"\s+", node.astext()))
    if isinstance(node, nodes.literal):
        return f"`{node.astext()}`"
    text = "".join(_inline(child) for child in node.children)
    if isinstance(node, nodes.strong):
        return f"**{text}**"
    if isinstance(node, nodes.emphasis):
        return f"*{text}*"
    if isinstance(node, nodes.reference) and node.get("refuri"):
        target = re.sub(r"\.html(#.*)?$", ".md", node["refuri"]) if node.get("internal") else node["refuri"]
        return f"[{text}]({target})"
    return text


def contents(titles: dict[str, str], notes: dict[str, str]) -> str:
    """Return ``llms.txt``: the pages in the sections of the site, each with its first sentence.

    Args:
        titles: The title of each page, by its name.
        notes: What a reader can do after reading a page, where the page says so.
    """
    lines, left = [f"# pravega_lab\n\n> {ABOUT}\n"], dict(titles)
    for section in SECTIONS:
        listed = [f"docs/{section}", *(relpath(f"docs/{place(page)}") for page in pages(section))]
        if section == "reference":
            listed += sorted(page for page in left if page.startswith(("docs/api/", "docs/spec/")))
        here = [page for page in dict.fromkeys(listed) if page in left]
        lines.append(f"## {section.capitalize()}\n")
        lines += [_line(page, left.pop(page), notes) for page in here]
        lines.append("")
    if left:
        lines += ["## More\n", *(_line(page, title, notes) for page, title in sorted(left.items())), ""]
    return "\n".join(lines)


def _line(page: str, title: str, notes: dict[str, str]) -> str:
    note = f": {notes[page]}" if page in notes else ""
    return f"- [{title}]({page}.md){note}"


def _note(text: str) -> str:
    """Return what a page says that its readers can do, or nothing if it does not say it."""
    found = re.search(r"After reading this page you (?:can|know) (.*?)\.(?:\s|$)", text, re.DOTALL)
    return " ".join(LINK.sub(r"\2", found[1]).split()) if found else ""


def _write(app: Sphinx, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    titles, notes, known = {}, {}, set(app.env.found_docs)
    for page in sorted(known):
        source = Path(app.env.doc2path(page))
        if source.suffix == ".rst":
            text = markdown(app.env.get_and_resolve_doctree(page, app.builder))
        else:
            whole = notebook_text(source) if source.suffix == ".ipynb" else source.read_text()
            text = with_links(whole, page, known)
        twin = Path(app.outdir) / f"{page}.md"
        twin.parent.mkdir(parents=True, exist_ok=True)
        twin.write_text(text)
        titles[page] = app.env.titles[page].astext()
        if note := _note(text):
            notes[page] = note
    (Path(app.outdir) / "llms.txt").write_text(contents(titles, notes))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True}
