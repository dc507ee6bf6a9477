"""Which tests run on which engine. They say `Memory(tmp_path / "memory.db", …)`; on PostgreSQL that path is a database.

Most tests speak of behaviour and run on both engines: those of BOTH in every run, those of NEUTRAL on PostgreSQL when
HOLDFAST_TEST_ENGINE=postgres (`make test-postgres`). Those that speak of files, of SQLite or of another process that
opens the file are named in OF_FILES, and stay on SQLite.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["chosen", "default_engine", "engines_of"]

TESTS = Path(__file__).parents[1]
BOTH = ("log/test_history.py", "log/test_ingest.py", "insight/test_lookup.py")
NEUTRAL = (
    *BOTH,
    "admit", "compact", "context", "gate", "index", "insight", "log", "rules", "search", "store/test_threads.py",
    "test_aio.py", "test_memory.py", "test_memory_machine.py", "upkeep", "worker",
)  # fmt: skip
OF_FILES: dict[str, tuple[str, ...]] = {
    "context/test_deadline.py": (
        "test_a_locked_store_returns_the_original_messages_in_time",  # see tests/postgres
    ),
    "admit/test_llm_admission.py": ("test_two_processes_ask_once_for_a_turn",),
    "index/test_readings.py": (),
    "log/test_align.py": (),
    "search/test_search.py": ("test_the_word_index_changes_no_answer",),
    "test_memory.py": (
        "test_status_counts_turns_and_the_progress_of_derived_work",
        "test_a_context_manager_closes",
        "test_a_program_that_ends_without_close_ends_cleanly_and_keeps_everything",
        "test_search_does_not_import_admission",
    ),
    "admit/test_secrets_leaving.py": ("test_redaction_covers_metadata_memories_sessions_and_keys",),  # a backup
    "upkeep/test_backup.py": (),
    "upkeep/test_copying.py": (),
    "worker/test_counters.py": (
        "test_a_store_that_cannot_write_counts_loses_no_answer",
        "test_a_background_thread_writes_the_counts",
    ),
    "upkeep/test_doctor.py": (
        "test_a_planted_fault_is_found_and_repaired",
        "test_junk_secrets_and_echoes_in_records_are_found",
        "test_failed_integrity_checks_of_the_engine_are_reported",
    ),
    "upkeep/test_erase.py": (
        "test_an_erased_turn_is_gone_from_log_search_and_files",
        "test_erasing_the_namespace_al_leaves_alice",
    ),
    "upkeep/test_erase_crash.py": (),
    "upkeep/test_erase_proof.py": (),
    "upkeep/test_foreign.py": (),
    "upkeep/test_transfer.py": (
        "test_the_python_example_of_the_transfer_page_runs",
        "test_async_memory_can_export_import_and_restore",
    ),
    "upkeep/test_transfer_files.py": ("test_an_export_replaces_only_an_export",),
}
"""By file; none named: all of it."""


def chosen() -> str:
    return os.environ.get("HOLDFAST_TEST_ENGINE", "")


def default_engine(path: Path, test: str) -> str:
    """The engine of a test that was not given one."""
    return "postgres" if chosen() == "postgres" and _is_neutral(path, test, NEUTRAL) else "sqlite"


def engines_of(path: Path, test: str) -> tuple[str, ...]:
    """The engines that a test runs on in turn, where it does on more than one."""
    return ("sqlite", "postgres") if not chosen() and _is_neutral(path, test, BOTH) else ()


def _is_neutral(path: Path, test: str, places: tuple[str, ...]) -> bool:
    name = path.relative_to(TESTS).as_posix()
    of_files = OF_FILES.get(name)
    if of_files is not None and (not of_files or test in of_files):
        return False
    return any(name == place or name.startswith(f"{place}/") for place in places)
