"""The part of the client that is about audiences and mutes. Loads only the standard library and msgspec."""

from __future__ import annotations

from collections.abc import Iterable

from ..events.envelope import new_event_id
from .asking import checked, texts
from .caller import Caller
from .policy_messages import (
    AudienceRequest,
    AudienceResponse,
    ChangeAudienceRequest,
    ChangeAudienceResponse,
    LabelsRequest,
    LabelsResponse,
    MuteRequest,
    MuteResponse,
    MutesRequest,
    MutesResponse,
    UnmuteRequest,
    UnmuteResponse,
)
from .twins import twin


class PolicyCalls(Caller):
    """The questions and changes about audiences and mutes; see Client, which has them.

    All raise Refused for others than the owner, and NotFound for an item that is not there.
    """

    reader: str

    def audience(self, item: str, *, reader: str | None = None) -> AudienceResponse:
        """Who may see an item (its id, address or name)."""
        asked = checked(AudienceRequest, item=item, reader=self._as(reader))
        return self._ask("/v1/audience", asked, AudienceResponse)

    def set_audience(
        self, item: str, labels: Iterable[str], *, reader: str | None = None, event_id: str = ""
    ) -> ChangeAudienceResponse:
        """Say who may see an item, in place of what was said before; `["owner"]`: nobody else.

        It counts from the very next push on, and stays whatever is recorded of the item later. Raises InvalidEvent for
        a label that is none.
        """
        return self._change(item, labels, "set", reader, event_id)

    def add_audience(
        self, item: str, labels: Iterable[str], *, reader: str | None = None, event_id: str = ""
    ) -> ChangeAudienceResponse:
        """Let more see an item: those with these labels, too. See `set_audience`."""
        return self._change(item, labels, "add", reader, event_id)

    def remove_audience(
        self, item: str, labels: Iterable[str], *, reader: str | None = None, event_id: str = ""
    ) -> ChangeAudienceResponse:
        """Take labels away from an item; with the last one gone it is for the owner alone. See `set_audience`."""
        return self._change(item, labels, "remove", reader, event_id)

    def labels(self, *, reader: str | None = None) -> LabelsResponse:
        """Which labels there are, how many items carry each, and which readers have it."""
        return self._ask("/v1/audience/labels", checked(LabelsRequest, reader=self._as(reader)), LabelsResponse)

    def mute(
        self,
        item: str = "",
        *,
        topic: str = "",
        session: str = "",
        reason: str = "",
        reader: str | None = None,
        event_id: str = "",
    ) -> MuteResponse:
        """Ask not to be told of an item, or of anything about a topic, from the very next push on.

        Args:
            item: its id, address or name.
            topic: a few words, instead of an item.
            session: only in this session; empty: for good.
            reason: why, for the log.
            reader: who asks.
            event_id: to repeat a failed call.
        """
        event_id = event_id or new_event_id()
        about = {"item": item, "topic": topic, "session": session, "reason": reason}
        asked = checked(MuteRequest, **about, reader=self._as(reader), event_id=event_id)
        return self._write("/v1/mute", asked, MuteResponse, [event_id])

    def unmute(
        self, item: str = "", *, topic: str = "", session: str = "", reader: str | None = None, event_id: str = ""
    ) -> UnmuteResponse:
        """Take the mutes of an item or a topic back: all of them, or the one for a session.

        `topic` may also be the id of its mute.
        """
        event_id = event_id or new_event_id()
        about = {"item": item, "topic": topic, "session": session}
        asked = checked(UnmuteRequest, **about, reader=self._as(reader), event_id=event_id)
        return self._write("/v1/unmute", asked, UnmuteResponse, [event_id])

    def mutes(self, *, reader: str | None = None) -> MutesResponse:
        """What is muted."""
        return self._ask("/v1/mutes", checked(MutesRequest, reader=self._as(reader)), MutesResponse)

    def _change(
        self, item: str, labels: Iterable[str], change: str, reader: str | None, event_id: str
    ) -> ChangeAudienceResponse:
        event_id = event_id or new_event_id()
        asked = checked(
            ChangeAudienceRequest,
            item=item,
            labels=texts(labels),
            change=change,
            reader=self._as(reader),
            event_id=event_id,
        )
        return self._write("/v1/audience/change", asked, ChangeAudienceResponse, [event_id])

    def _as(self, reader: str | None) -> str:
        return self.reader if reader is None else reader


class AsyncPolicyCalls:
    """The same, to be awaited; see AsyncClient, which has them."""

    audience = twin(PolicyCalls.audience)
    set_audience = twin(PolicyCalls.set_audience)
    add_audience = twin(PolicyCalls.add_audience)
    remove_audience = twin(PolicyCalls.remove_audience)
    labels = twin(PolicyCalls.labels)
    mute = twin(PolicyCalls.mute)
    unmute = twin(PolicyCalls.unmute)
    mutes = twin(PolicyCalls.mutes)
