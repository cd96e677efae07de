"""Java's registry client on our registry with the users of a store. It says so where a user is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from pravega_lab.client.registry import AVRO, Deserializer, SchemaRegistry
from pravega_lab.engine.store.security.passwords import password_line
from tests.conformance.registry.released import JavaPeer
from tests.standalone import Standalone, logged_url

ACLS = {
    "ann": "prn::*,READ_UPDATE",
    "bob": "prn::/namespace:shop,READ;prn::/namespace:shop/group:orders,READ",
}


@pytest.mark.slow
@pytest.mark.real_pravega
def test_java_gets_in_with_the_users_of_the_store(tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.touch(0o600)
    lines = [password_line(name, f"of {name}", acl, b"salt" * 8, 1000) for name, acl in ACLS.items()]
    users.write_text("\n".join(lines) + "\n")
    store = Standalone("--memory", "--registry-port", "0", "--password-file", str(users))
    with store:
        uri = logged_url(store, "registry_open")
        with JavaPeer(uri, "shop", "ann", "of ann") as ann:
            event = bytes.fromhex(ann.ask("write", AVRO, "orders", "none"))
        with JavaPeer(uri, "shop", "bob", "of bob") as bob:
            assert bob.ask("groups") == "{orders=Avro}"
            assert bob.ask("history", "orders") == "0 demo.User AllowAny;"
            assert bob.ask("write", AVRO, "more", "none").startswith("ERROR UnauthorizedException")
        with JavaPeer(uri, "shop") as nobody:
            assert nobody.ask("groups").startswith("ERROR UnauthorizedException")
        registry = SchemaRegistry(uri, namespace="shop", credentials=("bob", "of bob"))
        assert Deserializer(registry, "orders").deserialize(event)["name"] == "Ann"
