#!/usr/bin/env python3
"""Renders snippets of templates with Python's jinja2, set up as Hugging Face's transformers sets it up, and writes golden.json beside this file.

template_test renders the same snippets and compares the texts. A row with "error" must be refused by both. Usage: make_golden.py
"""
import copy
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
    "tree": [{"name": "a", "kids": [{"name": "b", "kids": [{"name": "c"}]}, {"name": "d"}]}, {"name": "e"}],
    "long": 123456789012345678901234567890,
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
long, long|tojson, [long], long ~ '', long|int, -long, long is integer, long is odd, long == long|string|int, long > 1e29, long in [long]
123456789012345678901234567890, 0x1F, 0XfF, 0o17, 0b1_01, 1_000, 0x_1, 00, 0e5, 1E3
007
0x
0xG
0b2
1__0
'12'|int + '1_000'|int, '_1'|int, '1_'|int, ' 7 '|int, '99999999999999999999'|int, 1e20|int, '1e20'|int, '-0'|int, 'inf'|int, 'nan'|int(3)
'inf'|float, '-Infinity'|float, '1_0.5'|float, '1__0'|float, '1e3'|float, 'nan'|float
('inf'|float)|int
1.115|round(2), 2.675|round(2), 2.5|round, 1e22|round(2), 1.15|round(1, 'floor')
{1: 'a', 2.5: 'b', none: 'c', true: 'd', (1, 2): 'e', 'x': 'f'}
{1: 'a', '1': 'b'}, {1: 'a'}[1], {1: 'a'}[1.0], {1: 'a'}[true], {1: 'a'}['1'], {1: 'a'}.get(1), {1: 'a'}.get(2, 'no'), 1 in {1: 0}, '1' in {1: 0}, {0: 1, 512: 2}|length
{1: 'a', none: 2, true: 3, 1.5: 4, false: 5}|tojson, {2: 'b', 1: 'a'}|tojson(sort_keys=true), {2: 'b', 1: 'a'}|dictsort
{(1, 2): 3}|tojson
{[1]: 2}
{{}: 2}
missing in d, none in d, [] in [[]]
[] in d
{1: 2} == {1.0: 2}, {true: 2} == {1: 2}
d.keys(), d.values(), d.items(), {}.keys(), [d.keys()]
d.keys()|tojson
d.items()|length, d.keys()|list, d.keys()[0] is defined, d.keys()|first, d.values()|last, 'b' in d.keys(), ('b', 1) in d.items(), d.keys() is sequence, d.keys() is iterable, d.keys() is mapping
d.keys()[0:1]
d.keys() + ['x']
d.keys() == d.keys(), d.values() == d.values(), d.keys() == ['b', 'a', 'C'], d.items() == d.items()
d.keys() and 'yes', {}.keys() or 'no'
range(3), range(1, 7, 2), range(0), [range(2)], range(3) == range(3), range(3) == [0, 1, 2], range(3)[1], range(3)[-1], range(3) is sequence, range(3)|length, 2 in range(3), range(3)|reverse|list
range(3)|tojson
none|select|list, none|selectattr('x')|list, none|map('upper')|list, 0|reject|list, missing|map(attribute='x')|list, []|select('notest')|list, ''|selectattr('x')|list
none|unique|list
[3, 1]|reverse|list, [3, 1]|reverse|reverse, names|select|reverse, missing|reverse|list, d|reverse|list, d.items()|reverse|list, (1, 2)|reverse|list
none|reverse
names|select|length
names|select|tojson
names|select|last
(names|select)[0] is defined
(names|select)[0:1]
(names|select) + []
names|select|first, names|map('upper')|join('-'), 'Bob' in names|select, names|unique|sort, list|select|sum, list|map('string')|max
names|select is iterable, names|select is sequence, names|select is string, names|select is defined
people|map(attribute='tags.0', default='none')|list, people|map(attribute='x.y', default='-')|list
people|map(attribute='x.y')|list
'abc'.upper is defined, 'abc'.nothing is defined, text.upper is callable, d.items is defined, d.items is callable, list.index is defined, list.append is defined, d.update is defined
d['items'] is defined, d['items'] is callable, d['items']()|list, text['upper'](), {'items': 1}['items'], {'items': 1}.items is callable, d['a'] is callable
list['append'] is defined
'a'.upper.__name__ is defined, ''['__class__'] is defined
list.pop(0)
list.pop is defined, list.clear is defined
list.clear()
list.append(1)
list.copy(), list.copy() == list, d.copy() == d, (1, 2).index(2), (1, 1).count(1)
d.pop('b')
d.setdefault('x', 1)
'1²'.isdigit(), '²'.isdecimal(), '1²'.isalnum(), '½'.isalnum(), 'Ⅷ'.isalnum(), '٣'.isdigit(), 'ab1'.isalnum(), '½'.isdigit()
'a-b-c'.partition('-'), 'a-b-c'.rpartition('-'), 'abc'.partition('-'), 'abc'.rpartition('-')
'ab'.center(5) ~ '|', 'ab'.center(6, '*'), 'abc'.center(6, '*'), 'ab'.ljust(4, '.'), 'ab'.rjust(4, '.'), '7'.zfill(3), '-7'.zfill(4), 'abc'.zfill(2)
'abc'.index('c'), 'abca'.rindex('a'), 'abc'.isascii(), 'é'.isascii(), 'abc'.islower(), 'ABC'.isupper(), 'aBc'.swapcase()
'abc'.index('z')
'{} {}'.format('a', 1), '{1}{0}{1}'.format('a', 'b'), '{x}-{y!r}'.format(x='q', y='z'), '{{}}'.format(), '{0[k]} {0.k}'.format({'k': 'v'}), '{!s:>4}|'.format(5)
'{:5}|{:<5}|{:>5}|{:^5}|{:*^7}|{:.2}|{:é>3}'.format('a', 'b', 'c', 'd', 'e', 'fgh', 'i')
'{:5}|{:<5}|{:05}|{:+}|{: }|{:,}|{:_}|{:x}|{:X}|{:#x}|{:o}|{:b}|{:#b}|{:=+6}'.format(1, 2, 3, 4, 5, 1234567, 1234567, 255, 255, 255, 8, 5, 5, 7)
'{:.2f}|{:8.3f}|{:e}|{:g}|{:g}|{:%}|{:.1%}|{}|{:,.2f}|{:08.2f}|{:+.1f}|{:G}'.format(3.14159, 2.5, 12345.678, 0.00001, 1e10, 0.5, 0.123, 1.0, 1234567.891, -3.14159, 2, 1e-10)
'{:d}|{:5}|{}|{:.1f}|{:-}'.format(true, true, true, 7, -7), '{:>{}}|{:{w}.{p}f}'.format('a', 4, 3.14159, w=7, p=1)
'{:05}|{:<05}|{:x}'.format(-3, 'a', -255), '{:,}'.format(-1234), '{:_x}'.format(65536)
'{} {}'.format(1)
'{x}'.format(1)
'{} {0}'.format(1)
'{'.format()
'}'.format()
'{:d}'.format('a')
'{:s}'.format(1)
'{:5}'.format(none)
'{:d}'.format(1.5)
'{:zz}'.format(1)
'{}'.format(none), '{}'.format([1, 'a']), '{!r}'.format('a'), '{}'.format(missing)
'%s is %d' % ('a', 3), '%s' % 'x', '%5.2f|%-6s|%06d|%+d|%x|%X|%o|%e|%g|%%|%r' % (3.14159, 'ab', 42, 7, 255, 255, 8, 12345.6, 0.0001, 'q'), '%(a)s-%(b)05.1f' % {'a': 1, 'b': 2.25}, '%.2s|%5s|%c' % ('abc', 'd', 'e') if false else ''
'%.2s|%5s|%s' % ('abc', 'd', [1]), '%d' % 3.9, '%s' % none, '%i%%' % 5, 'x' % {}, '%5d|%-5d|%05d' % (-3, -3, -3)
'%d' % 'a'
'%s %s' % 'a'
'%s' % ('a', 'b')
'x' % 1
'%x' % 1.5
'%(a)s' % {'b': 1}
'%q' % 1
'%s-%s'|format('a', 1), '%(x)s'|format(x=2), '%5.1f'|format(2.25)
'<b>'|safe + '<i>', '<i>' + '<b>'|safe, ('<b>'|safe) ~ '<i>', '<b>'|safe + '<i>'|safe, ('<b>'|safe)|upper + '<', ('<b>'|safe)[1:] + '&', ('<'|safe) * 2 + '"', ' <'|safe|trim + "'"
('<b>'|safe).upper() + '<', (('<b>'|safe).split('b')|first) + '<', ('<b>'|safe)|replace('b', 'i') + '<', ('<b>'|safe)|string + '<', [('<b>'|safe)], ('<b>'|safe) == '<b>'
'<b>'|e, '<b>'|escape|e, '<b>'|e + '<', '<b>'|e ~ '<', '<b>'|safe|forceescape, 5|e, '<'|e is escaped, '<' is escaped, '<'|safe is escaped, ('<'|safe)|tojson, ('<'|safe)|join(',')
('<b>'|safe)|indent + '<', ('<b>'|safe)|reverse + '<', ('<b>'|safe)|title + '<', ('<b>'|safe)|list|first + '<', ('<b>'|safe)|default('x') + '<'
'<b>'|safe + 1
[1, 2, 3, 4, 5]|batch(2)|list, [1, 2, 3]|batch(2, 0)|list, []|batch(3)|list
none is sameas none, true is sameas true, true is sameas false, 1 is sameas true, none is sameas false
dict(a=1, **{'b': 2}), dict({'x': 1}, y=2), dict([('a', 1), ['b', 2]]), dict(**d)
range(*[1, 4])|list, '{}{}'.format(*['a', 'b']), '{x}'.format(**{'x': 5}), dict(*[[('k', 'v')]])
dict(a=1, **{'a': 2})
dict(1, 2)
range(**{'x': 1})
list.0, [[1, 2], [3]].0.1, tree.0.kids.1.name, 1.5, list.0 + 1.5
loop is defined, caller is defined, varargs is defined
missing is callable, n is callable, range is callable
text.upper().lower.__class__ is defined, (text.upper)(), d.get('b')
'a' if names|select|list else 'b', (names|reject|list) or 'none', names|select|default('x')|list
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
    "{% raw %}\nx{% endraw %}\ny{%- raw -%}\n  z\n{%- endraw -%}\n  q",
    "a\n  {% raw %}\n  b\n  {% endraw %}\nc{% raw %}  {% if %}  {%+ endraw %}\nd",
    "{% for x in tree recursive %}{{ loop.depth }}{{ loop.depth0 }}{{ x.name }}{% if x.kids %}<{{ loop(x.kids) }}>{% endif %}{{ ',' if not loop.last }}{% endfor %}",
    "{% for x in [] recursive %}{{ x }}{% else %}none{% endfor %}{% for x in [[1], []] recursive %}{% if x is iterable %}({{ loop(x) }}){% else %}{{ x }}{% endif %}{% else %}empty{% endfor %}",
    "{% for x in tree recursive if x.name != 'd' %}{{ x.name }}{{ loop(x.kids or []) }}{% endfor %}",
    "{% for x in tree if x.name != 'd' recursive %}{{ x.name }}{{ loop(x.kids or []) }}{{ loop.index }}/{{ loop.length }} {% endfor %}",
    "{% for x in list %}{{ loop(list) }}{% endfor %}",
    "{% for x in [1, 2, 3, 4] %}{{ loop.cycle('odd', 'even') }} {{ loop.cycle(1) }} {% endfor %}",
    "{% for x in list %}{{ loop.cycle() }}{% endfor %}",
    "{% for x in [1, 1, 2, 2, 1] %}{{ x if loop.changed(x) else '-' }}{% endfor %}{% for x in [1, 2] %}{{ loop.changed() }}{% endfor %}{% for x in [1, 1] %}{{ loop.changed(x, 'a') }}{% endfor %}",
    "{% for x in list %}{{ loop }} {{ loop.depth }}{{ loop.depth0 }} {{ loop['index'] }} {{ loop.nope is defined }} {{ loop|length }} {{ loop is callable }};{% endfor %}",
    "{% for x in list %}{% set f = loop.cycle %}{{ f('a', 'b') }}{% endfor %}{% set up = 'x'.upper %}{{ up() }}",
    "{% set up = 'x'.upper %}{{ up() }}{% set g = d.get %}{{ g('b') }}",
    "{% macro m() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m() }}{{ m(1, 2, a=3) }}",
    "{% macro m(a, b=2) %}{{ a }}{{ b }}{{ varargs|join('+') }}{% for k, v in kwargs.items() %}{{ k }}={{ v }}{% endfor %}{% endmacro %}{{ m(1) }} {{ m(1, 2, 3, 4) }} {{ m(1, c=5) }} {{ m(*[1, 2, 3], **{'z': 9}) }}",
    "{% macro m(a) %}{{ a }}{% endmacro %}{{ m.name }} {{ m.arguments }} {{ m.catch_kwargs }} {{ m.catch_varargs }} {{ m.caller }} {{ m.nope is defined }}",
    "{% macro m(varargs) %}{{ varargs }}{% endmacro %}{{ m(1) }}",
    "{% macro m(varargs) %}{{ varargs }}{% endmacro %}{{ m(1, 2) }}",
    "{% macro m(kwargs=5) %}{{ kwargs }}{% endmacro %}{{ m() }}{{ m(kwargs=6) }}",
    "{% macro m(caller) %}{{ caller }}{% endmacro %}{{ m(1) }}",
    "{% macro m(caller=none) %}{{ caller() if caller else 'no' }}{% endmacro %}{{ m() }}{% call m() %}body{% endcall %}",
    "{% macro m(a, caller=none) %}{{ a }}{{ caller() }}{% endmacro %}{% call m(1) %}body{% endcall %}",
    "{% macro m() %}x{% endmacro %}{% call m() %}body{% endcall %}",
    "{% macro m() %}{{ caller is defined }}{% endmacro %}{{ m() }}{% call m() %}{% endcall %}",
    "{% macro m() %}{{ caller() }}{% endmacro %}{{ m() }}",
    "{% macro m(xs) %}{% for x in xs %}[{{ caller(x, loop.index) }}]{% endfor %}{% endmacro %}{% call(x, i) m(list) %}{{ i }}:{{ x }}{{ n }}{% endcall %}",
    "{% macro m() %}{{ caller(1) }}{{ caller(1, 2) }}{{ caller(b=5, a=4) }}{% endmacro %}{% call(a, b='B') m() %}{{ a }}{{ b }} {% endcall %}",
    "{% macro m() %}{{ caller(1, 2) }}{% endmacro %}{% call(a) m() %}{{ a }}{% endcall %}",
    "{% macro m() %}{{ caller(1, 2, x=3) }}{% endmacro %}{% call m() %}{{ varargs }}{{ kwargs }}{% endcall %}",
    "{% macro outer() %}<{{ caller() }}>{% endmacro %}{% macro inner() %}({{ caller() }}){% endmacro %}{% call outer() %}a{% call inner() %}b{% endcall %}c{% endcall %}",
    "{% call n %}x{% endcall %}",
    "{% call n() %}x{% endcall %}",
    "{% call range(3) %}x{% endcall %}",
    "{% set ns = namespace() %}{% macro m() %}<{{ caller() }}>{% endmacro %}{% set ns.m = m %}{% call ns.m() %}x{% endcall %}",
    "{% filter upper %}a{{ n }}b{% if yes %} c{% endif %}{% endfilter %}{% filter trim | replace('a', 'o') %}  banana\n{% endfilter %}|",
    "{% filter indent(2) %}a\nb\n{% endfilter %}{% filter upper %}{% set q = 1 %}{{ q }}{% endfilter %}{{ q is defined }}",
    "{% filter nofilter %}a{% endfilter %}",
    "{% with a = 1, b = n %}{{ a }}{{ b }}{% set c = 3 %}{{ c }}{% endwith %}{{ a is defined }}{{ c is defined }}{% with %}x{% endwith %}{% set a = 5 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}",
    "{% print 1 + 1 %}{% print 1, 2 %}",
    "{% set first = messages.pop(0) %}{{ first.role }}{{ messages|length }}{{ messages[0].role }}",
    "{% set text2 = '<a>'|safe %}{{ text2 + '<b>' }}{{ text2 ~ '<b>' }}{% set block %}{{ text2 }}{% endset %}{{ block + '<' }}{% macro m() %}<x>{% endmacro %}{{ m() + '<' }}{{ text2 + m() }}",
    "{% set budgets = {0: 0, 512: 128, 1024: 256} %}{% for k, v in budgets|dictsort %}{% if n <= k and not loop.first %}{{ k }}:{{ v }} {% endif %}{% endfor %}{{ budgets[512] }}{{ budgets.get(7, 'none') }}",
    "{% for k in {1: 'a', 2: 'b'} %}{{ k + 1 }}{% endfor %}{% for k, v in {1: 'a'}.items() %}{{ k }}{{ v }}{% endfor %}",
    "{% for x in names|select %}{{ loop.index }}{{ loop.last }}{{ loop.length }}{{ x }}{% endfor %}{% for k, v in d|items %}{{ k }}{% endfor %}",
    "{% for c in loop %}{% endfor %}x",
    "{% endfilter %}",
    "{% macro m(a, a2=a) %}{{ a2 }}{% endmacro %}{{ m(1) }}",
    "{% set varargs = 1 %}{% macro m() %}{% set varargs = 2 %}{{ varargs }}{% endmacro %}{{ m() }}{{ varargs }}",
    "{% macro m() %}{% for varargs in [1] %}{{ varargs }}{% endfor %}{% endmacro %}{{ m() }}",
]

rows = []
for source in ["{{ " + line + " }}" for line in EXPRESSIONS] + TEMPLATES:
    try:
        rows.append({"source": source, "text": environment.from_string(source).render(**copy.deepcopy(VARIABLES))})
    except Exception as error:  # each kind means that the template is refused
        rows.append({"source": source, "error": type(error).__name__})
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "golden.json")
with open(path, "w", encoding="utf-8") as file:
    json.dump({"jinja2": jinja2.__version__, "variables": VARIABLES, "rows": rows}, file, ensure_ascii=False, indent=1)
    file.write("\n")
print(len(rows), "rows,", sum("error" in row for row in rows), "of them refused:", path)
