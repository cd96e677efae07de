"""The build backend: setuptools, after the views' TypeScript was bundled (see bundle_views.py).

What it builds is packed again, so that equal sources give equal files (see finish.py). The version comes from
a tag (see tag_version.py).

Fresh bundles need no Node and no network, so a source archive builds without both. Where bundles are missing
or old, the build asks pip for Node.
"""

from __future__ import annotations

from pathlib import Path

from bundle_views import NODE_WHEEL, are_fresh, bundle_views
from finish import finish_sdist, finish_wheel
from setuptools import build_meta
from setuptools.build_meta import prepare_metadata_for_build_editable, prepare_metadata_for_build_wheel
from tag_version import write_version

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

Settings = dict[str, str] | None
write_version()  # each hook reads the metadata, which contains it


def _node() -> list[str]:
    return [] if are_fresh() else [NODE_WHEEL]


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """Return what building a wheel needs: Node only if the bundles are not fresh."""
    return [*build_meta.get_requires_for_build_wheel(config_settings), *_node()]


def get_requires_for_build_sdist(config_settings: Settings = None) -> list[str]:
    """Return what building a source archive needs: Node only if the bundles are not fresh."""
    return [*build_meta.get_requires_for_build_sdist(config_settings), *_node()]


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    """Return what an editable install needs: Node only if the bundles are not fresh."""
    return [*build_meta.get_requires_for_build_editable(config_settings), *_node()]


def build_wheel(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel that contains the bundles, and return its file name."""
    bundle_views()
    name = build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)
    finish_wheel(Path(wheel_directory, name))
    return name


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Build a source archive that contains the sources and the bundles, and return its file name."""
    bundle_views()
    name = build_meta.build_sdist(sdist_directory, config_settings)
    finish_sdist(Path(sdist_directory, name))
    return name


def build_editable(
    wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None
) -> str:
    """Make the bundles and an editable install, and return the file name of its wheel."""
    bundle_views()
    return build_meta.build_editable(wheel_directory, config_settings, metadata_directory)
