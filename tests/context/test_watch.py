"""The watcher tells of changes to rule files, however they are made, and of nothing else."""

from __future__ import annotations

import queue
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.context.rule_files import watch
from holdfast.errors import InputError, MissingExtra

PATIENCE_S = 30.0


@contextmanager
def watched(*paths: Path) -> Iterator[Callable[[Callable[[], object]], list[Path]]]:
    """A watch in a thread, and how to do something until the watch tells of it."""
    told: queue.Queue[list[Path]] = queue.Queue()
    stop = threading.Event()
    thread = threading.Thread(target=watch, args=(paths, told.put, stop))
    thread.start()

    def after(act: Callable[[], object]) -> list[Path]:
        for _ in range(int(PATIENCE_S / 0.5)):  # the watch may not have begun when we act first: act again
            act()
            try:
                return told.get(timeout=0.5)
            except queue.Empty:
                continue
        raise AssertionError("the watch told of nothing")

    try:
        yield after
    finally:
        stop.set()
        thread.join(PATIENCE_S)
        assert not thread.is_alive(), "the watch does not stop"


@pytest.mark.requirement("AUTH-2")
def test_a_file_that_is_written_replaced_made_or_deleted_is_reported(tmp_path: Path) -> None:
    file, absent, unwatched = tmp_path / "AGENTS.md", tmp_path / "LATER.md", tmp_path / "NOTES.md"
    file.write_text("- one\n", encoding="utf-8")

    def replace() -> None:
        unwatched.write_text("- three\n", encoding="utf-8")
        unwatched.replace(file)

    with watched(file, absent) as after:
        assert after(lambda: file.write_text("- two\n", encoding="utf-8")) == [file]
        assert after(replace) == [file]
        assert after(lambda: file.write_text("- four\n", encoding="utf-8")) == [file]  # the new file is watched too
        assert after(lambda: absent.write_text("- five\n", encoding="utf-8")) == [absent]
        assert after(lambda: file.unlink(missing_ok=True)) == [file]


@pytest.mark.requirement("AUTH-2")
def test_a_link_is_reported_when_its_target_changes_or_it_points_elsewhere(tmp_path: Path) -> None:
    for name in ("here", "there", "links"):
        (tmp_path / name).mkdir()
    here, there, link = tmp_path / "here" / "A.md", tmp_path / "there" / "B.md", tmp_path / "links" / "AGENTS.md"
    here.write_text("- one\n", encoding="utf-8")
    there.write_text("- two\n", encoding="utf-8")
    link.symlink_to(here)

    def point_there() -> None:
        link.unlink()
        link.symlink_to(there)

    with watched(link, here) as after:
        assert after(lambda: here.write_text("- three\n", encoding="utf-8")) == [link, here]
        assert after(point_there) == [link]
        assert link in after(lambda: there.write_text("- four\n", encoding="utf-8"))


@pytest.mark.requirement("AUTH-2")
def test_a_link_that_is_taken_away_while_it_is_followed_does_not_end_the_watch(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "B.md", tmp_path / "AGENTS.md"
    target.write_text("- one\n", encoding="utf-8")
    link.symlink_to(target)
    done = threading.Event()

    def flicker() -> None:
        while not done.is_set():
            link.unlink()
            link.symlink_to(target)

    flickering = threading.Thread(target=flicker)
    flickering.start()
    told: list[list[Path]] = []
    stop = threading.Event()

    def once(changed: list[Path]) -> None:
        told.append(changed)
        stop.set()

    beginnings = 15  # each follows the link while it comes and goes
    try:
        for _ in range(beginnings):
            stop.clear()
            watch([link], once, stop)
    finally:
        done.set()
        flickering.join()
    assert told == [[link]] * beginnings


@pytest.mark.requirement("AUTH-2", "SAFE-4")
def test_a_directory_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nowhere"):
        watch([tmp_path / "nowhere" / "AGENTS.md"], lambda _: None, threading.Event())


@pytest.mark.requirement("AUTH-2")
def test_without_the_extra_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    with pytest.raises(MissingExtra, match=r"holdfast\[watch\]"):
        watch([tmp_path / "AGENTS.md"], lambda _: None, threading.Event())
