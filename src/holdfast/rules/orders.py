"""English orders: "use tabs", "never push to main", "if the build fails, stop", and which of them are only errands.

A bare order is a rule when its verb says how things are done ("keep", "avoid") or a word makes it stand ("each",
"before you"); what is tied to this moment or this thing ("now", "it", "for me") is an errand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise

from holdfast.rules.text import (
    BEFORE_VERBS,
    ERRANDS,
    FOLLOWING,
    IDLE_DONTS,
    ONCE,
    ORDERED,
    PARTIES,
    PEOPLE,
    PRACTICES,
    SOCIABLE,
    STANDING,
    STRONG,
    VERBS,
    Finding,
    Modality,
    Said,
)
from holdfast.text.vocabulary import is_past, lemma, word_set

_MUST, _NOT, _HOW = Modality.OBLIGATION, Modality.PROHIBITION, Modality.PRESCRIPTION
_MOST_CLAUSES = 6
_LEAD = re.compile(
    r"(?>(?:(?:and|but|so|ok|okay|also|oh|well|hi|hey|hello|yes|no|actually|please|pls|kindly|just|btw"
    r"|by the way|one more thing"
    r"|first|again|then|important|note|remember|reminder|rule \w+|warning|caution|attention|p\.?s"
    r"|therefore|instead(?! of)|in general|generally"
    r"|usually|normally|by default|as always|ideally|otherwise|nb|guys|everyone|everybody|thanks|thank you"
    r"|claude|assistant)[,.!:]* +){0,4})"
)
_ASKED = re.compile(
    r"(?:i (?:really |always |also )?(?:want|need|expect|would like|'d like|would love)"
    r"|i'd (?:really )?(?:like|love|want)) you to "
)
_TRY = re.compile(
    r"(?:do |please )?try (?P<not>not )?to (?!relax|sleep|rest|fall|calm|forget|enjoy|remember|understand"
    r"|imagine|find|get)"
)
_OUR = re.compile(
    r"(?:here )?(?:we|let's|let us) (?P<how>always|never|don't|do not|not|only)(?: ever)? (?P<verb>[a-z-]+)"
)
_OURS_NOT = re.compile(r"we (?:don't|do not|never) ")
_ORDER_TO_US = word_set(
    """have know like want need think see live get understand talk go eat remember care agree work speak mind feel
    watch believe even really usually often always got met had saw did make take come give find hear stay play
    drink sleep look say meet buy mean seem hate love enjoy leave say start lose forget expect win tell learn
    pay miss stop let ever actually plan hope wish sell own exactly do call seem carry produce"""
)
"""After "we don't": what people tell of themselves."""
_DONT = re.compile(
    r"(?:please |do )?(?:don't|do not|do n't|never|don't ever|never ever)(?: ever| please| just"
    r"| you dare)? (?P<verb>[a-z][a-z-]*)"
)
_ALWAYS = re.compile(r"(?:please )?(?:always|only)(?: please)? (?P<verb>[a-z][a-z-]*)")
_PLAIN = re.compile(r"(?:do |always )?(?P<verb>[a-z][a-z-]*)\b(?! ?[:'])")
_NOT_VERBS = word_set(
    """a an the my your his her in on at been had has was were seen heard happy nice good great there here i it he she
    you they we this that ready wrong right someone something on-time remembered again mind say in-time"""
)
_SUPPOSING = re.compile(
    r"(?!by the way|in (?:fact|my opinion|short|other words|the end|addition|any case)|for (?:example"
    r"|instance|sure|me|one|now|they|he|she|it|we|i)|at (?:first|last|least|home)|to (?:me|be)"
    r"|on the other)"
    r"(?:if|when|whenever|whatever|where|unless|before|after|once|while|until|every time|each time|for|in"
    r"|on|with|as soon as|as long as|instead of|rather than"
    r"|should|where|wherever|during|to|at|by|within|upon|without|under|throughout|regarding|when it comes to|given)\b"
)
_FRIENDLY = re.compile(
    r"(?:if|when|once) (?:you (?:see|meet|visit|happen|like|want|wish|prefer|need|can|could|get|have|feel"
    r"|ever|don't mind|are (?:free|done|ready|interested|in|hungry|bored|looking))"
    r"|you're (?:done|ready|free|bored|hungry|interested|in|looking|finished)|possible|necessary|so"
    r"|not too|i (?:remember|were|was|had)|it's (?:ok|okay|possible))\b"
)
_FRIENDLY_THEN = re.compile(
    r"(?:please )?(?:let (?:me|us) know|call|contact|come|feel free|give (?:me|us)|go|take|try|turn|drop"
    r"|ring|get|tell me|just let|have|be my|wait|do come|look|join)\b"
)
_TO_YOU = re.compile(r"\b(?:you|you're|your|you've|you'd|there's|there|possible|needed)\b")
_STRICT = re.compile(
    r"(?:before|unless|whenever|every time|each time|instead of|rather than|until|where|for|(?:if"
    r"|when) (?:i|we) (?:ask|say|mention|write|send|give|tell|forget|am|do|don't)|in|with)\b"
)
_ALSO_STANDING = re.compile(
    r"\b(?:after (?:two|three|four|an?|\d+) (?:\w+ )?(?:attempts|days|tries|failed|failures|minutes|hours)"
    r"|as (?:we|you) go|early|before (?:you|each|every|any|\w+ing|committing|pushing|merging)"
    r"|after (?:each|every|you)|when (?!you're (?:done|ready|finished|free)|you (?:get|have|can)|i\b|he\b"
    r"|she\b)(?:the|a|an|you|adding|writing|in doubt|\w+ing|there|it comes|someone|customers?|users?)\b"
    r"|if (?!you (?:can|want|like|have time)|possible|the \w+ is (?:open|up|free)|it\b|that\b|he\b"
    r"|she\b)(?:a|an|any|anything|someone|the|you|unsure|in doubt|there)\b"
    r"|instead of|rather than|(?:write|speak|answer|reply|respond|talk|think) in|in (?:english|german"
    r"|french|dutch|spanish|italian|plain|simple|markdown|british|american|bullet|all|every|full|lower"
    r"|upper|the language)\b|by default|at all times|from here on"
    r"|no (?:explanation|matter|exceptions)|first, then|in the same \w+|twice|for (?:all|every|each|any)"
    r"|twice a (?:day|week)"
    r"|once a (?:day|week)|times a (?:day|week)|(?:on|from|by) (?:mondays|tuesdays|wednesdays|thursdays"
    r"|fridays|saturdays|sundays|weekends)"
    r"|outside|under \d+|at most|at least|no more than|no longer than|max(?:imum)?|alphabetically"
    r"|next to the)\b|, (?:not|never|no) \w"
)
_TIED = re.compile(
    r"\b(?:for me(?! (?:every|each|to))|this (?!repo|repository|project|team|codebase|house|way|order"
    r"|convention|style|format|rule|app|code|folder|package|module|product|kitchen|lab|shop|chat)\w+"
    r"|right now|right away|this time|for now|for a (?:minute|moment|second)|the following|one by one"
    r"|the (?:second|last|third|next|attached|following) \w+|the first (?:one|two|paragraph|chapter|item"
    r"|option|draft|page|tab)"
    r"|on (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)\b|in (?:january|february|march"
    r"|april|may|june|july|august|september|october|november|december)\b|tonight|before i |that (?:one"
    r"|last)|these|those|"
    r"a (?:bit|little|second|minute|moment))\b|^(?:[a-z']+ ){1,3}(?:that|it)\W*$"
)
_THIS_ONE = re.compile(r"\b(?:this time|right now|for now|that one|this one)\b|^(?:[a-z']+ ){1,3}(?:that|it|this)\W*$")
_ME_A = re.compile(
    r"^[a-z-]+ (?:me|us|him|her|them|it|this|that|[a-z]+ and thank)\b(?! (?:in|first|before|the short|when"
    r"|whenever|if|posted|as|by)\b)"
)
_GENERIC_ROLE = re.compile(
    rf"^[a-z-]+ the (?:{'|'.join(sorted(PARTIES | {'caller', 'assistant', 'child', 'audience'}))})\b(?!'s)"
)
_SOME = re.compile(r"^[a-z-]+ (?:an?|another|some|two|three|four|five|ten|\d+|something) ")
_PLURAL = re.compile(
    r"^[a-z-]+ (?:(?!the\b|my\b|your\b|a\b|an\b|this\b|that\b|his\b|her\b|ten\b|two\b|three\b|four\b"
    r"|five\b|milk\b)[a-z-]+ ){0,2}?(?!this\b|us\b|is\b|as\b|his\b|yes\b|its\b)[a-z-]{2,20}s\b(?! (?:is"
    r"|are|was|were|have|can|will)\b)"
)
_IDLE_BE = word_set(
    """quiet careful happy strong well good nice cool patient back there here right my a an the quick kind gentle so
    glad seated sure it"""
)
_IDLE_KEEP = re.compile(
    r"(?:let (?:me|us) know|keep (?:on|me (?:posted|updated)|\w+ing|up|your (?:fingers|chin|cool|shirt"
    r"|hair|eyes)|going|in touch|it up|calm|the change|trying|walking|an eye|talking|quiet|smiling)"
    r"|stay (?:tuned|safe|healthy|calm|there|here|with me|cool|for|warm|away|strong)|stick around"
    r"|think (?!step|carefully|before|of \w+ as|of the \w+ as|twice)\w+|go (?:straight|left|right|up|down"
    r"|along)|sort (?:out|of)|talk to you|respect for|keep you|speak (?:up|of|louder)|be(?:lieve)?\b (?:my"
    r"|a)\b|follow me|ask (?:him|her|me|them|your)|leave (?:me alone|it|a message|him|her|them)"
    r"|run (?:along|away|for|out)|return to|answer (?:me|the (?:phone|door))|stop (?:it|that|there|by|at"
    r"|in|here|kidding|joking|crying|worrying|teasing|complaining)|use (?:your (?:head|imagination)|it\b"
    r"|this|that|mine)|report (?:to|for)|skip (?:it|this|that)|sign (?:here|this|it|your name|up|in)"
    r"|order (?:a|the|some|two)|end of|back (?:to|in|then|up)|cut (?:it|the)|run (?:the|it)|test (?:it"
    r"|this)|treat (?:yourself|me)|quit (?:it|joking|kidding)|name (?:it|one|a)|wrap it|mark my"
    r"|pause (?:it|the)|round (?:it|trip)|type (?:it|your|in)|begin (?:with|by)|place (?:an|your)"
    r"|store (?:is|hours))\b"
)


def order(said: Said) -> Finding | None:
    """The first clause of the sentence that gives a standing order."""
    for clause in _clauses(said.lower):
        if (found := _read(clause.text, said, clause.supposed)) is not None:
            return found
    return None


@dataclass(frozen=True, slots=True)
class _Clause:
    text: str
    supposed: str
    """The condition or place before it, or empty: "if the build fails, …", "for dates, …"."""


_PART = re.compile(
    r"(?P<mark>[,;:–—]) (?:so |(?P<joined>(?:and|but) ))?|(?<=\w) - |(?<=\w) (?:and|but|then) (?=(?:please"
    r"|never|always|don't|do not)\b)"
)
_STARTS = re.compile(r"(?:please|never|always|don't|do not)\b")
_SHORT = 2
"""Words of a first clause that is only a call: "hey Claude, …", "one thing: …"."""


def _clauses(sentence: str) -> Iterator[_Clause]:
    """The clauses that may give an order. One in the middle of a telling is none: "I read, sort and file it"."""
    at, supposed, ordering, free = 0, "", True, True
    found = islice(_PART.finditer(sentence), _MOST_CLAUSES)
    ends = [
        (one.start(), one.end(), one["mark"] or "", one["joined"] is not None or one["mark"] is None) for one in found
    ]
    for number, (stop, after, mark, joined) in enumerate([*ends, (len(sentence), len(sentence), "", False)]):
        part = sentence[at:stop]
        lead = _LEAD.match(f"{part} ")
        clause = part[lead.end() :].strip() if lead else part
        if number == 0 and _SUPPOSING.match(clause):
            if not ends or _FRIENDLY.match(clause):
                return
            supposed = clause
        elif clause and (ordering or (free and _STARTS.match(part))):
            yield _Clause(clause, supposed if number <= 2 else "")
        first = clause.split(maxsplit=1)[0].strip(",.!") if clause else ""
        call = len(clause.split()) <= _SHORT and first not in _PRONOUNS
        ordering = (
            call
            or first in ORDERED
            or first in ERRANDS
            or bool(_STARTS.match(clause))
            or (number == 0 and bool(supposed))
        )
        so = (
            sentence[stop:after].endswith("so ")
            and sentence[after:].split(maxsplit=1)[0:1] != []
            and sentence[after:].split(maxsplit=1)[0] in ORDERED - {"be"}
        )
        ordering = ordering or so or mark in (";", ":", "–", "—")
        at, free = after, not joined


_PRONOUNS = word_set("i you we he she they it that")


def _read(clause: str, said: Said, supposed: str) -> Finding | None:
    if asked := _ASKED.match(clause):
        clause = clause[asked.end() :]
    if tried := _TRY.match(clause):
        clause = ("don't " if tried["not"] else "") + clause[tried.end() :]
    if found := _DONT.match(clause):
        return _forbidden(clause, found, said, supposed)
    if (found := _OUR.match(clause)) and (
        found["verb"] in PRACTICES or (_OURS_NOT.match(clause) and found["verb"] not in _ORDER_TO_US)
    ):
        return Finding(_HOW if found["how"] in ("always", "only") else _NOT, found[0])
    if (found := _ALWAYS.match(clause)) and found["verb"] not in _NOT_VERBS and not _is_addressed(found["verb"]):
        known = found["verb"] in ORDERED or found["verb"] in ERRANDS or clause.startswith("always")
        return Finding(_MUST, found[0]) if known else None
    return _ordered(clause, said, supposed)


_RELATIVE = word_set("that which who until")
"""Words that begin a relative clause, which is about something else: "articles that I have not opened yet"."""
_ED_VERBS = word_set("need feed seed embed exceed proceed")
_ORDER_TO_ANYONE = word_set("tell give ask take push forget start trust speak")


def _is_addressed(verb: str) -> bool:
    """Always made, always gets, always smiling: what was or is so."""
    return verb.endswith(("ed", "ing")) or (verb.endswith("s") and not verb.endswith(("ss", "us"))) or verb in _PAST


_PAST = word_set(
    """told made had went came said got took gave kept knew thought felt left found saw full up on so fun there"""
)


_BARE = 4
"""Words of a "don't" that stands alone: "don't lecture, just answer" has more."""


def _forbidden(clause: str, found: re.Match[str], said: Said, supposed: str) -> Finding | None:
    verb, rest = found["verb"], clause[found.end() :].strip(" .!,")
    never = not {"never", "ever"}.isdisjoint(found[0].split())
    if verb in _NOT_VERBS or verb in _PAST or (verb.endswith("ed") and verb not in _ED_VERBS):
        return None
    if not rest and verb not in PRACTICES and len(said.words) <= _BARE:
        return None
    if verb in ("give", "quit") and rest.startswith(("up", "on")):
        return None
    standing = not STANDING.isdisjoint(said.words)
    now = not ONCE.isdisjoint(said.words) and _RELATIVE.isdisjoint(said.words)
    idle = verb in IDLE_DONTS and not (never and rest) and (verb not in PRACTICES or now)
    if idle and STRONG.isdisjoint(said.words - {"never"}) and not (verb in _ORDER_TO_ANYONE and standing):
        return None
    if not (never or supposed or standing) and (now or _THIS_ONE.search(clause)):
        return None
    return Finding(_NOT, found[0])


_OBJECTS = word_set("""the a an it them me us him her all every each any both your my our their this that these""")
_NO_ORDER = word_set(
    """i you we he she they it this that these those there here who what which how why where when if and or but so not
    no yes as is are was were be am do does did has have had can could will would may might must shall should
    all every each any both in on at of for to from with by about into over under before after during is-a like
    than then now maybe perhaps because although though while since until unless nor what's even just only also
    still already almost quite such half twice once thanks welcome meet give see excuse god"""
)


def _looks_like_an_order(words: list[str]) -> bool:
    """A verb we do not know, by what follows it: "quarantine it", "sandbox every plugin"."""
    first = words[0]
    return (
        words[1] in _OBJECTS
        and first not in _NO_ORDER
        and not first.startswith("xxx")
        and not first.endswith(("ed", "ing", "s", "ly", "n't"))
    )


def _ordered(clause: str, said: Said, supposed: str) -> Finding | None:
    found = _PLAIN.match(clause)
    words = [word.strip(",.;!") for word in clause.split(maxsplit=6)]
    if (
        found is not None
        and supposed
        and len(words) == 1
        and words[0] in ("ask", "stop", "refuse", "escalate", "apologise")
    ):
        return Finding(_HOW, f"{supposed.split()[0]} …, {words[0]}")
    if found is None or len(words) < 2 or not _is_order(found["verb"], words, clause):
        return None
    verb = found["verb"]
    strong, standing = not STRONG.isdisjoint(said.words), not STANDING.isdisjoint(said.words)
    if _IDLE_KEEP.match(clause) and not supposed and not strong:
        return None
    if verb == "be" and words[1] in _IDLE_BE and not standing:
        return None
    now = not ONCE.isdisjoint(said.words)
    if supposed:
        friendly = _FRIENDLY_THEN.match(clause) and _TO_YOU.search(supposed) and not _STRICT.match(supposed)
        return None if friendly or now else Finding(_HOW, f"{supposed.split()[0]} …, {verb}")
    tied = now or _TIED.search(clause) is not None or _ME_A.match(clause) is not None
    stands = standing or _ALSO_STANDING.search(said.lower) is not None
    if tied and not (stands if verb in ORDERED else standing):
        return None
    if stands:
        return Finding(_MUST if strong else _HOW, found[0])
    of_a_kind = _GENERIC_ROLE.match(clause) or (_PLURAL.match(clause) and not _SOME.match(clause))
    if (
        verb in ORDERED
        or of_a_kind
        or (verb not in SOCIABLE and words[1] not in _PARTICULAR and not words[1][:1].isdigit())
    ):
        return Finding(_HOW, found[0])
    return None


def _is_past(words: list[str]) -> bool:
    """Water leaked in: a noun and what it did; not "avoid nested loops"."""
    return words[1].endswith("ed") and (len(words) < 3 or words[2] in _AFTER_PAST)


_AFTER_PAST = word_set("in on by to at with from for the a an my last off out up over into when after")


def _is_order(verb: str, words: list[str], clause: str) -> bool:
    """Return True if the first word is the verb of an order, and not a noun: "use of …", "market prices are …"."""
    if verb in BEFORE_VERBS - {"do"} or clause.startswith((f"{verb},", f"{verb} -")):
        return False
    if verb not in VERBS and not _looks_like_an_order(words):
        return False
    if verb in ("be", "think") or words[1] in _PRONOUNS:
        return True
    if _is_past(words) or words[1] in FOLLOWING or (words[2:3] and words[2] in FOLLOWING - {"of"}):
        return False
    return verb in ORDERED or _FINITE.isdisjoint(words[1:5]) or not _SUBORDINATE.isdisjoint(words[1:4])


_FINITE = word_set("is are was were has had will would can could did does")
_SUBORDINATE = word_set("what which who that if when whether you how where all")
_PARTICULAR = word_set(
    """a an the this that these those my your his her our their it him them me us some something another two three four
    five six ten more how what why who whether if where when to again out up off on down in back away around
    there here now please and or of is are x"""
)
"""After the verb of an errand: one thing, not all of a kind."""


# --- How an English sentence is put, as marks: the kinds of its words, and which kinds follow each other.
#
# "Trainees shadow a nurse" and "make the subject line descriptive" have no word that makes them rules; how they are
# put does: a plural, a bare verb, a thing; a verb first, then "the". Kinds and neighbours are what the learned
# reader weighs (deontic_learned). Linear in the sentence; a word's kind is looked up once.


MOST_WORDS = 40
"""Words and marks of a sentence that are read: what comes later changes nothing about how it is put."""

_KINDS: dict[str, frozenset[str]] = {
    "i": word_set("i i'm i've i'll i'd me myself"),
    "my": word_set("my mine"),
    "we": word_set("we we're we've we'll we'd us our ours let's"),
    "you": word_set("you you're you've you'll you'd your yours yourself"),
    "he": word_set("he she he's she's he'll she'll he'd she'd him her his hers himself herself"),
    "they": word_set("they they're they've they'll they'd them their theirs themselves"),
    "it": word_set("it it's its itself"),
    "this": word_set("this that these those that's"),
    "there": word_set("there there's here here's"),
    "the": word_set("the"),
    "a": word_set("a an some another"),
    "every": word_set("every each all any anyone anybody everyone everybody whoever both whatever everything anything"),
    "no": word_set("no nobody nothing none neither nowhere"),
    "not": word_set("not never don't doesn't isn't aren't cannot can't won't"),
    "only": word_set("only always"),
    "told": word_set("was were had did didn't wasn't weren't been hadn't couldn't wouldn't"),
    "is": word_set("is are am be being"),
    "has": word_set("has have having do does doing"),
    "must": word_set("must shall should ought need needs"),
    "may": word_set("may can allowed"),
    "will": word_set("will would could might gonna"),
    "once": ONCE | word_set("last next ago week moment just already almost still"),
    "if": word_set("if when whenever unless before after until while as because since though although"),
    "wh": word_set("what why who whom which how where whether than so such too"),
    "and": word_set("and or but nor then"),
    "of": word_set(
        """of in on at to for from with by about into over under without between through within near during per behind
        below above out up down off back away against towards upon"""
    ),
    "please": word_set("please kindly"),
    "hi": word_set(
        "hi hey hello oh well yes yeah okay ok thanks thank sorry sure ah wow haha great good nice maybe perhaps"
    ),
    "feel": word_set(
        """think guess hope love hate like want wish prefer know mean feel feels seems seem looks look sounds believe
        remember forgot find wonder"""
    ),
    "num": word_set("one two three four five six seven eight nine ten eleven twelve half twice hundred thousand"),
    "day": word_set(
        """monday tuesday wednesday thursday friday saturday sunday january february march april june july august
        september october november december morning evening night noon midnight summer winter spring autumn weekend
        year month"""
    ),
    "days": word_set(
        "mondays tuesdays wednesdays thursdays fridays saturdays sundays weekends mornings evenings nights daily weekly"
    ),
    "very": word_set("very really quite pretty much more most better best worse worst enough rather"),
}
_KIND_OF = {word: kind for kind, words in reversed(_KINDS.items()) for word in words}
_SIGNS = {",": "comma", "!": "bang", "?": "ask", ".": "stop"}
_TOKEN = re.compile(r"[^\W_][\w'-]*+|[,;:–—!?.()]")
_CONTENT = word_set("word plural verbs verb kin order")
"""Kinds of words that may be a name when they are written with a capital."""
_THINGS = word_set("word plural verbs party kinsman name num ing no every")
_AFTER_VERB = word_set("the a my we you they it i every of num if ly he this days")
"""Words that follow a verb rather than a noun."""
_SCALES = ((4, "brief"), (6, "short"), (9, "middling"), (13, "full"), (19, "long"))


def marks(found: Sequence[str]) -> list[str]:
    """Return the features of a sentence for the learned reader: word kinds, neighbours, beginning, length."""
    seen = dict.fromkeys(found)
    seen |= dict.fromkeys([f"{one}>{other}" for one, other in pairwise([*found, "$"])])
    beginning = [f"{place}:{kind}" for place, kind in enumerate(found[:3], 1)]
    scale = next((name for most, name in _SCALES if len(found) < most), "endless")
    return [*seen, *beginning, "^" + "-".join(found[:2]), scale]


def tokens(text: str) -> list[str]:
    """The words and marks of a sentence as they are written; the full stop at its end is left out."""
    found = _TOKEN.findall(text.replace("’", "'"))[:MOST_WORDS]
    while found and found[-1] == ".":
        found.pop()
    return found


def kinds(text: str) -> list[str]:
    """The kind of each word and mark of a sentence, in order."""
    written = tokens(text)
    return kinds_of(written, [token.lower() for token in written])


def kinds_of(tokens: Sequence[str], words: Sequence[str]) -> list[str]:
    """The same, of its words and marks as they are written and in lower case."""
    found = [_kind(word) for word in words]
    for place, token in enumerate(tokens):
        kind = found[place]
        if kind not in _CONTENT:
            continue
        after = found[place + 1] if place + 1 < len(found) else "$"
        if place == 0:
            if kind == "word" and (after in ("the", "my", "every", "it") or after == "if"):
                found[0] = "verb"  # a verb we do not know: "air the room"
            elif kind == "verbs":
                found[0] = "plural"
        elif token[0].isupper() and found[place - 1] not in ("stop", "colon", "bang", "ask"):
            found[place] = "name"
        elif found[place - 1] in _THINGS and after in _AFTER_VERB:
            if kind == "plural":
                found[place] = "verbs"
            elif kind == "word" and found[place - 1] in ("plural", "party"):
                found[place] = "verb"
    return found


@lru_cache(maxsize=20_000)
def _kind(word: str) -> str:
    """The kind of a lower-case word by itself."""
    if (known := _KIND_OF.get(word)) is not None:
        return known
    if not word[0].isalnum():
        return _SIGNS.get(word, "colon")
    if word[0].isdigit():
        return "num"
    if is_past(word):
        return "past"
    if word.endswith("ing") and len(word) > 5:
        return "ing"
    if word in PARTIES:
        return "party"
    if word in ORDERED:
        return "order"
    if word in VERBS:
        return "kin" if word in SOCIABLE else "verb"
    if word.endswith("ly"):
        return "ly"
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return "verbs" if lemma(word) in VERBS else "plural"
    return "kinsman" if word in PEOPLE else "word"
