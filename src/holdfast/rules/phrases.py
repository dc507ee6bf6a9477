"""The English phrases that make a sentence a rule, whatever its verb: "from now on", "is not allowed"."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import islice

from holdfast.rules.text import EVERYBODY, IDLE_NOS, PRACTICES, TECHNICAL, Finding, Modality, Said

_MUST, _NOT, _MAY, _HOW = Modality.OBLIGATION, Modality.PROHIBITION, Modality.PERMISSION, Modality.PRESCRIPTION


@dataclass(frozen=True, slots=True)
class PhraseFrame:
    modality: Modality
    needs: frozenset[str]
    """A sentence without one of these words is not looked at."""
    pattern: re.Pattern[str]


def _frame(modality: Modality, needs: str, pattern: str) -> PhraseFrame:
    return PhraseFrame(modality, frozenset(needs.split()), re.compile(pattern))


_LEAD = r"^(?>(?:(?:and|but|so|ok|okay|also|oh|please|pls|btw|yes|well|again|just|hey|hi)[,!.:]* +){0,3})"
_OUTPUT = (
    r"(?:answers?|repl(?:y|ies)|responses?|summar(?:y|ies)|explanations?|reports?|drafts?|code|comments?"
    r"|messages?|mails?|emails?)"
)
_NOT_ME = r"(?<!\bi'm )(?<!\bi am )(?<!\bwe're )(?<!\bwe are )(?<!\bwas )(?<!\bwere )"

# The order is that of trust: what comes first gives the modality and the cue.
FRAMES = (
    _frame(
        _NOT,
        "no exceptions circumstances account event condition",
        r"\b(?:under no circumstances|on no account|in no event|under no condition|under any circumstances)\b",
    ),
    _frame(
        _NOT,
        "forbidden prohibited banned unlawful illegal permitted allowed acceptable limits off-limits taboo verboten",
        rf"\b(?=[abit]){_NOT_ME}(?:is|are|it's|that's|be|isn't|aren't)(?: strictly| absolutely| also| all)?"
        r" (?:(?:forbidden|prohibited|banned|unlawful|off[- ]limits|taboo)|not (?:allowed|permitted|acceptable"
        r"|an option))\b"
        r"|\b(?:isn't|aren't) (?:allowed|permitted|acceptable)\b|^(?:strictly )?(?:forbidden|prohibited"
        r"|not allowed)\b"
        r"|\byou(?:'re| are) (?:(?:not|never) (?:allowed|permitted)|forbidden|prohibited|barred|banned)\b"
        r"|^(?:nobody|no one|no [\w-]+) (?:is|are) (?:allowed|permitted)\b",
    ),
    _frame(
        _MUST,
        "mandatory required compulsory obligatory obliged obligated bound must due liable responsible",
        r"(?<!\bi'm )(?<!\bi am )\b(?:is|are|be|it's)(?: always| hereby| strictly| solely| also| jointly)? "
        r"(?:mandatory|compulsory|obligatory|a must(?!-)|required(?! by law)|obliged|obligated|bound by"
        r"|due (?:within|on|by|upon|in advance|no later)|liable (?:for|to)|responsible for)\b"
        r"|^(?:required|mandatory) ?:",
    ),
    _frame(
        _MAY,
        "optional entitled permitted free permission allowed right rights welcome discretion",
        r"\b(?:is|are) (?:optional|entitled to|permitted to|allowed to|free to|welcome to (?:use|change|edit"
        r"|skip|choose|pick|add))\b"
        r"|\byou(?:'re| are) (?:free|allowed|permitted) to\b|\byou have (?:my|our) (?:permission|okay|ok|consent)\b"
        r"|\breserves? the right\b|\b(?:has|have|shall have) the (?:sole |exclusive )?right to\b"
        r"|\bat its (?:sole )?discretion\b",
    ),
    _frame(
        _MAY,
        "fine ok okay acceptable alright right free ask need needn't",
        r"^(?:it's|it is|that's)(?: perfectly| totally| absolutely| also)? (?:fine|ok|okay|acceptable"
        r"|all right|alright) (?:to|if you|for you to)\b"
        r"|\bfeel free to (?!call|ask|contact|reach|stop|drop|come|join|visit|drink|help yourself|tell|let"
        r"|give|take|get|look|browse|see|walk|go|suggest|share|send|make)\w"
        r"|\byou (?:don't|do not|needn't|need not) (?:have to |need to )?(?:ask|be polite|explain|apologi[sz]e"
        r"|confirm|check with|run|test|write)\b"
        r"|^no need to (?:ask|explain|apologi[sz]e|confirm|cite|repeat|mention|test|run|write|add|be)\b"
        r"|^\w+ing (?:is|are) (?:ok|okay|fine|allowed)\W*$",
    ),
    _frame(
        _NOT,
        "want no",
        rf"{_LEAD}i (?:don't|do not|never) (?:ever )?want (?:you to (?:ever )?\w|to (?:see|read|hear) "
        rf"|to be (?:called|asked|told|disturbed|contacted|copied|addressed)|any (?!more (?:coffee|tea|food)"
        rf"|trouble)\w|(?!to\b|it\b|that\b|this\b|the\b|you\b|a\b|an\b|my\b)(?:[\w-]+ ){{1,3}}(?:in|on|during"
        rf"|at|before|after|from) \w)",
    ),
    _frame(
        _NOT,
        "rather prefer",
        r"\bi(?:'d| would) (?:rather|prefer (?:that|if|it if)) you (?:didn't|did not|don't|not|never)\b",
    ),
    _frame(
        _HOW,
        "rather prefer",
        rf"\bi(?:'d| would) (?:much )?(?:rather|prefer(?: that| if| it if)?) you\b"
        rf"|\bi(?:'d)? prefer (?:\w+ ){{0,3}}{_OUTPUT}\b"
        rf"|\bi prefer (?:that |it when |if )?you\b",
    ),
    _frame(
        _HOW,
        "appreciate good great nice grateful",
        r"\b(?:i'd|i would) (?:appreciate|be grateful|be glad)(?: it)? if you (?:always|never|could always"
        r"|didn't|did not|stopped|kept|used|only)\b"
        r"|\bit (?:would|'d) be (?:good|great|nice|best|better) if you (?:always|never|didn't|stopped|kept"
        r"|used|only)\b",
    ),
    _frame(
        _HOW,
        "want like love expect insist need wish",
        rf"{_LEAD}i(?:'d| would)? (?:want|like|(?<=d )love|expect|insist on|need|prefer)"
        rf" (?:(?:all|every|each|no|only)\b|(?:\w+ ){{0,3}}{_OUTPUT} (?:in|under|below|to be|with|without|as"
        rf"|short|that)\b"
        r"|(?:\w+ ){1,4}(?:with|for|in|before|after|from) (?:every|each|all|any|everything)\b)"
        rf"|{_LEAD}i insist (?:that|on|you)\b|^what i (?:need|want|expect) from you is\b"
        r"|\bi (?:want|need|expect) (?:it|this|that|them) \w+ (?:whenever|every time|each time|when you)\b",
    ),
    _frame(
        _MUST,
        "important essential vital crucial imperative critical necessary",
        r"\bit(?:'s| is) (?:very |really |absolutely |also )?(?:important|essential|vital|crucial|imperative"
        r"|critical|necessary) "
        rf"(?:that (?:the|every|all|no|each|you|your|any|nobody|no one|we never|we always)\b|to (?:always|never"
        rf"|{'|'.join(sorted(TECHNICAL))})\b)",
    ),
    _frame(
        _MUST,
        "sure certain ensure see habit remember forget",
        rf"(?:{_LEAD}(?:always |do |then )?|[;:–—] |\b(?:please|always) )(?:make (?:absolutely |very "
        rf"|damn )?(?:sure|certain)|be (?:sure|certain) (?:to|that|you)"
        r"|ensure|see to it that|make it a habit)\b(?! (?:to (?:come|call|visit|drop|stop|try|see|be|get|go"
        r"|bring|say|tell|write|keep|take care|enjoy|rest|stay)|you (?:come|call|have|get|try|see|are"
        r"|take care|keep|enjoy|rest|stay))\b)",
    ),
    _frame(
        _MUST,
        "remember forget",
        rf"{_LEAD}(?:always |do )?(?:remember|don't forget|do not forget|never forget) to (?!call|buy|bring"
        rf"|come|get|pick|say|take|tell|smile|be\b|have|pay|book|invite|send|ask|stay|pause|breathe|enjoy|relax"
        rf"|rest|drink|eat|thank|vote|celebrate)\w",
    ),
    _frame(
        _HOW,
        "rule rules policy policies convention conventions guideline guidelines standard practice principle",
        r"^(?:the|our|my|one|house|team|general|first|ground|company|basic|golden)?\s?(?:\w+ ){0,2}"
        r"(?:rules?|polic(?:y|ies)|conventions?|guidelines?|standard|principle)(?: (?:number )?(?:one|two"
        r"|three|\d+))?(?: (?:here|for \w+(?: \w+)?))?"
        r"(?: (?:is|are)(?! (?:a|an|the|not|that there|silly|stupid|too|very|so|easy|simple|no)\b) | ?: ?)\w"
        r"|^as a (?:general )?rule,? (?:of thumb,? )?(?!i\b|he\b|she\b|they\b|we\b)|^as a rule,? i want\b",
    ),
    _frame(
        _HOW,
        "maximum minimum max min limit",
        r"^(?:the )?(?:maximum|minimum|max|min)\.?(?: \w+){1,3} ?(?::|is\b) ?\W?\w",
    ),
    _frame(
        _MUST,
        "from going forward starting until henceforth onwards onward effective",
        r"^(?!(?:i|we|he|she|they|it|my|i'm|i'll|i've|we'll|we're)\b(?! (?:want|need|expect|don't|do not"
        r"|'d like|would like)\b)).{0,400}?\b(?P<cue>from (?:now|today|here|this point|this day"
        r"|tomorrow) (?:on(?:wards?)?|forward)|going forward|henceforth|until further notice"
        r"|(?<!.)(?:starting|effective|as of|beginning) (?:today|now|tomorrow|immediately|next (?:week|month)"
        r"|\w+day))\b"
        r"(?!,? (?:i|i'm|i'll|he|she|they|we'll|it|my)\b)",
    ),
    _frame(
        _NOT,
        "no",
        r"^(?>(?:absolutely |please,? |and |also,? |ok,? |so )*)no more than (?:one|two|three|four|five|six|ten"
        r"|an?|\d+)\b"
        r"|\b(?:use|spend|write|give|send|make|add|take|retry|book) (?:\w+ ){0,2}no more than\b",
    ),
    _frame(
        _NOT,
        "nobody nothing one anyone no",
        rf"^(?:nobody|no one|no-one) (?:is to|(?:{'|'.join(sorted(PRACTICES))})e?s)\b"
        r"|^(?:nobody|no one|no-one) (?!has|is|was|does)\w{2,20}s\b.{1,80}\b(?:without|alone|unless|until"
        r"|before|directly|unattended)\b"
        r"|^nothing (?:gets|goes|leaves|is (?:deployed|merged|shipped|published|sent|paid)|without|may|moves)\b"
        r"|^nobody gets \w+ without\b",
    ),
    _frame(
        _NOT,
        "never",
        r"^(?!(?:i|we|he|she|they|it|you|my|the|a|an|his|her|that|this|there|dad|mum|mom)\b)"
        r"(?:[\w-]+ ){0,3}[\w-]*[a-z]{2}s never (?!worked"
        r"|was|were|had|did|got|came|went|seem|said|\w+ed\b)[a-z]+",
    ),
    _frame(
        _HOW,
        "belong belongs live lives go goes stay stays nowhere",
        r"\b(?:belongs?|lives?) (?:in|under|on|to|with|next to) .{1,60}(?:, never|, not|and nowhere|; do not"
        r"|; don't| only\b)"
        r"|^(?!i\b|we\b|he\b|she\b|they\b|it\b|my\b|this\b)(?:[\w-]+ ){1,8}(?:goes?|go out|passes"
        r"|runs?) (?:through|via|to|at|in) .{1,60}\b(?:only|first|never|always|nowhere)\b"
        r"|^(?:all|every|everything|each|any|anything)\b(?: [\w-]+){0,8} (?:goes?|gets?|pass(?:es)?"
        r"|runs?) (?:through|to|via|a|an|in|into)\b"
        r"|\bstays? (?:in|inside|within|out of) (?:production|staging|the (?:repo|building|house|office|vault))\b",
    ),
    _frame(
        _HOW,
        "each every any all whoever anything",
        r"^(?:each|every|any)(?! (?:day|time|now|morning|year|week|month|night|one of|of|summer|winter|weekend"
        r"|other)\b)(?: [\w-]+){1,5}"
        r" (?:has exactly|gets|needs?|requires?|ends? with|starts? with|begins? with|carries|comes with|leaves"
        r"|goes|belongs)\b"
        r"|^all (?!of|right|i\b|we\b|you\b|the best|my)(?:[\w-]+ ){1,4}(?:needs?|requires?|go through|go to"
        r"|follow|in (?!all)\w)"
        r"|^whoever \w+s\b(?: [\w-]+){0,5} \w+s\b|\bideally,? (?:every|each|all)\b",
    ),
    _frame(
        _MUST,
        "require requires needs",
        r"\brequires? (?:my|our|a second|prior|written|explicit|approval|two approvals|sign-?off|consent"
        r"|permission)\b",
    ),
    _frame(
        _HOW,
        "team project repo repository house company codebase office family kitchen shop club lab",
        r"^(?:on|in) (?:this|our) (?:team|project|repo|repository|house|company|codebase|office|family|kitchen"
        r"|shop|club|lab),? (?!i\b|it\b|he\b|she\b|they\b|there\b|we (?:are|have|had|were|will)\b)",
    ),
    _frame(
        _NOT,
        "rather forbid better ban zero",
        rf"{_LEAD}i(?:'d| would) rather not (?:see|have|read|hear|get|use|be (?:called|asked|told))\b"
        rf"|{_LEAD}i (?:forbid|ban|prohibit)\b"
        r"|\byou(?:'d| had) better not\b|^zero tolerance\b",
    ),
    _frame(
        _MUST,
        "ask count trust rely better trusting do",
        rf"{_LEAD}i (?:ask|count on|rely on|trust|expect|require|beg|urge)(?: that)? you (?:to |always |never "
        rf"|keep |don't )|{_LEAD}you(?:'d| had) better (?:always|ask|check|keep|never)\b"
        r"|^whatever (?:you do|happens)\b,",
    ),
    _frame(_MUST, "always never", r"\bthat you (?:always|never) (?!know|want)[a-z]+(?<!ed)\b"),
    _frame(
        _NOT,
        "okay ok fine acceptable alright right cool",
        r"\b(?:(?:it's|it is|that's|is) (?:not|never)|isn't) (?:ok|okay|fine|acceptable|alright|all right"
        r"|cool) (?:to|for)\b",
    ),
    _frame(
        _NOT,
        "want",
        rf"{_LEAD}i (?:don't|do not|never) (?:ever )?want (?:my|our|the|any) (?:[\w-]+ ){{1,4}}(?:used|shared"
        rf"|sold|changed|published|stored|touched|deleted|shown|sent|mentioned)\b",
    ),
    _frame(
        _MUST, "remember forget", rf"{_LEAD}(?:remember|don't forget) to .{{1,80}}\b(?:every|each|always|whenever)\b"
    ),
    _frame(_NOT, "ever", rf"{_LEAD}don't you (?:ever|dare)\b"),
    _frame(_NOT, "better", rf"{_LEAD}better not [a-z]+ "),
    _frame(
        _NOT,
        "don't not never",
        r"^you (?:don't|do not|never) (?:ever )?(?:talk to|open|touch|share|discuss|use|publish|push|merge"
        r"|commit|deploy|mention|reveal|quote|sign|spend|accept|give (?:out|away)|speak to|write to|promise"
        r"|edit|delete|change) (?!a word)",
    ),
    _frame(_MUST, "ask tell check", r"^you (?:always )?(?:ask|tell me|check|confirm|call me) (?:first|before)\b"),
    _frame(_NOT, "never ever", rf"{_LEAD}never,? ever,? (?:again )?[a-z]"),
    _frame(_NOT, "hate like stand", rf"{_LEAD}i (?:hate|dislike|don't like|can't stand) it when you\b"),
    _frame(
        _HOW,
        "call address pronouns remember note style format tone spelling language",
        r"^(?:please |just )?(?:call|address) me (?:by|as|mr|ms|mrs|dr|\w+, not|\w+ from|\w+ instead)\b"
        r"|^my pronouns are\b"
        r"|^(?:remember|note|style|format|tone|spelling|language) ?: ?\w",
    ),
    _frame(
        _HOW,
        "let's",
        r"\blet's (?:always|stick (?:with|to)|standardi[sz]e on|keep using|agree (?:that|to|on)|only (?:use"
        r"|accept))\b"
        r"|\blet's (?:use|keep|write|put|name|call|do) .{1,60}\b(?:for all|in all|for every|everywhere"
        r"|by default|from now on)\b",
    ),
    _frame(_HOW, "way come comes", r"\bkeep it that way\b|^[\w-]+ comes? (?:before|first|after) \w"),
    _frame(
        _NOT,
        "there there's",
        r"\bthere (?:should|must|shall|is to|can|may) (?:never )?be no\b|\bthere (?:should|must|shall|may"
        r"|can) (?:never|not) be\b",
    ),
    _frame(
        _MUST,
        "there",
        r"\bthere (?:should|must|has to|have to|needs to|shall) (?:always )?be (?:an?|at least|exactly|one"
        r"|two)\b.{1,80}\b(?:every|each|any|all|per|before|whenever)\b",
    ),
    _frame(
        _MAY,
        "fine ok okay allowed need welcome optional",
        r"^(?:there's |there is )?no need to (?!worry|hurry|rush|thank|shout|cry|panic|come|go|pay)\w"
        r"|^\w{2,}ing (?:[\w-]+ ){0,4}is (?:fine|ok|okay|allowed|optional|permitted|encouraged)\W*$"
        r"|\byou(?:'re| are) welcome to (?!come|visit|join|stay|try|have|bring|call)\w|^[\w -]{2,40} (?:is"
        r"|are) (?:fine|ok|okay|allowed|optional) (?:in|for|on|if|when|with)\b",
    ),
    _frame(
        _NOT,
        "accepted tolerated permitted allowed refunded considered",
        r"\bwill (?:not|never) be (?:accepted|tolerated|permitted|allowed|refunded|reimbursed|considered"
        r"|admitted)\b|\b(?:is|are) (?:not|never) (?:accepted|tolerated|refunded|counted|shown|shared|used"
        r"|published|stored|logged)\b|\bwon't be (?:accepted|tolerated|permitted|allowed|refunded|merged)\b",
    ),
    _frame(
        _MUST,
        "needed required necessary",
        r"\b(?:approval|consent|permission|review|sign-?off|signature|authori[sz]ation|confirmation) (?:is"
        r"|are) (?:needed|required|necessary)\b",
    ),
    _frame(
        _NOT,
        "only",
        r"^(?!i\b|he\b|she\b|it\b|they\b|we\b)(?:[\w-]+ ){1,5}(?:is|are) only (?:[a-z]{2,20}ed|paid|sent|given"
        r"|made|shown|sold|open|available|valid) (?:if|when|after|with|by|once|on request|to)\b",
    ),
    _frame(_NOT, "hands", r"^(?:please )?hands off\b|^keep (?:your )?hands off\b"),
    _frame(
        _NOT,
        "limits off-limits read-only taboo bounds",
        r"\b(?:is|are) (?:off[- ]limits|read-only for|out of bounds|taboo|no place)\b",
    ),
    _frame(_NOT, "place", r"\b(?:has|have) no place (?:in|on|here)\b"),
    _frame(_MUST, "exceptions", r"\bno exceptions\b"),
    _frame(
        _HOW,
        "per only",
        r"^(?:only )?(?:one|two|three|a single|exactly one|\d+)(?: [\w-]+){1,3} per [\w-]+\W*$"
        r"|^[\w-]+(?: [\w-]+)? only, (?:no|not|never)\b",
    ),
    _frame(
        _NOT,
        "to",
        r"\b(?:you're|you are|nobody is|no one is|(?:is|are|'re) (?:not|never)|isn't|aren't) (?:not "
        r"|never )?to (?!be (?:fair|honest)|blame|say|do with|me\b|you\b|my\b|the\b|a\b|your\b|far"
        r"|late)(?=[a-z]{2})(?:(?<=not to )|(?<=never to ))"
        r"|\b(?:isn't|aren't) to (?:be|have|use|go|do|touch|enter|open|leave)\b|^(?:no one|nobody) is to\b",
    ),
    _frame(
        _MUST,
        "to",
        r"\b(?:you are|you're) to (?!be (?:honest|fair)|blame)\w|\b(?:are|is) to be (?:[a-z]{2,20}ed|settled"
        r"|made|kept|paid|held|sent|given|shown|done|written|built)\b"
        r"|\b(?:treasurer|secretary|chair|members?|students?|guests?|tenants?|parties|staff|supplier"
        r"|contractor|employees?|visitors?|each \w+) (?:is|are) to [a-z]"
        r"|\byou(?:'re| are) (?:not )?(?:supposed|expected|required|obliged) to\b|\bi(?:'m"
        r"| am) (?:not )?to be [a-z]+ed\b",
    ),
    _frame(
        _MUST,
        "agree agrees undertake undertakes covenant covenants warrants hereby waive waives expressly",
        r"\b(?=[huacw])(?<!\bi )(?<!\bwe )(?<!\bhe )(?<!\bshe )(?<!\bthey )"
        r"(?:hereby (?:\w+ )?)?(?:(?:agrees|undertakes?|covenants?|warrants|(?<=parties )agree)"
        r"(?: and \w+)? (?:not )?(?:to (?!disagree|differ)|that)"
        r"|hereby \w+)\b"
        r"|\b(?:hereby|expressly|irrevocably|unconditionally) (?:waives?|agrees?|assigns?|releases?)\b"
        r"|\bwaives? (?:any|all|its)\b",
    ),
)


# --- Which English phrase makes a sentence a rule: one of the table (deontic_phrases), or "no X without Y".


_BY_WORD: dict[str, list[int]] = defaultdict(list)
for _number, _one in enumerate(FRAMES):
    for _word in _one.needs:
        _BY_WORD[_word].append(_number)
_WORDS = frozenset(_BY_WORD)

_NO = re.compile(
    rf"^(?>(?:(?:absolutely|strictly|please|and|also|so|ok|okay|rule \w+:|positively)[,:]* )*)"
    rf"no (?!(?:{'|'.join(sorted(IDLE_NOS))})\b)(?P<what>[\w'/-]+(?: [\w'/-]+){{0,30}})"
)
_NO_STANDING = re.compile(
    r"\b(?:without|unless|after|before|in|on|at|near|per|for|during|until|allowed|please|here|with|from"
    r"|outside|inside|under)\b"
)
_NO_STORY = re.compile(
    r"\b(?:is|are|was|were|has|have|had|did|does|do|can|could|will|would|so far|yet|left|found|named|today|came|knows"
    r"|happened|i|he|she|they|it)\b"
)
_MOST_CLAUSES = 4
_BRIEF_NO = 4
"""Words of "no wildcard imports": more of them need a word that says where or when."""


def framed(said: Said) -> Finding | None:
    """The first frame that fits."""
    for number in sorted({number for word in said.words & _WORDS for number in _BY_WORD[word]}):
        frame = FRAMES[number]
        if found := frame.pattern.search(said.lower):
            cue = found["cue"] if "cue" in frame.pattern.groupindex else found[0]
            return Finding(frame.modality, (cue or found[0]).strip(" ,;:.–—") or found[0])
    return _no_such_thing(said) if "no" in said.words else None


_CLAUSE = re.compile(r"(?:, so|[:;–—]) (?=(?:absolutely |please )?no )")


def _no_such_thing(said: Said) -> Finding | None:
    """A thing that there is not to be: "no deploys without a review", "no swearing"."""
    for clause in islice(_CLAUSE.split(said.lower), _MOST_CLAUSES):
        found = _NO.match(clause)
        if found is None or _NO_STORY.search(found["what"]):
            continue
        words = found["what"].split()
        things = any(word.endswith(("s", "ing")) for word in words[:3])
        if _NO_STANDING.search(found["what"]) or (len(words) <= _BRIEF_NO and things and words[0] not in EVERYBODY):
            return Finding(Modality.PROHIBITION, f"no {words[0]}")
    return None
