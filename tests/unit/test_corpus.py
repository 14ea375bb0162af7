from collections import Counter

from instant_recall.events.types import AssetRecorded, NoteRecorded
from instant_recall.ops.corpus import make_drafts, make_requests, make_words


def test_the_same_seed_makes_the_same_items_and_another_seed_makes_others() -> None:
    first, again, other = ([made.event for made in make_drafts(50, seed=seed)] for seed in (7, 7, 8))

    assert first == again
    assert first != other


def test_four_fifths_are_notes_of_40_to_100_words_and_a_fifth_are_assets_with_a_use_key() -> None:
    events = [made.event for made in make_drafts(500)]
    notes = [event for event in events if isinstance(event, NoteRecorded)]
    assets = [event for event in events if isinstance(event, AssetRecorded)]

    assert (len(notes), len(assets)) == (400, 100)
    assert all(40 <= len(note.text.split()) <= 100 for note in notes)
    assert all(asset.name and asset.description and len(asset.use_when) == 1 for asset in assets)
    assert len({event.subjects() for event in events}) == 500


def test_words_are_distinct_and_follow_zipfs_law_roughly() -> None:
    words = make_words(size=5_000)
    counted = Counter(
        word for made in make_drafts(400) if isinstance(made.event, NoteRecorded) for word in made.event.text.split()
    )
    ranked = [count for _, count in counted.most_common()]

    assert len(set(words.words)) == 5_000
    assert ranked[0] > 4 * ranked[20] > 16 * ranked[400]


def test_requests_have_3_to_12_words_and_share_words_with_the_items() -> None:
    drafts = list(make_drafts(200))
    known = {word for made in drafts for word in str(made.event).split()}

    requests = make_requests(300, drafts)

    assert len(set(requests)) > 290
    assert all(3 <= len(request.split()) <= 12 for request in requests)
    assert all(set(request.split()) & known for request in requests)
