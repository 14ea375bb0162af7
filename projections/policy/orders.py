"""Orders that a text gives to an assistant: a few general shapes, each with what it does. Pure.

They are shapes of an attack, not of a topic: an article about assistants has none of them, and an imperative by itself
("restart the router") is no order to an assistant. Gaps between words are bounded, so that no text takes long.

How to read a shape: its lines are one regular expression, over small letters, and a word in capitals stands for one of
`_PARTS`. It is looked for only around its `words`, since plain words are found in a tenth of the time.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from typing import Final, NamedTuple


class Order(NamedTuple):
    """An order, and about where it begins."""

    what: str
    """What the text does, behind "it": in our words."""
    start: int


_PARTS: Final = {
    "DROP": "ignore|disregard|forget|override|overrule|bypass|neglect|discard|do not follow|don['’]?t follow|"
    "stop following|pay no (?:attention|heed) to|do not (?:obey|heed)|don['’]?t (?:obey|heed)",
    "BEFORE": "previous|prior|earlier|above|preceding|foregoing|original|existing|initial|former|system|safety|your|"
    "you were given|you have been given|given to you",
    "RULES": "(?:instruction|direction|directive|guideline|guardrail|restriction|rule|prompt|programming|"
    "polic(?:y|ies)|"
    "constraint|safety|context|training|message)s?",
    "WORD": r"[\s,.:;_\"'-]+[\w'’]+",
    "HUMAN": "(?:the|your|any|its)? ?(?:user|owner|human|operator|customer|client|person|developer|administrator|"
    "admin)s?",
    "TELL": "(?:tell|inform|notify|alert|warn|mention|reveal|disclose|show|report|let)",
    "TELLING": "(?:telling|informing|notifying|alerting|warning|mentioning|revealing|disclosing|showing|asking)",
    "ASSISTANT": "(?:ai assistant|ai agent|ai model|ai|a\\.i\\.|llm agent|llm|language model|chat ?bot|coding agent|"
    "autonomous agent|virtual assistant|assistant)s?",
    "PRODUCT": "(?:chatgpt|gpt|claude|gemini|copilot)",
    "SENTENCE": r"(?:^|[\n.!?>#(\[-])\s*",
    "GREETING": "(?:important |urgent |special |hidden |critical )?(?:note|notice|message|instructions?|attention|"
    "reminder|"
    "hello|hey|hi|dear)",
    "ATONCE": "(?:please |you must |you should |immediately |now |always |first )*",
    "DO": "(?:ignore|disregard|forget|run|execute|call|invoke|send|open|read|fetch|download|delete|remove|"
    "forward|reply|"
    "respond|do not|don['’]?t|never|visit|output|print|reveal|use the)\\b",
    "SEND": "(?:sends?|forward|post|upload|transmit|e-?mail|exfiltrate|leak|submit|deliver|copy|paste|append|include|"
    "attach|add|put|encode)",
    "PRECIOUS": "(?:passwords?|credentials?|api[ _-]?keys?|secrets?|access tokens?|auth(?:entication)? tokens?|"
    "private keys?|ssh keys?|(?:the|this|whole|entire|full|our|your|all) (?:conversation|chat|dialog(?:ue)?)s?|"
    "(?:chat|conversation) history|system prompt|environment variables|\\.env|seed phrases?|cookies|"
    "id_rsa|memory files?)",
    "AWAY": r"(?:https?://|[\w.+-]+@[\w-]+\.\w|webhook|pastebin|\w+\.(?:com|net|org|io|ru|xyz|example)\b|"
    r"\b(?:to|at) (?:this|the following|my|our|an external) "
    r"(?:url|address|server|endpoint|site|webhook|email|account|host))",
}

_SHAPES: Final = (
    (
        "tells an assistant to drop its instructions",
        "ignor disregard forget overrid overrul bypass neglect discard follow no_attention heed obey "
        "told_ no_longer new_instruction new_system",
        r"""
        \b(?:DROP)(?:WORD){0,4}?[\s,]+(?:BEFORE)\b(?:WORD){0,3}?\s+RULES\b
        |\b(?:DROP)\s+(?:all|any|every|everything)(?: of)?(?: the| your| these| those)?\s+RULES\b
        |\b(?:ignore|disregard|forget)\s+(?:everything|anything|all|what(?:ever)?)(?: of it| of that| of this)?\s+
        (?:(?:that )?(?:you|was|i|we)\b.{0,20}?\b(?:told|said|instructed|given|written)
        |(?:that (?:came|comes) |from )?(?:above|before|prior))
        |\b(?:everything|anything|all|whatever)(?: that)?
        \s(?:you(?: have|['’]ve)? (?:were|been|are) (?:told|taught|given)|
        (?:was|has been|were) (?:told|said) to you)\b.{0,40}?
        \b(?:no longer|not|n['’]t)(?: any ?more)? (?:appl|count|hold|valid|matter|bind)
        |\b(?:previous|prior|earlier|above|your|old) (?:instruction|prompt|programming)s?(?: \w+){0,3}? no longer
        \s(?:appl|count|hold|valid|matter|bind)
        |\bnew (?:system )?instructions?(?: for (?:you|the (?:assistant|ai|agent|model)))?\s*:
        """,
    ),
    (
        "tells an assistant what it is from now on",
        "you_are_no you're_no on,_ on_you from_now_on act_as behave_as respond_as answer_as pretend _mode",
        r"""
        \b(?:you are|you're) (?:now|no longer) (?:\w+[ -]){0,5}?
        (?:assistant|ai|llm|chatbot|language model|gpt|dan|jailbroken|unrestricted|unfiltered|(?:developer
        |debug|admin|god) mode
        |bound by|restricted|required to follow|root)\b
        |\bfrom (?:now|here|this (?:point|moment)) on(?:wards?)?,? (?:you|your|act|always|never|respond|answer
        |reply|ignore)\b
        |\b(?:act|behave|respond|answer) as (?:if you|an? (?:unrestricted|unfiltered|jailbroken|uncensored))\b
        |\bpretend (?:to be|that you are|you are|you're) (?:\w+ ){0,4}
        (?:assistant|ai|llm|admin\w*|developer|root|owner|user|unrestricted)\b
        |\b(?:enable|enter|activate|switch to) (?:developer|debug|dan|god|jailbreak|admin) mode\b
        """,
    ),
    (
        "tells an assistant to keep something from its owner",
        "user owner human operator customer client person developer admin",
        r"""
        \b(?:do not|don['’]?t|never|must not|should not|mustn['’]?t|avoid|refrain from)\s+(?:\w+ ){0,2}?(?:TELL
        |TELLING)\s+
        (?:\w+ ){0,5}?(?:to )?HUMAN\b(?: (?:about|that|of|know|see|anything|this|what)\b|[.!,;]|$)
        |\bwithout (?:TELLING|mentioning (?:it|this) to|the knowledge of) HUMAN\b
        |\bkeep (?:this|it|these|that) (?:\w+ )?(?:secret|hidden|confidential) from HUMAN\b
        """,
    ),
    (
        "speaks to an assistant rather than to people",
        "assistant llm gpt claude gemini copilot language_model chatbot chat_bot _agent _ai ai_ ai: ai, "
        "you_must you_should you_need_to you_have_to you_are_",
        r"""
        \b(?:if|when|since|as) (?:you are|you['’]re) (?:an? |the |actually )?(?:\w+ )?(?:ASSISTANT|PRODUCT)\b
        |SENTENCEGREETING(?: to| for|,|:)?\s+(?:all |any |the |every |whichever )*(?:ASSISTANT|PRODUCT|agents?|model)
        (?: (?:reading|processing|summari[sz]ing|that (?:reads?|process\w*)|who)\b[^:\n]{0,40})?\s*[:,!—-]
        |SENTENCE(?:ai|llm|language model|chat ?bot)[ \w]{0,20}?\s*[,:]\s*ATONCEDO
        |SENTENCE(?:ASSISTANT|PRODUCT|agent),\s*ATONCEDO
        |\bASSISTANT (?:reading|processing|summari[sz]ing|parsing) this\b
        |\byou (?:must|should|need to|have to|are (?:required|instructed|ordered|obliged) to)
        (?: now| immediately| first| always| also)?\s+(?:call|invoke|use|run|execute) (?:the |your )?
        ["'\s]*[\w./-]{2,40}["'\s]+(?:tool|function|command)\b
        """,
    ),
    (
        "tells an assistant to send something private away",
        "password credential api_key apikey api- secret token private_key ssh_key conversation chat dialog "
        "system_prompt "
        "environment_variable .env seed_phrase cookies id_rsa memory_file",
        r"\bSEND\b[^\n]{0,80}?(?:\b|(?=\.))PRECIOUS\b[^\n]{0,80}?AWAY",
    ),
    (
        "asks for the assistant's own instructions",
        "system_prompt system_message hidden_instruction initial_instruction",
        r"""
        \b(?:reveal|print|output|repeat|show|disclose|leak|display|write out|tell me)\b(?: me)?
        (?: the| your| all| full| entire| of| verbatim){0,4} (?:system prompt|system message|(?:hidden
        |initial) instructions)\b
        """,
    ),
    (
        "is shaped like the call of a tool",
        """function_call tool_call tool▁call tool_use tool_code invoke "arguments" "parameters" "input" """,
        r"""
        <\s*/?\s*(?:\w+:)?(?:function_calls?|tool_calls?|tool_use|tool_code|invoke\s+name\s*=)
        |<\|tool.?calls?|\[tool_calls\]|"tool_calls?"\s*:\s*\[|"type"\s*:\s*"(?:tool_use|function_call)"
        |\{\s*"name"\s*:\s*"[\w.-]{1,80}"\s*,\s*"(?:arguments|parameters|input)"\s*:\s*[{"]
        """,
    ),
    (
        "poses as the harness's own words",
        "system developer_message user_instructions important_instruction <| inst] << instant-recall new_instruction",
        r"""
        <\s*/?\s*(?:system|system[-_ ](?:reminder|prompt|message|instructions?|override)|developer_message
        |user_instructions
        |important_instructions?)\s*>
        |<\|(?:im_start|im_end|system|user|assistant|endoftext|start_header_id|eot_id|channel)\|?>?|\[/?inst\]
        |<<\s*/?sys\s*>>
        |(?:^|\n)\s*(?:\#{2,4}|\[)\s*(?:system(?: (?:prompt|message|override|instructions?))?|new instructions?)\s*[\]:]
        |\[instant-recall\]|\bsystem override\b
        """,
    ),
)
"""What a text does, the words around which that is looked for ("_" is a space, or itself), and its shape."""

_MARKS: Final = {ord("*"): " ", ord("`"): " "}
"""Marks that only change how words look."""
_AROUND: Final = 160
"""Characters around such a word within which the shape is looked for."""


def find(text: str) -> Order | None:
    """The first order of the first shape that the text has; None when it has none."""
    low = text.lower().translate(_MARKS)
    for what, words, shape in _compiled():
        for start, end in _places(low, words):
            found = shape.search(low, start, end)
            if found:
                return Order(what, found.start())
    return None


@functools.cache
def _compiled() -> tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...]:
    part = re.compile("|".join(sorted(_PARTS, key=len, reverse=True)))
    compiled = []
    for what, words, lines in _SHAPES:
        whole = "".join(line.strip() for line in lines.splitlines())
        shape = re.compile(part.sub(lambda name: f"(?:{_PARTS[name[0]]})", whole), re.S)
        either = dict.fromkeys(word for each in words.split() for word in (each.replace("_", " "), each))
        compiled.append((what, tuple(either), shape))
    return tuple(compiled)


def _places(low: str, words: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    """Stretches of a text around the words, none of them twice."""
    places: list[int] = []
    for word in words:
        at = low.find(word)
        while at >= 0:
            places.append(at)
            at = low.find(word, at + _AROUND)
    end = 0
    for at in sorted(places):
        if at + _AROUND > end:
            start, end = max(at - _AROUND, 0), at + 3 * _AROUND
            yield start, end
