"""Whole templates in the manners of those that models come with; written for this suite."""

from __future__ import annotations

TEMPLATES: dict[str, tuple[str, str]] = {
    "lines": (
        "tags on lines of their own, a prompt at the end",
        """\
{%- if messages[0].role == 'system' %}
    {%- set rules = messages[0].content | trim %}
    {%- set rest = messages[1:] %}
{%- else %}
    {%- set rules = 'You help.' %}
    {%- set rest = messages %}
{%- endif %}
{{- '<|start|>system\\n' + rules + '<|end|>\\n' }}
{%- for message in rest %}
    {{- '<|start|>' + message.role + '\\n' + message.content + '<|end|>' + '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|start|>assistant\\n' }}
{%- endif %}
""",
    ),
    "dense": (
        "everything on one line, roles that have to alternate",
        "{{ bos_token }}{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}"
        "{{ raise_exception('Roles have to alternate: ' + m['role'] + ' at ' ~ loop.index0) }}{% endif %}"
        "{% if m['role'] == 'user' %}{{ '[IN] ' + m['content'].strip() + ' [/IN]' }}"
        "{% elif m['role'] == 'assistant' %}{{ ' ' + m['content'].strip() + ' ' + eos_token }}"
        "{% else %}{{ raise_exception('Only user and assistant!') }}{% endif %}{% endfor %}",
    ),
    "tools": (
        "tools as json, calls in tags, answers gathered",
        """\
{%- if tools %}
{{- '<|sys|>' }}
{%- if messages[0].role == 'system' %}{{- messages[0].content + '\\n\\n' }}{%- endif %}
{{- '# Tools\\n<tools>' }}
{%- for tool in tools %}
{{- '\\n' }}{{- tool | tojson }}
{%- endfor %}
{{- '\\n</tools><|/sys|>\\n' }}
{%- elif messages[0].role == 'system' %}
{{- '<|sys|>' + messages[0].content + '<|/sys|>\\n' }}
{%- endif %}
{%- for message in messages %}
{%- if message.role == 'user' or (message.role == 'system' and not loop.first) %}
{{- '<|' + message.role + '|>' + message.content + '<|/|>\\n' }}
{%- elif message.role == 'assistant' %}
{{- '<|assistant|>' }}
{%- if message.content %}{{- message.content }}{%- endif %}
{%- for tool_call in message.tool_calls %}
{%- if tool_call.function %}{%- set tool_call = tool_call.function %}{%- endif %}
{{- '\\n<call>{"name": "' ~ tool_call.name ~ '", "arguments": ' }}
{%- if tool_call.arguments is string %}{{- tool_call.arguments }}{%- else %}{{- tool_call.arguments | tojson }}{%- endif %}
{{- '}</call>' }}
{%- endfor %}
{{- '<|/|>\\n' }}
{%- elif message.role == 'tool' %}
{%- if loop.first or messages[loop.index0 - 1].role != 'tool' %}{{- '<|answers|>' }}{%- endif %}
{{- '\\n<answer>' ~ message.content ~ '</answer>' }}
{%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|/|>\\n' }}{%- endif %}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|assistant|>' }}{%- endif %}
""",
    ),
    "thinking": (
        "reasoning of earlier turns is left out, a switch closes it",
        """\
{%- set ns = namespace(last=messages | length - 1, found=false) %}
{%- for message in messages[::-1] %}
    {%- set index = (messages | length - 1) - loop.index0 %}
    {%- if not ns.found and message.role == 'user' %}
        {%- set ns.found = true %}
        {%- set ns.last = index %}
    {%- endif %}
{%- endfor %}
{%- for message in messages %}
    {%- set content = message.content if message.content is string else '' %}
    {%- if message.role == 'assistant' %}
        {%- set reasoning = '' %}
        {%- if message.reasoning_content is string %}
            {%- set reasoning = message.reasoning_content %}
        {%- elif '</think>' in content %}
            {%- set reasoning = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}
            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}
        {%- endif %}
        {{- '[a]' }}
        {%- if loop.index0 > ns.last and (loop.last or reasoning) %}
            {{- '<think>\\n' + reasoning.strip('\\n') + '\\n</think>\\n\\n' }}
        {%- endif %}
        {{- content + '[/]' }}
    {%- else %}
        {{- '[' + message.role[0] + ']' + content + '[/]' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '[a]' }}
    {%- if enable_thinking is defined and enable_thinking is false %}
        {{- '<think>\\n\\n</think>\\n\\n' }}
    {%- endif %}
{%- endif %}
""",
    ),
    "parts": (
        "content as text or in parts, by a macro",
        """\
{% macro say(content) -%}
  {% if content is string %}
    {{- content -}}
  {% elif content is iterable and content is not mapping %}
    {%- for part in content -%}
      {%- if part.type == 'image' -%}<image>
      {%- elif part.type == 'text' -%}{{ part.text }}
      {%- else -%}{{ raise_exception('No parts of type ' ~ part.type) }}
      {%- endif -%}
    {%- endfor -%}
  {% elif content is none or content is undefined %}
  {% else %}
    {{- raise_exception('Unexpected content') -}}
  {% endif %}
{%- endmacro %}
{{ bos_token }}
{%- for m in messages -%}
{% set role = 'model' if m.role == 'assistant' else m.role %}
<turn>{{ role }}
{{ say(m.content) | trim }}</turn>
{% endfor %}
{% if add_generation_prompt %}
<turn>model
{% endif %}
""",
    ),
    "sources": (
        "documents, a date and sorted schemas",
        """\
{%- set today = date_string if date_string is defined else strftime_now('%d %b %Y') -%}
Date: {{ today }}
{% if documents %}
{% for d in documents %}
Document {{ loop.index }}{% if d.title is defined %} ({{ d.title }}){% endif %}:
{{ d['text'] | indent(2, true) }}
{% endfor %}
{% endif %}
{% if tools is defined and tools is not none and tools | length > 0 %}
{% for tool in tools -%}
{% set f = tool.function %}
def {{ f.name }}({% for name, schema in (f.parameters.properties or {}) | dictsort %}{{ name }}: {{ schema.type }}{{ ', ' if not loop.last }}{% endfor %}):
    {{ '"' ~ (f.description | default('nothing', true)) ~ '"' }}
{% endfor %}
{% endif %}
{% for role, group in messages | groupby('role') %}
{{ role | upper }}: {{ group | map(attribute='content') | select('string') | join(' / ') }}
{% endfor %}
""",
    ),
    "marked": (
        "generation blocks around what the assistant says",
        """\
{%- for message in messages %}
{%- if message.role == 'assistant' -%}
<a>{% generation %}{{ message.content }}{%- for c in message.tool_calls or [] %}
[{{ c.function.name }}]
{%- endfor %}</a>{% endgeneration %}
{%- else -%}
<{{ message.role }}>{{ message.content }}</{{ message.role }}>
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}<a>{% endif %}
""",
    ),
    "ends": (
        "loop controls, filtered loops and pieces of loops",
        """\
{% for m in messages if m.role in ['user', 'assistant'] %}
{% if loop.index > 6 %}{% break %}{% endif %}
{% if not m.content %}{% continue %}{% endif %}
{{ '%02d' | format(loop.index) }} {{ m.role | capitalize }}{{ ' (last)' if loop.last }}{{ ' after ' ~ loop.previtem.role if loop.previtem is defined }}: {{ m.content | string | replace('\\n', ' ') | truncate(20) }}
{% else %}
nobody
{% endfor %}
""",
    ),
    "schema": (
        "a recursive walk over the schemas of tools",
        """\
{%- macro show(schema, depth=0) -%}
{%- if schema is mapping -%}
{%- for key, value in schema.items() %}
{{ '  ' * depth }}{{ key }}:{% if value is mapping %}{{ show(value, depth + 1) }}{% elif value is sequence and value is not string %} [{{ value | join(', ') }}]{% else %} {{ value | tojson }}{% endif %}
{%- endfor %}
{%- endif -%}
{%- endmacro -%}
{%- for t in tools or [] %}{{ show(t) }}
---
{% endfor -%}
{{ messages | map(attribute='role') | join(',') }}
{%- set last = messages | last %}
{{ last.content is string and last.content.startswith('B') }} {{ messages | selectattr('tool_calls', 'defined') | list | length }}
""",
    ),
}
