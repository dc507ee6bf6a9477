"""What a reader sees in a sentence at a glance: who it is about, its tense, names, numbers, times, and its manner.

English. Each pattern is a plain list of words or a short phrase, so reading is linear; none of them decides alone.
"""

from __future__ import annotations

import math
import re

from holdfast.recall.words import FUNCTION_WORDS

__all__ = ["FEATURES", "glance"]


def _word(*alternatives: str) -> re.Pattern[str]:
    """Any of these as whole words, anywhere, whatever their case."""
    return re.compile(r"\b(?:" + "|".join(alternatives) + r")\b", re.IGNORECASE)


def _opening(*alternatives: str) -> re.Pattern[str]:
    """Any of these at the beginning."""
    return re.compile(r"(?:" + "|".join(alternatives) + r")\b", re.IGNORECASE)


_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_LEAD = r"(?:(?:and|but|so|well|yeah|yes|yep|no|oh|ok|okay|actually|also|anyway|btw|wow|hey),? )?"
_I = re.compile(r"\b(?:i|we)(?:\b|['’](?:m|ve|re|ll|d)\b)", re.IGNORECASE)
_MY = _word("my", "our", "mine", "ours", "myself", "ourselves")
_YOU = re.compile(r"\b(?:you|your|yours|yourself|u|ur)\b", re.IGNORECASE)
_KIN = _word(
    "mom", "mum", "mother", "dad", "father", "parents?", "sisters?", "brothers?", "siblings?", "sons?", "daughters?",
    "kids?", "child(?:ren)?", "wife", "husband", "partner", "girlfriend", "boyfriend", "fianc[eé]e?", "family",
    "grand(?:ma|mother|pa|father|parents)", "aunt", "uncle", "cousins?", "niece", "nephew", "friends?", "roommate",
    "flatmate", "neighbou?rs?", "colleagues?", "boss", "team", "dogs?", "cats?", "puppy", "kitten", "pets?", "baby",
    "twins", "ex",
)  # fmt: skip
_LIFE = _word(
    "house", "home", "apartment", "flat", "mov(?:ed?|ing)", "married", "wedding", "divorced?", "engaged", "born",
    "birthday", "anniversary", "pregnant", "hospital", "doctor", "surgery", "diagnosed", "injur(?:y|ed)", "sick",
    "vacation", "holidays?", "trip", "travel(?:l?ed)?", "visited", "race", "marathon", "tournament", "competition",
    "concert", "festival", "volunteer(?:ed|ing)?", "garden", "car", "bike", "guitar", "piano", "violin",
    "paint(?:ed|ing)s?", "pottery", "camping", "hik(?:ed?|ing)", "yoga", "gym", "recipes?", "vegetarian", "vegan",
    "coffee", "tea", "books?", "movies?", "shows?", "games?", "band", "club", "group", "church", "charity",
)  # fmt: skip
_PAST = _word(
    "[a-z]{3,}ed", "went", "got", "had", "made", "took", "saw", "was", "were", "found", "met", "bought", "won", "came",
    "did", "gave", "felt", "ran", "lost", "left", "told", "said", "thought", "read", "wrote", "heard", "became",
    "began", "brought", "built", "caught", "chose", "drove", "ate", "fell", "flew", "forgot", "grew", "kept", "knew",
    "learnt", "led", "paid", "sold", "sent", "slept", "spent", "spoke", "stood", "swam", "taught", "threw",
    "understood", "wore", "broke", "drew", "rode", "sang", "shot", "hit", "quit", "put", "cut", "hurt", "woke",
    "fought", "held", "lent", "sat", "stuck", "been", "done", "seen", "given", "taken", "gone", "written", "known",
    "shown", "eaten", "begun", "chosen", "grown",
)  # fmt: skip
_REACTION = _opening(
    "wow", "whoa", "aw+", "oh", "ooh", "haha\\w*", "lol", "yay", "omg", "cool", "nice", "great", "awesome", "amazing",
    "fantastic", "wonderful", "lovely", "brilliant", "sweet", "perfect", "excellent", "congrat\\w*", "well done",
    "good (?:job|for you|luck|point|call|idea|to hear)", "sounds?", "that['’]?s", "that (?:is|was|sounds|must|makes)",
    "this (?:is|sounds)", "so (?:cool|sweet|proud|happy|glad|sorry)", "glad", "happy to hear", "sorry to hear",
    "totally", "absolutely", "definitely", "exactly", "agreed", "true", "right", "of course", "sure",
    "no (?:way|problem|worries|doubt)", "yep", "yeah", "yes", "yup", "same here", "me too", "looks?",
    "love (?:it|that|this|the|your)", "can['’]?t wait to (?:hear|see)",
)  # fmt: skip
_NAME = re.compile(r"(?<=[a-z,;:'’)] )(?!I\b)[A-Z][a-z]+|\b[A-Z]{2,}\b")

# Flags: name → pattern, searched anywhere (openings are matched at the beginning).
_ANYWHERE = {
    "me": _word("me", "us"),
    "thanks": _word("thanks", "thank you", "thx", "appreciate", "grateful", "means a lot", "cheers"),
    "wish": _word(
        "good luck", "let me know", "keep (?:it up|me posted|going|up)", "(?:proud|glad|happy|excited|sorry) "
        "(?:for you|to hear|that you|of you)", "hope (?:you|it|that|your)", "you(?:['’]ll| will) (?:be|do|find)",
        "rooting for", "here for you", "best of luck", "enjoy your", "don['’]t (?:worry|give up)", "feel free",
    ),
    "perfect": _word("(?:i|we)(?:['’]ve| have)(?: just| never| always| recently| also| finally| already)? [a-z]+"),
    "plan": _word(
        "going to", "gonna", "plan(?:s|ning|ned)? (?:to|on|for)", "(?:i|we)(?:['’]ll| will)", "thinking (?:of|about)",
        "hoping to", "want to", "wanna", "looking forward", "can['’]t wait", "aim(?:ing)? to", "intend", "will be",
        "signed up", "booked", "scheduled", "applied",
    ),
    "like": _word(
        "loves?", "liked?s?", "enjoy(?:s|ed)?", "prefers?", "hates?", "dislikes?", "adore", "favou?rites?", "fan of",
        "into", "obsessed", "allergic", "can['’]t stand", "rather", "interested in", "passion(?:ate)?", "keen",
    ),
    "am": _word("i['’]m", "i am", "we['’]re", "we are", "i was", "we were", "my name is", "call me"),
    "have": _word("(?:i|we|she|he|they)(?:['’]ve got| have| has| own| owns| got| bought| adopted| need| use| used)"),
    "work": _word(
        "jobs?", "work(?:ing|ed)?", "office", "company", "projects?", "clients?", "school", "college", "university",
        "class", "course", "degree", "exams?", "study(?:ing)?", "business", "career", "promotion", "salary", "shift",
        "intern(?:ship)?", "startup", "stores?", "shop", "repo", "server", "deploy(?:s|ed)?", "database", "production",
        "api", "codebase",
    ),
    "time": _word(
        "yesterday", "today", "tonight", "tomorrow", "last", "ago", "since", "recently", "lately", "weeks?",
        "weekends?",
        "months?", "years?", "(?:mon|tues|wednes|thurs|fri|satur|sun)days?", "january", "february", "march", "april",
        "june", "july", "august", "september", "october", "november", "december", "spring", "summer", "autumn",
        "winter", "christmas", "easter", "every", "daily", "usually", "always", "never", "often", "once", "twice",
    ),
    "number": re.compile(
        r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|hundred|thousand|million|half|first"
        r"|second|third)\b",
        re.IGNORECASE,
    ),
    "unreal": _word(
        "if i", "if we", "i wish", "would", "could", "might", "imagine", "suppose", "what if", "maybe", "perhaps",
        "probably",
    ),
    "rule": _word(
        "from now on", "always", "never", "make sure", "remember (?:that|this|to)", "in future", "must", "no longer",
        "instead of", "switched", "decided", "changed my mind", "agreed", "any ?more",
    ),
    "feeling": _word(
        "feel(?:ing)?s?", "felt", "happy", "sad", "proud", "excited", "nervous", "anxious", "stressed", "relaxed",
        "calm", "tired", "exhausted", "thrilled", "scared", "worried", "inspired", "motivated", "peace", "joy",
        "confident", "fulfill\\w*", "rewarding", "therapeutic", "overwhelmed",
    ),
    "helps": _word(
        "(?:helps?|makes?|reminds?|keeps?|gives?|lets|taught|inspired|helped|made) (?:me|us)", "for me", "to me",
    ),
}  # fmt: skip
_AT_START = {
    "i_start": _opening(_LEAD + r"(?:i|we|my|our)"),
    "you_start": _opening(_LEAD + r"(?:i think |i hope |hope )?(?:you|your)"),
    "question_start": _opening(
        "what", "when", "where", "why", "who", "whom", "which", "how", "do", "does", "did", "is", "are", "was", "were",
        "can", "could", "would", "will", "should", "have", "has", "any", "got", "shall", "may", "ever",
    ),
    "greeting": _opening(
        "hi", "hey", "hello", "good (?:morning|evening|afternoon|night)", "howdy", "yo", "long time", "bye", "goodbye",
        "see you", "talk (?:to you )?(?:soon|later)", "take care", "have a (?:great|good|nice)",
    ),
    "evaluation": _opening(
        "(?:it|that|this|these|those|they|there|everything|life|nature|music|art)"
        "(?:['’]?s|['’]re| is| was| are| were| can| really| must| makes?| sounds?| looks?| feels?)",
    ),
    "command": _opening(
        "please", "(?:can|could|would) you", "let['’]?s", "don['’]?t", "make", "give", "show", "tell", "write",
        "explain", "find", "add", "fix", "use", "try", "check", "look", "send", "list", "create", "help", "keep",
        "take",
        "go", "come", "wait", "stop", "translate", "summari[sz]e", "rewrite", "run", "open", "set", "put", "remove",
        "change", "update", "convert", "draft", "suggest", "recommend",
    ),
}  # fmt: skip

FEATURES: tuple[str, ...] = (
    "bias", "words", "content", "i", "my", "you", "question", "exclaim", "reaction", "past", "own_past", "kin",
    "my_kin",
    "life", "name", "answer", "first", "alone", "own_content", "you_not_own", "short", "long_own", "life_not_own",
    "reaction_own", *_ANYWHERE, *_AT_START,
)  # fmt: skip


def glance(sentence: str, answers: bool, first: bool, alone: bool) -> list[float]:
    """The features of a sentence, in the order of FEATURES: flags as 0 or 1, amounts as logarithms."""
    words = _WORD.findall(sentence)
    content = math.log1p(sum(word.lower().replace("’", "'") not in FUNCTION_WORDS for word in words))
    i, my, you = (bool(pattern.search(sentence)) for pattern in (_I, _MY, _YOU))
    own = i or my
    past, kin, life = (bool(pattern.search(sentence)) for pattern in (_PAST, _KIN, _LIFE))
    reaction = bool(_REACTION.match(sentence))
    question = sentence.rstrip("\"'”’) ").endswith("?")
    amounts: dict[str, float] = {
        "bias": 1.0,
        "words": math.log1p(len(words)),
        "content": content,
        "name": math.log1p(min(len(_NAME.findall(sentence)), 3)),
        "own_content": content if own and not question else 0.0,
    }
    flags = {
        "i": i,
        "my": my,
        "you": you,
        "question": question,
        "exclaim": sentence.endswith("!"),
        "reaction": reaction,
        "past": past,
        "own_past": past and own,
        "kin": kin,
        "my_kin": kin and my,
        "life": life,
        "answer": answers,
        "first": first,
        "alone": alone,
        "you_not_own": you and not own,
        "short": len(words) <= 3,
        "long_own": own and content >= math.log1p(6),
        "life_not_own": life and not own,
        "reaction_own": reaction and own,
    }
    flags |= {name: bool(pattern.search(sentence)) for name, pattern in _ANYWHERE.items()}
    flags |= {name: bool(pattern.match(sentence)) for name, pattern in _AT_START.items()}
    return [amounts[name] if name in amounts else float(flags[name]) for name in FEATURES]
