"""A group's observer while its store is down, cut off or killed: it says so, and misses nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from pravega_lab import connect, observe
from pravega_lab.client.reader_group import revisioned_stream
from pravega_lab.observe import Watch, fold_groups
from pravega_lab.observe.group.observations import GroupSeen, GroupUpdated
from pravega_lab.protocol.metadata import reader_group as rg
from tests.conformance.controller import ControllerStub
from tests.conformance.reader_group.readers import WAIT_S, new_group, new_stream
from tests.conformance.wire.connection import endpoint
from tests.observe.group.logs import check
from tests.standalone import Standalone
from tests.waiting import wait_until


def updates(watch: Watch) -> list[tuple[str, str]]:
    return [(o.update, o.reader) for o in watch.since() if isinstance(o, GroupUpdated)]


@pytest.mark.slow
def test_a_store_that_is_killed_and_comes_back(tmp_path: Path) -> None:
    first = Standalone("--data", str(tmp_path / "data"))
    uri = first.start()
    with connect(uri) as client:
        stream = new_stream(client, "s/x", 2)
        group = new_group(client, stream)
        controller = ControllerStub(uri)
        _, store_port = endpoint(controller)
        controller.close()
        with observe(uri, group="s/g", group_streams=False) as watch:
            log = revisioned_stream(client, "s/_RGg")
            log.append(rg.updates([rg.AddReader("before")]))
            assert watch.look(WAIT_S)
            first.kill()
            wait_until(lambda: bool(watch.journal.troubles))
            port = int(uri.rsplit(":", 1)[1])
            second = Standalone(
                "--data", str(tmp_path / "data"), controller_port=port, segment_store_port=store_port
            )
            second.start()
            log.append(rg.updates([rg.AddReader("after")]))
            wait_until(lambda: ("AddReader", "after") in updates(watch))
            assert watch.look(WAIT_S)
            assert not watch.journal.troubles
            assert updates(watch) == [
                ("ReaderGroupStateInit", ""), ("AddReader", "before"), ("AddReader", "after")
            ]  # fmt: skip
            check(fold_groups(watch.since()), group.state(), "s/g")
            late = [o for o in watch.since() if isinstance(o, GroupUpdated)][-1]
            assert late.uncertain_ms is not None
            assert len([o for o in watch.since() if isinstance(o, GroupSeen)]) == 1
            log.close()
    second.stop()


def test_closing_ends_the_thread_also_while_the_store_is_down(tmp_path: Path) -> None:
    store = Standalone("--memory")
    uri = store.start()
    watch = observe(uri, group="s/nobody")
    assert watch.look(WAIT_S)
    store.kill()
    watch.close()
    assert not any(observer._thread.is_alive() for observer in watch.groups)
