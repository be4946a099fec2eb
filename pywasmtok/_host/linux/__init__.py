"""What only Linux has, and what is done where it is missing.

`PYWASMTOK_LINUX=off` does without it on Linux too: so the ways of other systems can be tested.
docs/rationale/host.md has them in a table.
"""

import sys
from typing import Final

from ..switches import is_off

VARIABLE: Final = "PYWASMTOK_LINUX"

ON: Final = sys.platform == "linux" and not is_off(VARIABLE)
