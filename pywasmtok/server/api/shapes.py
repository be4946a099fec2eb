"""What requests and answers of /api/v1 look like; the OpenAPI document is made from these.

POST   /tokenizers/{name}/encode       Encode        -> Encoded | EncodedBatch
POST   /tokenizers/{name}/decode       Decode        -> Decoded | DecodedBatch
POST   /tokenizers/{name}/count        Count         -> Counted | CountedBatch
POST   /tokenizers/{name}/fits         Fits          -> Fitting
POST   /tokenizers/{name}/truncate     Truncate      -> Truncated
POST   /tokenizers/{name}/chat/render  Chat          -> Rendered
POST   /tokenizers/{name}/chat/encode  Chat          -> EncodedChat
POST   /tokenizers/{name}/stream       Stream        -> text/event-stream
WS     /tokenizers/{name}/stream       StreamMessage -> StreamEvent, many streams on one connection
GET    /tokenizers                     -> Tokenizers
GET    /tokenizers/{name}              -> TokenizerInfo
PUT    /tokenizers/{name}              the bytes of a file -> TokenizerInfo; the name points to it
                                       from then on; earlier requests end with the old one
DELETE /tokenizers/{name}              the name, and the file if no other name is left
PUT    /aliases/{name}                 Alias         -> TokenizerInfo
DELETE /aliases/{name}
GET    /usage                          -> Usage of the caller
GET    /tenants                        -> Tenants, for admins, as all below
PUT    /tenants/{name}                 TenantChange  -> TenantInfo
GET    /tenants/{name}                 -> TenantInfo
DELETE /tenants/{name}
POST   /tenants/{name}/keys            NewKey        -> KeyMade, the only time that a key is shown
DELETE /tenants/{name}/keys/{id}
POST   /store/verify                   -> Verified

`Accept: application/octet-stream` on encode answers u32, little-endian: the ids; for a batch first
the number of texts and the number of ids of each. The same type as `Content-Type` gives ids to
decode. Errors are `{"error": {"kind", "message", ...}}`, see `server.errors`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

__all__ = [
    "Alias",
    "Chat",
    "Count",
    "Counted",
    "CountedBatch",
    "Decode",
    "Decoded",
    "DecodedBatch",
    "Encode",
    "Encoded",
    "EncodedBatch",
    "EncodedChat",
    "Failed",
    "Failure",
    "Fits",
    "Fitting",
    "Key",
    "KeyMade",
    "Matched",
    "NewKey",
    "Rendered",
    "Segment",
    "Stops",
    "Stream",
    "StreamEvent",
    "StreamMessage",
    "TenantChange",
    "TenantInfo",
    "Tenants",
    "TokenizerInfo",
    "Tokenizers",
    "Truncate",
    "Truncated",
    "Usage",
    "Verified",
]


# Said in the document only: what an id may be is for the library to say, in its own words.
Id = Annotated[int, msgspec.Meta(extra_json_schema={"minimum": 0, "maximum": 2**32 - 1})]
Number = Annotated[int, msgspec.Meta(extra_json_schema={"minimum": 0})]

# What stands beside texts and ids and costs no byte of them has bounds of its own, so that the work
# that a request is counted with is the work that it makes.
Names = Annotated[list[str], msgspec.Meta(max_length=4096)]
Ids = Annotated[list[Id], msgspec.Meta(max_length=4096)]

Special = Literal["all", "none", "raise"] | Names
Unknown = Literal["skip", "error", "replace"]


class _Request(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    pass


class _Answer(msgspec.Struct, kw_only=True, omit_defaults=True):
    pass


class Failure(_Answer):
    """What is known of an error; `server.errors` has the statuses."""

    kind: str
    """For programs; the message is for people."""
    message: str
    path: str | None = None
    """Where in the body, or in the file."""
    offset: int | None = None
    feature: str | None = None
    hint: str | None = None
    limit: float | None = None
    asked: float | None = None
    line: int | None = None
    column: int | None = None
    token: str | None = None
    retry_after: float | None = None
    """Seconds."""


class Failed(_Answer):
    error: Failure


class Segment(_Request):
    text: str
    trusted: bool


class Encode(_Request):
    """One of `text`, `texts` and `segments`."""

    text: str | None = None
    pair: str | None = None
    texts: list[str] | None = None
    segments: Annotated[list[Segment], msgspec.Meta(max_length=16384)] | None = None
    add_special_tokens: bool = True
    special: Special = "all"
    """A word or names. Not of segments."""
    control: Literal["special", "added"] | Names = "special"
    """Of segments: what untrusted text may not become, a word or names."""
    tokens: bool = False
    """Whether to answer the tokens, too."""
    offsets: Literal["bytes", "characters"] | None = None
    """Whether to answer the place of each token in the text, and in which units."""
    masks: bool = False
    """Whether to answer `type_ids`, `special_tokens_mask` and `attention_mask`."""


class Encoded(_Answer):
    ids: list[int]
    count: int
    tokenizer: str
    """The digest of what answered."""
    tokens: list[str] | None = None
    offsets: list[tuple[int, int]] | None = None
    type_ids: list[int] | None = None
    special_tokens_mask: list[int] | None = None
    attention_mask: list[int] | None = None


class EncodedBatch(_Answer):
    ids: list[list[int]]
    counts: list[int]
    tokenizer: str
    tokens: list[list[str]] | None = None
    offsets: list[list[tuple[int, int]]] | None = None
    type_ids: list[list[int]] | None = None
    special_tokens_mask: list[list[int]] | None = None
    attention_mask: list[list[int]] | None = None


class Decode(_Request):
    """One of `ids` and `batch`."""

    ids: list[Id] | None = None
    batch: list[list[Id]] | None = None
    skip_special_tokens: bool = True
    unknown_id: Unknown | None = None
    """None: as the format's reference does."""


class Decoded(_Answer):
    text: str
    tokenizer: str


class DecodedBatch(_Answer):
    texts: list[str]
    tokenizer: str


class Count(_Request):
    """One of `text` and `texts`."""

    text: str | None = None
    texts: list[str] | None = None
    add_special_tokens: bool = True
    special: Special = "all"


class Counted(_Answer):
    count: int
    tokenizer: str


class CountedBatch(_Answer):
    counts: list[int]
    tokenizer: str


class Fits(_Request):
    text: str
    n: Number
    add_special_tokens: bool = True
    special: Special = "all"


class Fitting(_Answer):
    fits: bool
    tokenizer: str


class Truncate(_Request):
    text: str
    n: Number
    side: Literal["left", "right"] = "right"
    """Where it is cut off."""
    add_special_tokens: bool = True
    special: Special = "all"


class Truncated(_Answer):
    text: str
    ids: list[int]
    count: int
    truncated: bool
    exact: bool
    """Whether the ids are also the first (the last) of the whole text's."""
    tokenizer: str


class Chat(_Request):
    """As `apply_chat_template` (render) and `encode_chat` (encode) of the library."""

    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]] | None = None
    documents: list[dict[str, Any]] | None = None
    chat_template: str | None = None
    """The text of a template, for tenants that may bring one; or the name of one of the model's."""
    add_generation_prompt: bool = False
    continue_final_message: bool = False
    chat_template_kwargs: dict[str, Any] = {}
    """Variables of the template. None can take the place of what the server gives it."""
    control: Literal["template", "special", "added"] | Names = "template"
    """chat/encode: what no message can become, a word or names."""
    masks: bool = False
    """chat/encode: which ids the assistant wrote, and which came from the template."""


class Rendered(_Answer):
    text: str
    tokenizer: str


class EncodedChat(_Answer):
    ids: list[int]
    count: int
    text: str
    tokenizer: str
    defused: int
    """How many more control tokens the ids would have if user text could produce them."""
    assistant_mask: list[int] | None = None
    """1 for tokens of the template's generation blocks."""
    template_mask: list[int] | None = None
    """1 for tokens of which the template wrote every character."""


class Stops(_Request):
    """As `StopSequenceConfig` of the library."""

    tokens: Ids = []
    sequences: Names = []
    visible_tokens: Ids = []
    visible_sequences: Names = []
    min_tokens: Number = 0
    ignore_eos: bool = False
    eos_token_ids: Ids | None = None
    """None: those of the tokenizer."""


class Matched(_Answer):
    """Which stop it was; the fields are those of the library's `Matched`."""

    kind: Literal["token", "string"]
    id: int | None
    string: str | None
    index: int | None
    visible: bool
    token_index: int
    tokens_consumed: int
    start: int
    end: int
    start_char: int
    end_char: int


class Stream(_Request):
    """Ids to text as it becomes certain; `state` goes on where an earlier answer ended, in any
    worker: then `ids` and `finish` are all that is asked."""

    ids: list[Id]
    prompt_ids: list[Id] = []
    skip_special_tokens: bool = True
    byte_runs: Literal["exact", "eager"] = "exact"
    unknown_id: Unknown | None = None
    stops: Stops | None = None
    state: str | None = None
    finish: bool = False
    """No more ids come: what is held is given out."""


class StreamMessage(_Request):
    """Over a WebSocket: `open` first, then `ids`, then `finish`; `stream` is the client's name.
    One message may do all three."""

    stream: str
    open: bool = False
    ids: list[Id] = []
    finish: bool = False
    prompt_ids: list[Id] = []
    skip_special_tokens: bool = True
    byte_runs: Literal["exact", "eager"] = "exact"
    unknown_id: Unknown | None = None
    stops: Stops | None = None
    state: str | None = None
    """With `open`: goes on where another stream ended."""


class StreamEvent(_Answer):
    """Of both: over SSE the event's name is the first field that is there of `text`, `stopped`,
    `ended`, `error`, `state`."""

    stream: str | None = None
    text: str | None = None
    stopped: Matched | None = None
    """The text has ended, with this stop."""
    ended: bool | None = None
    """The stream is over. An error without it: the ids were not taken, the stream is as before."""
    error: Failure | None = None
    state: str | None = None
    """What goes on from here. Signed, and good for this tenant only."""
    consumed: int | None = None
    """SSE, beside `state`: how many ids of the request are in it."""


class TokenizerInfo(_Answer):
    name: str
    digest: str
    format: str
    bytes: int
    tokens: int
    chat_template: bool
    backend: str
    """`core`, or `hf`: HuggingFace serves it, without deadlines."""
    aliases: list[str]
    public: bool
    created: float


class Tokenizers(_Answer):
    tokenizers: list[TokenizerInfo]


class Alias(_Request):
    tokenizer: str
    """A name or a digest."""


class TenantUsage(_Answer):
    requests: int
    refused: int
    failed: int
    text_bytes: int
    tokens: int
    seconds: float
    instances: int
    """Instances of sandboxes that there are now."""
    memory_bytes: int
    """Their memory that is not shared."""


class Usage(TenantUsage):
    tenant: str
    stored_bytes: int
    tokenizers: int
    limits: dict[str, Any]


class TenantChange(_Request):
    limits: dict[str, Any] = {}
    """Fields of TenantLimits; what is not named stays as it is."""
    disabled: bool | None = None


class Key(_Answer):
    id: str
    created: float
    expires: float | None = None


class TenantInfo(_Answer):
    name: str
    limits: dict[str, Any]
    created: float
    disabled: bool
    keys: list[Key]
    usage: TenantUsage | None = None
    """Where one tenant is asked for."""


class Tenants(_Answer):
    tenants: list[TenantInfo]


class Reloaded(_Answer):
    changed: list[str]
    """Settings of the configuration that are used from now on."""
    restart: list[str]
    """Settings that differ, too, and are used after a restart only."""


class NewKey(_Request):
    keep_old_seconds: float | None = None
    """How long the tenant's other keys stay good, which is how keys are rotated. None: for ever."""


class KeyMade(_Answer):
    id: str
    key: str


class Verified(_Answer):
    """What was found when all records and files were read."""

    problems: list[str]
    """Of records, files and the database, with their names."""
    set_aside: Number
    """Records and files, of those with problems."""
    files: Number
    """That were read, of `bytes` in all."""
    bytes: Number
