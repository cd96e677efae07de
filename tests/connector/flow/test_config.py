"""The precedence of `PravegaConfig`: arguments before properties, before the environment, before
the default.
"""

from __future__ import annotations

import pytest

from pravega_lab.connector.flow import GroupSettings, PravegaConfig, PravegaReader
from pravega_lab.engine.flow.errors import IllegalStateError
from pravega_lab.errors import BadInputError

ENVIRON = {"PRAVEGA_CONTROLLER_URI": "tcp://environment:1", "PRAVEGA_SCOPE": "environment"}
PROPERTIES = {"pravega.controller.uri": "tcp://property:1", "pravega.scope": "property"}


def found(
    arguments: list[str], properties: dict[str, str], environ: dict[str, str]
) -> tuple[str, str | None]:
    config = PravegaConfig.from_arguments(arguments, properties, environ)
    return config.uri, config.default_scope


def test_what_wins() -> None:
    arguments = ["run", "--controller", "tcp://argument:1", "--events=7", "--scope=argument"]
    assert found(arguments, PROPERTIES, ENVIRON) == ("tcp://argument:1", "argument")
    assert found(arguments[:3], PROPERTIES, ENVIRON) == ("tcp://argument:1", "property")
    assert found([], PROPERTIES, ENVIRON) == ("tcp://property:1", "property")
    assert found(["--events", "7"], {}, ENVIRON) == ("tcp://environment:1", "environment")
    assert found([], {}, {}) == ("tcp://localhost:9090", None)


@pytest.mark.parametrize("arguments", [["--scope"], ["--controller", "--scope", "s"]])
def test_a_name_without_a_value_is_refused(arguments: list[str]) -> None:
    with pytest.raises(BadInputError, match="has no value"):
        PravegaConfig.from_arguments(arguments, {}, {})


def test_a_name_without_a_scope_needs_a_default() -> None:
    assert PravegaConfig(default_scope="s").resolve("in") == "s/in"
    assert PravegaConfig().resolve("other/in") == "other/in"
    with pytest.raises(IllegalStateError, match="names no scope"):
        PravegaConfig().resolve("in")


def test_the_default_uid_names_the_group_and_the_streams() -> None:
    """State of other streams used to be restored into a group of the same name."""
    config = PravegaConfig(default_scope="s")

    def uid(*streams: str, given: str | None = None) -> str:
        return PravegaReader(GroupSettings(config, "readers", list(streams)), uid=given).uid

    assert uid("b", "a") == uid("s/a", "s/b") == "s/readers s/a s/b"
    assert uid("a") != uid("b")
    assert uid("a", given="mine") == "mine"
