from __future__ import annotations

import os
from pathlib import Path

import pytest
from instant_recall.events.errors import RecallError
from instant_recall.events.settings import SOCKET_PATH_LIMIT, Settings, default_home, private_dir


def test_the_home_comes_from_the_option_then_the_variable_then_the_platform() -> None:
    env = {"INSTANT_RECALL_HOME": "/var/a", "XDG_DATA_HOME": "/var/b"}

    assert Settings.from_env("/var/c", env).home == Path("/var/c")
    assert Settings.from_env(None, env).home == Path("/var/a")
    assert Settings.from_env(None, {}).home == default_home({})


def test_a_home_is_made_absolute() -> None:
    assert Settings.from_env("data", {}).home == Path.cwd() / "data"
    assert Settings.from_env("~/data", {}).home == Path.home() / "data"


def test_empty_variables_are_as_good_as_none() -> None:
    env = {"INSTANT_RECALL_HOME": "", "INSTANT_RECALL_OWNER": "", "REDIS_URL": "", "INSTANT_RECALL_ENCODER": ""}

    assert Settings.from_env(None, env) == Settings.from_env(None, {})


@pytest.mark.parametrize("owner", ["a}b", "{", "a:b", "a/b", "a\nb", "x" * 65, "..", ".hidden", "é" * 33])
def test_an_owner_that_would_break_a_key_is_refused(owner: str) -> None:
    with pytest.raises(RecallError, match="INSTANT_RECALL_OWNER"):
        Settings.from_env("/x", {"INSTANT_RECALL_OWNER": owner})


def test_sockets_are_below_the_home_when_that_is_short_enough() -> None:
    assert Settings(home=Path("/data")).server_socket == Path("/data/run/server.sock")


@pytest.mark.parametrize("home", ["/data/" + "x" * 200, "/data/" + "é" * 45])
def test_a_home_with_a_long_path_has_short_sockets_of_its_own(home: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/user/1000")
    settings = Settings(home=Path(home))

    assert len(os.fsencode(settings.server_socket)) <= SOCKET_PATH_LIMIT
    assert settings.server_socket.parent.parent == Path("/run/user/1000")
    assert settings.server_socket.parent == settings.api_socket.parent
    assert settings.server_socket != Settings(home=Path(home + "2")).server_socket
    assert settings.server_socket == Settings(home=Path(home)).server_socket


def test_a_runtime_folder_that_is_too_long_itself_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/run/" + "x" * 100)

    with pytest.raises(RecallError, match=r"over 100 bytes.*XDG_RUNTIME_DIR"):
        _ = Settings(home=Path("/data/" + "x" * 200)).api_socket


def test_a_private_folder_is_made_with_its_parents_and_closed_to_others(tmp_path: Path) -> None:
    made = private_dir(tmp_path / "a" / "b")

    assert made.stat().st_mode & 0o777 == 0o700


def test_an_open_folder_of_ours_is_closed(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)

    assert private_dir(tmp_path).stat().st_mode & 0o777 == 0o700


def test_a_link_is_not_taken_for_a_private_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")

    with pytest.raises(RecallError, match="not a folder of this user"):
        private_dir(tmp_path / "link")
