"""The concrete things a technical turn names, each counted as often as it is named (GATE-6)."""

from __future__ import annotations

from holdfast.gate.family import Family, Telltale, any_of, words
from holdfast.gate.technical import FILE_PATH, URL

__all__ = ["SPECIFICS"]

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
