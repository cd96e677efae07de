"""Draw the ``mermaid`` flowcharts of the pages while the site is built: no page runs a script for them.

Only ``flowchart TD`` with lines ``a --> b`` or ``a`` is drawn; anything else is an error of the build.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```mermaid\n(.*?)^```$", re.DOTALL | re.MULTILINE)
EDGE = re.compile(r"([\w.]+)(?: --> ([\w.]+))?")
NODE_PROGRAM = """
import { instance } from "@viz-js/viz";
let dot = "";
for await (const part of process.stdin) dot += part;
process.stdout.write((await instance()).renderString(dot, { format: "svg" }));
"""
#: Graphviz knows no `currentColor`, so this stands for it until the SVG is there.
INK = "#010203"


def svg(chart: str, page: str) -> str:
    """Return the SVG of a flowchart.

    Raises:
        ExtensionError: A line is none of the known forms, or Node or the layout program is absent.
    """
    head, *lines = [line.strip() for line in chart.strip().splitlines()]
    if head != "flowchart TD":
        raise ExtensionError(f"{page}: a chart begins with 'flowchart TD', not {head!r}")
    edges = []
    for line in lines:
        found = EDGE.fullmatch(line)
        if found is None:
            raise ExtensionError(f"{page}: a line of a chart is 'a --> b' or 'a', not {line!r}")
        edges.append(f'"{found[1]}" -> "{found[2]}"' if found[2] else f'"{found[1]}"')
    style = f'color="{INK}" fontcolor="{INK}" fontname="sans-serif" fontsize=13'
    dot = "\n".join(
        [
            'digraph { bgcolor="transparent"',
            f'node [shape=box style=rounded margin="0.2,0.1" {style}]',
            f"edge [{style}]",
            *edges,
            "}",
        ]
    )
    node = Path(sys.executable).with_name("node")
    drawn = subprocess.run(
        [node, "--input-type=module", "-e", NODE_PROGRAM],
        input=dot,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if drawn.returncode:
        raise ExtensionError(f"{page}: the chart was not drawn. Run 'npm ci'. {drawn.stderr.strip()}")
    names = ", ".join(line.replace("-->", "imports") for line in lines)
    picture = drawn.stdout[drawn.stdout.index("<svg") :].replace(INK, "currentColor")
    return picture.replace("<svg", f'<svg role="img" aria-label="{names}"', 1)


def _draw(app: Sphinx, page: str, source: list[str]) -> None:
    def replace(found: re.Match[str]) -> str:
        return f'```{{raw}} html\n<div class="flowchart">{svg(found[1], page)}</div>\n```'

    if not page.startswith("notebooks/"):
        source[0] = BLOCK.sub(replace, source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("source-read", _draw)
    return {"parallel_read_safe": True}
