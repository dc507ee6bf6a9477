"""Small retrieval sets of our own, in the formats of the public ones."""

from __future__ import annotations

import json
from pathlib import Path

__all__ = ["BEAM", "LITE", "LOCOMO", "ORACLE", "write"]

LOCOMO: list[dict[str, object]] = [
    {
        "sample_id": "talk-1",
        "conversation": {
            "speaker_a": "Imke",
            "speaker_b": "Teodor",
            "session_2_date_time": "9:05 am on 2 June, 2024",
            "session_2": [
                {"speaker": "Imke", "dia_id": "D2:1", "text": "The pottery class starts on Tuesday."},
                {"speaker": "Teodor", "dia_id": "D2:2", "text": "Look at this!", "blip_caption": "a green bicycle"},
            ],
            "session_1_date_time": "1:56 pm on 8 May, 2024",
            "session_1": [
                {"speaker": "Imke", "dia_id": "D1:1", "text": "Hello Teodor, how was the ferry?"},
                {"speaker": "Teodor", "dia_id": "D1:2", "text": "Windy. I adopted a grey kitten called Pluto."},
                {"speaker": "Imke", "dia_id": "D1:3", "text": "Lovely! My sister sells honey at the market."},
            ],
        },
        "qa": [
            {"question": "What is the name of Teodor's kitten?", "evidence": ["D1:2"], "category": 4},
            {"question": "Who shared a bicycle and who adopted a kitten?", "evidence": ["D2:02; D:1:2"], "category": 1},
            {
                "question": "When does the pottery class start?",
                "evidence": ["D1:1"],
                "evidence_audited": ["D2:1"],
                "category": 2,
            },
            {"question": "What would Imke enjoy?", "evidence": ["D", "D9:9"], "category": 3},
            {"question": "What is the name of Imke's kitten?", "evidence": ["D1:2"], "category": 5},
        ],
    }
]

BEAM: list[dict[str, object]] = [
    {
        "id": 7,
        "chat": [
            {
                "batch_number": 1,
                "turns": [
                    [
                        {
                            "role": "user",
                            "id": 0,
                            "time_anchor": "March-15-2024",
                            "content": "My greenhouse needs a new fan before the summer. ->-> 1,1",
                        },
                        {"role": "assistant", "id": 1, "content": "An axial fan would do."},
                    ],
                    [
                        {"role": "user", "id": 2, "content": "Always answer me in metric units. ->-> 1,N/A"},
                        {"role": "assistant", "id": 3, "content": "Of course."},
                    ],
                ],
            },
            {
                "batch_number": 2,
                "turns": [
                    [
                        {
                            "role": "user",
                            "id": 4,
                            "time_anchor": "April-02-2024",
                            "content": "The seedlings are tomatoes and peppers.",
                        },
                        {"role": "assistant", "id": 5, "content": "Both like warmth ->-> 2,1"},
                    ]
                ],
            },
        ],
        "probing_questions": {
            "information_extraction": [{"question": "Which seedlings do I have?", "source_chat_ids": [4]}],
            "knowledge_update": [
                {
                    "question": "What about the greenhouse fan and the metric units?",
                    "source_chat_ids": {"first": [0], "second": {"deep": [2, 99]}},
                }
            ],
            "preference_following": [{"question": "Which pots suit me?", "source_chat_ids": []}],
            "abstention": [{"question": "What did the fan cost?"}],
        },
    }
]


def _item(name: str, question: str, sessions: dict[str, tuple[str, list[tuple[str, str, bool]]]]) -> dict[str, object]:
    return {
        "question_id": name,
        "question_type": "multi-session" if len(sessions) > 1 else "single-session-user",
        "question": question,
        "question_date": "2024/03/01 (Fri) 10:00",
        "haystack_session_ids": list(sessions),
        "haystack_dates": [date for date, _ in sessions.values()],
        "haystack_sessions": [
            [{"role": role, "content": text, "has_answer": marked} for role, text, marked in lines]
            for _, lines in sessions.values()
        ],
        "answer_session_ids": list(sessions),
    }


ORACLE: list[dict[str, object]] = [
    _item(
        "q1",
        "Which instruments do I own?",
        {
            "answer_aaaa_2": (
                "2024/02/03 (Sat) 18:00",
                [("user", "I bought a second instrument, an oboe.", True), ("assistant", "Congratulations!", False)],
            ),
            "answer_aaaa_1": (
                "2024/01/02 (Tue) 08:00",
                [("user", "Good morning.", False), ("user", "My first instrument is a cello.", True)],
            ),
        },
    ),
    _item(
        "q2",
        "Where do I keep the passport?",
        {"answer_bbbb": ("2024/01/05 (Fri) 12:00", [("user", "My passport is in the blue drawer.", True)])},
    ),
    _item(
        "q3_abs",
        "Where do I keep the umbrella?",
        {"answer_bbbb_abs_1": ("2024/01/06 (Sat) 12:00", [("user", "It rains a lot this week.", False)])},
    ),
    _item(
        "q4",
        "Which bread do I like?",
        {"answer_cccc_1": ("2024/01/07 (Sun) 12:00", [("user", "Rye bread is for sale again.", False)])},
    ),
]

LITE: dict[str, object] = {
    "sessions": {
        "answer_bbbb": "My passport is in the blue drawer.",
        "noise_1": "Which pigment makes lemons yellow?\nAnd oranges?",
        "noise_2": "Tell me a story about a drawer.",
    },
    "questions": [
        {
            "question_id": "q2",
            "haystack_session_ids": ["noise_1", "answer_bbbb", "noise_2"],
            "haystack_dates": ["2024/01/09 (Tue) 09:00", "2024/01/05 (Fri) 12:00", "2024/01/04 (Thu) 12:00"],
        }
    ],
}


def write(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    path.write_text(json.dumps(content), encoding="utf-8")
    return path
