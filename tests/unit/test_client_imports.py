"""What a harness pays for `from instant_recall import Client`."""

import subprocess
import sys

HEAVY = {
    "anyio",
    "asyncio",
    "bm25s",
    "click",
    "model2vec",
    "numpy",
    "redis",
    "rq",
    "starlette",
    "structlog",
    "onnxruntime",
    "usearch",
    "uvicorn",
}


def test_the_client_loads_only_the_standard_library_and_msgspec() -> None:
    script = (
        "import sys; before = set(sys.modules); from instant_recall import AsyncClient, Client; "
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "instant_recall" in loaded
    assert not loaded & HEAVY
    # msgspec looks for typing_extensions itself and does without.
    assert loaded - sys.stdlib_module_names - {"typing_extensions"} == {"instant_recall", "msgspec"}
