"""A text as the sentences that could be rules: where each lies, and what stands over it ("Rules:", "You must:").

Code, quotations and pasted parts are nobody's orders to the reader and are left out; bullets lose their mark; a line
that was only wrapped goes on. One pass, linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from holdfast.gate.own_words import pasted_parts
from holdfast.text.vocabulary import word_set
from holdfast.text.words import sentence_ends


@dataclass(frozen=True, slots=True)
class Sentence:
    """text[start:stop]; `over` is the line that announces the list it stands in, or empty."""

    start: int
    stop: int
    over: str = ""


@dataclass(frozen=True, slots=True)
class _SentenceLine:
    start: int
    stop: int
    body: int
    """Start of its words, after a bullet."""
    item: bool
    heading: bool


_FRONT = re.compile(
    r"[ \t]*+(?:>[ \t]?)?(?:(?P<item>[-*+•–—]|\d{1,3}(?:\.\d{1,3})*[.)]|\([a-z\d]{1,3}\))[ \t]++(?:\[[ xX]\][ \t]++)?)?"
)
_HEADING = re.compile(r"[ \t]*+(?:#{1,6}[ \t]|\*\*[^*]{1,80}\*\*:?[ \t]*$|__[^_]{1,80}__:?[ \t]*$)")
_WRAPPED = 50
"""A line of this length without a final mark was wrapped, if the next one continues in lower case."""
_ENDS = tuple(".!?:;…。！？")
_CLOSERS = "\"'”’)*_` \t"
_QUOTE = re.compile(
    r"(?<!\w)\"[^\"\n]{1,400}+\"(?!\w)|“[^“”\n]{1,400}+”|«[^«»\n]{1,400}+»|„[^„“”\n]{1,400}+[“”]|(?<!\w)‘[^‘’\n]{1,200}+’(?!\w)"
)
_CODE = re.compile(r"`[^`\n]{1,200}+`")


def masked(text: str) -> str:
    """The text with what it quotes or writes as code made unreadable, each character for one."""
    if "`" in text:
        text = _CODE.sub(lambda code: "x" * len(code[0]), text)
    if text.isascii() and '"' not in text:
        return text
    return _QUOTE.sub(lambda quote: "x" * len(quote[0]), text)


def sentences_of(text: str) -> Iterator[Sentence]:
    """The sentences of a text's own words, in order."""
    pasted = [(part.start, part.end) for part in pasted_parts(text)]
    over, under_heading, place = "", "", 0
    for line in _paragraphs(_lines(text), text):
        while place < len(pasted) and pasted[place][1] <= line.body:
            place += 1
        if place < len(pasted) and pasted[place][0] <= line.body:
            continue
        stop = min(line.stop, pasted[place][0]) if place < len(pasted) else line.stop
        if line.heading:
            over, under_heading = "", text[line.body : stop]
            continue
        if not line.item and over and text[line.start - 2 : line.start] == "\n\n":
            over = ""  # a list ends with the paragraph after it
        lead = over or (under_heading if line.item else "")
        last = ""
        for start, end in _split(text, line.body, stop):
            yield Sentence(start, end, lead)
            last = text[start:end]
        if last.rstrip(_CLOSERS).endswith(":"):
            over = last
        elif not line.item and not lead:
            over = ""


def _lines(text: str) -> Iterator[_SentenceLine]:
    at = 0
    for whole in text.splitlines(keepends=True):
        stop = at + len(whole.rstrip())
        if stop > at:
            heading = _HEADING.match(text, at, stop)
            front = _FRONT.match(text, at, stop)
            body = at + len(whole) - len(whole.lstrip("# \t*_")) if heading else front.end() if front else at
            yield _SentenceLine(at, stop, min(body, stop), bool(front and front["item"]), heading is not None)
        at += len(whole)


def _paragraphs(lines: Iterator[_SentenceLine], text: str) -> Iterator[_SentenceLine]:
    """Lines that were only wrapped are one."""
    held: _SentenceLine | None = None
    for line in lines:
        if held is not None and _goes_on(held, line, text):
            held = _SentenceLine(held.start, line.stop, held.body, held.item, held.heading)
            continue
        if held is not None:
            yield held
        held = line
    if held is not None:
        yield held


def _goes_on(before: _SentenceLine, line: _SentenceLine, text: str) -> bool:
    if line.item or line.heading or before.heading or not text[line.body : line.body + 1].islower():
        return False
    last = text.rfind("\n", before.start, before.stop) + 1
    wrapped = before.stop - max(last, before.start) >= _WRAPPED
    gap = text[before.stop : line.start]
    return wrapped and gap.count("\n") <= 1 and text[before.stop - 1] not in _ENDS


def _split(text: str, start: int, stop: int) -> Iterator[tuple[int, int]]:
    line = text[start:stop]
    at = 0
    for end in [*sentence_ends(line), len(line)]:
        said = line[at:end]
        kept = said.strip()
        if kept:
            begin = start + at + len(said) - len(said.lstrip())
            yield begin, begin + len(kept)
        at = end


# --- What a rule is: its words, where they lie, what kind of rule, and the words that decided.


class Modality(StrEnum):
    OBLIGATION = "obligation"
    PROHIBITION = "prohibition"
    PERMISSION = "permission"
    PRESCRIPTION = "prescription"
    """A way to do something: "use tabs", "dates are written day first"."""


@dataclass(frozen=True, slots=True)
class Norm:
    """A sentence that is a rule: text[start:stop] of the text it was found in."""

    text: str
    start: int
    stop: int
    modality: Modality
    cue: str
    """The words that decided, for receipts."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of a language's reader for one sentence."""

    modality: Modality
    cue: str
    reader: str = ""
    """Name of the language's reader that found it."""


_PLAIN = str.maketrans("’‘ʼ＇\n\t\r", "''''   ")
_TOKEN = re.compile(r"[^\W_][\w'./-]*+|[,;:()–—]|\?")
_MOST = 1500
"""Characters of a sentence that are read: contracts have long ones, and a dump is none."""


class Said:
    """One sentence as the patterns read it: plain apostrophes, lower case, on one line."""

    def __init__(self, text: str) -> None:
        self.text = text[:_MOST].translate(_PLAIN)
        self.lower = self.text.lower()

    @cached_property
    def tokens(self) -> list[str]:
        """Its words and the marks between them, in lower case."""
        return [token.rstrip(".'-/") for token in _TOKEN.findall(self.lower)]

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(self.tokens)


# --- The English words that decide whether a sentence is a rule: our own lists, one for each part they play.


# --- who -------------------------------------------------------------------------------------------------------------

EVERYBODY = word_set(
    """every each all any no only nobody anybody everybody anyone everyone neither either whoever nothing none both
    everything anything new"""
)
"""A subject that begins so is nobody in particular: what is said of it holds in general."""
DETERMINERS = word_set("the a an this that these those my our your his her their its some")
THIRD_PERSONS = word_set("he she they it this that there these those who which someone somebody mum mom dad what")
PARTIES = word_set(
    """adult adults children kids pupil pupils agent agents applicant applicants attendee attendees author authors
    bidder bidders board borrower borrowers buyer buyers candidate candidates carrier chair chairman client
    clients committee company competitor competitors contractor contractors contributor contributors customer
    customers developer developers director directors driver drivers employee employees employer engineer
    engineers guarantor guardian guest guests insurer intern interns landlord landlords lender lenders lessee
    lessees lessor licensee licensees licensor lodger lodgers maintainer maintainers manager managers member
    members minor minors nurse nurses occupant officer officers operator operators owner owners parent parents
    participant participants party parties passenger passengers patient patients person persons player players
    processor provider providers publisher purchaser reader readers recipient recipients resident residents
    reviewer reviewers secretary seller sellers senior seniors shareholder shareholders staff student students
    subcontractor subscriber subscribers subtenant supplier suppliers teacher teachers team teams tenant tenants
    treasurer trustee trustees user users vendor vendors visitor visitors volunteer volunteers worker workers"""
)
"""Parties of contracts, house rules and workplaces, which have duties and permissions."""

PEOPLE = word_set(
    """aunt baby boss boy boyfriend boys brother brothers cat colleague colleagues cousin dad daughter daughters doctor
    dog family father fiance fiancee flatmate friend friends girl girlfriend girls grandfather grandma
    grandmother grandpa husband kid kids landlord man mom mother mum neighbor neighbour neighbors neighbours
    niece nephew parents partner roommate sister sisters son sons teacher therapist team uncle wife woman body
    back head heart leg car"""
)
"""Of whom one tells: "my sister has to …"."""

# --- what they do ----------------------------------------------------------------------------------------------------

ORDERED = word_set(
    """abide abstain consider steer adhere address anonymise anonymize answer apologise apologize ask assume avoid
    batch be begin cap capitalise capitalize cc cite cluster commit confirm cut default define deploy discuss
    document double-check encrypt end enforce ensure escalate fall favor favour flag focus follow format greet
    group handle hash honor honour include indent keep label leave limit lint localise localize log maintain
    mask mention minimise minimize name obey omit order pad paginate parse pause pin ping place prefer prefix
    preserve prioritise prioritize protect quote redact refer refrain refuse reject rely remain reply report
    require respect respond restrict retain return rotate round run sanitise sanitize sign skip sort speak spell
    squash stay stick stop store structure suffix tag talk test think treat type use validate verify version
    wash wrap quit default"""
)
"""Verbs of prescription: as a bare order they say how things are done, not what to do next."""
ERRANDS = word_set(
    """abbreviate acknowledge adapt advise align allow alert audit await balance block break bundle coach combine
    comment comply consider consult contact coordinate deal deduct defer deliver deny differentiate dispose
    distinguish distribute divide embed emphasise emphasize encourage evaluate examine expect extend fold freeze
    greet guard guide inform inline investigate isolate iterate justify limit log memoise memoize mirror mix
    mock monitor narrow number observe paraphrase partition perform persist phrase pipe profile propose pull-
    request quarantine randomise randomize reduce reference reload rephrase reserve reuse reward sandbox seal
    seek serve stage standardise standardize steer stream supply surface suspend swap sync tailor tighten title
    transfer trust typecheck underline uphold vary visit vote warn watch whitelist withhold yield add adjust
    analyse analyze append apply archive assign attach award bake book bring build bump buy calculate call
    cancel change charge check choose clean clear click close collect compare compile compose compress compute
    configure connect convert copy correct count cover create debug delete describe design disable discard do
    double download draft draw drop edit email enable enter estimate exclude execute explain export extract feed
    fetch fill filter find finish fix generate get give go help hide highlight identify implement import improve
    insert inspect install introduce invite invoke join let link list load lock look lower mail make mark
    measure merge migrate move note notify offer open organise organize outline pack pass paste pay pick plan
    play point post pour prepare present print proofread provide publish pull push put raise rank read rebase
    rebuild recommend record refactor refund register release remind remove rename render repeat replace request
    reset resolve restart review revise rewrite save say scan schedule search secure select sell send separate
    set share ship shorten show simplify spend split start state strip submit suggest summarise summarize
    support switch take tell throw touch track translate trim try tune turn update upgrade upload wait wake
    watch water wear weigh work write"""
)
"""Verbs of which one order is an errand: they make a rule with a word that lets it stand ("each", "before you")."""
PRACTICES = ORDERED - word_set(
    "be begin cut end fall leave remain run speak stay stop talk think type order back group place discuss ask answer"
) | word_set(
    """accept add approve archive book bill build bump change charge check commit copy delete deploy discount discuss
    disclose edit expose force-push guess invoice lock log merge migrate modify notify open pay pin post publish
    push quote read rebase refund release remove rename reveal review run save schedule send share ship sign
    spend squash store submit support tag test touch update upload write ask answer keep wear"""
)
"""Verbs for what teams and assistants do repeatedly: "we never merge …" is a rule, "we never met" is a story."""
TECHNICAL = PRACTICES - word_set(
    """accept add book build change check copy lock notify open pay post read run save send share sign spend stop
    support touch keep wear update maintain return be follow include handle name limit prefer protect refer
    refuse rely report respect retain stick treat spell mention focus confirm avoid approve bill"""
)
"""Practices that nobody takes for advice about life: after "you should" and "we have to" they alone decide."""
BEFORE_VERBS = word_set("please pls kindly just do also then and so but ok okay always never instead only")
ADVERBS = word_set(
    """always never also not only then really please ever just promptly hereby thereafter thereupon immediately first
    still generally normally at all times solely further each both either in any case therefore however strictly
    probably definitely simply actually"""
)

# --- what a modal says other than a duty -----------------------------------------------------------------------------

STATES = word_set(
    """able afraid alone amazing back better different easier faster over possible ready angry asleep aware awesome
    awful bad beautiful bored boring broken busy cold confused crazy curious dead delicious delighted difficult
    disappointed dizzy down easy enough excited exciting exhausted expensive famous fine frustrating fulfilling
    fun funny glad good great happy hard heartbroken hell here home horrible hot hungry ill incredible insane in
    inspiring interesting it jealous jet-lagged joking kidding lonely lost lovely lucky mad magic mistaken
    nervous new nice off ok okay out painful proud quite really rewarding rich satisfying scary special right
    sad scared serious shocked sick so sorry starving stressed strong such super tiring tremendous surprised
    swollen me him her us them terrible terrified the thirsty thrilled tired tough true upset very warm warmer
    weird wonderful worried worse worth wrong you your"""
)
"""After "must be": what one concludes about somebody, not what they owe."""
EPISTEMIC = word_set(
    """be have take fail vary need cause seem appear help affect lead result become look sound get happen come go know
    want think feel like find notice wonder remember still also well or differ lag cost"""
)
"""After "may" of a thing: what may happen, not what is allowed."""
PREDICTED = word_set(
    """arrive be become come cool cost do feel fix fly get go grow happen have help improve land last look make open
    pass pick reach rise sell solve start suffice take taste turn win work do"""
)
"""After "should" of a thing: what one expects of it."""
RECOMMENDED = word_set(
    """admit be believe check come consider do enjoy feel find get give go have hear join know learn like listen live
    look love make meet move pick read relax rest see sleep spend stop take taste tell think travel try
    understand visit wait watch wear win"""
)
"""After "you should" and "you must": advice among friends."""
MENTAL = word_set(
    """afford be beat believe blame bring buy change come complain deny do eat even expect feel find fool force get go
    guess have help imagine judge just keep know lose make miss really remember say see stand stay stop take
    teach tell think trust turn understand win"""
)
"""After "you can't": what is impossible, not what is forbidden."""

# --- standing, or once -----------------------------------------------------------------------------------------------

STRONG = word_set("always never ever every each whenever nowhere everywhere throughout")
"""Words that hardly leave a doubt."""
STANDING = STRONG | word_set(
    """any anything anybody anyone everything everybody everyone whatever only unless without nightly daily weekly
    monthly per anywhere exclusively"""
)
"""Words that make an order hold beyond this moment."""
ONCE = word_set("""now today tonight tomorrow yet again soon sometime later asap here's attached yesterday""")
"""Words that tie an order to this moment."""
FOLLOWING = word_set("of is are was were has have had can will would than")
"""After them a word at the beginning is a noun: "use of …", "make is …"."""

# --- turns of phrase -------------------------------------------------------------------------------------------------

IDLE_DONTS = word_set(
    """worry mention laugh panic cry hesitate sweat despair fret be feel get i you we they kid tell know think mind
    move go look wait hurry rush give take let lose care like want need believe blame forget remind even sound
    come stay stare ask hate love see understand remember miss quit"""
)
"""After "don't": comfort, banter and haste, unless a word makes it stand."""
IDLE_NOS = word_set(
    """problem problems worries worry way idea doubt kidding rush offence offense pressure thanks thank big comment
    wonder luck doubts sign signs plans news errors error module matter reason hurry chance sooner longer clue
    point answer response reply time money such i it he she not that you we they the there one thing good hard
    harm joke bother sir madam sweat trouble fun i'm it's no really but just my of course please result results
    difference surprise clear regrets need"""
)
"""After "no": answers and turns of phrase."""


# --- English verbs by which a sentence that begins with one is known as an order; which of them are only
# sociable.


_MORE = """
    abort absorb accept access accompany achieve acquire act activate administer admit adopt advance advertise
    aggregate aim amend amplify annotate announce anticipate appeal appoint appreciate approach approve argue
    arrange arrive articulate assemble assess assist associate assure attend authenticate authorise authorize
    automate backfill ban bathe beat behave benchmark bend bind bite blame bleed blend blow boil bootstrap borrow
    bounce bow brace breathe brew brief broadcast browse brush budget burn bury bypass cache capture carry carve
    cast catch categorise categorize celebrate challenge chase chat chill chop circulate claim clarify classify
    climb clip clock clone collaborate collapse comb command communicate complain complete compliment conclude
    condense conduct conserve construct consume continue contribute cook coordinate crawl crop crush cultivate
    curate cycle damage dance decide declare decline decode decorate decouple dedicate deduplicate delay delegate
    demand demonstrate denote depend deploy deprecate derive deserve destroy detach detect determine develop devote
    diagnose digest dilute dip disagree disclose disconnect disinfect dismiss display dispute disregard dissolve
    distribute dive dominate donate doubt downgrade drain dress drill drip drive duplicate earn ease eat echo
    economise economize educate eject elaborate elect elevate eliminate employ emulate enclose endorse engage
    enhance enlarge enrich enrol enroll entertain enumerate equip erase err establish exaggerate exceed exchange
    excuse exercise exit expand expire explore expose express fabricate facilitate factor fade fail fasten fax fight
    file flatten float flush fly forbid forecast forget forgive fork formulate forward foster freeze fry fulfil
    fulfill fuse gather generalise generalize glue govern grab grade graduate grant graph grasp grill grind grow
    guarantee guess halt hammer handle hang harvest hash haul heat hold hope hover hug hurry hydrate hyphenate
    illustrate imagine imitate impose impress incline incorporate indicate infer inherit initialise initialize
    inject innovate inquire insist inspire institute instruct insulate insure integrate interact intercept interpret
    interrupt intervene interview invent invest investigate involve irrigate italicise italicize itemise itemize jog
    judge juggle jump knead knock label lay lean learn lend leverage license lift lighten listen live locate loop
    lose maintain manage manipulate manufacture map maximise maximize mediate meet melt memorise memorize mend
    mentor migrate misuse moderate modernise modernize modify moisten motivate mount multiply narrate navigate
    neglect negotiate nest neutralise neutralize nominate normalise normalize notice obtain occupy offset operate
    oppose opt optimise optimize originate outsource overestimate overlap overlook override overwrite paint pair
    park participate pass patch patrol peel penalise penalize permit persuade photograph plot plug polish populate
    postpone practice practise praise pray preach precede predict prefetch preheat prescribe preserve press pretend
    prevent probe proceed process procure produce prohibit promise promote prompt pronounce propagate prove prune
    punctuate punish purchase purge pursue qualify quantify query quicken quiz reach react realise realize reassure
    rebuke recall receive recheck reclaim recognise recognize reconcile reconsider reconstruct recover recruit
    rectify recycle redirect redistribute redo refill refine reflect refresh regard regenerate regulate rehearse
    reimburse reinforce rejoin relate relax relay relieve relocate remedy remember rent reopen reorder reorganise
    reorganize repack repair repay rephrase reply represent reproduce rescue reserve reside resist resort rest
    restate restore resume retest rethink retire retrieve retry reuse reveal reverse revert revisit revoke rinse
    risk roast rob roll route rub ruin sacrifice satisfy savor scatter scold scrape scratch screenshot scroll scrub
    seat seed segment seize serialise serialize settle sew shake sharpen shave shelter shelve shield shift shine
    shoot shop shout shuffle shut sift sign silence sing sink sit sketch skim slice slide smash smell smile smoke
    soak solve sow spare spawn specialise specialize specify spill spin split spoil sponsor spot spray spread sprint
    squeeze stack stand staple steam stitch straighten strain strengthen stretch strike strive study stuff subdivide
    subscribe subtract succeed sue suffer supervise suppose suppress surrender survey survive swallow swear sweep
    swim swing symbolise sympathise tackle tame tap taste teach tear tease terminate thank thicken thread tick tidy
    tie tilt toast tolerate toss tow trace transcribe transform transmit transport trap travel trigger triple
    truncate twist unblock understand undertake undo unify uninstall unite unload unlock unplug unsubscribe untie
    unwrap usher utilise utilize vacate vacuum vectorise vectorize vent venture view visualise visualize waive walk
    wander weave weed whip whisper whistle widen win wipe withdraw worship wound wrestle zip zoom
"""
SOCIABLE = word_set(
    """appreciate believe breathe bring call calm care catch celebrate chat cheer chill come cook cross dance do doubt
    drive drop eat enjoy excuse fear feel fight forget forgive get give go grab guess hang have help hold hope
    hug hurry imagine join jump keep laugh learn leave let listen live look lose love make meet mind move notice
    pass pay pick play point pray promise put question reach realise realize relax remember rest run say see set
    shine shop shout show shut sing sit sleep smell smile sound stand start stay stop study suppose swear swim
    take taste tell thank tie time tour travel try turn visit wait walk want warm watch welcome wish wonder work
    worry fly race pretend book cancel find remind explain compare summarise summarize translate suggest check
    send"""
)
"""Verbs for what friends tell each other to do, and for single requests to an assistant: alone they are no rule."""
VERBS = ORDERED | ERRANDS | frozenset(_MORE.split())
