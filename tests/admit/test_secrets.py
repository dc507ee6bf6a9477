"""Secrets are masked by the shape of their value, and ordinary text is left alone.

Every value here is made up: FAKE letters in the shape of the real thing.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import holdfast.demo
from holdfast.admit.secrets import mask
from holdfast.settings import LogSettings
from tests.support.memories import QUICK, OpenMemory, texts, user
from tests.support.pace import slowness

SECRETS = [
    ("sk-proj-FAKEfakeFAKE0123456789abcdef", "openai key"),
    ("sk-ant-api03-FAKEfakeFAKE0123456789abcdef", "anthropic key"),
    ("sk-FAKE0123456789abcdef0123456789abcd", "api key"),
    ("sk-or-v1-00112233445566778899aabbccddeeff", "api key"),
    ("ghp_FAKEfakeFAKEfakeFAKEfakeFAKEfake0000", "github token"),
    ("gho_FAKEfakeFAKEfakeFAKEfakeFAKEfake0000", "github token"),
    ("github_pat_11FAKEFAKE0fakefakefakefake_fakefakefake", "github token"),
    ("glpat-FAKE0fakeFAKE0fakeFA", "gitlab token"),
    ("AKIAFAKEFAKEFAKE0000", "aws key id"),
    ("ASIAFAKEFAKEFAKE0000", "aws key id"),
    ("AIzaFAKEfakeFAKEfakeFAKEfakeFAKEfake000", "google key"),
    ("GOCSPX-FAKEfakeFAKEfakeFAKEfake", "google secret"),
    ("xoxb-000000000000-FAKEFAKEFAKE", "slack token"),
    ("xoxp-000000000000-FAKEFAKEFAKE", "slack token"),
    ("https://hooks.slack.com/services/T0FAKE000/B0FAKE000/FAKEfakeFAKEfake", "slack webhook"),
    ("hf_FAKEfakeFAKEfakeFAKEfakeFAKEfakeFA", "hugging face token"),
    ("npm_FAKEfakeFAKEfakeFAKEfakeFAKEfake0000", "npm token"),
    ("pypi-AgEIcHlwaS5vcmcFAKE0000fakeFAKE0000fakeFAKE", "pypi token"),
    ("SG.FAKEfakeFAKEfake00.FAKEfakeFAKEfakeFAKEfake0000", "sendgrid key"),
    ("sk_live_FAKE0000fake0000FAKE", "stripe key"),
    ("rk_live_FAKE0000fake0000FAKE", "stripe key"),
    ("whsec_FAKEfakeFAKEfakeFAKEfake", "stripe secret"),
    ("dop_v1_00112233445566778899aabbccddeeff00112233", "digitalocean token"),
    ("dckr_pat_FAKEfakeFAKEfakeFAKEfake", "docker token"),
    ("dapi00112233445566778899aabbccddeeff", "databricks token"),
    ("gsk_FAKEfakeFAKEfakeFAKEfake", "groq key"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJGQUtFIn0.FAKEfakeFAKE", "json web token"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIFAKE\nFAKE+/==\n-----END RSA PRIVATE KEY-----", "private key"),
    ("-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIFAKE\n-----END EC PRIVATE KEY-----", "private key"),
    ("-----BEGIN OPENSSH PRIVATE KEY-----\\nb3BlbnNzaFAKEfakeFAKEfakeFAKE0000", "private key"),
]


@pytest.mark.requirement("ADMIT-7")
@pytest.mark.parametrize(("secret", "kind"), SECRETS, ids=lambda value: str(value)[:16])
def test_a_value_of_a_known_shape_is_masked_wherever_it_stands(secret: str, kind: str) -> None:
    for before, after in [("", ""), ("use ", " please"), ('"', '",'), ("(", ")."), ("log:\\n", "\\n"), ("=", "&x=1")]:
        masked = mask(f"{before}{secret}{after}")
        assert masked.text == f"{before}[secret: {kind}]{after}"
        (found,) = masked.found
        assert (found.kind, found.start, found.end) == (kind, len(before), len(before) + len(secret))


NAMED = [
    ("my password is hunter2", "my password is [secret: password]"),
    ("My password is swordfish.", "My password is [secret: password]."),
    ("the wifi password is Blue42! ok", "the wifi password is [secret: password] ok"),
    ("password for the router is correcthorse9", "password for the router is [secret: password]"),
    ("my password was changed to Winter2024!", "my password was changed to [secret: password]"),
    ("Das Passwort ist Hase42.", "Das Passwort ist [secret: password]."),
    ("Wi-Fi password: swordfish", "Wi-Fi password: [secret: password]"),
    ("pw: hunter2, user: bob", "pw: [secret: password], user: bob"),
    ("пароль: Zima2020", "пароль: [secret: password]"),
    ("my PIN is 4471", "my PIN is [secret: pin]"),
    ("the PIN for the gate is 4471", "the PIN for the gate is [secret: pin]"),
    ("DB_PASSWORD=swordfish", "DB_PASSWORD=[secret: password]"),
    ('{"password": "swordfish"}', '{"password": "[secret: password]"}'),
    ("password = 'correct horse 9'", "password = '[secret: password]'"),
    ('passphrase: "purple monkeys eat fish"', 'passphrase: "[secret: password]"'),
    ("password: $ecret99", "password: [secret: password]"),
    ("mysql --password hunter2 -h db", "mysql --password [secret: password] -h db"),
    ("tool --api-key a1b2c3d4e5f6a7b8", "tool --api-key [secret: key]"),
    ('api_key: "a1b2c3d4e5f6a7b8"', 'api_key: "[secret: key]"'),
    ("our API key is 9f8e7d6c5b4a3928", "our API key is [secret: key]"),
    ("client_secret=Fa1Ke2Fa3Ke4Zz9", "client_secret=[secret: secret]"),
    ("export GITHUB_TOKEN=abcdefghijkl", "export GITHUB_TOKEN=[secret: token]"),
    ('{"accessToken": "a8f5f167f44f4964e6c9"}', '{"accessToken": "[secret: token]"}'),
    ("aws_secret_access_key = wJalrFAKE/K7MDENG0bPxRfiCYFAKE", "aws_secret_access_key = [secret: key]"),
    ("OPENAI_API_KEY=sk-FAKE0123456789abcdef", "OPENAI_API_KEY=[secret: api key]"),
    ("Authorization: Bearer FAKE0000fake0000FAKE", "Authorization: Bearer [secret: token]"),
    ("Authorization: Basic RkFLRTpmYWtlMDAwMA==", "Authorization: Basic [secret: token]"),
    ("postgres://app:hunter2@db.example/app", "postgres://app:[secret: password]@db.example/app"),
    ("redis://:hunter2@cache.example:6379/0", "redis://:[secret: password]@cache.example:6379/0"),
    ("curl -u admin:hunter2 https://x.example", "curl -u admin:[secret: password] https://x.example"),
]


@pytest.mark.requirement("ADMIT-7")
@pytest.mark.parametrize(("text", "masked"), NAMED)
def test_a_value_that_its_name_gives_away_is_masked_and_the_rest_is_kept(text: str, masked: str) -> None:
    assert mask(text).text == masked


def test_two_secrets_in_one_text_are_both_masked() -> None:
    text = "old ghp_FAKEfakeFAKEfakeFAKEfakeFAKEfake0000, new password: hunter2"
    masked = mask(text)
    assert masked.text == "old [secret: github token], new password: [secret: password]"
    assert [text[one.start : one.end] for one in masked.found] == [
        "ghp_FAKEfakeFAKEfakeFAKEfakeFAKEfake0000",
        "hunter2",
    ]


ORDINARY = [
    "I forgot my password reset link",
    "The token budget is 4000.",
    "max_tokens=512",
    "max_token = 4096",
    "token: 128000",
    "The key is under the mat.",
    "The key is to stay calm.",
    "Primary key: customer_id",
    "The secret: more butter and patience.",
    "The secret is 3 eggs and no milk.",
    "It's a secret between us.",
    "Our secret ingredient is smoked paprika.",
    "My password is too weak.",
    "My password is expiring",
    "The password is wrong.",
    "The password was leaked!",
    "password must be 12 characters",
    "The password is 16-characters long",
    "Password: required",
    "password: str",
    "password: str | None = None",
    "password=password",
    "login(user=user, password=answer)",
    "token = self.token",
    "token=os.environ['TOKEN']",
    "api_key = get_key()",
    "api_key=settings.API_KEY",
    "API_KEY=YOUR_API_KEY",
    "api_key = 'your-api-key-here'",
    "password: ********",
    "password: xxxxxxxx",
    "password=${DB_PASSWORD}",
    "password = '<your password>'",
    "TOKEN=$GITHUB_TOKEN",
    "postgres://user:password@localhost/db",
    "postgres://localhost:5432/db",
    "https://example.com:8443/path@2x.png",
    "git@github.com:acme/rocket.git",
    "Keys live in /etc/slipway/secrets.env on the machines.",
    "token: /run/secrets/token-a1b2c3d4e5f6",
    "secret: ./config/secret2024.yaml",
    "123e4567-e89b-12d3-a456-426614174000",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "fixed in 9fceb02",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "We're on version 2.14.3-beta.1 now.",
    "v1.2.3",
    "src/holdfast/admit/secrets.py",
    "C:\\Users\\bree\\token.txt",
    "sk-learn is a library",
    "sk-estimator-pipeline-example",
    "the sk-2024-report-final file",
    "The tokenizer: a word piece model",
    "He was the bearer of good news yesterday evening",
    "The basic authentication-middleware-refactoring is done",
    "a hf_transfer_download_of_everything",
    "npm_config_registry",
    "AKIA is a prefix",
    "eyJ is how they begin",
    "My pin is on the map at 4471 Hill Road.",
    "We spin: 4821 turns",
    "I bought shopping: 2500 g flour",
    "Dublin, 14 October 2026, 21:15",
    "Invoice PO-20731 over €7,680",
    "+353 86 555 0147",
    "SLW-4031 came back at 02:12Z",
    "My neighbour's name is Xavier2",
    "token2022 is our band",
    "the passport is in the drawer",
    "compass: north by north-east",
    "By-pass: closed until May",
    "-----BEGIN PRIVATE KEY----- is how such a file starts",
    "docker run -u 1000:1000 image",
    "ratio 3:1, score 4:0",
    "the authentication key ceremony is on Monday",
    "license key is in the drawer",
    "I use 1Password, so the password is in 1Password.",
    "credentials: ask Denise",
    "密码学 is cryptography",
]


@pytest.mark.requirement("ADMIT-7")
@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert mask(text).text == text


@pytest.mark.requirement("ADMIT-7")
def test_in_the_demo_month_only_the_planted_key_is_found() -> None:
    month = Path(holdfast.demo.__file__).with_name("month.jsonl").read_text(encoding="utf-8")
    texts = [json.loads(line)["content"] for line in month.splitlines()]
    found = [text[one.start : one.end] for text in texts for one in mask(text).found]
    assert found == ["sk-test-N0tAReaLKey7Qx2ZpV8sLd4w"]


@given(
    st.lists(
        st.sampled_from([*(one for one, _ in [*SECRETS, *NAMED]), *ORDINARY, "password is", "token=", "é", "İ", "\n"])
    )
)
def test_masking_a_masked_text_changes_nothing(parts: list[str]) -> None:
    once = mask(" ".join(parts)).text
    assert mask(once).text == once


@given(st.text())
def test_whatever_is_masked_the_rest_of_the_text_stays_as_it_is(text: str) -> None:
    masked = mask(text)
    rebuilt, done = "", 0
    for one in masked.found:
        rebuilt += text[done : one.start] + f"[secret: {one.kind}]"
        done = one.end
    assert masked.text == rebuilt + text[done:]


@pytest.mark.requirement("SAFE-4", "ADMIT-7")
@pytest.mark.parametrize(
    "seed",
    [
        "sk-",
        "sk-abcdefghij ",
        "token",
        "token=",
        "token of ",
        "eyJ",
        "eyJaaaaaaaa.",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----a -",
        "://a:",
        "://" + "a" * 97,
        "://a:" + "b" * 190 + " ",
        ":AA",
        "a",
        "1",
        " ",
        "-",
        "--a-",
        "--a-a-a-token ",
        "api key ",
        "bearer ",
        'token="',
        "token          ",
        "SG.a",
        " -u a:",
        "pass is ",
        "İ token=",
        "pwd=abc ",
        "token=a1b2c3d4e5 ",
    ],
)
def test_a_hostile_text_of_100_kb_is_read_in_milliseconds(seed: str) -> None:
    text = (seed * (100_000 // len(seed) + 1))[:100_000]
    took = []
    for _ in range(5):
        begun = time.process_time()  # the machine may be busy; what counts is our own work
        masked = mask(text)
        took.append(time.process_time() - begun)
        if took[-1] < 0.15:
            break
    # Reading takes 30 to 80 ms on an idle core; cutting out thousands, which some of these texts hold, comes on top.
    each = 0.000_008 * len(masked.found)
    assert min(took) < (0.15 + each) * slowness()


@pytest.mark.requirement("ADMIT-7")
def test_the_log_keeps_a_secret_and_the_record_does_not(open_memory: OpenMemory) -> None:
    memory = open_memory(embedder="static")
    memory.ingest("Remember that my token for the shop is ghp_FAKEfakeFAKEfakeFAKEfakeFAKEfake0000.")
    memory.flush()
    assert "ghp_FAKE" in memory.thread("default")[0].text
    (record,) = memory.recent(kind="record")
    assert "[secret: github token]" in repr(record) and "ghp_FAKE" not in repr(record)
    assert all("ghp_FAKE" not in decision.reason for decision in memory.why(memory.thread("default")[0].id).decisions)


@pytest.mark.requirement("ADMIT-7", "LOG-7")
def test_redacting_secrets_keeps_them_out_of_the_log_and_the_history_aligned(open_memory: OpenMemory) -> None:
    memory = open_memory(settings=replace(QUICK, log=LogSettings(redact_secrets=True)))
    told = [user("Take AKIAFAKEFAKEFAKE0000 for the upload."), user("ok")]
    memory.ingest_many(told, session="s")
    memory.ingest_many([*told, user("done")], session="s")
    memory.ingest("It is npm_FAKEfakeFAKEfakeFAKEfakeFAKEfake0000 now.", session="s")
    assert texts(memory.thread("s")) == [
        "Take [secret: aws key id] for the upload.", "ok", "done", "It is [secret: npm token] now.",
    ]  # fmt: skip
