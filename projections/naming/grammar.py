"""The few English words that tell a proper name from a common noun, by what they do."""

from __future__ import annotations

from typing import Final


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


INDEFINITE: Final = _set("a an another any each every either neither no some few many several which what whose")
"""They bring in one of many, never the one thing that is called so."""
POSSESSIVE: Final = _set("my our your his her its their")
DEFINITE: Final = _set("the this that these those")
DETERMINERS: Final = INDEFINITE | POSSESSIVE | DEFINITE
PRONOUNS: Final = _set("i you he she it we they me him us them who everybody somebody everyone someone t s re ve ll m")
"""With what is left of "don't", "we're" and the like."""
PREPOSITIONS: Final = _set(
    "about above across after against along among around at before behind below beneath beside between beyond by down "
    "during for from in inside into near of off on onto out outside over past since through till to toward towards "
    "under until up upon via with within without than like as"
)
JOINS: Final = _set("and or nor but vs versus if because while when whether so then that though although where how why")
ADVERBS: Final = _set(
    "again already also always anyway away back ever finally first hello here hey hi just later maybe never next not "
    "now often ok okay once only please quickly really right soon still there today together tomorrow tonight too "
    "usually very well yesterday yet"
)
AUXILIARIES: Final = _set(
    "is was has does did can could will would shall should may might must had isn wasn hasn doesn didn can couldn won "
    "wouldn shouldn hadn mustn are were do have aren weren don haven be been being am"
)
SINGULAR_AUXILIARIES: Final = _set(
    "is was has does did can could will would should may might must isn wasn hasn doesn didn couldn won wouldn shouldn"
)
"""Those that can stand before or behind a single thing that does something."""
PLURAL_AUXILIARIES: Final = _set("are were do have did can could will would should may might must don aren weren haven")
"""Those that can stand in front of several things."""
SUBJECTS: Final = _set("i you he she it we they")
"""Behind them stands a verb."""
FUNCTION: Final = DETERMINERS | PRONOUNS | PREPOSITIONS | JOINS | ADVERBS | AUXILIARIES
"""Words that hold a sentence together, and say nothing of what it is about."""

OPERATES: Final = _set(
    "ask boot call check close connect consult fetch feed fire give have invoke kick launch let load look make mute "
    "nudge open park pause ping plug poke power put query reboot reset restart resume run see send set shut show "
    "ssh start stop switch take tell trigger try turn unmute unplug update upgrade use wake"
)
"""What an owner does with a tool, a helper or a machine."""
RUNS: Final = _set("debug install launch ping query reboot reinstall restart ssh uninstall update upgrade")
"""What nobody does with anything but such a thing."""
HAS: Final = _set(
    "account api config docs error errors ip log login logs output password port queue readme settings status token "
    "update uptime url version"
)
"""What such a thing has, and hardly anything else."""
DOES: Final = _set(
    "accept answer ask beep block break burn call catch claim clean close come complain connect count crash cut delete "
    "die do draw drop eat end expire fail fall fill find finish flag forget freeze get give go grab handle hang have "
    "hear help hold hum ignore jam keep kill know leave let list lose make mark mean miss move need open overheat park "
    "pause pick print produce publish pull push put quit react read refuse reject remove render repeat reply report "
    "reset respond restart return run save say scan see send set show shut skip sleep sort start stay stick stop store "
    "sum take tell think time try turn use wait wake want warn work write"
)
"""What a tool, a helper or a machine is said to do."""
IRREGULAR: Final = _set(
    "ate beat became began blew broke burnt came caught cut died did drew drove fell felt found forgot froze gave got "
    "grew had heard held hit hung kept knew laid left lost made meant met paid put quit ran rang read said sang saw "
    "sent set shook shut slept spoke spat stood stuck stole sold told took thought threw understood went woke won wrote"
)
"""Past forms that do not end in -ed."""
STATES: Final = _set(
    "alive asleep available awake broken busy correct dead done empty fast fine free frozen full gone hot idle late "
    "loud offline online quiet ready running safe slow stuck sure warm wrong"
)
"""What may be said of a thing without another word."""
MEASURES: Final = _set("kind sort type kilo bag cup glass bowl box piece bit lot slice bottle pair pound bunch handful")
"""In front of "of": what comes is a stuff or one of many."""
THINGS: Final = _set("skill tool machine thing helper script app program agent command service server plugin")
"""What anybody calls a thing of any kind."""
KIND_WORDS: Final = {
    "decision": _set("decision rule policy"),
    "approach": _set("approach method recipe way"),
    "document": _set("document file version draft"),
}
"""What things of a kind are called besides."""
ABOUT_WORDS: Final = _set("word term name definition meaning")
"""In front of a word that is itself asked for."""
VERB_SLOT: Final = _set("to you i we they please don lets")
"""In front of a verb."""
