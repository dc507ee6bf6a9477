"""Every default, in one place, each with where it comes from."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Literal

from holdfast.errors import InputError

__all__ = [
    "ActionWeights",
    "AdmitSettings",
    "ChatSettings",
    "ConversationWeights",
    "EmbedderSettings",
    "GateSettings",
    "IndexSettings",
    "LogSettings",
    "MergeSettings",
    "RecallSettings",
    "Settings",
    "SpecificityWeights",
    "StoreSettings",
    "StructureWeights",
    "TechnicalWeights",
    "load_settings",
]


@dataclass(frozen=True)
class LogSettings:
    max_text_bytes: int = 64 * 1024 * 1024
    """A larger turn is refused. Far above the 10 MB that SAFE-4 asks for, far below SQLite's 1 GB row."""
    max_name_bytes: int = 1024
    """Namespaces, sessions and keys are part of every index entry, so they are kept short."""
    stability_user: float = 0.5  # LOG-2
    stability_assistant: float = 0.25  # LOG-2
    stability_other: float = 0.2  # LOG-2
    batch: int = 500
    """Turns a transaction of ingest_many: an interrupt loses at most this much progress, never a turn."""
    redact_secrets: bool = False
    """Whether secrets are masked before the turn is written (ADMIT-7). Off: the log keeps what was said, every byte."""


@dataclass(frozen=True)
class StoreSettings:
    durable: bool = True
    """False turns off fsync: for tests and throw-away stores only. A power cut may then lose acknowledged turns."""
    busy_s: float = 30.0
    """How long a writer waits for the others. 8 writers waited .44 s at worst behind an flock (DESIGN)."""
    cache_mb: int = 64
    """Vector codes and document tables kept in memory, all namespaces together; 100k turns need about 30."""


@dataclass(frozen=True)
class EmbedderSettings:
    profile: str = "static"
    """static | onnx:PATH | remote:URL#MODEL | none"""
    timeout_s: float = 10.0
    batch: int = 256


@dataclass(frozen=True)
class IndexSettings:
    tail: int = 128
    """Turns that may wait outside the word index: search scans them as they are, at about 20 µs each."""
    tail_chars: int = 200_000
    """… unless they hold this many characters together: one long paste is indexed at once."""
    vector_tail: int = 256
    """Vectors that may wait outside a quantised segment."""
    batch: int = 2000
    """Turns a transaction of derived work."""
    passage_words: int = 60
    """A long turn is cut into passages of about so many words, at the ends of sentences (DESIGN: about 60)."""
    window_turns: int = 2
    """Turns before a turn that it is read together with (DESIGN)."""
    told_floor: float = 0.3
    """A sentence counts by the chance that it is worth keeping plus this: .1 to .3 were alike on three sets."""
    passages_from: int = 90
    """… if it has more words than this: one passage and a half."""
    max_chars: int = 1_000_000
    """Words beyond this are kept and shown, but not indexed: a 10 MB paste must not cost minutes."""


@dataclass(frozen=True)
class RecallSettings:
    """How a question is answered. The weights are in standard deviations over what is searched; they were chosen on the
    development halves of three public sets at once, each confirmed on the set that was left out (docs/recall.md).
    """

    k1: float = 0.2
    """BM25's gain from saying a word again: little, for passages are short (0 is plain coverage, the textbook 1.2)."""
    b: float = 0.75
    words: float = 0.3
    """The best passage by words."""
    told: float = 0.25
    """What the turn tells, by meaning."""
    worth: float = 0.2
    """… times the chance that it is worth keeping: statements before questions and thanks."""
    window: float = 0.3
    """The turn together with the two before it."""
    user_preference: float = 0.8
    """What the user said is preferred to an assistant's or a tool's words by this: the largest single gain on assistant
    chats (DESIGN: .8 to 1.2)."""
    identifier_preference: float = 2.0
    """A document that holds an identifier, path or error code of the question: it names one thing (RECALL-9)."""
    speaker_preference: float = 2.5
    """The turns of the one speaker whom the question names."""
    number_preference: float = 0.8
    """A turn that holds a number, when the question asks for one."""
    time_preference: float = 0.5
    """A turn that tells a time, when the question asks when."""
    wish_preference: float = 1.5
    """A standing wish of the user's, when the question asks for help or advice."""
    answer_share: float = 0.4
    """Share of a question's score that the turn after it is given: it answers it …"""
    answer_words: int = 120
    """… the more the shorter it is, and not at all from this length on."""
    session_share: float = 0.25
    """Share of the best score of its session."""
    floor_share: float = 0.15
    """A hit holds so much of the question's words, the rare ones counting more, or is nearer in meaning than chance
    (docs/recall.md)."""
    outstanding: float = 1.0
    """… or, where there is such a hit, stands out by so many standard deviations: by its context, mostly."""
    compared: int = 5
    """First hits that are read beside each other, so that a statement replaced by a later one is not served first."""
    ranker: Literal["standard", "seed"] = "standard"
    """seed: (.7·cosine + .2·exp(-λ·age) + .1·scope), the formula of the project that the seeds came from (RECALL-3)."""
    half_life_days: float = 30.0
    """λ of the seed's age term: with hours, week-old facts could not be found at all (DESIGN)."""
    when_weight: float = 2.4
    """A turn said in the time that the question names, times how certain that reading is."""
    rescore: int = 64
    """Nearest int8 codes that are scored again in full precision; 30 lost nothing on any model tried (DESIGN)."""
    question_chars: int = 8000
    """A question is read up to here: what follows is a document, not a question."""
    question_terms: int = 64
    """Distinct words of a question that are looked up."""
    most: int = 1000
    """The largest limit of a search, recent or thread page."""


@dataclass(frozen=True)
class TechnicalWeights:
    """T, how technical a turn is: what each family adds before the norm (GATE-2)."""

    code_fence: float = 0.5
    stack_trace: float = 0.5
    file_path: float = 0.4
    function_definition: float = 0.4
    shell_command: float = 0.4
    url: float = 0.3
    hash: float = 0.3


@dataclass(frozen=True)
class ConversationWeights:
    """Dnl, what a person tells about themselves (GATE-5)."""

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
    """A, decisions and outcomes, which are dear to find out again (GATE-7)."""

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
class GateSettings:
    conversation: Literal["rank", "filter"] = "rank"
    """filter is the seed's rule: records only from turns at or above the threshold. rank: every salient turn may yield
    records and G orders them; as a filter the gate lost facts, its own author found (GATE-14)."""
    threshold: float = 0.35  # the seed's, which the spec keeps; `calibrate` suggests one's own (GATE-13)
    salient_words: int = 3  # SAL-3: "help" and "what now" are below, "Rex died yesterday" is not

    novelty: float = 0.35  # H, R and Dnl in the conversational branch: the seed's weights
    repetition: float = 0.40
    conversational_structure: float = 0.25
    specificity: float = 0.40  # P, A and Dtech in the technical branch: the seed's weights
    actionability: float = 0.35
    technical_structure: float = 0.25

    technical_norm: float = _TECHNICAL_NORM
    """T is full at this sum of weights. At or below 0 it means the default (GATE-1)."""
    known_records: int = 5  # nearest durable records that H and S look at (GATE-3, -4)
    saturated: int = 3  # so many of them that know it already: S = 1
    earlier_turns: int = 10  # nearest turns that F looks at (GATE-4)
    frequent: int = 5  # so many of them that say it too: F = 1
    code_structure: float = 0.3
    """Dnl never exceeds this on a text that is mostly code (GATE-5)."""
    max_chars: int = 40_000
    """Signals are read up to here, about 10,000 tokens: a 10 MB paste must not hold the worker for seconds."""

    technical_families: TechnicalWeights = field(default_factory=TechnicalWeights)
    conversation_families: ConversationWeights = field(default_factory=ConversationWeights)
    specificity_families: SpecificityWeights = field(default_factory=SpecificityWeights)
    action_families: ActionWeights = field(default_factory=ActionWeights)
    structure_families: StructureWeights = field(default_factory=StructureWeights)

    def __post_init__(self) -> None:
        if self.conversation not in ("rank", "filter"):
            raise InputError(f"gate.conversation is 'rank' or 'filter', not {self.conversation!r}")
        _check_branch("conversational", self.novelty, self.repetition, self.conversational_structure)
        _check_branch("technical", self.specificity, self.actionability, self.technical_structure)
        for name in ("threshold", "code_structure"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"gate.{name} must be in [0, 1], not {getattr(self, name)!r}")
        for name in ("salient_words", "known_records", "saturated", "earlier_turns", "frequent", "max_chars"):
            if getattr(self, name) < 1:
                raise InputError(f"gate.{name} must be at least 1, not {getattr(self, name)!r}")
        for weights in (
            self.technical_families,
            self.conversation_families,
            self.specificity_families,
            self.action_families,
            self.structure_families,
        ):
            if not all(0 <= weight < math.inf for weight in astuple(weights)):
                raise InputError(f"the weight of a family must be a finite number of at least 0: {weights}")
        if not math.isfinite(self.technical_norm):
            raise InputError(f"gate.technical_norm must be a finite number, not {self.technical_norm!r}")
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
class ChatSettings:
    model: str = "none"
    """none | URL#MODEL; no model is required (INV-5). The key comes from HOLDFAST_CHAT_API_KEY."""
    timeout_s: float = 30.0
    """For one answer, all attempts together. It is off the caller's path; small local models take 5 to 20 s."""
    max_reply_chars: int = 200_000
    """A longer answer is none: three records a turn need about 2,000."""
    attempts: int = 5
    """Answers a turn is asked for before rules read it instead. With the waits below that takes 15 s at least, longer
    than a server needs to restart; a model that failed so is asked once a turn until it answers again."""
    retry_s: float = 1.0
    """The first wait after a failure; each next one is twice as long (SAL-5)."""
    longest_retry_s: float = 60.0
    """An outage of hours must not outlast itself by more than a minute."""

    def __post_init__(self) -> None:
        for name in ("timeout_s", "retry_s", "longest_retry_s"):
            if not 0 < getattr(self, name) < math.inf:
                raise InputError(f"chat.{name} must be a number of seconds above 0, not {getattr(self, name)!r}")


@dataclass(frozen=True)
class AdmitSettings:
    enabled: bool = True
    """Whether turns are gated and records made of them. Off: a log that is searched, and nothing else."""
    durability: float = 0.61
    """A turn yields records when the chance that it helps a future conversation reaches this: between what HaluMem's
    gold points ask for (at .63 nine in ten are kept) and what DailyDialog's small talk allows (.59): docs/quality.md.
    What the user asks to be remembered is kept whatever its chance (admit/explicit.py)."""
    sentence_durability: float = 0.5
    """… and of its sentences those that reach this, or the best one."""
    change_durability: float = 0.2
    """… and those from here on whose only worth may be that they change something remembered."""
    records_per_turn: int = 8  # ADMIT-6
    own_chars: int = 40_000
    """A turn is read for the user's own words up to here, as its signals are: what is longer is a document."""
    noted_cosine: float = 0.6
    """A neighbour this near is kept in the receipt with both texts, for `tune similarity`: a third below any profile's
    threshold of sameness there is nothing to tune."""
    tuned_turns: int = 5000
    """The newest turns that `tune similarity` compares with each other: 5,000 take about a second."""
    criterion: Literal["positive-1", "exclusions-0"] = "positive-1"
    """positive-1 asks the one question of ADMIT-3; exclusions-0 is the earlier prompt with its list of exclusions."""
    llm_records_per_turn: int = 3  # ADMIT-6
    turns_heard: int = 32
    """Turns of the session before the one in question whose words are not new any more: with 6 of them durability's
    area under the curve is .840 on LoCoMo (development half), with 32 .842, with the whole session the same."""
    turns_shown: int = 6
    """Turns before the one in question that the model sees: what "yes" and "the other one" mean is rarely farther."""
    records_shown: int = 12
    """Nearest live records that the model may propose to supersede."""
    turn_chars: int = 4000
    """A shown turn is cut here. What a person says is shorter; a paste is not a statement of theirs."""
    grounded_share: float = 0.7
    """Share of a candidate's content words that its source must hold. Changing "I" to "the user" costs none, an
    invented clause costs more than .3."""
    confidence_stated: float = 0.9  # ADMIT-5
    confidence_confirmed: float = 0.7  # ADMIT-5
    confidence_implied: float = 0.5  # ADMIT-5
    hedged: float = 0.8
    """Factor for "maybe", "I think": .9 becomes .72, just above what the user only confirmed."""

    def __post_init__(self) -> None:
        if self.criterion not in ("positive-1", "exclusions-0"):
            raise InputError(f"admit.criterion is 'positive-1' or 'exclusions-0', not {self.criterion!r}")


@dataclass(frozen=True)
class MergeSettings:
    same: float | None = None
    """Cosine from which two texts may be one claim; None: the embedder's own threshold (MERGE-1, the seeds' .92)."""
    reworded: float = 0.78
    """Share of `same` from which two texts with the same deciding words, every one, are one claim. Measured on STS-B,
    MRPC and SICK: from .90 down to .70 (static) 40 % more are merged right, and still no contradiction."""
    supersede: bool = True
    """Off: nothing is retired by rules; a differing statement is kept beside the old one."""
    neighbours: int = 8
    """Live records a candidate is compared with: so many of the nearest, and so many of those with words in common."""
    floor: float = 0.0
    """Cosine a record must have to be replaced by a rule. The rules read words, so whoever searches decides: 12 % of
    our labelled replacements lie below .35 on the static model ("I moved to Ghent", "I live in Porto": .19)."""

    def __post_init__(self) -> None:
        if self.same is not None and not 0 < self.same <= 1:
            raise InputError(f"merge.same must be a cosine in (0, 1], not {self.same!r}")
        if not 0 <= self.reworded <= 1:
            raise InputError(f"merge.reworded must be a share in [0, 1], not {self.reworded!r}")


@dataclass(frozen=True)
class Settings:
    namespace: str | None = None
    """The default namespace, if the operator named one (LOG-6)."""
    log: LogSettings = field(default_factory=LogSettings)
    store: StoreSettings = field(default_factory=StoreSettings)
    embedder: EmbedderSettings = field(default_factory=EmbedderSettings)
    index: IndexSettings = field(default_factory=IndexSettings)
    recall: RecallSettings = field(default_factory=RecallSettings)
    gate: GateSettings = field(default_factory=GateSettings)
    chat: ChatSettings = field(default_factory=ChatSettings)
    admit: AdmitSettings = field(default_factory=AdmitSettings)
    merge: MergeSettings = field(default_factory=MergeSettings)

    def __post_init__(self) -> None:
        """A count of none would stop the work or never end it; who set it should hear so now."""
        for section in fields(self):
            part = getattr(self, section.name)
            for one in fields(part) if is_dataclass(part) else ():
                value = getattr(part, one.name)
                if isinstance(value, int) and not isinstance(value, bool) and value < 1:
                    raise InputError(f"the setting {section.name}.{one.name} must be at least 1, not {value}")


def load_settings(environ: Mapping[str, str] = os.environ) -> Settings:
    """The defaults, changed by the TOML file HOLDFAST_CONFIG names and then by variables (HOLDFAST_RECALL__B=.6)."""
    data: dict[str, object] = {}
    if path := environ.get("HOLDFAST_CONFIG"):
        try:
            data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise InputError(f"cannot read the settings file {path} (HOLDFAST_CONFIG): {error}") from error
    for name, value in environ.items():
        section, _, setting = name.removeprefix("HOLDFAST_").lower().partition("__")
        if name.startswith("HOLDFAST_") and setting:
            part = data.setdefault(section, {})
            if isinstance(part, dict):
                part[setting] = value
    if namespace := environ.get("HOLDFAST_NAMESPACE"):
        data["namespace"] = namespace
    if not data.keys() - {"namespace"} and not environ.get(
        "HOLDFAST_CONFIG"
    ):  # the common case, without loading the validator
        return Settings(namespace=environ.get("HOLDFAST_NAMESPACE") or None)
    return _validated(data)


def _validated(data: dict[str, object]) -> Settings:
    from pydantic import TypeAdapter, ValidationError

    for section, values in data.items():
        known = Settings.__dataclass_fields__
        if section not in known:
            raise InputError(f"there is no setting {section!r}; there are {', '.join(known)}")
        if isinstance(values, dict):
            fields = type(getattr(Settings(), section)).__dataclass_fields__
            for name in values:
                if name not in fields:
                    raise InputError(f"there is no setting {section}.{name}; there are {', '.join(fields)}")
    try:
        return TypeAdapter(Settings).validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(f"the setting {where} cannot be {first['input']!r}: {first['msg']}") from error
