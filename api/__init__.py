"""The harness's door: push, search, open and publish, over HTTP and through a small client."""
