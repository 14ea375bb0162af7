"""The need is what is left of a phrase when what belongs to one case only is taken out."""

from __future__ import annotations

import time

import pytest
from instant_recall.projections.items import Item, UseKey
from instant_recall.projections.language.instances import LONGEST, need_of
from instant_recall.projections.rows import USE, rows_of


@pytest.mark.parametrize(
    ("text", "need"),
    [
        # numbers
        ("label all 317 photos of the fence", "label all photos of the fence"),
        ("the table has 100,000 rows and 1.5 gaps", "the table has rows and gaps"),
        ("a list of the top 5.", "a list of the top."),
        ("raise it by 15%", "raise it by %"),
        ("25kg of flour", "kg of flour"),
        ("resize to 1920x1080 please", "resize to please"),
        ("ticket #4412 is stuck", "ticket is stuck"),
        ("192.168.0.12 does not answer", "does not answer"),
        ("the plan v2.1.3 is out", "the plan is out"),
        ("call +49 170 1234567 for me", "call for me"),
        # dates and times
        ("send the offer by 12.03.2025", "send the offer by"),
        ("read what came in on 2025-03-12T10:00Z", "read what came in on"),
        ("label photos from 3 June 2024 again", "label photos from again"),
        ("meeting on June 12th, 2025 at 14:30", "meeting on at"),
        ("the march 2025 invoice", "the invoice"),
        ("Q3 2024 figures for the bank", "figures for the bank"),
        ("die Rechnung vom 3. März 2024 holen", "die Rechnung vom holen"),
        ("télécharger la facture du 3 mars 2024", "télécharger la facture du"),
        ("descargar la factura del 3 de marzo de 2024", "descargar la factura del"),
        ("下载2024年3月的发票", "下载 的发票"),
        # amounts
        ("pay €300 to the plumber", "pay EUR to the plumber"),
        ("pay 1.250,50 € to the plumber", "pay EUR to the plumber"),
        ("a quote above $1.2m", "a quote above USD"),
        ("transfer 300 EUR", "transfer EUR"),
        # files, paths, links, e-mail addresses
        ("convert q3_report.xlsx to pdf", "convert xlsx to pdf"),
        ("open ~/lab/scans/2024/img_003.tiff", "open tiff"),
        ("the error is in src/app/main.py:42", "the error is in py"),
        ("clean up /var/log/nginx", "clean up path"),
        (r"C:\Users\x\a.txt is locked", "txt is locked"),
        ("see https://example.com/a?b=1.", "see url."),
        ("write to anna.schmidt@example.org about it", "write to email about it"),
        # codes
        ("download invoice INV-2231", "download invoice INV"),
        ("JIRA-1234: mend it", "JIRA: mend it"),
        ("RTX4090 is hot", "RTX is hot"),
        ("commit 3f9a2bc1 broke it", "commit broke it"),
        ("restore 0b8f1c9e-1111-4222-8333-444455556666 now", "restore now"),
        # quoted titles
        ("find the 'Winter Sonata' recording", "find the recording"),
        ("find “The Winter's Tale” in the archive", "find in the archive"),
        ("chercher «Le Grand Bleu» dans les films", "chercher dans les films"),
        ("請求書「冬のソナタ」をダウンロード", "請求書 をダウンロード"),
        # names of customers
        ("fetch the report from the Harbeck portal", "fetch the report from the portal"),
        ("who is Lindqvist's contact", "who is contact"),
        ("ask Jean-Luc Novakova about it", "ask about it"),
        ("скачать счёт для Иванова за март", "скачать счёт для за март"),
        # several at once
        ("send INV-2231 (€300) to Okonkwo by 3 June", "send INV (EUR) to by"),
    ],
)
def test_what_belongs_to_one_case_is_dropped_or_said_by_its_kind(text: str, need: str) -> None:
    assert need_of(text) == need


@pytest.mark.parametrize(
    "text",
    [
        "fetch the quarterly report from the company's website",
        "Harbeck wants the report",  # a capital letter at the start of a sentence says nothing
        "Check the site. Harbeck waits: Okonkwo too",
        "open it in Excel on Monday, then in Python",  # ordinary words
        "post it on GitHub as a PDF",
        "I'm sure that I'd rather not",
        "bitte die Rechnung vom Portal holen",  # German: every noun has a capital
        "Quarterly Report Braxville Wendover",  # a headline
        "set the 'unsafe' flag",
        "it can't be 'em and 'tis",
        "print on A4 paper, 3D or H264, with GPT-4, utf-8 and 2FA",
        "node.js and TCP/IP and 24/7 and 1/2 and and/or",
        "the 90-day report",
        "in may we go, it may be",
        "step-by-step",
        "",
        "  ",
        "👍",
    ],
)
def test_what_is_part_of_the_need_stays(text: str) -> None:
    assert need_of(text) == text


@pytest.mark.parametrize("text", ["42", "12.03.2025", "#4412", "€", "「冬」", "+49 170 1234567", "'Winter Sonata'"])
def test_a_phrase_that_is_nothing_but_an_instance_stays_as_it_is(text: str) -> None:
    assert need_of(text) == text


def test_a_name_that_an_item_has_stays() -> None:
    assert need_of("run it on Quillon tonight") == "run it on tonight"
    assert need_of("run it on Quillon tonight", lambda word: word == "quillon") == "run it on Quillon tonight"


def test_the_need_of_a_need_is_itself() -> None:
    need = need_of("send INV-2231 (€300) to Okonkwo by 3 June, see https://example.com/x and a.pdf")
    assert need == need_of(need)


@pytest.mark.parametrize("piece", ["a/", "1.", "x-1-", "A", "'", "http://", "1 ", "a.", "(", "“"])
def test_a_text_made_to_be_slow_is_read_in_no_time(piece: str) -> None:
    began = time.process_time()
    need_of(piece * (LONGEST // len(piece)))
    assert time.process_time() - began < 0.5


def test_a_long_text_is_no_phrase_and_stays() -> None:
    assert need_of("7 " * LONGEST) == "7 " * LONGEST


def test_a_key_is_matched_by_its_need_and_shown_as_it_was_said() -> None:
    said = ("send INV-2231 to the plumber", "send INV-4410 to the plumber", "pay rent")
    keys = tuple(UseKey(key=f"e/{n}", phrase=phrase, source="owner", recorded_at=1) for n, phrase in enumerate(said))
    item = Item(id="skill:post", kind="skill", name="post", recorded_at=1, keys=keys)

    assert [row.text for row in rows_of(item) if row.kind == USE] == ["send INV to the plumber", "pay rent"]
    assert [key.phrase for key in item.keys] == list(said)
