"""The host's messages as memory sees them: what is visible already, and what is asked."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache

from holdfast.errors import BadMessage
from holdfast.log.parts import split_content
from holdfast.model import Role
from holdfast.results import Message
from holdfast.text.words import query_terms

_SPACES = re.compile(r"\s+")
_KEPT_CHARS = 1000
_SHORT = 16
"""A text below this must be a whole message to count as visible: "ok" stands in many."""
_BEFORE_CHARS = 300  # of an earlier message that a short question takes along
_SYSTEM = frozenset({"system", "developer"})


def plain(text: str) -> str:
    """How texts are compared: spaces and case do not tell two apart."""
    return _plain_again(text) if len(text) <= _KEPT_CHARS else _plain(text)


def _plain(text: str) -> str:
    return _SPACES.sub(" ", text).strip().casefold()


_plain_again = lru_cache(maxsize=8192)(_plain)  # rules come again with every turn


class Conversation:
    """Messages are read, never changed. What is asked is the user's own text, not a document beside it (TRUST-1)."""

    def __init__(self, messages: Sequence[Message]) -> None:
        for number, message in enumerate(messages):
            if not isinstance(message, Mapping):
                raise BadMessage(
                    f"message {number} must be a mapping with role and content, not {type(message).__name__}"
                )
        self._messages = messages
        read = [_said(number, message) for number, message in enumerate(messages)]
        self._said = [(role, text) for role, text, _ in read]
        self._beside = [text for _, _, others in read for text in others]

    def with_frame(self, text: str) -> list[Message]:
        """The same messages with the frame behind the leading system messages.

        The host's own instructions stay first, for they are the widest prefix that a prompt cache can hold, and the
        frame stands before the conversation it is about.
        """
        leading = 0
        while leading < len(self._said) and self._said[leading][0] in _SYSTEM:
            leading += 1
        return [*self._messages[:leading], {"role": "system", "content": text}, *self._messages[leading:]]

    def shows(self, text: str, by_user: bool = False) -> bool:
        """Whether the messages (of the user alone) hold this text."""
        wanted = plain(text)
        wholes, together = self._by_user if by_user else self._by_anyone
        return wanted in wholes or (len(wanted) >= _SHORT and wanted in together)

    @cached_property
    def _by_anyone(self) -> tuple[frozenset[str], str]:
        return _shown([*(text for _, text in self._said), *self._beside])

    @cached_property
    def _by_user(self) -> tuple[frozenset[str], str]:
        return _shown([text for role, text in self._said if role in ("user", "human")])

    def query(self, enough: int, most_chars: int) -> str:
        """What is asked: the user's last message; with too few words to look for, what was said before it as well."""
        users = [text for role, text in self._said if role in ("user", "human") and text.strip()]
        if not users:
            others = [text for role, text in self._said if role not in _SYSTEM and text.strip()]
            users = others[-1:]
        if not users:
            return ""
        asked = _speakable(users[-1])[:most_chars]
        if len(users) > 1 and len(query_terms(asked, enough)) < enough:
            asked = f"{asked}\n{_speakable(users[-2])[:_BEFORE_CHARS]}"
        return asked


def _said(number: int, message: Message) -> tuple[str, str, list[str]]:
    """Return the role of a message, its own text, and the texts of its other parts."""
    try:
        role = str(message.get("role", "")).lower()
        content = message.get("content", message.get("parts"))
        if not content or isinstance(content, str):
            return role, str(content or ""), []
        speaker = Role.USER if role in ("user", "human") else Role.ASSISTANT
        parts = split_content(content, speaker, measure=False)
    except Exception as error:  # a mapping of the host's own, with its own mistakes
        raise BadMessage(f"message {number} cannot be read ({type(error).__name__}: {error})") from error
    return role, "\n".join(one.text for one in parts if one.own), [one.text for one in parts if not one.own]


def _shown(texts: Sequence[str]) -> tuple[frozenset[str], str]:
    parts = [plain(text) for text in texts]
    return frozenset(parts), "\0".join(parts)


def _speakable(text: str) -> str:
    """Without lone surrogates, which no index can look up."""
    return text.encode(errors="replace").decode()
