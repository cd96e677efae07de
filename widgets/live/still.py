"""Show a static picture where no front end waits for a widget: in notebooks that a program runs.

``nbconvert --execute`` stores the state of every widget, and prefers it to the picture in the same output.
The page that it writes would load the widget's code from the network and then wait for a kernel. So a
notebook that a program runs receives only the picture, as HTML, which alone can have an alternative text.
"""

from __future__ import annotations

import base64
from html import escape

# The page is white unless it says that it is dark: without `color-scheme` an image follows the browser.
_THEMES = (
    '<style>[data-jp-theme-light="true"] .jp-RenderedSVG{color-scheme:light}'
    '[data-jp-theme-light="false"] .jp-RenderedSVG,[data-jp-theme-light="false"] .plab-still'
    "{color-scheme:dark !important}</style>"
)
#: In a narrower pane the output scrolls: the letters of a picture that shrinks further cannot be read.
_WIDTH_PX_MIN = 640


def still(picture: str | bytes, alternative: str) -> str:
    """Return a picture (SVG text or PNG) as an HTML image with its alternative text."""
    is_svg = isinstance(picture, str)
    data = base64.b64encode(picture.encode() if isinstance(picture, str) else picture).decode()
    source = f"data:image/{'svg+xml' if is_svg else 'png'};base64,{data}"
    return (
        f'{_THEMES}<img class="plab-still" style="color-scheme: light; min-width: {_WIDTH_PX_MIN}px" '
        'width="100%" '
        f'alt="{escape(alternative)}" src="{source}">'
    )
