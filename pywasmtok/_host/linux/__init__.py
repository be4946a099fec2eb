"""What only Linux has, and what is done where it is missing.

`PYWASMTOK_LINUX=off` does without it on Linux too: so the ways of other systems can be tested.
docs/rationale/host.md has them in a table.
"""

import os
import sys
from typing import Final

VARIABLE: Final = "PYWASMTOK_LINUX"
OFF: Final = "off"

ON: Final = sys.platform == "linux" and os.environ.get(VARIABLE) != OFF
