"""Attacks on the log: nothing that was said gets into it, however it is said wrongly."""

from __future__ import annotations

import json
import logging

import pytest

from tests.serve.peers import Peer

pytestmark = pytest.mark.requirement("SAFE-4")

SAID = "the spare key is under the blue pot"


def test_failed_calls_do_not_log_their_text(peer: Peer, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for method, params in [
            ("memory.ingest", {"text": "t", "role": SAID}),
            ("memory.ingest", {"text": "t", SAID: 1}),
            ("memory.recent", {"since": SAID}),
            ("memory.why", {"id": SAID}),
            ("delete", {"collection": SAID, "id": "x"}),
        ]:
            told = {"jsonrpc": "2.0", "method": method, "params": params}
            peer.send(json.dumps(told).encode())
        message = {"role": SAID, "content": SAID}
        assert peer.call("ingest", sessionId="s", userId="ana", message=message)["ingested"] is False
    assert caplog.text.count("failed") >= 5 and "continues without ingest" in caplog.text
    assert SAID not in caplog.text
