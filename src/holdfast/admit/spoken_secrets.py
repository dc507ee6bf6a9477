"""Secrets that people tell rather than machines print: numbers with a check digit, named codes, seed phrases, passwords
in other languages, keys next to a word that says so.

A number counts only if its check digit fits, or if the words before it say what it is. The patterns are many, so this
module is loaded with the first text that could hold one. Each reads a text once: what repeats is possessive or bounded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain

from holdfast.admit.secrets import DATA, KEY_ENTROPY, SHORT_WORD, Span, entropy, has_digit, is_placeholder, is_random
from holdfast.text.words import compile_late

# Names: a word that says what follows -------------------------------------------------------------------------------


# On lowered text, and ending where a value may begin: DB_PASSWORD and accessToken are names as well. One flat list:
# `re` then skips at once to the letters that a name can begin with.
_STRONG = (
    "passwd", "password", "passwort", "passphrase", "passcode", "pass(?<![a-z]pass)", "pwd", "pw(?<![a-z]pw)",
    "pin(?<![a-z]pin)(?: code| number)?", "kennwort", "contraseña", "пароль",
    "(?:wi-?fi|wlan|wpa[23]?|wep|network)[ -](?:security )?key", "(?:store|key)pass",
)  # fmt: skip
_KEYS = ("api", "access", "secret", "private", "auth", "signing", "encryption", "account", "license", "master")
_WEAK = (
    "secret",
    "token",
    "credentials?",
    "signature",
    "sig(?<![a-z]sig)",
    "sess(?:ion)?[_-]?id",
    "sid(?<![a-z]sid)",
    "cookie",
    *(rf"{of}[_\- ]?key(?:[_\- ]?id)?" for of in _KEYS),
)
_NAME = f"(?P<name>{'|'.join((*_STRONG, 'secret[_ -]access[_ -]key', *_WEAK[8:], *_WEAK[:8]))})"
_VALUE = (
    r"(?:(?P<q>[\"'`])(?P<quoted>[^\"'`\n]{1,200}+)(?P=q)"
    r"|(?P<bare>[^\s\"'`<>{}()\[\],;|]{3,200}+))(?=(?P<next>[ \t]{0,8}+[^\s]?))"
)
_ASSIGNED = r"[\"'`*\])]{0,3}(?P<op>\s{0,3}(?::=|=>|={1,2}|:)\s{0,3})"
_STATED = (  # "my password is hunter2", "the PIN for the gate is 4471", "password was changed to …"
    r"(?: (?:for|of|to|on|at|für)(?: [^\s.,;:!?]{1,20}+){1,5}?)?"
    " (?:(?:(?:was|is|got|has been) )?(?:changed|set|reset) to|is|was|ist|est|es)(?: now)?:? "
)
_NAMED = compile_late(f"{_NAME}(?:{_ASSIGNED}|{_STATED}){_VALUE}")
_FLAG = compile_late(rf"--(?:[a-z0-9]{{1,20}}-){{0,3}}{_NAME}(?P<op> ){_VALUE}")
_HEADER = compile_late(
    r"authorization[\"']?: ?[\"']?(?:basic|bearer|token) (?P<sure>[a-z0-9_.~+/=-]{8,}+)"
    r"|b(?:earer (?<![a-z]bearer )|asic (?<![a-z]basic ))(?P<value>[a-z0-9_.~+/=-]{16,}+)"
)


def _named(text: str, lower: str) -> Iterator[Span]:
    for pattern in (_NAMED, _FLAG):
        for count, match in enumerate(pattern.finditer(lower)):
            name, quoted, bare = match.group("name", "quoted", "bare")
            start = match.start("quoted" if quoted else "bare")
            end = start + len(quoted or bare.rstrip(".,:"))
            kind, strong = _meaning(name)
            value = text[start:end]
            dumped = count >= DUMP and not value.startswith("[secret")
            if dumped or _is_named_secret(value, strong, match, text):
                yield kind, start, end
    for match in _PHRASE.finditer(lower):
        if _SPEECH.isdisjoint(match["value"].split()):  # not "the passphrase is kept in the safe"
            yield "password", *match.span("value")
    for match in _HEADER.finditer(lower):
        start, end = match.span("sure" if match["sure"] else "value")
        value = text[start:end]
        sure = match["sure"] and not is_placeholder(value) and not REFERENCE.fullmatch(value)
        if sure or is_random(value):
            yield "token", start, end


DUMP = 1000
"""Names with values in one text. Beyond, it is a dump of credentials: each is masked without a look at it."""


def _is_named_secret(value: str, strong: bool, match: re.Match[str], text: str) -> bool:
    name, quoted, op, after = match.group("name", "quoted", "op", "next")
    if (after in _OPENING and not quoted) or is_placeholder(value) or REFERENCE.fullmatch(value):
        return False
    if strong:
        return _is_password(value, name, quoted is not None, op, after)
    return _is_key(value) or (op == "=" and _is_variable(text[match.start() : match.end("name")], value))


@cache  # a few dozen spellings
def _meaning(name: str) -> tuple[str, bool]:
    """Return the name for the mask, and True if its value is a secret whatever it looks like."""
    if any(re.fullmatch(strong, name) for strong in _STRONG):
        return ("pin" if name.startswith("pin") else "password"), True
    return ("credentials" if name.startswith("cred") else "key" if "key" in name else name), False


def _is_key(value: str) -> bool:
    return is_random(value) and entropy(value) >= KEY_ENTROPY and not PATH_OR_URL.match(value)


def _is_variable(name: str, value: str) -> bool:
    """TOKEN=swordfish: an environment variable holds what it is named after."""
    return name.isupper() and len(value) >= _ENV_LENGTH and " " not in value and not value.isdigit()


def _is_password(value: str, name: str, quoted: bool, op: str | None, after: str) -> bool:
    if name.startswith("pin"):
        return value.isdigit() and len(value) >= _PIN_LENGTH
    if MEASURE.match(value):
        return False
    if " " in value:
        return name == "passphrase" or has_digit(value)
    word = value.rstrip("!?").lower()
    if quoted or UNLIKE_A_WORD.search(value, 0, len(word)):
        return True
    if op == "=":
        return after[-1:] not in (")", ",")  # login(password=answer) passes a variable on
    ends = after.strip() in _CLAUSE_ENDS
    return ends and len(word) > SHORT_WORD and word not in _STATES and not _ADJECTIVE.search(word)


_OPENING = ("(", "[", "{")
_CLAUSE_ENDS = ("", ".", ",", ";", "!", "?")


_ENV_LENGTH = 6
_PIN_LENGTH = 4
UNLIKE_A_WORD = compile_late(r"\d|[^\w.:/'’-]|[a-z][A-Z]")
REFERENCE = compile_late(
    r"[A-Za-z_]\w*+(?>(?:\.[A-Za-z_]\w*+)+)|[A-Z][A-Z0-9]*+(?>(?:_[A-Z0-9]++)+)|[a-z]++(?>(?:_[a-z]++)+)"
)
"""self.token, MY_TOKEN, new_password: a name of a value, not a value."""
PATH_OR_URL = compile_late(r"[~.]{0,2}/|[a-z]{1,6}://|[A-Za-z]:\\|[\w-]++(?>(?:/[\w-]++)*)\.[a-z]{2,4}$")
MEASURE = compile_late(
    r"\d++[+-]?(?:char|digit|letter|day|week|month|year|hour|min|bit|time|x\b|st\b|nd\b|rd\b|th\b)"
    r"|\d{4}-\d\d(?:-\d\d)?$|\d{1,2}:\d\d|1password|2fa\b|v\d",
    re.IGNORECASE,
)
_STATES = frozenset(DATA["states"])
_ADJECTIVE = compile_late(r"(?:ed|ing|able|ible|ous|ive|ful|less|ent|ant|ic|al|ly|est|en)$")


# Arguments of commands, other languages, and keys next to a word that says so -------------------------------------

_TOOL = compile_late(r"\b(?:" + "|".join(DATA["tools"]) + ")")
_ARGUMENT = compile_late(
    r"(?<=\s)(?:-(?:p ?|P |a |w )|(?P<sure>--?[a-z]{0,10}pass(?:word|wd|phrase)?[= ]))['\"]?(?P<v>[^\s'\"]{4,100}+)"
)
_LINE = 200
"""Characters before an argument that are read for the command."""


def _arguments(text: str) -> Iterator[Span]:
    """Find -pSECRET and its kin, behind a command that takes a password so."""
    if " -" not in text:
        return
    for count, match in enumerate(_ARGUMENT.finditer(text)):
        value = match["v"]
        if (
            is_placeholder(value)
            or value.isdigit()
            or not any(map(str.isalpha, value))
            or value[0] in "-/.~$"
            or "/" in value
            or not UNLIKE_A_WORD.search(value)
        ):
            continue
        line = text[max(match.start() - _LINE, 0) : match.start()].rpartition("\n")[2]
        if match["sure"] or count >= DUMP or _TOOL.search(line):
            yield "password", *match.span("v")


_FOREIGN = compile_late("|".join(DATA["password_names"]))
_COPULA = "|".join(DATA["copulas"])
_GAP = compile_late(
    r"(?:[^\n.;:!?=：]|\.(?=\S)){0,70}?"
    rf"(?:\s{{0,2}}(?::|=|：|是|为|為|は|는|은|–|—)\s{{0,2}}|(?>(?:[ '](?:{_COPULA})){{1,4}}):? )"
    "[\"'«„“「『`]?(?P<v>[^\\s\"'«»„“”「」『』`,;，。、]{4,100}+)"
)
_ADJACENT = compile_late(
    "(?:[ ]|(?<=[\u3000-\uffff]))[\"'«„“「『`(]{0,2}(?P<v>[^\\s\"'«»„“”「」『』`,;，。、()]{5,100}+)"
)
_SYMBOLS = frozenset("!@#$%^&*_+=?")
_WINDOW = 140


def _mixed(value: str) -> bool:
    """Return True for letters among digits or signs, which no language's words have."""
    value = value.rstrip("!?")
    odd = any(char.isdigit() or char in _SYMBOLS for char in value)
    return len(value) > SHORT_WORD + 1 and odd and "***" not in value and any(map(str.isalpha, value))


def _foreign(text: str, lower: str) -> Iterator[Span]:
    """Find the value behind "password is" in other languages, if it cannot be a word of them."""
    if lower.isascii() and not any(name in lower for name in _ASCII_NAMES):
        return
    for count, name in enumerate(_FOREIGN.finditer(lower)):
        if count >= DUMP:
            return
        start = name.end()
        for match in (_GAP.match(lower, start, start + _WINDOW), _ADJACENT.match(lower, start, start + _WINDOW)):
            if match is None:
                continue
            start, end = match.span("v")
            value = text[start:end].rstrip(".:)")
            if name[0] >= "\u3000":  # a particle follows the value without a space
                value = re.match(r"[!-~]*", value)[0]  # type: ignore[index]
            if _mixed(value) and not (
                is_placeholder(value)
                or MEASURE.match(value)
                or PATH_OR_URL.match(value)
                or (not has_digit(value) and REFERENCE.fullmatch(value))
            ):
                yield "password", start, start + len(value)
                break


_PAIR = compile_late(
    r"(?:login|log[ -]?in|creds?|credentials|user(?:name)?|router|admin)[^\n/|]{0,40}? ?[/|] ?(?P<v>[^\s,;]{5,60}+)"
)


def _pairs(text: str, lower: str) -> Iterator[Span]:
    """Find the second of "login: admin / tuba-piano-7"."""
    for match in _PAIR.finditer(lower):
        value = text[slice(*match.span("v"))].rstrip(".")
        if _mixed(value) and not (is_placeholder(value) or "/" in value or MEASURE.match(value)):
            yield "password", match.start("v"), match.start("v") + len(value)


_ASCII_NAMES = DATA["ascii_names"]
_KEY_WORDS = compile_late(
    r"key|sess|token|secret|credential|wallet|private|cookie|session|bearer|auth|mnemonic|seed|clave|schlüssel|clé|ключ"
)
_NO_KEY = compile_late(
    r"hash|sha\d|digest|commit|checksum|\btx|transaction|fingerprint|public|etag|uuid|integrity|revision|contract|address"
)
_BARE = compile_late(r"(?<![\w/+.@\\-])(?:0x)?(?P<v>[A-Za-z0-9_+/-]{20,200}+={0,2})(?![\w@])")
_HEX = compile_late(r"[a-f0-9]++|[A-F0-9]++")
_UUID = compile_late(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_BESIDE = 60
_SURE_LENGTH, _SURE_ENTROPY = 32, 4.2
"""A word of capitals, small letters and digits of this length and entropy needs no name: none of the ids that people
write (hashes are hex, paths have words) is like it."""


def _bare(text: str, lower: str) -> Iterator[Span]:
    """Find random values by themselves, or next to a word like "key"."""
    for match in _BARE.finditer(text):
        start, value = match.start(), match["v"]
        if (
            not is_random(value)
            or entropy(value) < KEY_ENTROPY
            or PATH_OR_URL.match(value)
            or value.startswith(("sha", "http"))
        ):
            continue
        before = lower[max(start - _BESIDE, 0) : start]
        if _UUID.fullmatch(value) or _NO_KEY.search(before):
            continue
        hexadecimal = _HEX.fullmatch(value) is not None
        classes = sum(any(test(char) for char in value) for test in (str.islower, str.isupper, str.isdigit))
        sure = not hexadecimal and classes == 3 and len(value) >= _SURE_LENGTH and entropy(value) >= _SURE_ENTROPY
        if sure or (_KEY_WORDS.search(before) and classes > 1):
            yield "key", start, match.end()


# Check digits -------------------------------------------------------------------------------------------------------


def luhn(digits: str) -> bool:
    """Return True for payment cards, Canadian and Swedish numbers, whose last digit checks the others."""
    doubled = (
        int(char) if place % 2 == 0 else sum(divmod(2 * int(char), 10)) for place, char in enumerate(digits[::-1])
    )
    return sum(doubled) % 10 == 0


def _iban(value: str) -> bool:
    return int("".join(str(int(char, 36)) for char in value[4:] + value[:4])) % 97 == 1


def _weighted(digits: str, weights: tuple[int, ...], modulus: int = 11) -> int:
    return sum(int(digit) * weight for digit, weight in zip(digits, weights, strict=False)) % modulus


def _cpf(digits: str) -> bool:
    """Brazil."""
    checks = (_weighted(digits, tuple(range(first, 1, -1))) for first in (10, 11))
    return len(set(digits)) > 1 and all(
        int(digits[9 + place]) == (-check % 11) % 10 for place, check in enumerate(checks)
    )


def _resident(value: str) -> bool:
    """China."""
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    return "10X98765432"[_weighted(value[:17], weights)] == value[17].upper()


_TIMES, _TURNS = DATA["verhoeff"]


def _verhoeff(digits: str) -> bool:
    """India."""
    check = "0"
    for place, digit in enumerate(digits[::-1]):
        check = _TIMES[int(check)][int(_TURNS[place % 8][int(digit)])]
    return check == "0"


def _nir(value: str) -> bool:
    """France; Corsica writes 2A and 2B for its departments."""
    number = value.upper().replace("2A", "19").replace("2B", "18")
    return number.isdigit() and 97 - int(number[:13]) % 97 == int(number[13:])


def _dni(value: str) -> bool:
    """Spain: identity cards, and X, Y or Z before the numbers of residents."""
    number = value[:-1].upper().translate(str.maketrans("XYZ", "012"))
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(number) % 23] == value[-1].upper()


_ODD = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)


def _codice(value: str) -> bool:
    """Italy."""
    places = [int(char) if char.isdigit() else ord(char) - ord("A") for char in value.upper()]
    total = sum(number if place % 2 else _ODD[number] for place, number in enumerate(places[:15]))
    return total % 26 == places[15]


def _ssn(digits: str) -> bool:
    """The United States have no check digit, but numbers that are never given."""
    return digits[:3] not in ("000", "666") and digits[0] != "9" and digits[3:5] != "00" and digits[5:] != "0000"


def _card(digits: str) -> bool:
    return len(set(digits)) > 1 and luhn(digits)


_CHECKS: dict[str, Callable[[str], bool]] = {
    "card": _card, "iban": _iban, "ssn": _ssn, "cpf": _cpf, "resident": _resident, "verhoeff": _verhoeff,
    "nir": _nir, "dni": _dni, "codice": _codice,
    "bool": bool,
}  # fmt: skip
"""By their names in secrets.json."""
_NUMBERS = [(kind, form, _CHECKS[check]) for kind, form, check in DATA["numbers"]]
_AFTER = r"(?![\w/@]|[.,-]\d)"
_NUMBER = compile_late(
    r"(?<![\w.,/#@=-])(?=[A-Za-z]{0,6}\d)(?:" + "|".join(f"(?:{form}){_AFTER}" for _, form, _ in _NUMBERS) + ")"
)
_EACH = tuple((kind, compile_late(form + _AFTER), check) for kind, form, check in _NUMBERS)
_SEPARATORS = str.maketrans("", "", " -./+")


def numbers(text: str) -> Iterator[Span]:
    """Find cards, bank accounts and national ids by their form and their check digit."""
    for found in _NUMBER.finditer(text):
        for kind, form, check in _EACH:
            match = form.match(text, found.start())
            if match is not None and check(match[0].translate(_SEPARATORS)):
                yield kind, *match.span()
                break


# Codes and numbers that are named -------------------------------------------------------------------------------------

_OF = "|".join(DATA["codes_of"])
_CODE_FORMS = (rf"(?:{_OF})[ -]?(?:codes?|pins?)", rf"codes? (?:for|to|of|on|at) (?:[a-z']{{1,12}} ){{0,3}}(?:{_OF})")
_CODE_NAMES = "|".join((*_CODE_FORMS, *DATA["code_names"]))
_NAMED_CODE = compile_late(rf"(?<![a-z])(?:(?P<code>{_CODE_NAMES})|(?P<id>{'|'.join(DATA['id_names'])}))(?![a-z])")
_CODE_VALUE = compile_late(
    r"(?<![0-9a-z.,:/@-])[#*]?[0-9a-z](?>(?:[0-9a-z]|[#*./-](?=[0-9a-z#*])|(?<=\d)[ ](?=\d)){2,44})[#*]?(?![\w%€$@])"
)
_SAYS = compile_late(rf"(?:^|[:=#→–—：是は为為는은]|(?<![^\W\d_])(?:{'|'.join(DATA['says'])})|\n)[\s\"'`(_)-]{{0,4}}$")
_LISTED = compile_late(r"(?:[\s,;/|&•-]|\d{1,2}[.)]|and|or|und|et|y){0,8}$")
_ENDS = compile_late(r"[.!?;](?=\s|$)|\n\n")
_REACH = 80
"""Characters behind a name that are read for its value."""
_DATE = compile_late(r"(?:19|20)\d\d(?:[-./]\d\d?){2}$|\d\d?[./-]\d\d?[./-](?:19|20)\d\d$|\d{1,2}[:.]\d\d$")
_YEAR = compile_late(r"(?:19|20)\d\d$")
_MOST_NAMES = 1000
"""Names in one text: beyond, it is no talk."""


def named(text: str, lower: str) -> Iterator[Span]:
    """Find codes and numbers that the words before them name."""
    if not any(hint in lower for hint in DATA["hints"]):
        return
    for count, match in enumerate(_NAMED_CODE.finditer(lower)):
        if count >= _MOST_NAMES:
            return
        kind, shape = ("code", _is_code) if match["code"] else ("national id", _is_id)
        end = _ENDS.search(lower, match.end(), match.end() + _REACH)
        known, last = 0, match.end()
        for found in _CODE_VALUE.finditer(lower, match.end(), end.start() if end else match.end() + _REACH):
            value, gap = found[0], lower[match.end() : found.start()]
            # Recovery codes come as a list.
            if "**" in gap or (
                known and not (abs(len(value) - known) <= 2 and _LISTED.match(lower, last, found.start()))
            ):
                break
            stated = known or kind != "code" or _SAYS.search(gap)
            if not stated or not shape(value) or _DATE.match(value) or (not gap.strip() and _YEAR.match(value)):
                continue
            known, last = len(value), found.end()
            yield kind, *found.span()
    for kind, pattern in (("code", _TURNED), ("one-time secret", _TOTP)):
        yield from ((kind, *match.span("value")) for match in pattern.finditer(lower))
    yield from (("answer", *match.span("value")) for match in _ANSWER.finditer(text))


def _is_code(value: str) -> bool:
    digits = sum(char.isdigit() for char in value)
    letters = sum(char.isalpha() for char in value)
    return digits >= 3 if not letters else digits >= 2 and len(value) >= 5


def _is_id(value: str) -> bool:
    return sum(char.isdigit() for char in value) >= 5


_TURNED, _TOTP, _ANSWER, _PHRASE = (compile_late(DATA[name]) for name in ("turned", "totp", "answer", "phrase"))


# Seed phrases -------------------------------------------------------------------------------------------------------

_SEED_LENGTHS = (12, 15, 18, 21, 24)
_SEED_WORD = r"(?:\d{1,2}[.):]? ?)?[a-z]{3,8}"
_SEED_RUN = compile_late(rf"(?<![\w'’-]){_SEED_WORD}(?>(?:(?:,? |[ \t]{{0,4}}+\n){_SEED_WORD}(?![\w'’-])){{11,}})")
_MOST_SEED_CHARS = 1000
_SEED_LETTERS = compile_late("[a-z]{3,8}")
_SEED_NAME = compile_late(r"seed|mnemonic|recovery phrase|phrase|wallet|secret words|palabras|frase|wörter|mots|слов")
_SPEECH = frozenset(DATA["speech"])
"""Words of any sentence that no list of seed words has."""
_INFLECTED = compile_late(r"(?:[^s]s|ed|ing|ly)$")


def seed_phrases(text: str) -> Iterator[Span]:
    """Find 12 to 24 plain words in a row that make no sentence, as wallets give them."""
    if text.count(" ") + text.count("\n") < _SEED_LENGTHS[0] - 1:
        return
    for match in _SEED_RUN.finditer(text):
        if len(match[0]) > _MOST_SEED_CHARS:
            continue
        segments: list[list[re.Match[str]]] = [[]]
        for word in _SEED_LETTERS.finditer(text, *match.span()):
            segments[-1].append(word)
            if word[0] in _SPEECH:
                segments.append([])
        for segment in segments:
            seeds = [word for word in segment if word[0] not in _SPEECH]
            if len(seeds) >= _SEED_LENGTHS[0] and _is_seed(seeds, text):
                yield "seed phrase", seeds[0].start(), seeds[-1].end()


def _is_seed(words: list[re.Match[str]], text: str) -> bool:
    if _SEED_NAME.search(text[max(words[0].start() - 100, 0) : words[0].end()].lower()):
        return True
    inflected = sum(_INFLECTED.search(word[0]) is not None for word in words)
    different = len({word[0] for word in words})
    return len(words) in _SEED_LENGTHS and inflected <= len(words) // 6 and different > len(words) - 2


def find(text: str, lower: str) -> Iterator[Span]:
    """Find all of them. `lower` is the text in lower case, of the same length."""
    if any(hint in lower for hint in DATA["name_hints"]):
        yield from _named(text, lower)
    found = chain(numbers(text), named(text, lower), seed_phrases(text))
    yield from chain(found, _arguments(text), _foreign(text, lower), _pairs(text, lower), _bare(text, lower))
