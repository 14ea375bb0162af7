"""What somebody gets who installs the package: built as a source archive, then a wheel, then put in a fresh place."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HERE = Path(sysconfig.get_paths()["purelib"])
NOT_COPIED = (".git", ".venv", "build", "dist", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis", ".types")


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    said = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, env=os.environ | environment)
    assert said.returncode == 0, said.stdout + said.stderr
    return said.stdout


def build(kind: str, source: Path, out: Path) -> Path:
    """Build `sdist` or `wheel` with what is installed here: nothing is downloaded."""
    out.mkdir(exist_ok=True)
    program = f"import sys\nfrom setuptools import build_meta\nprint('made', build_meta.build_{kind}(sys.argv[1]))"
    return out / run(sys.executable, "-c", program, out, cwd=source).rpartition("made ")[2].strip()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel, built from a source archive as an index would hand it out."""
    folder = tmp_path_factory.mktemp("build")
    shutil.copytree(ROOT, folder / "tree", ignore=shutil.ignore_patterns(*NOT_COPIED))
    archive = build("sdist", folder / "tree", folder / "dist")
    with tarfile.open(archive) as packed:
        # Python 3.11.0 to 3.11.3 have no filters; the archive was made above.
        packed.extraction_filter = getattr(tarfile, "data_filter", None)
        packed.extractall(folder / "unpacked")  # noqa: S202
    (source,) = (folder / "unpacked").iterdir()
    return build("wheel", source, folder / "dist")


@pytest.fixture(scope="module")
def place(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh virtual environment with the wheel in it, and msgspec, and nothing else."""
    folder = tmp_path_factory.mktemp("place")
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    pip: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "--disable-pip-version-check",
        "--isolated",
    ]
    run(*pip, "install", "--no-index", "--no-deps", wheel, cwd=folder)
    shutil.copytree(HERE / "msgspec", site_packages(folder) / "msgspec")
    return folder


def site_packages(place: Path) -> Path:
    (found,) = (place / "lib").glob("python3*/site-packages")
    return found


def test_the_client_works_from_the_wheel_with_the_standard_library_and_msgspec_alone(
    place: Path, tmp_path: Path
) -> None:
    program = (
        "import sys, instant_recall\nfrom instant_recall import Client\n"
        "print(instant_recall.__file__)\nprint(Client(sys.argv[1]).push('hello').reason)"
    )
    where, reason = run(place / "bin" / "python", "-c", program, tmp_path, cwd=tmp_path).split()
    assert Path(where).is_relative_to(place)
    assert reason == "unreachable"


def test_the_installed_command_does_the_whole_round(place: Path, home: Path) -> None:
    # The other libraries come from here; the package itself from the wheel, which stands before them on the path.
    (site_packages(place) / "others.pth").write_text(f"{HERE}\n")
    command: list[str | Path] = [place / "bin" / "instant-recall", "--home", home, "--json"]
    (home / "notes").mkdir()
    (home / "notes" / "lab.md").write_text("# Lab\n\nThe long lens is for the camera.\n")
    assert json.loads(run(*command, "import", "notes", home / "notes", cwd=home))["new"] == 1
    assert json.loads(run(*command, "snapshot", cwd=home))["counts"]["items"] == 1
    assert json.loads(run(*command, "replay", cwd=home))["same"]


def test_the_wheel_has_what_the_code_reads_and_nothing_from_the_top_level(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    folders = {name.partition("/")[0] for name in names}
    assert {folder for folder in folders if not folder.endswith(".dist-info")} == {"instant_recall"}
    for wanted in (
        "py.typed",
        "projections/ranker.json",
        "projections/models/static/model.safetensors",
        "projections/models/static/NOTICE",
        "projections/models/contextual/model.onnx",
        "projections/models/contextual/tokenizer.json",
        "projections/models/contextual/NOTICE",
        "ops/demo_files",
        "ops/world_data",
    ):
        assert any(name.startswith(f"instant_recall/{wanted}") for name in names), wanted
    assert any(name.endswith("LICENSE") for name in names)
    tracked = {
        path.relative_to(ROOT / "ops").as_posix()
        for folder in ("demo_files", "world_data")
        for path in (ROOT / "ops" / folder).rglob("*")
        if path.is_file()
    }
    assert tracked <= {name.removeprefix("instant_recall/ops/") for name in names}
    assert wheel.stat().st_size < 30_000_000  # of which the two encoders are 25
