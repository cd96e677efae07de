"""Check that every link of the built site leads to a file, and to an anchor that the file has.

    python docs/site/check_links.py build/site

Links to other sites are not followed, but no page may load a script, a style, a font or a picture from one.
The Markdown of the pages, and ``llms.txt``, may link to files of the site and to other sites alone.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links, the anchors and the loaded files of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element refers to."""
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name == "href" and value:
                (self.links if tag == "a" else self.loads).append(value)
            elif name == "src" and value:
                self.loads.append(value)


#: A link or a picture of Markdown, and blocks of code, which have no links.
MARKDOWN_LINK = re.compile(r"\]\(([^)\s#]+)[^)]*\)")
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
OTHERS = {"_static", "lite"}  # JupyterLite's own pages are made of links by a script


def broken_markdown(site: Path) -> list[str]:
    """Return a line for each link in the Markdown of the pages that leads to no file of ``site``."""
    found = []
    for path in [site / "llms.txt", *site.rglob("*.md")]:
        name = path.relative_to(site)
        if OTHERS & set(name.parts):
            continue
        links = MARKDOWN_LINK.findall(FENCE.sub("", path.read_text()))
        inside = [link for link in links if not urlsplit(link).scheme]
        found += [
            f"{name}: {link}: no such file" for link in inside if not (path.parent / unquote(link)).is_file()
        ]
    return found


def broken_links(site: Path) -> list[str]:
    """Return a line for each link of ``site`` that leads nowhere."""
    ours = (path for path in site.rglob("*.html") if not OTHERS & set(path.relative_to(site).parts))
    pages = {path.resolve(): Page(path) for path in ours}
    found = []
    for path, page in pages.items():
        for link in [*page.links, *page.loads]:
            parts = urlsplit(link)
            name = path.relative_to(site.resolve())
            if parts.scheme in ("data", "mailto", "javascript"):
                continue
            if parts.scheme or parts.netloc:
                if link in page.loads:
                    found.append(f"{name}: loads {link} from another site")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                found.append(f"{name}: {link}: no such file")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{name}: {link}: no such anchor")
    return sorted(set(found))


def main() -> int:
    """Print what is broken; return 1 if anything is."""
    site = Path(sys.argv[1])
    broken = broken_links(site) + broken_markdown(site)
    print("\n".join(broken) or f"every link of the {len(list(site.rglob('*.html')))} pages leads somewhere")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
