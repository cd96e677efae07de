"""The names that programs import from `pravega_lab.engine.flow`."""

from __future__ import annotations

import inspect

import pytest

from pravega_lab.engine import flow


def test_each_name_is_found_where_it_is_defined() -> None:
    homes = {f"{flow.__name__}.{home}" for home in flow._HOMES}
    assert {getattr(flow, name).__module__ for name in flow.__all__} == homes
    assert dir(flow) == flow.__all__


def test_an_unknown_name_is_named() -> None:
    with pytest.raises(AttributeError, match=r"'pravega_lab\.engine\.flow' has no attribute 'Jobs'"):
        flow.Jobs  # noqa: B018


@pytest.mark.parametrize("name", flow.__all__)
def test_each_name_says_what_it_is(name: str) -> None:
    assert inspect.getdoc(getattr(flow, name))
