"""Options: types and defaults, and the errors for wrong ones."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pravega_lab.connector.spark.options import OPTION_NAMES, Cluster, parse_options
from pravega_lab.connector.spark.options.declared import BY_NAME
from pravega_lab.connector.tables import option_names
from pravega_lab.errors import BadInputError

OK = {"scope": "demo", "stream": "flights"}


def test_defaults_are_those_of_the_official_connector() -> None:
    options = parse_options(OK)
    assert options.controller == "tcp://localhost:9090"
    assert options.scoped_streams == ("demo/flights",)
    assert options.exactly_once
    assert options.transaction_timeout_ms == 600_000
    assert options.transaction_status_poll_interval_ms == 50


def test_several_streams_are_comma_separated() -> None:
    options = parse_options({**OK, "stream": " a, b ,c"})
    assert options.scoped_streams == ("demo/a", "demo/b", "demo/c")
    with pytest.raises(BadInputError, match="a sink writes exactly one"):
        _ = options.output


def test_values_are_typed_and_names_know_no_case() -> None:
    options = parse_options(
        {**OK, "Approx_Bytes_Per_Trigger": "1000", "ordered": "FALSE", "start_stream_cut": "Latest"}
    )
    assert (options.approx_bytes_per_trigger, options.ordered, options.start_stream_cut) == (
        1000,
        False,
        "latest",
    )


def test_how_to_get_into_a_cluster() -> None:
    options = parse_options(
        {
            **OK,
            "controller": "tls://a:1",
            "CA_file": "/ca",
            "rewrite": "c=d,a=b:2",
            "validate_host_name": "false",
        }
    )
    assert options.cluster == Cluster("tls://a:1", "/ca", None, False, (("a", "b:2"), ("c", "d")))
    assert options.cluster.access() == {
        "ca_file": "/ca",
        "credentials_file": None,
        "validate_host_name": False,
        "rewrite": {"a": "b:2", "c": "d"},
        "plain_credentials": None,
    }
    assert parse_options({**OK, "rewrite": ""}).rewrite == ()
    with pytest.raises(BadInputError, match="'a:b' is not HOST=HOST"):
        parse_options({**OK, "rewrite": "a:b"})


@pytest.mark.parametrize("name", ["password", "Token", "credentials", "username"])
def test_secrets_are_not_options(name: str) -> None:
    with pytest.raises(BadInputError, match="credentials_file") as caught:
        parse_options({**OK, name: "hush-hush"})
    assert "hush" not in str(caught.value)


def test_a_cut_keeps_its_case() -> None:
    assert parse_options({**OK, "end_stream_cut": "H4sIAAab"}).end_stream_cut == "H4sIAAab"


def test_what_spark_adds_is_let_through() -> None:
    found = parse_options({**OK, "checkpointLocation": "/x", "queryName": "q"})
    assert found == replace(parse_options(OK), checkpoint="/x")


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("scpoe", "scope"),
        ("start_streamcut", "start_stream_cut"),
        ("exactly_one", "exactly_once"),
        ("sinkId", "sink_id"),
    ],
)
def test_a_misspelt_option_is_named_with_the_nearest(name: str, near: str) -> None:
    with pytest.raises(BadInputError, match=f"'{name.lower()}'.*Did you mean '{near}'"):
        parse_options({**OK, name: "x"})


def test_an_option_like_no_other_is_answered_with_all_names() -> None:
    with pytest.raises(BadInputError, match=", ".join(sorted(OPTION_NAMES))):
        parse_options({**OK, "zzzz": "x"})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"stream": "flights"}, "'scope' is missing"),
        ({"scope": "demo"}, "'stream' is missing"),
        ({**OK, "scope": "demo/flights"}, "scope='demo' and stream='flights'"),
        ({**OK, "stream": "demo/flights"}, "without its scope"),
        ({**OK, "stream": "a,a"}, "'a' twice"),
        ({**OK, "controller": "localhost:9090"}, "tcp://host:9090"),
        ({**OK, "approx_bytes_per_trigger": "many"}, "'many'; it is a whole number"),
        ({**OK, "approx_bytes_per_trigger": "0"}, "at least 1"),
        ({**OK, "transaction_timeout_ms": "9999"}, "between 10000 and 600000"),
        ({**OK, "default_scale_factor": "1"}, "at least 2"),
        ({**OK, "ordered": "yes"}, "true or false"),
        ({**OK, "metadata": "Stream"}, "StreamInfo, Streams"),
        ({**OK, "sink_id": " "}, "is empty"),
        ({**OK, "read_after_write_consistency": "false"}, "always waits"),
        (
            {**OK, "default_retention_size_bytes": "1", "default_retention_duration_milliseconds": "1"},
            "both given",
        ),
    ],
)
def test_wrong_options_are_refused_in_words(given: dict[str, str], words: str) -> None:
    with pytest.raises(BadInputError, match=words):
        parse_options(given)


def test_the_list_of_streams_needs_no_stream() -> None:
    assert parse_options({"scope": "demo", "metadata": "streams"}).metadata == "Streams"


def test_tables_know_the_same_names_of_options() -> None:
    assert sorted(BY_NAME) == option_names.OPTION_NAMES
