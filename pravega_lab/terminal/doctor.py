"""``pravega-lab doctor``: what this machine has, a line each, and what to do if a line is red.

A check returns a :class:`Finding`. No check changes anything. The exit code is 0 only if nothing is red.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from pravega_lab.errors import SetupError

GIB = 1024**3
FREE_DISK_BYTES_MIN = 2 * GIB
PORTS = (("controller", 9090), ("segment store", 12345))
#: The first one is the same browser without windows, which takes a third less processor time.
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
PYTHON_MIN = (3, 11)
PYTHON_TESTED_MAX = (3, 14)
# What `make test` runs with; other versions may work.
TESTED = {"pyspark": "4.3.0", "jupyterlab": "4.6.6", "anywidget": "0.11.0", "plotly": "7.1.0"}


@dataclass(frozen=True)
class Finding:
    """A result: ``level`` is "ok", "note" (works, with a remark) or "red"; ``remedy`` is the next step."""

    name: str
    level: str
    found: str
    remedy: str = ""


def check_python() -> Iterator[Finding]:
    """Check the version of Python."""
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < PYTHON_MIN:
        yield Finding("python", "red", found, "install Python 3.11 or newer")
    elif sys.version_info[:2] > PYTHON_TESTED_MAX:
        yield Finding("python", "note", found, "tested with 3.11 to 3.14")
    else:
        yield Finding("python", "ok", found)


def check_versions() -> Iterator[Finding]:
    """Check the versions of the packages."""
    for package, tested in TESTED.items():
        try:
            found = version(package)
        except PackageNotFoundError:
            remedy = "pip install 'pravega-lab[lab]' where Spark and notebooks are wanted"
            yield Finding(package, "note", "not installed", remedy)
            continue
        if found == tested:
            yield Finding(package, "ok", found)
        else:
            yield Finding(package, "note", found, f"tested with {tested}")


def has_spark() -> bool:
    """Return whether pyspark is installed in this Python, in any version."""
    return find_spec("pyspark") is not None


def check_java() -> Iterator[Finding]:
    """Check that there is a Java for Spark, which is no fault where Spark is not installed."""
    from pravega_lab.connector.spark.session.java import find_java

    try:
        java = find_java()
    except Exception as error:
        level = "red" if has_spark() else "note"
        yield Finding("java", level, str(error), "pip install 'pravega-lab[spark]' brings one")
        return
    yield Finding("java", "ok", f"{java.version} ({java.source})")


def check_spark() -> Iterator[Finding]:
    """Check that Spark's workers can run the data source, and that Spark finds it by itself.

    Spark searches with ``pkgutil.iter_modules``, which does not see modules behind import hooks.
    """
    from pravega_lab.connector.spark import worker_python
    from pravega_lab.connector.spark.session.registration import installed_spark

    try:
        installed_spark()
    except SetupError as error:
        yield Finding("spark", "red" if has_spark() else "note", str(error))
        return
    search, tasks = worker_python.search_python(os.environ), worker_python.tasks_python(os.environ)
    submitted = worker_python.submit_python(os.environ)
    probes = {python: worker_python.probe(python.command) for python in (search, tasks, submitted) if python}
    for python, probe in probes.items():
        found = f"{probe.executable} ({python.source})"
        if probe.fault:
            level = "note" if python.source == "PATH" else "red"
            remedy = worker_python.remedy(python, os.environ)
            yield Finding("spark workers", level, f"{found}: this Python {probe.fault}", remedy)
        elif probe.is_own:
            yield Finding("spark workers", "ok", f"{found}, of this environment")
        else:
            yield Finding("spark workers", "ok", f"{found}, of another environment that has the packages")
    if probes[search].discovers and not probes[search].fault:
        yield Finding("spark discovery", "ok", 'format("pravega") is found by itself')
        return
    remedy = "call pravega_lab.register(spark) or use Lab().spark"
    if not probes[search].fault:
        remedy += ", or reinstall an editable install with --config-settings editable_mode=strict"
    yield Finding("spark discovery", "note", 'format("pravega") is not found by itself', remedy)


def check_ports() -> Iterator[Finding]:
    """Check that the ports of a store are free."""
    for name, port in PORTS:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError as error:
                remedy = "stop what listens there, or give another port (0 takes a free one; Lab() does that)"
                yield Finding(f"port {port}", "note", f"{name}: {error.strerror}", remedy)
            else:
                yield Finding(f"port {port}", "ok", f"{name}: free")


def check_disk() -> Iterator[Finding]:
    """Check the free space on the disk."""
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    found = f"{free / GIB:.1f} GiB free in {folder}"
    if free < FREE_DISK_BYTES_MIN:
        yield Finding(
            "disk", "red", found, "free some space, or set TMPDIR; appends are refused on a full disk"
        )
    else:
        yield Finding("disk", "ok", found)


def find_browser() -> str | None:
    """Return the path of the browser for the tests, or None where there is none."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def check_browser() -> Iterator[Finding]:
    """Check that there is a browser for the tests."""
    path = find_browser()
    remedy = "only the browser tests need it: apt-get install chromium-headless-shell"
    if path is None:
        yield Finding("chromium", "note", "not found", remedy)
        return
    try:
        said = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        yield Finding("chromium", "note", f"{path} does not run: {error}", remedy)
        return
    yield Finding("chromium", "ok", said.stdout.strip() or "found")


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    check_python,
    check_java,
    check_versions,
    check_spark,
    check_ports,
    check_disk,
    check_browser,
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add nothing: ``doctor`` takes no arguments."""


def run(_args: argparse.Namespace) -> int:
    """Print a line for each finding; return 1 if one of them is red."""
    findings = [finding for check in CHECKS for finding in check()]
    marks = {"ok": "ok  ", "note": "note", "red": "RED "}
    for finding in findings:
        remedy = f"  -> {finding.remedy}" if finding.remedy else ""
        print(f"{marks[finding.level]}  {finding.name:<16} {finding.found}{remedy}")
    return int(any(finding.level == "red" for finding in findings))
