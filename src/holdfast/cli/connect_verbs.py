"""Commands for hosts: connect and disconnect."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from holdfast.cli.command import MemoryTarget, argument, command, option
from holdfast.cli.render import console, printable

_HOSTS = "claude-code, claude-desktop, cursor or codex"

HostName = Annotated[str, argument(f"The host: {_HOSTS}.", "HOST")]


@dataclass(frozen=True)
class HostFile:
    """A file of a host that connecting or disconnecting changes."""

    path: str
    state: str
    """created, changed, removed or unchanged."""
    about: tuple[str, ...]


@dataclass(frozen=True)
class ConnectAnswer:
    host: str
    namespace: str | None
    """None where a host is disconnected."""
    store: str
    connected: bool
    dry_run: bool
    files: tuple[HostFile, ...]
    verified: tuple[str, ...]
    """What was seen when the host's commands were tried."""
    default_namespace: bool
    """Other commands use the same namespace by themselves."""


DryRun = Annotated[bool, option("Only show what would change.", "--dry-run")]


@command("connect_verbs.show_connected", without=("embedder",))
def connect(
    target: MemoryTarget,
    host: HostName,
    dry_run: DryRun = False,
    plugin: Annotated[
        Path | None, option("Write a Claude Code plugin to this folder instead.", "--plugin", metavar="FOLDER")
    ] = None,
) -> object:
    """Connect a host: show what changes in its files, change it, and verify that it works.

    [dim]holdfast connect claude-code · holdfast connect cursor --namespace ana --dry-run[/dim]
    """
    from holdfast.connect import hosts
    from holdfast.errors import InputError
    from holdfast.settings import load_settings

    _check_host(host)
    if plugin is not None and host != "claude-code":
        raise InputError("--plugin is for claude-code")
    namespace = str(target.or_me.namespace)
    store = target.location if "://" in target.location else os.path.abspath(target.location)
    started = hosts.HostCommand(hosts.find_program(), store, namespace)
    changes = hosts.plan_connect(host, started) if plugin is None else hosts.plugin_files(started, plugin.absolute())
    files = tuple(HostFile(str(one.path), _state(one.before, one.after), one.about) for one in changes)
    answer = ConnectAnswer(host, namespace, store, True, dry_run, files, (), load_settings().namespace == namespace)
    if dry_run:
        return answer
    for one in files:
        typer.echo(f"holdfast: {one.state} {one.path}: {'; '.join(one.about)}", err=True)
    if plugin is None:
        hosts.connect(host, changes, started)
    else:
        for change in changes:
            change.write()
    return replace(answer, verified=tuple(hosts.verify(started, hooks=host == "claude-code")))


@command("connect_verbs.show_connected", without=("namespace", "embedder"))
def disconnect(target: MemoryTarget, host: HostName, dry_run: DryRun = False) -> object:
    """Disconnect a host: remove what connect added to its files. The memory itself stays.

    [dim]holdfast disconnect claude-code[/dim]
    """
    from holdfast.connect import hosts

    _check_host(host)
    changes = hosts.plan_disconnect(host, target.location)
    files = tuple(HostFile(str(one.path), _state(one.before, one.after), one.about) for one in changes)
    if not dry_run:
        hosts.disconnect(host, changes, target.location)
    return ConnectAnswer(host, None, target.location, False, dry_run, files, (), True)


def _check_host(host: str) -> None:
    from holdfast.connect.hosts import HOSTS

    if host not in HOSTS:
        raise typer.BadParameter(f"{host!r} is none of {_HOSTS}", param_hint="HOST")


def _state(before: bytes | None, after: bytes | None) -> str:
    if before == after:
        return "unchanged"
    return "created" if before is None else "removed" if after is None else "changed"


# --- printing


def show_connected(made: ConnectAnswer) -> None:
    out = console()
    if made.dry_run or not made.connected:
        tense = "would be " if made.dry_run else ""
        for one in made.files:
            state = one.state if one.state == "unchanged" else tense + one.state
            out.print(f"{state} {printable(one.path)}: {printable('; '.join(one.about))}")
        if not made.connected and not made.dry_run:
            out.print(f"{made.host} is disconnected; the memory is still in {printable(made.store)}")
        return
    for seen in made.verified:
        out.print(f"verified: {printable(seen)}")
    out.print(f"{made.host} remembers in namespace {printable(made.namespace or '')} of {printable(made.store)}")
    out.print("Restart it, or begin a new session.")
    if not made.default_namespace:
        out.print(f"To use other commands without --namespace: holdfast init {printable(made.namespace or '')}")
    out.print(f"Undo: holdfast disconnect {made.host}")
