"""The documentation site: ``make docs`` builds it in ``build/site`` from ``docs/`` and the tutorials.

The pages are plain Markdown, so that they read well without the site. The modules beside this one add what
only the site has: the order of the pages (`sections`), the reference (`reference_pages`), pages for links
into the code (`linked_code`), pictures of graphs (`flowcharts`), a recorded view (`recorded_view`), the
Markdown of each page for programs that read (`twins`), and what accessibility needs (`accessible`).
"""

from __future__ import annotations

import sys
from pathlib import Path

SITE = Path(__file__).resolve().parent
ROOT = SITE.parents[1]
sys.path[:0] = [str(SITE), str(ROOT)]

from pravega_lab import __version__  # noqa: E402 - a script finds the package by the line above

project = "pravega_lab"
author = "the pravega_lab authors"
copyright = f"{author}; Apache License 2.0"
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "sections",
    "constants",
    "reference_pages",
    "linked_code",
    "flowcharts",
    "recorded_view",
    "twins",
    "accessible",
]
root_doc = "docs/index"
include_patterns = [
    "docs/*.md",
    "docs/howto/*.md",
    "docs/compare/*.md",
    "docs/spec/*.md",
    "docs/api/*.rst",
    "notebooks/*.ipynb",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
]
exclude_patterns = ["notebooks/.ipynb_checkpoints"]

# The tutorials are run and compared by `make notebooks`; the site shows what they stored.
nb_execution_mode = "off"
nb_merge_streams = True
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
myst_url_schemes = {"http": None, "https": None, "mailto": None, "code": {"url": "{{path}}#{{fragment}}"}}
# Tutorials begin their sections at different levels. Stored views have a type that only JupyterLab knows. Two
# packages have a class of the same name, which a signature does not distinguish.
suppress_warnings = ["myst.header", "mystnb.unknown_mime_type", "ref.python"]

default_role = "code"
autodoc_typehints = "signature"
autodoc_class_signature = "mixed"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True  # `ScalingPolicy.fixed(1)` in a signature, and not its fields
autodoc_default_options = {"members": True, "undoc-members": False}
add_module_names = False
toc_object_entries_show_parents = "hide"
python_use_unqualified_type_names = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True  # the fields of a dataclass are described once

html_theme = "pydata_sphinx_theme"
html_title = f"pravega_lab {version}"
html_context = {"default_mode": "auto"}
html_theme_options = {
    "logo": {"text": "pravega_lab"},  # the version is at the other end of the header
    "show_version_warning_banner": False,
    "navbar_end": ["version", "theme-switcher"],
    "header_links_before_dropdown": 6,
    "footer_start": ["copyright"],
    "footer_end": ["twin"],
    "secondary_sidebar_items": ["page-toc"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_static_path = ["static"]
html_css_files = ["site.css"]
html_templates_path = templates_path = ["templates"]
html_show_sourcelink = False
html_copy_source = False
html_domain_indices = False
html_extra_path = ["root"]
