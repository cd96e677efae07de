"""Make equal files of equal sources: the wheel and the source archive, packed again in one order.

setuptools stores the time and the mode of each file, so that another checkout or another umask gave another
hash. Here every file has one time (``SOURCE_DATE_EPOCH``, else 1980, which is the first that a zip can have)
and one mode. The wheel also receives its SBOM (PEP 770).
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import os
import tarfile
import time
import zipfile
from pathlib import Path

from sbom import sbom

EARLIEST_S = 315_532_800  # 1 January 1980
MODE = 0o644


def _time_s() -> int:
    return max(int(os.environ.get("SOURCE_DATE_EPOCH", EARLIEST_S)), EARLIEST_S)


def finish_wheel(wheel: Path) -> None:
    """Add the SBOM to ``wheel`` and pack it again, the folder ``.dist-info`` last."""
    with zipfile.ZipFile(wheel) as packed:
        files = {name: packed.read(name) for name in packed.namelist() if not name.endswith("/")}
    [record] = [name for name in files if name.endswith(".dist-info/RECORD")]
    info = record.removesuffix("RECORD")
    files[f"{info}sboms/pravega-lab.cdx.json"] = sbom(files[f"{info}METADATA"].decode()).encode()
    del files[record]
    names = sorted(files, key=lambda name: (name.startswith(info), name))
    lines = [f"{name},sha256={_digest(files[name])},{len(files[name])}" for name in names]
    files[record] = "\n".join([*lines, f"{record},,", ""]).encode()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in [*names, record]:
            entry = zipfile.ZipInfo(name, time.gmtime(_time_s())[:6])
            entry.external_attr = (0o100000 | MODE) << 16
            entry.create_system = 3  # Unix, on every system
            entry.compress_type = zipfile.ZIP_DEFLATED
            packed.writestr(entry, files[name])


def finish_sdist(archive: Path) -> None:
    """Pack the source archive again."""
    with tarfile.open(archive) as packed:
        found = [(entry, packed.extractfile(entry)) for entry in packed.getmembers()]
        contents = [(entry, file.read() if file else b"") for entry, file in found]
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.PAX_FORMAT) as again:
        for entry, content in sorted(contents, key=lambda pair: pair[0].name):
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mtime = _time_s()
            entry.mode = 0o755 if entry.isdir() else MODE | (0o111 if entry.mode & 0o100 else 0)
            entry.pax_headers = {}
            again.addfile(entry, io.BytesIO(content) if entry.isfile() else None)
    archive.write_bytes(gzip.compress(raw.getvalue(), mtime=_time_s()))


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
