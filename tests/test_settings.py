"""Every default in one place, changed by a file and by variables, and checked."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.errors import InputError
from holdfast.settings import JanitorSettings, Settings, load_settings


@pytest.mark.requirement("LOG-2")
def test_the_defaults_are_those_of_the_requirements() -> None:
    settings = load_settings({})
    assert settings == Settings()
    assert settings.namespace is None
    assert (settings.log.stability_user, settings.log.stability_assistant, settings.log.stability_other) == (
        0.5, 0.25, 0.2,
    )  # fmt: skip
    assert settings.store.durable is True


@pytest.mark.requirement("LOG-6")
def test_variables_change_single_settings_and_an_empty_namespace_is_none() -> None:
    changed = load_settings({"HOLDFAST_RECALL__B": ".6", "HOLDFAST_STORE__DURABLE": "false", "OTHER__B": "x"})
    assert (changed.recall.b, changed.store.durable, changed.recall.k1) == (0.6, False, Settings().recall.k1)
    assert load_settings({"HOLDFAST_NAMESPACE": "house"}).namespace == "house"
    assert load_settings({"HOLDFAST_NAMESPACE": ""}).namespace is None
    assert load_settings({"HOLDFAST_NAMESPACE": "house", "HOLDFAST_INDEX__TAIL": "7"}).namespace == "house"


def test_a_file_is_read_and_variables_come_after_it(tmp_path: Path) -> None:
    file = tmp_path / "holdfast.toml"
    file.write_text('namespace = "house"\n[recall]\nb = 0.5\nk1 = 1.5\n')
    settings = load_settings({"HOLDFAST_CONFIG": str(file), "HOLDFAST_RECALL__B": "0.9"})
    assert (settings.namespace, settings.recall.b, settings.recall.k1) == ("house", 0.9, 1.5)
    assert load_settings({"HOLDFAST_CONFIG": str(file), "HOLDFAST_NAMESPACE": "mine"}).namespace == "mine"


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize(
    ("environ", "named"),
    [
        ({"HOLDFAST_RECALL__BB": "1"}, "recall.bb"),
        ({"HOLDFAST_NOWHERE__B": "1"}, "nowhere"),
        ({"HOLDFAST_RECALL__B": "much"}, "recall.b"),
        ({"HOLDFAST_STORE__DURABLE": "perhaps"}, "store.durable"),
        ({"HOLDFAST_INDEX__TAIL": "1.5"}, "index.tail"),
        ({"HOLDFAST_CONFIG": "/no/such/file.toml"}, "/no/such/file.toml"),
    ],
)
def test_a_setting_that_is_none_is_refused_by_name(environ: dict[str, str], named: str) -> None:
    with pytest.raises(InputError, match=named.replace(".", r"\.")):
        load_settings(environ)


@pytest.mark.requirement("SAFE-4")
@pytest.mark.parametrize("text", ["not toml", "recall = 5", "[recall]\nb = [1]", "\ufeff[recall]\nb = 'x'"])
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
@pytest.mark.parametrize(
    "name", ["HOLDFAST_INDEX__BATCH", "HOLDFAST_LOG__BATCH", "HOLDFAST_RECALL__MOST", "HOLDFAST_LOG__MAX_NAME_BYTES"]
)
@pytest.mark.parametrize("value", ["0", "-1"])
def test_a_number_with_which_nothing_could_work_is_refused(name: str, value: str) -> None:
    """A batch of none would never end; the person who set it should hear so now."""
    with pytest.raises(InputError):
        load_settings({name: value})


@pytest.mark.requirement("KEEP-2")
@pytest.mark.parametrize("months", [-1, 100_000, 1.5, True])
def test_months_that_no_calendar_can_go_back_are_refused_before_the_janitor_meets_them(months: object) -> None:
    with pytest.raises(InputError, match=r"janitor\.user_stated_months must be a whole number from 0 to 1200"):
        JanitorSettings(user_stated_months=months)  # type: ignore[arg-type]
