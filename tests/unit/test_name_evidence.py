"""Whether a word that is also a name is meant as the name."""

from __future__ import annotations

import time
from functools import cache

import pytest
from instant_recall.projections.items import Item
from instant_recall.projections.meaning.encoder import Encoder, load_encoder
from instant_recall.projections.naming.name_evidence import Judge
from instant_recall.projections.naming.names import NameIndex, Span, named_in
from instant_recall.projections.naming.sentence import tokens

THINGS = (
    ("machine", "falcon", "backup server", "Two-disk server in the basement that takes a nightly copy over rsync."),
    ("skill", "lantern", "status writer", "Writes the status page when a service is down and mails the subscribers."),
    ("tool", "anchor", "dns pinner", "Pins a host name to an address in the resolver and checks it every minute."),
    ("skill", "pepper", "recipe scaler", "Scales a recipe to the number of guests and rounds to spoons."),
    ("machine", "walnut", "media player", "Small player behind the television with films on one disk."),
    ("skill", "raven", "newsletter sender", "Renders the monthly newsletter and queues it in batches."),
    (
        "tool",
        "ferret",
        "log searcher",
        "Searches the logs of all containers for a pattern and prints the lines around it.",
    ),
    ("skill", "pigeon", "mail sorter", "Sorts the inbox into folders and drafts short replies."),
    ("tool", "rake", "page scraper", "Fetches a web page, cuts out its tables and writes them as CSV."),
    ("machine", "pumpkin", "kitchen tablet", "Tablet on the kitchen wall with the calendar and the timers."),
    ("tool", "whistle", "alarm tester", "Triggers each smoke alarm in turn and notes which one answers."),
    ("skill", "cobbler", "patch rebaser", "Rebases a stack of patches and resolves conflicts in lock files."),
    ("skill", "scout", "flat hunter", "Watches the portals for flats below a rent and writes to the landlord."),
    ("skill", "polish", "style fixer", "Rewrites a paragraph in plain words and keeps the meaning."),
    ("tool", "needle", "scan search", "Finds a word in the scanned letters and prints page and line."),
    ("machine", "oyster", "travel router", "Pocket router with a tunnel to the house."),
    ("skill", "shepherd", "review tracker", "Lists pull requests that wait for a review and reminds their authors."),
    ("tool", "hopper", "job feeder", "Puts jobs in the print queue by priority."),
)
ITEMS = {
    name: Item(id=name, kind=kind, name=name, aliases=(alias,), description=text, recorded_at=1)  # type: ignore[arg-type]
    for kind, name, alias, text in THINGS
}
TABLE = NameIndex()
for _item in ITEMS.values():
    TABLE.add(_item)

ORDINARY = """
a falcon circled over the motorway this morning, which kind hunts pigeons
where can i buy a paper lantern for the garden party
how heavy an anchor does a seven metre boat need
is there too much pepper in this soup if it makes me sneeze
what wood goes well with walnut veneer
there was a raven on the balcony, is that bad luck
can you keep a ferret together with two cats
the pigeons on our roof are a nuisance, what helps
which rake is best for wet leaves
my pumpkin soup turned out bitter
the referee lost his whistle, what happens to the game
any good recipe for peach cobbler
my son wants to join the scouts next year
how often should i polish brown leather shoes
the needle on my record player is worn
are oysters safe to eat in july
our neighbour has a german shepherd that barks all night
what is the hopper of a coffee grinder made of
pepper or chili for a mild curry
falcon wings look pointed in flight, don't they
i need to polish my interview answers for tomorrow
walnut bread without yeast, is that possible
which lantern lasts a whole night outdoors
the anchor dragged and the boat drifted to the rocks
what does whistle mean in slang
two ravens and a hawk in one tree
he dropped the needle in the carpet, how do i find it
some pumpkin for the soup and a bag of pepper, what else
an oyster opens when it is dead, or closes
is a rake or a leaf blower quicker for a small lawn
"""
NAMES = """
is falcon up
falcon's second disk is full
lantern wrote the wrong service on the status page
can you ask pepper for twelve guests
does anchor still pin the old address
walnut won't play the film from last night
put the film on walnut for the kids
did raven go out on friday
run ferret over last night's logs
tell Pigeon to leave the invoices alone
use rake on the fixtures page
pumpkins calendar shows last week
the whistle tool skipped the alarm in the attic
rebase it with cobbler once the tests are green
scout found nothing in march, why
give this paragraph to polish please
has needle got through the letters of 2019
oyster lost the tunnel again in the hotel
what did shepherd say about the open reviews
hopper put the small jobs last
restart falcn and tell me when it is back
cobblers last rebase broke the lock file
walnut
`rake` returned an empty table
where does lantern get the list of subscribers from
ferets lines around the match are cut off
please reboot pumpkin before lunch
the shepherd skill reminded the wrong person
is oyster's key still valid
falcon needs a new disk, the old one clicks
"""
HARD_ORDINARY = """
falcon nest on the office tower, whom do i tell
pepper spray legal in austria?
anchor tattoo, does it hurt
pumpkin carving ideas for kids
walnut allergy symptoms
whistle while you work lyrics
what's the difference between a rake and a hoe
cobbler near the station that fixes heels
lantern festival dates this year
how to clean a suede needle thing
polish grammar is killing me
i want to learn polish before the trip
is Polish harder than Czech
the scout movement was founded when
shepherd's pie with lentils, how long in the oven
why do pigeons bob their heads
add pepper to the shopping list
add two pumpkins to the shopping list
kids want pumpkin costumes
do ravens remember faces
raven feathers found on the path
he sharpens the rake in the shed
oyster sauce substitute
my daughter needs needle and thread for school
buy walnut oil
the pumpkin on the porch has gone mouldy
put the lantern on the terrace
check the anchor before we sail
take the whistle to the match
use pepper instead of salt
ask the shepherd how many sheep he has
can pigeons smell
is pepper good for the stomach
does walnut stain fingers
is walnut harder than oak
does pumpkin freeze well
scout camp packing list
needles for the sewing machine, which size
"""
"""Short, without articles, stuffs, set phrases: what the form of a sentence tells least of."""
HARD_NAMES = """
falcon disk full?
lantern subscribers, how many are there now
what's the ip of oyster
anchor: old address again
pumpkin timer for eight minutes
the falcon is making noise again, is the copy done
our falcon has not copied anything since monday
scouts landlord letter is too formal
hopper is stuck
ferret and rake both crashed
send it through polish first
could you have shepherd remind ana
pigeon!
hey raven, hold the newsletter
start hopper with priority three
pepper says four spoons, that can't be right
needle: find 'deposit' in the letters from the landlord
why is walnut so slow today
where's cobbler's config
when did whistle last run
i think lantern forgot the mail
ssh into falcon and look at the disk
copy the films from walnut to falcon
rake the prices page into csv
polish this paragraph
polish the second paragraph in plain words
whats wrong with oyster
turn off pumpkin at night
what can ferret do
does needle work with pdfs
give me the status of hopper
check falcon
log in to oyster
falcon status
restart the falcon
make raven wait until monday
FALCON IS DOWN
Falcon is down
Is Falcon down?
oyster password
"""


@cache
def encoder() -> Encoder:
    return load_encoder()


def spans(request: str, *recent: str, table: NameIndex = TABLE, phrases: tuple[str, ...] = ()) -> list[Span]:
    judge = Judge(ITEMS.__getitem__, lambda _item: phrases, encoder().encode, recent)
    return named_in(request, [table], lambda _item: True, encoder().is_word, judge)


def named(request: str, *recent: str) -> list[str]:
    return [item for span in spans(request, *recent) for item in sorted(span.items)]


@pytest.mark.parametrize("request_", ORDINARY.strip().splitlines())
def test_an_ordinary_word_is_not_taken_for_a_name(request_: str) -> None:
    assert named(request_) == []


@pytest.mark.parametrize("request_", NAMES.strip().splitlines())
def test_a_name_that_is_an_ordinary_word_is_heard(request_: str) -> None:
    assert len(named(request_)) == 1


@pytest.mark.parametrize("request_", HARD_NAMES.strip().splitlines())
def test_a_name_in_a_few_words_is_heard(request_: str) -> None:
    assert named(request_)


def test_of_the_hardest_ordinary_words_most_are_not_taken_for_names() -> None:
    wrong = [request for request in HARD_ORDINARY.strip().splitlines() if named(request)]

    # Twelve of 38 today, such as "is pepper good for the stomach": to let them pass would lose names.
    assert len(wrong) <= 12, wrong


def test_the_kind_of_thing_beside_it_outweighs_an_article() -> None:
    assert named("a falcon sits on the roof") == []
    assert named("a new disk for the falcon machine") == ["falcon"]


def test_an_ordinary_verb_is_a_name_where_the_sentence_is_about_what_the_thing_does() -> None:
    assert named("polish the car before winter") == []
    assert named("polish the second paragraph in plain words") == ["polish"]


def test_words_of_a_use_key_speak_for_the_name() -> None:
    request = "the pigeon has gone on holiday, the contracts lie around"

    assert spans(request) == []
    assert [set(span.items) for span in spans(request, phrases=("contracts lie around unsigned",))] == [{"pigeon"}]


def test_what_was_named_just_before_is_meant_again() -> None:
    assert named("the lantern again?") == []
    assert named("the lantern again?", "is lantern done with the page?") == ["lantern"]


def test_a_slip_of_an_ordinary_word_needs_evidence_too() -> None:
    assert named("a falcn over the motorway") == []
    assert named("restart falcn") == ["falcon"]


def test_an_article_before_a_name_is_no_slip_of_it() -> None:
    assert named("an anchor for a small boat") == []


def test_a_name_that_is_no_word_needs_no_evidence() -> None:
    table = NameIndex()
    item = Item(id="grok", kind="tool", name="wolfnote", aliases=("two-stage grip",), recorded_at=1)
    table.add(item)
    judge = Judge(lambda _id: item, lambda _item: (), encoder().encode)

    for request in ("a wolfnote on the second plate", "any two-stage grip today"):
        (span,) = named_in(request, [table], lambda _item: True, encoder().is_word, judge)
        assert span.why == "it is no ordinary word"


def test_a_sentence_in_another_language_is_not_judged_by_english_grammar() -> None:
    assert named("frag mal falcon, ob noch genug platz auf der platte ist") == ["falcon"]


def test_the_verdict_says_why() -> None:
    (span,) = spans("restart falcon")

    assert "it stands without an article" in span.why.split("; ")
    judge = Judge(ITEMS.__getitem__, lambda _item: (), encoder().encode)
    verdict = judge(tokens("a falcon flies"), 1, 2, "falcon")
    assert not verdict.counts
    assert verdict.why.startswith("it is one of many")


def test_of_a_hidden_thing_nothing_is_asked() -> None:
    def refuse(item: str) -> Item:
        raise AssertionError(item)

    judge = Judge(refuse, lambda _item: (), encoder().encode)
    assert named_in("is falcon up", [TABLE], lambda _item: False, encoder().is_word, judge) == []


def test_a_long_paste_full_of_a_common_word_is_judged_in_no_time() -> None:
    named("warm up")
    began = time.perf_counter()

    assert spans("a falcon in the pond and a raven on the roof\n" * 180) == []
    assert time.perf_counter() - began < 0.5
