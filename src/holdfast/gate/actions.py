"""Decisions and outcomes of technical work (GATE-7).

Each family wants a deed and the technical thing it was done to: "we decided on Postgres" but not "we decided on pizza",
"fixed the crash" but not "fixed the fence".
"""

from __future__ import annotations

from holdfast.gate.family import Family, any_of, one_of, spoken, words

__all__ = ["ACTIONS"]

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
