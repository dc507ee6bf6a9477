"""The verbs that look after a memory: its thresholds, its health, its copies, and what must go for good."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

from holdfast.errors import FlushTimeout, InputError, ModelError, StoreError
from holdfast.log.messages import check_text
from holdfast.models.breaker import GuardedEmbedder
from holdfast.models.embedder import Embedder
from holdfast.moments import utc_now
from holdfast.settings import Settings, load_settings
from holdfast.store.open import default_location
from holdfast.store.protocol import Store

if TYPE_CHECKING:
    from holdfast.gate.labels import Label
    from holdfast.insight import Calibration, Pair, Tuning
    from holdfast.upkeep.memo import Diagnosis
    from holdfast.upkeep.reports import BackedUp, Copied, Erased, Exported, Imported, Restored, Tidied

from holdfast.opened import Opened, Progress, guarded, redacted

__all__ = ["Tended"]


class Tended(Opened):
    # --- its thresholds, on one's own data

    def calibrate(
        self, labels: Iterable[Mapping[str, object] | tuple[str | float, bool] | Label] | None = None
    ) -> Calibration:
        """P(useful | G) and a threshold, from labels: {"turn": ID, "useful": true}, or "g" for "turn", or pairs.

        It is stored in the log and changes nothing by itself: the threshold is the setting gate.threshold. Without
        labels: how the scores lie, and what was stored last.
        """
        from holdfast.gate.labels import read_labels
        from holdfast.recall.calibration import as_act, calibrate, stored_calibration

        with self._store.snapshot(self.namespace) as view:
            if labels is None:
                return stored_calibration(view)
            now = self._clock()
            made = calibrate(view, read_labels(labels), self._settings.gate.threshold, now)
        self._store.act(self.namespace, as_act(made, now))
        return made

    def tune_similarity(
        self,
        thresholds: Sequence[float] | None = None,
        sample: int = 20,
        judged: Iterable[Mapping[str, object] | Pair] | None = None,
    ) -> Tuning:
        """How often each similarity threshold would fire here, with pairs to judge; judged ones give its error."""
        if self._embedder is None:
            raise InputError("tuning the similarity threshold needs an embedder, and this memory has none")
        from holdfast.derive.tuning import tune  # the rooms of admission take 100 ms to load: only who uses them pays

        with self._store.snapshot(self.namespace) as view:
            return tune(view, self._embedder.profile, thresholds, self._sample(sample), judged, self._settings)

    # --- looking after it

    def check(self) -> list[str]:
        """The store's own integrity check: what is wrong with it, or nothing."""
        return self._store.check()

    def rebuild(self, progress: Progress | None = None) -> None:
        """Drop every view of this namespace and derive it anew from the log; answers stay the same (INV-3)."""
        self._store.clear_views(self.namespace)
        self._worker.flush(None, progress)

    def janitor(self, dry_run: bool = False, cull: bool = False, undo: str | None = None) -> Tidied:
        """Trust less what nobody ever found (docs/upkeep.md): one notch, once a week; `undo` takes a run back.

        With `cull` what is not the user's own word is hidden instead, as `forget` does; nothing is destroyed.
        """
        from holdfast.upkeep import janitor

        self._retrievals.write()
        if undo is not None:
            run = check_text("the name of a run", undo, self._settings.log)
            return janitor.undo(self._store, self.namespace, run, self._clock())
        return janitor.tidy(self._store, self.namespace, self._settings.janitor, self._clock(), dry_run, cull)

    def doctor(self, fix: bool = False, progress: Progress | None = None, *, alone: bool = False) -> Diagnosis:
        """How healthy this namespace is: copies, junk, loops, secrets, orphans, drift (docs/upkeep.md).

        With `fix` what can be derived from the log is dropped and derived anew; no turn and no act is touched. With
        `alone` the store's integrity is left out, which is about other namespaces too.
        """
        from holdfast.upkeep.doctor import examine, fixed, heal

        found = examine(*self._patient(), self._clock(), self._catch_up(), alone)
        if not fix or not any(one.count and one.fixable for one in found.findings):
            return found
        heal(self._store, self.namespace, found, self._fingerprint)
        self._worker.flush(None, progress)
        after = examine(*self._patient(), self._clock(), self._worker.behind(), alone)
        return replace(after, fixed=fixed(found, after))

    def _patient(self) -> tuple[Store, str, GuardedEmbedder | None, Settings]:
        return self._store, self.namespace, self._embedder, self._settings

    def _catch_up(self) -> int:
        """Wait a while for derived work; how far it is behind then."""
        try:
            self.flush(self._settings.doctor.wait_s)
        except (FlushTimeout, ModelError):  # the doctor says so, with what else there is to say
            return self._worker.behind()
        return 0

    @staticmethod
    def audit(
        path: str | os.PathLike[str], embedder: Embedder | str | None = None, settings: Settings | None = None
    ) -> Diagnosis:
        """The same of another system's memories: mem0, MEMORY.md and CLAUDE.md, MCP's reference memory."""
        from holdfast.upkeep.doctor import audit_file

        known = settings or load_settings()
        return audit_file(path, guarded(embedder, known), known, utc_now())

    def export(self, path: str | os.PathLike[str] | BinaryIO, progress: Progress | None = None) -> Exported:
        """Write this namespace's log to a JSONL file: every turn and act, in order (docs/transfer.md)."""
        from holdfast.upkeep.transfer import export_log

        return export_log(self._store, self.namespace, path, self._clock(), progress)

    def import_file(self, path: str | os.PathLike[str] | BinaryIO, progress: Progress | None = None) -> Imported:
        """Take over the log of an export: all of it or nothing, and only what is not here yet."""
        from holdfast.upkeep.transfer import import_log

        made = import_log(self._store, self.namespace, path, self._settings, self._redacted, progress)
        self._worker.wake()
        return made

    def erase(
        self,
        session: str | None = None,
        namespace: bool = False,
        turn: str | None = None,
        record: str | None = None,
        prove: bool = False,
        progress: Progress | None = None,
    ) -> Erased:
        """Destroy a session, a turn, a record or all of this namespace, with everything derived from it.

        By exact name, for good: the log, the views and the bytes in the files. `prove` searches them for what was
        there. What stays is a tombstone without content, so that it does not come back with the next history.
        """
        from holdfast.upkeep.erase import erase, read_scope

        scope, noun = read_scope(session, namespace, turn, record)
        noun = noun if namespace else check_text(f"the {scope.value}", noun, self._settings.log)
        self._retrievals.write()

        def settle(bared: Mapping[str, tuple[str, ...]]) -> tuple[int, str | None]:
            self._cache.clear()
            try:
                self._worker.flush(None, progress)
                remade = sum(self._compacting.compactor.again(name, ids) for name, ids in bared.items())
                self._worker.flush(None)
            except (ModelError, StoreError) as error:  # it is erased all the same
                return 0, str(error)
            return remade, None

        return erase(self._store, self.namespace, scope, noun, self._clock(), settle, prove)

    def backup(self, path: str | os.PathLike[str], progress: Progress | None = None) -> BackedUp:
        """Copy the whole store, every namespace in it, while others write; the copy is checked."""
        from holdfast.upkeep.backup import back_up

        return back_up(self._store, path, progress)

    @staticmethod
    def copy(
        source: str | os.PathLike[str],
        target: str | os.PathLike[str],
        namespaces: Sequence[str] | None = None,
        progress: Progress | None = None,
        settings: Settings | None = None,
    ) -> Copied:
        """Copy the logs of these namespaces, or of all, into another store of any engine; again, it adds what is new.

        Views are derived where they arrive, when somebody opens them there.
        """
        from holdfast.store.open import open_store
        from holdfast.upkeep.copying import chosen_namespaces, copy_namespaces

        known = settings or load_settings()
        place = os.fspath(source)
        if "://" not in place and not os.path.exists(place):
            raise InputError(f"there is no store at {place} to copy from")
        with closing(open_store(source, known.store)) as here:
            chosen = chosen_namespaces(here, namespaces)  # before the target is made: a mistyped name leaves nothing
            with closing(open_store(target, known.store)) as there:
                return copy_namespaces(here, there, chosen, lambda turn: redacted(turn, known), progress)

    @staticmethod
    def restore(
        backup: str | os.PathLike[str],
        location: str | os.PathLike[str] | None = None,
        force: bool = False,
        progress: Progress | None = None,
    ) -> Restored:
        """Put a checked copy of a backup where the store is; with `force` what is there is kept aside."""
        from holdfast.upkeep.backup import restore

        place = default_location() if location is None else location
        return restore(backup, place, load_settings().store, utc_now(), force, progress)
