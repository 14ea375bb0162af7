"""Tests; the contract suites in here install with the package so that other backends can be held to them."""
