"""The OpenAPI document describes the API that is there, all of it."""

from __future__ import annotations

import json
from typing import Any, cast

from instant_recall.api.openapi import OPERATIONS, document
from instant_recall.api.server import create_app
from instant_recall.events.types import EVENT_TYPES
from instant_recall.tests.api_stand_in import StandIn
from openapi_spec_validator import OpenAPIV31SpecValidator, validate
from starlette.routing import Route

DOCUMENT = json.loads(document())


def test_it_is_valid_openapi_3_1() -> None:
    assert DOCUMENT["openapi"].startswith("3.1")
    validate(DOCUMENT, cls=OpenAPIV31SpecValidator)


def test_every_route_of_the_app_is_in_it_and_no_other() -> None:
    routes = [route for route in create_app(cast(Any, StandIn())).routes if isinstance(route, Route)]
    served = {(route.path, verb.lower()) for route in routes for verb in (route.methods or set()) - {"HEAD"}}
    described = {(path, verb) for path, verbs in DOCUMENT["paths"].items() for verb in verbs}
    assert served == described


def test_every_operation_has_a_described_request_answer_and_failures() -> None:
    for operation in OPERATIONS:
        found = DOCUMENT["paths"][operation.path][operation.verb.lower()]
        assert ("requestBody" in found) == (operation.asked is not None)
        assert {"200", "400", "401", "404", "413", "500", "503", "507"} <= set(found["responses"])
        for kind in filter(None, (operation.asked, operation.answer)):
            assert DOCUMENT["components"]["schemas"][kind.__name__]["description"]


def test_unknown_fields_are_described_as_refused_in_requests() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert all(schemas[each.asked.__name__]["additionalProperties"] is False for each in OPERATIONS if each.asked)


def test_every_event_type_that_can_be_published_is_described() -> None:
    assert {kind.__name__ for kind in EVENT_TYPES.values()} <= set(DOCUMENT["components"]["schemas"])
