"""How much memory reading a file takes at its peak, beside the size of the file.

    python -m tools.verify.load_memory FILE...

Each file is read in a process of its own, as a tenant's file without a snapshot. The peak is the
resident memory above what the process had with the engine ready and before the bytes were there.
It is what `pywasmtok.tenants.loads` estimates; Linux only.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path


def peak(path: Path) -> int:
    """Bytes, of this process. `clear_refs` sets the high-water mark back."""
    from pywasmtok import SnapshotStore
    from pywasmtok._host.prepared import prepare
    from pywasmtok.tenants import TenantLimits, TenantPool
    from pywasmtok.tokenizer.limits import Limits

    prepare(lambda text: None)
    with tempfile.TemporaryDirectory() as folder:
        pool = TenantPool(SnapshotStore(folder))
        calls = Limits(deadline=60.0, memory=2 << 30, max_file_bytes=1 << 30)
        tenant = pool.add("measured", TenantLimits(calls=calls, load_deadline=120.0))
        tenant.add(b'{"model":{"type":"WordLevel","vocab":{"a":0},"unk_token":"a"}}')
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
        before = _status("VmRSS")
        tenant.add(path.read_bytes())
        return _status("VmHWM") - before


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise LookupError(name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.here:
        print(peak(given.files[0]))
        return
    from pywasmtok.tenants.loads import needed

    print("| file | MB | peak MB | peak / file | estimate MB |")
    print("|---|---|---|---|---|")
    for path in given.files:
        command = [sys.executable, "-m", "tools.verify.load_memory", "--here", str(path)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        size = path.stat().st_size
        if run.returncode:
            said = run.stderr.strip().splitlines()[-1:]
            print(f"| {path.name} | {size / 1e6:.1f} | not read: {' '.join(said)} | | |")
            continue
        most = int(run.stdout)
        estimate = needed(size, path.read_bytes()[:16])
        print(
            f"| {path.parent.name}/{path.name} | {size / 1e6:.1f} | {most / 1e6:.0f}"
            f" | {most / size:.1f} | {estimate / 1e6:.0f} |"
        )


if __name__ == "__main__":
    main()
