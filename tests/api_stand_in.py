"""A small service with answers of its own, and a real server over any service, in a thread or as a script."""

from __future__ import annotations

import contextlib
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from instant_recall.api.key_messages import (
    AddKeysRequest,
    AddKeysResponse,
    KeysRequest,
    KeysResponse,
    KeysTodoRequest,
    KeysTodoResponse,
    RemoveKeyRequest,
)
from instant_recall.api.messages import (
    BarRequest,
    BarResponse,
    CorrectRequest,
    ForgetRequest,
    OpenRequest,
    OpenResponse,
    Pointer,
    Published,
    PublishRequest,
    PublishResponse,
    PushRequest,
    PushResponse,
    RefitRequest,
    RefitResponse,
    RememberRequest,
    SearchRequest,
    SearchResponse,
    StatusRequest,
    StatusResponse,
    WhyRequest,
    WhyResponse,
    WriteResponse,
)
from instant_recall.api.policy_messages import (
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
from instant_recall.api.quarantine_messages import (
    HeldBack,
    HoldRequest,
    QuarantineRequest,
    QuarantineResponse,
    ReleaseRequest,
)
from instant_recall.api.reader_messages import (
    GrantRequest,
    GrantResponse,
    NarrowRequest,
    ReadersRequest,
    ReadersResponse,
    RevokeRequest,
    RevokeResponse,
)
from instant_recall.api.server import Tcp, create_app, serve
from instant_recall.events.errors import NotFound
from instant_recall.events.settings import Settings


class StandIn:
    """Echoes what it is asked; raises `failure` when it is set; `hold` keeps writes waiting until it is set."""

    def __init__(self) -> None:
        self.failure: Exception | None = None
        self.hold: threading.Event | None = None
        self.held = threading.Event()
        self.refreshed = 0
        self.followed = 0
        self.refresh_failure: Exception | None = None
        self.closed = False
        self.written: list[str] = []

    def _fail(self) -> None:
        if self.failure is not None:
            raise self.failure

    def push(self, request: PushRequest) -> PushResponse:
        self._fail()
        if not request.request:
            return PushResponse(reason="trivial_turn")
        one = Pointer(item="skill:x", kind="skill", name="x", address="skill:x", line="l", score=1.0, route="name")
        return PushResponse(pointers=(one,), block=request.request, tokens=3, position="1-0")

    def search(self, request: SearchRequest) -> SearchResponse:
        self._fail()
        return SearchResponse(position=request.min_position)

    def why(self, request: WhyRequest) -> WhyResponse:
        self._fail()
        return WhyResponse(item=request.item, gate="not_indexed", ranks={}, bar=0.5, words="Not known.")

    def open(self, request: OpenRequest) -> OpenResponse:
        self._fail()
        if request.address != "note:x":
            raise NotFound(f"Nothing at {request.address} that {request.reader} may see. Look it up with search.")
        return OpenResponse(item="note:x", kind="note", name="x", address="note:x", text="text of x")

    def publish(self, request: PublishRequest) -> PublishResponse:
        self._fail()
        stored = tuple(Published(event_id=event.event_id, position=f"{n}-0") for n, event in enumerate(request.events))
        return PublishResponse(events=stored, position=stored[-1].position)

    def remember(self, request: RememberRequest) -> WriteResponse:
        self._fail()
        if self.hold is not None:
            self.held.set()
            self.hold.wait(10)
        self.written.append(request.event_id)
        return WriteResponse(event_id=request.event_id, position="1-0", item="note:x")

    def forget(self, request: ForgetRequest) -> WriteResponse:
        return WriteResponse(event_id=request.event_id, position="1-0", item=request.item)

    def correct(self, request: CorrectRequest) -> WriteResponse:
        self._fail()
        return WriteResponse(event_id=request.event_id, position="1-0", item=request.item)

    def bar(self, request: BarRequest) -> BarResponse:
        self._fail()
        return BarResponse(bar=0.5, default=0.25, is_default=False, before=0.25, words=request.change, position="1-0")

    def refit(self, request: RefitRequest) -> RefitResponse:
        self._fail()
        return RefitResponse(fate="none", undone=len(request.undo), default={}, own={})

    def keys(self, request: KeysRequest) -> KeysResponse:
        self._fail()
        return KeysResponse(item=request.item, kind="note", name="x")

    def add_keys(self, request: AddKeysRequest) -> AddKeysResponse:
        self._fail()
        return AddKeysResponse(position=f"{len(request.entries)}-0")

    def remove_key(self, request: RemoveKeyRequest) -> WriteResponse:
        self._fail()
        return WriteResponse(event_id=request.event_id, position="1-0", item=request.item)

    def keys_todo(self, request: KeysTodoRequest) -> KeysTodoResponse:
        self._fail()
        return KeysTodoResponse(total=request.limit)

    def audience(self, request: AudienceRequest) -> AudienceResponse:
        return AudienceResponse(item=request.item, kind="note", name="x", audience=("lab",), by_hand=True)

    def change_audience(self, request: ChangeAudienceRequest) -> ChangeAudienceResponse:
        return ChangeAudienceResponse(
            item=request.item, name=request.change, audience=request.labels, before=(), event_id="", position="1-0"
        )

    def labels(self, _request: LabelsRequest) -> LabelsResponse:
        return LabelsResponse()

    def mute(self, request: MuteRequest) -> MuteResponse:
        return MuteResponse(mute=request.event_id, item=request.item, topic=request.topic, session=request.session)

    def unmute(self, request: UnmuteRequest) -> UnmuteResponse:
        return UnmuteResponse(item=request.item, topics=(request.topic,))

    def mutes(self, _request: MutesRequest) -> MutesResponse:
        return MutesResponse()

    def quarantine(self, request: QuarantineRequest) -> QuarantineResponse:
        held = HeldBack(item=request.item, kind="note", name="x", since=1, reason="it is odd")
        return QuarantineResponse(held=(held,))

    def hold_back(self, request: HoldRequest) -> WriteResponse:
        return WriteResponse(event_id=request.event_id, position="1-0", item=request.item)

    def release(self, request: ReleaseRequest) -> WriteResponse:
        return WriteResponse(event_id=request.event_id, position="1-0", item=request.item)

    def readers(self, _request: ReadersRequest) -> ReadersResponse:
        return ReadersResponse(readers=())

    def grant(self, request: GrantRequest) -> GrantResponse:
        return GrantResponse(reader=request.name, kind=request.kind, scopes=request.scopes, event_id="", position="1-0")

    def narrow(self, request: NarrowRequest) -> GrantResponse:
        return GrantResponse(reader=request.name, kind="tool", scopes=request.scopes, event_id="", position="1-0")

    def revoke(self, request: RevokeRequest) -> RevokeResponse:
        return RevokeResponse(ended=(request.name,), event_id="", position="1-0")

    def caller_with(self, _token_hash: str) -> None:
        return None

    def status(self, _request: StatusRequest) -> StatusResponse:
        self._fail()
        return StatusResponse(
            version="0",
            owner="owner",
            position="1-0",
            applied="1-0",
            generation=0,
            snapshot_position="0-0",
            overlay_items=0,
            items={},
            pushes=0,
            uptime_s=0.0,
            encoder="none",
            server="memory",
        )

    def refresh(self) -> bool:
        self.refreshed += 1
        if self.refresh_failure is not None:
            raise self.refresh_failure
        return False

    def follow(self) -> None:
        self.followed += 1

    def close(self) -> None:
        self.closed = True


@contextlib.contextmanager
def serving(
    service: object, *, tcp_port: int | None = None, tcp: Tcp | None = None, token_hash: str = ""
) -> Iterator[Path]:
    """Serve in a thread over a throw-away data folder, which is given back; the server has stopped at the end."""
    started, stop = threading.Event(), threading.Event()
    with tempfile.TemporaryDirectory(prefix="ir-") as folder:
        app = create_app(cast(Any, service))
        options: dict[str, Any] = {
            "socket_path": Settings.from_env(folder).api_socket,
            "tcp": Tcp(tcp_port) if tcp_port is not None else tcp,
            "token_hash": token_hash,
            "on_started": started.set,
            "stop": stop,
        }
        thread = threading.Thread(target=serve, args=(app,), kwargs=options)
        thread.start()
        try:
            assert started.wait(10)
            yield Path(folder)
        finally:
            stop.set()
            thread.join(15)
            assert not thread.is_alive()


def wait_until(holds: Any, seconds: float = 10) -> None:
    """Until `holds()` is true; an assertion error when it is not in time."""
    until = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.005)


def _tell_of_write(service: StandIn, hold: threading.Event) -> None:
    service.held.wait(10)
    print("writing", flush=True)  # noqa: T201
    time.sleep(0.5)  # the signal comes in this time
    hold.set()


def main(home: str) -> None:
    """Serve a stand-in until a signal, telling of the start and of the service's close on standard output."""
    service = StandIn()
    if "slow-writes" in sys.argv:
        service.hold = threading.Event()
        threading.Thread(target=_tell_of_write, args=(service, service.hold)).start()
    path = Settings.from_env(home).api_socket
    serve(create_app(cast(Any, service)), socket_path=path, on_started=lambda: print("started", flush=True))  # noqa: T201
    print("closed" if service.closed else "not closed", flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1])
