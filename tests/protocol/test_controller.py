"""The controller's messages against what a real controller and its callers sent."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.protobuf import text_format
from google.protobuf.message import Message

from pravega_lab.protocol.controller import controller_pb2, generate
from pravega_lab.protocol.controller.methods import METHODS, SERVICE
from tests.protocol.golden import Exchange, exchanges

EXCHANGES = exchanges()


def _messages(exchange: Exchange) -> list[tuple[type[Message], bytes, str]]:
    method = METHODS[exchange.method]
    found = [(method.request, exchange.request, exchange.texts[0])]
    if exchange.response is not None:
        found.append((method.response, exchange.response, exchange.texts[1]))
    assert [kind.DESCRIPTOR.name for kind, _, _ in found] == [name for _, (name, _), _ in found]
    return [(kind, data, text) for kind, (_, data), text in found]


MESSAGES = [message for exchange in EXCHANGES for message in _messages(exchange)]


def test_the_file_was_read_whole() -> None:
    assert len(EXCHANGES) == 98
    assert len(MESSAGES) == 186


def test_every_recorded_message_encodes_back() -> None:
    for kind, data, _ in MESSAGES:
        message = kind.FromString(data)
        assert message.SerializeToString() == data
        message.DiscardUnknownFields()
        assert message.SerializeToString() == data, "a field that controller.proto does not know"


def test_fields_and_enums_have_upstreams_names() -> None:
    for kind, data, text in MESSAGES:
        assert text_format.Parse(text, kind()) == kind.FromString(data)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_knows_its_path(name: str) -> None:
    assert METHODS[name].path == f"/{SERVICE}/{name}"
    assert METHODS[name].request.DESCRIPTOR.file.package == SERVICE.rpartition(".")[0]


def test_the_generated_modules_are_those_of_the_schema(tmp_path: Path) -> None:
    generate.generate(tmp_path)
    for name in generate.GENERATED:
        made = tmp_path / "pravega_lab" / "protocol" / "controller" / name
        assert made.read_text() == (generate.PACKAGE / name).read_text(), (
            f"{name} is stale: run python -m pravega_lab.protocol.controller.generate"
        )


def test_keys_of_the_response_that_upstream_numbers_oddly() -> None:
    """pravega.md D7: this list is field 2, and the reader group's configuration comes before its status."""
    completed = controller_pb2.ListCompletedTxnResponse.DESCRIPTOR.fields_by_name
    assert completed["response"].number == 2
    config = controller_pb2.ReaderGroupConfigResponse.DESCRIPTOR.fields_by_name
    assert (config["config"].number, config["status"].number) == (1, 2)
