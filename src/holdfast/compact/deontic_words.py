"""The English words that decide whether a sentence is a rule: our own lists, one for each part they play."""

from __future__ import annotations

from holdfast.admit.vocabulary import word_set

__all__ = [
    "ADVERBS",
    "BEFORE_VERBS",
    "DETERMINERS",
    "EPISTEMIC",
    "ERRANDS",
    "EVERYBODY",
    "FOLLOWING",
    "IDLE_DONTS",
    "IDLE_NOS",
    "MENTAL",
    "ONCE",
    "ORDERED",
    "PARTIES",
    "PEOPLE",
    "PRACTICES",
    "PREDICTED",
    "RECOMMENDED",
    "STANDING",
    "STATES",
    "STRONG",
    "TECHNICAL",
    "THIRD_PERSONS",
]


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
"""Who can owe, may or must not: the parties of contracts, house rules and workplaces."""

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
"""What teams and assistants do again and again: "we never merge …" is a rule, "we never met" is a story."""
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
