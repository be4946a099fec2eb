from __future__ import annotations

import subprocess
import sys

HEAVY = ("tokenizers", "tiktoken", "numpy", "wasmtime", "argparse", "lzma", "ctypes")


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout.strip()


def test_importing_does_not_import_what_is_not_needed_yet() -> None:
    loaded = run(f"import sys, pywasmtok; print([m for m in {HEAVY!r} if m in sys.modules])")
    assert loaded == "[]"


def test_importing_stays_light() -> None:
    """What it takes is mostly the number of modules; their time would be that of the machine."""
    code = (
        "import sys; before = len(sys.modules); import pywasmtok;"
        "ours = [name for name in sys.modules if name.startswith('pywasmtok')];"
        "print(len(sys.modules) - before, len(ours))"
    )
    everything, ours = map(int, run(code).split())
    # In Python 3.14 the standard library has more modules of its own.
    most = 125 if sys.version_info >= (3, 14) else 120
    assert (everything <= most, ours <= 50) == (True, True), (everything, ours)


def test_the_core_alone_imports_neither_huggingface_nor_the_package_wasmtime() -> None:
    code = (
        "import sys, pywasmtok\n"
        "tok = pywasmtok.create_tokenizer('builtin:demo', decoder='core')\n"
        "text = 'Hello world'\n"
        "encoding = tok.encode(text)\n"
        "assert tok.decode(encoding) == text and encoding.tokens and tok.special_tokens\n"
        "tok.encode_batch([text, (text, text)]), tok.vocab_size, tok.get_vocab()\n"
        "print({'tokenizers', 'wasmtime'} & sys.modules.keys())"
    )
    assert run(code) == "set()"


def test_huggingface_is_imported_on_the_first_decode() -> None:
    code = (
        "import sys, pywasmtok\n"
        "tok = pywasmtok.create_tokenizer('builtin:demo')\n"
        "ids = tok.encode('Hello world')\n"
        "print('tokenizers' in sys.modules)\n"
        "assert tok.decode(ids) == 'Hello world'\n"
        "print('tokenizers' in sys.modules)"
    )
    assert run(code).split() == ["False", "True"]


def test_preload_imports_it_at_once() -> None:
    code = (
        "import sys, pywasmtok\n"
        "pywasmtok.create_tokenizer('builtin:demo', preload=True)\n"
        "print('tokenizers' in sys.modules)"
    )
    assert run(code) == "True"


def test_huggingface_alone_never_opens_wasmtime() -> None:
    code = (
        "import sys, pywasmtok\n"
        "tok = pywasmtok.create_tokenizer('builtin:demo', encoder='hf')\n"
        "tok.decode(tok.encode('Hello world'))\n"
        "print('pywasmtok._host.wasm.wasmtime_functions' in sys.modules)"
    )
    assert run(code) == "False"
