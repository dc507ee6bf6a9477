"""What a person tells about themselves and theirs (GATE-5).

Narrow on purpose: a capital letter alone is no name, for then every product would be a person.
"""

from __future__ import annotations

from holdfast.gate.family import Family, any_of, one_of, spoken, words

__all__ = ["CONVERSATION"]

_MOSTLY = one_of("really, also, still, always, usually, generally, just, do, much, absolutely, quite, now, only, never")
_PREFERENCE = spoken(
    rf"(?:i|we|he|she|they|you)(?: {_MOSTLY}){{0,2}} (?:like|love|hate|enjoy|adore|dislike|loathe|detest)s?",
    r"prefer(?:s|red|ences?)?|favou?rites?",
    rf"(?:i|we|he|she|they)(?:'d| would|'ll)(?: {_MOSTLY})? (?:rather|sooner)",
    r"(?:can't|cannot|can not|couldn't) (?:stand|bear|abide)",
    r"(?:don't|doesn't|do not|does not|didn't|never)(?: really| much)? (?:like|enjoy|care for|eat|drink|want|wear|use)",
    r"(?:i'm|i am|he's|she's|is|are)(?: not)?(?: a)?(?: big| huge)? (?:fan of|fond of|into|keen on|allergic to)",
    r"(?:always|never|from now on|please don't|don't ever)"
    r" (?:use|call|write|answer|reply|send|ask|put|mention|start|include)",
)

_MONTH = one_of(
    """jan(?:uary)?, feb(?:ruary)?, mar(?:ch)?, apr(?:il)?, may, june?, july?, aug(?:ust)?, sept?(?:ember)?,
    oct(?:ober)?, nov(?:ember)?, dec(?:ember)?"""
)
_DATE = spoken(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?",
    rf"\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}|(?=[jfmasond]){_MONTH} \d{{1,4}}(?:st|nd|rd|th)?",
    r"january|february|april|june|july|august|september|october|november|december",  # march and may are verbs too
    r"\d{4}-\d{2}-\d{2}|\d{1,2}/\d{1,2}/(?:\d{4}|\d{2})|\d{1,2}\.\d{1,2}\.(?:19|20)\d{2}",
    r"(?:in|since|until|till|by|from|during|before|after|of) (?:19|20)\d{2}|(?:the|on|until|by) \d{1,2}(?:st|nd|rd|th)",
    r"tomorrow|yesterday|(?:next|last|this|every) (?:week|weekend|month|year|spring|summer|autumn|fall|winter)",
    r"(?:\d{1,4}|two|three|four|five|six|ten|a few) (?:days|weeks|months|years) ago",
    r"in (?:\d{1,4}|two|three|four|five|six|ten|a few) (?:days|weeks|months|years)",
    unspaced=r"\d{1,2}月\d{1,2}日|\d{4}年",
)

_RELATION = one_of(
    """sister, brother, mother, mum, mom, father, dad, parents, son, daughter, wife, husband, partner, girlfriend,
    boyfriend, fiancée?, cousin, aunt, uncle, niece, nephew, grand(?:mother|father|ma|pa|son|daughter), friend,
    neighbou?r, flatmate, roommate, boss, manager, colleague, co-?worker, teacher, doctor, vet, dentist, therapist,
    coach, kid, baby, child, dog, cat, horse"""
)
_CAPITAL = "[A-Z\u00c0-\u00d6\u00d8-\u00de\u0100-\u017f\u0386-\u03ab\u0400-\u042f]"  # Latin, Greek, Cyrillic
_NAME = rf"{_CAPITAL}[^\W\d_]++"
_PRONOUN = one_of(
    "He, She, It, This, That, They, We, You, There, Who, What, The, My, Our, His, Her, And, But, One, Everyone, Nobody"
)
_HUMAN_NAME = any_of(
    words(
        # my sister Anna; our old neighbour, Galina; my brother is called Tomás
        rf"(?:[Mm]y|[Oo]ur|[Hh]is|[Hh]er|[Tt]heir) (?:\w{{1,20}} ){{0,2}}{_RELATION},?"
        rf" (?:(?:is |was )?(?:called |named )?)?{_NAME}",
        rf"(?:[Nn]ame(?:'s| is| was)|[Nn]ames are|[Cc]all me|named after|[Nn]ickname is|goes by|go by) {_NAME}",
        rf"(?:{_RELATION}|man|woman|girl|boy|guy)(?: is| was|,)? (?:called|named) {_NAME}",
        rf"(?:Mr|Mrs|Ms|Mx|Dr|Prof|Herr|Frau|Madame|Señora?|Doña)\.? {_NAME}",
        # Anna, my sister; Anna is my sister; Anna lives in Rome; Anna's birthday
        rf"(?={_CAPITAL})(?!{_PRONOUN}\b){_NAME}(?:"
        rf"(?:,| is|'s| was) (?:my|our|his|her) (?:\w{{1,20}} ){{0,2}}{_RELATION}\b"
        r"| (?:lives|was born|is married|got married|passed away|told me|works (?:as|at|for)|turned \d)"
        r"|'s (?:birthday|wedding|funeral|mother|father|mum|mom|dad|sister|brother|wife|husband)\b)",
    ),
)

_STATE = one_of(
    """is, are, was, were, has, have, had, lives?, works?, moved, goes, likes?, plays?, speaks?, studies, loves?,
    died, got, needs?, starts?"""
)
_BEING = one_of(
    r"""an?, the, from, in, at, on, \d{1,3}, allergic, vegan, vegetarian, married, single, pregnant, diabetic,
    retired, left-handed, moving, learning, studying, training, called, based, originally"""
)
_LIVING = one_of(
    """live, work, own, speak, study, drive, play, teach, moved, grew up, was born, were born, have, had, bought,
    studied, worked, lived, started, joined, graduated, got married, commute, run, eat, drink"""
)
_LIVES = one_of("lives, works, owns, speaks, studies, plays, teaches, moved, grew up, was born, has, eats")
_FACT_ASSERTION = spoken(
    rf"(?:my|our)(?: [\w'-]{{1,24}}){{1,3}}? {_STATE}|(?:my|our) [\w-]{{1,24}}'s",
    rf"(?:i'm|i am|we're|we are|he's|she's|he is|she is|they're)(?: not)? {_BEING}",
    rf"(?:i|we|they|you)(?: also| both| now| still| only)? {_LIVING}",
    rf"(?:he|she|it)(?: also| now| still)? {_LIVES}",
    r"(?:i've|i have|we've|we have|he's|she's)(?: always| just| never)?"
    r" (?:been|lived|worked|had|got|moved|changed|switched)",
    r"my name(?:'s| is)|call me|i go by|(?:is|was|are) (?:called|named|born|located|married|allergic)",
    r"the (?:project|repo|codebase|team|convention|standard|company|office|rule) (?:is|uses|prefers|requires|has|was)",
)

_NUMBER = one_of(
    """two, three, four, five, six, seven, eight, nine, ten, eleven, twelve, thirteen, fourteen, fifteen, sixteen,
    seventeen, eighteen, nineteen, twenty, thirty, forty, fifty, sixty, seventy, eighty, ninety, hundred, thousand,
    million, dozen, half"""
)
_UNIT = one_of(
    """kg, g, mg, lbs?, pounds?, stone, km, m, cm, mm, miles?, feet, ft, inch(?:es)?, metres?, meters?, litres?,
    liters?, l, ml, cups?, °c, °f, hours?, hrs?, minutes?, mins?, seconds?, days?, weeks?, months?, years?, euros?,
    dollars?, eur, usd, gbp, percent, degrees, people, children, kids, times, kcal, calories, hz, gb, mb, tb"""
)
_NO_NOUN = one_of("and, or, is, was, as, has, this, in, at, the, to")
_QUANTITY = spoken(
    rf"(?<![\d.,])\d[\d.,]*+ ?{_UNIT}|\d++(?=\s?[€£%])|(?<=[$€£¥₹])\d++\w*+|(?<=[$€£¥₹]\s)\d++\w*+",
    rf"{_NUMBER}[\s-](?:[a-z]{{1,20}}[\s-])?(?:{_UNIT}|[a-z]{{1,20}}s)",
    rf"(?<!\.)\d{{1,6}} (?!{_NO_NOUN}\b)(?:[a-z]{{1,20}} )?(?!{_NO_NOUN}\b)[a-z]{{1,20}}s",
    r"(?:twice|once|three times) (?:a|per|every) \w++",
)

CONVERSATION = (
    Family("preference", (_PREFERENCE,)),
    Family("date", (_DATE,)),
    Family("human_name", (_HUMAN_NAME,)),
    Family("fact_assertion", (_FACT_ASSERTION,)),
    Family("quantity", (_QUANTITY,)),
)
