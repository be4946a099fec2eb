"""pywasmtok, one build of its core at a time; fallback only where the case allows it."""

from __future__ import annotations

import base64
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

from serve import Adapter, Fields, serve, text_of
from shared import guarded, rendered_by

import pywasmtok
from pywasmtok.chat.encode import encode_rendered
from pywasmtok.chat.rendering.sandbox import renderer

BUILD = os.environ.get("PYWASMTOK_ADAPTER_BUILD", "portable")


def core_sha256() -> str:
    from hashlib import sha256

    file = Path(pywasmtok.__file__).parent / "core" / f"{BUILD}.wasm"
    return sha256(file.read_bytes()).hexdigest()


class Pywasmtok(Adapter):
    implementation = {
        "name": "pywasmtok",
        "version": pywasmtok.__version__,
        "host": f"wasmtime {version('wasmtime')}",
        "variant": BUILD,
        "core_sha256": core_sha256(),
    }
    formats = [
        *("tokenizer.json", "vocab+merges", "tiktoken", "tekken", "sentencepiece", "gguf", "rwkv"),
    ]
    features = [
        *("offsets:char", "tokens", "type_ids", "attention_mask", "pair"),
        *("special:none", "special:raise", "special:set"),
        *("unknown:skip", "unknown:error", "unknown:replace", "byte_runs:eager", "stop:match"),
        *("any_id", "fallback", "detect", "generation", "preparation"),
    ]

    def load(self, path: str, options: Fields) -> tuple[Any, Fields]:
        allowed = options.get("fallback") == "allow"
        tokenizer = guarded(
            pywasmtok.create_tokenizer_from_file,
            path,
            encoder="auto" if allowed else "core",
            decoder="core" if not allowed else None,
            build=BUILD,
            pattern=options.get("pattern"),
            special_tokens=options.get("special_tokens"),
        )
        core = tokenizer.backend.encoder == "core"
        more: Fields = {
            "served_by": "core" if core else "fallback",
            "vocab_size": tokenizer.vocab_size,
            "format": tokenizer.format,
        }
        if tokenizer.backend.reason:
            more["reason"] = tokenizer.backend.reason
        return tokenizer, more

    def unload(self, handle: Any) -> None:
        handle.close()

    def info(self, handle: Any) -> Fields:
        special = handle.special_tokens
        roles = {
            role: {"token": token, "id": special.ids.get(token)}
            for role in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")
            if (token := getattr(special, role)) is not None
        }
        return {"vocab_size": handle.vocab_size, "special_tokens": roles}

    def encode(
        self,
        handle: Any,
        input: Fields,
        options: Fields,
        pair: Fields | None = None,
        want: tuple[str, ...] = (),
    ) -> Fields:
        second = None if pair is None else text_of(pair)
        encoding = guarded(handle.encode, text_of(input), second, **_encoding(options))
        answer: Fields = {"ids": encoding.ids}
        if "offsets" in want:
            answer["offsets"] = encoding.offsets
        if "tokens" in want:
            answer["tokens"] = encoding.tokens
        if "type_ids" in want:
            answer["type_ids"] = encoding.type_ids
        if "attention_mask" in want:
            answer["attention_mask"] = encoding.attention_mask
        return answer

    def encode_batch(self, handle: Any, inputs: list[Fields], options: Fields) -> Fields:
        texts = [text_of(one) for one in inputs]
        return {"ids": guarded(handle.encode_batch, texts, **_encoding(options)).ids}

    def count(self, handle: Any, input: Fields, options: Fields) -> Fields:
        return {"count": guarded(handle.count, text_of(input), **_encoding(options))}

    def segments(self, handle: Any, segments: list[Fields], options: Fields) -> Fields:
        parts = [(part["text"], part["trusted"]) for part in segments]
        # Trust says what special tokens are; there is no policy beside it.
        add_special = options.get("add_special", True)
        return {"ids": guarded(handle.encode_segments, parts, add_special).ids}

    def decode(self, handle: Any, ids: list[int], options: Fields) -> Fields:
        return {"text": guarded(handle.decode, ids, **_decoding(options))}

    def decode_bytes(self, handle: Any, ids: list[int], options: Fields) -> Fields:
        data = guarded(handle.decode_bytes, ids, **_decoding(options))
        return {"b64": base64.b64encode(data).decode()}

    def decode_batch(self, handle: Any, lists: list[list[int]], options: Fields) -> Fields:
        return {"texts": guarded(handle.decode_batch, lists, **_decoding(options))}

    def token_to_id(self, handle: Any, token: str) -> Fields:
        return {"id": guarded(handle.token_to_id, token)}

    def id_to_token(self, handle: Any, id: int) -> Fields:
        return {"token": guarded(handle.id_to_token, id)}

    def stream_open(self, handle: Any, prompt: list[int], options: Fields) -> tuple[Any, Fields]:
        return guarded(handle.decode_stream, prompt, **_streaming(options)), {}

    def stream_push(self, stream: Any, ids: list[int]) -> Fields:
        if len(ids) == 1:
            return {"text": guarded(stream.step, ids[0])}
        return {"text": guarded(stream.step_batch, ids)}

    def stream_flush(self, stream: Any) -> Fields:
        return {"text": guarded(stream.flush)}

    def stream_close(self, stream: Any) -> None:
        pass

    def stop_open(
        self, handle: Any, prompt: list[int], config: Fields, options: Fields
    ) -> tuple[Any, Fields]:
        said = dict(config)
        eos = said.pop("eos_tokens", ())
        stops = guarded(pywasmtok.StopSequenceConfig, **said)
        streaming = _streaming(options)
        return guarded(handle.stop_decoder, stops, prompt, eos_token_ids=eos, **streaming), {}

    def stop_push(self, stop: Any, id: int) -> Fields:
        return _output(stop, guarded(stop.process_token, id))

    def stop_flush(self, stop: Any) -> Fields:
        return _output(stop, guarded(stop.flush))

    def stop_close(self, stop: Any) -> None:
        pass

    def render(self, *, want: tuple[str, ...] = (), **said: Any) -> Fields:
        rendered = rendered_by(renderer(), said, generation="generation" in want)
        generation = {"generation": rendered.generation} if "generation" in want else {}
        return {"text": rendered.text, **generation}

    def encode_chat(self, handle: Any, messages: list[Any], **said: Any) -> Fields:
        rendered = rendered_by(renderer(), {**said, "messages": messages}, origins=True)
        return {"ids": guarded(encode_rendered, handle, rendered, len(messages), "special").ids}


KINDS = {
    pywasmtok.Text: "text",
    pywasmtok.Held: "held",
    pywasmtok.Stopped: "stopped",
    pywasmtok.StoppedWithText: "stopped_with_text",
}


def _output(stop: Any, output: Any) -> Fields:
    answer: Fields = {"kind": KINDS[type(output)], "text": output.text}
    found = stop.matched
    if found is not None:
        answer["match"] = {
            "kind": found.kind,
            "visible": found.visible,
            "token_index": found.token_index,
            "start": found.start,
            "end": found.end,
            **({"id": found.id} if found.id is not None else {}),
            **({"string": found.string} if found.string is not None else {}),
        }
    return answer


def _encoding(options: Fields) -> Fields:
    special = options.get("special", "all")
    return {
        "add_special_tokens": options.get("add_special", True),
        "special": set(special) if isinstance(special, list) else special,
    }


def _decoding(options: Fields) -> Fields:
    return {
        "skip_special_tokens": options.get("skip_special", True),
        "unknown_id": options.get("unknown"),
    }


def _streaming(options: Fields) -> Fields:
    return {**_decoding(options), "byte_runs": options.get("byte_runs", "exact")}


if __name__ == "__main__":
    # Compiled before the first request, which has a timeout of its own.
    renderer().compile("")
    serve(Pywasmtok())
