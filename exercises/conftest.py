"""Print a mistake as its sentence alone, without a traceback."""

import pytest
from explain import Mistake


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call():
    try:
        return (yield)
    except Mistake as mistake:
        pytest.fail(str(mistake), pytrace=False)
