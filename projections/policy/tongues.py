"""Orders to drop what an assistant was told, in other languages than English: a table of words for each. Pure.

A sentence is such an order when it has a word of each of three sorts of one language, in any order: to ignore or to
forget, instructions, and earlier or all. Words are the beginnings of words; "_" is a space, and of "a+b" both must be
there; a word with "=" is whole. Where English is written, `orders` is more exact.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from . import disguises

WHAT: Final = "tells an assistant to drop its instructions"
_TABLE: Final = {
    "de": (
        "vergiss vergesst vergessen_sie ignorier missacht uebergeh",
        "beachte+nicht befolge+nicht folge+nicht halte+nicht_an",
        "anweisung instruktion vorgabe regel befehl "
        "anleitung richtlinie dir_gesagt ihnen_gesagt gesagt_wurde alles_bisherige",
        "vorherig vorig bisher obig frueher früher vorangegangen alle= "
        "aller= allen= alles= saemtlich sämtlich deine ihre zuvor system",
    ),
    "fr": (
        "ignore= ignorez ignorer oublie= oubliez neglige",
        "ne_tenez+compte ne_tiens+compte ne_tenir+compte ne_suivez ne_suis_pas fais_abstraction faites_abstraction",
        "instruction consigne regle directive ordres= indications a_ete_dit a_dit ont_dit ce_qui_precede",
        "precedente precedents= ci-dessus anterieur tout= toute= toutes= tous= vos= tes= avant= precede=",
    ),
    "es": (
        "ignora ignore= ignoren ignorad olvid omite omita omitan desobedec descart",
        "haz_caso_omiso haga_caso_omiso hagan_caso_omiso hacer_caso_omiso no_hagas_caso no_haga_caso "
        "no_tengas_en_cuenta no_sigas no_siga= no_obedezcas",
        "instruccion indicacion regla= reglas= directri ordenes= normas= todo_lo_anterior te_han_dicho te_dijeron",
        "anterior previa previo precedent arriba todo= toda= todas= todos= tus= antes=",
    ),
    "pt": (
        "ignora ignore= ignorem esquec desconsider desobedec",
        "nao_siga nao_obedec nao_leve+em_conta",
        "instruc regra diretri ordens= indicac orientac foi_dito te_disseram lhe_disseram",
        "anteriores= anterior= previas= precedent acima todo= toda= todas= todos= tudo= suas= antes=",
    ),
    "it": (
        "ignora ignori= ignorate dimentica dimenticate scorda trascura",
        "non_tenere_conto non_tener_conto non_seguire non_considerare non_badare",
        "istruzion regole= regola= direttiv ordini= indicazion stato_detto hanno_detto cio_che_precede",
        "precedent sopra= anterior prima= tutte= tutti= tutto= tue= precede=",
    ),
    "nl": (
        "negeer vergeet",
        "volg+niet sla_geen_acht houd_geen_rekening",
        "instructie aanwijzing regels= opdracht richtlijn gezegd= verteld= hierboven",
        "vorige= voorgaande eerdere bovenstaande hierboven alle= alles= jouw= je_instructie je_regel je_opdracht",
    ),
    "sv": (
        "ignorera glom bortse= strunta",
        "folj_inte bry_dig_inte",
        "instruktion anvisning regler regel= riktlinje du_fatt_hora sagts= allt_ovan",
        "tidigare foregaende ovan= alla= allt= dina=",
    ),
    "fi": (
        "unohda ohita sivuuta jata_huomiotta ala_valita jatkaa_huomiotta",
        "ala_noudata alkaa_noudattako ala_huomioi",
        "ohjeet ohjeita maarayks saannot saantoja kask kaikki_ylla sinulle_sanott",
        "aiem aikaisem edelli ylla kaik",
    ),
    "cs": (
        "ignoruj zapomen pomin prehlizej",
        "nedbej neber+v_potaz nevsimej nerid_se neridte_se",
        "pokyn instrukc pravid prikaz receno=",
        "predchoz predesl drivejs vyse= vsech vse= svoje=",
    ),
    "pl": (
        "ignoruj zignoruj zapomnij pomin pomiń zlekcewaz",
        "nie_zwracaj_uwagi nie_zwazaj nie_przestrzegaj nie_stosuj_sie",
        "instrukcj polecen zasad regul wytyczn wskazow powiedzian",
        "poprzedni wczesniej powyz wszystk swoj",
    ),
    "ru": (
        "игнорир проигнорир забуд пренебрег отбрось",
        "не_обращай не_обращайте не_следуй не_учитывай не_выполняй не_принимай+во_внимание",
        "инструкц указани правил команд распоряжени предписани сказанн сказали говорили",
        "предыдущ прежн предшеств ранее= выше= все= всех= всю= свои твои",
    ),
    "uk": (
        "ігнору проігнору забуд знехту",
        "не_звертай не_зважай не_виконуй не_дотримуйся",
        "інструкц вказівк правил команд розпорядженн наказ сказано=",
        "попередн ранішн раніше вище= всі= усі= всіх= все= усе= свої",
    ),
    "el": (
        "αγνοησ ξεχασ ξεχνα παραβλεψ παρακαμψ",
        "μη_λαβ μην_ακολουθ μη_δωσ μην_υπακου",
        "οδηγι εντολ κανον υποδειξ οσα_σου",
        "προηγουμεν παραπανω ολες= ολα= ολους= προτερ πριν=",
    ),
    "tr": (
        "yok_say yoksay gormezden_gel unut goz_ardi dikkate_alma=",
        "talimatlara_uyma kurallara_uyma",
        "talimat kural yonerge komut emirler söylenen",
        "onceki yukarıdaki tum= butun=",
    ),
    "id": (
        "abaikan lupakan hiraukan",
        "jangan_ikuti jangan_pedulikan",
        "instruksi perintah aturan arahan petunjuk dikatakan",
        "sebelumnya di_atas semua terdahulu seluruh",
    ),
    "vi": (
        "bo_qua phot_lo lờ_đi quên_đi hay_quen",
        "đung_lam_theo khong_lam_theo đung_đe_y",
        "huong_dan chi_dan chi_thi quy_tac lenh noi_dung moi_thu yeu_cau",
        "truoc o_tren ben_tren phia_tren tat_ca moi",
    ),
    "ar": (
        "تجاهل انس= اهمل=",
        "لا_تتبع لا_تلتفت لا_تلتزم",
        "تعليمات التعليمات تعليماتك الاوامر اوامر القواعد قواعد توجيهات التوجيهات الارشادات كل_ما",
        "السابق سابق اعلاه جميع كل= كافة",
    ),
    "fa": (
        "نادیده فراموش_کن بی_توجه",
        "پیروی_نکن توجه_نکن",
        "دستور قوانین قواعد راهنما فرمان",
        "قبلی پیشین بالا= تمام همه= قبل=",
    ),
    "he": (
        "תתעלם התעלם התעלמו תתעלמי שכח= תשכח= שכחי=",
        "אל_תציית אל_תפעל",
        "הוראות ההוראות הנחיות ההנחיות כללים הכללים פקודות מה_שנאמר",
        "קודמ לעיל= כל=",
    ),
    "hi": (
        "अनदेखा नज़रअंदाज़ नजरअंदाज अनदेखी भूल भुला उपेक्षा",
        "पालन+मत ध्यान_मत ध्यान_न",
        "निर्देश आदेश नियम हिदायत अनुदेश",
        "पिछल पहले पूर्व ऊपर उपरोक्त सभी सारे सब",
    ),
    "ko": (
        "무시 잊어 잊으 잊고",
        "따르지_마 따르지_말",
        "지시 명령 규칙 지침 프롬프트 내용 설명",
        "이전 위의 앞의 앞선 기존 모든 지금까지 위에",
    ),
    "ja": (
        "無視 忘れて 忘れろ 忘れなさい",
        "従わないで 従うな",
        "指示 命令 プロンプト ルール 規則 指令 内容 言われたこと",
        "以前 上記 これまで 前の 全て すべて 今まで 上の あなたの",
    ),
    "zh": (
        "忽略 無視 无视 忘记 忘記 忘掉 忽视 忽視 不理会 不理會 抛开 无须理会",
        "不要遵守 不要遵循 不要理会 不要听从 别管",
        "指令 指示 提示 说明 說明 规则 規則 内容 內容 命令 要求 设定 設定",
        "以上 之前 你的 您的 上面 上述 先前 前面 所有 全部 此前 一切",
    ),
    "th": (
        "เพิกเฉย ละเว้น ไม่ต้องสนใจ ลืม มองข้าม ไม่สนใจ",
        "อย่าทำตาม ไม่ต้องทำตาม อย่าสนใจ",
        "คำสั่ง คำแนะนำ กฎ ข้อกำหนด ข้อความ",
        "ก่อนหน้า ข้างต้น ด้านบน ทั้งหมด ที่ผ่านมา",
    ),
}  # fmt: skip
"""By language words for: to ignore or forget; not to heed; instructions; earlier or all."""
_NEGATED = re.compile(
    r"(?:(?<!\w)(?:no|non|nao|nie|ne|nunca|mai|jamais|jangan|đung|ala|alkaa|не|μην?)|(?<!\w)n['’]"
    r"|(?:لا|אל|मत|न|别|別|不要|勿|อย่า))\s?(?:te |se |me |vous |les |los |la |las |o |os |os )?$"
)
"""Right before the word: "do not forget" is the opposite."""
_NEGATED_BEHIND = re.compile(
    r"\w*(?: (?:sie|je|u|dig))? (?:nicht|niet|inte|ej)\b|(?:하지|지) ?(?:마|말)|しないで|ma(?:y[ıi]n(?:[ıi]z)?)?\b"
)
_END = re.compile(r"[.!?\n。！？।؟]")
_CLAUSE = re.compile(r"[.!?,\n。！？、，]")
_AROUND, _CLOSE = 120, 40
"""Characters of a sentence on either side of such a word; where words are not set apart, of a clause."""
_HEBREW, _HINDI, _UNSPACED = "\u0590", "\u0900", "\u0e00"
"""From here on writing adds to the beginning of words; words are not told from their vowels; nor from one another."""
_PREFIXED = r"(?<!\w)(?:[وف]?(?:ال|[بلك]|لل|بال)?|[ובלמהכש]{1,2})?"
_AND: Final = "وفוש"


class _Drop(NamedTuple):
    word: str
    """What to look for."""
    whole: bool
    """Whether it is a whole word."""
    besides: str
    """What must stand behind it, before any comma."""
    negatable: bool
    """Whether "not" makes it the opposite."""


class _Tongue(NamedTuple):
    drops: tuple[_Drop, ...]
    rules: re.Pattern[str]
    before: re.Pattern[str]


def find(undressed: str) -> int | None:
    """Where an undressed text (see `disguises`) orders an assistant to drop its instructions; None: nowhere."""
    plain = undressed.isascii()
    for tongue in _tongues():
        for drop in tongue.drops:
            if plain and not drop.word.isascii():
                continue
            for at in _places(undressed, drop.word, tongue):
                if _is_order(undressed, at, drop, tongue):
                    return at
    return None


def _places(text: str, word: str, tongue: _Tongue) -> Iterator[int]:
    """Where a word stands with one of each other sort in reach, so that a text full of the word takes no longer."""
    near = [-1, -1]
    at = text.find(word)
    while at >= 0:
        first = max(at - _AROUND, 0)
        for n, words in enumerate((tongue.rules, tongue.before)):
            if near[n] < first:
                found = words.search(text, first)
                if found is None:
                    return
                near[n] = found.start()
        behind = at + len(word)
        if max(near) < behind + _AROUND:
            yield at
        at = text.find(word, max(behind, max(near) - 2 * _AROUND))


def _is_order(text: str, at: int, drop: _Drop, tongue: _Tongue) -> bool:
    behind = at + len(drop.word)
    if not _begins(text, at) or (drop.whole and text[behind : behind + 1].isalnum()):
        return False
    if drop.negatable and (
        _NEGATED.search(text, max(at - 14, 0), at) or _NEGATED_BEHIND.match(text, behind, behind + 30)
    ):
        return False
    around, ends = (_CLOSE, _CLAUSE) if text[at] >= _UNSPACED else (_AROUND, _END)
    first = max(at - around, 0)
    start = max((end.end() for end in ends.finditer(text, first, at)), default=first)
    stop = ends.search(text, behind, behind + around)
    end = stop.start() if stop else min(behind + around, len(text))
    if drop.besides and drop.besides not in text[behind:end].partition(",")[0]:
        return False
    return tongue.rules.search(text, start, end) is not None and tongue.before.search(text, start, end) is not None


def _begins(text: str, at: int) -> bool:
    """Whether a word begins here, as far as the script tells."""
    if text[at] >= _HINDI or not at or not text[at - 1].isalnum():
        return True
    return text[at] >= _HEBREW and text[at - 1] in _AND and (at == 1 or not text[at - 2].isalnum())


@functools.cache
def _tongues() -> tuple[_Tongue, ...]:
    tongues = []
    for drop, unheeded, rules, before in _TABLE.values():
        drops = [_Drop(word.rstrip("="), word.endswith("="), "", negatable=True) for word in _words(drop)]
        for word, _, besides in (each.partition("+") for each in _words(unheeded)):
            drops.append(_Drop(word.rstrip("="), word.endswith("="), besides, negatable=False))
        tongues.append(_Tongue(tuple(drops), _any_of(rules), _any_of(before)))
    return tuple(tongues)


def _words(words: str) -> tuple[str, ...]:
    return tuple(disguises.undressed(word).replace("_", " ") for word in words.split())


def _any_of(words: str) -> re.Pattern[str]:
    return re.compile("|".join(map(_beginning, _words(words))))


def _beginning(word: str) -> str:
    start = "" if word[0] >= _HINDI else _PREFIXED if word[0] >= _HEBREW else r"(?<!\w)"
    return start + re.escape(word.rstrip("=")) + (r"(?!\w)" if word.endswith("=") else "")
