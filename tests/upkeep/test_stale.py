"""What the doctor calls stale: plans whose time has passed, and not facts that happen to hold a date."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from holdfast.upkeep.audit import last_day, passed

pytestmark = pytest.mark.requirement("KEEP-3")

SAID = datetime(2026, 5, 5, 10, tzinfo=UTC)  # a Tuesday
A_YEAR_LATER = datetime(2027, 6, 1, tzinfo=UTC)

PLANS = [
    "The dentist appointment is on 12 May 2026.",
    "I fly to Oslo next Friday.",
    "We are launching the shop in June.",
    "I will hand in the thesis on 3 July.",
    "The exam is tomorrow.",
    "My sister gets married on 14 August 2026.",
    "I'm in Rome until Friday.",
    "The lease ends in September 2026.",
    "My visa is valid until 4 June 2026.",
    "We have to renew the certificate by 2026-08-01.",
    "I never liked Oslo, but I fly there on 12 June 2026.",
    "Any news about the grant will come in July.",
    "I moved here in 2019. The lease ends on 30 June.",
    "The plumber comes on Thursday (2026-05-07).",
    "In three weeks we start the trial.",
    "The concert is on Friday.",
    "I'm starting the new medication next week.",
    "I need the slides by 20 May.",
    "Ana's birthday party is on 16 May 2026.",
    "The audit runs from 1 June 2026 to 12 June 2026.",
    "The conference is next month.",
    "I am going to repaint the hull this weekend.",
    "The deadline for the grant is 1 October.",
    "The visa interview is on 9 June 2026 at ten.",
    "Our landlord will inspect the flat on Thursday.",
    "I have to pay the deposit by 15 May 2026.",
    "My parents are arriving next weekend.",
    "The beta ships in July 2026.",
    "Guarantee on the boiler runs out on 2026-10-01.",
    "I'm going to Lisbon in August.",
    "Kickoff with the new client is tomorrow.",
    "I'll send you the contract on Friday.",
    "Leo's surgery is in two weeks.",
    "We close on the house on 30 June 2026.",
    "The sublet runs until September 2026.",
    "Next month I take my driving test.",
    "The regatta is from 5 June to 7 June 2026.",
    "I have a job interview this Thursday.",
]
FACTS = [
    "My birthday is on 12 May.",
    "Our wedding anniversary is 3 June.",
    "Mum's name day is on 26 July.",
    "From 1 June 2026 the office is in Porto.",
    "Starting next Monday I work at Acme.",
    "As of 1 July the rent is 900 euros.",
    "The new price list applies from 1 July 2026 on.",
    "Effective 2026-07-01 the API key rotates weekly.",
    "The shop is closed on Sunday.",
    "I work from home on Friday.",
    "Rubbish is collected on Thursday.",
    "We use the API version 2026-07-28.",
    "The backup lies in dump-2026-06-01.tar.gz.",
    "The schema is schema_2026-08-01.sql in the repo.",
    "Deploys happen every Friday, the next one on 8 May 2026.",
    "The team meets on Mondays.",
    "I was born in May.",
    "I moved here in June 2019.",
    "The tax return is due in May each year.",
    "The annual fair is in September.",
    "Yearly review takes place in November.",
    "I live in Rome.",
    "The store opens at nine.",
    "This sun is too strong for me.",
    "We march 12 kilometres with the scouts.",
    "Daily standup is at nine, also this Friday.",
    "After 1 June 2026 I only eat plants.",
    "Since May 2024 I have been a nurse.",
    "Rust 2027 is the edition we use.",
    "My flight was on 2 May 2026.",
    "I retired on 30 April.",
    "Winter tyres are required in November.",
    "Asparagus is in season in May and June.",
    "On Saturday the baker sells rye bread.",
    "The clinic is open on Saturday.",
    "My driving licence number starts with 2026.",
    "Dad's birthday is June 2.",
    "From July on we bill in euros.",
    "Beginning 1 September 2026 all invoices carry VAT.",
    "Our protocol version is 2026-06-18.",
    "The log file is app.2026-06-30.log.",
    "I swim on Thursday and cycle on Friday.",
    "We got married in June 2015.",
    "The museum is free on the first Sunday of each month.",
    "Since 2027 is far away, I keep my old car.",
    "We always go to Brittany in August.",
    "My anniversary is 8 August.",
    "The branch is called release/2026-08.",
    "Tomatoes go out after 15 May.",
    "Ana joined the team in April 2026.",
    "I usually file taxes in July.",
]


@pytest.mark.parametrize("text", PLANS)
def test_a_plan_whose_time_has_passed_is_stale_and_not_before(text: str) -> None:
    assert passed(text, SAID, A_YEAR_LATER) is not None
    assert passed(text, SAID, SAID) is None


@pytest.mark.parametrize("text", FACTS)
def test_what_comes_again_goes_on_or_is_only_named_by_a_date_is_not(text: str) -> None:
    assert passed(text, SAID, A_YEAR_LATER) is None


def test_a_text_is_as_young_as_the_last_time_it_names() -> None:
    text = "The tender closes on 12 June 2026. The winner is told on 3 August 2027."
    assert passed(text, SAID, A_YEAR_LATER) is None
    last = passed(text, SAID, datetime(2027, 9, 1, tzinfo=UTC))
    assert last is not None and (last.phrase.rstrip("."), last_day(last)) == ("3 August 2027", "2027-08-03")


def test_what_was_behind_when_it_was_said_is_history() -> None:
    assert passed("The dentist appointment is on 12 May 2026.", datetime(2026, 5, 20, tzinfo=UTC), A_YEAR_LATER) is None
