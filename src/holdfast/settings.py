"""The settings that a person may want to change, grouped by goal.

Fitted weights, thresholds and sizes are constants in the modules that use them. Where a sweep or a test has to change
them, they are frozen dataclasses that the code reads with `tuned`.
"""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass, field, fields, is_dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar, cast

from holdfast.errors import InputError

_Weights = TypeVar("_Weights")


@dataclass(frozen=True)
class StoreSettings:
    """The store: SQLite and PostgreSQL."""

    durable: bool = True
    """Call fsync at every commit; turn it off only for tests and throw-away stores, which a power cut may damage."""
    busy_s: float = 30.0
    """Seconds that a write waits for other writers."""
    cache_mb: int = 256
    """Memory for index blocks, all namespaces together; 100,000 turns need about 30 MB, and a namespace that does not
    fit is read again for every search."""
    connections: int = 16
    """PostgreSQL: maximum number of connections per process."""
    reconnect_s: float = 30.0
    """PostgreSQL: seconds to wait for a server that restarts."""
    statement_s: float = 60.0
    """PostgreSQL: maximum duration of one statement, in seconds."""
    allow_superuser: bool = False
    """PostgreSQL: connect as a role that bypasses row-level security, which keeps namespaces apart."""


@dataclass(frozen=True)
class LogSettings:
    """Stored messages."""

    max_text_bytes: int = 64 * 1024 * 1024
    """Refuse a message that is larger."""
    redact_secrets: bool = False
    """Mask passwords and keys before a message is written; otherwise the log keeps every byte (ADMIT-7)."""


@dataclass(frozen=True)
class EmbedderSettings:
    """The model that turns texts into vectors."""

    profile: str = "static"
    """static, onnx:PATH, remote:URL#MODEL or none."""
    timeout_s: float = 10.0
    """Seconds to wait for an embedding server."""


@dataclass(frozen=True)
class ChatSettings:
    """A chat model that helps to extract facts and to summarize; none is required (INV-5)."""

    model: str = "none"
    """none or URL#MODEL; the key comes from HOLDFAST_CHAT_API_KEY."""
    timeout_s: float = 30.0
    """Seconds to wait for one answer; nobody waits for it in the foreground."""

    def __post_init__(self) -> None:
        if not 0 < self.timeout_s < math.inf:
            raise InputError(f"chat.timeout_s must be a number of seconds above 0, not {self.timeout_s!r}")


@dataclass(frozen=True)
class AdmitSettings:
    """Extraction of records from turns."""

    enabled: bool = True
    """Extract records from turns; without it Holdfast is a searchable log."""
    records_per_turn: int = 8
    """Maximum number of records from one turn by the built-in extractor (ADMIT-6)."""
    llm_records_per_turn: int = 3
    """Maximum number of records from one turn by a chat model (ADMIT-6)."""
    criterion: Literal["positive-1", "exclusions-0"] = "positive-1"
    """Prompt for the chat model: the question of ADMIT-3, or the earlier list of exclusions."""

    def __post_init__(self) -> None:
        if self.criterion not in ("positive-1", "exclusions-0"):
            raise InputError(f"admit.criterion is 'positive-1' or 'exclusions-0', not {self.criterion!r}")


@dataclass(frozen=True)
class MergeSettings:
    """Merging of equal records, and replacement of old ones."""

    same: float | None = None
    """Cosine from which two texts may be the same claim; by default the embedder's own threshold (MERGE-1)."""
    supersede: bool = True
    """Retire a record when a newer one contradicts it; otherwise both are kept."""

    def __post_init__(self) -> None:
        if self.same is not None and not 0 < self.same <= 1:
            raise InputError(f"merge.same must be a cosine in (0, 1], not {self.same!r}")


@dataclass(frozen=True)
class TechnicalWeights:
    """T, how technical a turn is: the weight of each family before the norm (GATE-2)."""

    code_fence: float = 0.5
    stack_trace: float = 0.5
    file_path: float = 0.4
    function_definition: float = 0.4
    shell_command: float = 0.4
    url: float = 0.3
    hash: float = 0.3


@dataclass(frozen=True)
class ConversationWeights:
    """Dnl, statements of a person about themselves (GATE-5)."""

    preference: float = 0.4
    date: float = 0.3
    human_name: float = 0.3
    fact_assertion: float = 0.3
    quantity: float = 0.2


@dataclass(frozen=True)
class SpecificityWeights:
    """P, concrete things a technical turn names, each as often as it names them (GATE-6)."""

    error_code: float = 0.5
    file_path: float = 0.4
    git_reference: float = 0.4
    function_reference: float = 0.3
    url: float = 0.3


@dataclass(frozen=True)
class ActionWeights:
    """A, decisions and outcomes, which are costly to find out again (GATE-7)."""

    architecture_decision: float = 0.5
    fix: float = 0.4
    configuration_change: float = 0.4
    milestone: float = 0.3


@dataclass(frozen=True)
class StructureWeights:
    """Dtech, the parts that code is made of (GATE-8)."""

    function_definition: float = 0.4
    data_structure: float = 0.3
    dependency: float = 0.3
    test: float = 0.2
    documentation_comment: float = 0.2


_TECHNICAL_NORM = 1.5  # the seed's: a code fence, a stack trace and a path leave nothing to ask
_SUM_SLACK = 1e-6  # thirds written with seven digits miss 1 by less


@dataclass(frozen=True)
class GateWeights:
    """The weights of the gate's score G; each branch sums to 1 (GATE-1). The defaults are the seed's."""

    novelty: float = 0.35
    repetition: float = 0.40
    conversational_structure: float = 0.25
    specificity: float = 0.40
    actionability: float = 0.35
    technical_structure: float = 0.25
    technical_norm: float = _TECHNICAL_NORM
    """Sum of the technical weights at which T is 1. At or below 0 it means the default (GATE-1)."""
    technical_families: TechnicalWeights = field(default_factory=TechnicalWeights)
    conversation_families: ConversationWeights = field(default_factory=ConversationWeights)
    specificity_families: SpecificityWeights = field(default_factory=SpecificityWeights)
    action_families: ActionWeights = field(default_factory=ActionWeights)
    structure_families: StructureWeights = field(default_factory=StructureWeights)

    def __post_init__(self) -> None:
        _check_branch("conversational", self.novelty, self.repetition, self.conversational_structure)
        _check_branch("technical", self.specificity, self.actionability, self.technical_structure)
        families = (
            self.technical_families, self.conversation_families, self.specificity_families, self.action_families,
            self.structure_families,
        )  # fmt: skip
        for weights in families:
            if not all(0 <= weight < math.inf for weight in astuple(weights)):
                raise InputError(f"the weight of a family must be a finite number of at least 0: {weights}")
        if not math.isfinite(self.technical_norm):
            raise InputError(f"gate.weights.technical_norm must be a finite number, not {self.technical_norm!r}")
        if self.technical_norm <= 0:
            object.__setattr__(self, "technical_norm", _TECHNICAL_NORM)


def _check_branch(branch: str, *weights: float) -> None:
    if not all(0 <= weight <= 1 for weight in weights) or abs(sum(weights) - 1) > _SUM_SLACK:
        given = ", ".join(f"{weight:g}" for weight in weights)
        raise InputError(
            f"the weights of the gate's {branch} branch must each be in [0, 1] and sum to 1; "
            f"they are {given}, which sum to {sum(weights):g}"
        )


@dataclass(frozen=True)
class GateSettings:
    """The gate: how strictly turns are judged before records are made of them."""

    conversation: Literal["rank", "filter"] = "rank"
    """rank: every salient turn may yield records, and the score orders them. filter: only turns at or above the
    threshold may; as a filter the gate loses facts (GATE-14)."""
    threshold: float = 0.35
    """Score from which a turn passes the filter; `holdfast calibrate` suggests your own (GATE-13)."""
    weights: GateWeights = field(default_factory=GateWeights)
    """Weights of the score's signals, validated (GATE-1)."""

    def __post_init__(self) -> None:
        if self.conversation not in ("rank", "filter"):
            raise InputError(f"gate.conversation is 'rank' or 'filter', not {self.conversation!r}")
        if not 0 <= self.threshold <= 1:
            raise InputError(f"gate.threshold must be in [0, 1], not {self.threshold!r}")


@dataclass(frozen=True)
class RankWeights:
    """The weights that `holdfast eval sweep` tries, in standard deviations over the searched documents.

    Chosen on development halves of three public sets, each confirmed on the one left out (docs/evidence/retrieval.md).
    """

    k1: float = 0.2  # BM25's gain from a repeated word: little, because passages are short (the textbook has 1.2)
    b: float = 0.75  # BM25's correction for the length of a passage
    words: float = 0.25  # the best passage by words
    statement: float = 0.15  # cosine with the statements of a turn
    worth: float = (
        0.2  # the same times the chance that the turn is worth keeping: statements before questions and thanks
    )
    window: float = 0.2  # cosine with the turn and the two before it
    user_preference: float = (
        0.6  # the user's words over an assistant's or a tool's: the largest gain on assistant chats
    )
    number_preference: float = 0.8  # a turn with a number, when the question asks for one
    time_preference: float = 1.0  # a turn that tells a time, when the question asks when
    answer_share: float = 0.5  # share of a question's score that the turn after it receives
    session_share: float = 0.2  # share of the best score of its session that a turn receives
    when_weight: float = 2.8  # a turn said in the time that the question names, times how certain that reading is


@dataclass(frozen=True)
class RecallSettings:
    """Ranking of search results."""

    ranker: Literal["standard", "seed"] = "standard"
    """seed: (.7·cosine + .2·exp(-λ·age) + .1·scope), the formula of the project that the seeds came from (RECALL-3)."""
    half_life_days: float = 30.0
    """Half-life of the seed ranker's age term: with hours, week-old facts could not be found at all."""
    weights: RankWeights = field(default_factory=RankWeights)
    """Weights of the standard ranker; `holdfast eval sweep` proposes your own."""


@dataclass(frozen=True)
class ContextSettings:
    """The part of a prompt that memory may use, and the time it may take (docs/design/context.md)."""

    share: float = 0.25
    """Share of `prompt_budget` for everything that Holdfast adds (CTX-2)."""
    tail_turns: int = 4
    """Last turns of the session that are always included (CTX-2)."""
    deadline_s: float = 0.3
    """Seconds after which the messages are returned unchanged."""
    embedder_s: float = 0.1
    """Part of it for the embedder, after which search continues by words alone."""
    seed_guidance: bool = False
    """Include only rules that a compaction protected and that are near the question, as the seeds have it (CTX-3)."""

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise InputError(f"context.share must be a share in (0, 1], not {self.share!r}")
        for name in ("deadline_s", "embedder_s"):
            if not 0 < getattr(self, name) < math.inf:
                raise InputError(f"context.{name} must be a number of seconds above 0, not {getattr(self, name)!r}")


@dataclass(frozen=True)
class TokenSettings:
    """Counting of tokens."""

    counter: str = "estimate"
    """estimate, o200k, cl100k or tokenizer:PATH (a tokenizer.json); errors: docs/evidence/context.md."""
    factor: float = 1.0
    """Multiply every count by this, for a model whose tokenizer is not available: compare one of its bills."""

    def __post_init__(self) -> None:
        if not 0 < self.factor < math.inf:
            raise InputError(f"tokens.factor must be a number above 0, not {self.factor!r}")


@dataclass(frozen=True)
class CompactSettings:
    """Compaction: digests in place of old turns in the active view (docs/how-to/compact.md)."""

    automatic: bool = True
    """Compact a session that grows turn by turn in the background; an imported history waits for its next turn."""
    budget_tokens: int = 2000
    """Growth of the active view, in tokens, after which it is compacted again."""
    stability: float = 0.35
    """Stability below which no turn is protected (COMP-2, COMP-3)."""
    top_fifth: bool = True
    """Ask the chat model also about the best fifth of the clusters, not only above a fixed score (COMP-5)."""

    def __post_init__(self) -> None:
        if not 0 <= self.stability <= 1:
            raise InputError(f"compact.stability must be in [0, 1], not {self.stability!r}")


_CENTURY = 1200  # months: older than anybody's memory, and the calendar still reaches back so far


@dataclass(frozen=True)
class JanitorSettings:
    """The janitor, which lowers the confidence of old records that nobody retrieves (docs/how-to/upkeep.md)."""

    count: bool = True
    """Count retrievals; without counts the janitor does nothing."""
    user_stated_months: int = 12
    """Age of a record that the user stated (KEEP-2)."""
    episode_summary_months: int = 6
    """Age of a summary (KEEP-2)."""
    assistant_derived_months: int = 3
    """Age of a record from the assistant's words (KEEP-2)."""
    tool_derived_months: int = 2
    """Age of a record from a tool's output (KEEP-2)."""
    grace_days: float = 0.0
    """Leave records alone that entered the store more recently, however old they are: for imported histories."""

    def __post_init__(self) -> None:
        if not 0 <= self.grace_days < math.inf:
            raise InputError(f"janitor.grace_days must be a number of at least 0, not {self.grace_days!r}")
        for provenance in ("user_stated", "episode_summary", "assistant_derived", "tool_derived"):
            months = getattr(self, f"{provenance}_months")
            if isinstance(months, bool) or not isinstance(months, int) or not 0 <= months <= _CENTURY:
                raise InputError(
                    f"janitor.{provenance}_months must be a whole number from 0 to {_CENTURY}, not {months!r}"
                )


@dataclass(frozen=True)
class DoctorSettings:
    """Shares of records above which a store is unhealthy; a store that grew without a gate is far above them
    (docs/how-to/upkeep.md).
    """

    max_duplicates: float = 0.02
    """Share of exact copies."""
    max_near_duplicates: float = 0.1
    """Share of near copies."""
    max_junk: float = 0.1
    """Share of records that hold no statement."""
    max_stale: float = 0.5
    """Share of plans whose day has passed; .06 of the demo's month after six weeks."""
    max_loops: float = 0.02
    """Share of records that repeat the assistant's own words."""
    max_secrets: float = 0.0
    """Share of records with a password or a key."""

    def __post_init__(self) -> None:
        for name in ("duplicates", "near_duplicates", "junk", "stale", "loops", "secrets"):
            if not 0 <= getattr(self, f"max_{name}") <= 1:
                raise InputError(f"doctor.max_{name} must be a share in [0, 1], not {getattr(self, f'max_{name}')!r}")


@dataclass(frozen=True)
class ServeSettings:
    """Limits of the servers (docs/reference/rpc.md, docs/reference/http.md)."""

    max_request_bytes: int = 80 * 1024 * 1024
    """Refuse a longer request unread: the largest message (log.max_text_bytes) and room for its envelope."""
    connections: int = 256
    """Maximum number of RPC connections; each is a waiting thread."""
    http_connections: int = 800
    """Maximum number of HTTP connections: below the 1,024 open files that most systems allow a process."""
    in_flight: int = 256
    """Maximum number of HTTP requests in progress; the next one is asked to come back."""
    calls_per_s: float = 1000.0
    """Rate limit of one credential, in requests per second."""
    stop_s: float = 10.0
    """Seconds in which a server stops; calls in progress keep what they have committed."""
    trust_roles: bool = False
    """MCP clients speak for the user: `memory_remember` and the role user of `memory_ingest` are the user's words. For
    a host whose own code calls the tools; a model that may call them writes as itself (docs/threat-model.md)."""
    janitor: bool = True
    """Run the janitor while a server runs (KEEP-2)."""
    janitor_days: float = 7.0
    """Days between two runs of the janitor (KEEP-2)."""

    def __post_init__(self) -> None:
        for name in ("stop_s", "calls_per_s", "janitor_days"):
            if not 0 < getattr(self, name) < math.inf:
                raise InputError(f"serve.{name} must be a number above 0, not {getattr(self, name)!r}")

    @property
    def finish_s(self) -> float:
        """Part of `stop_s` for calls in progress; the rest is for closing stores, which takes a commit or two each."""
        return 0.8 * self.stop_s


@dataclass(frozen=True)
class Settings:
    namespace: str | None = None
    """The default namespace, if the operator named one (LOG-6)."""
    store: StoreSettings = field(default_factory=StoreSettings)
    log: LogSettings = field(default_factory=LogSettings)
    embedder: EmbedderSettings = field(default_factory=EmbedderSettings)
    chat: ChatSettings = field(default_factory=ChatSettings)
    admit: AdmitSettings = field(default_factory=AdmitSettings)
    merge: MergeSettings = field(default_factory=MergeSettings)
    gate: GateSettings = field(default_factory=GateSettings)
    recall: RecallSettings = field(default_factory=RecallSettings)
    context: ContextSettings = field(default_factory=ContextSettings)
    tokens: TokenSettings = field(default_factory=TokenSettings)
    compact: CompactSettings = field(default_factory=CompactSettings)
    janitor: JanitorSettings = field(default_factory=JanitorSettings)
    doctor: DoctorSettings = field(default_factory=DoctorSettings)
    serve: ServeSettings = field(default_factory=ServeSettings)
    _tuning: tuple[object, ...] = field(default=(), repr=False)
    """Private: weights and sizes that a sweep or a test uses in place of the constants."""

    def __post_init__(self) -> None:
        """Reject a count below one, which would stop the work or never end it."""
        for name, section in sections(self):
            for one in fields(section):
                value = getattr(section, one.name)
                if isinstance(value, int) and not isinstance(value, bool) and value < 1:
                    raise InputError(f"the setting {name}.{one.name} must be at least 1, not {value}")


def sections(settings: Settings) -> list[tuple[str, Any]]:
    """Return the groups of settings by name."""
    return [(name, part) for name, part in vars(settings).items() if is_dataclass(part)]


@lru_cache(256)  # a process has few settings, and they are frozen
def _tuned(settings: Settings, kind: Any) -> Any:
    weights = next((one for one in settings._tuning if type(one) is kind), None) or kind()
    for _, section in sections(settings):
        if isinstance(weights, type(section)):
            return replace(weights, **{one.name: getattr(section, one.name) for one in fields(section)})
    return weights


class _Tuned(Protocol):
    def __call__(self, settings: Settings, kind: type[_Weights], /) -> _Weights: ...


tuned = cast(_Tuned, _tuned)
"""Return the constants of a kind with the settings of its base class, if it has one.

They are the defaults, or those of a sweep or a test: `Settings(recall=Ranking(rescore=8))` where the settings have a
section for them, `Settings(_tuning=(IndexSizes(tail=4),))` where they have none.
"""


_FIXED_TEXT = """
    admit: alone confidence_confirmed confidence_implied confidence_stated grounded_share hedged noted_cosine own
    own_chars own_rule recited_lines records_shown rule slight slight_per_turn tuned_turns turn_chars turns_heard
    turns_shown worth authored: attempts gather_ms max_file_bytes settle_s chat: attempts longest_retry_s
    max_reply_chars retry_s compact: alignment alignment_words boost boost_deadline_s compared deadline_s mean_g
    most_chars page_chars page_sentences shard_chars share shown_chars size step tail turn_chars context: candidates
    coverage elevated_share excerpt_passages excerpt_ranks guidance length_cost length_free query_terms soft_share
    standing_tokens tail_chars tail_tokens doctor: alike max_file_mb max_files max_memories sample stale_days wait_s
    embedder: batch gate: code_structure earlier_turns frequent known_records max_chars salient_words saturated
    index: batch gather_most_s gather_s max_chars passage_words passages_from told_floor tail tail_chars
    vector_tail window_turns inspector: days doctor_records form_bytes list_chars page whole_chars janitor:
    count_every_s factor log: batch max_name_bytes stability_assistant stability_other stability_user mcp:
    line_chars listed_sessions prompt_exchanges session_turns merge: floor neighbours paraphrase reworded recall:
    answer_words compared echo echo_among echo_from echo_hits floor_against floor_even floor_meaning floor_rise
    floor_share identifier_preference most outstanding question_chars question_terms rescore speaker_preference
    wish_preference serve: body_s calls_at_once catch_up_s flush_s header_s held_mb janitor_look_s lifecycle_s
    max_batch reads_at_once slow_calls stall_s stranger_kb strangers_at_once strangers_per_s switch_s writes_at_once
    store: copy_pages erase_wait_s sweep_memory_mb themes: apart chars context digest_s dimensions examples least
    near seeded seeds telling turns vocabulary words transfer: widest_gap
"""


def _fixed_names() -> Iterator[str]:
    section = ""
    for word in _FIXED_TEXT.split():
        section = word if word.endswith(":") else section
        if word != section:
            yield f"{section[:-1]}.{word}"


_FIXED = frozenset(_fixed_names())
"""Settings of version 0.1 that became constants: an old settings file may still name them."""


def config_file(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the settings file: the one that HOLDFAST_CONFIG names, else that of `holdfast init` (XDG_CONFIG_HOME)."""
    if path := environ.get("HOLDFAST_CONFIG"):
        return path
    home = environ.get("HOME") or environ.get("USERPROFILE")
    folder = environ.get("XDG_CONFIG_HOME") or (home and os.path.join(home, ".config"))
    return os.path.join(folder, "holdfast", "config.toml") if folder else None


def load_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """Return the defaults, changed by the settings file (`config_file`) and then by variables: HOLDFAST_MERGE__SAME=.9
    sets merge.same, HOLDFAST_GATE__WEIGHTS__NOVELTY=.4 one of the gate's weights.
    """
    data: dict[str, Any] = {}
    path = config_file(environ)
    if path and (environ.get("HOLDFAST_CONFIG") or os.path.exists(path)):
        try:
            data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise InputError(f"cannot read the settings file {path}: {error}") from error
    for name, value in environ.items():
        *groups, setting = name.removeprefix("HOLDFAST_").lower().split("__")
        if name.startswith("HOLDFAST_") and groups:
            part: Any = data
            for group in groups:
                part = part.setdefault(group, {}) if isinstance(part, dict) else None
            if isinstance(part, dict):
                part[setting] = value
    if namespace := environ.get("HOLDFAST_NAMESPACE"):
        data["namespace"] = namespace
    if not data.keys() - {"namespace"} and isinstance(data.get("namespace", ""), str):
        return Settings(namespace=data.get("namespace") or None)  # the common case, without loading the validator
    return _validated(data)


def _validated(data: dict[str, Any]) -> Settings:
    from pydantic import TypeAdapter, ValidationError

    known = dict(sections(Settings()))
    for section, values in data.items():
        if section != "namespace" and section not in known and not any(one.startswith(f"{section}.") for one in _FIXED):
            raise InputError(f"there is no setting {section!r}; there are namespace, {', '.join(known)}")
        if isinstance(values, dict):
            _check_names(section, values, known.get(section))
    checked: dict[str, Any] = {}
    kinds: list[tuple[str, Any]] = [("namespace", str), *((name, type(group)) for name, group in known.items())]
    for name, kind in kinds:
        if name in data:
            try:
                checked[name] = TypeAdapter[Any](kind).validate_python(data[name])
            except ValidationError as error:
                first = error.errors()[0]
                where = ".".join(str(part) for part in (name, *first["loc"]))
                raise InputError(f"the setting {where} cannot be {first['input']!r}: {first['msg']}") from error
    return Settings(**checked)


_RENAMED = {"told": "statement"}


def _check_names(where: str, values: Mapping[str, Any], group: Any) -> None:
    names = [one.name for one in fields(group)] if is_dataclass(group) else []
    for name, value in values.items():
        if name in names:
            if isinstance(value, dict):
                _check_names(f"{where}.{name}", value, getattr(group, name))
        elif hasattr(getattr(group, "weights", None), new := _RENAMED.get(name, name)):
            raise InputError(f"the setting {where}.{name} is now called {where}.weights.{new}")
        elif f"{where}.{name}" in _FIXED:
            raise InputError(
                f"{where}.{name} is fixed since version 0.2 and no longer a setting: remove it (CHANGELOG.md says why)"
            )
        else:
            raise InputError(f"there is no setting {where}.{name}; there are {', '.join(names)}")
