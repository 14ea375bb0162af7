"""The part of the client that is about quarantine. Loads only the standard library and msgspec."""

from __future__ import annotations

from ..events.envelope import new_event_id
from .asking import checked
from .caller import Caller
from .messages import WriteResponse
from .quarantine_messages import HoldRequest, QuarantineRequest, QuarantineResponse, ReleaseRequest
from .twins import twin


class QuarantineCalls(Caller):
    """The questions and changes about quarantine; see Client, which has them. All raise Refused for another reader."""

    reader: str

    def quarantine(self, item: str = "", *, reader: str | None = None) -> QuarantineResponse:
        """What is held back until the owner has looked at it, the latest first; with `item`, that one with its text.

        Raises:
            NotFound: the item is not held back.
        """
        asked = checked(QuarantineRequest, item=item, reader=self._of(reader))
        return self._ask("/v1/quarantine", asked, QuarantineResponse)

    def hold_back(self, item: str, reason: str = "", *, reader: str | None = None, event_id: str = "") -> WriteResponse:
        """Hold an item back (its id, address or name): it is in no answer to anybody until it is released.

        Raises:
            NotFound: there is no such item.
        """
        event_id = event_id or new_event_id()
        asked = checked(HoldRequest, item=item, reason=reason, reader=self._of(reader), event_id=event_id)
        return self._write("/v1/quarantine/add", asked, WriteResponse, [event_id])

    def release(self, item: str, *, reader: str | None = None, event_id: str = "") -> WriteResponse:
        """Let something go that is held back, as `quarantine` lists it; the very next push may show it.

        Raises:
            NotFound: it is not held back.
        """
        event_id = event_id or new_event_id()
        asked = checked(ReleaseRequest, item=item, reader=self._of(reader), event_id=event_id)
        return self._write("/v1/quarantine/release", asked, WriteResponse, [event_id])

    def _of(self, reader: str | None) -> str:
        return self.reader if reader is None else reader


class AsyncQuarantineCalls:
    """The same, to be awaited."""

    quarantine = twin(QuarantineCalls.quarantine)
    hold_back = twin(QuarantineCalls.hold_back)
    release = twin(QuarantineCalls.release)
