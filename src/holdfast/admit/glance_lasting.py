"""The words by which admit/glance_shape.py knows a plain statement: its verbs, what lasts, what passes, what judges.

English, looked up whole, lower case. Common knowledge about people's lives, written down; what it is worth is learned.
"""

from __future__ import annotations

__all__ = [
    "CLAUSE", "ERRAND", "JUDGED", "LASTING", "NOW", "NUMBERS", "OWN_VERBS", "POINTING", "PRONOUNS", "THIRD_VERBS",
    "WITHOUT_WEIGHT",
]  # fmt: skip


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CLAUSE = _words(", ; : but because when while if so since that who which where although though until and or then")
"""Where the value of a statement ends."""

PRONOUNS = _words(
    """
    it its it's that that's this this's these those they they're he he's she she's there there's here here's you you're
    you've you'll your i'd i'll we'd we'll me us him her them his their one some any all most many much more both each
    every everything everybody everyone something somebody someone anything anybody anyone nothing nobody none what
    what's who who's which when where how why if because let's let not no never always please thanks thank sorry hope
    glad happy sounds looks seems got going can could would will should may might must do does did don't is are was
    were am have has had people things life nature see just maybe perhaps today tomorrow tonight yesterday now then
    """
)
"""A sentence that begins with one of these names nothing that it would be about in another conversation."""

WITHOUT_WEIGHT = _words(
    "really also still just only always usually often mostly never don't do not can't cannot can now both all"
)

OWN_VERBS = _words(
    """
    am are have own live lived work worked study studied speak play teach taught drive ride collect coach
    train volunteer sing swim run cycle dance paint bake brew knit sew farm garden grow breed keep raise cook write eat
    drink smoke wear use take need like love hate dislike enjoy adore prefer detest moved grew married retired founded
    adopted bought sold graduated joined quit stopped started switched studied lost speak read know stand host support
    ship deploy hire manage lead run build maintain follow belong sleep practise practice gave walk rent
    """
)

THIRD_VERBS = _words(
    """
    is are was were has have had uses use runs run lives live works work plays play speaks speak teaches teach costs
    cost takes take needs need lies lie flows rises belongs belong comes come goes go starts start ends end opens open
    closes close begins began meets meet owns own leads led contains contain holds hold includes include makes make made
    produces sells sell sold serves serve supports support requires require returns return talks stands stood sits hangs
    hang wrote won became grew taught built found founded spoke expires expire happens happen covers cover gets get
    sends send keeps keep kept sleeps studies studied drives drive eats eat drinks drink likes like loves love hates
    hate prefers prefer means borders links connects connects consists eats pays pay sign signs reports report rents
    allows allow forbids lasts last must lays breeds grows grow swims swim burns contains
    """
)

POINTING = _words(
    """
    it that this these those them him her you your yours here there one ones another other others same it's that's so
    how what when why where which such first second third last next rest option
    """
)
"""As the first word of a value they point at the conversation: "I like the first one"."""

NOW = _words(
    """
    now today tonight later soon already again yet back ready late early here there tomorrow waiting coming going
    leaving calling ringing asleep awake hungry tired busy fine okay ok sure sorry kidding lost done over gone away
    downstairs upstairs outside inside hurts
    """
)
"""What is true of the moment only."""

ERRAND = _words(
    """
    moment minute minutes second seconds sec table door phone line way queue kitchen call drawer plenty break question
    problem idea request meeting appointment reservation feeling chance clue headache cold temperature fever time times
    bag bags cash card receipt bill ticket tickets seat seats list page file error link test tests choice option options
    order orders message picture number form copies copy bread butter eggs lunch dinner breakfast film bus train taxi
    key keys coat
    """
)
"""What somebody has, takes or likes for as long as an errand lasts."""

JUDGED = _words(
    """
    good great nice better best bad worse worst lovely amazing awesome terrible awful horrible boring funny wonderful
    beautiful pretty perfect excellent delicious tasty easy hard difficult simple right wrong true false cool crazy sad
    strange weird odd interesting exciting loud slow fast quick big small short long wide narrow cheap expensive fair
    unfair clear empty full broken wet dry hot warm cold dead alive alone missing same different enough important
    useful helpful useless strong weak rude kind sweet cute ugly clean dirty messy mess tidy close far near high low new
    old stale open closed available complete finished free angry happy upset proud fun joke shame pity yes no
    delayed cancelled canceled jammed stuck parked locked attached solved installed included
    """
)

NUMBERS = _words(
    """
    two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million half noon midnight monday
    mondays tuesday tuesdays wednesday wednesdays thursday thursdays friday fridays saturday saturdays sunday sundays
    january february march april may june july august september october november december
    """
)

LASTING = _words(
    """
    accountant actor actress architect artist baker banker barber barista beekeeper biologist bookkeeper builder
    butcher carpenter cashier chef chemist cleaner clerk coach composer consultant cook dentist designer developer
    director diver doctor driver economist editor electrician engineer farmer firefighter fisherman florist freelancer
    gardener geologist hairdresser historian janitor jeweller journalist judge lawyer lecturer librarian linguist
    locksmith manager mathematician mechanic midwife miner musician nurse optician painter paramedic pharmacist
    philosopher photographer physicist pianist pilot plumber poet policeman policewoman porter postman potter priest
    professor programmer psychologist receptionist reporter researcher sailor salesman scientist sculptor secretary
    sergeant shepherd singer smith soldier student surgeon tailor teacher technician therapist translator trainer vet
    violinist waiter waitress watchmaker weaver welder writer grandmother grandfather father mother widow widower twin
    parent orphan veteran founder owner landlord tenant immigrant refugee citizen
    vegetarian vegan pescatarian coeliac celiac muslim christian jewish buddhist hindu catholic atheist protestant
    diabetic epileptic dyslexic autistic deaf blind colour-blind color-blind left-handed lactose gluten intolerant
    allergic allergy allergies asthma diabetes epilepsy arthritis migraine migraines adhd autism eczema anaemia anemia
    pacemaker insulin wheelchair glasses hearing dyslexia
    dog dogs cat cats horse horses pony rabbit rabbits hamster parrot budgie tortoise goat goats hen hens chicken
    chickens sheep cow cows bee bees fish puppy kitten snake lizard canary donkey duck ducks geese
    son sons daughter daughters child children kids brother brothers sister sisters wife husband cousin cousins niece
    nephew grandson granddaughter grandchildren twins stepson stepdaughter
    house flat apartment cottage cabin farm boat caravan allotment garden motorbike bike bicycle van car truck lorry
    tractor piano guitar violin cello viola clarinet oboe flute trumpet trombone saxophone drums harp accordion banjo
    bass organ bagpipes choir band orchestra quartet quintet
    bakery shop company firm café cafe restaurant studio degree doctorate phd diploma licence license
    jazz opera blues reggae techno metal folk classical poetry chess football tennis rugby cricket hockey handball
    basketball volleyball badminton golf judo karate yoga pilates climbing sailing rowing skiing surfing swimming hiking
    cycling running knitting sewing pottery woodwork gardening baking cooking reading photography astronomy birdwatching
    camping fishing painting drawing dancing gaming travelling traveling hiking
    chocolate cheese coffee tea beer wine meat pork beef chicken seafood mushrooms olives coriander garlic onions
    tomatoes spinach peanuts nuts milk dairy eggs sushi pasta curry tofu spicy
    english french german spanish italian portuguese dutch danish swedish norwegian finnish polish czech hungarian greek
    turkish russian ukrainian arabic hebrew persian hindi urdu bengali tamil mandarin cantonese japanese korean thai
    vietnamese swahili latin welsh irish esperanto
    married divorced engaged pregnant retired single widowed unemployed self-employed
    """
)
"""What somebody is, has, suffers from, plays, eats or speaks for more than a day."""
