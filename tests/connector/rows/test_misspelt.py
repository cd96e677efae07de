"""Which names of fields are misspelt names of metadata columns."""

from __future__ import annotations

import pytest

from pravega_lab.connector.rows.misspelt import misspelt
from pravega_lab.connector.rows.typed_rows import check_metadata, known_metadata
from pravega_lab.errors import BadInputError

CHANGES = known_metadata("debezium-json").keys() | known_metadata("maxwell-json").keys() | {"_routing_key"}
MISSPELT = {
    "_offset": "_ofset _offest _offsett _offst _offsey _OFSET _ffset _fofset",
    "_stream": "_strem _straem _streem",
    "_scope": "_scpoe _scoope _scpe _socpe",
    "_event": "_evnt _evetn _eventt",
    "_corrupt": "_corupt _corrput",
    "_segment_id": "_segmnt_id _segmentid _segmentId _segment_di _sgement_di",
    "_event_pointer": "_event_pionter _eventpointer _event_poiner _evnt_poiner",
    "_routing_key": "_routing_kye _ruoting_key _routingKey",
    "_row_kind": "_row_knid _rwo_kind _rowKind",
    "_source_timestamp": "_source_timestmap",
}
DATA = {
    "common": "_id _key _type _time _source _name _value _score _slope _store _code _index _version _class",
    "event": "_event_id _event_type _event_time _event_index _events _even",
    "stream": "_streams _streamed _stream_id _stream1",
    "offset": "_off _offs _offset_1 _offsets _xoffset _asset _reset",
    "short": "_scoped _scopes _tablet _cable _label",
    "segment": "_segment _segments _segment_no _segment_key _segment_ids",
    "rows": "_row_id _row_key _row_number _row_kinds _routing _pk_name",
    "changes": "_source_time _source_id _ingestion_time",
    "not with one _": "offset ofset event stream __offset __table __op _ __ _1 é_offset",
}


@pytest.mark.parametrize(("meant", "names"), MISSPELT.items())
def test_a_typing_error_is_found(meant: str, names: str) -> None:
    assert {name: misspelt(name, CHANGES) for name in names.split()} == dict.fromkeys(names.split(), meant)


@pytest.mark.parametrize("names", DATA.values(), ids=DATA)
def test_other_fields_are_data(names: str) -> None:
    assert {name for name in names.split() if misspelt(name, CHANGES)} == set()


def test_names_of_metadata_are_not_misspelt() -> None:
    assert {name for name in CHANGES if misspelt(name, CHANGES)} == set()


def test_a_misspelt_column_is_refused_with_both_ways_to_read_it() -> None:
    with pytest.raises(BadInputError) as raised:
        check_metadata("_ofset", "bigint", "json")
    assert str(raised.value) == (
        "column '_ofset' is no metadata of the events. Did you mean '_offset'? If the events have a field "
        "'_ofset', set option 'field_columns' to '_ofset'"
    )
    check_metadata("_ofset", "bigint", "json", ["_ofset"])
    with pytest.raises(BadInputError, match=r"'_tabel'.*Did you mean '_table'"):
        check_metadata("_tabel", "string", "canal-json")
    check_metadata("_tabel", "string", "json")  # has no metadata column _table


def test_a_format_that_knows_its_fields_refuses_others_itself() -> None:
    check_metadata("_ofset", "bigint", "avro")


def test_field_columns_are_no_names_of_metadata() -> None:
    with pytest.raises(BadInputError, match="'field_columns' names '_offset', which is metadata"):
        check_metadata("id", "bigint", "json", ["_offset"])
