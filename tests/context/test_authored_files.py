"""Rule files are read again when they change, replaced in one step, and never lost in silence."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from pathlib import Path

import pytest

from holdfast.context import rule_files
from holdfast.context.rule_files import Node, NodeKind, Rules, nodes_of
from holdfast.errors import BadText, InputError

HOUR_NS = 3600 * 1_000_000_000


class Parses:
    """Counts what is parsed, by file."""

    def __init__(self) -> None:
        self.paths: list[str] = []

    def __call__(self, text: str, path: str) -> tuple[Node, ...]:
        self.paths.append(Path(path).name)
        return nodes_of(text, path, lambda said: "must" in said)


@pytest.fixture
def parses() -> Parses:
    return Parses()


@pytest.fixture
def rules(parses: Parses) -> Rules:
    return Rules(nodes_of=parses)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "AGENTS.md"
    path.write_text("# Boat\n\n- Sand it.\n\nYou must paint it.\n", encoding="utf-8")
    return path


def texts(nodes: list[Node]) -> list[str]:
    return [node.text for node in nodes]


@pytest.mark.requirement("AUTH-2")
@pytest.mark.parametrize("later_ns", [0, HOUR_NS], ids=["just written", "written long ago"])
def test_unchanged_files_are_parsed_once(file: Path, parses: Parses, later_ns: int) -> None:
    rules = Rules(nodes_of=parses, now_ns=lambda: time.time_ns() + later_ns)
    other = file.with_name("CLAUDE.md")
    other.write_text("- Oars too.\n", encoding="utf-8")
    first = rules.read([file, other])
    for _ in range(20):
        assert rules.read([file, other]) == first
    os.utime(file)  # touched, not changed: the hash says so
    assert rules.read([file, other]) == first
    assert parses.paths == ["AGENTS.md", "CLAUDE.md"]


@pytest.mark.requirement("AUTH-2")
def test_only_the_file_that_changed_is_parsed_again_and_its_nodes_are_replaced(
    file: Path, rules: Rules, parses: Parses
) -> None:
    other = file.with_name("CLAUDE.md")
    other.write_text("- Oars too.\n", encoding="utf-8")
    rules.read([file, other])
    file.write_text("- Tar it.\n", encoding="utf-8")
    assert texts(rules.read([file, other])) == ["- Tar it.", "- Oars too."]
    assert parses.paths == ["AGENTS.md", "CLAUDE.md", "AGENTS.md"]
    assert texts(rules.held()) == ["- Tar it.", "- Oars too."]


@pytest.mark.requirement("AUTH-2")
def test_a_change_that_leaves_size_and_time_as_they_were_is_seen(file: Path, rules: Rules) -> None:
    for text in ("- one", "- two", "- six", "- ten") * 5:
        file.write_text(text, encoding="utf-8")
        os.utime(file, ns=(HOUR_NS, HOUR_NS))
        assert texts(rules.read([file])) == [text]


@pytest.mark.requirement("AUTH-2")
def test_a_file_that_was_deleted_loses_its_rules_and_says_so_until_it_is_back(file: Path, rules: Rules) -> None:
    assert rules.read([file]).notices == ()
    kept = file.read_text(encoding="utf-8")
    file.unlink()
    for _ in range(2):
        nodes = rules.read([file])
        assert nodes == [] and rules.held() == []
        assert len(nodes.notices) == 1 and str(file) in nodes.notices[0] and "gone" in nodes.notices[0]
    file.write_text(kept, encoding="utf-8")
    nodes = rules.read([file])
    assert len(nodes) == 3 and nodes.notices == ()


@pytest.mark.requirement("AUTH-2")
def test_a_file_that_cannot_be_read_for_a_while_keeps_its_rules_and_says_so(file: Path, rules: Rules) -> None:
    before = rules.read([file])
    whole = file.read_bytes()
    file.write_bytes(b"- caf\xe9\n")
    nodes = rules.read([file])
    assert nodes == before and rules.held() == before
    assert "last reading" in nodes.notices[0] and "UTF-8" in nodes.notices[0]
    file.unlink()
    file.mkdir()
    nodes = rules.read([file])
    assert nodes == before and "directory" in nodes.notices[0]
    file.rmdir()
    file.write_bytes(whole)
    assert rules.read([file]) == before and rules.read([file]).notices == ()


@pytest.mark.requirement("AUTH-1", "SAFE-4")
def test_an_unreadable_rule_file_is_an_error_for_people(
    tmp_path: Path, file: Path, rules: Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match=r"no rule file '.*NONE\.md'.*Check the path"):
        rules.read([tmp_path / "NONE.md"])
    with pytest.raises(InputError, match="no rule file"):
        rules.read([file / "below a file.md"])
    with pytest.raises(InputError, match=r"directory\. Name the file"):
        rules.read([tmp_path])
    with pytest.raises(InputError, match="null"):
        rules.read(["a\0b"])
    latin = tmp_path / "LATIN.md"
    latin.write_bytes("- ok\n- café\n".encode("latin-1"))
    with pytest.raises(BadText, match=r"LATIN\.md.*0xe9 in line 2.*Save it in UTF-8"):
        rules.read([latin])
    latin.write_text("- ok\n", encoding="utf-16")
    with pytest.raises(BadText, match="not UTF-8"):
        rules.read([latin])
    pipe = tmp_path / "PIPE.md"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="not a regular file"):
        rules.read([pipe])
    with pytest.raises(InputError, match=r"it is being written.*Try again"):
        rules.read(["/proc/self/status"])  # holds more than its size says, as a file does that grows while it is read
    monkeypatch.setattr(rule_files, "MAX_FILE_BYTES", 3)
    with pytest.raises(InputError, match="the maximum is 3"):
        Rules().read([file])


@pytest.mark.requirement("AUTH-1")
def test_a_file_counts_once_however_often_it_is_named(
    file: Path, rules: Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = rules.read([file])
    link = file.with_name("CLAUDE.md")
    link.symlink_to(file)
    assert rules.read([file, file, link]) == once
    assert rules.read(file) == once
    monkeypatch.chdir(file.parent)
    assert texts(Rules(nodes_of=nodes_of_none).read(["AGENTS.md", "./CLAUDE.md"])) == texts(once)


def nodes_of_none(text: str, path: str) -> tuple[Node, ...]:
    return nodes_of(text, path, lambda _: False)


@pytest.mark.requirement("AUTH-1")
def test_held_nodes_can_be_asked_for_by_kind(file: Path, rules: Rules) -> None:
    assert rules.held() == []
    rules.read([file])
    assert texts(rules.held(NodeKind.HARD)) == ["- Sand it."]
    assert texts(rules.held(NodeKind.SOFT)) == ["You must paint it."]
    assert texts(rules.held(NodeKind.VARIANT)) == ["# Boat"]


@pytest.mark.requirement("AUTH-2")
def test_nodes_stay_as_they_are_when_parsing_the_new_content_fails(file: Path) -> None:
    def fails_on_tar(text: str, path: str) -> tuple[Node, ...]:
        if "Tar" in text:
            raise RuntimeError("the detector broke")
        return nodes_of_none(text, path)

    rules = Rules(nodes_of=fails_on_tar)
    before = rules.read([file])
    file.write_text("- Tar it.\n", encoding="utf-8")
    with pytest.raises(RuntimeError, match="broke"):
        rules.read([file])
    assert rules.held() == before


@pytest.mark.requirement("AUTH-2")
def test_readers_see_a_whole_version_while_a_writer_replaces_the_file(file: Path) -> None:
    rules = Rules(nodes_of=nodes_of_none)
    items = 300
    seen: list[list[str]] = []
    ready, done = threading.Barrier(4), threading.Event()

    def read() -> None:
        ready.wait()
        while not done.is_set():
            seen.append(texts(rules.read([file])))

    def version(number: int) -> str:
        return "".join(f"- rule {item} of {number}\n" for item in range(items))

    file.write_text(version(0), encoding="utf-8")
    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    ready.wait()
    for number in range(1, 40):
        beside = file.with_name("AGENTS.md.new")
        beside.write_text(version(number), encoding="utf-8")
        beside.replace(file)
    done.set()
    for reader in readers:
        reader.join()
    assert seen and all(one == version(int(one[0].split()[-1])).splitlines() for one in seen)
    assert texts(rules.read([file])) == version(39).splitlines()


@pytest.mark.requirement("AUTH-2")
def test_looking_at_an_unchanged_megabyte_costs_a_fraction_of_reading_it(file: Path) -> None:
    file.write_text("one line of many\n" * 60_000, encoding="utf-8")
    rules = Rules(nodes_of=lambda text, path: (), now_ns=lambda: time.time_ns() + HOUR_NS)
    rules.read([file])
    looking, reading = [], []
    for _ in range(20):
        started = time.perf_counter()
        rules.read([file])
        looking.append(time.perf_counter() - started)
        started = time.perf_counter()
        hashlib.sha256(file.read_bytes()).hexdigest()
        reading.append(time.perf_counter() - started)
    assert min(looking) < min(reading) / 4
