"""What a template writes itself is read off its source in time that grows with it, no faster."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pywasmtok.loading.literals import literal_text


def test_text_and_strings_are_literals() -> None:
    assert literal_text("a{{ 'b' 'c' }}{# d #}{% raw %}{{ e }}{% endraw %}").split("\0") == [
        "a",
        "bc",
        "",
        "{{ e }}",
    ]


@pytest.mark.parametrize(
    ("begin", "part"),
    [("{{ '", "\\'"), ('{{ "', '\\"'), ("{{ ", "'"), ("", "{% raw %}"), ("{{ ", "'a' ")],
)
def test_sources_of_strangers_take_no_time_worth_mentioning(begin: str, part: str) -> None:
    """As large as a template may be: where each quote was looked at anew, this took minutes, in
    which no other thread of the process ran."""
    code = (
        "from pywasmtok.loading.literals import literal_text\n"
        f"literal_text({begin!r} + {part!r} * ((256 << 10) // len({part!r})))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
