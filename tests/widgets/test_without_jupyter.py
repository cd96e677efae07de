"""Without Jupyter, numpy and pyarrow, an incident is recorded and exported as the same page."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from pravega_lab.observe.journal.journal import Journal
from pravega_lab.tutorials.recording.recordings import recorded
from pravega_lab.widgets import LedgerView, ReaderBoard, SegmentMap, View
from pravega_lab.widgets.live.export import export
from tests.light import protobuf_alone

ROOT = Path(__file__).parents[2]
LIGHT = """
import sys
from pathlib import Path

sys.path += sys.argv[1:3]
from pravega_lab.tutorials.recording.recordings import record
from tests.widgets.test_without_jupyter import export, views

export(views(record("desk").journal), Path(sys.argv[3]))
print(*sorted({"numpy", "pyarrow", "anywidget", "ipywidgets", "IPython"} & set(sys.modules)))
"""


def views(journal: Journal) -> list[View]:
    """The views of the recording, which is the same wherever it is made."""
    return [SegmentMap(journal), ReaderBoard(journal), LedgerView(journal)]


def test_the_page_is_the_same_without_jupyter(tmp_path: Path) -> None:
    packages = protobuf_alone(tmp_path / "packages")
    light = tmp_path / "light.html"
    command = [sys.executable, "-I", "-S", "-c", LIGHT, ROOT, packages, light]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "\n"), done.stderr
    assert (
        light.read_bytes()
        == export(views(Journal.load(recorded("desk.jsonl.gz"))), tmp_path / "here.html").read_bytes()
    )
