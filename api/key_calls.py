"""The part of the client that is about use keys. Loads only the standard library and msgspec."""

from __future__ import annotations

from collections.abc import Iterable

from ..events.envelope import new_event_id
from .asking import checked, texts
from .caller import Caller
from .key_messages import (
    AddKeysRequest,
    AddKeysResponse,
    KeyEntry,
    KeysRequest,
    KeysResponse,
    KeysTodoRequest,
    KeysTodoResponse,
    RemoveKeyRequest,
)
from .messages import WriteResponse


class KeyCalls(Caller):
    """The questions and changes about use keys; see Client, which has them."""

    reader: str

    def keys(self, item: str, request: str = "", *, reader: str | None = None) -> KeysResponse:
        """The use keys of an item (its id, address or name), and how well each fits a request.

        Raises:
            NotFound: there is no such item, or the reader may not see it.
            RecallError: several items have this name; the message lists their ids.
        """
        asked = checked(KeysRequest, item=item, request=request, reader=self._asking(reader))
        return self._ask("/v1/keys", asked, KeysResponse)

    def add_keys(
        self, item: str, use_when: Iterable[str] = (), *, not_for: Iterable[str] = (), reader: str | None = None
    ) -> AddKeysResponse:
        """Say when an item helps (`use_when`) or does not (`not_for`), in the words in which the owner would ask.

        The very next push knows it. What the item has already is not added again, so that a call may be repeated.

        Raises:
            InvalidEvent: there is no such item, or a phrase is none. Nothing was added.
            Refused: the reader is not the owner.
        """
        entry = checked(KeyEntry, item=item, use_when=texts(use_when), not_for=texts(not_for))
        return self.fill_keys([entry], reader=reader)

    def fill_keys(self, entries: Iterable[KeyEntry], *, reader: str | None = None) -> AddKeysResponse:
        """Add keys to many items, all or none. Raises as `add_keys` does; the message names each bad entry."""
        asked = checked(AddKeysRequest, entries=tuple(entries), reader=self._asking(reader))
        return self._ask("/v1/keys/add", asked, AddKeysResponse)

    def remove_key(self, item: str, key: str, *, reader: str | None = None, event_id: str = "") -> WriteResponse:
        """Take a use key (its id, or its phrase) away from an item; the very next push does without it.

        Raises:
            NotFound: there is no such item, or it has no such key.
            Refused: the reader is not the owner.
        """
        event_id = event_id or new_event_id()
        asked = checked(RemoveKeyRequest, item=item, key=key, reader=self._asking(reader), event_id=event_id)
        return self._write("/v1/keys/remove", asked, WriteResponse, [event_id])

    def keys_todo(self, limit: int = 50, *, reader: str | None = None) -> KeysTodoResponse:
        """What the owner has that no use key leads to, what is most worth one first. Raises Refused for others."""
        asked = checked(KeysTodoRequest, limit=limit, reader=self._asking(reader))
        return self._ask("/v1/keys/todo", asked, KeysTodoResponse)

    def _asking(self, reader: str | None) -> str:
        return self.reader if reader is None else reader
