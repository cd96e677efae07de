"""The software bill of materials of the wheel, in CycloneDX 1.6.

The wheel contains code of this project only. The bill names the packages that it needs at run time, with the
versions that it accepts, and esbuild, which bundled the views.
"""

from __future__ import annotations

import json
import re
import uuid
from email.parser import Parser
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)\s*(?:\[[^]]*\])?\s*(?P<range>[^;]*?)\s*(?:;\s*(?P<marker>.+))?")
EXTRA = re.compile(r"""extra\s*==\s*["']([\w-]+)["']""")
DEVELOPING = "dev"


def sbom(metadata: str) -> str:
    """Return the bill of a wheel whose ``METADATA`` is ``metadata``: JSON, equal for equal metadata."""
    fields = Parser().parsestr(metadata)
    name, version = fields["Name"], fields["Version"]
    parts = _requirements(fields.get_all("Requires-Dist", []), name)
    root = {
        "type": "library",
        "bom-ref": "root",
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{name}@{version}",
        "licenses": [{"license": {"id": "Apache-2.0"}}],
    }
    bill: dict[str, Any] = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": root, "tools": {"components": [_esbuild()]}},
        "components": list(parts.values()),
        "dependencies": [{"ref": "root", "dependsOn": [part["bom-ref"] for part in parts.values()]}],
    }
    identity = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bill, sort_keys=True))
    return json.dumps({"serialNumber": f"urn:uuid:{identity}", **bill}, indent=1, sort_keys=True) + "\n"


def _requirements(lines: list[str], own_name: str) -> dict[str, dict[str, Any]]:
    """Return a component for each package that ``Requires-Dist`` names, in the order of names."""
    found: dict[str, dict[str, Any]] = {}
    for line in sorted(lines):
        match = REQUIREMENT.fullmatch(line)
        if match is None:
            raise ValueError(f"no requirement: {line!r}")
        name = re.sub(r"[-_.]+", "-", match["name"]).lower()
        extra = EXTRA.search(match["marker"] or "")
        if name == own_name or (extra and extra[1] == DEVELOPING):
            continue
        part = found.setdefault(
            name,
            {
                "type": "library",
                "bom-ref": name,
                "name": name,
                "purl": f"pkg:pypi/{name}",
                "scope": "optional",
                "properties": [{"name": "pravega_lab:versions", "value": match["range"].strip("()")}],
            },
        )
        if extra is None:
            part["scope"] = "required"
    return dict(sorted(found.items()))


def _esbuild() -> dict[str, str]:
    locked = json.loads((ROOT / "package-lock.json").read_text())["packages"]["node_modules/esbuild"]
    version = locked["version"]
    return {
        "type": "application",
        "name": "esbuild",
        "version": version,
        "purl": f"pkg:npm/esbuild@{version}",
    }
