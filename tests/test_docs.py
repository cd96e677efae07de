"""The Python of the pages runs as it is printed, each page's blocks in their order."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parent.parent / "docs"


@pytest.mark.parametrize("page", ["acting.md", "client.md", "connector-flow.md", "observe.md"])
def test_the_lines_of_a_page_run_as_printed(page: str, store: str) -> None:
    text = (DOCS / page).read_text()
    names: dict[str, Any] = {"uri": store}
    blocks = list(re.finditer(r"```python\n(.*?)```", text, re.DOTALL))
    assert blocks
    for block in blocks:
        line = text[: block.start()].count("\n") + 1  # so that a traceback names the line of the page
        exec(compile("\n" * line + block[1], page, "exec"), names)
