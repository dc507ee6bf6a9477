"""Secrets by the shape of their value: found, named and masked before a text leaves the log (ADMIT-7).

The rules have gitleaks' shape (a prefix or a keyword, a pattern, a test of the value) and are our own. Each pattern
reads a text once, also a hostile one: it begins with a fixed string and only where a run of its own characters begins,
and what repeats is possessive or bounded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, slots=True)
class FoundSecret:
    """One secret: what it is and where it stood in the text as given."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Masked:
    """The text with each secret replaced by "[secret: kind]", and what was found."""

    text: str
    found: tuple[FoundSecret, ...]


def mask(text: str) -> Masked:
    """Masks every secret. Masking a masked text changes nothing."""
    found = _apart(sorted(_find(text), key=lambda one: (one.start, -one.end)))
    parts: list[str] = []
    done = 0
    for one in found:
        parts += (text[done : one.start], f"[secret: {one.kind}]")
        done = one.end
    return Masked("".join((*parts, text[done:])), tuple(found))


def _apart(found: list[FoundSecret]) -> list[FoundSecret]:
    """Overlaps become one span, under the name of the part that says most (a provider's, not "password")."""
    kept: list[FoundSecret] = []
    for one in found:
        if kept and one.start < kept[-1].end:
            last = kept.pop()
            kind = one.kind if last.kind in _VAGUE and one.kind not in _VAGUE else last.kind
            one = FoundSecret(kind, last.start, max(last.end, one.end))
        kept.append(one)
    return kept


def _find(text: str) -> Iterator[FoundSecret]:
    for rule in _RULES:
        if rule.hint in text:
            yield from rule.find(text)
    lower = text.lower()
    if len(lower) != len(text):  # a few letters grow (İ): then only the others are lowered, so that places agree
        lower = "".join(low if len(low := char.lower()) == 1 else char for char in text)
    if any(hint in lower for hint in _HINTS):
        yield from _named(text, lower)


# What a value must look like ---------------------------------------------------------------------------------------

_KEY_ENTROPY = 3.0
"""Bits a character of a random key of 8 characters or more; "aaaa1111" has 1, "Password1" 2.9, hex keys about 3.5."""
_RANDOM = re.compile(
    # 8 or more, digits among letters: version numbers, dates, paths, words and "apple2024" have no such run
    r"(?<![A-Za-z0-9])(?=[A-Za-z]*+[0-9])(?=[0-9]*+[A-Za-z])"
    r"(?!(?:[A-Za-z]?[a-z]++\d{1,4}|\d{1,4}[a-z]++|[A-Z]++\d{1,4})(?![A-Za-z0-9]))[A-Za-z0-9]{8}"
    # base64 without any digit happens; a word of 24 letters with a capital inside does not
    r"|(?<![A-Za-z0-9])(?=[A-Za-z]*?[a-z][A-Z])[A-Za-z]{24}"
)


def _random(value: str) -> bool:
    """Return True if a part of the value looks machine-made."""
    return _RANDOM.search(value, 0, _ENOUGH) is not None


def _entropy(value: str) -> float:
    value = value[:_ENOUGH]
    shares = [value.count(char) / len(value) for char in set(value)]
    return -sum(share * math.log2(share) for share in shares)


_ENOUGH = 200
"""Characters of a value that are looked at."""


def _any(value: str) -> bool:
    return True


def _has_digit(value: str) -> bool:
    return any(char.isdigit() for char in value)


# Providers: a prefix that nothing else has ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Rule:
    kind: str
    hint: str
    """A string that every match holds: without it the pattern is not even tried."""
    pattern: re.Pattern[str]
    looks: Callable[[str], bool] = _any

    def find(self, text: str) -> Iterator[FoundSecret]:
        for match in self.pattern.finditer(text):
            if self.looks(match["v"]):
                yield FoundSecret(self.kind, *match.span("v"))


def _key(kind: str, prefix: str, body: str, looks: Callable[[str], bool] = _any, *, hint: str = "") -> _Rule:
    """A value that begins with a prefix, itself at the start of a word (or after an escaped line end: "\\nsk-…")."""
    start = rf"{prefix}(?:(?<![A-Za-z0-9_-]{prefix})|(?<=\\[nrt]{prefix}))"
    return _Rule(kind, hint or prefix.replace("\\", ""), re.compile(rf"(?P<v>{start}{body})"), looks)


_W = r"[A-Za-z0-9_-]"
_A = r"[A-Za-z0-9]"
_PEM = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"

_RULES: tuple[_Rule, ...] = (
    _key("openai key", "sk-proj-", rf"{_W}{{16,}}+", _random),
    _key("anthropic key", "sk-ant-", rf"{_W}{{16,}}+", _random),
    _key("api key", "sk-", rf"{_W}{{16,}}+", _random),  # OpenAI's older ones, OpenRouter, DeepSeek and many others
    _key("github token", "gh[pousr]_", rf"{_A}{{20,}}+", hint="gh"),
    _key("github token", "github_pat_", r"\w{22,}+"),
    _key("gitlab token", "glpat-", rf"{_W}{{16,}}+", _has_digit),
    _key("aws key id", "A(?:KIA|SIA|BIA|CCA)", r"[A-Z0-9]{16}(?![A-Za-z0-9])", hint="A"),
    _key("google key", "AIza", rf"{_W}{{30,}}+"),
    _key("google secret", "GOCSPX-", rf"{_W}{{20,}}+"),
    _key("google token", r"ya29\.", rf"{_W}{{20,}}+"),
    _key("slack token", "xox[abeoprs]-", rf"{_W}{{10,}}+", _has_digit, hint="xox"),
    _key("slack token", "xapp-", rf"{_W}{{10,}}+", _has_digit),
    _key("slack webhook", r"https://hooks\.slack\.com/services/", r"[A-Za-z0-9/]{20,}+"),
    _key("hugging face token", "hf_", rf"{_A}{{30,}}+"),
    _key("npm token", "npm_", rf"{_A}{{30,}}+"),
    _key("pypi token", "pypi-", rf"{_W}{{32,}}+", _random),
    _key("sendgrid key", r"SG\.", rf"{_W}{{16,}}+\.{_W}{{16,}}+"),
    _key("stripe key", "[sr]k_(?:live|test)_", rf"{_A}{{10,}}+", hint="k_"),
    _key("stripe secret", "whsec_", rf"{_A}{{20,}}+"),
    _key("digitalocean token", "do[opr]_v1_", r"[a-f0-9]{32,}+", hint="_v1_"),
    _key("docker token", "dckr_pat_", rf"{_W}{{20,}}+"),
    _key("databricks token", "dapi", r"[a-f0-9]{32}(?:-\d)?(?![A-Za-z0-9])"),
    _key("shopify token", "shp(?:at|ca|pa|ss)_", r"[a-fA-F0-9]{32,}+", hint="shp"),
    _key("groq key", "gsk_", rf"{_A}{{20,}}+"),
    _key("xai key", "xai-", rf"{_A}{{20,}}+", _random),
    _key("replicate token", "r8_", rf"{_A}{{30,}}+"),
    _key("linear key", "lin_api_", rf"{_A}{{20,}}+"),
    _key("sentry token", "sntry[su]_", r"[A-Za-z0-9+/=_-]{30,}+", hint="sntry"),
    _key("vault token", r"hv[sb]\.", rf"{_W}{{20,}}+", _has_digit, hint="hv"),
    _key("age key", "AGE-SECRET-KEY-1", r"[A-Z0-9]{20,}+"),
    _key("json web token", "eyJ", rf"{_W}{{8,}}+\.eyJ{_W}{{4,}}+(?:\.{_W}*+)?"),
    _Rule("telegram token", ":AA", re.compile(rf"(?P<v>:AA(?<=(?<![A-Za-z0-9])\d{{9}}:AA){_W}{{32,34}})(?!{_W})")),
    _Rule(
        "private key",
        "PRIVATE KEY",
        re.compile(
            rf"(?P<v>-----BEGIN {_PEM}"
            rf"(?:[^-]*+(?>(?:-(?!----)[^-]*+)*)-----END {_PEM}|(?>(?:(?>(?:\s|\\[nr])*)[A-Za-z0-9+/=]{{24,}}+)+)))"
        ),
    ),
    # scheme://user:password@host
    _Rule(
        "password",
        "://",
        re.compile(r"://[^\s:/@'\"<>]{0,100}+:(?P<v>[^\s/'\"<>]{1,200})@(?=[\w\[])"),
        lambda value: not _is_placeholder(value),
    ),
    _Rule(
        "password",
        "-u ",
        re.compile(r"-u (?<=\s-u )['\"]?[\w.@+-]{1,80}+:(?P<v>[^\s'\"]{3,200}+)"),
        lambda value: not _is_placeholder(value) and not value.isdigit(),
    ),
)

# Names: a word that says what follows -------------------------------------------------------------------------------

_HINTS = (
    "pass",
    "pw",
    "secret",
    "token",
    "key",
    "credential",
    "bearer",
    "basic",
    "pin",
    "contraseña",
    "kennwort",
    "парол",
)
_VAGUE = frozenset({"password", "pin", "secret", "token", "key", "credentials"})

# On lowered text, and ending where a value may begin: DB_PASSWORD and accessToken are names as well. One flat list:
# `re` then skips at once to the letters that a name can begin with.
_STRONG = (
    "passwd", "password", "passwort", "passphrase", "passcode", "pass(?<![a-z]pass)", "pwd", "pw(?<![a-z]pw)",
    "pin(?<![a-z]pin)(?: code| number)?", "kennwort", "contraseña", "пароль",
)  # fmt: skip
_KEYS = ("api", "access", "secret", "private", "auth", "signing", "encryption", "account", "license", "master")
_WEAK = ("secret", "token", "credentials?", *(rf"{of}[_\- ]?key(?:[_\- ]?id)?" for of in _KEYS))
_NAME = f"(?P<name>{'|'.join((*_STRONG, 'secret[_ -]access[_ -]key', *_WEAK[3:], *_WEAK[:3]))})"
_VALUE = (
    r"(?:(?P<q>[\"'`])(?P<quoted>[^\"'`\n]{1,200}+)(?P=q)"
    r"|(?P<bare>[^\s\"'`<>{}()\[\],;|]{3,200}+))(?=(?P<next>[ \t]{0,8}+[^\s]?))"
)
_ASSIGNED = r"[\"'`*\])]{0,3}(?P<op>\s{0,3}(?::=|=>|={1,2}|:)\s{0,3})"
_STATED = (  # "my password is hunter2", "the PIN for the gate is 4471", "password was changed to …"
    r"(?: (?:for|of|to|on|at|für)(?: [^\s.,;:!?]{1,20}+){1,5}?)?"
    " (?:(?:(?:was|is|got|has been) )?(?:changed|set|reset) to|is|was|ist|est|es)(?: now)?:? "
)
_NAMED = re.compile(f"{_NAME}(?:{_ASSIGNED}|{_STATED}){_VALUE}")
_FLAG = re.compile(rf"--(?:[a-z0-9]{{1,20}}-){{0,3}}{_NAME}(?P<op> ){_VALUE}")
_HEADER = re.compile(
    r"authorization[\"']?: ?[\"']?(?:basic|bearer|token) (?P<sure>[a-z0-9_.~+/=-]{8,}+)"
    r"|b(?:earer (?<![a-z]bearer )|asic (?<![a-z]basic ))(?P<value>[a-z0-9_.~+/=-]{16,}+)"
)


def _named(text: str, lower: str) -> Iterator[FoundSecret]:
    for pattern in (_NAMED, _FLAG):
        for count, match in enumerate(pattern.finditer(lower)):
            name, quoted, bare = match.group("name", "quoted", "bare")
            start = match.start("quoted" if quoted else "bare")
            end = start + len(quoted or bare.rstrip(".,:"))
            kind, strong = _meaning(name)
            value = text[start:end]
            dumped = count >= _DUMP and not value.startswith("[secret")
            if dumped or _is_named_secret(value, strong, match, text):
                yield FoundSecret(kind, start, end)
    for match in _HEADER.finditer(lower):
        start, end = match.span("sure" if match["sure"] else "value")
        value = text[start:end]
        sure = match["sure"] and not _is_placeholder(value) and not _REFERENCE.fullmatch(value)
        if sure or _random(value):
            yield FoundSecret("token", start, end)


_DUMP = 1000
"""Names with values in one text. Beyond, it is a dump of credentials: each is masked without a look at it."""


def _is_named_secret(value: str, strong: bool, match: re.Match[str], text: str) -> bool:
    name, quoted, op, after = match.group("name", "quoted", "op", "next")
    if (after in _OPENING and not quoted) or _is_placeholder(value) or _REFERENCE.fullmatch(value):
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
    return _random(value) and _entropy(value) >= _KEY_ENTROPY and not _PATH_OR_URL.match(value)


def _is_variable(name: str, value: str) -> bool:
    """TOKEN=swordfish: an environment variable holds what it is named after."""
    return name.isupper() and len(value) >= _ENV_LENGTH and " " not in value and not value.isdigit()


def _is_password(value: str, name: str, quoted: bool, op: str | None, after: str) -> bool:
    if name.startswith("pin"):
        return value.isdigit() and len(value) >= _PIN_LENGTH
    if _MEASURE.match(value):
        return False
    if " " in value:
        return name == "passphrase" or _has_digit(value)
    word = value.rstrip("!?").lower()
    if quoted or _UNLIKE_A_WORD.search(value, 0, len(word)):
        return True
    if op == "=":
        return after[-1:] not in (")", ",")  # login(password=answer) passes a variable on
    ends = after.strip() in _CLAUSE_ENDS
    return ends and len(word) > _SHORT_WORD and word not in _STATES and not _ADJECTIVE.search(word)


_OPENING = ("(", "[", "{")
_CLAUSE_ENDS = ("", ".", ",", ";", "!", "?")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ENV_LENGTH = 6
_PIN_LENGTH = 4
_SHORT_WORD = 3
_UNLIKE_A_WORD = re.compile(r"\d|[^\w.:/'’-]|[a-z][A-Z]")
_REFERENCE = re.compile(
    r"[A-Za-z_]\w*+(?>(?:\.[A-Za-z_]\w*+)+)|[A-Z][A-Z0-9]*+(?>(?:_[A-Z0-9]++)+)|[a-z]++(?>(?:_[a-z]++)+)"
)
"""self.token, MY_TOKEN, new_password: a name of a value, not a value."""
_PATH_OR_URL = re.compile(r"[~.]{0,2}/|[a-z]{1,6}://|[A-Za-z]:\\|[\w-]++(?>(?:/[\w-]++)*)\.[a-z]{2,4}$")
_MEASURE = re.compile(
    r"\d++[+-]?(?:char|digit|letter|day|week|month|year|hour|min|bit|time|x\b|st\b|nd\b|rd\b|th\b)"
    r"|\d{4}-\d\d(?:-\d\d)?$|\d{1,2}:\d\d|1password|2fa\b|v\d",
    re.IGNORECASE,
)
_STATES = _words(
    """
    wrong right correct incorrect invalid valid weak strong missing empty blank secure safe unsafe lost gone unknown
    long short old new same simple complex bad good fine okay easy hard here there below above not it that this what
    yours mine ours theirs his hers enough ready back down dead public better worse stupid silly crap rubbish
    nonsense case needed broken stolen set reset known mandatory necessary sensitive everything anything nothing
    something somewhere nowhere everywhere never always again today tomorrow later soon both none mixed plain
    plaintext longer shorter dumb funny weird great nice cool yes annoying shit garbage trash poor terrible awful
    horrible
    """
)
_ADJECTIVE = re.compile(r"(?:ed|ing|able|ible|ous|ive|ful|less|ent|ant|ic|al|ly|est|en)$")
_PLACEHOLDERS = _words(
    """
    password passwd passphrase pass pwd pw secret token key apikey api_key api-key changeme change_me change-me
    example none null nil undefined true false str string bool boolean int integer bytes text varchar char optional
    required any redacted hidden masked removed placeholder todo tbd foo bar baz dummy sample default value here see
    ask unknown empty secretstr object env prompt input auto yes no n/a the a an is was not
    """
)
_BLANKED = re.compile(
    r"[xX*.•…_#?-]++|\$(?:[{(].*+|[A-Z_][A-Z0-9_]*+)|%(?:\w++%|\(?\w*\)?[sd])|\{.*\}|<.*>|\[secret.*+|\[.*\]|your.*+"
    r"|(?i:my|the|some|an?|enter|insert|new|old|user|test)[_\- ]\w*?(?i:pass|token|key|secret|here)\w*+",
    re.DOTALL,
)
"""***, $TOKEN, {{ token }}, <token>, [secret: password], your-key-here: a place for a value, not a value."""


def _is_placeholder(value: str) -> bool:
    bare = value.strip("\"'`.,:;!?")
    return bare.lower() in _PLACEHOLDERS or len(bare) < _SHORT_WORD or _BLANKED.fullmatch(bare) is not None
