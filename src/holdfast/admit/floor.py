"""The quality floor: would this help a future conversation that does not include this turn? (ADMIT-3, -4)

Only obvious junk is refused, each time with a name for the reason; what is doubtful passes, and ranking deals with it.
What the user says of themselves, of their people, their rules, names, numbers and dates is substance, and no rule takes
it for less. The patterns are English; a sentence in another language meets only the rule for fragments.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from holdfast.gate.salience import tool_limitation_claim
from holdfast.text.vocabulary import either
from holdfast.text.words import FUNCTION_WORDS, MAX_SENTENCE, sentences

# --- Obvious junk, by its words: what the floor's reasons look like in English, and what substance looks like.
#
# Each pattern is a list of words and short phrases, one alternative to a semicolon; a blank stands for itself. They are
# matched against one sentence of bounded length, mostly at its beginning.


def _alternatives(text: str) -> str:
    return "|".join(part.strip() for part in re.split(r";|\n", text) if part.strip())


def _anywhere(text: str) -> re.Pattern[str]:
    """Any of these as whole words, whatever their case."""
    return re.compile(rf"\b{either(_alternatives(text))}(?!\w)", re.IGNORECASE)


_LEAD = (
    r"(?:(?:and|but|so|then|well|yeah|yes|yep|no|nah|oh|ooh|ah|aw+|ok|okay|actually|also|anyway|now|btw|hey|hi|hmm*"
    r"|right|please|pls|plz|nice|cool|great|good|lol|haha|ugh|wow|omg|oh my (?:god|gosh|goodness)|god|honestly"
    r"|alright|sure|exactly|next|perfect|fine|just|maybe|perhaps|i think|wait)[,.!:;]* +){0,4}"
)


def _opening(text: str) -> re.Pattern[str]:
    """Any of these at the beginning, after words that only lead in ("ok so")."""
    return re.compile(rf"\W*+{_LEAD}(?:{_alternatives(text)})(?!\w)", re.IGNORECASE)


def _whole(text: str) -> re.Pattern[str]:
    """Any of these as the whole sentence, after words that only lead in."""
    return re.compile(rf"\W*+{_LEAD}(?:{_alternatives(text)})\W*$", re.IGNORECASE)


# Three words and more between quotation marks are somebody else's; fewer are a name or a term.
QUOTE = re.compile(
    r"(?:\"|(?<![“«])[“«])(?:[^\s\"”»]{1,40}+\s++){2,60}?[^\"”»]{1,40}+[\"”»]"
    r"|(?<!\w)[‘'](?:[\w,]{1,20}+ ){3,40}?\w{1,20}+[.!?]?[’'](?!\w)"
)

# Substance -----------------------------------------------------------------------------------------------------------

OWN = _anywhere("i; i'm; im; i've; ive; i'd; i'll; we; we're; we've; we'll; we'd; my; our; mine; ours; for me; for us")
MINE = _anywhere("my; our; mine; ours")
RULE = _anywhere(
    r"""
    always; never; from now on; in future; in the future; going forward; each time; whenever; usually; daily; weekly
    monthly; often; every (?:time|day|morning|evening|night|week|month|year|weekend|other|second|\w+day); when i
    if i ask; unless; remember; keep in mind; for the record; by default; no longer; any ?more; call me; don't ever
    forget that
    must; hard rule; not allowed; only ever; instead of; fyi; note that; prefer
    """
)
_NUMBER_WORDS = (
    "two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirty|forty|fifty|sixty|dozen|hundred"
    "|thousand|million|tues|weds?|thurs?|mondays?|tuesdays?|wednesdays?|thursdays?|fridays?|saturdays?|sundays?|january|february|march|april"
    "|june|july|august|september|october|november|december|spring|summer|autumn|winter|christmas|easter"
)
NUMBER = re.compile(rf"\d|\b{either(_NUMBER_WORDS)}\b", re.IGNORECASE)
NAME = re.compile(
    r"(?<=[a-z,;:')] )(?!I\b|I')[A-Z][a-zà-ÿ]+|(?<=[a-z] )[A-Z]{2,}\b"
    # Capitals where not all is in capitals; after others of the same kind nothing new is seen.
    r"|\b(?<!\b[A-Z]{3} )(?<!\b[A-Z]{4} )[A-Z]{3,}\b(?=[^a-z\n]*+[a-z])"
)
_I_DO = (
    "'m|'ve|'re|'ll| am| are| have| had| was| were| will| used to| live| work| own| use| need| want"
    "| love| hate| like| can't| cannot| don't| didn't| won't| got| went| made| took| bought| met| told| came| found"
    "| lost| left| put| run| teach| play| do| did| keep| gave| saw| know [a-z]+| [a-z]+ed"
)
_IT_DOES = "is|are|was|were|has|have|had|does|lives?|works?|says?|said|'s|can|will|[a-z]+ed"
STATEMENT = re.compile(
    rf"\b(?:i|we){either(_I_DO)}\b|\bim\b|\bive\b"
    rf"|\bmy [\w-]+'s\b|\b(?:my|our) [\w'-]+(?: [\w'-]+)? {either(_IT_DOES)}\b",
    re.IGNORECASE,
)
"""The user says what they are, have, did or will do, or what somebody of theirs is."""
FORBIDS = _opening(
    r"(?:no|not|only) (?!way|problem|worries|doubt|need|kidding|thanks|rush|hurry|idea|clue|indeed|more|now|yet)\w{4,}"
    r";\w{4,} only\W*$;stop \w+ing"
)
"""No coriander, only peanuts: as short as a preference gets."""

# Questions -----------------------------------------------------------------------------------------------------------

ASKS = _opening(
    """
    what(?:'?s| is| are| was| were| does| do| did| would| should| can| if| about| else| kind| film| book)
    how (?:do|does|did|is|are|was|were|long|many|much|deep|often|far|old|big|would|can|could|should|about|come|to)
    why(?:'s| is| are| do| does| did| would| not); where(?:'s| is| are| do| does| did| can| would)
    when(?:'s| is| are| do| does| did| will| can); who(?:'s| is| are| was| wrote| made| else| would)
    which (?:ones?|is|are|do|does|would|of); is (?:it|that|there|this|the|he|she|a|an|your)
    are (?:there|they|those|these|you|we|any); do (?:you|they|i|we|u); does \\w+; did (?:you|it|they|he|she|the|u)
    can (?:i|you|u|we|one|it|they); could (?:you|u|i|we); should (?:i|we); will (?:it|you|they|he|she|that)
    would (?:you|it|that); isn'?t (?:it|that|there); any (?:idea|tips|news|chance)
    """
)
TAG = re.compile(
    r",? (?:right|remember|ok|okay|yeah|huh|eh|no|see|happy now|you know"
    r"|(?:is|are|was|do|does|did|have|has|wo|ca)n't (?:it|they|you|he|she|we))\?\W*$",
    re.IGNORECASE,
)
"""A statement that only asks to be confirmed: "they kept it, remember?"."""

# Commands ------------------------------------------------------------------------------------------------------------

# A step of the work at hand, whatever its object.
_STEPS = (
    "apply|bump|calculate|commit|compare|continue|convert|cut|debug|draft|figure|fix|generate|grep|kill|merge|paste"
    "|post|proceed|proofread|push|rebase|recommend|redo|re-?run|rename|rephrase|retry|revert|review|rewrite|run"
    "|scroll|send|shorten|skip|sort|suggest|summari[sz]e|swap|tidy|translate|trim|undo|upload|wait"
)
# The same, if what follows points at the work at hand ("use that", "give me three titles"); else it may be a standing
# wish ("use metric units", "give me long explanations"), which is the user's substance.
_WISHES = (
    "add|ask|bring|change|check|clean|close|come|complete|correct|count|create|delete|describe|do|drop|edit|expand"
    "|explain|export|extract|find|finish|format|get(?! this,)|give|go|help|highlight|implement|import|improve"
    "|include|indent|insert|install|keep|leave|let|list|load|look|make|move|open|order|pick|print|put|read|reduce"
    "|refactor|remind|remove|repeat|replace|return|roll|save|search|set|show|simplify|split|start|stop|take|tell"
    "|test|try|turn|update(?!:)|verify|walk|wrap|write"
)
_POINTS = (
    "(?: me| us)?(?: (?:it|this|that|these|those|them|here|there|now|again|the|a|an|one|two|three|four|five|some|more"
    r"|another|him|her|back|away|up|on|out|over)\b|\W*$)"
)
COMMAND = _opening(
    rf"""
    {_STEPS}; (?:{_WISHES}){_POINTS}; use(?: (?:it|this|that|these|those|them)\b|\W*$)
    (?:can|could|would|will) (?:you|u)
    (?:don't|do not)(?: \w+){{0,2}}?(?: (?:it|this|that|me|these|those|them)\b|\W*$)
    let's (?:go|start|continue|begin|move on|see|do (?:it|this|that)); shorter; longer; simpler; easier; again
    one line; half a page; more (?:formal|concise|detail); too (?:stiff|long|short|formal|wordy)
    in (?:one|two|three) (?:short )?sentences?; as (?:an? )?(?:table|list|csv|json|checklist|markdown|bullets)
    """
)
STANDING = _anywhere(
    r"""
    before (?:you|we|any|each|every|\w+ing); after (?:you|each|every); without; except; until; each; any; messages?
    answers; replies; responses; spelling; sign with; but not?; nothing (?:over|with|but)
    """
)
"""Words that make a command apply beyond the current task."""

# Steps of work -------------------------------------------------------------------------------------------------------

_DONE = "(?>(?:i |we |i've |we've |just |have )*)"
_CHANGE = "(?:pr|mr|branch|changes?|fix|commit|release|hotfix|patch|version|pull request)"
_RUN = "(?:tests?|suite|lint(?:er)?|build|migrations?|ci|pipeline|checks?)"
_STATE = "(?:green|red|passing|pass|passes|passed|failing|failed|fails|broken|broke|running|done)"
WORKFLOW = _opening(
    rf"""
    {_DONE}(?:merged|rebased|squashed|reverted|cherry-picked)(?: (?:it|this|that|them|and pushed|(?:in|on)?to (?:main|master)))?\W*$
    {_DONE}(?:merged|rebased|squashed|reverted|cherry-picked) (?:(?:the )?{_CHANGE}\b.*|#\d+.*)
    {_DONE}(?:pushed|committed|tagged|deployed|released|published|redeployed|shipped|bumped|rolled back)(?: (?:it|this|that|them|everything|the {_CHANGE}|to \w+|and \w+|& \w+|now|version .*))*\W*$
    (?:pr|mr|pull request|issue|ticket) ?#?\d+ (?:is|was|has been|got|just) .*
    (?:opened|closed|created|filed|reviewed|approved) (?:a |the )?(?:pr|mr|pull request|issue|ticket)\b.*
    {_DONE}(?:ran|re-?ran|running) (?:all )?(?:the |our )?(?:\w+ )?{_RUN}\b.*
    (?:all )?(?:the |our )?(?:\w+ )?{_RUN} (?:is|are|now|all|still|just)? ?(?:all )?{_STATE}\b.*
    (?:i'm |we're |now )*(?:deploying|pushing|merging|committing|rebasing|building|compiling|installing|restarting|releasing)(?: (?:it|this|that|now|again|the \w+|to \w+))*\W*$
    \w+ (?:approved|reviewed|merged)(?: it| this| the pr)?\W*$
    (?:npm|pip|cargo|make|pytest|go) (?:build|test|install|run)\b.*(?:says|fails|failed|works|passes).*
    """  # noqa: E501
)

# The moment ----------------------------------------------------------------------------------------------------------

_SPOTS = (
    "bus|train|tram|tube|metro|plane|ferry|bus stop|station|airport|queue|line|lift|elevator|shower|bath|car"
    "|car park|taxi|cab|meeting|call|supermarket|shop|kitchen|toilet|loo|desk|gate|road|way|couch|sofa|bed|doorstep"
)
_NOW = "(?: (?:now|right now|atm|at the moment|today|tonight|this morning|this evening|again|already|still|rn))"
_SO = "(?:so |really |very |pretty |a bit |a little |just |too |quite |super |kinda )*"
_STATES = (
    "tired|exhausted|sleepy|hungry|starving|thirsty|bored|cold|hot|busy|late|drained|knackered|awake|full|stuck|wet"
    "|hungover|ready|ill|lost|here|home|up|off|done|dead|dying|crying|laughing|screaming|shaking|speechless"
)
EPHEMERAL = _whole(
    rf"""
    brb; bbl; afk; gtg; g2g; (?:i'm |im )?back(?: now| at (?:my|the) desk)?; not now.{{0,30}}; not today; maybe later
    later
    (?:i'm|im|i am|we're|we are|stuck|still|currently)(?: still| just| stuck| already| now)? (?:at|on|in|under|outside|near|by) (?:the|a|an|my|our) (?:public )?(?:{_SPOTS}){_NOW}?(?: brb)?
    on (?:the|my|a) (?:{_SPOTS}).{{0,40}}; enough for (?:today|now)
    (?:i'm |im |i am |we're |feeling |feel |i feel ){_SO}(?:{_STATES}){_NOW}*
    (?:i'm |im )?(?:going|off|heading) to (?:bed|sleep|lunch|work|the \w+(?: \w+)?)(?: now)?; good ?night.{{0,20}}
    (?:gonna|going to) (?:sleep|eat|shower|bed).{{0,10}}
    (?:just |i'm |im )*(?:having|eating|making|grabbing) (?:a |some |my )?(?:lunch|dinner|breakfast|coffee|tea|snack)(?: now)?
    (?:my |the )?(?:phone |laptop )?battery (?:is|'s) .{{0,20}}; (?:the )?kettle(?:'s| is) boiling
    (?:gotta|got to|have to|need to) (?:go|run|dash)(?: now)?; (?:see|talk to|speak to) (?:you|u|ya).{{0,20}}
    (?:one|just a|give me a) (?:sec|second|moment|minute|min)
    (?:i'm |im )?(?:waiting|queueing|queuing) (?:for|at|in) (?:the|a|my) \w+
    (?:it's|its|it is) (?:raining|snowing|so hot|so cold|sunny|freezing|late|dark|hot|cold|early)(?: here)?(?: today| now)?
    """  # noqa: E501
)

# Reactions -----------------------------------------------------------------------------------------------------------

_WORTH = (
    "amazing|awesome|awful|bad|beautiful|best|better|blessing|brave|brilliant|charming|clever|comforting|cool"
    "|coolest|crazy|cruel|cute|deep|delicious|delightful|dream|enough|excellent|exciting|extraordinary|fair"
    "|fantastic|fascinating|fine|fitting|fun|funny|generous|genius|gift|good|gorgeous|grand|great|happy|hard|healing"
    "|heartbreaking|heaven|helpful|heroic|hilarious|honest|huge|idea|impressive|incredible|insane|inspiring"
    "|interesting|joy|kind|kindest|legend|lovely|loveliest|luck|magical|magnificent|marvellous|marvelous|moving|news"
    "|nice|nicest|odd|perfect|pity|plan|poetic|poetry|point|powerful|precious|priceless|question|rare|rarest"
    "|reassuring|relief|right|rude|sad|scary|shame|silly|smart|sound|special|spooky|stunning|super|superb|sweet"
    "|sweetest|terrible|thoughtful|touching|tough|treasure|true|unbelievable|unfair|useful|way|weird|wild|wise"
    "|wonderful|worst|worth|wow|wrong"
)
_FEEL = (
    "happy|glad|proud|sorry|thrilled|delighted|excited|relieved|honou?red|touched|pleased|moved|grateful|jealous"
    "|impressed|amazed|shocked|speechless|flattered|over the moon|curious|sure|certain|confident"
)
_ACKNOWLEDGED = (
    "yes|yeah|no|nope|yep|ok|okay|sure|fine|right|exactly|indeed|true|agreed|absolutely|definitely|obviously"
    "|of course|certainly|totally|possibly|maybe|perhaps|hm+|aye|k|kk|cool cool|got it|understood|noted|deal|done"
    "|will do|will try|looks good|sounds good|works|works for me|on it|all good|good|great|perfect|lovely|super"
    "|spot on|please do|go on|go ahead|not necessarily|not really|not yet|unfortunately yes|as if|amen|truly|normal"
    "|too late|either|both|neither|anything|everything|nothing|whatever|fair enough|in a way|kind of|sort of"
)
_I_AGREE = (
    "know|see|understand|agree|guess so|guess|think so|thought so|hope so|doubt it|suppose so|suppose|knew it"
    "|can't believe (?:it|that|this|you)|have goosebumps|feel it|said.*|mean it|promise|would never|get it|got it"
    "|hear you|don't know(?: what to (?:say|write|think|do))?.*|have no (?:words|idea)|had no idea"
    "|know what you mean|know the feeling|must say.*|couldn't agree more|stand corrected|rest my case|love (?:you"
    "|her|him|them)(?: more| too)?"
)
_MUCH = (
    "(?:(?:so|such|really|very|truly|actually|honestly|just|quite|pretty|all|absolutely|simply|the|a|an|one of the|most"
    "|my|kind of|sort of|not|too|both|like|as|what an?|something|literally|genuinely|indeed|always|of a|more|much) )*"
)
PRAISE = _opening(
    rf"""
    (?:that|this|it|which|these|those)(?:'s|'re| is| was| are| were| sounds?| must(?: be| have been)| does sound| looks?| really is) {_MUCH}(?:{_WORTH})
    what (?:a|an|luck|joy|wonderful|lovely|great|marvellous|beautiful); how (?:{_WORTH}|very \w+|dare|on earth)
    (?:so|very|really|truly|pretty|too|absolutely) (?:{_WORTH}|proud|glad|sorry)
    (?:{_WORTH}|sounds \w+)\W*$
    (?:{_WORTH}) (?:one|stuff|thing|man|guy|woman|girl|choice|behaviou?r|tips?|advice|times?|of you)\W*$
    well done; congrat\w*; félicitations; complimenti; bravo\w*; happy birthday; merry christmas
    good (?:luck|job|for you|work|call|idea|point|shout|to hear|one|morning|evening|afternoon|night|day)
    enjoy; best of luck; fingers crossed; sending (?:you|all|lots); take care; hang in there
    keep (?:it up|going|me posted)
    god bless; let me know; tell me (?:more|all|everything); say hi; give (?:him|her|them) (?:a|my)
    thanks; thank (?:you|u); thx; ty; cheers; ta; much appreciated; appreciate (?:it|that); means a lot; many thanks
    i(?:'m| am|m) (?:\w+ ){{0,3}}?(?:{_FEEL}) (?:for|of|to hear|to see|that|you|your|with|at|it|she|he|they)
    i(?:'m| am|m) (?:so |really |deeply |truly |very |just )*(?:{_FEEL})\W*$
    (?:{_FEEL}) (?:for|of|to hear|to see|that|you|your)
    i (?:just |really |so |absolutely |do |totally |truly )*(?:love|like|adore|admire|appreciate|envy) (?:that|this|it(?! when)|how|the way|your|you|the idea|the image|the thought|the sound)
    i (?:really |do |sincerely |just )*(?:hope|wish|trust|bet|pray) (?:you|u|it|that|your|she|he|they|the|so|this)
    hope (?:you|it|that|your|she|he|they|so); (?:i )?can(?:'t|not) wait (?:to (?:hear|see|read|try|meet)|for)
    i'm (?:rooting|here|right here|always here)(?: for you)?
    i (?:can|could) (?:just |almost |totally |really |only )*(?:picture|imagine|see|hear|feel|tell|smell|taste)
    i (?:{_I_AGREE})\W*$; love (?:it|that|this|you|your); me too; me neither; same(?: here)?; you (?:too|bet)
    never mind
    no (?:way|problem|worries|doubt|need|kidding|thanks|rush|hurry|idea|clue)
    (?:{_ACKNOWLEDGED})(?: (?:then|please|thanks|ta|now|haha|lol|maybe|i think|sir|indeed|doable|does|do|did|it is|ok|okay))*\W*$
    hi; hey; hello; morning; evening; dear; welcome(?: back)?; bonjour; hola; aloha; ciao; bye; goodbye; yo; howdy
    long time no see; até amanhã
    """  # noqa: E501
)
WARM = _opening(
    rf"""
    i(?:'m| am|m) (?:\w+ ){{0,2}}?(?:beaming|crying|screaming|tearing up|smiling|grinning|cheering|in tears|rooting)
    i(?:'m| am|m) (?:sending (?:you|all|lots|my)|full of admiration|drawing it|manifesting)
    (?:i(?:'ve got|'ve| have| got)|got|have) (?:\w+ )?(?:shivers|goosebumps|tears)
    my (?:jaw is on|heart (?:is (?:full|singing|melting|bursting)|just|broke|melts?|melted|sings|skipped|goes out))
    i could listen; i look forward to (?:it|hearing|seeing|meeting|reading); i have no doubt; congrat\w*
    i(?:'m| am|m) (?:\w+ ){{0,3}}?(?:{_FEEL}) (?:for|of|to hear|that) (?:you|your)\w*
    thank(?:s| you)(?: \w+){{0,3}}\W*$; good (?:morning|evening|night|afternoon)(?:,? \w+)?\W*$
    (?:hi|hey|hello|dear|bye)(?:,? \w+){{0,2}}\W*$
    """
)
"""Warmth that speaks of the user ("my jaw is on the floor") or names somebody and still says nothing."""
YOU = _opening(
    r"""
    you(?:'re|'ve|'ll|'d)?(?! (?:should|must (?!be|have|feel|look)|need|can|may|have to|know that|could)); yours; u
    your(?!.*\b(?:should|must|name|answers?|replies|responses?|messages?|tone|style)\b)
    who (?:would|could|needs|knew|knows|doesn't|wouldn't)
    """
)

# What is true of everything, of nothing, or of somebody else ---------------------------------------------------------

TAUTOLOGY = re.compile(
    rf"\W*+{_LEAD}(?:it is what it is|(?:a |an |the )?(\w+) (?:is|are|was|will be|were) "
    r"(?:a |an |the |always |just |still )?\1"
    r"|what(?:'s| is) done is done|what will be,? will be|time will tell|life goes on|that's life|such is life"
    r"|who knows|we'll see|you never know|better late than never|one never knows|things happen|shit happens"
    r"|stuff happens|some things never change|everything happens for a reason|never too late(?: for anything)?"
    r"|c'est la vie|so it goes|that's (?:how|just how) (?:it|life|things) (?:is|goes|go|are))\W*$",
    re.IGNORECASE,
)
OPINION = re.compile(
    rf"\W*+{_LEAD}i (?:do |really |like to |always |just |still )*"
    r"(?:think|believe|suppose|reckon|guess|imagine|find)(?: that)?\b",
    re.IGNORECASE,
)
_ABSTRACT = (
    "life|love|hope|kindness|happiness|grief|beauty|joy|success|nature|moments|friendship|hard work|courage|patience"
    "|silence|time|small joys|little things|old things|good (?:things|friends|neighbou?rs|people|company)"
    "|most of us|any of us|every \\w+|those who .{1,40}"
)
_BE = "(?:is|are|was|has|have|can|does|do|goes|takes|makes|needs?|gives?|teach(?:es)?|turns?|never|really|sometimes)"
GENERAL = _opening(
    rf"""
    sometimes; (?:{_ABSTRACT}) {_BE}; people (?:like you|who|forget|remember); we all; moments like (?:this|these)
    one (?:must|can|should|never|forgets|wants|asks|does|day at a time)
    there(?:'s| is) (?:something|no (?:shame|right|wrong|better|greater)|such|always)
    it(?:'s| is) (?:never|always|natural|strange|funny|amazing|wonderful|beautiful|wild)
    the (?:best|little|small|smallest|greatest) (?:things?|moments?|part|gifts?|joys?)
    the (?:people who|things (?:we|that)|world|heart|years) .{{0,20}}(?:is|are|will|has|have|understands|love)
    that's (?:what|how|why|where|when)
    """
)
"""The subject of a general wisdom."""
UNREAL = re.compile(
    rf"\W*+{_LEAD}(?:if only|imagine (?:if|that|having|being)|suppose|let's say|say i|what if|in another life|in theory"
    r"|if (?:i|we|u|you)(?:'d| had| were| was| won| could| did| lived| owned| became|\b [a-z]+ed)\b"
    r"(?=.*\b(?:would|could|might|id|we'd|i'd|it'd)\b)|if i were)\b|.*\bhypothetically\b",
    re.IGNORECASE,
)
_SAY = "(?:always |often |still |also |once |just )?(?:say|said|think|thought|claim|believe|argue|reckon)s?"
SAYS = _opening(
    rf"""
    (?:some|most|many|lots of|a lot of|other)? ?(?:people|folks|experts|critics|scientists|guys) (?:at .{{1,30}} )?{_SAY}
    (?:some|they|everyone|everybody|someone|somebody|one of them|reddit|twitter|the internet) {_SAY}
    a (?:friend|colleague|guy|bloke|woman|man|commenter) {_SAY}; rumou?r has it
    (?:an|the|this|that|some) (?:article|post|paper|study|book|documentary|podcast|video|review|author|news|committee|speaker|minister|tweet|thread|blog|comment) (?:says?|said|claims?|claimed|argues?|argued|notes?|noted|thinks?|believes?|suggests?|shows?|states?)
    (?:he|she|they) (?:says?|said|wrote|writes)\W*$; (?:is what|says|wrote|said) (?:his|her|their|the|a) \w+.{{0,30}}
    here's one from (?:a|the) \w+\W*$
    """  # noqa: E501
)

# Words ---------------------------------------------------------------------------------------------------------------


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


EMPTY = _words(
    """
    hi hey hello yo ok okay k yes yeah yep no nope nah thanks thx ty ta please pls lol haha hahaha hm hmm oh ah um
    uh wow omg well so and the a an bye sure cool nice great good fine right like just really very ugh run go next
    stop continue help undo push done then too xx x
    """
)
"""Greetings, acknowledgements and bare command words: they inform of nothing."""
LIGHT = _words(
    """
    see know think take look looks want need mean make come got did does done let there here that'll it'll i'll
    we'll they'll you'll that'd it'd won't wouldn't thing things one ones something anything nothing everything way
    bit lot yet still already maybe perhaps obviously exactly apparently honestly actually im u idk dunno try tell
    ask said told thought believe guess suppose hope ready matter what's
    """
)
"""Words of content in other places, but alone they point at what was said before."""
_VERBS = (
    "am|is|are|was|were|be|been|has|have|had|do|does|did|will|would|can|could|should"
    "|must|may|might|im|ive|dont|cant|isnt|its|hes|shes|theres|got|get|gets|go|goes|went|came|come|comes|left|lost"
    "|won|made|make|makes|took|take|takes|bought|sold|met|saw|ran|run|runs|ate|eat|eats|fell|found|gave|give|gives"
    "|keep|kept|knew|know|live|lives|work|works|need|needs|want|wants|like|likes|love|loves|hate|hates|use|uses"
    "|told|said|say|says|think|thinks|brought|built|chose|drove|flew|forgot|grew|hurt|led|lent|paid|put|read|sent"
    "|sit|sits|sat|slept|speak|spoke|spent|stands?|stood|swam|teach|taught|wore|wrote|write|writes|broke|starts?"
    "|stays?|plays?|prefer|prefers|means?|feels?|felt|becomes?|became|begins?|began|closes?|opens?|cost|costs|died"
    "|dies"
)
VERB = re.compile(
    rf"\b(?:{either(_VERBS)}|\w++'(?:s|m|re|ve|ll|d|t)|[a-z]{{2,}}(?:ed|ing))\b",
    re.IGNORECASE,
)


class Reason(StrEnum):
    """Why a candidate would help nobody later."""

    QUESTION = "question"
    COMMAND = "command"
    WORKFLOW_EVENT = "workflow_event"
    EPHEMERAL = "ephemeral"
    REACTION = "reaction"
    TAUTOLOGY = "tautology"
    HYPOTHETICAL = "hypothetical"
    REPORTED = "reported"
    TOOL_LIMITATION = "tool_limitation"
    FRAGMENT = "fragment"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A named reason, and a sentence for the person who reads the receipt."""

    reason: Reason
    why: str


@dataclass(frozen=True, slots=True)
class Judged:
    """One sentence of a turn, and why it was refused, if it was."""

    text: str
    refusal: Refusal | None


def judge(text: str, *, answers_question: bool = False) -> Refusal | None:
    """None if the sentence may become a record, else why not.

    `answers_question`: it replies to a question, so that even "Thyroid." may be a full statement.
    """
    said = QUOTE.sub(" ", text[:MAX_SENTENCE].replace("’", "'").strip())
    for reason, (why, refuses) in _TESTS.items():
        if refuses(said, answers_question):
            return Refusal(reason, why)
    return None


def judge_turn(text: str, *, answers_question: bool = False) -> tuple[Judged, ...]:
    """Each sentence of a turn with its verdict; only the first one answers the question that came before."""
    found = sentences(text)
    quoted = _inside_quotes(found)
    return tuple(
        Judged(sentence, _QUOTED if inside else judge(sentence, answers_question=answers_question and number == 0))
        for number, (sentence, inside) in enumerate(zip(found, quoted, strict=True))
    )


def _inside_quotes(found: Sequence[str]) -> list[bool]:
    """Return for each sentence whether it is inside a quotation that begins or ends in another sentence."""
    marks = [len(_MARK.findall(sentence)) for sentence in found]
    if sum(marks) % 2:  # a quotation that is not closed: nothing can be said
        return [False] * len(found)
    inside, is_open = [], False
    for sentence, count in zip(found, marks, strict=True):
        opens, closes = count % 2 == 1 and not is_open, count % 2 == 1 and is_open
        own = _MARK.split(sentence)[0] if opens else _MARK.split(sentence)[-1] if closes else ""
        whole = is_open and count == 0
        inside.append(whole or ((opens or closes) and (not own.strip() or judge(own) is not None)))
        is_open = is_open != (count % 2 == 1)
    return inside


# How a sentence is read ----------------------------------------------------------------------------------------------

_WORD = re.compile(r"[^\W_]+(?:['’.,:-][^\W_]+)*")
_MARK = re.compile(r"(?<!\d)[\"“”«»]")  # 30" is a length
_SPACELESS = re.compile("[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]")


def _specific(text: str) -> bool:
    """Return True if it mentions something of the user's, states a rule, or names a number, day or person."""
    return any(pattern.search(text) for pattern in (MINE, RULE, NUMBER, NAME))


def _substance(text: str) -> bool:
    """The same, or whether it speaks of the user at all."""
    return OWN.search(text) is not None or _specific(text)


# The reasons ---------------------------------------------------------------------------------------------------------

_MARKED_QUESTION = re.compile(r"\?\W*$")
_STATED_BEFORE = re.compile(r"[,;:.] |\b(?:because|since|as) ")
_PRAISE_ITSELF = 12
"""Characters in which praise may speak of the user ("I love that …") without stating anything."""
_FEW = 3  # the same three words as SAL-3
_VERBLESS = 5
"""A longer sentence without a verb we know has a verb we do not know."""


def _question(text: str, answers: bool) -> bool:
    marked = _MARKED_QUESTION.search(text) is not None
    asks = ASKS.match(text) is not None
    if not marked and not asks:
        return False
    if not asks and TAG.search(text) and _substance(text):
        return False
    statement = STATEMENT.search(text)
    if statement is None or (asks and marked and "," not in text):
        return True
    # "I moved here in May, how do people make friends" tells before it asks; "how did it go when I called" does not
    return asks and not _STATED_BEFORE.search(text[: statement.start()])


def _command(text: str, answers: bool) -> bool:
    if not COMMAND.match(text):
        return False
    return not any(pattern.search(text) for pattern in (RULE, STANDING, STATEMENT, MINE))


def _workflow(text: str, answers: bool) -> bool:
    return WORKFLOW.match(text) is not None and not RULE.search(text)


def _ephemeral(text: str, answers: bool) -> bool:
    return EPHEMERAL.match(text) is not None and not RULE.search(text)


def _reaction(text: str, answers: bool) -> bool:
    if WARM.match(text):
        return not NUMBER.search(text) and not RULE.search(text)
    if _specific(text):
        return False
    if PRAISE.match(text):
        return STATEMENT.search(text, _PRAISE_ITSELF) is None
    return YOU.match(text) is not None and not _substance(text)


def _tautology(text: str, answers: bool) -> bool:
    if TAUTOLOGY.match(text):
        return True
    opinion = OPINION.match(text)
    rest = text[opinion.end() :].lstrip() if opinion else text
    return GENERAL.match(rest) is not None and not _substance(rest) and not answers


def _hypothetical(text: str, answers: bool) -> bool:
    return UNREAL.match(text) is not None and not RULE.search(text)


def _reported(text: str, answers: bool) -> bool:
    return SAYS.match(text) is not None and not OWN.search(text) and not RULE.search(text)


def _tool_limitation(text: str, answers: bool) -> bool:
    return tool_limitation_claim(text)


def _fragment(text: str, answers: bool) -> bool:
    if len(_SPACELESS.findall(text)) >= 2 * _FEW:  # a word is about two characters there
        return False
    words = [word for word in map(str.lower, _WORD.findall(text)) if word not in EMPTY]
    content = [word for word in words if word not in FUNCTION_WORDS and word not in LIGHT]
    if not content and not _specific(text):
        return True  # "I will.", "They did.": even as an answer it says nothing alone
    if answers:
        return False
    if len(words) < _FEW:
        short = len(content) > 1 and VERB.search(text)  # "Fern died.", "dropped chem"
        stated = any(pattern.search(text) for pattern in (STATEMENT, NUMBER))
        return not (short or stated or FORBIDS.match(text))
    verbless = len(words) <= _VERBLESS and not VERB.search(text) and text.isascii()
    return verbless and not FORBIDS.match(text) and not _substance(text)


_TESTS: dict[Reason, tuple[str, Callable[[str, bool], bool]]] = {
    Reason.TOOL_LIMITATION: ("it says what a tool cannot do, which the next version may", _tool_limitation),
    Reason.QUESTION: ("it asks and states nothing", _question),
    Reason.HYPOTHETICAL: ("it is about a case that is not so", _hypothetical),
    Reason.TAUTOLOGY: ("it is as true of everybody", _tautology),
    Reason.WORKFLOW_EVENT: ("it is a step of work that is over, and the tools have its record", _workflow),
    Reason.EPHEMERAL: ("it will have passed by then", _ephemeral),
    Reason.REPORTED: ("it is the opinion of somebody who is nobody in particular", _reported),
    Reason.COMMAND: ("it tells the assistant what to do now", _command),
    Reason.REACTION: ("it is a reaction to what was just said", _reaction),
    Reason.FRAGMENT: ("too little is left of it without the turn", _fragment),
}
_QUOTED = Refusal(Reason.REPORTED, "it is quoted from somebody else")
