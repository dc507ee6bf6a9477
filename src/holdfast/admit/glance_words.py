"""The words and pairs of words that admit/glance.py looks for: plain lists, looked up whole, lower case.

English. None of them decides alone: what each is worth is learned (training/durability.py).
"""

from __future__ import annotations

from itertools import product

__all__ = ["EMPTY_OBJECTS", "FIRST_PAIRS", "FIRST_WORDS", "LEADS", "LIKING", "PAIRS", "WORDS"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _pairs(first: str, second: str) -> frozenset[tuple[str, str]]:
    """Every word of the first list before every word of the second."""
    return frozenset(product(first.split(), second.split()))


LEADS = _words("and but so well yeah yes yep no oh ok okay actually also anyway btw wow hey")
"""A sentence may open with one of these before it begins."""

LIKING = _words("love like enjoy hate dislike adore prefer")
EMPTY_OBJECTS = _words(
    """it that this these those the your you to how when what them him her bit little lot few big huge good great bad
    moment minute question problem idea"""
)
"""After "I like" or "I'm a" these say nothing that lasts."""

_TEXTS = {
    "i": "i we i'm i've i'd i'll we're we've we'd we'll",
    "my": "my our mine ours myself ourselves",
    "you": "you your yours yourself u ur you're you've you'll you'd",
    "me": "me us",
    "kin": """
        mom mum mother dad father parent parents sister sisters brother brothers sibling siblings son sons daughter
        daughters kid kids child children wife husband partner girlfriend boyfriend fiancé fiancée fiance fiancee
        family grandma grandmother grandpa grandfather grandparents aunt uncle cousin cousins niece nephew friend
        friends roommate flatmate neighbour neighbor neighbours neighbors colleague colleagues boss team dog dogs
        cat cats puppy kitten pet pets baby twins ex""",
    "life": """
        house home apartment flat move moved moving married wedding divorce divorced engaged born birthday
        anniversary pregnant hospital doctor surgery diagnosed injury injured sick vacation holiday holidays trip
        travel traveled travelled visited race marathon tournament competition concert festival volunteer
        volunteered volunteering garden car bike guitar piano violin painted painting paintings paints pottery
        camping hike hiked hiking yoga gym recipe recipes vegetarian vegan coffee tea book books movie movies show
        shows game games band club group church charity""",
    "past": """
        went got had made took saw was were found met bought won came did gave felt ran lost left told said thought
        read wrote heard became began brought built caught chose drove ate fell flew forgot grew kept knew learnt
        led paid sold sent slept spent spoke stood swam taught threw understood wore broke drew rode sang shot hit
        quit put cut hurt woke fought held lent sat stuck been done seen given taken gone written known shown eaten
        begun chosen grown""",
    "thanks": "thanks thx appreciate grateful cheers",
    "perfect": "i've we've",
    "plan": "gonna wanna intend booked scheduled applied i'll we'll",
    "like": """
        love loves like liked likes enjoy enjoys enjoyed prefer prefers hate hates dislike dislikes adore favourite
        favourites favorite favorites into obsessed allergic rather passion passionate keen""",
    "am": "i'm we're",
    "work": """
        job jobs work working worked office company project projects client clients school college university class
        course degree exam exams study studying business career promotion salary shift intern internship startup
        store stores shop repo server deploy deploys deployed database production api codebase""",
    "time": """
        yesterday today tonight tomorrow last ago since recently lately week weeks weekend weekends month months
        year years monday mondays tuesday tuesdays wednesday wednesdays thursday thursdays friday fridays saturday
        saturdays sunday sundays january february march april june july august september october november december
        spring summer autumn winter christmas easter every daily usually always never often once twice""",
    "number": """
        two three four five six seven eight nine ten eleven twelve dozen hundred thousand million half first second
        third""",
    "unreal": "would could might imagine suppose maybe perhaps probably",
    "rule": "always never must agreed decided switched anymore",
    "feeling": """
        feel feels feeling feelings felt happy sad proud excited nervous anxious stressed relaxed calm tired
        exhausted thrilled scared worried inspired motivated peace joy confident fulfilled fulfilling fulfillment
        rewarding therapeutic overwhelmed""",
}
WORDS: dict[str, frozenset[str]] = {name: _words(text) for name, text in _TEXTS.items()}

PAIRS: dict[str, frozenset[tuple[str, str]]] = {
    "thanks": _pairs("thank", "you") | _pairs("means", "a"),
    "wish": _pairs("good best", "luck of")
    | _pairs("me", "know posted")
    | _pairs("keep", "it me going up")
    | _pairs("proud glad happy excited sorry", "for to that of")
    | _pairs("hope", "you it that your")
    | _pairs("you'll", "be do find")
    | _pairs("rooting here", "for")
    | _pairs("enjoy", "your")
    | _pairs("don't", "worry give")
    | _pairs("feel", "free"),
    "perfect": _pairs("i we", "have"),
    "plan": _pairs("going hoping want aim aiming", "to")
    | _pairs("plan plans planning planned", "to on for")
    | _pairs("i we", "will")
    | _pairs("thinking", "of about")
    | _pairs("looking", "forward")
    | _pairs("can't", "wait")
    | _pairs("will", "be")
    | _pairs("signed", "up"),
    "like": _pairs("fan", "of") | _pairs("can't", "stand") | _pairs("interested", "in"),
    "am": _pairs("i", "am was") | _pairs("we", "are were") | _pairs("name", "is") | _pairs("call", "me"),
    "have": _pairs("i we she he they", "have has own owns got bought adopted need use used")
    | _pairs("i've we've", "got"),
    "unreal": _pairs("if", "i we") | _pairs("i", "wish") | _pairs("what", "if"),
    "rule": _pairs("now", "on")
    | _pairs("make", "sure")
    | _pairs("remember", "that this to")
    | _pairs("in", "future")
    | _pairs("no", "longer")
    | _pairs("instead", "of")
    | _pairs("changed", "my")
    | _pairs("any", "more"),
    "helps": _pairs(
        "help helps make makes remind reminds keep keeps give gives lets taught inspired helped made", "me us"
    )
    | _pairs("for to", "me"),
    # A lasting statement about oneself, however short it is (SAL-2).
    "tells": _pairs("i", "live work speak play teach study own drive collect prefer hate wear use moved quit switched")
    | _pairs("i'm am", "allergic vegetarian vegan from married single pregnant diabetic engaged retired learning")
    | _pairs("a", "vegetarian vegan")
    | _pairs("my", "name nickname surname birthday pronouns favourite favorite")
    | _pairs("call", "me")
    | _pairs("allergic", "to")
    | _pairs("born grew", "in up")
    | _pairs("i we", "always never usually")
    | _pairs("we", "use deploy prefer decided agreed switched moved host")
    | _pairs("always never", "use answer deploy call ask write reply assume")
    | _pairs("remember", "that this")
    | _pairs("don't", "forget"),
    # "I" that speaks of the other: it is about what they said, not about oneself.
    "courtesy": _pairs("i", "hope bet think guess suppose know see mean knew agree understand imagine")
    | _pairs("love", "that it this your how")
    | _pairs("i'm am so really very truly", "glad happy proud sorry sure")
    | _pairs("can can't", "imagine picture believe wait see")
    | _pairs("i'd would", "love be"),
}

FIRST_WORDS: dict[str, frozenset[str]] = {
    "reaction": _words(
        """
        wow whoa woah aw aww awww oh ooh haha hahaha ha lol yay omg cool nice great awesome amazing fantastic
        wonderful lovely brilliant sweet perfect excellent congrats congratulations sound sounds that's thats glad
        totally absolutely definitely exactly agreed true right sure yep yeah yes yup look looks"""
    ),
    "question_start": _words(
        """
        what when where why who whom which how do does did is are was were can could would will should have has any
        got shall may ever what's where's who's how's"""
    ),
    "greeting": _words("hi hey hello howdy yo bye goodbye"),
    "command": _words(
        """
        please let's lets don't dont make give show tell write explain find add fix use try check look send list
        create help keep take go come wait stop translate summarise summarize rewrite run open set put remove change
        update convert draft suggest recommend"""
    ),
    "evaluation": _words("it's that's this's they're there's everything's life's"),
}

FIRST_PAIRS: dict[str, frozenset[tuple[str, str]]] = {
    "reaction": _pairs("well", "done")
    | _pairs("good", "job for luck point call idea to")
    | _pairs("that", "is was sounds must makes")
    | _pairs("this", "is sounds")
    | _pairs("so", "cool sweet proud happy glad sorry")
    | _pairs("happy sorry", "to")
    | _pairs("of", "course")
    | _pairs("no", "way problem worries doubt")
    | _pairs("same", "here")
    | _pairs("me", "too")
    | _pairs("love", "it that this the your")
    | _pairs("can't", "wait"),
    "greeting": _pairs("good", "morning evening afternoon night")
    | _pairs("long", "time")
    | _pairs("see", "you")
    | _pairs("talk", "soon later to")
    | _pairs("take", "care")
    | _pairs("have", "a"),
    "command": _pairs("can could would", "you"),
    "evaluation": _pairs(
        "it that this these those they there everything life nature music art",
        "is was are were can really must make makes sound sounds look looks feel feels",
    ),
}
