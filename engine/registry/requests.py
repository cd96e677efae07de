"""A request to the registry, and its answer, without HTTP's bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pravega_lab.errors import BadInputError

JSON_TYPE, TEXT_TYPE = "application/json", "text/plain; charset=utf-8"


@dataclass(frozen=True, slots=True)
class Request:
    """A request.

    Attributes:
        method: ``GET`` for example.
        path: As it was sent, with its escapes and without the query.
        query: The decoded parameters.
        content_type, accept: The headers, empty if there are none.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    content_type: str = ""
    accept: str = ""

    def json(self) -> Any:
        """Return the body. Raises `BadInputError` if it is none or malformed."""
        if not self.body:
            raise BadInputError("the request has no body: send a JSON object")
        try:
            found = json.loads(self.body)
        except RecursionError:
            raise BadInputError("the body is nested too deeply") from None
        except ValueError as error:
            raise BadInputError(f"the body is no JSON: {error}") from None
        if not isinstance(found, dict):
            raise BadInputError("the body is no JSON object")
        return found


@dataclass(frozen=True, slots=True)
class Answer:
    """What a request is answered with. ``allow`` is the header of that name."""

    status: int
    body: bytes = b""
    content_type: str = ""
    allow: str = ""


class RefusedRequestError(Exception):
    """Raised by a call that ends with a status of 400 or more. ``text`` is for the person who called."""

    def __init__(self, status: int, text: str = "") -> None:
        super().__init__(f"{status} {text}")
        self.status = status
        self.text = text

    @property
    def answer(self) -> Answer:
        """Return the answer that the client receives."""
        return text_answer(self.status, self.text)


def json_answer(value: Any, status: int = 200) -> Answer:
    """Return an answer with a JSON body."""
    body = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
    return Answer(status, body, JSON_TYPE)


def text_answer(status: int, text: str = "") -> Answer:
    """Return an answer with a text, or with no body if the text is empty."""
    return Answer(status, text.encode(), TEXT_TYPE if text else "")
