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
They differ here from PyTorch 1.13's. `tests/golden/edges_test.cpp` compares 13,000 numbers, which differ only as this table says:

| op | PyTorch | here |
|---|---|---|
| elementwise ops, `gated`, `softmax`, `log_softmax`, `logsumexp`, `variance`, losses, `einsum` that sums nothing | 0 times infinity or NaN in a gradient is NaN, except for branches of `where`, `clamp`, `relu`, `maximum`, `minimum` | 0: nothing flows through a branch that is not taken, or comes of a result that does not count |
| `maximum`, `minimum` of two equal numbers | each gets half of the gradient | the first gets all of it |
| `maximum`, `minimum` where an operand is NaN | both get all of the gradient | the operand that is NaN gets it, or the first of two |
| `max`, `min` over all or several axes | equal elements share the gradient, and so do NaNs; with `amax` and `amin`, NaN makes all gradients NaN | the first element gets all of it |
| `max_pool1d`, `max_pool2d` of several NaNs | the last NaN of a window gets the gradient | the first one gets it |
| `relu` at NaN | y is NaN, its derivative 1 | y is NaN, its derivative 0 |
| `clamp`, and `maximum` and `minimum` with a number, at NaN | y is NaN, the derivative of `clamp` 0 | y is NaN, its derivative 1 |
| `gelu`, `silu`, and `gated` with them, at infinities | y is NaN at -infinity, the derivative NaN at both | the limits: y is 0 at -infinity, the derivative 0 and 1 |
| `power(x, 0.5)`, `power(x, -0.5)` at -0 and -infinity | as `sqrt` and `rsqrt` | as `power` of tensors, and as IEEE's pow |
| `power`, gradient by the exponent, where a negative or infinite base gives 0 | NaN | 0 |
| `softplus` above 20 | x | log(1 + e^x), up to 2e-9 more |
| f32 and f64 that are denormal (less than 1.2e-38 and 2.2e-308) | count, unless `torch.set_flush_denormal` is called | 0 |
| `dropout` of an infinite number or gradient that is dropped | NaN | 0 |
| `dropout` of probability 1 | zeros | an error |
| `binary_cross_entropy` of logit -infinity, and of infinity with target 1 | NaN | the limit: 0 where both agree, otherwise infinity |
| `kl_divergence` where the target is 0 | NaN where x is infinite or NaN; the gradient by the target is NaN | 0 |
| `cross_entropy` where the logits of a target that does not count are infinite or NaN | their gradient is NaN; if its class has weight 0, so may be the loss | they do not count, and their gradient is 0 |
| `cross_entropy` where no target counts | NaN | 0 |
| `mean`, and means of losses, of no elements | NaN | an error |
| `variance` of no more elements than the correction | NaN or infinity | an error |
| `attention` of a query that sees no key, or only keys of score -infinity | NaN or 0, by version | 0 |
| `attention` where a key that is not seen has a value that is infinite or NaN | y is NaN; the gradient of the key is 0 | y may be NaN or not, and so may the gradient of the key |
| `sort`, `argsort` from the largest, and `topk`, of NaN | NaN is the largest: first | NaN is last, in both directions |
| `sort`, `argsort`, `topk` of equal elements | in any order, without `stable=True` | they stay in their order |
| `clamp` from a bound to a lower one | the upper bound | an error |
| `cast` to i32 of NaN, and of numbers that i32 cannot hold | some number | an error |
| `uniform` from a number to itself | the number | an error |
| `conv1d`, `conv2d` of no channels | an empty tensor | an error |
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
