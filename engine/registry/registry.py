"""`Registry`: a request in, an answer and the records to keep out."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from pravega_lab.errors import BadInputError

from .calls import Context, Decision, Limits
from .records import Record
from .requests import JSON_TYPE, Answer, RefusedRequestError, Request, text_answer
from .routes import Need, Route, find, resource_of
from .state import State

MAY = Callable[[str, bool], bool]
"""(resource, whether to change it): whether the caller may."""

CHANGES = {Need.CHANGE_NAMESPACE, Need.CHANGE_GROUP, Need.CHANGE_SCHEMAS, Need.CHANGE_CODECS}


class _Named(NamedTuple):
    route: Route
    parts: dict[str, str]
    namespace: str


def may_all(resource: str, is_change: bool) -> bool:
    """Return True: of a registry without users everybody may do everything."""
    return True


class Registry:
    """The schemas of a store.

    Args:
        records: What was kept: keys that begin with `records.PREFIX`, with their values.
        limits: How much it keeps.
    """

    def __init__(self, records: Iterable[tuple[str, bytes]] = (), limits: Limits | None = None) -> None:
        self.state = State(records)
        self._limits = limits or Limits()

    def decide(self, request: Request, now_ms: int, may: MAY = may_all) -> Decision:
        """Decide a request. Nothing is changed: pass the records to `apply` once they are certain to be kept.

        Args:
            now_ms: Time of day in ms, for the history of a schema.
            may: Returns whether the caller may read or change a resource.
        """
        try:
            named = _named(request)
            self._check(named, may)
            context = Context(
                *(self.state, request, named.parts, named.namespace, now_ms, self._limits),
                lambda namespace, group: may(resource_of(Need.READ_GROUP, namespace, group), False),
            )
            return named.route.call(context)
        except RefusedRequestError as refusal:
            return Decision(refusal.answer)
        except BadInputError as error:
            return Decision(text_answer(400, str(error)))
        except _NotAllowedError as error:
            return Decision(error.answer)

    def apply(self, records: Iterable[Record]) -> None:
        """Apply the records of a decision."""
        self.state.apply(records)

    def _check(self, named: _Named, may: MAY) -> None:
        need = named.route.need
        if need is Need.NOTHING:
            return
        resource = resource_of(need, named.namespace, named.parts.get("group", ""))
        if not may(resource, need in CHANGES):
            level = "READ_UPDATE" if need in CHANGES else "READ"
            raise RefusedRequestError(403, f"this call needs {level} on {resource}, which the user has not")


class _NotAllowedError(Exception):
    """Raised for a path that has other methods."""

    def __init__(self, allow: str) -> None:
        super().__init__(allow)
        self.answer = Answer(405, allow=allow)


def _named(request: Request) -> _Named:
    found = find(request.path)
    if not found.routes:
        raise RefusedRequestError(404)
    route = next((route for route in found.routes if route.method == request.method), None)
    if route is None:
        raise _NotAllowedError(",".join(sorted({*(route.method for route in found.routes), "OPTIONS"})))
    if request.accept and not any(kind in request.accept for kind in (JSON_TYPE, "*/*", "application/*")):
        raise RefusedRequestError(406)
    if request.method in ("POST", "PUT") and request.body and not request.content_type.startswith(JSON_TYPE):
        raise RefusedRequestError(415)
    namespace = found.namespace if found.namespace is not None else request.query.get("namespace", "")
    return _Named(route, found.parts, namespace)
