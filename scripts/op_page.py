#!/usr/bin/env python3
"""Prints the page of ops, from the public headers of autograd/ops: op_page.py SOURCE_DIR. docs/OPS.md is its output, which tests/docs holds."""
import pathlib
import re
import sys

source = pathlib.Path(sys.argv[1])

# The headers in the order of the page, with their titles.
PAGES = [("constants", "Constants"), ("arithmetic", "Arithmetic, operators and comparisons"), ("elementwise", "Formulas of your own"), ("basic", "Activations, dropout, element types"),
         ("activation", "Activations by name"), ("reduce", "Reductions"), ("arrange", "Moves of elements"), ("indexing", "Lookups and sorting"),
         ("embedding", "Embedding"), ("matmul", "Products"), ("linear", "Products with weights"), ("convolution", "Convolutions and pooling"),
         ("layer_norm", "Norms"), ("head_norm", "Norms of heads"), ("attention", "Attention"), ("value_embedding", "Value embeddings"),
         ("loss", "Losses"), ("random", "Random tensors"), ("scan", "Loops over time"), ("recurrent", "Recurrent layers")]
DECLARATION = re.compile(r"^(?:inline |template <.*> *)*(?:Tensor&?|std::vector<Tensor>|Scanned<.*>|Sorted|TopK|[A-Z]\w*) (?!operator)(\w+)\(")


def declarations(text):
    """Yields (names, declarations, comment) for each documented function, with the functions that follow it without a comment of their own."""
    comment, group = [], None
    lines = iter(text.splitlines())
    depth = 0  # inside a struct, a class or namespace detail nothing is an op
    for line in lines:
        stripped = line.strip()
        if depth == 0 and stripped.startswith("///"):
            comment.append(stripped[3:].strip() if not stripped.startswith("///   ") else stripped[3:].rstrip())
            continue
        if depth == 0 and (match := DECLARATION.match(line)):
            whole = line
            while not re.search(r"[;{]\s*$|\{.*\}\s*$", whole):
                whole += " " + next(lines).strip()
            opened = whole.count("{") - whole.count("}")
            declaration = re.sub(r"\)\s*\{.*$", ")", re.sub(r"^inline ", "", whole)).rstrip(" ;")
            if comment or group is None:
                if group:
                    yield group
                group = ([], [], comment)
            if match[1] not in group[0]:
                group[0].append(match[1])
            group[1].append(declaration)
            comment = []
            depth = max(0, opened)
            continue
        if depth == 0 and re.match(r"(struct|class|enum class|namespace detail)\b.*\{", line):
            depth = 1 + line.count("{") - 1 - line.count("}")
            comment = []
            continue
        if depth > 0:
            depth += line.count("{") - line.count("}")
            continue
        if not stripped or not stripped.startswith("template"):
            if not stripped and group:
                yield group
                group = None
            if not stripped.startswith("template"):
                comment = [] if stripped and not stripped.startswith("///") else comment
    if group:
        yield group


def paragraphs(comment):
    """The comment as text; indented lines are code."""
    out, code = [], False
    for line in comment:
        if line.startswith("  ") or (code and not line):
            if not code:
                out.append("```cpp")
            code = True
            out.append(line.strip() if line else "")
        else:
            if code:
                while out[-1] == "":
                    out.pop()
                out.append("```")
            code = False
            out.append(line.replace("<", "&lt;"))
    if code:
        while out[-1] == "":
            out.pop()
        out.append("```")
    return out


def definitions(text):
    """Yields (name, definition, comment) of each public struct and enumeration: the options and results of ops."""
    public = re.sub(r"^namespace detail \{.*?^\}  // namespace detail$", "", text, flags=re.MULTILINE | re.DOTALL)
    for match in re.finditer(r"^((?:///[^\n]*\n)*)((?:template <[^\n]*>\n)?(?:struct|enum class) (\w+)[^;{]*\{.*?^\};)", public, re.MULTILINE | re.DOTALL):
        yield match[3], match[2], [line[3:].strip() if not line.startswith("///   ") else line[3:] for line in match[1].splitlines()]


print("""# Ops

Made from the headers of `autograd/ops` by `scripts/op_page.py`. All names are in `namespace dikkat`; `#include "dikkat/autograd.h"` has all of them.
Every op has a plain definition or plain loops that it is tested against, and a gradient check by central differences (`tests/gradcheck`).
An op throws `Error`, which names the op, for operands whose shapes, element types or tapes do not fit.

## Edges, and differences from PyTorch

Extents of 0 are taken or refused by name, forward and backward. Gradients at infinities, ties and zeros follow
[PyTorch's formulas](https://github.com/pytorch/pytorch/blob/main/tools/autograd/derivatives.yaml), and `tests/gradcheck/edges` has the numbers.
They differ here:

| op | PyTorch | here |
|---|---|---|
| elementwise ops, `gated`, `scale`, `softmax`, `log_softmax`, `logsumexp`, `variance` | a gradient of 0 times an infinite slope, and an infinite gradient times a slope of 0, is NaN, except for branches of `where`, `clamp`, `relu`, `maximum`, `minimum` | 0: nothing flows through a branch that is not taken, or comes of a result that does not count |
| `maximum`, `minimum` of two equal numbers | each gets half of the gradient | the first gets all of it |
| `max`, `min` over all or several axes | equal elements share the gradient | the first element gets all of it |
| `clamp`, `relu`, `abs` at NaN | clamp 0, relu 1 | clamp 1, relu 0, abs 0; y is NaN |
| `gelu`, `silu` at -infinity | NaN | 0, the limit |
| `dropout` of an infinite number or gradient that is dropped | NaN | 0 |
| `binary_cross_entropy` of an infinite logit and a target of 0 or 1 | NaN where both agree | 0, the limit |
| `kl_divergence` where the target is 0 and x is -infinity; gradient by a target of 0 | NaN | 0 |
| `mean`, `max`, `variance` and means of losses of no elements | NaN, or an error | an error |
| `attention` of a query that sees no key | NaN or 0, by version | 0 |
""")
for header, title in PAGES:
    text = (source / f"autograd/ops/{header}.h").read_text()
    print(f"## {title}\n")
    print(f"`autograd/ops/{header}.h`. ", end="")
    intro = re.search(r"^((?:// .*\n)+)(?:namespace|\n)", text, re.MULTILINE)
    print(" ".join(line[3:] for line in intro[1].splitlines()).replace("<", "&lt;") if intro else "", end="\n\n")
    for names, whole, comment in declarations(text):
        print("### " + ", ".join(names) + "\n")
        print("```cpp\n" + "\n".join(f"{line};" for line in whole) + "\n```\n")
        if comment:
            print("\n".join(paragraphs(comment)) + "\n")
    for name, definition, comment in definitions(text):
        print(f"### {name}\n")
        print("```cpp\n" + definition + "\n```\n")
        if comment:
            print("\n".join(paragraphs(comment)) + "\n")
