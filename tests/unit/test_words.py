"""Words of a text, in English and in other languages and scripts."""

from __future__ import annotations

from pathlib import Path

import bm25s
import numpy as np
import pytest
import Stemmer
from instant_recall.events import types as ev
from instant_recall.events.envelope import draft
from instant_recall.events.memory_log import MemoryEventLog
from instant_recall.projections.base import empty_base
from instant_recall.projections.building import build
from instant_recall.projections.language.languages import LATIN, languages_of
from instant_recall.projections.language.words import SHORT, index_terms, is_plain, request_terms, tokenize
from instant_recall.projections.overlay import Overlay
from instant_recall.projections.snapshot import catch_up, latest_base
from instant_recall.projections.snapshot_store import SnapshotStore
from instant_recall.projections.text_index import FrozenPostings, GrowingPostings, Postings, freeze, languages_in, score
from instant_recall.tests.small_world import NOW, World, answers, encoder, note, skill

TEXTS = [
    "The Kettles are boiling! can't you hear them, O'Brien?",
    "",
    "x 12 a_b",
    "download last quarter's report from the company portal",
]

MEET = [
    ("Die Rechnungen für den Strom liegen im Ordner", "Stromkosten Rechnung bezahlen"),
    ("Rechnung bezahlen", "alle Rechnungen zeigen"),
    ("Las facturas de la luz están en el cajón", "factura luz"),
    ("Où sont les factures de la maison", "facturer la maison"),
    ("Le fatture della casa sono nel cassetto", "fattura casa"),
    ("As faturas da casa estão na gaveta", "fatura casa"),
    ("Les factures de la casa són al calaix", "factura"),
    ("De rekeningen van het huis liggen in de la", "rekening zoeken"),
    ("Räkningarna för huset ligger i lådan och är betalda", "räkning huset"),
    ("Regningerne ligger ikke i skuffen", "regning"),
    ("Laskut ovat jo laatikossa", "lasku"),
    ("A papír már a házban van", "házak papír"),
    ("Facturile pentru casă sunt în sertar", "factura"),
    ("Faturalar bu çekmecede ve ödendi", "faturaları"),
    ("Счета за электричество лежат в ящике", "счет электричество"),
    ("Οι λογαριασμοί του ρεύματος", "λογαριασμός"),
    ("الفواتير في الدرج", "الفواتير والدرج"),
    ("किताबों की सूची", "किताब"),
    ("José wrote the cafe list", "café jose"),
    ("The \uff30\uff24\uff26 reader", "pdf"),
    ("重启实验室的服务器", "服务器"),
    ("電気料金の請求書を払う", "請求書"),
    ("전기 요금을 내다", "요금"),
    ("ใบแจ้งหนี้ค่าไฟฟ้า", "ค่าไฟฟ้า"),
    ("ໃບແຈ້ງໜີ້ຄ່າໄຟຟ້າ", "ຄ່າໄຟຟ້າ"),
    ("វិក្កយបត្រអគ្គិសនី", "អគ្គិសនី"),
    ("用 git 提交代码", "git"),
    ("用git提交代码", "git"),
]


def frozen(texts: list[str]) -> FrozenPostings:
    return FrozenPostings(*freeze(index_terms(texts)))


def growing(texts: list[str]) -> GrowingPostings:
    postings = GrowingPostings()
    for terms in index_terms(texts):
        postings.add(terms)
    return postings


def scores(request: str, postings: Postings, visible: list[bool]) -> list[float]:
    terms = request_terms(request, languages_in([postings]))
    (found,) = score(terms, [(postings, np.array(visible))]).shares
    return list(map(float, found))


def test_the_words_of_english_are_those_of_bm25s() -> None:
    theirs = bm25s.tokenize(
        TEXTS, stopwords="english", stemmer=Stemmer.Stemmer("english"), return_ids=False, show_progress=False
    )

    assert tokenize(TEXTS) == [list(words) for words in theirs]
    assert index_terms(TEXTS) == tokenize(TEXTS)


def test_inflected_words_meet() -> None:
    assert tokenize(["Kettles boiled"]) == tokenize(["kettle boiling"])


@pytest.mark.parametrize(("text", "request_"), MEET)
def test_a_text_in_any_language_is_found_by_a_request_of_few_words(text: str, request_: str) -> None:
    texts = ["the camera on the bench", text, "nothing of the kind"]
    found = scores(request_, frozen(texts), [True] * 3)

    assert found[1] > max(found[0], found[2])
    assert found == pytest.approx(scores(request_, growing(texts), [True] * 3))


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Wo liegen die Rechnungen für den Strom?", "german"),
        ("¿Dónde están las facturas de la luz?", "spanish"),
        ("Où sont les factures de la maison ?", "french"),
        ("Dove sono le fatture della luce e del gas?", "italian"),
        ("Onde estão as faturas da luz e do gás?", "portuguese"),
        ("On són les factures de la llum i del gas?", "catalan"),
        ("Waar liggen de rekeningen van het gas?", "dutch"),
    ],
)
def test_a_sentence_tells_its_language(text: str, language: str) -> None:
    assert languages_of(text.lower().rstrip(" ?").lstrip("¿").split()) == (language,)


@pytest.mark.parametrize(
    "text", ["tell me about los angeles", "roll the die again", "turn off the lamp", "la la land", "kettle"]
)
def test_english_is_no_other_language(text: str) -> None:
    assert languages_of(text.split()) == ()


def test_a_few_words_that_no_language_owns_up_to_count_for_all() -> None:
    assert languages_of(["stromrechnung"]) == LATIN
    assert languages_of(["12", "\u6c34"]) == ()


def test_where_all_is_english_a_request_in_another_language_has_plain_terms_only() -> None:
    assert request_terms("las facturas de la luz", ()) == [("factura",), ("luz",)]


def test_a_long_request_is_tried_in_its_own_language_only() -> None:
    asked = request_terms("wo liegen die Rechnungen für den Strom " * SHORT, LATIN)

    assert {term.partition(":")[0] for terms in asked for term in terms if not is_plain(term)} == {"german"}


def test_a_text_is_as_long_as_it_has_plain_terms() -> None:
    assert growing(["Die Rechnungen für den Strom"]).lengths.tolist() == [2.0]
    assert frozen(["Die Rechnungen für den Strom"]).lengths.tolist() == [2.0]


def test_a_hidden_text_in_another_language_moves_no_visible_score() -> None:
    texts = ["the Rechnung of the house", "Die Rechnungen für den Strom", "Las facturas de la luz"]
    visible = [text for text in texts if text != texts[1]]

    for make in (frozen, growing):
        masked = scores("rechnung factura", make(texts), [True, False, True])
        assert masked == pytest.approx([*scores("rechnung factura", make(visible), [True] * 2)[:1], 0.0, *masked[2:]])
        assert masked[2] == pytest.approx(scores("rechnung factura", make(visible), [True] * 2)[1])


STORY = [
    skill("portal-helper", "Drives a logged-in browser"),
    note("strom", "Die Rechnungen für den Strom liegen im blauen Ordner"),
    note("luz", "Las facturas de la luz están en el cajón de la cocina"),
    skill("server", "重启实验室的服务器"),
    note("luz2", "La factura del gas está en el despacho"),
    ev.ItemMuted(item="note:luz2"),
]
REQUESTS = ["stromrechnung, rechnung", "factura luz", "服务器", "browser", "ящик"]


def test_items_in_several_languages_are_found_in_theirs() -> None:
    world = World()
    world.happens(*STORY)

    assert world.found("rechnung ordner")[0] == "note:strom"
    assert world.found("factura cocina")[0] == "note:luz"
    assert world.found("服务器")[0] == "skill:server"


@pytest.mark.parametrize("cut", range(1, len(STORY)))
def test_a_snapshot_and_what_came_after_say_the_same_as_a_replay_in_any_language(cut: int, tmp_path: Path) -> None:
    log, store = MemoryEventLog(clock=lambda: NOW), SnapshotStore(tmp_path)
    events = [draft(event, occurred_at=NOW, audience=("owner",)) for event in STORY]
    log.append(events[:cut])
    build(log, store, encoder())
    log.append(events[cut:])
    resumed, replayed = (
        Overlay(latest_base(store, encoder()), encoder()),
        Overlay(empty_base(encoder().dims), encoder()),
    )
    for overlay in (resumed, replayed):
        catch_up(overlay, log)

    assert answers(resumed, REQUESTS) == answers(replayed, REQUESTS)


def test_the_seam_between_two_words_of_a_run_weighs_nothing() -> None:
    texts = ["重启服务器", "打开大门"]

    assert scores("服务器", frozen(texts), [True] * 2)[0] == pytest.approx(
        scores("服务", frozen(texts), [True] * 2)[0], rel=0.2
    )
    assert scores("请把服务器", frozen(texts), [True] * 2) == pytest.approx(scores("服务器", frozen(texts), [True] * 2))


def test_a_letter_that_nobody_sees_parts_no_word() -> None:
    plain = tokenize(["the divorce lawyer"])

    assert tokenize(["the di\u00advorce law\u200byer", "the \ufeffdivorce\u2060 lawyer"]) == plain * 2
