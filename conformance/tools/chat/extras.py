"""Requests that are about more than their template."""

from __future__ import annotations

from typing import Any

from .conversations import assistant, system, user

Request = dict[str, Any]
# slug, what is tested, the template, the request
Row = tuple[str, str, str, Request]

PLAIN = "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}"
TRIMMED = "{% for m in messages %}[{{ m.role }}]{{ m.content | trim }}\n{% endfor %}"
KEYS = "{% for m in messages %}{{ m.keys() | list | sort | join(',') }};{% endfor %}"
THINKS = "{% for m in messages %}<{{ m.reasoning_content }}|{{ m.thinking }}|{{ m.reasoning }}>{{ m.content }}{% endfor %}"
PARTS = (
    "{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}"
    "{% for p in m.content %}{{ p.text }};{% endfor %}{% endif %}{% endfor %}"
)


def chat(*messages: Any, **more: Any) -> Request:
    options = more.pop("options", {})
    return {"messages": list(messages), **more, **({"options": options} if options else {})}


def given(**arguments: Any) -> dict[str, Any]:
    return {"kwargs": arguments}


def preparation() -> list[Row]:
    nothing = {"role": "user", "content": None, "name": None, "x": 1}
    deep = assistant("a", tool_calls=[{"id": None, "function": {"name": "f", "arguments": None}}])
    return [
        ("none-dropped", "keys of a message whose value is None", KEYS, chat(nothing, user("a"))),
        (
            "none-content",
            "content that is None",
            "{{ messages[0].content is defined }}",
            chat(nothing),
        ),
        (
            "none-deeper",
            "None below the top of a message stays",
            "{{ messages | tojson }}",
            chat(deep),
        ),
        (
            "none-argument",
            "an argument that is None",
            "{{ x is none }}",
            chat(user("a"), options=given(x=None)),
        ),
        (
            "reasoning-content",
            "reasoning_content is given to both names",
            THINKS,
            chat(assistant("a", reasoning_content="r")),
        ),
        (
            "thinking",
            "thinking is given to reasoning_content",
            THINKS,
            chat(assistant("a", thinking="t")),
        ),
        (
            "reasoning",
            "reasoning is given to both names",
            THINKS,
            chat(assistant("a", reasoning="r")),
        ),
        (
            "reasoning-two",
            "of two aliases the first counts",
            THINKS,
            chat(assistant("a", thinking="t", reasoning="r")),
        ),
        (
            "reasoning-all",
            "all three are there",
            THINKS,
            chat(assistant("a", reasoning_content="c", thinking="t", reasoning="r")),
        ),
        (
            "reasoning-empty",
            "an empty one is one",
            THINKS,
            chat(assistant("a", reasoning_content="", thinking="t")),
        ),
        (
            "reasoning-none",
            "one that is None is none",
            THINKS,
            chat(assistant("a", reasoning_content=None, thinking="t")),
        ),
        (
            "reasoning-user",
            "in a message of the user",
            THINKS,
            chat({"role": "user", "content": "u", "thinking": "t"}),
        ),
        (
            "reasoning-keys",
            "the keys that there are afterwards",
            KEYS,
            chat(assistant("a", reasoning="r")),
        ),
        (
            "reasoning-order",
            "their order",
            "{{ messages | tojson }}",
            chat(assistant("a", reasoning="r", z=1)),
        ),
        (
            "tools-absent",
            "tools and documents are none if they are absent",
            "{{ tools }} {{ documents }} {{ add_generation_prompt }}",
            chat(user("a")),
        ),
        (
            "tools-empty",
            "an empty list of tools",
            "{{ tools }} {{ tools is none }} {{ 'x' if tools }}",
            chat(user("a"), tools=[]),
        ),
        (
            "documents",
            "documents as they were given",
            "{{ documents | tojson }}",
            chat(user("a"), documents=[{"b": 1, "a": None}]),
        ),
        (
            "documents-text",
            "a document that is no object",
            PLAIN,
            chat(user("a"), documents=["text"]),
        ),
        (
            "prompt",
            "the prompt is asked for",
            "{{ add_generation_prompt }}",
            chat(user("a"), options={"add_generation_prompt": True}),
        ),
        (
            "special",
            "the special tokens of the request",
            "{{ bos_token }}{{ eos_token }}{{ unk_token }}[{{ pad_token }}]",
            chat(user("a")),
        ),
        (
            "special-overridden",
            "an argument of the same name ranks higher",
            "{{ bos_token }}{{ eos_token }}",
            chat(user("a"), options=given(bos_token="B")),
        ),
        (
            "arguments",
            "arguments of every kind",
            "{{ a }} {{ b }} {{ c }} {{ d }} {{ e }}",
            chat(user("u"), options=given(a=1, b="x", c=[1.5], d={"k": None}, e=False)),
        ),
        (
            "argument-range",
            "an argument named like a function",
            "{{ range }}",
            chat(user("a"), options=given(range="mine")),
        ),
        (
            "numbers",
            "numbers in messages",
            "{{ messages[0].content }} {{ messages[0].n | tojson }}",
            chat({"role": "user", "content": 1.0, "n": [1e-7, 2**70, True]}),
        ),
        (
            "extra-keys",
            "keys that no one knows",
            "{{ messages[0]['a b'] }}{{ messages[0].deep.x }}",
            chat({"role": "user", "content": "", "a b": 1, "deep": {"x": 2}}),
        ),
        (
            "unicode-keys",
            "keys that are no names",
            "{{ messages[0]['\u00e9'] }}{{ messages[0][''] }}",
            chat({"role": "user", "content": "", "\u00e9": 1, "": 2}),
        ),
        (
            "long",
            "a hundred messages",
            "{% for m in messages %}{{ m.content }}{% endfor %}",
            chat(*[user(f"{n} ") for n in range(100)]),
        ),
        ("no-template-text", "an empty template", "", chat(user("a"))),
        ("text-only", "a template without tags", "just text\n", chat(user("a"))),
    ]


def continuation() -> list[Row]:
    last = {"continue_final_message": True}
    talk = (user("Hi"), assistant("Sure, "))
    blocks = assistant(
        [{"type": "text", "text": "a"}, {"type": "text", "text": "b "}, {"type": "image"}]
    )
    ended = "{% for m in messages %}[{{ m.role }}]{{ m.content }}<end>\n{% endfor %}"
    return [
        ("plain", "what follows the last message is cut off", ended, chat(*talk, options=last)),
        (
            "trimmed",
            "the template trims: the end is trimmed, too",
            TRIMMED,
            chat(*talk, options=last),
        ),
        (
            "no-space",
            "a message without space at its end",
            ended,
            chat(user("Hi"), assistant("Sure"), options=last),
        ),
        (
            "newline",
            "a message that ends with line feeds",
            ended,
            chat(user("Hi"), assistant("Sure\n\n"), options=last),
        ),
        (
            "trimmed-newline",
            "trimmed line feeds",
            TRIMMED,
            chat(user("Hi"), assistant("Sure\n\n"), options=last),
        ),
        ("user", "the last message is the user's", ended, chat(user("I am"), options=last)),
        ("empty", "an empty last message", ended, chat(user("Hi"), assistant(""), options=last)),
        (
            "spaces",
            "a last message of spaces",
            ended,
            chat(user("Hi"), assistant("  "), options=last),
        ),
        (
            "blocks",
            "the last block with text is continued",
            PARTS + "<end>",
            chat(user("Hi"), blocks, options=last),
        ),
        (
            "no-text",
            "parts without text",
            PARTS,
            chat(user("Hi"), assistant([{"type": "image"}]), options=last),
        ),
        (
            "field",
            "a field by its name",
            "{{ messages[-1].draft }}<end>",
            chat(
                user("Hi"), assistant("x", draft="d "), options={"continue_final_message": "draft"}
            ),
        ),
        (
            "field-unused",
            "a field that the template does not name",
            PLAIN,
            chat(assistant("x", draft="d"), options={"continue_final_message": "draft"}),
        ),
        (
            "field-missing",
            "a field that the message does not have",
            PLAIN + "draft",
            chat(assistant("x"), options={"continue_final_message": "draft"}),
        ),
        (
            "reasoning",
            "a field with aliases: the template reads another name",
            "{{ messages[-1].thinking }}<end>",
            chat(
                user("Hi"),
                assistant("", reasoning="why "),
                options={"continue_final_message": "reasoning"},
            ),
        ),
        ("none", "nothing to continue", PLAIN, chat(assistant(None), options=last)),
        (
            "with-prompt",
            "together with a prompt",
            PLAIN,
            chat(*talk, options={**last, "add_generation_prompt": True}),
        ),
        (
            "left-out",
            "a template that leaves the last message out",
            "{{ messages[0].content }}",
            chat(*talk, options=last),
        ),
        (
            "upper",
            "a template that changes the last message",
            "{{ messages[-1].content | upper }}",
            chat(*talk, options=last),
        ),
        (
            "twice",
            "a template that says it twice",
            "{{ messages[-1].content }}|{{ messages[-1].content }}|",
            chat(*talk, options=last),
        ),
        (
            "json",
            "a template that writes it as json",
            "{{ messages[-1].content | tojson }}",
            chat(*talk, options=last),
        ),
        (
            "same-text",
            "earlier messages say the same",
            ended,
            chat(assistant("x"), assistant("x"), options=last),
        ),
        (
            "reads-content",
            "content is named in a comment only",
            "{# content #}{{ messages[-1]['con' ~ 'tent'] }}",
            chat(*talk, options=last),
        ),
    ]


def generation() -> list[Row]:
    talk = chat(
        system("s"), user("Hi"), assistant("Hello"), user("More"), assistant("Yes \U0001f336")
    )
    talk["want"] = ["generation"]
    said = "{% if m.role == 'assistant' %}{% generation %}{{ m.content }}{% endgeneration %}{% else %}{{ m.content }}{% endif %}"
    return [
        ("each", "a span for each answer", "{% for m in messages %}" + said + "{% endfor %}", talk),
        (
            "lines",
            "tags on lines of their own",
            "{% for m in messages %}\n[{{ m.role }}]\n  {% generation %}\n{{ m.content }}\n  {% endgeneration %}\n{% endfor %}",
            talk,
        ),
        (
            "stripped",
            "signs that strip white space",
            "a {%- generation -%} {{ messages[2].content }} {%- endgeneration -%} b",
            talk,
        ),
        (
            "not-stripped",
            "signs that keep white space",
            "a\n  {%+ generation %}\nx{% endgeneration +%}\nb",
            talk,
        ),
        ("empty", "a block of nothing", "a{% generation %}{% endgeneration %}b", talk),
        (
            "whole",
            "a block of everything",
            "{% generation %}{% for m in messages %}{{ m.content }}{% endfor %}{% endgeneration %}",
            talk,
        ),
        (
            "beyond",
            "characters of several bytes before and in it",
            "\u4f60\U0001f336{% generation %}\u00e9\U0001f336{% endgeneration %}\u00e9",
            talk,
        ),
        (
            "scope",
            "what is set inside stays inside",
            "{% set x = 1 %}{% generation %}{% set x = 2 %}{{ x }}{% endgeneration %}{{ x }}",
            talk,
        ),
        (
            "loop",
            "the loop is seen inside",
            "{% for m in messages %}{% generation %}{{ loop.index }}{% endgeneration %},{% endfor %}",
            talk,
        ),
        (
            "condition",
            "a condition around it",
            "{% for m in messages %}{% if loop.last %}{% generation %}{{ m.content }}{% endgeneration %}{% endif %}{% endfor %}!",
            talk,
        ),
        (
            "calls",
            "loops inside it",
            "{% for m in messages %}{% generation %}{% for c in m.content %}{{ c }}-{% endfor %}{% endgeneration %}\n{% endfor %}",
            talk,
        ),
        ("absent", "a template without one", "{{ messages[0].content }}", talk),
        (
            "two",
            "two that touch",
            "{% generation %}a{% endgeneration %}{% generation %}b{% endgeneration %}",
            talk,
        ),
        (
            "comment",
            "one in a comment is none",
            "{# {% generation %} #}a{% generation %}b{% endgeneration %}",
            talk,
        ),
        (
            "raw",
            "one in raw text is none",
            "{% raw %}{% generation %}{% endraw %}a{% generation %}b{% endgeneration %}",
            talk,
        ),
        (
            "private",
            "private characters of the caller's",
            "{% generation %}{{ x }}{% endgeneration %}{{ x }}",
            {**talk, "options": given(x="\U000f0000\U000f0002\ue000")},
        ),
    ]
