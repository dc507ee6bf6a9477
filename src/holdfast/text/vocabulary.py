"""Word lists that decide which words of a sentence carry its meaning: our own, kept with care.

A pair stands here only where swapping one for the other never changes a fact. Nearness in a vector space is no proof:
to the static model man and woman, open and close are near (DESIGN, "Embedders").
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache


def word_set(text: str) -> frozenset[str]:
    """The words of a list."""
    return frozenset(text.split())


STRUCTURE = word_set(
    """a an the be is am are was were been being do does did done have has had having that which who whom whose where
    there here it its itself this these those and but as s to some myself yourself himself herself themselves ourselves
    oneself get gets got getting gotten"""
)
"""Words that hold a sentence together. They never decide."""

FILLERS = word_set(
    """please thanks thank cheers oh ok okay hi hello hey yes yeah yep sorry btw anyway kindly
    very really so quite extremely totally absolutely truly just even simply basically literally definitely certainly
    currently now nowadays presently still already also too actually indeed own ever then again correction update
    personally hereby namely fyi"""
)
"""Politeness, intensifiers and discourse words: two texts that differ in nothing else say the same."""

NEGATIONS = word_set(
    "not no never none nobody nothing nowhere neither nor without cannot hardly rarely seldom lack lacks"
)
MODALS = {
    "might": "may", "may": "may", "could": "may", "maybe": "may", "perhaps": "may", "possibly": "may",
    "must": "must", "shall": "must", "should": "should", "ought": "should",
    "will": "will", "wo": "will", "gonna": "will", "can": "can", "ca": "can", "would": "would",
}  # fmt: skip
HEDGES = word_set(
    """probably likely apparently supposedly allegedly seemingly presumably roughly approximately approx circa nearly
    almost about around somewhat think guess believe suppose reckon assume hope wish want plan intend consider seem
    try used-to unsure uncertain hopefully"""
)
CONDITIONS = word_set(
    "if unless when whenever until till except provided because although though while once whether or"
)
QUANTIFIERS = word_set(
    "all every each any few many most several both half only least more less enough much another other"
)

PREPOSITIONS = word_set(
    """of in on at by for with to from into onto as about before after under over up down off out behind above below
    between against since during inside outside near through across along among beyond toward towards within upon via
    per than like"""
)
WEAK_PREPOSITIONS = word_set("of in on at by for with to into onto as upon")
"""They may come and go ("on Monday", "Monday"); the others decide ("before lunch", "after lunch")."""

PERSONS = {
    "i": "me", "me": "me", "mine": "me", "we": "us", "us": "us", "ours": "us", "you": "you", "yours": "you",
    "he": "he", "him": "he", "she": "she", "hers": "she", "they": "they", "them": "they", "theirs": "they",
}  # fmt: skip
POSSESSIVES = {"my": "first", "our": "first", "your": "second", "his": "he", "her": "she", "their": "they"}
"""Possessives: one side may leave it out ("the car", "his car"), but they may not differ."""

_IRREGULAR_TEXT = """
    men=man women=woman children=child people=person feet=foot teeth=tooth mice=mouse geese=goose lives=live
    wives=wife knives=knife halves=half leaves=leave wolves=wolf loaves=loaf shelves=shelf buses=bus using=use used=use
    uses=use dying=die lying=lie tying=tie data=data news=news series=series species=species always=always
    this=this glasses=glasses yes=yes gas=gas bus=bus lens=lens plus=plus thus=thus perhaps=perhaps is=is has=has
    does=does pass=pass boss=boss less=less class=class address=address status=status canvas=canvas atlas=atlas
    during=during morning=morning evening=evening nothing=nothing something=something anything=anything
    everything=everything thing=thing king=king ring=ring spring=spring string=string wing=wing sing=sing bring=bring
    wedding=wedding building=building ceiling=ceiling red=red bed=bed wed=wed need=need feed=feed seed=seed speed=speed
    hundred=hundred kindred=kindred married=marry mom=mother
    wears=wear tears=tear monday=monday tuesday=tuesday wednesday=wednesday
    changing=change changed=change arranging=arrange arranged=arrange charging=charge charged=charge
    merging=merge merged=merge hanging=hang being=be seeing=see agreeing=agree freeing=free typing=type typed=type
    going=go doing=do hiding=hide dyeing=dye skiing=ski opening=open opened=open happening=happen happened=happen
    listening=listen listened=listen visiting=visit visited=visit editing=edit edited=edit entering=enter entered=enter
    creating=create created=create offering=offer offered=offer answering=answer answered=answer limiting=limit
    limited=limit
"""
IRREGULAR = dict(pair.split("=") for pair in _IRREGULAR_TEXT.split())

_PAST_TEXT = """
    went=go gone=go came=come saw=see seen=see took=take taken=take gave=give given=give made=make said=say told=tell
    knew=know known=know thought=think bought=buy brought=bring taught=teach caught=catch sold=sell left=leave lost=lose
    found=find met=meet kept=keep slept=sleep felt=feel held=hold ran=run sat=sit stood=stand spoke=speak spoken=speak
    wrote=write written=write drove=drive driven=drive rode=ride ridden=ride ate=eat eaten=eat drank=drink drunk=drink
    began=begin begun=begin chose=choose chosen=choose broke=break broken=break wore=wear worn=wear grew=grow grown=grow
    flew=fly flown=fly drew=draw drawn=draw threw=throw thrown=throw swam=swim sang=sing sung=sing slid=slide
    paid=pay spent=spend sent=send built=build lent=lend won=win hung=hang led=lead fell=fall fallen=fall
    rose=rise risen=rise woke=wake became=become forgot=forget forgotten=forget got=get gotten=get meant=mean
    dealt=deal dug=dig fought=fight hid=hide hidden=hide lay=lie lain=lie laid=lay shot=shoot shook=shake stole=steal
    stolen=steal stuck=stick swept=sweep tore=tear torn=tear understood=understand withdrew=withdraw withdrawn=withdraw
    lit=light blew=blow blown=blow bit=bite bitten=bite bred=breed born=bear fed=feed froze=freeze frozen=freeze
    heard=hear shown=show
"""
PAST_FORMS = dict(pair.split("=") for pair in _PAST_TEXT.split())
"""Irregular past forms; the regular ones end in -ed."""

_SYNONYMS_TEXT = """
    mother: mum mom mommy mummy mama | father: dad daddy papa | grandmother: gran grandma nan granny nana
    grandfather: grandpa grandad granddad | child: kid | picture: photo photograph | film: movie | car: automobile
    bike: bicycle | motorbike: motorcycle | couch: sofa | phone: telephone cellphone | flat: apartment
    start: begin commence | buy: purchase | big: large | small: little | fast: quick rapid quickly rapidly
    answer: reply respond response | doctor: physician | lawyer: attorney solicitor | shop: store | holiday: vacation
    ill: sick | stone: rock | reside: dwell | relocate: relocation | jump: leap | shout: yell
    outdoors: outside | indoors: inside | woman: lady | man: guy gentleman | choose: select pick | help: assist
    allow: permit let | need: require | mistake: error | repository: repo | database: db | kubernetes: k8s
    postgres: postgresql | javascript: js | typescript: ts | configuration: config | application: app
    documentation: docs doc | folder: directory | favourite: favorite | colour: color | grey: gray
    centre: center | neighbour: neighbor | licence: license | theatre: theater | programme: program | metre: meter
    litre: liter | flavour: flavor | behaviour: behavior | honour: honor | labour: labor | humour: humor
    hate: detest loathe | enjoy: like | love: adore | daily: everyday | annually: yearly
    manager: boss | colleague: coworker workmate | diabetic: diabetes | allergic: allergy | own: possess
    fix: repair mend | delete: erase remove | fracture: break | retire: retirement | move: relocate | live: reside
    maybe: perhaps | cut: slice | trousers: pants | talk: chat | tv: television | fridge: refrigerator
    kilometre: kilometer | percent: pct | e-mail: email | surname: lastname | close: shut | motor: engine
    pupil: schoolchild | road: roadway | sea: ocean | ship: vessel | bunny: rabbit
    kitty: kitten | puppy: pup | glad: happy | angry: mad | clever: smart | rich: wealthy | huge: enormous gigantic
    wonderful: marvellous marvelous | fully: completely entirely | staff: personnel
    marry: wed | freelance: self-employed | dwelling: residence | bring: fetch
    sofa: settee | wood: timber | group: bunch | amid: among
    pushbike: push-bike | near: beside | forest: woods woodland | hill: hillside
"""
SYNONYMS: dict[str, str] = {}
for _line in _SYNONYMS_TEXT.replace("\n", "|").split("|"):
    if ":" in _line:
        _head, _, _rest = _line.partition(":")
        for _word in _rest.split():
            SYNONYMS[_word] = _head.strip()
for _word, _head in list(SYNONYMS.items()):  # a chain (relocate, move) ends in one word
    SYNONYMS[_word] = SYNONYMS.get(_head, _head)

_PHRASES_TEXT = """
    have got => have | has got => have | had got => have | ve got => have
    no one => nobody
    have to => must | has to => must | had to => must | need to => must | needs to => must | be able to => can
    is able to => can | am able to => can | are able to => can | able to => can
    used to => used-to | no longer => not | not any more => not | any more => | anymore => | any longer =>
    can not stand => hate | cannot stand => hate | can not bear => hate | cannot bear => hate | ca not stand => hate
    do not like => dislike | does not like => dislike | did not like => dislike
    would rather => prefer | d rather => prefer | fond of => enjoy | keen on => enjoy
    a lot of => many | lots of => many | plenty of => many | a couple of => 2 | a pair of => 2 | a dozen => 12
    at the moment => | these days => | right now => | at present => | of my own => | by profession => | for a living =>
    from now on => | after all => | as well as => and | as well => | in order to => to | as of now => | for now =>
    each other => one-another | one another => one-another | in front of => before-place | next to => near
    close to => near | instead of => instead-of | rather than => instead-of | because of => because
    is called => call | are called => call | is named => call | am called => call | am named => call
    was called => call | was named => call | goes by => call | by the name of => call
    take part in => participate | takes part in => participate | look for => seek | looking for => seek
    looks for => seek | search for => seek | searching for => seek | bring up => raise | brought up => raise
    give up => stop | gave up => stop | given up => stop | giving up => stop | quit => stop | quits => stop
    every second => every-other | every other => every-other | every day => daily | each day => daily
    every week => weekly | each week => weekly | once a week => weekly | every month => monthly | each month => monthly
    once a month => monthly | once an hour => every 1 hour | every hour => every 1 hour | each hour => every 1 hour
    every year => annually | each year => annually | once a year => annually | get to know => meet | got to know => meet
    make use of => use | makes use of => use | for example => | for instance => | of course => | in fact =>
    as a matter of fact => | by the way => | thank you => | up until => until | in the middle of => amid
    a number of => several | at least => at-least | at most => at-most | more than => over
    less than => under | fewer than => under | such as => like | thanks to => because
    half an hour => 30 minute | a quarter of an hour => 15 minute | quarter of an hour => 15 minute
    employed at => work at | employed by => work at | employed with => work at
    am fond of => enjoy | is fond of => enjoy | are fond of => enjoy | suffer from => | suffers from =>
    t shirt => tshirt | e mail => email | on your own => alone | on my own => alone
"""
PHRASES: dict[str, list[tuple[tuple[str, ...], tuple[str, ...]]]] = {}
for _line in _PHRASES_TEXT.replace("\n", "|").split("|"):
    if "=>" in _line:
        _said, _, _meant = _line.partition("=>")
        _key = tuple(_said.split())
        PHRASES.setdefault(_key[0], []).append((_key, tuple(_meant.split())))
for _found in PHRASES.values():
    _found.sort(key=lambda pair: -len(pair[0]))

COUNTRIES = word_set(
    """argentina australia austria bangladesh belgium bolivia brazil britain bulgaria canada chile china colombia
    croatia cuba cyprus czechia denmark ecuador egypt england estonia ethiopia europe finland france georgia
    germany ghana greece hungary iceland india indonesia iran iraq ireland israel italy jamaica japan kenya
    korea latvia lebanon lithuania luxembourg malaysia malta mexico morocco nepal netherlands nigeria norway
    pakistan peru philippines poland portugal romania russia scotland serbia singapore slovakia slovenia spain
    sweden switzerland syria taiwan tanzania thailand tunisia turkey uganda uk ukraine uruguay us usa venezuela
    vietnam wales yorkshire bavaria catalonia california texas africa asia scandinavia"""
)
"""A country holds its cities: "I live in Portugal" and "I live in Porto" are both true."""


# --- One key for the forms of an English word (live, lives, living), and no more than that.
#
# A stemmer's keys are too coarse for a guard: to Snowball "experience" and "experiment" are one. This takes away only
# what grammar put there, and puts back the e that grammar took.


_VOWELS = frozenset("aeiouy")
_KNOWN_WORDS = 20_000  # words remembered; a conversation uses a few thousand


@lru_cache(maxsize=_KNOWN_WORDS)
def lemma(word: str) -> str:
    """The base form of a lower-case word; a word it cannot take apart is its own."""
    if word in IRREGULAR:
        return IRREGULAR[word]
    if word in PAST_FORMS:
        return PAST_FORMS[word]
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    if word.endswith("ing") and _has_vowel(word[:-3]) and len(word) > 5:
        return _base(word[:-3])
    if word.endswith("ied") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith("eed"):
        return word
    if word.endswith("ed") and _has_vowel(word[:-2]) and len(word) > 4:
        return _base(word[:-2])
    return _singular(word)


def is_past(word: str) -> bool:
    """Return True if a lower-case word has the form of a past tense or participle."""
    if word in PAST_FORMS:
        return True
    return len(word) > 4 and word.endswith("ed") and not word.endswith("eed") and lemma(word) != word


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _base(stem: str) -> str:
    """The word a stem came from: running, run; riding, ride; handling, handle; eating, eat."""
    if len(stem) > 2 and stem[-1] == stem[-2] and stem[-1] not in "lsz":
        return stem[:-1]
    if stem.endswith(("ll", "ss", "zz")):
        # travelling, travel; calling, call
        return stem[:-1] if stem.endswith("ll") and _groups(stem) > 1 else stem
    if stem[-1] in "vuz" or stem.endswith(
        ("bl", "tl", "dl", "gl", "pl", "kl", "fl", "rs", "ns", "nc", "rc", "iz", "dg")
    ):
        return stem + "e"
    groups = _groups(stem)
    if len(stem) >= 2 and stem[-1] not in _VOWELS and stem[-2] in _VOWELS:
        long_vowel = len(stem) >= 3 and stem[-3] in _VOWELS and stem[-3:-1] != "ui"
        if groups == 1 and not long_vowel and stem[-1] not in "wxy":
            return stem + "e"
        if long_vowel and stem[-1] in "s":  # raising, raise; housing, house
            return stem + "e"
        if groups > 1 and (
            stem.endswith(("at", "ag", "id", "ut", "ir", "ur", "ic", "os", "is", "us", "ar")) and not long_vowel
        ):
            return stem + "e"  # relocate, manage, decide, compute, require, measure
    if len(stem) == 2 and stem[0] in _VOWELS:
        return stem + "e"
    return stem


def _has_vowel(text: str) -> bool:
    return any(char in _VOWELS for char in text)


def _groups(text: str) -> int:
    """Groups of vowels: about the syllables."""
    count, inside = 0, False
    for char in text:
        vowel = char in _VOWELS
        count += vowel and not inside
        inside = vowel
    return count


# --- Lists of words and phrases as one pattern that shares their beginnings: fast on any text, however long the
# list.
#
# Tried one by one, a hundred alternatives cost a hundred tries at every word (SAFE-4). Sorted by their letters they
# cost a few: "moved|moves|moving|may" is read as "m(ov(ed|es|ing)|ay)". Which of two phrases is found, where one
# begins with the other, is not kept; who needs that puts them into patterns of their own. The patterns are for any
# case.


_LETTERS = re.compile(r"[^\W\d_]|[ '-]")
_REPEATS = frozenset("?*+{")


def either(*texts: str) -> str:
    """One group for all alternatives of these patterns, each separated from the next by a bar."""
    return _grouped([part for text in texts for part in alternatives(text)])


def alternatives(pattern: str) -> list[str]:
    """Return the alternatives of a pattern, split at the bars outside groups and sets."""
    found, depth, escaped, in_set = [""], 0, False, False
    for char in pattern:
        if char == "|" and not (depth or escaped or in_set):
            found.append("")
            continue
        found[-1] += char
        if not escaped:
            in_set = (in_set or char == "[") and char != "]"
            depth += 0 if in_set else (char == "(") - (char == ")")
        escaped = char == "\\" and not escaped
    return found


def _grouped(parts: Iterable[str]) -> str:
    """The alternatives by their first letter, and each letter's rests in the same way."""
    rests: dict[str, list[str]] = {}
    others: list[str] = []
    for part in dict.fromkeys(parts):
        if _begins_with_letter(part):
            rests.setdefault(part[0], []).append(part[1:])
        else:
            others.append(part)
    many = len(rests) > 1
    found = [_letter(first, many) + (rest[0] if len(rest) == 1 else _grouped(rest)) for first, rest in rests.items()]
    # The end of a phrase comes last: "any" must not hide "any more" from a pattern that goes on.
    found.extend(sorted(others, key=lambda other: other == ""))
    return found[0] if len(found) == 1 else f"(?:{'|'.join(found)})"


def _letter(char: str, many: bool) -> str:
    """The letter in either case; written as a set it is one look among many, where re would try each branch."""
    return f"(?-i:[{char.lower()}{char.upper()}])" if many and char.isalpha() else char


def _begins_with_letter(part: str) -> bool:
    return _LETTERS.match(part) is not None and part[1:2] not in _REPEATS
