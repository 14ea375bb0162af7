import json
from pathlib import Path

import numpy as np
import pytest
from instant_recall.events.errors import RecallError
from instant_recall.ops.evaluation import train
from instant_recall.ops.evaluation.train_data import Asked, read_all
from instant_recall.ops.evaluation.train_fit import Table, fit
from instant_recall.projections.bar import PLAIN
from instant_recall.projections.meaning.encoders import load_encoders
from instant_recall.projections.ranker import FEATURES, Model

pytest.importorskip("scipy", reason="scipy is in the extra `eval`")

TINY = Path(__file__).parent / "tiny_world"
WIDTH = len(FEATURES)


def asked(number: int, *rows: tuple[float, bool], kind: str = "use", world: bool = True, named: bool = False) -> Asked:
    """A request whose candidates have one strong or weak feature, the others nothing."""
    return Asked(
        source="made-up",
        world=world,
        kind=kind,
        about=f"item-{number}",
        expecting=kind != "none",
        named=named,
        rows=tuple((strength,) + (0.0,) * (WIDTH - 1) for strength, _ in rows),
        right=tuple(right for _, right in rows),
    )


def many() -> list[Asked]:
    """Requests in which the right thing has 0.9 of the first feature, and ones with nothing right but 0.1 to 0.58."""
    fits = [asked(n, (0.9, True), (0.2, False), (0.3, False)) for n in range(40)]
    return fits + [asked(100 + n, (0.1 + n / 25, False), kind="none") for n in range(13)]


def test_training_writes_a_file_that_the_ranker_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train, "read_all", lambda *_args, **_options: many())
    out = tmp_path / "ranker.json"

    written = train.run([TINY], out=out)

    model = Model(
        **{name: value for name, value in json.loads(out.read_text()).items() if name in Model.__struct_fields__}
    )
    assert written["cases"] == model.cases == 53
    assert tuple(model.features) == tuple(FEATURES)
    assert len(model.weights) == WIDTH
    assert model.weights[0] > 0
    assert 0 < model.bar < 1


def test_the_same_seed_writes_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train, "read_all", lambda *_args, **_options: many())
    first, second = tmp_path / "1.json", tmp_path / "2.json"

    train.run([TINY], out=first, seed=3)
    train.run([TINY], out=second, seed=3)

    assert first.read_bytes() == second.read_bytes()


def test_the_bar_lets_through_no_more_than_the_agreed_share_of_requests_with_nothing_to_find() -> None:
    requests = many()
    table = train.make_table(requests)
    unseen = train.cross_validate(table, requests, seed=0)

    bar = train.choose_bar(requests, unseen)

    silent = [
        top for top, one in zip(train.together(requests, unseen, PLAIN), requests, strict=True) if one.kind == "none"
    ]
    assert 0 < np.mean(np.array(silent) >= bar) <= train.MOST_FALSE
    figures = train.judge(requests, table, unseen, bar)
    assert figures["made-up/use"]["hit1"] == 40
    assert figures["made-up/none"]["pushed"] <= train.MOST_FALSE * 13


def test_requests_that_are_pushed_to_for_a_name_use_up_their_share_of_the_bar() -> None:
    requests = [*many(), asked(200, kind="none", named=True)]
    table = train.make_table(requests)
    unseen = train.cross_validate(table, requests, seed=0)

    figures = train.judge(requests, table, unseen, train.choose_bar(requests, unseen))

    assert figures["made-up/none"]["cases"] == 14
    assert 1 <= figures["made-up/none"]["pushed"] <= train.MOST_FALSE * 14


def test_sets_have_their_share_beside_the_worlds_whatever_their_size() -> None:
    table = train.make_table([asked(0, (0.9, True)), *(asked(n, (0.5, False), world=False) for n in range(1, 10))])

    assert sum(table.weight[1:]) == pytest.approx(train.SETS * table.weight[0])


def test_a_world_is_asked_with_the_products_own_candidates_each_at_its_moment() -> None:
    requests = read_all([TINY], load_encoders())

    assert [one.kind for one in requests][:3] == ["none", "latest", "named"]
    assert requests[0].rows == ()
    assert all(len(row) == WIDTH for one in requests for row in one.rows)
    assert any(any(one.right) for one in requests if one.kind == "fresh-correction")


def test_a_set_is_asked_within_its_groups(tmp_path: Path) -> None:
    things = [
        {"id": "mine", "group": "me", "name": "gravel", "description": "Sorts small stones by size."},
        {"id": "theirs", "group": "them", "name": "pebble", "description": "Sorts small stones by colour."},
    ]
    queries = [
        {"id": "1", "group": "me", "text": "sort my small stones", "relevant": ["mine"], "category": "fits"},
        {"id": "2", "group": "them", "text": "trier mes pierres", "relevant": ["theirs"], "lang": "fr"},
    ]
    for name, rows in (("corpus", things), ("queries", queries)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(json.dumps(row) for row in rows))

    (one,) = read_all([tmp_path], load_encoders())

    assert (one.kind, one.right) == ("fits", (True,))


def test_a_folder_without_worlds_and_sets_is_told(tmp_path: Path) -> None:
    with pytest.raises(RecallError, match="neither a world nor a set"):
        read_all([tmp_path], load_encoders())


def test_requests_that_all_have_something_to_find_set_no_bar() -> None:
    requests = [one for one in many() if one.expecting]
    table = train.make_table(requests)

    with pytest.raises(RecallError, match="nothing"):
        train.choose_bar(requests, np.zeros(len(table.right)))


def test_more_of_what_speaks_for_an_item_never_speaks_against_it() -> None:
    # What is right has more of the first and, by accident, less of the second.
    rng = np.random.default_rng(0)
    right = np.tile([True, False, False], 60)
    features = np.stack([right + rng.normal(0, 0.5, 180), 1 - right + rng.normal(0, 0.5, 180)], axis=1)

    found = fit(Table(features, right, np.repeat(np.arange(60), 3), np.ones(180)))

    assert found.weights[0] > 1
    assert found.weights[1] == 0


def test_the_command_that_is_told_is_the_one_that_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        train.main(["--help"])

    assert f"python -m {train.__name__} " in capsys.readouterr().out
    assert f"`python -m {train.__name__} FOLDER" in str(train.__doc__)
