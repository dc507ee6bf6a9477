"""Estimate the probability that a sentence helps a later conversation that does not include its turn.

A logistic score over simple features of the sentence and over what the sentence is about, as the
packaged static model has it, whichever embedder is configured: the same log gives the same records under any profile. A
turn's score adds up its sentences': one good sentence is enough, two are better. The weights are learned from labels of
our own (training/durability.py) and shipped as a small table; public sets only judge them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib import resources
from itertools import pairwise, product
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from holdfast.models.embedder import shipped_embedder, shipped_vocabulary
from holdfast.text.words import FUNCTION_WORDS, sentences, terms

# --- The words by which gate/durability.py knows a plain statement: its verbs, what lasts, what passes, what
# judges.
#
# English, looked up whole, lower case. Common knowledge about people's lives, written down; what it is worth is
# learned.


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CLAUSE = _words(", ; : but because when while if so since that who which where although though until and or then")
"""Words that end the value of a statement."""

PRONOUNS = _words(
    """
    it its it's that that's this this's these those they they're he he's she she's there there's here here's you you're
    you've you'll your i'd i'll we'd we'll me us him her them his their one some any all most many much more both each
    every everything everybody everyone something somebody someone anything anybody anyone nothing nobody none what
    what's who who's which when where how why if because let's let not no never always please thanks thank sorry hope
    glad happy sounds looks seems got going can could would will should may might must do does did don't is are was
    were am have has had people things life nature see just maybe perhaps today tomorrow tonight yesterday now then
    """
)
"""A sentence that begins with one of these names nothing that it would be about in another conversation."""

WITHOUT_WEIGHT = _words(
    "really also still just only always usually often mostly never don't do not can't cannot can now both all"
)

OWN_VERBS = _words(
    """
    am are have own live lived work worked study studied speak play teach taught drive ride collect coach
    train volunteer sing swim run cycle dance paint bake brew knit sew farm garden grow breed keep raise cook write eat
    drink smoke wear use take need like love hate dislike enjoy adore prefer detest moved grew married retired founded
    adopted bought sold graduated joined quit stopped started switched studied lost speak read know stand host support
    ship deploy hire manage lead run build maintain follow belong sleep practise practice gave walk rent
    """
)

THIRD_VERBS = _words(
    """
    is are was were has have had uses use runs run lives live works work plays play speaks speak teaches teach costs
    cost takes take needs need lies lie flows rises belongs belong comes come goes go starts start ends end opens open
    closes close begins began meets meet owns own leads led contains contain holds hold includes include makes make made
    produces sells sell sold serves serve supports support requires require returns return talks stands stood sits hangs
    hang wrote won became grew taught built found founded spoke expires expire happens happen covers cover gets get
    sends send keeps keep kept sleeps studies studied drives drive eats eat drinks drink likes like loves love hates
    hate prefers prefer means borders links connects connects consists eats pays pay sign signs reports report rents
    allows allow forbids lasts last must lays breeds grows grow swims swim burns contains
    """
)

POINTING = _words(
    """
    it that this these those them him her you your yours here there one ones another other others same it's that's so
    how what when why where which such first second third last next rest option
    """
)
"""As the first word of a value they point at the conversation: "I like the first one"."""

NOW = _words(
    """
    now today tonight later soon already again yet back ready late early here there tomorrow waiting coming going
    leaving calling ringing asleep awake hungry tired busy fine okay ok sure sorry kidding lost done over gone away
    downstairs upstairs outside inside hurts
    """
)
"""Words for what is true of the moment only."""

ERRAND = _words(
    """
    moment minute minutes second seconds sec table door phone line way queue kitchen call drawer plenty break question
    problem idea request meeting appointment reservation feeling chance clue headache cold temperature fever time times
    bag bags cash card receipt bill ticket tickets seat seats list page file error link test tests choice option options
    order orders message picture number form copies copy bread butter eggs lunch dinner breakfast film bus train taxi
    key keys coat
    """
)
"""Things that somebody has, takes or likes for as long as an errand lasts."""

JUDGED = _words(
    """
    good great nice better best bad worse worst lovely amazing awesome terrible awful horrible boring funny wonderful
    beautiful pretty perfect excellent delicious tasty easy hard difficult simple right wrong true false cool crazy sad
    strange weird odd interesting exciting loud slow fast quick big small short long wide narrow cheap expensive fair
    unfair clear empty full broken wet dry hot warm cold dead alive alone missing same different enough important
    useful helpful useless strong weak rude kind sweet cute ugly clean dirty messy mess tidy close far near high low new
    old stale open closed available complete finished free angry happy upset proud fun joke shame pity yes no
    delayed cancelled canceled jammed stuck parked locked attached solved installed included
    """
)

NUMBERS = _words(
    """
    two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million half noon midnight monday
    mondays tuesday tuesdays wednesday wednesdays thursday thursdays friday fridays saturday saturdays sunday sundays
    january february march april may june july august september october november december
    """
)

LASTING = _words(
    """
    accountant actor actress architect artist baker banker barber barista beekeeper biologist bookkeeper builder
    butcher carpenter cashier chef chemist cleaner clerk coach composer consultant cook dentist designer developer
    director diver doctor driver economist editor electrician engineer farmer firefighter fisherman florist freelancer
    gardener geologist hairdresser historian janitor jeweller journalist judge lawyer lecturer librarian linguist
    locksmith manager mathematician mechanic midwife miner musician nurse optician painter paramedic pharmacist
    philosopher photographer physicist pianist pilot plumber poet policeman policewoman porter postman potter priest
    professor programmer psychologist receptionist reporter researcher sailor salesman scientist sculptor secretary
    sergeant shepherd singer smith soldier student surgeon tailor teacher technician therapist translator trainer vet
    violinist waiter waitress watchmaker weaver welder writer grandmother grandfather father mother widow widower twin
    parent orphan veteran founder owner landlord tenant immigrant refugee citizen
    vegetarian vegan pescatarian coeliac celiac muslim christian jewish buddhist hindu catholic atheist protestant
    diabetic epileptic dyslexic autistic deaf blind colour-blind color-blind left-handed lactose gluten intolerant
    allergic allergy allergies asthma diabetes epilepsy arthritis migraine migraines adhd autism eczema anaemia anemia
    pacemaker insulin wheelchair glasses hearing dyslexia
    dog dogs cat cats horse horses pony rabbit rabbits hamster parrot budgie tortoise goat goats hen hens chicken
    chickens sheep cow cows bee bees fish puppy kitten snake lizard canary donkey duck ducks geese
    son sons daughter daughters child children kids brother brothers sister sisters wife husband cousin cousins niece
    nephew grandson granddaughter grandchildren twins stepson stepdaughter
    house flat apartment cottage cabin farm boat caravan allotment garden motorbike bike bicycle van car truck lorry
    tractor piano guitar violin cello viola clarinet oboe flute trumpet trombone saxophone drums harp accordion banjo
    bass organ bagpipes choir band orchestra quartet quintet
    bakery shop company firm café cafe restaurant studio degree doctorate phd diploma licence license
    jazz opera blues reggae techno metal folk classical poetry chess football tennis rugby cricket hockey handball
    basketball volleyball badminton golf judo karate yoga pilates climbing sailing rowing skiing surfing swimming hiking
    cycling running knitting sewing pottery woodwork gardening baking cooking reading photography astronomy birdwatching
    camping fishing painting drawing dancing gaming travelling traveling hiking
    chocolate cheese coffee tea beer wine meat pork beef chicken seafood mushrooms olives coriander garlic onions
    tomatoes spinach peanuts nuts milk dairy eggs sushi pasta curry tofu spicy
    english french german spanish italian portuguese dutch danish swedish norwegian finnish polish czech hungarian greek
    turkish russian ukrainian arabic hebrew persian hindi urdu bengali tamil mandarin cantonese japanese korean thai
    vietnamese swahili latin welsh irish esperanto
    married divorced engaged pregnant retired single widowed unemployed self-employed
    """
)
"""Things that somebody is, has, suffers from, plays, eats or speaks for more than a day."""


# --- The words and pairs of words that gate/durability.py looks for: plain lists, looked up whole, lower case.
#
# English. None of them decides alone: what each is worth is learned (training/durability.py).


def _pairs(first: str, second: str) -> frozenset[tuple[str, str]]:
    """Every word of the first list before every word of the second."""
    return frozenset(product(first.split(), second.split()))


LEADS = _words("and but so well yeah yes yep no oh ok okay actually also anyway btw wow hey")
"""A sentence may open with one of these before it begins."""

LIKING = _words("love like enjoy hate dislike adore prefer")
EMPTY_OBJECTS = _words(
    """it that this these those the your you to how when what them him her bit little lot few big huge good great bad
    moment minute question problem idea"""
)
"""After "I like" or "I'm a" these say nothing that lasts."""

_TEXTS = {
    "i": "i we i'm i've i'd i'll we're we've we'd we'll",
    "my": "my our mine ours myself ourselves",
    "you": "you your yours yourself u ur you're you've you'll you'd",
    "me": "me us",
    "kin": """
        mom mum mother dad father parent parents sister sisters brother brothers sibling siblings son sons daughter
        daughters kid kids child children wife husband partner girlfriend boyfriend fiancé fiancée fiance fiancee
        family grandma grandmother grandpa grandfather grandparents aunt uncle cousin cousins niece nephew friend
        friends roommate flatmate neighbour neighbor neighbours neighbors colleague colleagues boss team dog dogs
        cat cats puppy kitten pet pets baby twins ex""",
    "life": """
        house home apartment flat move moved moving married wedding divorce divorced engaged born birthday
        anniversary pregnant hospital doctor surgery diagnosed injury injured sick vacation holiday holidays trip
        travel traveled travelled visited race marathon tournament competition concert festival volunteer
        volunteered volunteering garden car bike guitar piano violin painted painting paintings paints pottery
        camping hike hiked hiking yoga gym recipe recipes vegetarian vegan coffee tea book books movie movies show
        shows game games band club group church charity""",
    "past": """
        went got had made took saw was were found met bought won came did gave felt ran lost left told said thought
        read wrote heard became began brought built caught chose drove ate fell flew forgot grew kept knew learnt
        led paid sold sent slept spent spoke stood swam taught threw understood wore broke drew rode sang shot hit
        quit put cut hurt woke fought held lent sat stuck been done seen given taken gone written known shown eaten
        begun chosen grown""",
    "thanks": "thanks thx appreciate grateful cheers",
    "perfect": "i've we've",
    "plan": "gonna wanna intend booked scheduled applied i'll we'll",
    "like": """
        love loves like liked likes enjoy enjoys enjoyed prefer prefers hate hates dislike dislikes adore favourite
        favourites favorite favorites into obsessed allergic rather passion passionate keen""",
    "am": "i'm we're",
    "work": """
        job jobs work working worked office company project projects client clients school college university class
        course degree exam exams study studying business career promotion salary shift intern internship startup
        store stores shop repo server deploy deploys deployed database production api codebase""",
    "time": """
        yesterday today tonight tomorrow last ago since recently lately week weeks weekend weekends month months
        year years monday mondays tuesday tuesdays wednesday wednesdays thursday thursdays friday fridays saturday
        saturdays sunday sundays january february march april june july august september october november december
        spring summer autumn winter christmas easter every daily usually always never often once twice""",
    "number": """
        two three four five six seven eight nine ten eleven twelve dozen hundred thousand million half first second
        third""",
    "unreal": "would could might imagine suppose maybe perhaps probably",
    "rule": "always never must agreed decided switched anymore",
    "feeling": """
        feel feels feeling feelings felt happy sad proud excited nervous anxious stressed relaxed calm tired
        exhausted thrilled scared worried inspired motivated peace joy confident fulfilled fulfilling fulfillment
        rewarding therapeutic overwhelmed""",
}
WORDS: dict[str, frozenset[str]] = {name: _words(text) for name, text in _TEXTS.items()}

PAIRS: dict[str, frozenset[tuple[str, str]]] = {
    "thanks": _pairs("thank", "you") | _pairs("means", "a"),
    "wish": _pairs("good best", "luck of")
    | _pairs("me", "know posted")
    | _pairs("keep", "it me going up")
    | _pairs("proud glad happy excited sorry", "for to that of")
    | _pairs("hope", "you it that your")
    | _pairs("you'll", "be do find")
    | _pairs("rooting here", "for")
    | _pairs("enjoy", "your")
    | _pairs("don't", "worry give")
    | _pairs("feel", "free"),
    "perfect": _pairs("i we", "have"),
    "plan": _pairs("going hoping want aim aiming", "to")
    | _pairs("plan plans planning planned", "to on for")
    | _pairs("i we", "will")
    | _pairs("thinking", "of about")
    | _pairs("looking", "forward")
    | _pairs("can't", "wait")
    | _pairs("will", "be")
    | _pairs("signed", "up"),
    "like": _pairs("fan", "of") | _pairs("can't", "stand") | _pairs("interested", "in"),
    "am": _pairs("i", "am was") | _pairs("we", "are were") | _pairs("name", "is") | _pairs("call", "me"),
    "have": _pairs("i we she he they", "have has own owns got bought adopted need use used")
    | _pairs("i've we've", "got"),
    "unreal": _pairs("if", "i we") | _pairs("i", "wish") | _pairs("what", "if"),
    "rule": _pairs("now", "on")
    | _pairs("make", "sure")
    | _pairs("remember", "that this to")
    | _pairs("in", "future")
    | _pairs("no", "longer")
    | _pairs("instead", "of")
    | _pairs("changed", "my")
    | _pairs("any", "more"),
    "helps": _pairs(
        "help helps make makes remind reminds keep keeps give gives lets taught inspired helped made", "me us"
    )
    | _pairs("for to", "me"),
    # A lasting statement about oneself, however short it is (SAL-2).
    "tells": _pairs("i", "live work speak play teach study own drive collect prefer hate wear use moved quit switched")
    | _pairs("i'm am", "allergic vegetarian vegan from married single pregnant diabetic engaged retired learning")
    | _pairs("a", "vegetarian vegan")
    | _pairs("my", "name nickname surname birthday pronouns favourite favorite")
    | _pairs("call", "me")
    | _pairs("allergic", "to")
    | _pairs("born grew", "in up")
    | _pairs("i we", "always never usually")
    | _pairs("we", "use deploy prefer decided agreed switched moved host")
    | _pairs("always never", "use answer deploy call ask write reply assume")
    | _pairs("remember", "that this")
    | _pairs("don't", "forget"),
    # "I" that speaks of the other: it is about what they said, not about oneself.
    "courtesy": _pairs("i", "hope bet think guess suppose know see mean knew agree understand imagine")
    | _pairs("love", "that it this your how")
    | _pairs("i'm am so really very truly", "glad happy proud sorry sure")
    | _pairs("can can't", "imagine picture believe wait see")
    | _pairs("i'd would", "love be"),
}

FIRST_WORDS: dict[str, frozenset[str]] = {
    "reaction": _words(
        """
        wow whoa woah aw aww awww oh ooh haha hahaha ha lol yay omg cool nice great awesome amazing fantastic
        wonderful lovely brilliant sweet perfect excellent congrats congratulations sound sounds that's thats glad
        totally absolutely definitely exactly agreed true right sure yep yeah yes yup look looks"""
    ),
    "question_start": _words(
        """
        what when where why who whom which how do does did is are was were can could would will should have has any
        got shall may ever what's where's who's how's"""
    ),
    "greeting": _words("hi hey hello howdy yo bye goodbye"),
    "command": _words(
        """
        please let's lets don't dont make give show tell write explain find add fix use try check look send list
        create help keep take go come wait stop translate summarise summarize rewrite run open set put remove change
        update convert draft suggest recommend"""
    ),
    "evaluation": _words("it's that's this's they're there's everything's life's"),
}

FIRST_PAIRS: dict[str, frozenset[tuple[str, str]]] = {
    "reaction": _pairs("well", "done")
    | _pairs("good", "job for luck point call idea to")
    | _pairs("that", "is was sounds must makes")
    | _pairs("this", "is sounds")
    | _pairs("so", "cool sweet proud happy glad sorry")
    | _pairs("happy sorry", "to")
    | _pairs("of", "course")
    | _pairs("no", "way problem worries doubt")
    | _pairs("same", "here")
    | _pairs("me", "too")
    | _pairs("love", "it that this the your")
    | _pairs("can't", "wait"),
    "greeting": _pairs("good", "morning evening afternoon night")
    | _pairs("long", "time")
    | _pairs("see", "you")
    | _pairs("talk", "soon later to")
    | _pairs("take", "care")
    | _pairs("have", "a"),
    "command": _pairs("can could would", "you"),
    "evaluation": _pairs(
        "it that this these those they there everything life nature music art",
        "is was are were can really must make makes sound sounds look looks feel feels",
    ),
}


# --- Whether a sentence has the shape of a plain statement: who or what it is about, a verb, and a value that
# lasts.
#
# "I have two horses", "our standup is at nine", "the Danube flows into the Black Sea" next to "I have a minute",
# "our bus is coming", "the map is upside down". English; words are looked up once each, so reading is linear.


SHAPES = (
    "own_value", "own_lasting", "own_brief", "own_points", "own_moment", "third_value", "third_named", "third_of",
    "third_name_value", "third_number_value", "third_brief", "third_moment", "third_judged", "third_plain_the",
    "third_does", "third_passive",
)  # fmt: skip
_NONE = (0.0,) * len(SHAPES)

_TOKEN = re.compile(r"\d[\d.,:]*|[^\W\d_]+(?:['-][^\W\d_]+)*|[,;:]")
_MOST_TOKENS = 40
_FARTHEST_VERB = 9
"""Maximum number of words of a subject ("the head of the department for foreign trade is")."""
_BRIEF = 7
_LONGEST = 12
"""Words of a sentence that is no more than its statement; a longer one is weighed by its other features."""
_BE = frozenset(("am", "is", "are", "was", "were"))
_CHOOSING = frozenset(("have", "need", "like", "love", "hate", "prefer", "use", "take", "wear"))
_OF_THE_TALK = frozenset(("the", "my", "to", "some"))
"""After a verb of having or choosing: "I like the tea", "I have my bike", "I have to go"; but "I play the cello"."""
_PASSIVE = frozenset(("by", "in", "after", "from", "at", "on", "to", "for", "until", "since"))
_PLACED = frozenset(("at", "in", "on", "by", "under", "behind", "near"))
_BREAKS = frozenset((",", ";", ":", "i", "i'm", "i've", "we", "we're", "we've"))
"""In front of the verb they begin another sentence: "Harbour office, this is Ruud"."""
_CONTRACTED = {"i'm": "am", "we're": "are", "i've": "have", "we've": "have"}


def shape(plain: str, uncommon: Set[str], question: bool, asks: bool) -> tuple[float, ...]:
    """The features of SHAPES; all 0 for what is no plain statement.

    `uncommon`: its words that are not common ones; `asks`: the turn holds a question, so this may only lead up to it.
    """
    if question:
        return _NONE
    tokens = _TOKEN.findall(plain)[:_MOST_TOKENS]
    while tokens and (tokens[0] in ",;:" or tokens[0].lower() in LEADS):
        tokens = tokens[1:]
    if len(tokens) < 2:
        return _NONE
    lower = [token.lower() for token in tokens]
    if sum(word not in ",;:" for word in lower) > _LONGEST:
        return _NONE
    if lower[0] in ("i", "we") or lower[0] in _CONTRACTED:
        return _own(lower, asks)
    return _third(tokens, lower, uncommon)


def _own(lower: Sequence[str], asks: bool) -> tuple[float, ...]:
    """Of oneself: "I have asthma", "we don't eat pork", "I'm a midwife"."""
    at, verb = 0, _CONTRACTED.get(lower[0])
    if verb is None:
        at = next((place for place, word in enumerate(lower[1:5], 1) if word not in WITHOUT_WEIGHT), 1)
        verb = lower[at]
    value = _value(lower[at + 1 :])
    if verb not in OWN_VERBS or not value:
        return _NONE
    points = value[0] in POINTING or (value[0] in _OF_THE_TALK and verb in _CHOOSING)
    passes = any(word in NOW or word in ERRAND for word in value)
    tells = any(map(_tells, value)) and not points
    lasting = tells and not LASTING.isdisjoint(value)
    if asks and not lasting and verb in _CHOOSING:  # "We have three kinds. Which one would you like?"
        return _NONE
    moment = passes or (verb in _BE and value[0].endswith("ing"))
    brief = lasting and not moment and len(lower) <= _BRIEF
    return (float(tells), float(lasting), float(brief), float(points), float(moment), *_NONE[5:])


def _third(tokens: Sequence[str], lower: Sequence[str], uncommon: Set[str]) -> tuple[float, ...]:
    """Of another: "the office closes at six", "Ada wrote notes", "my shoe size is 44"."""
    if lower[0] in PRONOUNS:
        return _NONE
    places = range(1, min(_FARTHEST_VERB, len(lower)))
    verb = next((place for place in places if _is_verb(tokens[place])), 0) or next(
        (place for place in places if _may_be_verb(tokens[place])), 0
    )
    if not verb:
        return _NONE
    subject, value = lower[:verb], _value(lower[verb + 1 :])
    if not value or any(word in _BREAKS or word in PRONOUNS for word in subject[1:]):
        return _NONE
    said = tokens[verb + 1 : verb + 1 + len(value)]
    named = any(token[:1].isupper() for token in tokens[1:verb]) or lower[0] in uncommon
    name = any(token[:1].isupper() and token not in ("I", "I'm") for token in said)
    number = any(word[:1].isdigit() or word in NUMBERS for word in value)
    be = lower[verb] in _BE
    placed = value[0] in _PLACED and not name and not number  # "is in the kitchen", but "is in Dublin", "is at nine"
    moment = not NOW.isdisjoint(value) or (be and (placed or value[0].endswith("ing")))
    judged = not JUDGED.isdisjoint(value)
    tells = any(map(_tells, value)) and not judged and not moment
    of = "of" in subject[1:] or any(word.endswith("'s") for word in subject)
    mine = subject[0] in ("my", "our")
    specific = name or number or named or of or mine
    return (
        *_NONE[:5],
        float(tells),
        float(named and tells),
        float(of and tells),
        float(name and tells),
        float(number and tells),
        float(tells and specific and len(lower) <= _BRIEF),
        float(moment),
        float(judged),
        float(tells and not specific),
        float(tells and not be),
        float(tells and be and (name or number) and not _PASSIVE.isdisjoint(value[1:3])),  # "was founded in 1911"
    )


def _is_verb(token: str) -> bool:
    return token in THIRD_VERBS or (len(token) > 4 and token.endswith("ed") and token.islower())


def _may_be_verb(token: str) -> bool:
    """Such as "faces" or "covers": the verbs that no list holds, in the third person."""
    return len(token) > 4 and token.endswith("s") and not token.endswith(("ss", "us", "'s")) and token.islower()


def _value(words: Sequence[str]) -> list[str]:
    """Return the words after the verb, up to the next clause."""
    found: list[str] = []
    for word in words:
        if word in CLAUSE and found:
            break
        if word not in ",;:":
            found.append(word)
    return found


def _tells(word: str) -> bool:
    return word not in FUNCTION_WORDS and word not in JUDGED and word not in NOW and word not in POINTING


# --- Features of each sentence of a turn: who it is about, its tense, names, numbers,
# times, its manner, and how much of it is new in the conversation.
#
# English. Words are looked up, not searched for, so reading is linear; none of the features decides alone.


MOST_SENTENCES = 200
"""Of one turn: its beginning and its end. What is longer was pasted; its turn keeps the whole."""
_MAX_CONTEXT = 4000
"""Characters of an earlier turn that are read for what is not new; of a paste, its beginning."""
_COMMON, _KNOWN = 6000, 12_000
"""A word is uncommon, or rare, if it is not among this many pieces of the vocabulary, by frequency."""
_LONG = math.log1p(6)
"""Content words of a sentence that tells more than its bare fact."""
_BRIEF_TURN = 6
"""Words of a turn that hardly says anything (the issue's own measure of small talk)."""

_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_DIGIT = re.compile(r"\d+")
_IS = frozenset(("is", "are", "was", "were", "lives", "works", "moved"))
_NAME = re.compile(r"(?<=[a-z,;:')] )(?!I\b)[A-Z][a-z]+|\b[A-Z]{2,}\b")
# A name that calls somebody says nothing about them: "Thanks, Ida!", "Hey Ida,", "Ida, look".
_CALLED = re.compile(
    r"(?:, |^(?:hey|hi|hello|thanks|thank you|yeah|yep|wow|oh|morning|congrats|whoa|dear|good \w+),? )"
    r"(?-i:([A-Z][a-z]+))(?=[,!.?]|$)|^(?-i:([A-Z][a-z]+))(?=[,!])",
    re.IGNORECASE,
)

_FLAGS = tuple(dict.fromkeys([*WORDS, *PAIRS, *FIRST_WORDS, *FIRST_PAIRS]))
_BIT = {name: 1 << place for place, name in enumerate(_FLAGS)}
_FLAG_BYTES = (len(_FLAGS) + 7) // 8
_MADE = (
    "bias", "words", "content", "question", "exclaim", "own_past", "my_kin", "name", "called", "other_name", "answer",
    "first", "alone", "own_content", "you_not_own", "short", "long_own", "life_not_own", "reaction_own", "i_start",
    "you_start", "new", "new_share", "uncommon", "rare", "turn_answers", "turn_after_question", "turn_questions",
    "turn_brief", "my_is", "brief_tells", "am_a", "likes_a",
)  # fmt: skip
FEATURES: tuple[str, ...] = (*_MADE, *SHAPES, *_FLAGS)
_PLACE, _NEW, _TURN = (FEATURES.index(name) for name in ("answer", "new", "turn_answers"))
"""First columns that do not depend on the sentence alone: three, two and four of them."""
_KEPT = 4096
"""Sentences whose reading is kept, 3 KB each: those of a batch, for the index, the vectors and admission read them."""

_Numbers = NDArray[np.float64]

_Key = TypeVar("_Key")


def _bits(table: dict[str, frozenset[_Key]]) -> dict[_Key, int]:
    """The flags that each word or pair raises."""
    bits: dict[_Key, int] = {}
    for name, keys in table.items():
        for key in keys:
            bits[key] = bits.get(key, 0) | _BIT[name]
    return bits


_WORD_BITS, _PAIR_BITS = _bits(WORDS), _bits(PAIRS)
_FIRST_BITS, _FIRST_PAIR_BITS = _bits(FIRST_WORDS), _bits(FIRST_PAIRS)


@dataclass(frozen=True, slots=True)
class SentenceFeatures:
    """A turn's sentences, and of each its features in the order of FEATURES: flags as 0 or 1, amounts as logarithms."""

    sentences: tuple[str, ...]
    features: _Numbers


@dataclass(frozen=True, slots=True)
class _Seen:
    """Features of a sentence by itself; those of its place and turn are 0."""

    content: frozenset[str]
    features: _Numbers


def read_features(text: str, answers_question: bool, before: Sequence[str]) -> SentenceFeatures:
    """Read the features of each sentence; `before`: earlier turns of all speakers, oldest first."""
    found = sentences(text)
    if len(found) > MOST_SENTENCES:
        found = found[: MOST_SENTENCES // 2] + found[-MOST_SENTENCES // 2 :]
    known: set[str] = set().union(*(_content(earlier[:_MAX_CONTEXT]) for earlier in before))
    turn = [
        float(answers_question),
        float(bool(before) and "?" in before[-1]),
        math.log1p(sum("?" in sentence for sentence in found)),
        float(len(text[:_MAX_CONTEXT].split()) <= _BRIEF_TURN),
    ]
    rows = np.empty((len(found), len(FEATURES)))
    for row, sentence in zip(rows, found, strict=True):
        seen = _read(sentence, turn[2] > 0)
        row[:] = seen.features
        new = len(seen.content - known)
        known |= seen.content
        row[_NEW : _NEW + 2] = math.log1p(new), new / (1 + len(seen.content))
    if found:
        rows[0, _PLACE : _PLACE + 3] = answers_question, True, len(found) == 1
    rows[:, _TURN : _TURN + len(turn)] = turn
    return SentenceFeatures(tuple(found), rows)


@lru_cache(maxsize=_KEPT)
def _read(sentence: str, turn_asks: bool) -> _Seen:
    plain = sentence.replace("’", "'")
    words = _WORD.findall(plain.lower())
    numbers = _DIGIT.findall(plain)
    seen = _look_up(words) | (_BIT["number"] if numbers else 0)
    own, past, you = seen & (_BIT["i"] | _BIT["my"]), seen & _BIT["past"], seen & _BIT["you"]
    question = plain.rstrip("\"'”) ").endswith("?")
    content = math.log1p(sum(word not in FUNCTION_WORDS for word in words))
    begin = words[1:] if words and words[0] in LEADS else words
    names = _NAME.findall(plain)
    called = {one or other for one, other in _CALLED.findall(plain)}
    uncommon, rare = _how_rare(words, numbers)
    # "My sister's name is Ida", "our standup is at ten": an attribute and its value.
    my_is = float(bool(begin) and begin[0] in ("my", "our") and not _IS.isdisjoint(begin[2:5]))
    features = [
        1.0,
        math.log1p(len(words)),
        content,
        float(question),
        float(plain.endswith("!")),
        float(bool(past and own)),
        float(bool(seen & _BIT["kin"] and seen & _BIT["my"])),
        math.log1p(min(len(names), 3)),
        float(bool(called)),
        math.log1p(min(sum(name not in called for name in names), 3)),
        *(0.0, 0.0, 0.0),  # its place
        content if own and not question else 0.0,
        float(bool(you and not own)),
        float(len(words) <= 3),
        float(bool(own and content >= _LONG)),
        float(bool(seen & _BIT["life"] and not own)),
        float(bool(seen & _BIT["reaction"] and own)),
        float(bool(begin) and begin[0].partition("'")[0] in ("i", "we", "my", "our")),
        float(bool(begin) and begin[0].partition("'")[0] in ("you", "your")),
        *(0.0, 0.0),  # what is new in it
        math.log1p(len(uncommon)),
        math.log1p(len(rare)),
        *(0.0, 0.0, 0.0, 0.0),  # its turn
        my_is,
        float(bool(seen & _BIT["tells"] or my_is) and len(words) <= _BRIEF_TURN),
        *_is_and_likes(words),
        *shape(plain, uncommon, question, turn_asks),
    ]
    flags = np.unpackbits(np.frombuffer(seen.to_bytes(_FLAG_BYTES, "little"), np.uint8), bitorder="little")
    return _Seen(_content(sentence), np.concatenate([features, flags[: len(_FLAGS)]]))


def _is_and_likes(words: list[str]) -> tuple[float, float]:
    """Return two features: it says what somebody is ("I'm a nurse"), and what they like ("I love jazz")."""
    is_a = likes = False
    for first, second, third in zip(words, words[1:], words[2:], strict=False):
        if third not in EMPTY_OBJECTS:
            is_a = is_a or (first in ("i'm", "am") and second in ("a", "an"))
            likes = likes or (first == "i" and second in LIKING)
    return float(is_a), float(likes)


def _look_up(words: list[str]) -> int:
    """Return the flags of the words, as bits."""
    seen = 0
    for word in words:
        seen |= _WORD_BITS.get(word, 0)
        if len(word) > 4 and word.endswith("ed"):
            seen |= _BIT["past"]
    for pair in pairwise(words):
        seen |= _PAIR_BITS.get(pair, 0)
    if words:
        seen |= _FIRST_BITS.get(words[0], 0)
        seen |= _FIRST_PAIR_BITS.get((words[0], words[1]), 0) if len(words) > 1 else 0
    return seen


def _how_rare(words: list[str], numbers: list[str]) -> tuple[set[str], set[str]]:
    """The words that are not common, and those of them that are rare."""
    common, known = _frequent()
    uncommon = {word.partition("'")[0] for word in words} | set(numbers)
    uncommon -= common
    return uncommon, uncommon - known


@cache
def _frequent() -> tuple[frozenset[str], frozenset[str]]:
    pieces = shipped_vocabulary()
    return frozenset(pieces[:_COMMON]), frozenset(pieces[:_KNOWN])


@lru_cache(maxsize=2048)  # a conversation's turns are read again for each turn after them
def _content(text: str) -> frozenset[str]:
    """The terms of a text that say what it is about."""
    return frozenset(terms(text)) - _function_terms()


@cache
def _function_terms() -> frozenset[str]:
    return FUNCTION_WORDS.union(*(terms(word) for word in FUNCTION_WORDS))


_AT_ONCE = 64  # turns; of pastes with 200 sentences each the vectors take 13 MB


@dataclass(frozen=True, slots=True)
class Weighed:
    """A turn's sentences with the probability that each is worth keeping, and the turn's own."""

    sentences: tuple[str, ...]
    each: tuple[float, ...]
    whole: float
    vectors: NDArray[np.float32] = field(compare=False, repr=False)
    """The sentences' meanings, as the packaged static model has them."""


def weigh(text: str, answers_question: bool, before: Sequence[str] = ()) -> Weighed:
    """`answers_question`: the turn before it, another's, ended in a question, so a fragment may be a full answer.

    `before`: what was said in the session until then, oldest first. Saying again what is known by now tells little.
    """
    (weighed,) = _weigh([read_features(text, answers_question, before)])
    return weighed


def weigh_apart(texts: Sequence[str]) -> list[Weighed]:
    """Many turns, each by itself, as `weigh(text, False)` does."""
    return weigh_all([(text, False, ()) for text in texts])


def weigh_all(turns: Sequence[tuple[str, bool, Sequence[str]]]) -> list[Weighed]:
    """Many turns, each with what `weigh` asks for; together they take half the time."""
    weighed: list[Weighed] = []
    for start in range(0, len(turns), _AT_ONCE):
        weighed += _weigh([read_features(*turn) for turn in turns[start : start + _AT_ONCE]])
    return weighed


def _weigh(turns: Sequence[SentenceFeatures]) -> list[Weighed]:
    vectors = _embed([sentence for turn in turns for sentence in turn.sentences])
    seen = np.concatenate([turn.features for turn in turns])
    of_features, of_meaning = _weights()[: len(FEATURES)], _weights()[len(FEATURES) :]
    # No BLAS: a turn's score must not depend on the turns it is weighed together with.
    scores = np.einsum("ij,j->i", seen, of_features) + np.einsum("ij,j->i", vectors, of_meaning)
    each = scores.tolist()
    weighed, start = [], 0
    for turn in turns:
        stop = start + len(turn.sentences)
        weighed.append(_together(turn.sentences, each[start:stop], vectors[start:stop]))
        start = stop
    return weighed


def _together(found: tuple[str, ...], scores: Sequence[float], vectors: NDArray[np.float32]) -> Weighed:
    if not found:
        return Weighed((), (), 0.0, vectors)
    highest = max(scores)
    together = highest + math.log(sum(math.exp(score - highest) for score in scores))
    return Weighed(found, tuple(map(_probability, scores)), _probability(together), vectors)


def _embed(found: Sequence[str]) -> NDArray[np.float32]:
    return shipped_embedder().embed([sentence.replace("’", "'") for sentence in found])


def _probability(score: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, score))))


@cache
def _table() -> dict[str, object]:
    table = json.loads(resources.files("holdfast.gate").joinpath("durability.json").read_text(encoding="utf-8"))
    assert isinstance(table, dict)
    return table


@cache
def _weights() -> _Numbers:
    by_name, meaning = _table()["weights"], _table()["meaning"]
    assert isinstance(by_name, dict) and list(by_name) == list(FEATURES), "weights and features do not belong together"
    assert _table()["model"] == shipped_embedder().profile.fingerprint, "the weights belong to another static model"
    assert isinstance(meaning, list)
    return np.array([*by_name.values(), *meaning], dtype=np.float64)
