"""What spares a text the search for a pattern never hides a match of it."""

from __future__ import annotations

import pytest

from holdfast.gate.patterns import SPECIFICS, STRUCTURE, TECHNICAL, Pattern, PatternReading
from holdfast.gate.salience import SIGNALS

_PATTERNS = {
    f"{family.name} {number}": pattern
    for family in (*TECHNICAL, *SPECIFICS, *STRUCTURE, *SIGNALS)
    for number, pattern in enumerate(family.patterns)
    if pattern.telltale is not None
}
# One for each way a pattern can match, with as few signs as it allows.
_SHOWN = """
    ```|~~~|Traceback (most recent call last)|File "a", line 3|KeyError: a|Caused by: java.io.Exception
    Exception in thread main|Uncaught TypeError|Uncaught (in promise)|panic: runtime error|it panicked at start
    goroutine 7 [running]|fatal error: all goroutines asleep|a segmentation fault|Segmentation fault|cart.rb:4:in `add'
    at com.shop.Cart.add(Cart.java:42)|at add (cart.js:4:2)|at cart.js:4:2|#1  0x0fa in main|main.go:4 +0x1f
    /etc/hosts|/tmp|~/notes|./run|../src|$HOME/bin|.gitignore|.env|\\\\server\\share|C:\\Users|C:/work/a|src/app/main.py
    migrations/|node_modules/a|main.py|pyproject.toml|README.md|the Makefile|a Dockerfile|requirements.txt
    https://example.org|www.example.org|localhost:8080|GET /users|10.0.0.1|/api/users|postgres://db|s3://bucket
    def add(|function add(a) {|const a = async (b) => 1|let f = x => x|func Add(|fn add(|fun add(a) {|static int a() {
    CREATE OR REPLACE FUNCTION a|def add_one|int main(void) {|deploy() {|(defn add
    $ ls|`git status`|git push|git stash|npm install|npm i|npx vite|yarn add|pnpm run|pip install a|brew install b
    apt uninstall|uv add|uv run|poetry lock|docker ps|docker compose|kubectl get|systemctl restart|helm upgrade
    terraform plan|cargo build|go mod tidy|go test ./a|go run main.go|make -j|kill -9|tail -f|ps aux|tar xzf|ls -l
    curl localhost|wget https:|curl -s a|find . -name|sudo reboot|export A=1|ssh me@host|chmod 755|chmod +x|cat ./a
    cd ~/a|python run.py|a | grep b|2>&1|> /dev/null|0x1f|commit 3fa92bc1|deadbeef-dead-beef-dead-beefdeadbeef
    A1B2C3D4E5F60718|sha256:abcdefgh|ENOENT|EACCES|SIGKILL|OOMKilled|CrashLoopBackOff|ERR_CONNECTION|SQLSTATE: abcde
    E0277|TS2345|ORA-00942|HTTP 404|exit code 1|Error 404|errno 2|KeyError|NullPointerException|HEAD~|HEAD^
    refs/heads/a|PR 12|PR #12|merge request 4|merged into main|rebased onto main|Merging to master|tag v1.2|tagged 1.2
    origin/main|feature/a-b|add()|cart.add(|Cart::total|get_user(1)|getUser(1)|a->b(
    class Cart:|class Cart {|struct Cart {|type Cart struct|type Cart = |CREATE TABLE a|create index a|ALTER TABLE
    alter table|TypedDict|NamedTuple|@dataclass|{ "a":|from a import b|import os|import a as b|#include <a>|use a::
    using System;|require('a')|cargo add|go get a.b|package.json|Gemfile|poetry.lock|numpy>=2|"react": "^18
    def test_a|func TestA(|it('a')|expect(a).|assertEqual(|assert_a!(|test_a.py|a_test.go|cart.spec.ts|pytest|unittest
    vitest|rspec|junit|JUnit|npx jest|jest.fn|integration tests|Unit tests|test suite|Test coverage|E2E test
    assert a == b|#[test]|@Test|[Fact]|\"\"\"|'''|/**|/// a|Args:|@param|:param a: |:returns: |Raises:
    remember that|Remember this|remember:|don't forget|keep in mind|for the record|note to self|always use|never ask
    from now on|from here on|going forward|in the future, please|in future use|do not ever push|the project is
    our team uses|this codebase has|my company wants|the policy says|私は|我喜欢
"""
_TEXTS = [text for line in _SHOWN.strip().splitlines() for text in line.strip().split("|") if text]


@pytest.mark.requirement("GATE-2", "SAL-2")
@pytest.mark.parametrize("name", _PATTERNS)
def test_a_pattern_that_matches_is_never_spared(name: str) -> None:
    pattern = _PATTERNS[name]
    matching = [text for text in _TEXTS if _matches(pattern, text)]
    assert matching, "no text shows it"
    for text in matching:
        assert pattern.found(PatternReading.of(text)), text
        assert pattern.found(PatternReading.of(f"well then\n{text}\nand so on")) == _matches(
            pattern, f"well then\n{text}\nand so on"
        )


def _matches(pattern: Pattern, text: str) -> bool:
    return pattern.regex.search(text.lower() if pattern.any_case else text) is not None


def test_plain_chat_is_spared_the_search_for_code() -> None:
    reading = PatternReading.of("We had soup last night, and my sister came over. It was lovely to see her again!")
    spared = [
        pattern.telltale is not None and not pattern.telltale.shown(reading, reading.text)
        for family in (*TECHNICAL, *SPECIFICS, *STRUCTURE)
        for pattern in family.patterns
    ]
    assert all(spared)
