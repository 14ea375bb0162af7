"""Names and words in other scripts and languages."""

from __future__ import annotations

import sys
import time
import unicodedata

import pytest
from instant_recall.events import types as ev
from instant_recall.projections.items import Item
from instant_recall.projections.language.scripts import count_words, fold, may_end, may_start
from instant_recall.projections.language.trivial import is_trivial
from instant_recall.projections.naming.names import NameIndex, named_in
from instant_recall.projections.naming.sentence import tokens
from instant_recall.projections.pointers import tokens as pointer_tokens
from instant_recall.tests.small_world import World, skill

NAMES = {
    "zh": "翠鸟",
    "zh-mixed": "脚本 portal",
    "ja": "カワセミ",
    "ja-long": "けんきゅうしつのけんさくヘルパー",
    "ko": "물총새",
    "th": "นกกระเต็น",
    "hi": "किंगफिशर",
    "ru": "камера",
    "ru-long": "зимородок",
    "el": "Ψαρόνι",
    "ar": "الرفراف",
    "he": "שלדג",
    "es": "José",
    "es-long": "lámpara",
    "de": "Eisvogel",
    "de-umlaut": "Müllabfuhr",
    "de-sharp": "Straßenlaterne",
    "fr": "Crème Brûlée",
    "pl": "Łódź",
    "tr": "ışıldak",
    "en": "turnstile",
    "verb": "quill",
}


def index(names: dict[str, str]) -> NameIndex:
    table = NameIndex()
    for key, name in names.items():
        table.add(Item(id=key, kind="tool", name=name, recorded_at=1))
    return table


TABLE = index(NAMES)


def named(request: str, table: NameIndex = TABLE) -> list[str]:
    spans = named_in(request, [table], lambda _item: True, lambda _word: False)
    return [item for span in spans for item in sorted(span.items)]


@pytest.mark.parametrize(
    ("request_", "item"),
    [
        ("用翠鸟重启服务器", "zh"),
        ("翠鸟", "zh"),
        ("翠鸟的摄像头坏了", "zh"),
        ("用脚本portal来做", "zh-mixed"),
        ("カワセミで再起動して", "ja"),
        ("ｶﾜｾﾐで再起動して", "ja"),
        ("けんきゅうしつのけんさくヘルパーを使って", "ja-long"),
        ("물총새를 실행해", "ko"),
        ("어제 물총새로 다시 시작했어", "ko"),
        ("ใช้นกกระเต็นหน่อย", "th"),
        ("किंगफिशर को चलाओ", "hi"),
        ("покажи камеру", "ru"),
        ("где камеры?", "ru"),
        ("ЗИМОРОДОК работает?", "ru-long"),
        ("запусти зимородк", "ru-long"),
        ("τρεξε το ψαρονι", "el"),
        ("شغل رفراف الآن", "ar"),
        ("ابدأ بالرفراف", "ar"),
        ("הפעל את שלדג", "he"),
        ("ask Jose for it", "es"),
        ("pregunta a JOSÉ", "es"),
        ("enciende la lampara", "es-long"),
        ("enciende las lámparas", "es-long"),
        ("enciende la lampra", "es-long"),
        ("starte den Eisvogel", "de"),
        ("starte das Eisvogel-Skript", "de"),
        ("starte das Eisvogelskript", "de"),
        ("der Eisvogelsrechner steht", "de"),
        ("die Kamera des Eisvogels", "de"),
        ("ist die Muellabfuhr da", "de-umlaut"),
        ("ist die Mullabfuhr da", "de-umlaut"),
        ("die Strassenlaterne", "de-sharp"),
        ("DIE STRASSENLATERNE", "de-sharp"),
        ("the creme-brulee please", "fr"),
        ("lodz", "pl"),
        ("IŞILDAK", "tr"),
        ("\uff34\uff35\uff32\uff2e\uff33\uff34\uff29\uff2c\uff25 now", "en"),
        ("用turnstile来做", "en"),
        ("lanza turnstyle otra vez", "en"),
        ("quill the recording", "verb"),
        ("I quilled it", "verb"),
    ],
)
def test_a_name_is_found_as_its_language_writes_it(request_: str, item: str) -> None:
    assert named(request_) == [item]


@pytest.mark.parametrize(
    "request_",
    [
        "翠",
        "青い鳥",
        "オカワセミ",
        "カワセミー",
        "헤물총새",
        "สนก",
        "камин",
        "Eisskript",
        "das Skript",
    ],
)
def test_a_piece_of_a_name_or_of_another_word_is_none(request_: str) -> None:
    assert named(request_) == []


def test_small_words_of_other_languages_are_no_slips() -> None:
    table = index({"x": "cuandu", "y": "unserez"})

    assert named("cuando es unsere", table) == []
    assert named("cuandu es unserez", table) == ["x", "y"]


def test_a_name_of_one_letter_counts_nowhere() -> None:
    assert named("把灯关了", index({"lamp": "灯"})) == []


def test_two_names_without_a_space_between_come_in_the_order_of_naming() -> None:
    table = index({"one": "翠鸟", "two": "大门"})

    assert named("用大门翠鸟", table) == ["two", "one"]


def test_the_longest_name_wins_within_a_run() -> None:
    table = index({"short": "翠鸟", "long": "翠鸟助手"})

    assert named("打开翠鸟助手吧", table) == ["long"]


def test_a_name_is_taken_out_again() -> None:
    table = index({"one": "翠鸟"})
    table.remove("one")

    assert named("用翠鸟", table) == []


def test_a_long_chinese_paste_is_read_in_no_time() -> None:
    began = time.perf_counter()

    assert len(named("请用翠鸟重启实验室的服务器。" * 500)) == 500
    assert time.perf_counter() - began < 1.0


@pytest.mark.parametrize(
    ("word", "plain"),
    [("josé", "jose"), ("straße", "strasse"), ("łódź", "lodz"), ("ψαρόνι", "ψαρονι"), ("йод", "иод"), ("किंग", "किंग")],
)
def test_accents_are_folded_where_they_only_colour_a_letter(word: str, plain: str) -> None:
    assert fold(word) == plain


def test_words_end_where_their_script_lets_them() -> None:
    assert (may_start("총", "새"), may_end("총", "새")) == (False, True)
    assert (may_start("ワ", "セ"), may_end("ワ", "セ")) == (False, False)
    assert (may_start("用", "翠"), may_end("鸟", "重")) == (True, True)
    assert may_end("ก", "\u0e31") is False


def test_each_letter_is_a_word_where_words_are_not_set_apart() -> None:
    assert [token.word for token in tokens("用git提交, José’s नमस्ते")] == ["用", "git", "提", "交", "jose", "नमस्ते"]


def test_words_are_counted_where_they_are_not_set_apart() -> None:
    assert count_words("tapped on the glass") == 4
    assert count_words("重启实验室的服务器") >= 4
    assert count_words("好的") < 4


@pytest.mark.parametrize(
    "said", ["好的", "谢谢！", "ありがとうございます", "спасибо", "grazie, va bene", "dank je", "네"]
)
def test_thanks_in_any_language_asks_for_nothing(said: str) -> None:
    assert is_trivial(said)


def test_each_chinese_letter_is_a_token() -> None:
    assert pointer_tokens("重启实验室的服务器") >= 9
    assert pointer_tokens("the camera") == 2


def test_a_turn_without_spaces_is_found_and_becomes_a_key() -> None:
    world = World()
    world.happens(
        skill("heron", "Watches"),
        ev.TurnRecorded(session="s", turn=1, role="owner", text="把实验室的服务器搬到新的机柜里"),
        ev.SessionClosed(session="s", helped=("skill:heron",), outcome="done"),
    )

    assert world.found("实验室的服务器")[0] in {"session:s", "skill:heron"}
    heron = world.overlay.state.get("skill:heron")
    assert heron is not None
    assert [key.phrase for key in heron.keys] == ["把实验室的服务器搬到新的机柜里"]


@pytest.mark.parametrize(
    "request_",
    [
        "abre otter y dime qué ha pasado con las facturas de la oficina",
        "lance Otter pour moi, puis raconte-moi ce qui s'est passé",
        "starte bitte den otter und sag mir was los ist",
        "avvia otter per favore e dimmi che cosa è successo",
        "用otter来做这件事",
    ],
)
def test_a_name_that_is_an_english_word_is_one_in_a_sentence_that_is_not_english(request_: str) -> None:
    world = World()
    world.happens(skill("otter", "Sorts the receipts"))

    assert list(world.searcher().named(request_)) == ["skill:otter"]
    assert not world.searcher().named("an otter swims in the pond behind the house")


def test_an_accent_without_a_letter_is_no_word_and_no_name() -> None:
    marks = [mark for mark in map(chr, range(sys.maxunicode + 1)) if unicodedata.category(mark).startswith("M")]
    for mark in marks:
        assert all(token.word for token in tokens(f"a {mark} b {mark}{mark}"))
    index = NameIndex()
    index.add(Item(id="skill:x", kind="skill", name=marks[0]))
    assert named_in(f"use {marks[0]}", (index,), lambda _item: True, lambda _word: False) == []
