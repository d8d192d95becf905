#!/usr/bin/env python3
"""Finds two types of one name in one namespace, which C++ forbids and no compiler notices across files.

types_test.py ROOT    exits with 1 and names the files of each such type
types_test.py --self  checks this test with small sources
"""
import collections
import pathlib
import re
import sys

FOLDERS = ("autograd", "layers", "optim", "train")
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\'', re.S)
OPENING = re.compile(
    r"\b(?:inline\s+)?namespace(?P<space>\s+[\w:]+)?\s*\{"
    r"|\b(?:class|struct|union|enum(?:\s+(?:class|struct))?)\s+(?P<type>\w+)(?P<arguments><[^;{}()]*>)?(?:\s+final)?(?:\s*:[^:;{}()][^;{}()]*)?\s*\{"
    r"|[{}]")


def types_of(source):
    """Yields (namespace, name) of each type that is defined in a named namespace."""
    source = NOT_CODE.sub(" ", source)
    source = re.sub(r"^\s*#[^\n]*", "", source, flags=re.M)
    scopes = []  # a namespace's name, or None for another pair of braces
    for found in OPENING.finditer(source):
        if found[0] == "}":
            if scopes:
                scopes.pop()
        elif found["type"]:
            # Specializations of a template are types of their own.
            if None not in scopes and not found["arguments"]:
                yield "::".join(scopes), found["type"]
            scopes.append(None)
        elif "namespace" in found[0]:
            scopes.append(found["space"].strip() if found["space"] else None)  # a namespace without a name belongs to one file
        else:
            scopes.append(None)


def defined_twice(files):
    """Returns the types that several files define, with these files. `files` maps names to sources."""
    places = collections.defaultdict(set)
    for name, source in files.items():
        for found in types_of(source):
            places[found].add(name)
    return {"::".join(found): sorted(names) for found, names in places.items() if len(names) > 1}


def check_itself():
    one = 'namespace dikkat {\n/// A struct B { is a comment.\nstruct A {\n  struct C { int x = \'{\'; };\n};\n}\n'
    assert defined_twice({"a": one, "b": one}) == {"dikkat::A": ["a", "b"]}
    assert defined_twice({"a": one, "b": one.replace("dikkat", "dikkat::serve")}) == {}
    assert defined_twice({"a": one, "b": "namespace dikkat { namespace { class A final : public B { }; } }"}) == {}
    assert defined_twice({"a": one, "b": "namespace dikkat { class A final : public B { }; }"}) == {"dikkat::A": ["a", "b"]}
    assert defined_twice({"a": one, "b": "namespace dikkat { enum class A : char { x }; }"}) == {"dikkat::A": ["a", "b"]}
    assert defined_twice({"a": "namespace d { template <> struct N<X> { }; }", "b": "namespace d { template <> struct N<Y> { }; }"}) == {}


def main():
    if sys.argv[1:] == ["--self"]:
        return check_itself()
    root = pathlib.Path(sys.argv[1])
    files = {str(path.relative_to(root)): path.read_text() for folder in FOLDERS for path in sorted((root / folder).rglob("*"))
             if path.suffix in (".h", ".cpp")}
    assert sum(1 for source in files.values() for _ in types_of(source)) > 500, "found too few types: the parser is broken"
    twice = defined_twice(files)
    for name, places in sorted(twice.items()):
        print(f"{name} is defined in {' and '.join(places)}; give one of them another name or namespace")
    sys.exit(bool(twice))


if __name__ == "__main__":
    main()
