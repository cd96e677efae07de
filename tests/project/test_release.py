"""What a release contains: equal files of equal sources, a bill of materials, and one version everywhere."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.project.test_packaging import ROOT, copy_checkout

sys.path.insert(0, str(ROOT / "build_backend"))
import check_tag
import tag_version

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def build(folder: Path, umask: str, year: int) -> tuple[Path, Path]:
    """Build wheel and source archive of a copy of the checkout, whose files have other modes and times."""
    checkout, out = folder / "checkout", folder / "out"
    copy_checkout(checkout)
    for path in checkout.rglob("*"):
        if path.is_file() and not path.is_symlink():
            path.chmod(path.stat().st_mode & ~int(umask, 8))
            os.utime(path, (365 * 86_400 * (year - 1970),) * 2)
    environ = {k: v for k, v in os.environ.items() if k != "SOURCE_DATE_EPOCH"}
    code = f"import with_views as b; b.build_sdist({str(out)!r}); b.build_wheel({str(out)!r})"
    done = subprocess.run(
        ["sh", "-c", f'umask {umask}; mkdir "$1"; "$2" -c "$3"', "sh", out, sys.executable, code],
        cwd=checkout,
        env={**environ, "PYTHONPATH": "build_backend"},
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    [wheel], [sdist] = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Path, Path]]:
    return [
        build(tmp_path_factory.mktemp("first"), "022", 2001),
        build(tmp_path_factory.mktemp("second"), "077", 2024),
    ]


@pytest.mark.slow
def test_two_builds_give_equal_files(twice: list[tuple[Path, Path]]) -> None:
    """Another umask and other times of files gave another hash."""
    digests = [[hashlib.sha256(path.read_bytes()).hexdigest() for path in paths] for paths in twice]
    assert digests[0] == digests[1]
    with tarfile.open(twice[0][1]) as archive:  # which is built without git
        assert any(name.endswith(f"/{tag_version.FILE}") for name in archive.getnames())


@pytest.mark.slow
def test_wheel_and_source_archive_contain_the_bundles(twice: list[tuple[Path, Path]]) -> None:
    wheel, sdist = twice[0]
    views = {path.parent.name for path in ROOT.glob("widgets/*/index.ts")}
    wanted = {
        f"pravega_lab/widgets/bundles/{name}"
        for name in ("style.css", "sources.sha256", *(f"{v}.js" for v in views))
    }
    assert len(wanted) > 7
    with zipfile.ZipFile(wheel) as files, tarfile.open(sdist) as archive:
        assert wanted <= set(files.namelist())
        assert not [name for name in files.namelist() if name.endswith(".ts")]
        assert wanted <= {name.partition("/")[2] for name in archive.getnames()}


@pytest.mark.slow
def test_the_record_of_the_wheel_is_right(twice: list[tuple[Path, Path]]) -> None:
    with zipfile.ZipFile(twice[0][0]) as wheel:
        [record] = [name for name in wheel.namelist() if name.endswith(".dist-info/RECORD")]
        rows = list(csv.reader(wheel.read(record).decode().splitlines()))
        assert [row[0] for row in rows] == wheel.namelist()
        for name, digest, size in rows[:-1]:
            content = wheel.read(name)
            sha = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            assert (digest, int(size)) == (f"sha256={sha}", len(content)), name


@pytest.mark.slow
def test_the_bill_of_materials_names_what_the_wheel_needs(twice: list[tuple[Path, Path]]) -> None:
    with zipfile.ZipFile(twice[0][0]) as wheel:
        [place] = [name for name in wheel.namelist() if "/sboms/" in name]
        bill: dict[str, Any] = json.loads(wheel.read(place))
    assert re.fullmatch(r"pravega_lab-[\w.]+\.dist-info/sboms/[\w-]+\.cdx\.json", place)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert bill["metadata"]["component"]["version"] == tag_version.UNKNOWN  # a copy without git
    scopes = {part["name"]: part["scope"] for part in bill["components"]}
    needed = {canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"]}
    assert {name for name, scope in scopes.items() if scope == "required"} == needed
    assert scopes["pyspark"] == "optional"
    assert "zizmor" not in scopes
    [pyspark] = [part for part in bill["components"] if part["name"] == "pyspark"]
    assert pyspark["properties"][0]["value"] == "==4.3.0"


def tagged(root: Path, *commits: str) -> Path:
    """A repository with these commits; those that are versions are tagged."""
    (root / "pravega_lab").mkdir(parents=True)
    (root / "CHANGELOG.md").write_text("# Changelog\n")
    git = ["git", "-C", str(root), "-c", "user.name=n", "-c", "user.email=e@example.com"]
    subprocess.run([*git, "init", "-q"], check=True)
    for commit in commits:
        subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", commit], check=True)
        if commit.startswith("v"):
            subprocess.run([*git, "tag", commit], check=True)
    return root


def test_the_version_comes_from_the_newest_tag(tmp_path: Path) -> None:
    assert tag_version.version(tagged(tmp_path / "release", "first", "v1.2.3")) == "1.2.3"
    assert tag_version.version(tagged(tmp_path / "later", "v1.2.3", "one", "two")) == "1.2.4.dev2"
    assert tag_version.version(tagged(tmp_path / "untagged", "first")) == tag_version.UNKNOWN
    assert f'"{tag_version.UNKNOWN}"' in (ROOT / "pravega_lab/__init__.py").read_text()


def test_a_source_archive_keeps_the_version_of_its_tag(tmp_path: Path) -> None:
    checkout = tagged(tmp_path / "checkout", "v1.2.3")
    tag_version.write_version(checkout)
    archive = tmp_path / "archive"
    (archive / "pravega_lab").mkdir(parents=True)
    assert tag_version.version(archive) == tag_version.UNKNOWN
    (archive / tag_version.FILE).write_text((checkout / tag_version.FILE).read_text())
    tag_version.write_version(archive)
    assert tag_version.version(archive) == "1.2.3"


def test_a_tag_that_is_not_the_version_is_refused(tmp_path: Path) -> None:
    root = tagged(tmp_path / "release", "v1.2.3")
    assert check_tag.faults("v1.2.3", root) == ["CHANGELOG.md has no heading '## [1.2.3] - date'"]
    with (root / "CHANGELOG.md").open("a") as changes:
        changes.write("\n## [1.2.3] - 2026-12-01\n")
    assert check_tag.faults("v1.2.3", root) == []
    assert [fault.split()[0] for fault in check_tag.faults("v99.0.0", root)] == ["what", "CHANGELOG.md"]
    assert check_tag.faults("0.1.0", root) == ["the tag of a release is 'v1.2.3', not '0.1.0'"]


def test_the_citation_has_what_its_format_requires() -> None:
    """The keys that version 1.2.0 of the Citation File Format requires, and no key that it does not know."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    required = {"cff-version", "message", "title", "authors"}
    assert set(citation) - {"abstract", "type", "license", "keywords"} == required
    assert (citation["cff-version"], citation["type"]) == ("1.2.0", "software")
    assert citation["license"] == PROJECT["license"]
    assert all(set(author) == {"name"} for author in citation["authors"])


def test_only_the_job_that_publishes_may_publish() -> None:
    """The job that runs the project's code has no identity, and the jobs with one run none of it."""
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
    assert workflow["permissions"] == {}
    jobs = workflow["jobs"]
    with_identity = [name for name, job in jobs.items() if job["permissions"].get("id-token") == "write"]
    assert with_identity == ["attest", "publish"]
    for name in with_identity:
        assert all("run" not in step for step in jobs[name]["steps"]), name
    assert jobs["publish"]["environment"]["name"] == "pypi"


def test_the_development_container_runs_targets_that_exist() -> None:
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    program, target = container["postCreateCommand"].split()
    assert program == "make"
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert container["image"].endswith(":3.11-bookworm")
