"""Settings: the defaults, a file, variables, checks, and the constants that are no longer settings."""

from __future__ import annotations

import ast
import inspect
import itertools
from dataclasses import fields, replace
from pathlib import Path

import pytest

from holdfast.errors import InputError
from holdfast.index.blocks import IndexSizes
from holdfast.memory import Memory
from holdfast.search.question import Ranking
from holdfast.settings import (
    _FIXED,
    GateSettings,
    JanitorSettings,
    RecallSettings,
    Settings,
    load_settings,
    sections,
    tuned,
)

MAX_PUBLIC = 60  # what a person can look through (STYLE, rule 11)


@pytest.mark.requirement("LOG-2")
def test_the_defaults_are_those_of_the_requirements(tmp_path: Path) -> None:
    settings = load_settings({})
    assert settings == Settings()
    assert settings.namespace is None and settings.store.durable is True
    with Memory(tmp_path / "memory.db", "ana", embedder="none") as memory:
        stability = [memory.ingest("Rex is a dog.", role=role).stability for role in ("user", "assistant", "tool")]
    assert stability == [0.5, 0.25, 0.2]


def test_the_public_settings_are_few_and_each_has_a_sentence() -> None:
    names = [f"{name}.{one.name}" for name, group in sections(Settings()) for one in fields(group)]
    assert 30 < len(names) + len(["namespace"]) <= MAX_PUBLIC
    assert not _FIXED & set(names)
    tree = ast.parse(inspect.getsource(inspect.getmodule(Settings)))  # type: ignore[arg-type]
    classes = {one.name: one for one in tree.body if isinstance(one, ast.ClassDef)}
    for name, group in sections(Settings()):
        found = classes[type(group).__name__]
        assert ast.get_docstring(found), name
        for one, after in itertools.pairwise(found.body):
            assert not isinstance(one, ast.AnnAssign) or isinstance(after, ast.Expr), ast.unparse(one)


@pytest.mark.requirement("LOG-6")
def test_variables_change_single_settings_and_an_empty_namespace_is_none() -> None:
    changed = load_settings({"HOLDFAST_MERGE__SAME": ".6", "HOLDFAST_STORE__DURABLE": "false", "OTHER__B": "x"})
    assert (changed.merge.same, changed.store.durable, changed.merge.supersede) == (0.6, False, True)
    assert load_settings({"HOLDFAST_NAMESPACE": "house"}).namespace == "house"
    assert load_settings({"HOLDFAST_NAMESPACE": ""}).namespace is None
    assert load_settings({"HOLDFAST_NAMESPACE": "house", "HOLDFAST_STORE__BUSY_S": "7"}).namespace == "house"


@pytest.mark.requirement("GATE-1")
def test_weights_are_one_setting_with_names_inside(tmp_path: Path) -> None:
    file = tmp_path / "holdfast.toml"
    file.write_text("[gate.weights]\nnovelty = 0.45\nrepetition = 0.30\n[gate.weights.technical_families]\nurl = 0.1\n")
    settings = load_settings({"HOLDFAST_CONFIG": str(file), "HOLDFAST_RECALL__WEIGHTS__B": "0.5"})
    assert (settings.gate.weights.novelty, settings.gate.weights.technical_families.url) == (0.45, 0.1)
    assert settings.recall.weights == replace(RecallSettings().weights, b=0.5)
    with pytest.raises(InputError, match=r"gate\.weights\.noveltie"):
        load_settings({"HOLDFAST_GATE__WEIGHTS__NOVELTIE": ".4"})
    with pytest.raises(InputError, match=r"gate\.novelty is now called gate\.weights\.novelty"):
        load_settings({"HOLDFAST_GATE__NOVELTY": ".4"})
    assert load_settings({"HOLDFAST_GATE__THRESHOLD": ".4"}).gate == GateSettings(threshold=0.4)


def test_a_file_is_read_and_variables_come_after_it(tmp_path: Path) -> None:
    file = tmp_path / "holdfast.toml"
    file.write_text('namespace = "house"\n[merge]\nsame = 0.5\nsupersede = false\n')
    settings = load_settings({"HOLDFAST_CONFIG": str(file), "HOLDFAST_MERGE__SAME": "0.9"})
    assert (settings.namespace, settings.merge.same, settings.merge.supersede) == ("house", 0.9, False)
    assert load_settings({"HOLDFAST_CONFIG": str(file), "HOLDFAST_NAMESPACE": "mine"}).namespace == "mine"


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({"HOLDFAST_RECALL__BB": "1"}, "recall.bb"),
        ({"HOLDFAST_NOWHERE__B": "1"}, "nowhere"),
        ({"HOLDFAST_RECALL__WEIGHTS__B": "much"}, "recall.weights.b"),
        ({"HOLDFAST_STORE__DURABLE": "perhaps"}, "store.durable"),
        ({"HOLDFAST_STORE__CONNECTIONS": "1.5"}, "store.connections"),
        ({"HOLDFAST_CONFIG": "/no/such/file.toml"}, "/no/such/file.toml"),
    ],
)
def test_an_unknown_or_invalid_setting_is_refused_by_name(environ: dict[str, str], named: str) -> None:
    with pytest.raises(InputError, match=named.replace(".", r"\.")):
        load_settings(environ)


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("name", sorted({*_FIXED, "index.told_floor", "admit.turns_heard"}))
def test_a_former_setting_is_refused_with_a_reason(name: str, tmp_path: Path) -> None:
    section, _, setting = name.partition(".")
    with pytest.raises(InputError, match=rf"{section}\.{setting} is fixed since version 0\.2 and no longer a setting"):
        load_settings({f"HOLDFAST_{section}__{setting}".upper(): "1"})
    file = tmp_path / "holdfast.toml"
    file.write_text(f"[{section}]\n{setting} = 1\n")
    with pytest.raises(InputError, match="CHANGELOG"):
        load_settings({"HOLDFAST_CONFIG": str(file)})


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("text", ["not toml", "merge = 5", "[merge]\nsame = [1]", "\ufeff[merge]\nsame = 'x'"])
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "holdfast.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError):
        load_settings({"HOLDFAST_CONFIG": str(file)})


@pytest.mark.requirement("SAFE-4")
def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "holdfast.toml"
    file.write_bytes(b"\xff\xfe[recall]")
    with pytest.raises(InputError, match=r"holdfast\.toml"):
        load_settings({"HOLDFAST_CONFIG": str(file)})


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("name", ["HOLDFAST_STORE__CONNECTIONS", "HOLDFAST_ADMIT__RECORDS_PER_TURN"])
@pytest.mark.parametrize("value", ["0", "-1"])
def test_a_number_with_which_nothing_could_work_is_refused(name: str, value: str) -> None:
    with pytest.raises(InputError):
        load_settings({name: value})


@pytest.mark.requirement("KEEP-2")
@pytest.mark.parametrize("months", [-1, 100_000, 1.5, True])
def test_months_beyond_the_calendar_are_refused(months: object) -> None:
    with pytest.raises(InputError, match=r"janitor\.user_stated_months must be a whole number from 0 to 1200"):
        JanitorSettings(user_stated_months=months)  # type: ignore[arg-type]


def test_constants_can_be_changed_for_one_memory_only() -> None:
    usual, other = Settings(), Settings(recall=Ranking(rescore=8), _tuning=(IndexSizes(tail=3),))
    assert (tuned(usual, Ranking), tuned(usual, IndexSizes)) == (Ranking(), IndexSizes())
    assert (tuned(other, Ranking).rescore, tuned(other, IndexSizes).tail) == (8, 3)
    seeds = replace(other, recall=replace(other.recall, ranker="seed"))
    assert (tuned(seeds, Ranking).ranker, tuned(seeds, Ranking).rescore) == ("seed", 8)
    assert tuned(replace(usual, recall=RecallSettings("seed")), Ranking) == Ranking("seed")
