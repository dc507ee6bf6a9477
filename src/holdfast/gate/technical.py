"""What makes a turn technical (GATE-2).

The seed's patterns took "and/or" for a path, "go" for a command and "tea (green)" for a function. These ask for what
only a machine would read: an ending, a flag, a bracket glued to its name.
"""

from __future__ import annotations

from holdfast.gate.family import Family, Telltale, any_of, lines, words

__all__ = ["FILE_PATH", "FUNCTION_DEFINITION", "TECHNICAL", "URL"]

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
