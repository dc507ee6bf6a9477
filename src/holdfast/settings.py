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
    """Mask secrets before a turn is written (ADMIT-7). Off: the log keeps every byte."""


@dataclass(frozen=True)
class StoreSettings:
    durable: bool = True
    """False turns off fsync: for tests and throw-away stores only. A power cut may then lose acknowledged turns."""
    busy_s: float = 30.0
    """Seconds that a writer waits for the others. 8 writers waited .44 s at worst behind an flock (DESIGN)."""
    cache_mb: int = 256
    """Vector codes and document tables kept in memory, all namespaces together, at most; 100k turns need about 30. A
    namespace that does not fit is read again for every search, several times as slow: so it is ample."""
    copy_pages: int = 2048
    """Pages a step of a backup (8 MB): often enough for progress and Ctrl-C, and no slower than in one go."""
    erase_wait_s: float = 120.0
    """Seconds that an erase waits for the current batch of derived work, which may include time-outs of a model."""
    sweep_memory_mb: int = 256
    """A file up to this size is rewritten (after an erase) in memory, a larger one by way of a temporary file
    of what is left in it."""
    connections: int = 16
    """PostgreSQL: most connections a process has to one store, for all its namespaces together, besides the one that
    keeps its claims. 8 writers and their readers (bar of H); a server takes 100 by default, so five processes."""
    reconnect_s: float = 30.0
    """PostgreSQL: how long a server that restarts is waited for: crash recovery took .3 to 2 s here."""
    statement_s: float = 60.0
    """PostgreSQL: the longest a statement may run. The slowest of the engine, clearing the views of 100k turns, takes a
    few seconds."""
    allow_superuser: bool = False
    """PostgreSQL: run as a role that row-level security does not bind. One forgotten predicate would then show one
    namespace's rows to another."""


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
    batch: int = 1000
    """Turns a transaction of derived work. What one stage read of them is still in memory for the next; with 2,000 it
    is not, and derived work takes a tenth longer."""
    gather_s: float = 0.05
    """Seconds that the first turn after a pause waits for others to share its batch: a loop of single ingests would
    otherwise wait for a commit of derived work after every turn (docs/evidence/performance.md)."""
    gather_most_s: float = 1.0
    """… and while turns keep coming, twice as long each time, up to this; flush waits for none of it. 50 turns a second
    in batches of a second take half the processor that they take in batches of .1 s. Until then a turn is found by its
    words alone, and a second is shorter than most replies."""
    passage_words: int = 60
    """Length in words of the passages that a long turn is cut into, at the ends of sentences."""
    window_turns: int = 2
    """Turns before a turn that it is read together with (DESIGN)."""
    told_floor: float = 0.3
    """A sentence counts by the chance that it is worth keeping plus this: .1 to .3 were alike on three sets."""
    passages_from: int = 90
    """… if it has more words than this: one passage and a half."""
    max_chars: int = 1_000_000
    """Words beyond this are kept and shown, but not indexed: a 10 MB paste must not cost minutes."""

    def __post_init__(self) -> None:
        for name in ("gather_s", "gather_most_s"):
            if not 0 <= getattr(self, name) < math.inf:
                raise InputError(f"index.{name} must be a number of seconds from 0, not {getattr(self, name)!r}")


@dataclass(frozen=True)
class RecallSettings:
    """Ranking of search results. The weights are in standard deviations over what is searched; they were chosen on the
    development halves of three public sets at once, each confirmed on the set that was left out
    (docs/evidence/retrieval.md).
    """

    k1: float = 0.2
    """BM25's gain from saying a word again: little, for passages are short (0 is plain coverage, the textbook 1.2)."""
    b: float = 0.75
    words: float = 0.25
    """The best passage by words."""
    told: float = 0.15
    """Weight of the cosine with the statements of a turn."""
    worth: float = 0.2
    """… times the chance that it is worth keeping: statements before questions and thanks."""
    window: float = 0.2
    """The turn together with the two before it."""
    user_preference: float = 0.6
    """Boost of the user's words over an assistant's or a tool's: the largest single gain on assistant
    chats (DESIGN: .8 to 1.2)."""
    identifier_preference: float = 2.0
    """A document that holds an identifier, path or error code of the question: it names one thing (RECALL-9)."""
    speaker_preference: float = 2.5
    """The turns of the one speaker whom the question names."""
    number_preference: float = 0.8
    """A turn that holds a number, when the question asks for one."""
    time_preference: float = 1.0
    """A turn that tells a time, when the question asks when."""
    wish_preference: float = 1.5
    """A standing wish of the user's, when the question asks for help or advice."""
    answer_share: float = 0.5
    """Share of a question's score that the turn after it is given: it answers it …"""
    answer_words: int = 120
    """… the more the shorter it is, and not at all from this length on."""
    session_share: float = 0.2
    """Share of the best score of its session."""
    echo: float = 0.3
    """Likeness to the first hits, in standard deviations over a sample of turns …"""
    echo_hits: int = 3
    """… this many of them, averaged …"""
    echo_among: int = 200
    """… for this many of the best: the rest are too far behind to be raised among the first fifty …"""
    echo_from: int = 10
    """… and not among fewer turns than this, of which three are no small part."""
    floor_share: float = 0.15
    """Share of the question's words that a hit without a cosine must have, weighted by rarity."""
    floor_meaning: float = 0.45
    """Else nearness counts too: a step from the profile's `related` to its `relevant` as much as this share."""
    floor_against: float = 0.5
    """… and at most this many steps below `related` count against a hit: a page's vector says little of its one
    line."""
    floor_even: float = 6.0
    """Documents among which a share of 0 at `related` is just enough …"""
    floor_rise: float = 0.025
    """… and how much more is asked each time they are e times as many. These three were fitted to 201 labelled
    questions of our own, with at most 2 % of the answerable ones lost in stores of any size (training/floor.py)."""
    outstanding: float = 1.0
    """Together with such a hit, results this many standard deviations above the mean are returned, mostly by
    context."""
    compared: int = 5
    """First hits that are compared with each other, so that a replaced statement does not come first."""
    ranker: Literal["standard", "seed"] = "standard"
    """seed: (.7·cosine + .2·exp(-λ·age) + .1·scope), the formula of the project that the seeds came from (RECALL-3)."""
    half_life_days: float = 30.0
    """λ of the seed's age term: with hours, week-old facts could not be found at all (DESIGN)."""
    when_weight: float = 2.8
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
class ThemeSettings:
    """Themes of a period (docs/how-to/themes.md). Shares are cosines, after removing what all turns have in common."""

    turns: int = 10_000
    """Turns that are read; of more an even part is, the same each time. Reading them takes most of the time."""
    seeded: int = 4_000
    """… and among this many of them seeds are looked for, each compared with each other."""
    seeds: int = 24
    """Groups that are looked for, three times what is shown: with fewer the largest hold turns of no theme."""
    context: float = 0.7
    """Share of its neighbours' meaning that a turn is grouped by."""
    telling: int = 8
    """Words of a turn that name something, from which on it counts in full: "sounds good!" makes no theme."""
    near: float = 0.2
    """Cosine from which a turn belongs to a theme: unrelated turns of the static model meet at 0 ± .1."""
    apart: float = 0.4
    """Two seeds nearer than this are one theme."""
    least: int = 3
    """Turns of a theme: two are a remark and its answer."""
    examples: int = 3
    words: int = 4
    """Words of a label."""
    chars: int = 1_000
    """A turn is read for its words up to here: its beginning says what it is about."""
    dimensions: int = 64
    vocabulary: int = 1_000
    """Without an embedder: number of most frequent words, and of dimensions of their co-occurrence vectors."""
    digest_s: float = 60.0
    """For all that a chat model is asked about themes, together."""


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
    saturated: int = 3  # with this many that know it already, S = 1
    earlier_turns: int = 10  # nearest turns that F looks at (GATE-4)
    frequent: int = 5  # with this many that say it too, F = 1
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
    worth: float = 0.5
    """A sentence is kept if the probability that it helps a later conversation is at least this."""
    rule: float = 0.35
    """A sentence is a standing rule for the assistant from this probability on."""
    own: float = 0.1
    """A sentence is kept if it is the user's own words with at least this probability. On planted and genuine texts by
    authors who are not in the training, .1 loses 6 % of the genuine sentences and passes 14 % of the planted ones."""
    own_rule: float = 0.5
    """… and is a rule with at least this one: if unsure, it is recalled and not followed (RULE-4)."""
    alone: float = 0.5
    """A sentence that is less likely to be understood alone keeps the sentence before it as its lead."""
    slight: float = 0.12
    """From this probability of being worth keeping a sentence is kept if it changes something remembered."""
    slight_per_turn: int = 2
    records_per_turn: int = 8  # ADMIT-6
    recited_lines: int = 3
    """A list that repeats this many earlier statements word for word was recalled by a host (admit/echo.py): two a
    person may well say again. The rest of it is read as usual."""
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
    paraphrase: float = 0.5
    """Cosine from which the reader is asked whether two statements say the same."""
    supersede: bool = True
    """Off: nothing is retired by rules; a differing statement is kept next to the old one."""
    neighbours: int = 8
    """Live records a candidate is compared with: the nearest, and as many of those with words in common."""
    floor: float = 0.0
    """Cosine a record must have to be replaced by a rule. The rules read words, so the search decides: 12 % of
    our labelled replacements lie below .35 on the static model ("I moved to Ghent", "I live in Porto": .19)."""

    def __post_init__(self) -> None:
        if self.same is not None and not 0 < self.same <= 1:
            raise InputError(f"merge.same must be a cosine in (0, 1], not {self.same!r}")
        if not 0 <= self.reworded <= 1:
            raise InputError(f"merge.reworded must be a share in [0, 1], not {self.reworded!r}")


@dataclass(frozen=True)
class CompactSettings:
    size: int = 20  # turns of a cluster, at most (COMP-1)
    tail: int = 4  # the last turns, which are never compacted: what CTX-2 keeps in any case
    budget_tokens: int = 2000
    """The active view is compacted when it has grown by so much since the last time."""
    stability: float = 0.35  # below it nothing is protected (COMP-2, COMP-3)
    boost: float | None = None
    """Cosine to a guidance prototype from which a turn with a hint is protected; None: what was
    calibrated for the embedder, or its own threshold (COMP-3, the seeds' .78; rules/booster.py)."""
    boost_deadline_s: float = 2.0
    """For the booster's vectors, all texts of a run together: a slower embedder contributes nothing."""
    share: float = 0.25
    """A summary is at most this share of its source, in characters: with the dates next to it, active tokens still
    drop by 70 % (issue D)."""
    most_chars: int = 1200
    """… and no longer than this, about 300 tokens: a page for each twenty turns is no digest."""
    alignment: float = 0.45
    """Cosine to its cluster that a model's summary must have, on the packaged static model whichever embedder is
    configured. COMP-5's .65 in its scale: summaries written by hand for the demo's month reach .52 to .77, those of
    other clusters .52 at most, an empty phrase .26."""
    alignment_words: float = 0.30
    """The same by words, where the packaged model does not know the script."""
    mean_g: float = 0.60  # of a cluster's user turns, from which it deserves a model (COMP-5)
    top_fifth: bool = True
    """… or if it is among the namespace's best fifth: an unrepeated turn of plain talk cannot reach .60."""
    deadline_s: float = 20.0
    """For one summary of the chat model. Small local models take 5 to 20 s; after that the rules' own is taken."""
    automatic: bool = True
    """A session that grows turn by turn is compacted by itself, off the caller's path; an import of a whole history is
    not, until its next turn comes."""
    shard_chars: int = 600
    """A turn up to here is kept whole when it gives guidance, with the reasons it names; of a longer one only its rules
    are: guidance has .15 of the context (CTX-2)."""
    step: int = 1000
    """Turns compacted in one transaction: a backlog of any length in flat memory."""
    compared: int = 200
    """Earlier summaries whose G says what the best fifth is."""
    turn_chars: int = 40_000
    """A turn is read up to here for its summary, as its signals are: what is longer is a document."""
    page_sentences: int = 8
    """Sentences that are read of a turn that is not the user's: a digest takes one or two, mostly none."""
    page_chars: int = 1500
    """… all within this: a sentence has about 100 characters, and a page more code than sentences."""
    shown_chars: int = 2000
    """… and shown to the chat model up to here: twenty turns must fit into a small model's window."""

    def __post_init__(self) -> None:
        for name in ("stability", "share", "alignment", "alignment_words", "mean_g"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"compact.{name} must be in [0, 1], not {getattr(self, name)!r}")
        if self.boost is not None and not 0 < self.boost <= 1:
            raise InputError(f"compact.boost must be a cosine in (0, 1], not {self.boost!r}")
        for name in ("boost_deadline_s", "deadline_s"):
            if not 0 < getattr(self, name) < math.inf:
                raise InputError(f"compact.{name} must be a number of seconds above 0, not {getattr(self, name)!r}")


@dataclass(frozen=True)
class AuthoredSettings:
    max_file_bytes: int = 16 * 1024 * 1024
    """A larger rule file is refused: hard rules are never cut, and no model reads a hundredth of this at once."""
    settle_s: float = 2.0
    """A file that changed less long ago is compared by its hash: times of files are up to 2 s coarse (FAT), so a second
    change may leave them as they are. git knows the same as "racily clean"."""
    attempts: int = 5
    """Attempts to read a file that is being written, before its last nodes are kept; one takes a millisecond."""
    gather_ms: int = 50
    """The watcher tells of changes so close together at once: saving a file is several. watchfiles' own step."""


@dataclass(frozen=True)
class ContextSettings:
    """Contents of a context (docs/design/context.md)."""

    share: float = 0.25
    """Of the host's whole budget (`prompt_budget`), for everything Holdfast adds (CTX-2)."""
    soft_share: float = 0.30  # of that, for the operator's guidelines (CTX-2)
    elevated_share: float = 0.15  # of that, for the user's rules: 400 tokens at least, but at most .4 of it (CTX-2)
    tail_turns: int = 4  # of the session, always (CTX-2)
    tail_tokens: int = 128  # a shorter tail is extended by one pair of turns (CTX-2)
    tail_chars: int = 20_000
    """A turn of the tail is shown by its beginning and its end from here on, which is stated: a tool's 10 MB would
    otherwise fill any window, and take longer to escape than the deadline allows."""
    deadline_s: float = 0.3
    """For the whole: after it the messages come back as they were (issue E)."""
    embedder_s: float = 0.1
    """Part of it for the embedder: the static one takes .1 ms, bge-small 6; after it search goes on by words."""
    candidates: int = 100
    """Hits that packing chooses among. An item takes 30 tokens at least, so a budget of 4,000 holds no more."""
    guidance: int = 64
    """The user's rules that are looked at, the nearest to the question first."""
    seed_guidance: bool = False
    """Only the rules that a compaction protected and that are near the question, as the seeds have it (CTX-3)."""
    length_cost: float = 1.0
    """When the budget chooses, a memory's score less this for each time that it is e times as long as …"""
    length_free: int = 80
    """… this many tokens. Chosen looking at all of LoCoMo's, LongMemEval's and BEAM's development questions, and no
    worse on either half of them (docs/evidence/context.md); without it long answers push out the lines that hold the
    facts."""
    coverage: float = 0.3
    """Boost for each word of the question that no memory chosen so far has: both halves of a question before a third
    wording of one. It changed one question in 450 for the better and one for the worse."""
    excerpt_passages: int = 2
    """A long turn that does not fit is shown by this many of its passages of 60 words …"""
    excerpt_ranks: int = 10
    """… if it is among the first hits, at most this many."""
    standing_tokens: int = 500
    """Tokens of the light section without a question: the frame takes 200, the rest is about ten short records."""
    query_terms: int = 3
    """A last message with fewer words to look for ("and the second one?") takes along what the user said before."""

    def __post_init__(self) -> None:
        for name in ("share", "soft_share", "elevated_share"):
            if not 0 < getattr(self, name) <= 1:
                raise InputError(f"context.{name} must be a share in (0, 1], not {getattr(self, name)!r}")
        for name in ("deadline_s", "embedder_s"):
            if not 0 < getattr(self, name) < math.inf:
                raise InputError(f"context.{name} must be a number of seconds above 0, not {getattr(self, name)!r}")


_CENTURY = 1200  # months: older than anybody's memory, and the calendar still reaches back so far


@dataclass(frozen=True)
class JanitorSettings:
    """Lowering of the confidence of records that nobody retrieves (docs/how-to/upkeep.md); the months are KEEP-2's."""

    count: bool = True
    """Count retrievals. Off: the janitor does nothing, because it has no counts."""
    count_every_s: float = 2.0
    """Seconds between two writes of retrieval counts: a search waits for no commit. A crash loses that much."""
    user_stated_months: int = 12
    episode_summary_months: int = 6
    assistant_derived_months: int = 3
    tool_derived_months: int = 2
    factor: float = 0.8
    """Factor of a confidence each time: a stated record (.9) comes to .72, about that of a confirmed one."""
    grace_days: float = 0.0
    """Records that came into the store more recently are left alone, however old they are. For a store into which old
    histories are imported: there was no time yet to ask for them."""

    def __post_init__(self) -> None:
        if not 0 < self.factor <= 1:
            raise InputError(f"janitor.factor must be in (0, 1], not {self.factor!r}")
        for name in ("count_every_s", "grace_days"):
            if not 0 <= getattr(self, name) < math.inf:
                raise InputError(f"janitor.{name} must be a number of at least 0, not {getattr(self, name)!r}")
        for provenance in ("user_stated", "episode_summary", "assistant_derived", "tool_derived"):
            months = getattr(self, f"{provenance}_months")
            if isinstance(months, bool) or not isinstance(months, int) or not 0 <= months <= _CENTURY:
                raise InputError(
                    f"janitor.{provenance}_months must be a whole number from 0 to {_CENTURY}, not {months!r}"
                )


@dataclass(frozen=True)
class DoctorSettings:
    """The shares of memories above which a store is not healthy (docs/how-to/upkeep.md).

    The demo's month has no copy, near copy, junk, loop or secret. A limit allows for what an operator had remembered
    twice and for rules that err; a store that grew without a gate is far above it.
    """

    max_duplicates: float = 0.02
    max_near_duplicates: float = 0.1
    max_junk: float = 0.1
    max_stale: float = 0.5
    """Every plan is past some day in every store (.06 of the demo's month after six weeks): a limit for a store
    of nothing but old plans."""
    max_loops: float = 0.02
    max_secrets: float = 0.0
    stale_days: float = 7.0
    """Days after which a passed plan is called stale."""
    sample: int = 500
    """Documents of each kind whose index is compared with their texts, and records whose session is read for echoes.
    A fault in one document of a hundred is missed once in 150 times."""
    alike: int = 8
    """Earlier memories of the same deciding words with which one is compared. Of 2,000 sentences put together out of 32
    phrases two had more, and one pair of 633 was missed; a finding says for how many. A choice: all of them could be
    compared, but fifty thousand of the same words in another order would take minutes."""
    wait_s: float = 30.0
    """Seconds that derived work may take to catch up first; what is left then is a finding."""
    max_file_mb: int = 256
    """A file of another system that is larger is refused: it is read whole."""
    max_files: int = 10_000
    """… and a folder with more files."""
    max_memories: int = 1_000_000

    def __post_init__(self) -> None:
        for name in ("duplicates", "near_duplicates", "junk", "stale", "loops", "secrets"):
            if not 0 <= getattr(self, f"max_{name}") <= 1:
                raise InputError(f"doctor.max_{name} must be a share in [0, 1], not {getattr(self, f'max_{name}')!r}")
        if self.alike < 1:
            raise InputError(f"doctor.alike must be a whole number from 1, not {self.alike!r}")


@dataclass(frozen=True)
class TransferSettings:
    widest_gap: int = 1_000_000
    """Places that may be missing in an imported log, all together. Erased turns leave some; but every place costs a
    search some bytes, so a file that claims places in the billions is refused."""


@dataclass(frozen=True)
class ServeSettings:
    """Limits of the servers (docs/reference/rpc.md, docs/reference/http.md)."""

    max_request_bytes: int = 80 * 1024 * 1024
    """A longer request is refused unread: the largest turn (log.max_text_bytes) and room for its envelope."""
    max_batch: int = 1000
    """Calls in one batch, as many as a search may give hits."""
    connections: int = 256
    """At once; each is a thread that waits. A host needs one or two, a machine full of agents some dozens."""
    slow_calls: int = 8
    """Slow calls of one connection that may run at the same time; the next waits for one to end."""
    lifecycle_s: float = 2.0
    """Seconds that a host waits for bootstrap, ingest and compact; longer work goes on in the background (SAFE-1)."""
    catch_up_s: float = 2.0
    """Seconds that gating_scalar waits for the turns before it to be embedded."""
    flush_s: float = 60.0
    """Most seconds that `flush` waits."""
    stop_s: float = 10.0
    """Seconds in which a server stops; what calls in progress have committed is kept in any case."""
    http_connections: int = 800
    """Over HTTP at once: below the 1,024 open files that most systems give a process, with room for the stores."""
    in_flight: int = 256
    """Requests in progress; one more is asked to come back. Fifty clients have a fifth of that."""
    reads_at_once: int = 4
    """Calls that read, over HTTP and over MCP, each in a thread: two cores are busy with them, and more take turns at
    the interpreter. A choice, not a measurement: on a busy machine 4 to 16 gave the same figures."""
    writes_at_once: int = 2
    """… that write: SQLite takes one after the other (during 8 searches an ingest took 6 ms with 1 thread, 18 with 2,
    59 with 8, p50), but a long history must not keep every other turn waiting."""
    switch_s: float = 0.0005
    """Seconds after which a computing thread lets another run (Python's default: .005). A search waits for the others
    each time it comes back from the disk, some forty times; measured in docs/evidence/performance.md."""
    header_s: float = 30.0
    """A connection that has not said in this time what it wants is closed, before its first request and after each."""
    body_s: float = 30.0
    """The body of a request is there in this time. The largest one (80 MB) takes as long at 21 Mbit/s."""
    held_mb: int = 256
    """Bodies held in memory, of all requests together: three of the largest."""
    stall_s: float = 30.0
    """Seconds after which a client that reads nothing of an answer is disconnected: an export holds a snapshot of the
    store open."""
    trust_roles: bool = False
    """MCP clients speak for the user: `memory_remember` and the role user of `memory_ingest` are the user's words. For
    a host whose own code calls the tools; a model that may call them writes as itself (docs/threat-model.md)."""
    calls_per_s: float = 1000.0
    """Requests of one credential; far above what two cores answer, so that it stops nothing but a loop gone wild."""
    calls_at_once: int = 2000
    """… and as many in one burst."""
    strangers_per_s: float = 20.0
    """Requests without the right credential, of all strangers together: a login page takes about five."""
    strangers_at_once: int = 100
    stranger_kb: int = 64
    """The body of such a request: a token and its envelope."""
    janitor: bool = True
    """Run the janitor while a server runs (KEEP-2) …"""
    janitor_days: float = 7.0
    """… when its last run is this many days ago (KEEP-2: weekly) …"""
    janitor_look_s: float = 3600.0
    """… which is looked after so often."""

    def __post_init__(self) -> None:
        for name in (
            "lifecycle_s", "catch_up_s", "flush_s", "stop_s", "switch_s", "header_s", "body_s", "stall_s",
            "calls_per_s", "strangers_per_s", "janitor_days", "janitor_look_s",
        ):  # fmt: skip
            if not 0 < getattr(self, name) < math.inf:
                raise InputError(f"serve.{name} must be a number above 0, not {getattr(self, name)!r}")

    @property
    def finish_s(self) -> float:
        """Part of `stop_s` for calls in progress; the rest is for closing stores, which takes a commit or two each."""
        return 0.8 * self.stop_s


@dataclass(frozen=True)
class InspectorSettings:
    """Sizes of the inspector's pages (docs/how-to/inspector.md)."""

    page: int = 50
    """Turns, records or sessions a page: three screens, and a few milliseconds to read."""
    list_chars: int = 600
    """Characters of a text in a list: eight lines or so."""
    whole_chars: int = 20_000
    """On a page of its own: ten screens. What is longer is cut, with a link to all of it as a file."""
    days: int = 60
    """Days in the plots of the overview; more are put together by the week or the month."""
    doctor_records: int = 100_000
    """With more, the page names the command instead: the doctor takes half a millisecond a record, and a visitor does
    not wait longer than a minute for a page."""
    form_bytes: int = 2 * 1024 * 1024
    """A longer form is refused: a corrected text is a few sentences, not a megabyte."""

    def __post_init__(self) -> None:
        for name in ("page", "list_chars", "whole_chars", "days", "doctor_records", "form_bytes"):
            if getattr(self, name) < 1:
                raise InputError(f"inspector.{name} must be a whole number from 1, not {getattr(self, name)!r}")


@dataclass(frozen=True)
class McpSettings:
    """Sizes of the MCP server's answers (docs/reference/mcp.md)."""

    line_chars: int = 600
    """Characters of an item's text in a tool's answer, about 150 tokens: ten hits are then as long as one page. The
    whole text is in the structured content and under memory://record/ID."""
    session_turns: int = 400
    """The newest turns of a conversation that is read as a resource: about 60,000 tokens where all are long."""
    listed_sessions: int = 20
    """Conversations in the list of resources: what fits into a menu."""

    def __post_init__(self) -> None:
        for name in ("line_chars", "session_turns", "listed_sessions"):
            if getattr(self, name) < 1:
                raise InputError(f"mcp.{name} must be 1 or more, not {getattr(self, name)!r}")


@dataclass(frozen=True)
class TokenSettings:
    counter: str = "estimate"
    """estimate | o200k | cl100k | tokenizer:PATH (a tokenizer.json); errors: docs/evidence/context.md"""
    factor: float = 1.0
    """Counts are multiplied by this, for a model whose own tokenizer cannot be had: compare one of its bills."""

    def __post_init__(self) -> None:
        if not 0 < self.factor < math.inf:
            raise InputError(f"tokens.factor must be a number above 0, not {self.factor!r}")


@dataclass(frozen=True)
class Settings:
    namespace: str | None = None
    """The default namespace, if the operator named one (LOG-6)."""
    log: LogSettings = field(default_factory=LogSettings)
    store: StoreSettings = field(default_factory=StoreSettings)
    embedder: EmbedderSettings = field(default_factory=EmbedderSettings)
    index: IndexSettings = field(default_factory=IndexSettings)
    recall: RecallSettings = field(default_factory=RecallSettings)
    themes: ThemeSettings = field(default_factory=ThemeSettings)
    gate: GateSettings = field(default_factory=GateSettings)
    chat: ChatSettings = field(default_factory=ChatSettings)
    admit: AdmitSettings = field(default_factory=AdmitSettings)
    merge: MergeSettings = field(default_factory=MergeSettings)
    authored: AuthoredSettings = field(default_factory=AuthoredSettings)
    compact: CompactSettings = field(default_factory=CompactSettings)
    context: ContextSettings = field(default_factory=ContextSettings)
    tokens: TokenSettings = field(default_factory=TokenSettings)
    transfer: TransferSettings = field(default_factory=TransferSettings)
    serve: ServeSettings = field(default_factory=ServeSettings)
    mcp: McpSettings = field(default_factory=McpSettings)
    inspector: InspectorSettings = field(default_factory=InspectorSettings)
    janitor: JanitorSettings = field(default_factory=JanitorSettings)
    doctor: DoctorSettings = field(default_factory=DoctorSettings)

    def __post_init__(self) -> None:
        """Reject a count below one, which would stop the work or never end it."""
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
