"""The JavaScript of a view as one text: a module loaded from a blob cannot import its neighbour."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./[a-z_]+\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:const|class|function)\b)", re.MULTILINE)


@cache
def module(*names: str) -> str:
    """The files one after another; imports between them are left out, and all exports but the default one."""
    texts = [(FOLDER / name).read_text(encoding="utf-8") for name in names]
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", text)) for text in texts)


@cache
def style() -> str:
    """The style sheet of all views."""
    return (FOLDER / "common.css").read_text(encoding="utf-8")
