"""Content parts: a message becomes one turn for its own text and one for everything else that it carries (TRUST-1).

Chat APIs put tool results, documents, files and search results into messages of role user. Their words are not the
user's, so each such part becomes a turn of its own with the origin of its channel. Accepted are a string, a part, and
a list of parts as in the OpenAI (chat and responses), Anthropic, Gemini and Bedrock APIs and in MCP
(docs/reference/content.md).
A part of an unknown type counts as a tool's.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

from holdfast.errors import BadMessage
from holdfast.model import Origin, Role

Content = str | Mapping[str, object] | Sequence[str | Mapping[str, object]]
"""The content of a message."""
PART = "part"
"""Metadata of a turn that is not its message's own text: the type of the part, its ids and its binary data."""

_OWN = {role: frozenset({"text", "input_text"}) for role in Role}
_OWN[Role.ASSISTANT] |= {"output_text", "refusal"}
"""Types of parts that are the message's own text."""
_FILES = frozenset(
    {"image", "image_url", "image_file", "input_image", "audio", "audio_url", "input_audio", "video", "video_url"}
    | {"document", "file", "file_url", "input_file", "file_data", "inline_data", "media", "container_upload"}
    | {"resource", "resource_link", "embedded_resource", "s3_location"}
)
_CALLS = frozenset(
    {"tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "function_call", "custom_tool_call", "mcp_call"}
)
_WRAPPERS = _FILES | _CALLS | {
    "text", "content", "contents", "parts", "output", "result", "response", "source", "value", "input", "arguments",
    "args", "data", "refusal", "thinking", "tool_result", "function_response", "code_execution_result", "snippet",
}  # fmt: skip
"""Names that say nothing about the text under them; any other name is kept in front of it."""
_INNER_TYPES = _OWN[Role.ASSISTANT] | _FILES | _WRAPPERS | {"base64", "url", "search_result"}
_IDS = frozenset({"id", "tool_use_id", "tool_call_id", "call_id", "server_name", "status"})
"""Names of a part that go into its metadata instead of its text."""
_IGNORED = frozenset({"cache_control", "cache_point", "signature", "thought_signature", "encrypted_content"})
"""Instructions to a model's server and opaque data of its own."""
_BESIDE = _IGNORED | {"text", "part_metadata", "video_metadata", "media_resolution"}
"""Names that do not say what a part of Gemini or Bedrock is."""
_BINARY = frozenset({"data", "blob", "bytes", "file_data", "b64_json", "image"})
_MEDIA_TYPES = ("media_type", "mimeType", "mime_type", "mediaType", "format")
_DATA_URL = re.compile(r"data:([^;,\s]*)[^,\s]{0,100};base64,")
_LONG = 256  # characters of base64 that nobody writes as text
_DEEPEST = 64  # levels: a part that is nested deeper is an attack or a mistake


@dataclass(frozen=True)
class Part:
    """The text of one turn. `role` and `origin` are None where those of the message hold."""

    text: str
    role: Role | None = None
    origin: Origin | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)

    @property
    def own(self) -> bool:
        return self.origin is None


def split_content(content: object, role: Role, *, measure: bool = True) -> list[Part]:
    """Split the content of a message into parts, in order; own texts that follow each other are one part.

    Without `measure` binary data is not decoded, which takes long and is needed only for what is stored.
    """
    if isinstance(content, str):
        return [Part(content)]
    if isinstance(content, Mapping) and "type" in content:
        content = [content]
    if not isinstance(content, list | tuple):
        raise BadMessage(f"content must be a string, a part with a type or a list of parts, not {_shape(content)}")
    parts: list[Part] = []
    for number, one in enumerate(content, 1):
        part = _read_part(one, role, number, measure)
        if part.own and parts and parts[-1].own:
            parts[-1] = _joined(parts[-1], part)
        else:
            parts.append(part)
    return [part for part in parts if part.text or not part.own] or [Part("")]


def _shape(content: object) -> str:
    return "a mapping without one" if isinstance(content, Mapping) else type(content).__name__


def _joined(first: Part, second: Part) -> Part:
    fields = [one for part in (first, second) for one in _sequence(part.metadata.get("fields"))]
    return Part(f"{first.text}\n{second.text}", metadata={"fields": fields} if fields else {})


def _sequence(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


def _read_part(part: object, role: Role, number: int, measure: bool) -> Part:
    if isinstance(part, str):
        return Part(part)
    if not isinstance(part, Mapping):
        raise BadMessage(f"content part {number} must be a string or a mapping with a type, not {type(part).__name__}")
    given = _type(part, number)
    kind = _snake(given)
    reader = _PartReader(number, measure)
    if kind in _OWN[role]:
        name = "refusal" if kind == "refusal" else "text"
        text = part.get(name)
        if isinstance(text, Mapping):  # OpenAI's assistants
            text = text.get("value")
        if not isinstance(text, str):
            raise BadMessage(f'content part {number} is of type {given!r}, so it needs a string under "{name}"')
        more = {key: value for key, value in part.items() if key not in ("type", name) and value is not None}
        fields = reader.plain({key: value for key, value in more.items() if _snake(str(key)) not in _IGNORED}, 1)
        return Part(text, metadata={"fields": [fields]} if fields else {})
    reader.read(part, "", 0)
    about: dict[str, object] = {"type": given, **reader.ids}
    if reader.binaries:
        about["binary"] = reader.binaries
    speaker, origin = _channel(kind, role)
    return Part("\n".join(reader.lines) or f"[{given}]", speaker, origin, {PART: about})


def _type(part: Mapping[object, object], number: int) -> str:
    """Return the type of a part. Gemini and Bedrock name it by the field that holds it."""
    kind = part.get("type")
    if kind is None:
        filled = [str(name) for name, value in part.items() if value is not None and value is not False]
        kind = next((name for name in filled if _snake(name) not in _BESIDE), None)
        kind = "text" if kind is None and "text" in part else kind
    if not isinstance(kind, str) or not kind:
        raise BadMessage(f'content part {number} has no type; use {{"type": "text", "text": …}} or a string')
    return kind[:100]


def _channel(kind: str, role: Role) -> tuple[Role, Origin]:
    if kind in _CALLS and role is Role.ASSISTANT:
        return Role.ASSISTANT, Origin.ASSISTANT
    if kind in _FILES and role is Role.USER:
        return Role.TOOL, Origin.USER_PASTED
    return Role.TOOL, Origin.TOOL


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).replace("-", "_").lower()


class _PartReader:
    """Reads every text out of a part, whatever it is wrapped in; of binary data its type, size and hash."""

    def __init__(self, number: int, measure: bool) -> None:
        self._number = number
        self._measure = measure
        self.lines: list[str] = []
        self.ids: dict[str, object] = {}
        self.binaries: list[dict[str, object]] = []

    def read(self, value: object, path: str, depth: int) -> None:
        """Append the lines of a value; `path` names it."""
        self._check(depth)
        if isinstance(value, Mapping):
            media = next((str(value[name]) for name in _MEDIA_TYPES if isinstance(value.get(name), str)), "")
            binary = any(isinstance(value.get(name), str | bytes | bytearray) for name in _BINARY)
            for name, one in value.items():
                if binary and name in _MEDIA_TYPES:  # it is told with the data
                    continue
                self._read_field(str(name), one, path, depth, media, coded=value.get("type") == "base64")
        elif isinstance(value, list | tuple):
            for one in value:
                self.read(one, path, depth + 1)
        elif value is not None:
            text = self._leaf(value, "", False)
            if text:
                self.lines.append(f"{path}: {text}" if path else text)

    def _read_field(self, name: str, value: object, path: str, depth: int, media: str, coded: bool) -> None:
        plain = _snake(name)
        if plain in _IGNORED or (name == "type" and (depth == 0 or value in _INNER_TYPES)):
            return
        if plain in _IDS and depth == 0 and isinstance(value, str):
            self.ids[name] = value
        elif plain in _BINARY and isinstance(value, str | bytes | bytearray):
            certain = coded or bool(media) or plain in ("file_data", "blob", "b64_json")
            here = path if plain in _WRAPPERS or certain else _path(path, name)
            text = self._leaf(value, media, certain or len(value) >= _LONG)
            if text:
                self.lines.append(f"{here}: {text}" if here else text)
        else:
            self.read(value, path if plain in _WRAPPERS else _path(path, name), depth + 1)

    def plain(self, value: object, depth: int) -> object:
        """Return a value as JSON, with binary data replaced by what is kept of it."""
        self._check(depth)
        if isinstance(value, Mapping):
            return {str(name): self.plain(one, depth + 1) for name, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.plain(one, depth + 1) for one in value]
        return value if isinstance(value, bool | int | type(None)) else self._leaf(value, "", False)

    def _check(self, depth: int) -> None:
        if depth > _DEEPEST:
            raise BadMessage(f"content part {self._number} is nested more than {_DEEPEST} deep")

    def _leaf(self, value: object, media: str, coded: bool) -> str:
        if isinstance(value, bytes | bytearray):
            return self._binary(bytes(value), media)
        if not isinstance(value, str):
            return str(value)
        if url := _DATA_URL.match(value):
            coded, media, encoded = True, url[1] or media, value[url.end() :]
        else:
            encoded = value
        if not coded:
            return value
        if not self._measure:
            return f"[{media or 'data'}]"
        data = _decoded(encoded)
        return value if data is None else self._binary(data, media)

    def _binary(self, data: bytes, media: str) -> str:
        if media.startswith("text/") or media == "application/json":
            try:
                return data.decode()
            except UnicodeDecodeError:
                pass
        self.binaries.append({"type": media or "unknown", "bytes": len(data), "sha256": sha256(data).hexdigest()})
        return f"[{media or 'data'}, {len(data):,} bytes]"


def _path(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _decoded(encoded: str) -> bytes | None:
    """Decode base64 in either alphabet; None if it is something else."""
    try:
        compact = "".join(encoded.split()).replace("-", "+").replace("_", "/")
        return base64.b64decode(compact + "=" * (-len(compact) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
