"""Claims that a tool cannot do something, which are never kept (SAL-6).

After one failed call a model likes to conclude "the edit tool can't edit non-ASCII files". That is mostly wrong by the
next day, and remembered it makes every later agent refuse. The seed's rule asked for a word like "editor" or "reading"
and a "don't" somewhere behind it, and so refused facts of the user as well. Here

- the tool itself must fail: it stands right before the verb, or is what something cannot be done with;
- it is the agent's: "my editor" and "our CLI" are the user's own, and their limits are facts;
- where its name may be a person or a thing ("the editor", "the model", "the tools"), the sentence must also speak of
  what tools work on: files, paths, encodings, the network.
"""

from __future__ import annotations

import re

from holdfast.gate.family import Reading, one_of

__all__ = ["tool_limitation_claim"]


def tool_limitation_claim(text: str) -> bool:
    """Whether a candidate says that the agent's tooling or environment fails at something."""
    return any(_claims(" ".join(sentence.split())) for sentence in _SENTENCE_END.split(Reading.of(text).lowered))


def _claims(sentence: str) -> bool:
    if _AGENT_TOOL_FAILS.search(sentence) or _TOOL_FAILS.search(sentence):
        return True
    if not _MATERIAL.search(sentence):
        return False
    return any(pattern.search(sentence) for pattern in (_PERHAPS_TOOL_FAILS, _NOT_WITH_THE_TOOL, _DOING_IT_FAILS))


_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+|\n+")

# Tools that only an agent has. A web server, a search function or a user interface is somebody's product.
_KIND = one_of(
    """file, files, edit, editing, read, reading, write, writing, search, grep, glob, shell, bash, terminal, command,
    browser, browsing, fetch, web, patch, apply_patch, str_replace, code, python, mcp, function, diff, notebook,
    image, view, replace, execution, multiedit"""
)
_AGENT_TOOL = (
    rf"(?:(?:{_KIND}[ -]){{1,3}}(?:tool|tools|tooling|toolset)|tool ?(?:calls?|use|usage)|mcp server"
    r"|(?:shell|bash|edit|read|write|terminal) (?:commands?|calls?)"
    r"|file[ -](?:editing|reading|writing|editor|access)|filesystem|file system|code interpreter|sandbox)"
)
# Names that a person, a fashion show or a shed may have too.
_PERHAPS_TOOL = one_of(
    """tools?, tooling, assistant, agent, model, ai, llm, bot, chatbot, editor, reader, writer, shell, terminal,
    environment, system, command, browser, interpreter, runtime, harness"""
)
_MATERIAL_WORDS = one_of(
    r"""files?, non-ascii, ascii, utf-?8, unicode, emojis?, encodings?, paths?, directory, directories, folders?,
    binary, binaries, symlinks?, images?, pdfs?, notebooks?, internet, network, urls?, line endings?, white ?space,
    json, csv, stdin, stdout, sub-?process(?:es)?, repo, repository, code, scripts?, commands?, tool calls?, tools?,
    packages?, large inputs?, large outputs?, time ?outs?, permissions?, web pages?"""
)
_MATERIAL = re.compile(rf"\b{_MATERIAL_WORDS}\b")

# What may stand between the tool and the verb: "currently", "in this environment".
_MEANWHILE_WORDS = one_of(
    "currently, sometimes, often, always, also, just, still, usually, here, repeatedly, simply, apparently, generally"
)
_MEANWHILE = rf"(?: {_MEANWHILE_WORDS}| (?:in|on|for|of|from) (?:this|the|that) [\w-]{{1,30}}){{0,3}}"
_FAILS = one_of(
    r"""fail(?:s|ed)?, error(?:s|ed)(?: out)?, crash(?:es|ed)?, breaks?, broke, (?:is|are|was|were|seems?) broken,
    times? out, (?:does|do|did)(?:n'?t| not) work"""
)
_CANNOT = one_of(
    r"""can'?t, cannot, can not, could(?:n'?t| not), won'?t, will not, (?:does|do|did)(?:n'?t| not),
    (?:is|are|was|were)(?: not|n'?t)? (?:un)?able to, (?:is|are|was|were)(?: not |n'?t |
    un)(?:able|supported|available|capable|working), (?:has|have|had) (?:no|trouble|problems|issues|difficulty),
    lacks?, struggles?, chokes?, refuses?, hangs?"""
)

# What stands right before the tool: nothing, an article or a conjunction; never "my", "our" or another adjective.
_LEADING = one_of("the, this, that, your, any, and, or, but, because, when, since, as")
_HEAD = rf"(?:^|\b{_LEADING} (?:(?:the|current|built-in|agent's|assistant's) )?)"

_AGENT_TOOL_FAILS = re.compile(rf"{_HEAD}{_AGENT_TOOL}{_MEANWHILE} (?:{_FAILS}|{_CANNOT})\b")
_TOOL_FAILS = re.compile(rf"{_HEAD}(?:tools?|tooling){_MEANWHILE} {_FAILS}\b")
_PERHAPS_TOOL_FAILS = re.compile(rf"{_HEAD}(?:ai |coding )?{_PERHAPS_TOOL}{_MEANWHILE} (?:{_FAILS}|{_CANNOT})\b")
_NOT_WITH_THE_TOOL = re.compile(
    rf"\b(?:{_FAILS}|{_CANNOT}|impossible|unable)\b[^\n]{{0,120}}?"
    rf" (?:by|with|using|via|through|from) (?:the|this|that|your) (?:{_AGENT_TOOL}|tools?|tooling)\b"
)
_DOING_IT_FAILS = re.compile(
    rf"^(?:editing|reading|writing|opening|searching|patching|creating|deleting|renaming)(?: [\w-]{{1,30}}){{1,4}}?"
    rf"{_MEANWHILE} (?:{_FAILS}|(?:is|are) (?:not |un)(?:supported|possible|available))\b"
)
