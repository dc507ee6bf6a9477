"""Sentences with a word that hints at guidance, written for this: some are guidance, some only sound like it.

The booster's threshold is calibrated on them (tests/compact/test_booster.py).
"""

from __future__ import annotations

GUIDANCE = """
I prefer answers that fit on one screen.
I'd rather you wrote the summary first and the details after it.
It would be nice if your replies had no emojis.
I like your answers best as lists.
You should really ask me before sending mails to anybody.
I'd appreciate it if you checked with me before booking a table.
Tabs are what we prefer in this repo, not spaces.
In general I want the code commented in English.
It's better if you tell me when you don't know the answer.
Your explanations should be shorter, I read them on my phone.
I hate it when a reply starts with "Great question".
Recipes should be without nuts for us.
For my appointments it's best if you avoid Monday mornings.
Temperatures should be in Celsius, I can't think in Fahrenheit.
Dates work best for me in the form year, month, day.
The tests need to be green before anything is merged.
Commit messages should be one short line in the imperative.
New dependencies are something we avoid in this project.
I expect you to give the source when you quote a figure.
What I say about my divorce should stay between us.
It helps me if you show the command before you run it.
Our convention is snake case for table names.
I want you to call me Fitz, not Fitzgerald.
Functions should stay under forty lines in our codebase.
We keep secrets out of the repository and out of the logs.
The policy here is that two people review every change.
My preference is formal German in letters to the authorities.
When you suggest restaurants, cheap ones are better.
I would like it if you answered in Spanish on Fridays.
I usually want just the code, no need for a lecture.
Error messages should say what the user can do about it.
Suggestions for weekend trips should work without a car.
Stick with the metric system in everything you write for me.
Better if you don't give me medical advice unless I ask.
I'd rather have one good option than five mediocre ones from you.
Deployments should wait until the morning, I'd like that as our default.
""".strip().splitlines()

NO_GUIDANCE = """
I should probably go to bed soon.
My sister prefers tea to coffee.
You should see the film about the lighthouse, it's wonderful.
I keep forgetting where I left my keys.
We avoided the traffic by taking the coast road.
I'd rather be at the beach right now.
The keeper let the second goal in.
It rained the whole weekend, so we kept the kids inside.
Should we go to Porto or to Braga?
I used to prefer trains, but flying is cheaper now.
My boss should have told me about the meeting.
They have to repair the roof before winter.
He needs to see a dentist about that tooth.
I want to learn how to swim this summer.
The standard of the hotel was lower than expected.
My grandmother used to keep bees behind the house.
It would be great to see you at the party.
We usually spend Christmas with my parents.
I remember the summer when we first met in Split.
I'm keeping my old car for another year.
The doctor said I should drink more water.
My daughter wants to be a vet, or a pirate.
I skipped lunch because the meeting ran late.
She'd like to visit her cousins in Osaka.
Prices for flats in Galway should fall next year, they say.
The important thing is that nobody was hurt.
I like to run along the canal before work.
I'd rather not talk about the match last night.
They kept us waiting for two hours at the border.
I prefer the blue jacket, it suits me better.
Our train should arrive at ten past four.
I expect the parcel tomorrow, or on Wednesday.
It was better when we lived closer to the sea.
Ruth has to work on Sunday again.
My uncle's rule for fishing was patience and sandwiches.
The dog keeps barking at the neighbour's cat.
I hate when it rains on the washing.
We stuck with the plan and reached the hut before dark.
""".strip().splitlines()
