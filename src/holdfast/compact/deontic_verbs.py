"""English verbs by which a sentence that begins with one is known as an order; which of them are only sociable."""

from __future__ import annotations

from holdfast.admit.vocabulary import word_set
from holdfast.compact.deontic_words import ERRANDS, ORDERED

__all__ = ["SOCIABLE", "VERBS"]

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
"""What friends tell each other to do, and what one asks of an assistant once: alone they lay nothing down."""
VERBS = ORDERED | ERRANDS | frozenset(_MORE.split())
