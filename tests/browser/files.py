"""A file server such as any static host runs, for the pages that need no other."""

from __future__ import annotations

from http.server import SimpleHTTPRequestHandler
from typing import ClassVar


class Files(SimpleHTTPRequestHandler):
    """Serves files as any static host does."""

    extensions_map: ClassVar = {
        **SimpleHTTPRequestHandler.extensions_map, ".mjs": "text/javascript", ".wasm": "application/wasm",
    }  # fmt: skip

    def log_message(self, *_: object) -> None:
        """Say nothing."""
