"""schemathesis sends valid and invalid requests of the OpenAPI document: no 5xx, no surprise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.config import SchemathesisConfig
from starlette.types import ASGIApp, Receive, Scope, Send

from holdfast.serve.http.app import create_app
from holdfast.serve.http.auth import Addresses
from holdfast.serve.http.openapi import openapi
from holdfast.serve.memories import Memories
from holdfast.serve.process import ServeLimits
from holdfast.testing import HashEmbedder
from tests.serve.http.http_peers import PATIENT, TOKEN
from tests.support.memories import QUICK

_BEARER = {"Authorization": f"Bearer {TOKEN}"}
# A schema cannot say what a time in words is, or that a name is no longer than 1,024 bytes.
_TAKEN = ["2xx", "401", "403", "404", "409", "422"]
_CONFIG = SchemathesisConfig.from_dict({"checks": {"positive_data_acceptance": {"expected-statuses": _TAKEN}}})
_STEADY = settings(deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


class _App:
    """The whole app; it is opened for the tests of this file. MCP's sessions are no part of the document."""

    inner: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert scope["type"] == "http"
        await self.inner(scope, receive, send)


schema = schemathesis.openapi.from_dict(openapi(), config=_CONFIG)
schema.app = _App()


@pytest.fixture(scope="module", autouse=True)
def _opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    known = replace(
        QUICK, context=PATIENT, serve=ServeLimits(calls_at_once=10**6, strangers_at_once=10**6, flush_s=5.0)
    )
    place = tmp_path_factory.mktemp("schema") / "memory.db"
    memories = Memories(place, "ana", embedder=HashEmbedder(), settings=known)
    schema.app.inner = create_app(memories, TOKEN, Addresses(frozenset({"testserver"})))
    yield
    memories.close()


@pytest.mark.requirement("API-5", "SAFE-4")
@schema.parametrize()
@settings(_STEADY, max_examples=2, phases=[Phase.generate])
def test_every_path_answers_as_documented(case: schemathesis.Case[Any]) -> None:
    case.call_and_validate(headers=_BEARER)


@pytest.mark.long
@pytest.mark.requirement("API-5", "SAFE-4")
@schema.parametrize()
@settings(_STEADY, max_examples=300)
def test_every_path_answers_as_documented_many_times(case: schemathesis.Case[Any]) -> None:
    case.call_and_validate(headers=_BEARER)
