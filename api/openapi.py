"""What the API offers, as one table, and the OpenAPI 3.1 document made from it and from the message types."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import msgspec

from ..events.types import EVENT_TYPES
from .callers import Who
from .key_messages import (
    AddKeysRequest,
    AddKeysResponse,
    KeysRequest,
    KeysResponse,
    KeysTodoRequest,
    KeysTodoResponse,
    RemoveKeyRequest,
)
from .messages import (
    BarRequest,
    BarResponse,
    CorrectRequest,
    ErrorResponse,
    ForgetRequest,
    Message,
    OpenRequest,
    OpenResponse,
    PublishRequest,
    PublishResponse,
    PushRequest,
    PushResponse,
    RefitRequest,
    RefitResponse,
    RememberRequest,
    Request,
    SearchRequest,
    SearchResponse,
    StatusRequest,
    StatusResponse,
    WhyRequest,
    WhyResponse,
    WriteResponse,
)
from .policy_messages import (
    AudienceRequest,
    AudienceResponse,
    ChangeAudienceRequest,
    ChangeAudienceResponse,
    LabelsRequest,
    LabelsResponse,
    MuteRequest,
    MuteResponse,
    MutesRequest,
    MutesResponse,
    UnmuteRequest,
    UnmuteResponse,
)
from .quarantine_messages import HoldRequest, QuarantineRequest, QuarantineResponse, ReleaseRequest
from .reader_messages import (
    GrantRequest,
    GrantResponse,
    NarrowRequest,
    ReadersRequest,
    ReadersResponse,
    RevokeRequest,
    RevokeResponse,
)


class Operation(NamedTuple):
    """One thing that can be asked of the service, and the route it has."""

    name: str
    """The service's method of this name answers it."""
    path: str
    asked: type[Request] | None
    """The body of a POST; None: a GET, which has none."""
    answer: type[Message]
    writes: bool
    summary: str
    who: Who = ""
    """Who may call it. It is said for each; where it is not, only the owner may."""
    query: type[Request] | None = None
    """What a GET takes as parameters in its address."""

    @property
    def verb(self) -> str:
        """The HTTP method."""
        return "GET" if self.asked is None else "POST"


OPERATIONS = (
    Operation(
        "push", "/v1/push", PushRequest, PushResponse, False, "At most five pointers for a request, or none.", "reader"
    ),
    Operation("search", "/v1/search", SearchRequest, SearchResponse, False, "All that may fit, best first.", "reader"),
    Operation("open", "/v1/open", OpenRequest, OpenResponse, False, "The exact text behind an address.", "reader"),
    Operation("why", "/v1/why", WhyRequest, WhyResponse, False, "Why an item is, or is not, in a push.", "reader"),
    Operation("publish", "/v1/publish", PublishRequest, PublishResponse, True, "Store events, all or none.", "reader"),
    Operation("remember", "/v1/remember", RememberRequest, WriteResponse, True, "Keep something.", "reader"),
    Operation("forget", "/v1/forget", ForgetRequest, WriteResponse, True, "Forget an item for good.", "owner"),
    Operation("correct", "/v1/correct", CorrectRequest, WriteResponse, True, "Say which item was missed.", "owner"),
    Operation("bar", "/v1/bar", BarRequest, BarResponse, True, "How sure a pointer has to be, shown or set.", "owner"),
    Operation("refit", "/v1/refit", RefitRequest, RefitResponse, True, "What the ranker learned, or undone.", "owner"),
    Operation("keys", "/v1/keys", KeysRequest, KeysResponse, False, "The use keys of an item, and their fit.", "owner"),
    Operation("add_keys", "/v1/keys/add", AddKeysRequest, AddKeysResponse, True, "Say when items help.", "owner"),
    Operation("remove_key", "/v1/keys/remove", RemoveKeyRequest, WriteResponse, True, "Take a use key away.", "owner"),
    Operation("keys_todo", "/v1/keys/todo", KeysTodoRequest, KeysTodoResponse, False, "Items without a key.", "owner"),
    Operation("readers", "/v1/readers", ReadersRequest, ReadersResponse, False, "Who may ask, for what.", "owner"),
    Operation("grant", "/v1/readers/grant", GrantRequest, GrantResponse, True, "Let a reader in.", "owner"),
    Operation(
        "narrow", "/v1/readers/narrow", NarrowRequest, GrantResponse, True, "Hand on less than one has.", "reader"
    ),
    Operation("revoke", "/v1/readers/revoke", RevokeRequest, RevokeResponse, True, "End a reader's grant.", "reader"),
    Operation("audience", "/v1/audience", AudienceRequest, AudienceResponse, False, "Who may see an item.", "owner"),
    Operation(
        "change_audience",
        "/v1/audience/change",
        ChangeAudienceRequest,
        ChangeAudienceResponse,
        True,
        "Say who may see an item.",
        "owner",
    ),
    Operation("labels", "/v1/audience/labels", LabelsRequest, LabelsResponse, False, "The labels there are.", "owner"),
    Operation("mute", "/v1/mute", MuteRequest, MuteResponse, True, "Ask not to be told of something.", "owner"),
    Operation("unmute", "/v1/unmute", UnmuteRequest, UnmuteResponse, True, "Take a mute back.", "owner"),
    Operation("mutes", "/v1/mutes", MutesRequest, MutesResponse, False, "What is muted.", "owner"),
    Operation("quarantine", "/v1/quarantine", QuarantineRequest, QuarantineResponse, False, "What waits.", "owner"),
    Operation("hold_back", "/v1/quarantine/add", HoldRequest, WriteResponse, True, "Hold an item back.", "owner"),
    Operation("release", "/v1/quarantine/release", ReleaseRequest, WriteResponse, True, "Let something go.", "owner"),
    Operation(
        "status", "/v1/status", None, StatusResponse, False, "How things stand, or stood.", "reader", StatusRequest
    ),
)

PLAIN = {
    "/healthz": "Whether the server answers at all.",
    "/openapi.json": "This document.",
}
"""What tells nothing of anybody's: whoever is let in may ask for it."""

_FAILURES = {
    "400": "The request is not as described; `message` names the field. Nothing was stored.",
    "401": "The token does not count (unknown, expired, revoked, malformed), or over TCP there is none.",
    "403": "The reader may not ask that (see `x-who`; the past and other readers are the owner's), or the Host is "
    "another machine.",
    "404": "There is no such thing, or this reader may not see it.",
    "405": "The route takes another method.",
    "410": "The log does not go back that far any more: events are neither in it nor in its archive.",
    "413": "The body is over 8 MiB. Nothing was stored.",
    "500": "Something failed inside; `message` has an id to look for in the logs.",
    "503": "The log cannot be reached. A write may or may not be stored; repeating it with the same event ids is safe.",
    "507": "The log is full. Nothing was stored.",
}
_BEARER = "A reader's, from `instant-recall reader grant` or /v1/readers/narrow; or the owner's, from `up --tcp`."
_INTRODUCTION = (
    "Listens on a Unix socket, which needs no token from the owner's own processes, and when asked over TCP, which "
    "does. A token says who the reader is, and what it may see and do: `x-who` of an operation is `reader` where any "
    "reader may call it for itself, and `owner` where only the owner's token will do. "
    "The `body` of a published event holds the fields of its type, without `type`; the schemas below have each type. "
    "A field that is not described is refused."
)


def _content(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _described(operation: Operation, refs: dict[type, dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {"operationId": operation.name, "summary": operation.summary, "x-who": operation.who}
    if operation.asked is not None:
        found["requestBody"] = {"required": True, "content": _content(refs[operation.asked])}
    if operation.query is not None:
        found["parameters"] = _parameters(operation.query)
    found["responses"] = {
        "200": {"description": operation.summary, "content": _content(refs[operation.answer])},
        **{status: {"$ref": f"#/components/responses/{status}"} for status in _FAILURES},
    }
    return found


def _parameters(query: type[Request]) -> list[dict[str, Any]]:
    _, described = msgspec.json.schema_components([query])
    fields = described[query.__name__]["properties"]
    return [{"name": name, "in": "query", "schema": schema} for name, schema in fields.items()]


def _plain(name: str, summary: str) -> dict[str, Any]:
    answer = {"description": summary, "content": _content({"type": "object"})}
    refused = {status: {"$ref": f"#/components/responses/{status}"} for status in ("401", "403")}
    return {"get": {"operationId": name, "summary": summary, "responses": {"200": answer, **refused}}}


@functools.cache
def document() -> bytes:
    """The OpenAPI document as JSON. Each type's docstring is its description."""
    from .. import __version__  # noqa: PLC0415 - the package itself imports this folder

    messages = [kind for operation in OPERATIONS for kind in (operation.asked, operation.answer) if kind is not None]
    kinds: list[type] = [*dict.fromkeys(messages), ErrorResponse, *EVENT_TYPES.values()]
    schemas, components = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
    refs = dict(zip(kinds, schemas, strict=True))
    paths = {operation.path: {operation.verb.lower(): _described(operation, refs)} for operation in OPERATIONS}
    paths |= {path: _plain(path.strip("/").partition(".")[0], summary) for path, summary in PLAIN.items()}
    failure = _content(refs[ErrorResponse])
    return msgspec.json.encode(
        {
            "openapi": "3.1.0",
            "info": {"title": "Instant Recall", "version": __version__, "description": _INTRODUCTION},
            "servers": [{"url": "http://localhost", "description": "The Unix socket, or 127.0.0.1 with its port."}],
            "security": [{}, {"token": []}],
            "paths": paths,
            "components": {
                "schemas": components,
                "responses": {status: {"description": text, "content": failure} for status, text in _FAILURES.items()},
                "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description": _BEARER}},
            },
        }
    )
