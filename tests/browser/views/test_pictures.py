"""Static pictures follow their page, and not the browser: white on a white page, dark on a dark one."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import pytest

from pravega_lab.widgets import SegmentMap
from pravega_lab.widgets.live.still import still
from tests.observe.examples import splitting_story

WHITE, DARK = (255, 255, 255), (17, 17, 17)
PAGES = {
    "says nothing": ("", WHITE),
    "is light": ('data-jp-theme-light="true"', WHITE),
    "is dark": ('data-jp-theme-light="false"', DARK),
}


def colour_at(page: Any, selector: str) -> tuple[int, ...]:
    """The colour on the screen, at the right edge of an element, where the picture is empty."""
    box = page.locator(selector).bounding_box()
    clip = {"x": box["x"] + box["width"] - 4, "y": box["y"] + box["height"] - 4, "width": 1, "height": 1}
    image = page.screenshot(clip=clip)
    at, data = 8, b""
    while at < len(image):
        length, kind = struct.unpack_from(">I4s", image, at)
        data += image[at + 8 : at + 8 + length] if kind == b"IDAT" else b""
        at += 12 + length
    return tuple(zlib.decompress(data)[1:4])


@pytest.mark.parametrize("browser_is", ["light", "dark"])
@pytest.mark.parametrize("page_is", PAGES)
def test_a_picture_follows_its_page(browser: Any, page_is: str, browser_is: Any) -> None:
    attributes, ground = PAGES[page_is]
    picture = SegmentMap(splitting_story().journal).picture()[1]
    page = browser.new_page(color_scheme=browser_is, viewport={"width": 900, "height": 1200})
    page.set_content(f"<!doctype html><body {attributes}>{still(picture, 'a map')}{picture}</body>")
    assert colour_at(page, "img[alt='a map']") == ground
    assert colour_at(page, "body > svg") == ground
    page.close()


def test_a_page_for_both_gets_what_the_browser_wants(browser: Any) -> None:
    picture = SegmentMap(splitting_story().journal).picture()[1]
    for browser_is, ground in (("light", WHITE), ("dark", DARK)):
        page = browser.new_page(color_scheme=browser_is, viewport={"width": 900, "height": 700})
        page.set_content(f"<!doctype html><style>:root{{color-scheme: light dark}}</style>{picture}")
        assert colour_at(page, "svg[role=img]") == ground
        page.close()
