"""What pyproject.toml and the lock say, held against what is there."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


def tracked() -> list[Path]:
    try:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not in a git work tree")
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def test_the_packages_are_the_folders_that_are_packages() -> None:
    folders = {path.parent.relative_to(ROOT) for path in tracked() if path.name == "__init__.py"}
    found = {".".join(("instant_recall", *folder.parts)) for folder in folders}
    assert found == set(PROJECT["tool"]["setuptools"]["packages"])


def test_every_data_file_that_the_code_reads_is_in_the_package() -> None:
    data = PROJECT["tool"]["setuptools"]["package-data"]
    covered = {
        path
        for package, patterns in data.items()
        for pattern in patterns
        for path in (ROOT / "/".join(package.split(".")[1:])).glob(pattern)
    }
    for path in tracked():
        inside = path.relative_to(ROOT).parts
        if inside[0] in ("events", "projections", "workers", "api", "ops") and path.suffix != ".py":
            assert path in covered, f"{path.relative_to(ROOT)} is missing from package-data"


def test_the_lock_pins_every_declared_dependency_with_hashes() -> None:
    declared = [*PROJECT["project"]["dependencies"], *PROJECT["project"]["optional-dependencies"]["dev"]]
    for requirement in declared:
        name = re.split(r"[<>=!~ ;\[]", requirement, maxsplit=1)[0].lower().replace("_", "-")
        assert re.search(rf"^{re.escape(name)}==\S+", LOCK, re.MULTILINE), f"{name}: run `make lock`"
    pins = re.findall(r"^[a-z0-9][^\s=]*==", LOCK, re.MULTILINE)
    assert LOCK.count("--hash=sha256:") >= len(pins)


def test_no_file_names_a_package_index_or_a_place_on_somebodys_machine() -> None:
    forbidden = re.compile(r"(--(extra-)?index-url|--find-links|--trusted-host|file:///|/home/\w+/|/Users/\w+/)")
    for name in ("requirements.lock", "pyproject.toml", "Makefile", ".ci/run"):
        assert not forbidden.search((ROOT / name).read_text(encoding="utf-8")), name
    assert "://" not in LOCK


def test_the_version_is_said_once_and_the_same() -> None:
    import instant_recall

    assert instant_recall.__version__ == PROJECT["project"]["version"]
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_tests_run_in_a_folder_whose_name_is_no_python_name(tmp_path: Path) -> None:
    # A clone's folder is called instant-recall; one called main would hide that pytest imports it by that name.
    clone = tmp_path / "instant-recall"
    (clone / "tests" / "unit").mkdir(parents=True)
    for name in ("__init__.py", "pyproject.toml"):
        shutil.copy(ROOT / name, clone)
    (clone / "tests" / "unit" / "test_it.py").write_text("def test_it():\n    pass\n", encoding="utf-8")
    said = subprocess.run([sys.executable, "-m", "pytest"], cwd=clone, capture_output=True, text=True, check=False)
    assert said.returncode == 0 and "1 passed" in said.stdout, said.stdout


def test_make_lists_what_there_is_to_type() -> None:
    listed = subprocess.run(["make"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for target in ("demo", "test", "lint", "bench", "soak", "property", "format", "lock", "clean"):
        assert re.search(rf"^  {target} +\S", listed, re.MULTILINE), target


def test_the_client_loads_nothing_but_the_standard_library_and_msgspec() -> None:
    program = (
        "import sys\nbefore = set(sys.modules)\nfrom instant_recall import Client\n"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(said.stdout.split())
    # msgspec itself loads typing_extensions where that is installed.
    assert loaded - set(sys.stdlib_module_names) <= {"instant_recall", "msgspec", "typing_extensions"}
