"""Instant Recall: finds what an agent's owner already has, before every turn.

A harness needs one line, `from instant_recall import Client`, which loads only the standard library and msgspec.
"""

from .api.client import AsyncClient, Client

__all__ = ["AsyncClient", "Client", "__version__"]
__version__ = "0.1.0"
