"""Two sentences with one frame and one differing value: "The chairperson of X is A", "The chairperson of X is B"."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from holdfast.admit.values import ParsedStatement, Word, WordKind
from holdfast.text.vocabulary import COUNTRIES, word_set


class ValueType(StrEnum):
    NUMBER = "number"
    WHEN = "time or date"
    NAME = "name"
    PLAIN = "word"
    NONE = "none"
    MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class StatementFrame:
    """The words that two sentences share, and the one span in which they differ."""

    before: tuple[Word, ...]
    after: tuple[Word, ...]
    old: tuple[Word, ...]
    new: tuple[Word, ...]


BE = word_set("be is am are was were been being s")
_FRESH = word_set("new current latest meanwhile instead only back completely")
"""Words by which a new value calls itself new; the frame is the same without them."""
_MOMENTARY = _FRESH | {"since"}
_MOST_VALUE_WORDS = 8
"""Longer spans are another sentence, not another value ("Tony Hall, Baron Hall of Birkenhead" has six words)."""
_SPEAKER = frozenset({"me", "us"})
_NAME_JOINTS = frozenset({"of", "the", "and"})
_VALUE_TYPES = {
    WordKind.NUMBER: ValueType.NUMBER,
    WordKind.TIME: ValueType.WHEN,
    WordKind.DATE: ValueType.WHEN,
    WordKind.NAME: ValueType.NAME,
    WordKind.PLAIN: ValueType.PLAIN,
}


def same_key(first: Word, second: Word) -> bool:
    """Equal words; I and we are one speaker here."""
    return first.key == second.key or (first.key in _SPEAKER and second.key in _SPEAKER)


def align(old: ParsedStatement, new: ParsedStatement) -> StatementFrame | None:
    """The frame that both share, when exactly one span differs."""
    ours, theirs = old.words, without_moment(new, old)
    shorter, longer = sorted((len(ours), len(theirs)))
    start = 0
    while start < shorter and same_key(ours[start], theirs[start]):
        start += 1
    end = 0
    while end < shorter - start and same_key(ours[-1 - end], theirs[-1 - end]):
        end += 1
    if not (start or end) or longer - start - end > _MOST_VALUE_WORDS:
        return None  # nothing shared, or another sentence: what follows only lets the span grow
    while start and _inside_name(ours[start - 1], ours[start : start + 1], theirs[start : start + 1]):
        start -= 1
    while end and _inside_name(
        ours[-1 - end] if end < len(ours) else None, ours[len(ours) - end :][:1], ours[len(ours) - end :][:1]
    ):
        end -= 1
    frame = StatementFrame(
        before=theirs[:start],
        after=theirs[len(theirs) - end :],
        old=ours[start : len(ours) - end],
        new=theirs[start : len(theirs) - end],
    )
    if not frame.old or not frame.new or not (frame.before or frame.after):
        return None
    if max(len(frame.old), len(frame.new)) > _MOST_VALUE_WORDS or _crosses(frame):
        return None
    return frame


def _inside_name(before: Word | None, *spans: tuple[Word, ...]) -> bool:
    """Return True if the difference is inside one name: Charles [Darwin], University of [Pisa]."""
    if before is None or before.kind is not WordKind.NAME:
        return False
    return all(not span or (span[0].kind is WordKind.NAME and set(span[0].lead) <= _NAME_JOINTS) for span in spans)


def _crosses(frame: StatementFrame) -> bool:
    """Return True if the span is more than a value: "of [Yale is located in the city of New Haven]"."""
    plain = [{word.key for word in span if word.kind is not WordKind.NAME} for span in (frame.old, frame.new)]
    if plain[0] & plain[1]:
        return True
    return any(set(word.lead) & (BE - {"s"}) for span in (frame.old, frame.new) for word in span[1:])


def value_type(span: tuple[Word, ...]) -> ValueType:
    """Return the kind of value of a span; a day of a month is a date, a name with small words a name."""
    types = {_type_of(word) for word in span}
    if types <= {ValueType.WHEN, ValueType.NUMBER} and ValueType.WHEN in types:
        return ValueType.WHEN
    if len(types) == 1:
        return types.pop()
    if types == {ValueType.NAME, ValueType.PLAIN}:
        return ValueType.NAME if span[0].kind is WordKind.NAME else ValueType.MIXED
    return ValueType.MIXED


def _type_of(word: Word) -> ValueType:
    if word.kind is WordKind.PLAIN and any(char.isdigit() for char in word.key):
        return ValueType.NAME  # v2, tide-stage.internal:8443
    return _VALUE_TYPES.get(word.kind, ValueType.NONE)


def measure(word: Word) -> str:
    """Return the base unit of a number; empty for a bare number."""
    return word.key.lstrip("+-.0123456789")


def without_moment(new: ParsedStatement, old: ParsedStatement) -> tuple[Word, ...]:
    """The new sentence without the moment of the change ("since May", "yesterday"), where the old one has no date."""
    if new.words and new.words[-1].kind is not WordKind.DATE and _MOMENTARY.isdisjoint(new.keys):
        return new.words
    words = [word for word in new.words if word.key not in _FRESH or word.key in old.keys]
    if any(word.kind is WordKind.DATE or word.key == "since" for word in old.words):
        return tuple(words)
    since = next((i for i, word in enumerate(words) if word.key == "since" and i), None)
    if since is not None:
        words = words[:since]
    while len(words) > 1 and words[-1].kind is WordKind.DATE and not set(words[-1].lead) & BE:
        if words[-2].kind is WordKind.NUMBER and words[-2].key.isdigit():
            break  # the second of October is one date
        words.pop()
        if words[-1].key in ("last", "this", "next", "from", "since", "after") and len(words) > 1:
            words.pop()
    return tuple(words)


# --- How many values a frame holds at a time: a person has one birthplace but many languages.
#
# It decides whether the later of two sentences with one frame replaces the earlier.


class Holds(StrEnum):
    """Number of values that a frame holds at a time."""

    ONE = "one"
    MANY = "many"
    UNKNOWN = "unknown"


_HAVE = word_set("have has had having")
_LOCATIVE = word_set("in on at under behind near inside outside above below beside with between")
_SLOT_NOUNS = word_set(
    """city country continent position sport religion language field genre type name title role rank town state
    province village department port branch version level grade class year floor colour"""
)
"""A noun that names the kind of the value ("the city of London") says that there is one."""
_ATTRIBUTE_NOUNS = word_set(
    """author capital chairperson chairman chair director president minister head coach officer ceo cto founder owner
    manager boss leader captain editor publisher broadcaster producer company university headquarters address email
    e-mail phone number password passphrase username nickname name surname language currency budget rent salary price
    cost rate fee limit quota timeout threshold port version deadline status state colour size weight height age
    birthday anniversary favourite default primary main preferred spouse husband wife partner landlord terminal editor
    browser shell framework database host domain url endpoint region timezone branch target goal aim priority motto
    theme topic occupation job profession title role employer dentist gp therapist best"""
)
_ONE_VERBS = word_set(
    """live reside base bear die found create develop write direct perform produce invent design build publish marry
    locate employ educate belong report start begin end finish open close listen expire last cost weigh earn charge
    host deploy store point default schedule expect due invalidate merge release branch ship sit stay sleep work
    name call citizen affiliate associate famous head lead rename register headquarter point retain keep-until
    take-place happen occur land depart arrive leave own-by move settle run depend"""
)
_MANY_VERBS = word_set(
    """enjoy love hate dislike prefer adore speak know own have visit play eat drink wear take study learn want need
    see watch read collect support go travel buy meet grow cook make allergic afraid interested fan use try follow
    teach volunteer attend help sell paint sing dance hike bake follow-up recommend avoid keep practise practice do
    hire stop sell pay bring add receive win lose break hear remember think believe hope plan intend member friend
    hobby"""
)
_MANY_RELATIONS = word_set(
    """sister brother friend cousin aunt uncle niece nephew son daughter child dog cat pet neighbour colleague
    roommate flatmate housemate teammate client customer student hobby grandchild grandson granddaughter horse hen
    rabbit goldfish bird hamster"""
)
_AIMS = word_set("goal aim target priority plan topic theme")
"""One may have two of them: to read thirty books, and to sleep eight hours."""
_PEOPLE = word_set(
    "spouse husband wife partner boss manager director president head coach landlord dentist gp therapist captain "
    "owner leader editor founder author minister chair"
)
"""Attributes that are people: their name is one, what else they are is not."""
_MOST_PLAIN_WORDS = 3
_TENSED = frozenset({"will"})
_STATES = word_set("open close up down inside outside")
_OPPOSITES_TEXT = """
    on/off before/after enable/disable enjoy/dislike enjoy/hate love/hate love/dislike always/not
    married/single allow/forbid allowed/forbidden free/paid full/part public/private true/false
    light/dark manual/automatic optional/mandatory required/optional sync/async vegan/vegetarian
    bad/good badly/well ill/well short/long brief/detail formal/informal tab/space window/aisle metric/imperial
    concise/verbose early/late start/stop synchronous/asynchronous increase/decrease accept/reject raise/lower
    open/fix broken/fix high/normal low/normal ill/recover ill/healthy pending/done pending/approve draft/publish
    block/unblock busy/free empty/full fail/pass
    smoker/nonsmoker employed/unemployed healthy/ill alive/dead stable/broken
    open/close up/down inside/outside
"""
_OPPOSITES = frozenset(
    pair
    for text in _OPPOSITES_TEXT.split()
    for left, right in [text.split("/")]
    for pair in ((left, right), (right, left))
)
_DWELL = word_set("live reside base stay settle work bear")
_WORK_LEADS = word_set("in at for as")
_SUPERLATIVES = word_set("favourite best old young eldest oldest youngest only")


def one_value(frame: StatementFrame) -> Holds:
    """Decide if the frame holds one value at a time, so that a new one replaces the old."""
    if not frame.before:
        return _value_first(frame)
    if _in_subject(frame):
        return Holds.MANY
    if _opposite(frame) or _count_to_none(frame):
        return Holds.ONE
    old, new = value_type(frame.old), value_type(frame.new)
    slot = _slot(frame)
    if old is not new and not (slot and {old, new} <= {ValueType.NAME, ValueType.PLAIN, ValueType.MIXED}):
        return _place(frame)
    keys = {word.key for word in frame.before}
    if slot and not (keys & _AIMS and old is ValueType.MIXED):
        return Holds.ONE
    if _inside_the_other(frame):
        return Holds.UNKNOWN
    if keys & _MANY_VERBS or ("me" in keys and _TENSED & keys):
        return Holds.ONE if old is ValueType.NUMBER and _one_number(frame) else Holds.MANY
    if old is ValueType.NUMBER:
        if _one_of_many(frame):
            return Holds.UNKNOWN
        return Holds.ONE if _one_number(frame) else Holds.MANY
    if "me" in keys and any(word.past for word in frame.before if word.kind is WordKind.PLAIN):
        return Holds.MANY  # what one did, one may have done twice
    lead = set(frame.old[0].lead) & set(frame.new[0].lead)
    if lead & _HAVE:
        return Holds.MANY
    if lead & BE:
        return _being(frame, old)
    if frame.before[-1].kind is WordKind.PERSON or old is ValueType.MIXED:
        return Holds.UNKNOWN if old is ValueType.MIXED else Holds.MANY
    if not keys & _ONE_VERBS or frame.before[-1].key not in _ONE_VERBS:
        return Holds.UNKNOWN
    return _doing(frame, old)


def _in_subject(frame: StatementFrame) -> bool:
    """Return True if the difference is before the verb: another subject ("Room 3 has", "Room 4 has")."""
    if any(set(word.lead) & (BE - {"s"} | _HAVE) for word in frame.after):
        return True
    if any(set(word.lead) & (BE | _HAVE) for word in (*frame.before[1:], frame.old[0], frame.new[0])):
        return False
    return not any(
        word.kind is WordKind.PERSON or word.key in _ONE_VERBS | _MANY_VERBS for word in frame.before
    ) and not _slot(frame)


def plain_value(frame: StatementFrame) -> bool:
    """Return True if both spans are simple values of one kind after a verb: enough in an explicit correction."""
    old, new = value_type(frame.old), value_type(frame.new)
    if old is not new or old in (ValueType.MIXED, ValueType.NONE) or not frame.before or _in_subject(frame):
        return False
    known = frame.before[-1].key in _ONE_VERBS or bool(set(frame.old[0].lead) & set(frame.new[0].lead) & BE)
    known = known or old in (ValueType.NUMBER, ValueType.WHEN)
    return known and _same_small_words(frame) and max(len(frame.old), len(frame.new)) <= _MOST_PLAIN_WORDS


def _inside_the_other(frame: StatementFrame) -> bool:
    """A country and, perhaps, a town in it: one may live in both."""
    if frame.before[-1].key not in _DWELL:
        return False
    old, new = ({word.key for word in span} <= COUNTRIES for span in (frame.old, frame.new))
    return old != new


def _doing(frame: StatementFrame, kind: ValueType) -> Holds:
    """After a verb that takes one value; what one did in the past may have been done twice."""
    verb = frame.before[-1]
    if (
        len(frame.before) < 2
        or frame.before[0].kind is WordKind.PLACE
        or (verb.key == "work" and not _WORK_LEADS & set(frame.new[0].lead))
    ):
        return Holds.UNKNOWN  # nobody who does it, or "working on something"
    first_person = any(word.key in ("me", "us") for word in frame.before)
    if (first_person and (verb.past or kind is ValueType.WHEN)) or _one_of_many(frame):
        return Holds.UNKNOWN
    if set(frame.old[0].lead) != set(frame.new[0].lead) and not _same_small_words(frame):
        return Holds.UNKNOWN
    if kind is ValueType.PLAIN and max(len(frame.old), len(frame.new)) > _MOST_PLAIN_WORDS:
        return Holds.UNKNOWN
    return Holds.ONE


def _same_small_words(frame: StatementFrame) -> bool:
    """Articles may differ, prepositions may not: "work in claims", "work from home"."""
    small = {"a", "an", "the", "first", "some", "city", "of"}
    return set(frame.old[0].lead) - small == set(frame.new[0].lead) - small


def _being(frame: StatementFrame, kind: ValueType) -> Holds:
    """X is A, X is B."""
    keys = {word.key for word in frame.before}
    subject = frame.before[-1]
    if subject.kind is WordKind.PERSON:
        return Holds.UNKNOWN
    if _one_of_many(frame) or (keys & _AIMS and kind is ValueType.MIXED):
        return Holds.UNKNOWN
    if kind is ValueType.WHEN:
        return Holds.ONE
    if set(frame.old[0].lead) & _LOCATIVE and set(frame.new[0].lead) & _LOCATIVE:
        return Holds.ONE if _same_small_words(frame) else _place(frame)
    long = max(len(frame.old), len(frame.new)) > _MOST_PLAIN_WORDS
    if (keys & _PEOPLE or long) and kind is not ValueType.NAME:
        return Holds.UNKNOWN
    return Holds.ONE if keys & _ATTRIBUTE_NOUNS else Holds.UNKNOWN


def _place(frame: StatementFrame) -> Holds:
    """X is under the pot, X is with the neighbour: one thing is in one place."""

    def located(span: tuple[Word, ...]) -> bool:
        first = span[0]
        led = set(first.lead)
        if not led & BE:
            return False
        return bool(led & _LOCATIVE) or first.key in _LOCATIVE

    if not (located(frame.old) and located(frame.new)):
        return Holds.UNKNOWN
    plain = all(value_type(span) in (ValueType.PLAIN, ValueType.MIXED) for span in (frame.old, frame.new))
    return Holds.ONE if plain and frame.before[-1].kind is not WordKind.PERSON else Holds.UNKNOWN


def _slot(frame: StatementFrame) -> bool:
    """The value follows "the city of", or the frame names it: "the capital of France is"."""
    first, last = frame.before[0], frame.before[-1]
    described = first.key in _ATTRIBUTE_NOUNS | _SLOT_NOUNS and bool({"the", "first"} & set(first.lead))
    if described and set(frame.old[0].lead) & set(frame.new[0].lead) & BE and len(frame.before) > 1:
        return not _one_of_many(frame)
    names = value_type(frame.old) is value_type(frame.new) is ValueType.NAME
    if names and "the" in first.lead and set(frame.old[0].lead) & set(frame.new[0].lead) & BE:
        # "the university where she studied is": a description that fits one thing
        return any(
            {"of", "where", "that", "which", "who"} & set(word.lead) for word in frame.before[1:]
        ) and not _one_of_many(frame)
    return last.key in _SLOT_NOUNS and "the" in last.lead and "of" in frame.new[0].lead


def _one_of_many(frame: StatementFrame) -> bool:
    """My sister is Anna, my sister is Eva: people have two."""
    keys = {word.key for word in frame.before if word.kind is not WordKind.NAME}
    return bool(keys & _MANY_RELATIONS) and not keys & _SUPERLATIVES


def _value_first(frame: StatementFrame) -> Holds:
    """Teal is my favourite colour, green is my favourite colour."""
    first = frame.after[0]
    if not (set(first.lead) & BE and {"first", "the", "he", "she", "they"} & set(first.lead)):
        return Holds.MANY
    keys = {word.key for word in frame.after}
    known = keys & _ATTRIBUTE_NOUNS and value_type(frame.old) is value_type(frame.new) in (
        ValueType.NAME,
        ValueType.PLAIN,
    )
    return Holds.ONE if known else Holds.UNKNOWN


def _one_number(frame: StatementFrame) -> bool:
    """A number that changed in its place, in the same measure; what was done once may be done again."""
    before, old, new = frame.before, frame.old, frame.new
    measures = {measure(word) for word in (*old, *new)}
    past_event = any(word.past for word in before if word.kind is WordKind.PLAIN)
    return len(measures) == 1 and not past_event and len(old) == len(new) == 1


def _opposite(frame: StatementFrame) -> bool:
    if not len(frame.old) == len(frame.new) == 1:
        return False
    pair = (frame.old[0].key, frame.new[0].key)
    # "The shop is open", "the shop is closed"; but "opens at 8" and "closes at 8" are both true.
    stated = all(set(span[0].lead) & BE for span in (frame.old, frame.new))
    return pair in _OPPOSITES and (stated or not set(pair) & _STATES)


def _count_to_none(frame: StatementFrame) -> bool:
    """Two interns, no interns."""
    if not len(frame.old) == len(frame.new) == 1 or not frame.after:
        return False
    kinds = {frame.old[0].kind, frame.new[0].kind}
    return kinds in ({WordKind.NUMBER, WordKind.NEGATION}, {WordKind.QUANTIFIER, WordKind.NEGATION})


# --- Things of which people use one of a kind: who switches to Emacs no longer writes in Vim.


_KINDS_TEXT = """
    editor: vim neovim emacs vscode sublime nano pycharm intellij helix zed atom cursor notepad eclipse webstorm
    database: postgres postgresql mysql mariadb sqlite mongodb oracle cassandra dynamodb cockroachdb couchdb
    ci: jenkins gitlab github circleci travis buildkite teamcity drone bitbucket
    packages: npm yarn pnpm bun pip poetry pipenv conda uv
    cloud: aws gcp azure hetzner heroku digitalocean ovh linode vercel netlify
    system: windows macos linux ubuntu fedora debian arch mint
    phone: iphone android pixel samsung nokia fairphone
    browser: chrome firefox safari edge brave vivaldi opera
    chat: slack teams discord mattermost zulip
    notes: notion obsidian evernote onenote roam logseq joplin
    shell: bash zsh fish powershell
    framework: django flask fastapi rails laravel spring express
    frontend: react vue angular svelte
    search: elasticsearch opensearch solr meilisearch typesense
    queue: kafka rabbitmq nats sqs celery
    tests: pytest unittest nose jest mocha vitest junit
    format: black ruff prettier yapf
    tracker: jira linear trello asana youtrack redmine
    mail: gmail outlook fastmail protonmail proton hotmail
    music: spotify tidal deezer
    bank: revolut monzo n26 wise barclays hsbc
    money: stripe paypal adyen mollie braintree
    containers: docker podman
    orchestration: kubernetes nomad swarm
"""
_KINDS = {
    word: kind.strip()
    for line in _KINDS_TEXT.strip().splitlines()
    for kind, _, words in [line.partition(":")]
    for word in words.split()
}


def kind_of_tool(key: str) -> str | None:
    """Return the purpose of a tool of which people use one at a time; None for any other word."""
    return _KINDS.get(key)
