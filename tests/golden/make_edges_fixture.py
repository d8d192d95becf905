#!/usr/bin/env python3
"""Writes edges.json: ops at infinities, NaN, zeros and ties, and their gradients, by PyTorch in float64. Needs Debian's python3-torch
(run it with /usr/bin/python3).

A list of calls, each with
    name       the call, which edges_test.cpp makes by the same name
    operands   their numbers, and `shapes`
    y          the result
    dy         several gradients of y; one number stands for one in each element
    gradients  for each dy, those by the operands
Infinities and NaN are strings.
"""

import itertools
import json
import math
import pathlib
import sys

sys.dont_write_bytecode = True

import torch
from torch.nn import functional as F

inf, nan = math.inf, math.nan
calls = []


def text(number):
    """A number for JSON, with twelve digits."""
    return float(f"{number:.12g}") if math.isfinite(number) else str(number)


def listed(tensor):
    return [text(number) for number in tensor.detach().flatten().tolist()]


def call(name, function, *operands, dys=(1, 0, inf, nan)):
    """Adds a call. An operand is a list, nested as its shape; a dy is one number, or a list of y's numbers."""
    leaves = [torch.tensor(operand, dtype=torch.float64, requires_grad=True) for operand in operands]
    entry = {"name": name, "operands": [listed(x) for x in leaves], "shapes": [list(x.shape) for x in leaves]}
    y = function(*leaves)
    entry["y"] = listed(y)
    entry["dy"] = [[text(number) for number in dy] if isinstance(dy, list) else text(dy) for dy in dys]
    entry["gradients"] = []
    for dy in dys:
        filled = torch.tensor(dy, dtype=torch.float64).expand(y.numel()).reshape(y.shape)
        found = torch.autograd.grad(y, leaves, filled, retain_graph=True, allow_unused=True)
        entry["gradients"].append([listed(torch.zeros_like(x) if g is None else g) for x, g in zip(leaves, found)])
    calls.append(entry)


ONE = [-inf, -1000.0, -2.0, -0.5, -0.0, 0.0, 0.5, 2.0, 1000.0, inf, nan]


def of_one_number():
    for name in ("abs", "square", "sqrt", "rsqrt", "exp", "log", "sin", "cos", "erf", "tanh", "sigmoid", "relu"):
        call(name, getattr(torch, name), ONE)
    call("negate", torch.neg, ONE)
    call("softplus", F.softplus, ONE)
    call("gelu", lambda x: F.gelu(x, approximate="tanh"), ONE)
    call("silu", F.silu, ONE)
    call("relu2", lambda x: torch.relu(x).square(), ONE)
    call("softcap", lambda x: 3 * torch.tanh(x / 3), ONE)
    call("clamp", lambda x: x.clamp(-0.5, 2), ONE)
    call("scale", lambda x: x * -3, ONE)
    call("scale by 0", lambda x: x * 0, ONE)
    call("add a number", lambda x: x + 3, ONE)
    call("subtract from a number", lambda x: 3 - x, ONE)
    call("divide a number", lambda x: 3 / x, ONE)
    call("maximum of a number", lambda x: x.clamp(min=2), ONE)
    call("minimum of a number", lambda x: x.clamp(max=2), ONE)
    for exponent in (0, 0.5, 1, 2, 3, -1, -0.5, inf):
        call(f"power {exponent}", lambda x: torch.pow(x, exponent), ONE)
    for name in ("less", "less_equal", "greater", "greater_equal", "equal", "not_equal"):
        compare = torch.eq if name == "equal" else getattr(torch, name)
        call(name, lambda x: compare(x, 0.5), ONE, dys=())
    call("where x > 0", lambda x: torch.where(x > 0, x, torch.zeros_like(x)), ONE)
    call("square root where x > 0", lambda x: torch.where(x > 0, x.sqrt(), torch.zeros_like(x)), ONE)
    call("square root of clamp", lambda x: x.clamp(0, 1).sqrt(), ONE)
    call("x log x where x > 0", lambda x: torch.where(x > 0, x * x.log(), torch.zeros_like(x)), ONE)


def of_two_numbers():
    def pairs(a, b):
        return [list(x) for x in zip(*itertools.product(a, b))]

    usual = [-inf, -2.0, 0.0, 2.0, inf, nan]
    exponents = [-inf, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0, inf, nan]
    for name in ("add", "subtract", "multiply", "divide", "maximum", "minimum"):
        call(name, getattr(torch, name), *pairs(usual, usual))
    call("power", torch.pow, *pairs([-inf, -2.0, -0.5, 0.0, 0.5, 1.0, 2.0, inf, nan], exponents))
    call("mse_loss", lambda x, t: F.mse_loss(x, t, reduction="none"), *pairs(usual, usual))
    call("huber_loss", lambda x, t: F.huber_loss(x, t, reduction="none", delta=0.5), *pairs(usual + [2.5], usual))
    call("binary_cross_entropy", lambda x, t: F.binary_cross_entropy_with_logits(x, t, reduction="none"), *pairs(ONE, [0.0, 0.25, 1.0]))
    targets = [0.0, 0.25, 1.0, nan]
    call("kl_divergence", lambda x, t: F.kl_div(x, t, reduction="none"), *pairs([-inf, -2.0, 0.0, inf, nan], targets), dys=(1, 0))
    call("weighted_sum", lambda x, z, a, b: a * x + b * z, [inf], [5.0], [2.0], [3.0])
    call("weighted_sum", lambda x, z, a, b: a * x + b * z, [4.0], [5.0], [0.0], [3.0])


ROWS = [[1.0, 2.0, 3.0], [1.0, 2.0, 2.0], [2.0, 2.0, 2.0], [0.0, 0.0, 0.0], [1000.0, 0.0, -1000.0], [-inf, 0.0, 0.0], [-inf, -inf, 0.0],
        [-inf, -inf, -inf], [inf, 0.0, 0.0], [inf, inf, 0.0], [inf, -inf, 0.0], [inf, inf, inf], [nan, 0.0, 1.0], [0.0, nan, inf],
        [-inf, nan, nan]]
ROW_DYS = (1, 0, inf, nan, [1, 2, 0] * len(ROWS), [inf, 0, 0] * len(ROWS), [0, inf, 1] * len(ROWS), [0, 0, nan] * len(ROWS))


def of_rows():
    call("sum", lambda x: x.sum(1), ROWS)
    call("mean", lambda x: x.mean(1), ROWS)
    call("max", lambda x: x.max(1).values, ROWS)
    call("min", lambda x: x.min(1).values, ROWS)
    call("logsumexp", lambda x: x.logsumexp(1), ROWS)
    call("variance", lambda x: x.var(1), ROWS)
    call("variance of a population", lambda x: x.var(1, unbiased=False), ROWS)
    call("softmax", lambda x: x.softmax(1), ROWS, dys=ROW_DYS)
    call("log_softmax", lambda x: x.log_softmax(1), ROWS, dys=ROW_DYS)
    call("cumsum", lambda x: x.cumsum(1), ROWS, dys=ROW_DYS)
    call("argmax", lambda x: x.argmax(1), ROWS, dys=())
    call("argmin", lambda x: x.argmin(1), ROWS, dys=())
    call("sort", lambda x: torch.sort(x, dim=1, stable=True).values, ROWS, dys=ROW_DYS)
    call("sort descending", lambda x: torch.sort(x, dim=1, descending=True, stable=True).values, ROWS, dys=ROW_DYS)
    call("topk", lambda x: x.topk(2, 1).values, ROWS)
    call("topk smallest", lambda x: x.topk(2, 1, largest=False).values, ROWS)
    for name in ("max", "min"):
        for row in ([1.0, 2.0, 2.0, 2.0], [0.0, 0.0, 1.0, 3.0], [nan, 1.0, nan, inf], [-inf, -inf, -inf, -inf]):
            call(f"{name} of all", lambda x: getattr(x, name)(), row, dys=(1,))
            call(f"{name} of two axes", lambda x: getattr(x, "a" + name)((0, 1)), [row], dys=(1,))
    nothing = [[], []]
    call("sum", lambda x: x.sum(1), nothing)
    call("logsumexp", lambda x: x.logsumexp(1), nothing)
    call("cumsum", lambda x: x.cumsum(1), nothing, dys=(1,))
    call("softmax", lambda x: x.softmax(1), nothing, dys=(1,))
    gamma, beta, dys = [5.0, 4.0, 3.0], [1.0, 2.0, 3.0], (1, 0, [1, 2, 0] * len(ROWS))
    call("layer_norm", lambda x, g, b: F.layer_norm(x, (3,), g, b, 0.25), ROWS, gamma, beta, dys=dys)
    call("rms_norm", lambda x, g: x * (x.square().mean(-1, keepdim=True) + 0.25).rsqrt() * g, ROWS, gamma, dys=dys)
    call("layer_norm of eps 0", lambda x, g: F.layer_norm(x, (3,), g, None, 0), ROWS, gamma, dys=dys)
    call("rms_norm of eps 0", lambda x, g: x * x.square().mean(-1, keepdim=True).rsqrt() * g, ROWS, gamma, dys=dys)


def of_products():
    call("matmul", torch.matmul, [[inf, 1.0], [0.0, 2.0]], [[2.0, 0.0], [3.0, inf]], dys=(1, 0, [0, 0, inf, 1]))
    call("matmul", torch.matmul, [[], []], torch.zeros(0, 3).numpy(), dys=(1,))
    call("linear", F.linear, [[inf, 1.0], [0.0, 2.0]], [[2.0, 0.0], [3.0, inf]], [1.0, inf], dys=(1, 0, [0, 0, inf, 1]))
    call("relu and linear", lambda x, w: F.linear(torch.relu(x), w), [[-1.0, 1.0]], [[inf, 3.0]], dys=(1, 0, inf))
    call("outer product", lambda a, b: torch.einsum("a,b->ab", a, b), [inf, 1.0], [0.0, 2.0], dys=(1, 0))
    for name, f in (("relu", torch.relu), ("gelu", lambda x: F.gelu(x, approximate="tanh")), ("silu", F.silu)):
        rows = [list(pair) for pair in itertools.product([-inf, -2.0, 0.0, 2.0, inf, nan], repeat=2)]
        call(f"gated {name}", lambda x: f(x[:, :1]) * x[:, 1:], rows)


def of_windows():
    row, filters = [inf, 1.0, 2.0, 3.0], [1.0, 2.0]
    call("conv1d", F.conv1d, [[row]], [[filters]], dys=(1, 0, [0, 1, 1], [inf, 0, 0]))
    call("conv2d", F.conv2d, [[[row]]], [[[filters]]], dys=(1, 0, [0, 1, 1], [inf, 0, 0]))
    call("conv1d padded", lambda x, w: F.conv1d(x, w, padding=1), [[[1.0, 2.0, 3.0]]], [[[inf, 1.0]]], dys=(1, 0, [inf, 0, 0, 0]))
    call("conv2d padded", lambda x, w: F.conv2d(x, w, padding=(0, 1)), [[[[1.0, 2.0, 3.0]]]], [[[[inf, 1.0]]]], dys=(1, 0, [inf, 0, 0, 0]))
    wide = {"kernel_size": (1, 3), "stride": (1, 2), "padding": (0, 1)}
    for row in ([1.0, 1.0, 2.0, nan], [nan, nan, inf, nan], [nan, 1.0, inf, inf], [-inf, -inf, 1.0, inf]):
        call("max_pool1d", lambda x: F.max_pool1d(x[None], 2)[0], [row])
        call("max_pool2d", lambda x: F.max_pool2d(x[None], (1, 2))[0], [row])
        call("max_pool2d padded", lambda x: F.max_pool2d(x[None], **wide)[0], [row])
        call("avg_pool1d", lambda x: F.avg_pool1d(x[None], 2)[0], [row])
        call("avg_pool2d", lambda x: F.avg_pool2d(x[None], (1, 2))[0], [row])
        call("avg_pool2d padded", lambda x: F.avg_pool2d(x[None], **wide)[0], [row])
        call("avg_pool2d of elements", lambda x: F.avg_pool2d(x[None], **wide, count_include_pad=False)[0], [row])
    call("unfold", lambda x: F.unfold(x, (1, 2)), [[[[nan, 1.0, inf]]]])


def attended(q, k, v, seen):
    """Attention of one query with one head of one column. k, v and seen have an element for each key."""
    return (q * k).masked_fill(~torch.tensor(seen), -inf).softmax(0) @ v


def of_attention():
    for keys in ([2.0, 7.0], [-inf, -inf], [-inf, 1.0]):
        call("attention of the first key", lambda q, k, v: attended(q, k, v, [True, False]), [1.0], keys, [3.0, 9.0], dys=(1, 0))
        call("attention of no key", lambda q, k, v: attended(q, k, v, [False, False]), [1.0], keys, [3.0, 9.0], dys=(1, 0))
        call("attention of all keys", lambda q, k, v: attended(q, k, v, [True, True]), [1.0], keys, [3.0, 9.0], dys=(1, 0))


def of_cross_entropy():
    of_class = {"weight": torch.tensor([0.0, 1.0, 2.0], dtype=torch.float64)}  # class 0 does not count
    first, both, ignored, one_ignored = torch.tensor([0]), torch.tensor([0, 1]), torch.tensor([-100]), torch.tensor([-100, 1])
    for row in ([-inf, 0.0, 0.0], [0.0, -inf, 0.0], [-inf, -inf, -inf], [inf, 0.0, 0.0], [0.0, inf, 0.0], [inf, inf, 0.0], [nan, 0.0, 0.0],
                [1000.0, 0.0, 0.0]):
        rows = [row, [0.0, 0.0, 1.0]]
        call("cross_entropy", lambda x: F.cross_entropy(x, first), [row], dys=(1, 0))
        call("cross_entropy smoothed", lambda x: F.cross_entropy(x, first, label_smoothing=0.5), [row], dys=(1, 0))
        call("cross_entropy beside a class of weight 0", lambda x: F.cross_entropy(x, both, **of_class), rows, dys=(1, 0))
        call("cross_entropy beside an ignored target", lambda x: F.cross_entropy(x, one_ignored), rows, dys=(1, 0))
        call("cross_entropy of an ignored target", lambda x: F.cross_entropy(x, ignored), [row], dys=(1, 0))
        call("cross_entropy of a class of weight 0", lambda x: F.cross_entropy(x, first, **of_class), [row], dys=(1, 0))


def of_moves():
    call("gather", lambda x: x.gather(0, torch.tensor([1, 2, 1])), [nan, 1.0, inf], dys=(1, 0, [2, nan, 3], [inf, 0, -inf]))
    call("scatter_add", lambda x, s: x.scatter_add(0, torch.tensor([1, 1]), s), [nan, 1.0, inf], [inf, -inf], dys=(1, 0, [1, inf, nan]))
    call("index_select", lambda x: x.index_select(0, torch.tensor([1, 2, 1])), [nan, 1.0, inf], dys=(1, 0, [2, nan, 3], [inf, 0, -inf]))
    call("embedding", lambda x: F.embedding(torch.tensor([[1, 1]]), x), [[nan], [inf], [-inf]], dys=(1, 0, [inf, -inf], [1, nan]))
    call("pad", lambda x: F.pad(x, (1, 1)), [nan, inf], dys=(1, [nan, 1, inf, inf]))
    call("diagonal", torch.diagonal, [[1.0, nan], [inf, 2.0]], dys=(1, [inf, nan]))


def main():
    torch.set_num_threads(1)
    for group in (of_one_number, of_two_numbers, of_rows, of_products, of_windows, of_attention, of_cross_entropy, of_moves):
        group()
    lines = ",\n".join(json.dumps(entry) for entry in calls)
    (pathlib.Path(__file__).resolve().parent / "edges.json").write_text(f"[\n{lines}\n]\n")


if __name__ == "__main__":
    main()
