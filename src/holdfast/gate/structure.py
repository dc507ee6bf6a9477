"""The parts that code is made of (GATE-8)."""

from __future__ import annotations

from holdfast.gate.family import Family, Telltale, any_of, lines, words
from holdfast.gate.technical import FUNCTION_DEFINITION

__all__ = ["STRUCTURE"]

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
