"""People with strings of their own, for tests that take one of them away: every name below is made up."""

from __future__ import annotations

import random
from collections.abc import Sequence

Message = dict[str, object]

_ONSETS = ("br", "kl", "dv", "tz", "mw", "sk", "vl", "gr", "zh", "pf", "th", "qu", "fr", "st", "ny", "ch")
_VOWELS = ("a", "e", "i", "o", "u", "ae", "io", "uo")
_JOBS = ("roof", "harbour", "library", "bakery", "signal box", "orchard", "kiln", "observatory")


def coined(rng: random.Random, syllables: int = 4) -> str:
    """A word that nobody has used."""
    return "".join(rng.choice(_ONSETS) + rng.choice(_VOWELS) for _ in range(syllables)).capitalize()


def own_words(number: int) -> list[str]:
    """What only this person says: a name, a town, an animal, a firm, a street."""
    rng = random.Random(f"person {number}")
    return [coined(rng) for _ in range(5)]


def talk(number: int) -> list[Message]:
    """A conversation of theirs, with a rule, a repetition that is merged, and the assistant using their words."""
    name, town, animal, firm, street = own_words(number)
    job = _JOBS[number % len(_JOBS)]
    said = [
        f"My name is {name} and I live in {town}.",
        f"Nice to meet you, {name}. How is {town} this time of year?",
        f"I have a tortoise called {animal}, it is afraid of the {job}.",
        f"{animal} is a fine name for a tortoise.",
        f"I work for {firm} on {street} Street.",
        f"{firm} sounds like a busy place.",
        f"Always call me {name} and never write to {firm} for me.",
        "Understood, I will keep to that.",
        f"I have a tortoise called {animal}.",
        f"Yes, you told me about {animal}.",
        f"Remember that my sister {coined(random.Random(f'sister {number}'))} has the spare key.",
        "I will remember it.",
    ]
    return [{"role": "user" if at % 2 == 0 else "assistant", "content": text} for at, text in enumerate(said)]


def questions(number: int) -> Sequence[str]:
    name, town, animal, firm, _ = own_words(number)
    return (f"where does {name} live", f"who is {animal}", f"who works for {firm}", f"what is in {town}", "spare key")
