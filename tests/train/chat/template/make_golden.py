#!/usr/bin/env python3
"""Renders snippets of templates with Python's jinja2, set up as Hugging Face's transformers sets it up, and writes golden.json beside this file.

template_test renders the same snippets and compares the texts. A row with "error" must be refused by both. Usage: make_golden.py
"""
import json
import os
from datetime import datetime

import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment


class Generation(Extension):
    """{% generation %}, whose body is printed."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
environment.filters["tojson"] = tojson
environment.globals["raise_exception"] = raise_exception
environment.globals["strftime_now"] = lambda form: datetime(2026, 3, 9, 14, 5).strftime(form)

VARIABLES = {
    "text": "Hello, Wörld!\nsecond line ",
    "words": "  the quick  brown\tfox  ",
    "empty": "",
    "nothing": None,
    "yes": True,
    "no": False,
    "n": 7,
    "negative": -7,
    "half": 0.5,
    "big": 1e21,
    "list": [3, 1, 2],
    "names": ["Zoe", "adam", "Bob"],
    "mixed": [1, 2.5, "it's", 'say "hi"', None, True, ["x"], {"k": "v"}],
    "d": {"b": 1, "a": [1, 2], "C": "x"},
    "people": [{"name": "Ann", "age": 30, "tags": ["x"]}, {"name": "bob", "age": 25}, {"name": "Cy", "age": 30, "on": True}],
    "odd": "a\tb\\c\"d'e\u0007\u00a0é\u2028😀",
    "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "<think>\nwhy\n</think>\n\nHo"}],
}

EXPRESSIONS = r"""
1 + 2 * 3 - 4
7 // 2 ~ ' ' ~ -7 // 2 ~ ' ' ~ 7 // -2
7 % 3 ~ ' ' ~ -7 % 3 ~ ' ' ~ 7 % -3
7.5 // 2 ~ ' ' ~ -7.5 % 2
7 / 2 ~ ' ' ~ 6 / 2
2 ** 10 ~ ' ' ~ 2 ** -1 ~ ' ' ~ 2 ** 3 ** 2
-2 ** 2
1e3 ~ ' ' ~ 1.5e-7 ~ ' ' ~ 123456789.125 ~ ' ' ~ 1e16 ~ ' ' ~ 1_000
big ~ ' ' ~ half ~ ' ' ~ 0.1 + 0.2
1 / 0
n // 0
'a' * 3 ~ 2 * 'b' ~ [1] * 2
'a' 'b' "c"
'\n\t\\\'\x41\u00e9\q'
'it' + 's'
'a' + 1
1 + none
[1] + [2] ~ ''
(1,) + (2, 3)
(1, 2) + [3]
true ~ True ~ none ~ false
1 == 1.0, true == 1, 'a' == 'a', [1] == [1.0], (1,) == [1], none == false
1 < 2 < 3, 3 > 2 > 2, 1 <= 1 >= 0
'a' < 'b', 'B' < 'a', [1, 2] < [1, 3]
1 < 'a'
none < 1
2 in [1, 2], 'x' in 'text', 'k' in {'k': 1}, 3 not in [1, 2], 'z' in missing
1 in 'text'
1 in 5
not true, not not 1, not ''
true and 'x' or 'y', '' or 'y', 0 and 1, 1 and 0 or 2
'x' if yes else 'y', 'x' if no else 'y', ('x' if no)
1 if no else 2 if no else 3
text[0], text[-1], text[7], text[99]
text[1:5], text[:-1], text[::-1], text[::2], text[-3:], text[5:2], text[10:1:-3]
list[0], list[-1], list[1:], list[::-1], list[9]
list[1:]|length, list[:2] ~ ''
list['x'], text['x']
list[none]
list[0:1:0]
d.b, d['a'], d['a'][1], d.zzz, d['zzz']
d.zzz.y
missing.y
missing
missing ~ 'x', missing|length, missing|list, missing|upper, missing|join
missing + 1
missing|tojson
missing is defined, missing is undefined, n is defined, d.zzz is defined
mixed
mixed|tojson
mixed|string
d
d|tojson
d|tojson(indent=2)
d|tojson(indent=4)|length
[]|tojson(indent=2), {}|tojson(indent=2), [[]]|tojson(indent=1)
d|tojson(separators=(',', ':'))
d|tojson(sort_keys=true)
odd|tojson
odd|tojson(ensure_ascii=true)
[odd]
['a\'b', 'a"b', 'a\'"b']
(1,), (), (1, 2)
{'a': 1, 'b': {'c': none}}
big|tojson, half|tojson, true|tojson, none|tojson, 3|tojson
text|trim, text|length, text|upper, text|lower, text|title, text|capitalize
'hello wORLD-foo (bar [baz it\'s'|title
'hello wORLD-foo (bar it\'s 3d'.title()
'ß straße İstanbul'|upper
words|trim ~ '|', words|trim(' t') ~ '|'
words.split(), words.split(' '), words.split('  ', 1), words.split(None, 1), words.rsplit(None, 1), words.rsplit('  ', 1)
'a,b,,c'.split(','), 'a,b,,c'.split(',', 2), 'a,b,,c'.rsplit(',', 1), ''.split(','), ''.split()
'abc'.split('')
'a\nb\r\nc\n\nd'.splitlines(), 'a\nb\n'.splitlines(true)
text.strip(), text.lstrip('He'), text.rstrip(' \n'), '</x>'.strip('<>/')
text.startswith('Hello'), text.endswith(' '), text.startswith(('x', 'H')), text.startswith('')
text.startswith(1)
text.replace('l', 'L'), text.replace('l', 'L', 2), text.replace('', '-'), text|replace('o', '0'), text|replace('l', 'L', 1)
'aXbXc'.find('X'), 'aXbXc'.rfind('X'), 'abc'.find('z'), 'éXé'.find('X'), 'aaaa'.count('aa')
', '.join(names), '-'.join('abc'), ', '.join([])
', '.join([1])
'x'.upper().lower().title(), 'ABC'.lower(), 'abc'.capitalize()
'12'.isdigit(), ''.isdigit(), 'ab'.isalpha(), ' '.isspace(), 'prefix-x'.removeprefix('prefix-'), 'x.txt'.removesuffix('.txt')
'x'.nonsense()
text.foo
d.items()|list, d.keys()|list, d.values()|list
d.get('b'), d.get('zz'), d.get('zz', 5)
d.append(1)
d.update({})
list.append(1)
list.index(2), list.count(3)
n.foo
n.foo()
names|join(', '), names|join, list|join('-'), people|join(', ', attribute='name')
names|first, names|last, []|first, ''|last, 'abc'|first
names|sort, names|sort(reverse=true), names|sort(case_sensitive=true), people|sort(attribute='age')|map(attribute='name')|join(',')
list|sort, list|min, list|max, list|sum, list|reverse|list, 'abc'|reverse, [1, 1, 2]|unique|list, names|min
people|selectattr('age', 'equalto', 30)|map(attribute='name')|list, people|selectattr('on')|list|length, people|rejectattr('on', 'defined')|list|length
people|selectattr('age', '>', 26)|list|length, people|selectattr('age', 'in', [25])|list|length
list|select('odd')|list, list|reject('in', [1, 2])|list, [0, 1, '']|select|list
names|map('upper')|list, names|map('replace', 'o', '0')|list, people|map(attribute='tags', default='-')|list, people|map(attribute='tags.0')|list
list|map('nofilter')|list
list|select('notest')|list
d|dictsort, d|dictsort(true), d|dictsort(false, 'value')
d|items|list, d|list, d|length
missing|items|list
missing|default('x'), empty|default('x'), empty|default('x', true), nothing|default('x'), nothing|d('x', boolean=true), missing|default
'12'|int, 'x'|int, 'x'|int(default=5), 3.9|int, ' 42 '|int, '3.7'|int, none|int, '1.5'|float, 'x'|float, '2'|float
-3|abs, 2.5|round, 3.14159|round(2), 2.1|round(0, 'ceil'), 7|round
text|indent, text|indent(2, true), 'a\n\nb'|indent(2), 'a\n\nb'|indent(2, blank=true), 'a\nb'|indent('> ')
'x'|safe ~ 'y', 5|string ~ '', yes|string
'x'|nofilter
'x' is notest
n is number, n is integer, half is float, n is string, text is string, none is none, yes is boolean, yes is number, n is boolean
d is mapping, list is sequence, text is sequence, d is sequence, n is iterable, list is iterable, text is iterable, d is iterable, missing is iterable
n is odd, n is even, n is divisibleby 7, n is divisibleby(2), yes is true, no is false, 1 is true, missing is false
'a' is eq 'a', n is gt 5, n is lt(5), 'x' is in ['x'], n is not none, n is not odd, 'AB' is upper, 'ab' is lower, 'A1' is upper
n is none or n is defined and n is odd
not n is odd
n + 1 is odd
-n|abs
'a' ~ 'b' * 2
'a' + 'b'|upper
[1, 2, 3][1], (1, 2)[0], {'a': 5}.a, 'abc'[1], {'a': 5}['a']
range(3)|list, range(1, 4)|list, range(5, 0, -2)|list, range(0)|list
range(200000)|list
dict(a=1, b='x'), dict()
strftime_now('%d %b %Y'), strftime_now('%Y-%m-%d %H:%M:%S'), strftime_now('%A %B %-d, %j %y %I %p %%')
raise_exception('No: ' ~ n)
nothing()
list()
missing()
messages[-1].content.split('</think>')[-1].lstrip('\n')
messages[-1]['content'].split('</think>')[0].rstrip('\n').split('<think>')[-1].lstrip('\n')
messages[0].role ~ messages|length, messages[1:]|map(attribute='role')|list, (messages|last).role
[1, 2,], {'a': 1,}, (1, 2,)
1 if
'abc
[1, 2
a b
""".strip().split("\n")

TEMPLATES = [
    "a\n{% if yes %}\n  b\n{% endif %}\nc\n",
    "a\n  {% if yes %}  \n  b\n  {%- endif %}\nc\n\n",
    "x  {%- if yes -%}  y  {%- endif -%}  z",
    "x  {%+ if yes +%}\ny\n   {%+ endif %}z",
    "  {{ n }}  \n  {{- n -}}  \n x",
    "a {# comment #}\nb\n  {# comment\n over lines #}\nc {#- x -#} d",
    "{% raw %}{{ x }} {% if %}{% endraw %}\nq",
    "a\r\nb\r{{ n }}\r\n",
    "{{ n }}\n\n",
    "{{ n }}   {% if yes %}\nx{% endif %}",
    "{% if no %}a{% elif n == 7 %}b{% else %}c{% endif %}{% if no %}a{% elif no %}b{% else %}c{% endif %}",
    "{% for x in list %}{{ loop.index }}{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.revindex }}{{ loop.revindex0 }}:{{ x }} {% endfor %}",
    "{% for x in list %}{{ loop.previtem }}<{{ x }}>{{ loop.nextitem }} {% endfor %}{{ loop is defined }}",
    "{% for x in list if x > 1 %}{{ loop.index }}/{{ loop.length }}={{ x }}{{ ',' if not loop.last }}{% endfor %}",
    "{% for x in [] %}a{% else %}none{% endfor %}{% for x in list if x > 9 %}a{% else %}none{% endfor %}",
    "{% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %}{% for k in d %}{{ k }}{% endfor %}{% for c in 'aé' %}[{{ c }}]{% endfor %}",
    "{% for k, v in d|dictsort %}{{ k }}{% endfor %}{% for a, b in [(1, 2), [3, 4]] %}{{ a + b }} {% endfor %}",
    "{% for a, b in [(1, 2, 3)] %}{{ a }}{% endfor %}",
    "{% for x in missing %}a{% endfor %}b",
    "{% for x in n %}a{% endfor %}",
    "{% for x in range(10) %}{% if x == 2 %}{% continue %}{% endif %}{% if x == 5 %}{% break %}{% endif %}{{ x }}{% endfor %}",
    "{% set x = 1 %}{% for i in list %}{% set x = x + i %}{{ x }} {% endfor %}{{ x }}",
    "{% set x = 1 %}{% if yes %}{% set x = 2 %}{% endif %}{{ x }}",
    "{% for i in list %}{% if i == 1 %}{% set y = 'set' %}{% endif %}{{ y }}.{% endfor %}{{ y is defined }}",
    "{% set ns = namespace(x=0, y='a') %}{% for i in list %}{% set ns.x = ns.x + i %}{% set ns.z = i %}{% endfor %}{{ ns.x }}{{ ns.y }}{{ ns.z }}{{ ns.q }}",
    "{% set d.x = 1 %}",
    "{% set a, b = 1, 2 %}{{ a }}{{ b }}{% set c = 1, 2 %}{{ c }}",
    "{% set a, b = [1] %}",
    "{% set block %}\n  x{{ n }}\n{% endset %}[{{ block }}]{% set up | upper | trim %} abc {% endset %}[{{ up }}]",
    "{% macro m(a, b='B', c=none) %}{{ a }}{{ b }}{{ c }}{{ n }}{% endmacro %}{{ m(1) }} {{ m(1, 2, 3) }} {{ m(b=1, a=2) }} {{ m() }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m(b=2) }}",
    "{% macro fact(k) %}{{ 1 if k <= 1 else k * (fact(k - 1)|int) }}{% endmacro %}{{ fact(10) }}",
    "{% macro m() %}{% set x = 5 %}{{ x }}{% endmacro %}{{ m() }}{{ x is defined }}",
    "{% macro m() %}{{ later }}{% endmacro %}{% set later = 3 %}{{ m() }}",
    "{% macro m(x) %}{% if x is string %}s{% elif x is mapping %}m{% else %}[{% for y in x %}{{ m(y) }}{% endfor %}]{% endif %}{% endmacro %}{{ m(['a', ['b', {}]]) }}",
    "{% macro wrap(t) %}<{{ t }}>{{ caller() }}</{{ t }}>{% endmacro %}{% call wrap('b') %}in {{ n }}{% endcall %}",
    "{% macro m(x) %}{{ x }}{% endmacro %}{{ m('a')|upper ~ m('b') }}",
    "{% generation %}a{{ n }}{% endgeneration %}\nb{% generation %}\n{% set q = 1 %}c\n{% endgeneration %}{{ q is defined }}",
    "{{ messages[0]['content'] }}{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}",
    "{%- for m in messages[::-1] %}{%- set index = (messages|length - 1) - loop.index0 %}{{ index }}{{ m.role }}\n{%- endfor %}",
    "{% if messages[0].role == 'system' %}a{% endif %}{% if messages[5] is defined %}x{% endif %}{% if messages[5].role %}x{% endif %}",
    "{% include 'x' %}",
    "{% if yes %}",
    "{% endif %}",
    "{{ n ",
    "{% for x in list %}",
    "{% if %}x{% endif %}",
    "{# open",
    "{% raw %}x",
    "{{ }}",
    "{% else %}",
    "{{ n } }",
    "{ { n } } {x} }} %} #}",
    "{{ 'a}}b' }}{% if '%}' == '%}' %}q{% endif %}",
    "{{ {'a': {'b': 1}}['a']['b'] }}{{ {'a': 1}.a}}",
    "{{ [1, 2]|length }}{{- ' x ' -}}  y",
    "{% set x = none %}{{ x is none }}{% set true_ = true %}{{ true_ }}",
    "{{ ''.__class__ }}",
    "{{ d.__class__ }}{{ d['__class__'] }}",
    "{% break %}",
    "{{ n if n is defined else 'x' }}{{ loop }}",
    "{% for x in list %}{% for y in names %}{{ loop.index }}{% endfor %}{{ loop.index }}{% endfor %}",
    "{% if yes and not no %}{{- '\\n' }}{% endif %}|{{ '\\n' -}}\n|",
    "line {%- if yes %}\n\n  a\n\n{%- endif %}\nend",
    "\n\n{% if yes %}\n\n{% endif %}\n\n",
    "   {% if yes %}   {% endif %}   ",
    "\t{%- set a = 1 -%}\n\t x",
    "a\n   \u00a0{% if yes %}x{% endif %}",
]

rows = []
for source in ["{{ " + line + " }}" for line in EXPRESSIONS] + TEMPLATES:
    try:
        rows.append({"source": source, "text": environment.from_string(source).render(**VARIABLES)})
    except Exception as error:  # each kind means that the template is refused
        rows.append({"source": source, "error": type(error).__name__})
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden.json")
with open(path, "w", encoding="utf-8") as file:
    json.dump({"jinja2": jinja2.__version__, "variables": VARIABLES, "rows": rows}, file, ensure_ascii=False, indent=1)
    file.write("\n")
print(len(rows), "rows,", sum("error" in row for row in rows), "of them refused:", path)
