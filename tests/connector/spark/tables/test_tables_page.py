"""Every example of docs/tables.md runs as printed."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

import pytest

import pravega_lab
from pravega_lab import Lab
from tests.spark.connect import here_alone

PAGE = Path(__file__).parents[4] / "docs" / "tables.md"


@pytest.mark.spark
@pytest.mark.slow
@here_alone
def test_the_examples_run_in_their_order(
    spark: Any, store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = PAGE.read_text()
    lab = Lab(uri=store)
    monkeypatch.setattr(pravega_lab, "Lab", lambda **options: Lab(**options) if options else lab)
    make = tempfile.mkdtemp
    own = str(tmp_path / "checkpoint")  # where the page asks for a folder
    monkeypatch.setattr(
        "tempfile.mkdtemp", lambda *given, **named: make(*given, **named) if given or named else own
    )
    names: dict[str, Any] = {}
    blocks = list(re.finditer(r"```(python|sql)\n(.*?)```", text, re.DOTALL))
    try:
        for block in blocks:
            line = text[: block.start()].count("\n") + 1  # so that a traceback names the line of the page
            if block[1] == "python":
                exec(compile("\n" * line + block[2], PAGE.name, "exec"), names)
            else:
                for statement in block[2].split(";"):
                    spark.sql(statement.replace("tcp://localhost:9090", store)).collect()
        assert [row.page for row in spark.table("pravega.shop.visits").collect()] == ["home", "cart", "order"]
        assert sorted(row.item for row in spark.table("pravega.shop.items").collect()) == sorted(
            ["tea", "cup", "pot"] * 2
        )
        assert names["frame"].equals(names["same"])
        assert names["counts"].rows() == names["by_page"] == [("home", 1)]
        assert names["sizes"].to_dict() == {"home": 1}
        assert names["homes"].to_pandas()["page"].tolist() == ["home"]
        assert "page" in names["described"].column.values
        assert [row.item for row in spark.table("pravega.shop.cheap").collect()] == ["tea"]
        assert names["marks"].values.tolist() == [["ann", 1], ["ben", 2]]
        assert "year" in names["versions"].column.values
    finally:
        spark.sql("DROP DATABASE IF EXISTS pravega.shop CASCADE")
        for name in lab._catalog_settings():
            spark.conf.unset(name)
        lab._spark = None  # the session is that of all tests
        lab.close()
        if "schooled" in names:
            names["schooled"].close()
