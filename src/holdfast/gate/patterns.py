"""A family of patterns: one thing a text can show, under the name that a receipt and the settings give it.

Every pattern reads a text in one pass, also a hostile one. Three habits keep it so: an alternative starts only where a
run starts (a word, a line, a look-behind), what repeats without end is possessive, what may give back is bounded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

# Apostrophes that keyboards and word processors write for '.
_PLAIN = str.maketrans("’‘ʼ＇", "''''")
_GLUED_STOP = re.compile(r"\.\w")


@dataclass(frozen=True)
class PatternReading:
    """A text as the patterns read it: with plain apostrophes, and in lower case for what is said rather than coded."""

    text: str

    @classmethod
    def of(cls, text: str) -> PatternReading:
        return cls(text if text.isascii() else text.translate(_PLAIN))

    @cached_property
    def lowered(self) -> str:
        return self.text.lower()

    @cached_property
    def plain(self) -> bool:
        return self.text.isascii()

    @cached_property
    def signs(self) -> frozenset[str]:
        """Its characters; a full stop only if something is glued to it, for others end sentences."""
        signs = frozenset(self.text)
        return signs if _GLUED_STOP.search(self.text) else signs - {"."}


@dataclass(frozen=True, slots=True)
class Telltale:
    """Substrings of which every match of a pattern has one in plain ASCII texts: most chat has none of them, and is
    spared the search.
    """

    signs: frozenset[str]
    """Characters; "." stands for one that something is glued to."""
    parts: tuple[str, ...]

    @classmethod
    def of(cls, signs: str = "", *parts: str) -> Telltale:
        return cls(frozenset(signs), parts)

    def shown(self, reading: PatternReading, text: str) -> bool:
        if not reading.plain or not self.signs.isdisjoint(reading.signs):
            return True
        return any(map(text.__contains__, self.parts))


@dataclass(frozen=True, slots=True)
class Pattern:
    regex: re.Pattern[str]
    any_case: bool
    """Its letters are lower-case and it reads the lower-case text: a third of the time that IGNORECASE takes."""
    telltale: Telltale | None = None

    def found(self, reading: PatternReading) -> bool:
        text = reading.lowered if self.any_case else reading.text
        if self.telltale is not None and not self.telltale.shown(reading, text):
            return False
        return self.regex.search(text) is not None

    def count(self, reading: PatternReading) -> int:
        if not self.found(reading):
            return 0
        return sum(1 for _ in self.regex.finditer(reading.lowered if self.any_case else reading.text))


@dataclass(frozen=True, slots=True)
class Family:
    """Fires when all of its patterns are found, wherever they are: a deed and its object, say."""

    name: str
    patterns: tuple[Pattern, ...]

    def fires(self, reading: PatternReading) -> bool:
        return all(pattern.found(reading) for pattern in self.patterns)


def any_of(*alternatives: str, telltale: Telltale | None = None) -> Pattern:
    """Return a pattern for machine-readable text: case matters, a space is one space, `^` and `$` are line ends."""
    return Pattern(re.compile("|".join(alternatives), re.MULTILINE), False, telltale)


def spoken(*alternatives: str, unspaced: str = r"(?!)", telltale: Telltale | None = None) -> Pattern:
    """Return a pattern for speech: whole words in any case, between them any white space (" ?" is one space or none).

    `unspaced` is found inside words too, for scripts that do not part them.
    """
    joined = re.sub(r" (?!\?)", r"\\s++", "|".join(alternatives))
    return Pattern(re.compile(rf"\b(?=\w)(?:{joined})\b|{unspaced}"), True, telltale)


def one_of(listed: str) -> str:
    """The words and phrases of a list with commas, as one alternative."""
    return f"(?:{'|'.join(' '.join(part.split()) for part in listed.split(','))})"


def words(*alternatives: str) -> str:
    """Alternatives that begin with a word. One \\b for all of them: most places of a text are done with at once."""
    return rf"\b(?=\w)(?:{'|'.join(alternatives)})"


def lines(*alternatives: str) -> str:
    """Alternatives that begin a line, after blanks (not \\s, which would read every empty line again from each)."""
    return rf"^[ \t]*+(?:{'|'.join(alternatives)})"


# --- Decisions and outcomes of technical work (GATE-7).
#
# Each family wants a deed and the technical thing it was done to: "we decided on Postgres" but not "we decided on
# pizza", "fixed the crash" but not "fixed the fence".


_DECIDED = spoken(
    r"(?:we|i)(?:'ve|'re| have| are)?(?: also| just| now| finally)?"
    r" (?:decided|chose|chosen|picked|agreed|settled|opted|going with|went with|standardi[sz]ed|dropping|dropped)",
    r"(?:decision|decided|adr)(?=\s?:)",
    r"(?:let's|we'll|we will|i'll) (?:use|go with|stick with|switch to|move to|adopt|drop)",
    r"(?:switch|mov|migrat|chang)(?:ed|es|ing|e)?(?: \S{1,40}){0,3}? (?:from|over to|away from)",
    r"replac(?:ed|es|ing|e)(?: \S{1,40}){1,3}? (?:with|by)",
    r"instead of|(?:architecture|architectural|design|technical) (?:decision|choice)s?",
)
_ARCHITECTURE = spoken(
    one_of(
        """architecture, databases?, schemas?, migrations?, queues?, caches?, caching, backends?, frontends?,
        middleware, monolith, micro-?services?, monorepo, apis?, endpoints?, frameworks?, librar(?:y|ies), protocols?,
        orms?, sdk, cli, runtime, compilers?, serverless, event sourcing, message bus, load balancers?, repo,
        repository, codebase, modules?, adr-?\\d*+, postgres(?:ql)?, mysql, sqlite, redis, kafka, rabbitmq, mongodb,
        dynamodb, elasticsearch, s3, kubernetes, k8s, docker, nginx, graphql, grpc, websockets?, oauth, jwt,
        typescript, python, rust, golang, kotlin, react, django, fastapi, terraform, uv"""
    )
)
_FIXED = spoken(
    one_of(
        """fix(?:ed|es|ing)?, resolv(?:ed|es|e|ing), patch(?:ed|es), solved, debugged, work(?:ed|s|ing)? around,
        workaround, root cause, reproduced, revert(?:ed|s|ing)?, caused by, turned out"""
    )
)
_BROKEN = spoken(
    one_of(
        """bugs?, crash(?:es|ed|ing)?, exceptions?, stack ?trace, tracebacks?, segfaults?, regressions?, deadlocks?,
        race conditions?, memory leaks?, null pointers?, time-?outs?, flaky, failing build, broken build, ci, root
        cause, off.by.one, infinite loop, compile error, type error, syntax error, encoding, stale cache, http
        [45]\\d\\d"""
    ),
    r"\w{1,60}(?:error|exception)|(?:pr|issue|ticket) #\d++",
)
_CHANGED = spoken(
    one_of(
        """set, setting, reset, configur(?:ed|es|e|ing), enabl(?:ed|es|e|ing), disabl(?:ed|es|e|ing),
        bump(?:ed|s|ing)?, pinned, tun(?:ed|e|ing), rais(?:ed|es|e|ing), increas(?:ed|es|e|ing), lower(?:ed|s|ing)?,
        chang(?:ed|es|e|ing), switched, updat(?:ed|es|e|ing), upgrad(?:ed|es|e|ing), add(?:ed|s|ing)?,
        remov(?:ed|es|e|ing), mov(?:ed|es|e|ing), put, edit(?:ed)?"""
    )
)
_CONFIGURATION = any_of(
    words(
        r"[Cc]onfig(?:uration|s)?\b|env(?:ironment)? var(?:iable)?s?\b|[Ff]eature flags?\b|[Tt]ime-?outs?\b",
        r"TTL\b|CORS\b|[Pp]ort \d{2,5}\b|[Pp]ool size\b|[Cc]rontab\b|[Ll]og level\b",
        r"(?:Python|Node|Java|Go|Rust) \d++(?:\.\d++)?\b",
        r"[A-Z][A-Z0-9]*+_[A-Z0-9_]++\b",  # DATABASE_URL
    ),
    r"(?<![\w.-])[\w-]*+\.(?:ya?ml|toml|ini|cfg|conf|env|service)\b",
    r"(?<![\w=!<>.])[a-z][a-z0-9]*+(?>(?:[._][a-z0-9]++)+) ?[=:] ?[\w\"'/-]",  # listen.port = 9417
)
_SHIPPED = spoken(
    one_of(
        """(?:re)?deploy(?:ed|s|ing|ment)?, merg(?:ed|es|e|ing), releas(?:ed|es|e|ing), ship(?:ped|s|ping)?,
        roll(?:ed|ing)? ?out, roll(?:ed|ing)? ?back, publish(?:ed|es|ing)?, tagged, promoted, landed, cut a release,
        (?:is|are|went|goes|going|go).live"""
    )
)
_TARGET = any_of(
    words(
        r"(?:to|in|on|into|from) (?:the )?(?:prod|production|staging|canary|PyPI|npm|main|master|develop|trunk|k8s)\b"
        r"(?! (?:road|street|line|hall|office|values?)\b)",
        r"(?:PR|MR|[Pp]ull request|[Mm]erge request) ?[#!]?\d|v\d++\.\d|(?<![.\d])\d++\.\d++\.\d++\b",
        r"(?:[Kk]ubernetes|cluster|[Dd]ocker image|[Pp]ipeline|CI/CD|[Hh]otfix|[Cc]hangelog|[Rr]elease notes)\b",
        r"[Gg]o-live\b",
    ),
)

ACTIONS = (
    Family("architecture_decision", (_DECIDED, _ARCHITECTURE)),
    Family("fix", (_FIXED, _BROKEN)),
    Family("configuration_change", (_CHANGED, _CONFIGURATION)),
    Family("milestone", (_SHIPPED, _TARGET)),
)


# --- What a person tells about themselves and theirs (GATE-5).
#
# Narrow on purpose: a capital letter alone is no name, for then every product would be a person.


_MOSTLY = one_of("really, also, still, always, usually, generally, just, do, much, absolutely, quite, now, only, never")
_PREFERENCE = spoken(
    rf"(?:i|we|he|she|they|you)(?: {_MOSTLY}){{0,2}} (?:like|love|hate|enjoy|adore|dislike|loathe|detest)s?",
    r"prefer(?:s|red|ences?)?|favou?rites?",
    rf"(?:i|we|he|she|they)(?:'d| would|'ll)(?: {_MOSTLY})? (?:rather|sooner)",
    r"(?:can't|cannot|can not|couldn't) (?:stand|bear|abide)",
    r"(?:don't|doesn't|do not|does not|didn't|never)(?: really| much)? (?:like|enjoy|care for|eat|drink|want|wear|use)",
    r"(?:i'm|i am|he's|she's|is|are)(?: not)?(?: a)?(?: big| huge)? (?:fan of|fond of|into|keen on|allergic to)",
    r"(?:always|never|from now on|please don't|don't ever)"
    r" (?:use|call|write|answer|reply|send|ask|put|mention|start|include)",
)

_MONTH = one_of(
    """jan(?:uary)?, feb(?:ruary)?, mar(?:ch)?, apr(?:il)?, may, june?, july?, aug(?:ust)?, sept?(?:ember)?,
    oct(?:ober)?, nov(?:ember)?, dec(?:ember)?"""
)
_DATE = spoken(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?",
    rf"\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}|(?=[jfmasond]){_MONTH} \d{{1,4}}(?:st|nd|rd|th)?",
    r"january|february|april|june|july|august|september|october|november|december",  # march and may are verbs too
    r"\d{4}-\d{2}-\d{2}|\d{1,2}/\d{1,2}/(?:\d{4}|\d{2})|\d{1,2}\.\d{1,2}\.(?:19|20)\d{2}",
    r"(?:in|since|until|till|by|from|during|before|after|of) (?:19|20)\d{2}|(?:the|on|until|by) \d{1,2}(?:st|nd|rd|th)",
    r"tomorrow|yesterday|(?:next|last|this|every) (?:week|weekend|month|year|spring|summer|autumn|fall|winter)",
    r"(?:\d{1,4}|two|three|four|five|six|ten|a few) (?:days|weeks|months|years) ago",
    r"in (?:\d{1,4}|two|three|four|five|six|ten|a few) (?:days|weeks|months|years)",
    unspaced=r"\d{1,2}月\d{1,2}日|\d{4}年",
)

_RELATION = one_of(
    """sister, brother, mother, mum, mom, father, dad, parents, son, daughter, wife, husband, partner, girlfriend,
    boyfriend, fiancée?, cousin, aunt, uncle, niece, nephew, grand(?:mother|father|ma|pa|son|daughter), friend,
    neighbou?r, flatmate, roommate, boss, manager, colleague, co-?worker, teacher, doctor, vet, dentist, therapist,
    coach, kid, baby, child, dog, cat, horse"""
)
_CAPITAL = "[A-Z\u00c0-\u00d6\u00d8-\u00de\u0100-\u017f\u0386-\u03ab\u0400-\u042f]"  # Latin, Greek, Cyrillic
_NAME = rf"{_CAPITAL}[^\W\d_]++"
_PRONOUN = one_of(
    "He, She, It, This, That, They, We, You, There, Who, What, The, My, Our, His, Her, And, But, One, Everyone, Nobody"
)
_HUMAN_NAME = any_of(
    words(
        # my sister Anna; our old neighbour, Galina; my brother is called Tomás
        rf"(?:[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir) (?:\w{{1,20}} ){{0,2}}{_RELATION},?"
        rf" (?:(?:is |was )?(?:called |named )?)?{_NAME}",
        rf"(?:[Nn]ame(?:'s| is| was)|[Nn]ames are|[Cc]all me|named after|[Nn]ickname is|goes by|go by) {_NAME}",
        rf"(?:{_RELATION}|man|woman|girl|boy|guy)(?: is| was|,)? (?:called|named) {_NAME}",
        rf"(?:Mr|Mrs|Ms|Mx|Dr|Prof|Herr|Frau|Madame|Señora?|Doña)\.? {_NAME}",
        # Anna, my sister; Anna is my sister; Anna lives in Rome; Anna's birthday
        rf"(?={_CAPITAL})(?!{_PRONOUN}\b){_NAME}(?:"
        rf"(?:,| is|'s| was) (?:my|our|his|her) (?:\w{{1,20}} ){{0,2}}{_RELATION}\b"
        r"| (?:lives|was born|is married|got married|passed away|told me|works (?:as|at|for)|turned \d)"
        r"|'s (?:birthday|wedding|funeral|mother|father|mum|mom|dad|sister|brother|wife|husband)\b)",
    ),
)

_STATE = one_of(
    """is, are, was, were, has, have, had, lives?, works?, moved, goes, likes?, plays?, speaks?, studies, loves?,
    died, got, needs?, starts?"""
)
_BEING = one_of(
    r"""an?, the, from, in, at, on, \d{1,3}, allergic, vegan, vegetarian, married, single, pregnant, diabetic,
    retired, left-handed, moving, learning, studying, training, called, based, originally"""
)
_LIVING = one_of(
    """live, work, own, speak, study, drive, play, teach, moved, grew up, was born, were born, have, had, bought,
    studied, worked, lived, started, joined, graduated, got married, commute, run, eat, drink"""
)
_LIVES = one_of("lives, works, owns, speaks, studies, plays, teaches, moved, grew up, was born, has, eats")
_FACT_ASSERTION = spoken(
    rf"(?:my|our)(?: [\w'-]{{1,24}}){{1,3}}? {_STATE}|(?:my|our) [\w-]{{1,24}}'s",
    rf"(?:i'm|i am|we're|we are|he's|she's|he is|she is|they're)(?: not)? {_BEING}",
    rf"(?:i|we|they|you)(?: also| both| now| still| only)? {_LIVING}",
    rf"(?:he|she|it)(?: also| now| still)? {_LIVES}",
    r"(?:i've|i have|we've|we have|he's|she's)(?: always| just| never)?"
    r" (?:been|lived|worked|had|got|moved|changed|switched)",
    r"my name(?:'s| is)|call me|i go by|(?:is|was|are) (?:called|named|born|located|married|allergic)",
    r"the (?:project|repo|codebase|team|convention|standard|company|office|rule) (?:is|uses|prefers|requires|has|was)",
)

_NUMBER = one_of(
    """two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, thirteen, fourteen, fifteen, sixteen,
    seventeen, eighteen, nineteen, twenty, thirty, forty, fifty, sixty, seventy, eighty, ninety, hundred, thousand,
    million, dozen, half"""
)
_UNIT = one_of(
    """kg, g, mg, lbs?, pounds?, stone, km, m, cm, mm, miles?, feet, ft, inch(?:es)?, metres?, meters?, litres?,
    liters?, l, ml, cups?, °c, °f, hours?, hrs?, minutes?, mins?, seconds?, days?, weeks?, months?, years?, euros?,
    dollars?, eur, usd, gbp, percent, degrees, people, children, kids, times, kcal, calories, hz, gb, mb, tb"""
)
_NO_NOUN = one_of("and, or, is, was, as, has, this, in, at, the, to")
_QUANTITY = spoken(
    rf"(?<![\d.,])\d[\d.,]*+ ?{_UNIT}|\d++(?=\s?[€£%])|(?<=[$€£¥₹])\d++\w*+|(?<=[$€£¥₹]\s)\d++\w*+",
    rf"{_NUMBER}[\s-](?:[a-z]{{1,20}}[\s-])?(?:{_UNIT}|[a-z]{{1,20}}s)",
    rf"(?<!\.)\d{{1,6}} (?!{_NO_NOUN}\b)(?:[a-z]{{1,20}} )?(?!{_NO_NOUN}\b)[a-z]{{1,20}}s",
    r"(?:twice|once|three times) (?:a|per|every) \w++",
)

CONVERSATION = (
    Family("preference", (_PREFERENCE,)),
    Family("date", (_DATE,)),
    Family("human_name", (_HUMAN_NAME,)),
    Family("fact_assertion", (_FACT_ASSERTION,)),
    Family("quantity", (_QUANTITY,)),
)


# --- What makes a turn technical (GATE-2).
#
# The seed's patterns took "and/or" for a path, "go" for a command and "tea (green)" for a function. These ask for what
# only a machine would read: an ending, a flag, a bracket glued to its name.


# Endings of files that people edit. Some are abbreviations too ("a.c."), so a bare name has two letters at least, and
# it may not be a library ("Node.js"). Endings of documents and pictures count in a path only: "holiday.jpg" is chat.
_CODE = (
    "(?:py|pyi|ipynb|[cm]?[jt]s|[jt]sx|go|rs|java|kts?|rb|php|c|h|cc|cpp|hpp|cs|swift|scala|exs|lua|jl"
    "|sql|json|jsonl|json5|ya?ml|toml|ini|cfg|conf|lock|xml|html?|s?css|vue|svelte|proto|tf|gradle|cmake|nix"
    "|md|rst|sh|bash|zsh|ps1|bat|service|timer|env|log)"
)
_OTHER = "(?:txt|csv|tsv|parquet|db|sqlite|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|webp|mp[34]|zip|tar|t?gz|so|dll|exe)"
_LIBRARY = "(?:node|vue|next|nuxt|react|angular|express|ember|backbone|three|d3|p5|chart|moment|alpine|discord|socket)"
_ROOTS = "(?:libs?|cmd|internal|scripts|dist|migrations|packages|bin)"
_MORE_ROOTS = "(?:tests?|docs?|apps?|config|build|deploy|assets|public|static|templates)"
_NOT_AN_ENDPOINT = r"(?<!(?:GET|PUT) /)(?<!(?:POST|HEAD) /)(?<!PATCH /)(?<!DELETE /)"

FILE_PATH = Family(
    "file_path",
    (
        any_of(
            # /etc/hosts, but not the path of a URL
            rf"/(?<![\w/.:~*}})\]-]/){_NOT_AN_ENDPOINT}(?:(?!(?:api|rest|v\d)/)"
            r"[\w.@+-]++(?>(?:/[\w.@+-]++)+)/?"
            r"|(?:etc|tmp|usr|var|opt|home|root|dev|proc|srv|mnt|Users|Library)\b(?![/.]\w))",
            # ~/notes, ./run, ../src, $HOME/bin, .gitignore
            r"[~.$](?<![\w~/.-][~.$])(?:(?:(?<=~)|(?<=\.)\.?|(?<=\$)\{?[A-Z_]++\}?)/[\w.@+-]++(?>(?:/[\w.@+-]++)*)"
            r"|(?<=\.)(?:env|gitignore|gitattributes|bashrc|zshrc|npmrc|dockerignore|editorconfig)\b)",
            # \\server\share
            r"\\\\(?<![\\\w]\\\\)\w[\w.-]*+\\\w",
            # the rest begins with a word that something is glued to, or that is a known file
            r"\b(?=\w)(?<![/.:@-])(?=[\w-]++(?:[/:@\\]|\.[\w-])|[A-Z]\w*+(?<=file))(?:"
            r"[A-Za-z]:(?:\\[\w.$-]|/\w++/)"  # C:\Users
            # src/app/main.py: a relative path whose last part has an ending
            rf"|\w[\w.@-]*+/(?>(?:[\w.@-]++/)*)(?:[\w-]++\.)+(?:{_CODE}|{_OTHER})\b(?![/(])"
            # src/holdfast, scripts/ci/…, migrations/ (but "the app/website" is English)
            rf"|(?:src|node_modules|pkg)/\w|{_ROOTS}/\w[\w.-]*+/|(?:{_ROOTS}|{_MORE_ROOTS})/(?![\w./])"
            # main.py, pyproject.toml
            rf"|(?!(?i:{_LIBRARY}\.)js\b)[A-Za-z_][\w-]++(?:\.[\w-]++)*?\.{_CODE}\b(?![\w/(@]|\.\w)"
            r"|README\.\w|(?:Make|Docker|Gem|Proc|Jenkins|Vagrant)file\b|(?:CMakeLists|requirements)\.txt)",
            telltale=Telltale.of("/\\.", "file"),
        ),
    ),
)

URL = Family(
    "url",
    (
        any_of(
            words(
                r"(?:https?|wss?|ftps?|ssh|git|s3|gs|file|postgres(?:ql)?|mysql|rediss?|mongodb(?:\+srv)?|amqps?|grpc)"
                r"://[^\s<>\"']++",
                r"www\.[\w-]++\.\w",
                r"localhost:\d{2,5}\b",
                r"(?:GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) /[^\s,;]*+",
                r"(?<![\w.]\.)(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?::\d{1,5})?(?!\.?\w)",
            ),
            r"/(?<![\w/.:~*}-]/)(?:(?:api|rest|v\d++)/[\w{]|graphql\b|oauth2?/|webhooks?/)[^\s,;]*+",
            telltale=Telltale.of("/.", "localhost:"),
        ),
    ),
)

FUNCTION_DEFINITION = Family(
    "function_definition",
    (
        any_of(
            words(
                r"def [A-Za-z_]\w*+[!?]?\(",  # the bracket is glued to the name: "I'm def going (maybe)" is not
                r"function\b\*?(?: [\w$]++)? ?\([^()\n]{0,120}\)[ \t]*+\{",
                r"(?:const|let|var) [\w$]++ ?= ?(?:async )?(?:function\b|(?:\([^()\n]{0,120}\)|[\w$]++) ?=>)",
                r"func (?:\([^()\n]{0,80}\) )?[A-Za-z_]\w*+(?:\[[^\[\]\n]{0,60}\])?\(",  # Go, Swift
                r"fn [a-z_]\w*+(?:<[^<>\n]{0,60}>)?\(",
                r"fun (?:[A-Z]\w*+\.)?[a-z]\w*+\([^()\n]{0,120}\) ?(?:[{=]|: ?[A-Z][\w<>?]*+ ?[{=])",  # Kotlin
                r"(?:public|private|protected|internal|static) [\w<>\[\], ?]{1,60}\([^()\n]{0,120}\)[^{}\n;]{0,60}\{",
                r"CREATE (?:OR REPLACE )?(?:FUNCTION|PROCEDURE|TRIGGER)\b",
            ),
            lines(
                r"def (?:self\.)?[a-z]++_\w++[!?]?[ \t]*+$",  # Ruby without brackets
                r"(?!else|return|new)[A-Za-z_][\w*]*+[ \t]++[\w*]++\([^()\n;]{0,120}\)\s*+\{",  # int main(void) {
                r"[\w-]++\(\) ?\{",  # shell
                r"\((?:defn|defun|defmacro)-? [\w-]",
            ),
            telltale=Telltale.of("(=_", "CREATE "),
        ),
    ),
)

_STACK_TRACE = any_of(
    words(
        r"Traceback \(most recent call last\)|File \"[^\"\n]{1,300}\", line \d",
        r"[A-Z][A-Za-z]*?[a-z](?:Error|Exception):",
        r"Caused by: [\w.]{1,200}?Exception|Exception in thread\b|Uncaught (?:\(in promise\)|[A-Z]\w*?Error\b)",
        r"panic: (?:runtime error|interface conversion|send on|close of|assignment to entry|sync:|reflect:)",
        r"panicked at\b|goroutine \d++ \[|fatal error: (?:all goroutines|concurrent map)|[Ss]egmentation fault\b",
        r"rb:\d++:in [`']",
    ),
    lines(
        # at com.shop.Cart.add(Cart.java:42), at add (cart.js:4:2), at cart.js:4:2
        r"at (?:async |new )?[\w$.<>/]++(?:\([\w$.]++(?::\d++)?\)|\([^()\n]{0,200}\) in | \([^()\s]{1,200}:\d++\)|:\d)",
        r"#\d++ ++0x[0-9a-f]++ in |\S{1,200}\.go:\d++ \+0x",
    ),
    telltale=Telltale.of("(:#", 'File "', "Uncaught ", "Exception in ", "panicked ", "goroutine ", "egmentation fault"),
)

# A command whose name is an English word (go, make, cat, find, helm) must show a flag, a path or back ticks.
_COMMANDS = (
    "(?:git|npm|npx|pnpm|yarn|pip3?|uv|poetry|docker|kubectl|helm|terraform|cargo|go|make|cmake|gradle|mvn|python3?"
    "|node|bash|sh|ssh|scp|rsync|curl|wget|sudo|apt(?:-get)?|brew|systemctl|journalctl|psql|sqlite3|redis-cli"
    "|cd|ls|cat|cp|mv|rm|mkdir|touch|chmod|chown|grep|rg|find|sed|awk|tail|head|kill|ps|tar|export|source|echo)"
)
_SHELL_COMMAND = any_of(
    lines(r"(?:[\w.-]++@[\w.-]++:\S{0,200})?\$ [a-z./~]"),  # a prompt: $ ls
    rf"`{_COMMANDS} [^`\n]{{1,200}}`",
    words(
        r"git (?:add|am|apply|bisect|blame|branch|checkout|cherry-pick|clone|commit|config|diff|fetch|init|log|merge"
        r"|pull|push|rebase|remote|reset|restore|revert|rm|show|stash|status|submodule|switch|tag|worktree)\b",
        r"(?:npm|pnpm|yarn) (?:install|ci|run|add|test|start|build|audit|publish|exec|init)\b|npm i\b|npx [\w@-]",
        r"(?:pip3?|pipx|gem|brew|apt|apt-get|yum|dnf|conda|apk) (?:-\w++ )?(?:install|uninstall)\b",
        r"(?:uv|poetry) (?:add|lock|sync|pip|install|remove)\b|uv run\b",
        r"docker(?:-compose)? (?:run|build|ps|exec|pull|push|logs|compose|up|down|stop|rm|images|inspect)\b",
        r"(?:kubectl|systemctl|journalctl) (?:-|[a-z])|helm (?:install|upgrade|repo|template|rollback|uninstall)\b",
        r"terraform (?:init|plan|apply|destroy|fmt|validate|import|state)\b",
        r"cargo (?:build|clippy|fmt|publish|nextest)\b",
        r"go (?:mod (?:tidy|init|download|vendor)|(?:build|run|test|vet|install|get|generate) (?:-|\./|[\w-]++[./]\w))",
        r"(?:make -[jCBnk]|kill -(?:9|HUP|TERM)|tail -[fn\d]|head -[nc\d]|bash -[cxe])\b",
        r"(?:ps (?:aux|-ef)|tar -?[xcz]{1,4}f)\b",
        r"(?:ls|cp|mv|rm|grep|sed|awk|rsync|psql|pytest|python3?|ssh|chmod|chown|mkdir) (?:\S{1,40} )?-{1,2}[A-Za-z]",
        r"(?:curl|wget) (?:-[A-Za-z]{1,2} |--[a-z]|https?:|localhost)|cargo (?:run|test|check|install) --?[a-z]",
        r"find [.~/]\S{0,200} -(?:name|type|iname|exec)\b|sudo [a-z]|export [A-Z_]++=|ssh [\w.-]++@\w|chmod [0-7+]",
        r"(?:cat|cd|ls|rm|less|vim|nano|source|mkdir|tail|python3?|node|bash|sh)"
        r" (?:\.{1,2}/|~/|/\w++/|[\w-]++\.(?:py|sh|m?js|log|conf|txt)\b)",
    ),
    r"\| ?(?:grep|awk|sed|xargs|jq|tee|(?:wc|head|tail|sort) -)",
    r"2>&1|> ?/dev/null",
    telltale=Telltale.of(
        "$`-/.|>=@",
        "git ",
        "npm ",
        "yarn ",
        "npx ",
        "install",
        "uv ",
        "poetry ",
        "docker",
        "ctl ",
        "helm ",
        "terraform ",
        "cargo ",
        "go mod",
        "ps aux",
        "tar ",
        "curl ",
        "wget ",
        "sudo ",
        "chmod ",
    ),
)

_HASH = any_of(
    words(
        # two digits and two letters at least: "defaced" is a word, 1234567 a number
        r"(?=(?:[a-f]*+[0-9]){2})(?=(?:[0-9]*+[a-f]){2})[0-9a-f]{7,64}\b",
        r"(?=[A-F]*+[0-9])(?=[0-9]*+[A-F])[0-9A-F]{16,64}\b",
        r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b",
        r"0x[0-9a-fA-F]{2}",
        r"sha(?:1|256|512)[:-][0-9A-Za-z+/=]{8}",
    ),
    telltale=Telltale.of("0123456789-"),
)

TECHNICAL = (
    Family("code_fence", (any_of(r"```", r"^ {0,3}~~~", telltale=Telltale.of("`~")),)),
    Family("stack_trace", (_STACK_TRACE,)),
    FILE_PATH,
    FUNCTION_DEFINITION,
    Family("shell_command", (_SHELL_COMMAND,)),
    URL,
    Family("hash", (_HASH,)),
)


# --- The concrete things a technical turn names, each counted as often as it is named (GATE-6).


_ERRNO = (
    "E(?:2BIG|ACCES|ADDRINUSE|ADDRNOTAVAIL|AGAIN|AI_AGAIN|BADF|BUSY|CONNABORTED|CONNREFUSED|CONNRESET|DEADLK|EXIST"
    "|FAULT|HOSTUNREACH|INTR|INVAL|IO|ISDIR|LOOP|MFILE|NAMETOOLONG|NETUNREACH|NOENT|NOMEM|NOSPC|NOSYS|NOTDIR|NOTEMPTY"
    "|NOTFOUND|PERM|PIPE|RANGE|RESOLVE|ROFS|TIMEDOUT|XDEV)"
)
_ERROR_CODE = any_of(
    words(
        rf"{_ERRNO}\b",
        r"SIG(?:SEGV|KILL|TERM|INT|ABRT|BUS|PIPE|HUP|FPE|ILL)\b|OOMKilled\b|CrashLoopBackOff\b",
        r"(?:ERR|SQLITE|ERROR|STATUS)_[A-Z][A-Z0-9_]++",
        r"(?:E0\d{3}|TS\d{4,5}|CS\d{4}|LNK\d{4}|SQLSTATE\W{1,2}\w{5})\b",  # compilers; E621 is a food additive
        # ORA-00942, SLW-4031: a program's own codes, but not norms, orders and models
        r"(?!(?:ISO|IEC|RFC|DIN|EN|PO|UTF|GPT|VAT|ID|NO|CVE)-)[A-Z]{2,8}-\d{3,6}\b",
        r"HTTP(?:/\d(?:\.\d)?)? [1-5]\d\d\b|0x8[0-9A-Fa-f]{7}\b",
        r"(?:[Ee]rror|[Ee]xit|[Ss]tatus|[Rr]eturn) (?:code|status)[ :=#]{1,3}-?\d{1,5}\b",
        r"[Ee]rror [45]\d\d\b|errno[ :=]{1,3}-?\d",
        r"[A-Z][A-Za-z]*?[a-z](?:Error|Exception)\b",  # KeyError, NullPointerException
    ),
    telltale=Telltale.of("0123456789_E", "SIG", "OOMKilled", "CrashLoop", "SQLSTATE", "Error", "Exception"),
)

_GIT_REFERENCE = any_of(
    words(
        r"(?:[Cc]ommit|sha|[Rr]evision|[Rr]evert(?:s|ed)?|[Cc]herry-picked) `?(?=[a-f]*+[0-9])[0-9a-f]{7,40}\b",
        r"HEAD[~^@]|refs/(?:heads|tags|remotes)/\w",
        r"(?:PR|MR|[Pp]ull request|[Mm]erge request) ?[#!]?(?<=[#! ])\d{1,6}\b",
        r"(?:[Mm]erged?|[Rr]ebased?|[Mm]erging|[Rr]ebasing) (?:in)?(?:to|onto|on) `?(?:main|master|develop|trunk)\b"
        r"(?! (?:road|street|line|group|body|event))",
        r"[Tt]ag(?:ged)? `?v?\d++\.\d",
        # Branch names have a hyphen or a digit: "feature/bug" and "release/return" are English
        r"(?<![/.-])(?:origin|upstream)/[\w.-]++",
        r"(?<![/.-])(?:feature|feat|bugfix|hotfix|fix|release|chore|refactor)/[A-Za-z]*+[-_.\d][\w.-]*+",
    ),
    telltale=Telltale.of("0123456789~^@/", "erg", "ebas"),
)

_FUNCTION_REFERENCE = any_of(
    words(
        # name(), a.b(x), Cart::total, get_user(1), getUser(1); but "word(s)" and "tea (green)" are English
        r"(?<![.:])(?=\w++(?:\(|[.:>-]))[A-Za-z_](?:"
        r"\w*+(?:\(\)|(?>(?:(?:\.|::|->)[A-Za-z_]\w*+)+)\(|::[A-Za-z_]\w*+(?![(:.]))"
        r"|(?<=[a-z])(?:[a-z0-9]*+_\w*+|[a-z]++[A-Z]\w*+)\((?!s?\)))",
    ),
    telltale=Telltale.of("(", "::"),
)

SPECIFICS = (
    Family("error_code", (_ERROR_CODE,)),
    FILE_PATH,
    Family("git_reference", (_GIT_REFERENCE,)),
    Family("function_reference", (_FUNCTION_REFERENCE,)),
    URL,
)


# --- The parts that code is made of (GATE-8).


_DATA_STRUCTURE = any_of(
    words(
        r"class [A-Za-z_]\w++(?:\([^()\n]{0,120}\))?:[ \t]*+$",
        r"class [A-Z]\w*+(?:<[^<>\n]{0,60}>)?(?: (?:extends|implements|:) [\w, .<>]{1,80})?\s*+\{",
        r"(?:struct|enum|interface|union|record|message|trait) [A-Z]\w*+[^{}\n;]{0,60}\{",
        r"type [A-Z]\w*+(?:\[[^\[\]\n]{0,60}\])? (?:struct|interface)\b|type [A-Z]\w++(?:<[^<>\n]{0,60}>)? = ",
        r"(?:CREATE|create) (?:(?:TEMP|temp|UNIQUE|unique) )?(?:TABLE|table|INDEX|index) [\w(]",
        r"(?:ALTER TABLE|alter table)\b",
        r"TypedDict\b|NamedTuple\b",
    ),
    r"@dataclass\b",
    r"\{\s*+\"[\w-]++\"\s*+:",  # JSON
    telltale=Telltale.of(":{@", "type ", "CREATE ", "create ", "ALTER ", "alter ", "TypedDict", "NamedTuple"),
)

# "import taxes" begins an English line too, so a bare module must be a known one.
_MODULES = "(?:os|sys|re|json|time|math|typing|pathlib|asyncio|logging|numpy|pandas|torch|requests|pytest|fmt|react)"
_DEPENDENCY = any_of(
    lines(
        r"from [\w.]++ import [\w(*]",
        rf"import (?:{_MODULES}\b|\w++\.\w|\w++ as \w|[{{*\"'(]|\w++(?:, \{{| from ['\"]))",
        r"#include [<\"]|(?:pub )?use \w++::|using [A-Z]\w*+(?>(?:\.\w++)*);",
    ),
    words(
        r"require\(['\"]",
        r"(?:pip3?|uv pip|npm|gem|brew|apt|apt-get) install\b|(?:uv|poetry|yarn|pnpm|cargo) add\b|go get [\w-]++[./]",
        r"(?:package(?:-lock)?\.json|requirements\.txt|pyproject\.toml|Cargo\.(?:toml|lock)|go\.(?:mod|sum)"
        r"|pom\.xml)\b",
        r"(?:Gemfile|(?:poetry|uv|yarn)\.lock)\b",
        r"(?<![.-])[A-Za-z][\w.-]*+(?:\[[\w,]{1,40}\])?[=~><]=\d",  # numpy>=2
    ),
    r"\"[@\w/.-]++\"\s*+:\s*+\"[\^~]\d",  # "react": "^18
    telltale=Telltale.of('#:;(.="', "import ", "install", " add", "go get ", "Gemfile"),
)

_TEST = any_of(
    words(
        r"def test_\w|func Test[A-Z]\w*+\(|(?:it|test|describe)\(['\"`]|expect\([^()\n]{0,120}\)\.",
        r"assert(?:_\w++|[A-Z]\w*+)?!?\(",
        r"test_\w++(?:\.py|::)|\w++_test\.go\b|(?:spec|test)\.[jt]sx?\b",
        r"(?:pytest|unittest|vitest|rspec|junit|JUnit|npx jest|jest\.(?:fn|mock))\b",
        r"(?:[Ii]ntegration|[Rr]egression|[Ee]nd-to-end|[Ee]2[Ee]) tests?\b|[Uu]nit tests\b|[Tt]est (?:suite"
        r"|coverage)\b",
    ),
    lines(r"assert [^\n]{1,200}?(?:[=!<>]=|\()"),
    r"#\[(?:tokio::)?test\]|@Test\b|\[(?:Fact|TestMethod)\]",
    telltale=Telltale.of("_(.#@[", "test", "Test", "rspec", "junit", "JUnit", "jest", "assert "),
)

_DOCUMENTATION_COMMENT = any_of(
    r"\"\"\"|'''|/\*\*",
    lines(r"//[/!] |(?:Args|Raises):[ \t]*+$"),
    r"(?<![\w@.])@(?:param|returns?|throws|deprecated)\b|:(?:param|type|returns?|raises)(?: \w++)?: ",
    telltale=Telltale.of("@:", '"""', "'''", "/*", "//"),
)

STRUCTURE = (
    FUNCTION_DEFINITION,
    Family("data_structure", (_DATA_STRUCTURE,)),
    Family("dependency", (_DEPENDENCY,)),
    Family("test", (_TEST,)),
    Family("documentation_comment", (_DOCUMENTATION_COMMENT,)),
)


# --- The part of a text that a person wrote as sentences, without its code.


# Fences go in pairs; one that is never closed runs to the end, as in Markdown.
_FENCE = re.compile(r"```|^ {0,3}~~~", re.MULTILINE)
_INLINE = re.compile(r"`[^`\n]++`")

_CODE_START = re.compile(
    r"(?>(?:(?:async|export|public|private|protected|static) )*)(?:"
    r"(?:def|func|fn|fun|function)\*? [\w$.]++ ?[(<]"
    r"|(?:class|struct|enum|interface|impl|trait) [A-Z_]\w*+[^\n]{0,120}[{:(]$"
    r"|(?:from [\w.]++ )?import (?:[\w.]++(?: as \w++)?(?:, |$)|[{*\"'(])|from [\w.]++ import "
    r"|(?:const|let|var|auto|int|float|double|char|bool|void|string|String) [\w$*]++ ?[=;(]"
    r"|(?:return|raise|throw|yield|await|elif)\b[^\n]{0,200}?[;(=_\[]"
    r"|(?:else|try|finally|do) ?[:{]$"
    r"|[\w.$\[\]\"'>*-]++ ?(?::=|[-+*/|&%]?=)(?!=) ?\S"  # an assignment
    r"|[})\]]|@\w[\w.]*+(?:\(|$)|</?\w[^\n<>]{0,200}>|//|/\*|\*/|#(?:include|define|!|\[)|\$ |\"[\w-]++\" ?:"
    r"|(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|FROM|WHERE|JOIN) \S)"
)
_CALL_START = re.compile(r"(?!\w++\(e?s\))[\w.$>:-]++\(")
_BLOCK_START = re.compile(r"(?:if|elif|for|while|with|except|case|switch|catch)\b")
_SYMBOL = re.compile(r"[()=\[\]{}<>_]")
_COMMENT_START = ("#", "//", "--", " *")


@dataclass(frozen=True, slots=True)
class Prose:
    text: str
    mostly_code: bool
    """Of the lines outside fences that say anything, at least half are code."""


def prose_of(text: str) -> Prose:
    """Without fenced and inline code, and without lines that read like code, their comments and what they indent."""
    code = 0
    kept: list[str] = []
    for line in "\n".join(_FENCE.split(text)[0::2]).split("\n"):
        if not line or line.isspace():
            continue
        indented = line.startswith(("    ", "\t", *_COMMENT_START))
        if _reads_like_code(line.strip()) or (code and indented):
            code += 1
        else:
            kept.append(line)
    return Prose(_INLINE.sub(" ", "\n".join(kept)), mostly_code=code > 0 and code >= len(kept))


def _reads_like_code(line: str) -> bool:
    if line.endswith(("{", "}", "=>", "->")) or _CODE_START.match(line):
        return True
    if line.endswith(";"):  # poets end lines with it too
        return _SYMBOL.search(line) is not None
    if line.endswith(":") and _BLOCK_START.match(line):
        return _SYMBOL.search(line) is not None
    return line.endswith((")", "(", ",")) and _CALL_START.match(line) is not None
