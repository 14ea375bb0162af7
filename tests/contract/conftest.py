"""The contract suites are no test files, so pytest has to be told to explain their failed asserts."""

import pytest

pytest.register_assert_rewrite("instant_recall.tests.contract.event_log")
