"""Write the store of tests/store/test_older_versions.py with Holdfast 0.1, and what that version answers from it.

python tests/store/data/make_version_0_1.py FOLDER
"""

from __future__ import annotations

import gzip
import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from holdfast import Memory, Record

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
SAID = [
    ("s1", "user", "My sister Anna lives in Rome and works as a nurse."),
    ("s1", "assistant", "Noted. Shall I remind you of her birthday?"),
    ("s1", "user", "Yes, her birthday is on 14 June."),
    ("s1", "user", "I live in Porto near the river."),
    ("s1", "user", "From now on always answer in metric units."),
    ("s2", "user", "I keep the spare key of the boathouse in the blue tin."),
    ("s2", "assistant", "The spare key is in the blue tin."),
    ("s2", "user", "Actually Anna moved to Milan last week."),
    ("s2", "tool", "weather: 14 degrees, light rain"),
    ("s3", "user", "We decided to paint the hull green, not red."),
    ("s3", "user", "I have moved to Lisbon."),
    ("s3", "user", "I am allergic to walnuts."),
    ("s3", "user", "The number of my locker is 4417, forget it soon."),
    ("s3", "user", "This line is erased."),
]
QUESTIONS = ["Where does my sister Anna live now?", "What am I allergic to?", "Where is the spare key?"]


def main(folder: Path) -> None:
    path = folder / "version_0_1.db"
    now = START + timedelta(days=30)
    with Memory(path, "ana", clock=lambda: now) as memory:
        turns = [
            memory.ingest(
                text,
                session=session,
                role=role,
                at=START + timedelta(hours=number),
                key=f"k{number}",
                metadata={"number": number},
            )
            for number, (session, role, text) in enumerate(SAID)
        ]
        memory.flush()
        memory.remember("Anna's flat has a green door.", kind="fact")
        memory.forget(turns[-2].id)
        memory.erase(turn=turns[-1].id)
        memory.flush()
        answers = {
            "turns": [
                [turn.id, turn.session, turn.role, turn.text, turn.at.isoformat(), turn.metadata["number"]]
                for session in ("s1", "s2", "s3")
                for turn in memory.thread(session)
            ],
            "records": sorted(
                [one.id, one.kind, one.text] for one in memory.recent(100, kind="record") if isinstance(one, Record)
            ),
            "hits": {question: [hit.text for hit in memory.search(question)] for question in QUESTIONS},
        }
    with Memory(path, "ben", clock=lambda: now) as other:
        other.ingest("Ben collects old maps of Ghent.", at=START)
        other.flush()
    (folder / "version_0_1.db.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    (folder / "version_0_1.json").write_text(json.dumps(answers, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
