"""`doctor`: every check in turn. A check that fails in itself is a finding too, and never stops the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from ..events.connect import connect, open_log
from ..events.errors import LogFull, LogUnavailable, RecallError
from ..events.settings import Settings
from . import checks, checks_log, checks_snapshots
from .checks import Finding, Patient, Server
from .local import log_at_hand

Check = Callable[[Patient], Iterator[Finding]]

AROUND: tuple[Check, ...] = (
    *(checks.running, checks.orphans, checks.sockets, checks.disk, checks.leftovers, checks.quarantine),
)
"""Before anything is started."""
INSIDE: tuple[Check, ...] = (
    checks_log.durable,
    checks_log.clock,
    checks_log.write_and_read,
    checks_log.archive,
    checks_log.reactor,
    checks_snapshots.snapshots,
    checks_snapshots.encoder,
    checks_snapshots.overlay,
    checks_log.activity,
)
"""With the server at hand."""
DERIVED: tuple[Check, ...] = (checks_snapshots.snapshots, checks_snapshots.encoder)
"""Those of them that say something without the server, too."""


def examine(home: str | None = None) -> list[Finding]:
    """Run every check on a data folder; never raises for what it finds.

    The embedded server is started for the time of the checks when it does not run and there is a log; a folder without
    one stays as it is.

    Args:
        home: the data folder as said on the command line; None: the one of the environment or the platform.
    """
    try:
        settings = Settings.from_env(home)
        settings.server_socket  # noqa: B018 - says so when its path is too long
    except RecallError as error:
        return [Finding("settings", "BAD", str(error), "env | grep -e INSTANT_RECALL -e REDIS_URL -e XDG")]
    patient = Patient(settings, home)
    findings = _run(AROUND, patient)
    if not settings.redis_url and not settings.log_dir.is_dir():
        return [*findings, Finding("log", "warn", f"there is no log in {settings.home} yet", patient.type("up"))]
    try:
        with _at_hand(patient):
            return findings + _run(INSIDE, patient)
    except (LogUnavailable, LogFull) as error:
        remedy = f"tail -n 5 {settings.log_dir}/server.log" if not settings.redis_url else "echo $REDIS_URL"
        findings.append(Finding("server", "BAD", str(error), remedy))
        return findings + _run(DERIVED, patient)


@contextmanager
def _at_hand(patient: Patient) -> Iterator[None]:
    with log_at_hand(patient.settings), closing(connect(patient.settings)) as client:
        patient.server = Server(client, open_log(patient.settings))
        try:
            yield
        finally:
            patient.server = None


def _run(run: tuple[Check, ...], patient: Patient) -> list[Finding]:
    findings: list[Finding] = []
    for check in run:
        try:
            findings += check(patient)
        except RecallError as error:
            findings.append(Finding(check.__name__, "BAD", str(error), patient.type("doctor")))
    return findings
