#!/usr/bin/python3
"""Writes fixtures/: small files of other programs, by PyTorch and by plain struct and json, and digests of conversions by numpy, PyTorch and ggml.

    tests/train/exchange/formats/make_fixtures.py LIBGGML_BASE

LIBGGML_BASE is libggml-base.so of llama.cpp, as the npm package @node-llama-cpp/linux-x64 has it. Numbers of tensors follow from names and places
(element()), so that tests compute them again.
"""

import collections
import ctypes
import hashlib
import json
import pathlib
import struct
import sys
import zlib

import numpy
import torch

HERE = pathlib.Path(__file__).resolve().parent / "fixtures"


def element(name, i):
    """Element i of the tensor with this name: exact in bf16 and f16."""
    return (zlib.crc32(name.encode()) % 7 + 3 * i) % 61 / 4 - 8


def values(name, *shape):
    count = int(numpy.prod(shape, dtype=numpy.int64))
    return numpy.array([element(name, i) for i in range(count)], dtype=numpy.float32).reshape(shape)


def tensor(name, *shape):
    return torch.from_numpy(values(name, *shape).copy())


# --- torch.save


class Tiny(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.transformer = torch.nn.ModuleDict({"wte": torch.nn.Embedding(5, 4), "ln_f": torch.nn.LayerNorm(4)})
        self.lm_head = torch.nn.Linear(4, 5, bias=False)
        self.transformer["wte"].weight = self.lm_head.weight


def nanogpt_checkpoint():
    """A checkpoint of nanoGPT's train.py, of a model of three parameters."""
    model = Tiny()
    optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, betas=(0.9, 0.95))
    model.lm_head(model.transformer["ln_f"](model.transformer["wte"](torch.tensor([1, 2])))).sum().backward()
    optimizer.step()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensor(name, *parameter.shape))
    return {
        "model": collections.OrderedDict(model.state_dict()),
        "optimizer": optimizer.state_dict(),
        "model_args": dict(n_layer=1, n_head=2, n_embd=4, block_size=8, bias=False, vocab_size=5, dropout=0.0),
        "iter_num": 70000,
        "best_val_loss": torch.tensor(1.5),
        "config": {"dataset": "shakespeare_çhar", "compile": True, "big": 2**40, "negative": -3, "wandb": None, "learning_rate": 6e-4},
    }


class Evil:
    def __reduce__(self):
        import os

        return (os.system, ("echo run",))


def torch_files():
    checkpoint = nanogpt_checkpoint()
    torch.save(checkpoint, HERE / "nanogpt.pt")
    model = {"model": checkpoint["model"], "model_args": checkpoint["model_args"]}
    torch.save(model, HERE / "protocol4.pt", pickle_protocol=4)
    torch.save(model, HERE / "before-1.6.pt", _use_new_zipfile_serialization=False)
    base = tensor("base", 3, 4)
    torch.save(
        {
            "f64": tensor("f64", 3).double(),
            "f16": tensor("f16", 2, 2).half(),
            "bf16": tensor("bf16", 5).bfloat16(),
            "i64": torch.arange(3),
            "bool": torch.tensor([True, False]),
            "scalar": torch.tensor(2.5),
            "empty": torch.zeros(0, 3),
            "base": base,
            "row": base[1],
            "transposed": base.t(),
            "column": base[:, 1:2],
            "lists": [1, [2.5, "a"], (True, None)],
        },
        HERE / "types.pt",
    )
    torch.save({"a": Evil()}, HERE / "evil.pt")
    torch.save(Tiny(), HERE / "module.pt")


# --- safetensors


def bf16_bytes(array):
    return torch.from_numpy(array.copy()).bfloat16().view(torch.int16).numpy().tobytes()


def safetensors(path, tensors, metadata=None):
    header, data = {}, b""
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, (dtype, shape, payload) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(payload)]}
        data += payload
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    (HERE / path).write_bytes(struct.pack("<Q", len(text)) + text + data)


def safetensors_files():
    f32 = values("wte.weight", 5, 4)
    # The order is that of the format's own library: types from the widest down, then names.
    ours = {
        "h.0.é": ("F32", [2, 3], values("h.0.é", 2, 3).tobytes()),
        "scalar": ("F32", [], values("scalar", 1).tobytes()),
        "wte.weight": ("F32", [5, 4], f32.tobytes()),
        "b": ("BF16", [3], bf16_bytes(values("b", 3))),
        "h": ("F16", [3, 1], values("h", 3, 1).astype(numpy.float16).tobytes()),
    }
    safetensors("written.safetensors", ours, {"format": "pt"})
    theirs = {
        "odd": ("U8", [3], b"\x01\x02\x03"),
        "wte.weight": ("F32", [5, 4], f32.tobytes()),
        "none": ("F32", [0, 7], b""),
        "d": ("F64", [2], values("d", 2).astype(numpy.float64).tobytes()),
        "ids": ("I64", [2], struct.pack("<2q", 1, -1)),
    }
    safetensors("read.safetensors", theirs, {"format": "pt", "note": "a \"quoted\" line\n"})
    for number, names in (1, ("a", "b")), (2, ("c",)):
        safetensors(
            f"model-0000{number}-of-00002.safetensors",
            {name: ("F32", [2, 2], values(name, 2, 2).tobytes()) for name in names},
            {"format": "pt"},
        )
    shards = {"a": 1, "b": 1, "c": 2}
    index = {"metadata": {"total_size": 48}, "weight_map": {n: f"model-0000{s}-of-00002.safetensors" for n, s in shards.items()}}
    (HERE / "model.safetensors.index.json").write_text(json.dumps(index, indent=2) + "\n")


# --- GGUF and llm.c


def gguf_string(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


def quantized(ggml, kind, array):
    flat = numpy.ascontiguousarray(array, dtype=numpy.float32).reshape(-1)
    block_bytes = {"q8_0": 34, "q4_0": 18}[kind]
    out = ctypes.create_string_buffer(flat.size // 32 * block_bytes)
    getattr(ggml, f"quantize_row_{kind}_ref")(flat.ctypes.data_as(ctypes.c_void_p), out, ctypes.c_int64(flat.size))
    return out.raw


def write_gguf(path, version, kv, tensors):
    """`kv`: encoded values. `tensors`: (name, shape, number of the type, bytes)."""
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(kv)) + b"".join(kv)
    data = b""
    for name, shape, kind, payload in tensors:
        head += gguf_string(name) + struct.pack("<I", len(shape))
        head += b"".join(struct.pack("<Q", extent) for extent in reversed(shape)) + struct.pack("<IQ", kind, len(data))
        data += payload + bytes(-len(payload) % 32)
    (HERE / path).write_bytes(head + bytes(-len(head) % 32) + data)


def gguf(ggml, path, version):
    kv = [
        (gguf_string("general.architecture") + struct.pack("<I", 8) + gguf_string("gpt2")),
        (gguf_string("a.u8") + struct.pack("<IB", 0, 200)),
        (gguf_string("a.i8") + struct.pack("<Ib", 1, -100)),
        (gguf_string("a.u16") + struct.pack("<IH", 2, 60000)),
        (gguf_string("a.i16") + struct.pack("<Ih", 3, -30000)),
        (gguf_string("a.u32") + struct.pack("<II", 4, 4000000000)),
        (gguf_string("a.i32") + struct.pack("<Ii", 5, -2000000000)),
        (gguf_string("a.f32") + struct.pack("<If", 6, 1e-5)),
        (gguf_string("a.bool") + struct.pack("<IB", 7, 1)),
        (gguf_string("a.u64") + struct.pack("<IQ", 10, 2**63 + 1)),
        (gguf_string("a.i64") + struct.pack("<Iq", 11, -(2**62))),
        (gguf_string("a.f64") + struct.pack("<Id", 12, 0.1)),
        (gguf_string("tokens") + struct.pack("<IIQ", 9, 8, 3) + gguf_string("<|é|>") + gguf_string("") + gguf_string("Ġthe")),
        (gguf_string("types") + struct.pack("<IIQ3i", 9, 5, 3, 3, -1, 1)),
        (gguf_string("scores") + struct.pack("<IIQ2f", 9, 6, 2, 0.5, -1)),
    ]
    tensors = [
        ("token_embd.weight", [5, 4], 0, values("token_embd.weight", 5, 4).tobytes()),
        ("half", [3], 1, values("half", 3).astype(numpy.float16).tobytes()),
        ("q8", [2, 32], 8, quantized(ggml, "q8_0", values("q8", 2, 32))),
        ("q4", [1, 64], 2, quantized(ggml, "q4_0", values("q4", 1, 64))),
        ("brain", [2, 1, 3], 30, bf16_bytes(values("brain", 2, 1, 3))),
    ]
    write_gguf(path, version, kv, tensors)


# The types that are only read: number in files, numbers and bytes of a block, and where in it f16 numbers lie.
QUANTIZED = {
    "q4_1": (3, 32, 20, (0, 2)),
    "q5_0": (6, 32, 22, (0,)),
    "q5_1": (7, 32, 24, (0, 2)),
    "q2_K": (10, 256, 84, (80, 82)),
    "q3_K": (11, 256, 110, (108,)),
    "q4_K": (12, 256, 144, (0, 2)),
    "q5_K": (13, 256, 176, (0, 2)),
    "q6_K": (14, 256, 210, (208,)),
    "iq4_nl": (20, 32, 18, (0,)),
    "iq4_xs": (23, 256, 136, (0,)),
}


def random_numbers(seed):
    while True:
        seed = (seed * 1664525 + 1013904223) % 2**32
        yield seed >> 8


def edges():
    """Rows of 256: numbers around 0, zeros, one number, all magnitudes, numbers whose scale is denormal as f16, and numbers far from 0."""
    random = random_numbers(5)
    near = lambda: [next(random) / 2**23 - 1 for _ in range(256)]
    rows = [near(), [0.0] * 256, [0.375] * 256, [x * 2.0 ** (i % 24 - 14) for i, x in enumerate(near())], [x * 2e-6 for x in near()], [x + 9 for x in near()]]
    return numpy.array(rows, dtype=numpy.float64).astype(numpy.float32)


def dequantized(ggml, kind, payload, count):
    back = numpy.zeros(count, dtype=numpy.float32)
    getattr(ggml, f"dequantize_row_{kind}")(payload, back.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(count))
    return back


def quantized_types(ggml):
    """Writes quantized.gguf: edges() in each type. Returns digests of its tensors' numbers, and of those of 512 blocks of random bytes for each type."""
    ggml.ggml_quantize_chunk.restype = ctypes.c_size_t
    rows, tensors, digests = edges(), [], {}
    for kind, (number, numbers, size, halves) in QUANTIZED.items():
        out = ctypes.create_string_buffer(rows.size // numbers * size)
        written = ggml.ggml_quantize_chunk(
            number, rows.ctypes.data_as(ctypes.c_void_p), out, ctypes.c_int64(0), ctypes.c_int64(rows.shape[0]), ctypes.c_int64(rows.shape[1]), None
        )
        assert written == len(out), kind
        tensors.append((kind, list(rows.shape), number, out.raw))
        digests[kind] = sha(dequantized(ggml, kind, out.raw, rows.size))
        random = random_numbers(number)
        blocks = [[next(random) >> 16 for _ in range(size)] for _ in range(512)]
        for block in blocks:
            for at in halves:
                block[at + 1] &= 0xBF  # finite, below 2
        digests[kind + "_random"] = sha(dequantized(ggml, kind, bytes(sum(blocks, [])), 512 * numbers))
    write_gguf("quantized.gguf", 3, [], tensors)
    return digests


def llmc(path, version):
    t, v, n_layer, n_head, c, vp = 2, 3, 2, 1, 2, 4
    shapes = dict(wte=(vp, c), wpe=(t, c), ln1w=(n_layer, c), ln1b=(n_layer, c), qkvw=(n_layer, 3 * c, c), qkvb=(n_layer, 3 * c),
                  attprojw=(n_layer, c, c), attprojb=(n_layer, c), ln2w=(n_layer, c), ln2b=(n_layer, c), fcw=(n_layer, 4 * c, c),
                  fcb=(n_layer, 4 * c), fcprojw=(n_layer, c, 4 * c), fcprojb=(n_layer, c), lnfw=(c,), lnfb=(c,))
    header = numpy.zeros(256, dtype=numpy.int32)
    header[:8] = [20240326, version, t, v, n_layer, n_head, c, vp]
    blocks = [values(name, *shape) for name, shape in shapes.items()]
    data = b"".join(block.tobytes() if version == 3 else bf16_bytes(block) for block in blocks)
    (HERE / path).write_bytes(header.tobytes() + data)


# --- Conversions


def sha(array):
    return hashlib.sha256(array.tobytes()).hexdigest()


def all_halves():
    return numpy.arange(65536, dtype=numpy.uint16)


def many_floats():
    """All upper halves with lower halves around the points where f16 and bf16 round."""
    low = numpy.array([0, 1, 0x0FFF, 0x1000, 0x1001, 0x2FFF, 0x3000, 0x3001, 0x7FFF, 0x8000, 0x8001, 0xFFFF], dtype=numpy.uint32)
    return ((numpy.arange(65536, dtype=numpy.uint32) << 16)[:, None] | low).reshape(-1)


def blocks_of_numbers():
    """8,192 blocks of 32: of all magnitudes, denormal ones too, zeros of both signs, and multiples of 1/8 of a block's scale, which are ties."""
    state, numbers = 1, []
    for block in range(8192):
        scale = 2.0 ** (block * 37 % 165 - 149)
        for _ in range(32):
            state = (state * 1664525 + 1013904223) % 2**32
            number = ((state >> 8) - 2**23) / 2**23
            if block % 7 == 0:
                number = -0.0 if state >> 31 else 0.0
            elif block % 7 == 1:
                number = numpy.rint(number * 8) / 8
            elif block % 7 == 2:
                number = numpy.rint(number * 254) / 2 / 127
            numbers.append(number * scale)
    return numpy.array(numbers, dtype=numpy.float64).astype(numpy.float32)


def conversions(ggml):
    halves, floats, numbers = all_halves(), many_floats(), blocks_of_numbers()
    widened = halves.view(numpy.float16).astype(numpy.float32).view(numpy.uint32)
    widened[numpy.isnan(halves.view(numpy.float16))] = 0x7FC00000  # each library has its own bits for NaN
    nan = numpy.isnan(floats.view(numpy.float32))
    with numpy.errstate(over="ignore"):
        narrowed = floats.view(numpy.float32).astype(numpy.float16).view(numpy.uint16)
    narrowed[nan] = 0x7E00
    brain = torch.from_numpy(floats.view(numpy.float32).copy()).bfloat16().view(torch.int16).numpy().view(numpy.uint16).copy()
    brain[nan] = 0x7FC0
    both_halves = torch.from_numpy(halves.view(numpy.int16).copy()).view(torch.float16).float().numpy().view(numpy.uint32).copy()
    both_halves[numpy.isnan(halves.view(numpy.float16))] = 0x7FC00000
    assert (both_halves == widened).all(), "numpy and PyTorch agree"
    result = {"f16_to_f32": sha(widened), "f32_to_f16": sha(narrowed), "f32_to_bf16": sha(brain), "numbers": sha(numbers)}
    for kind in "q8_0", "q4_0":
        stored = quantized(ggml, kind, numbers)
        back = numpy.zeros(numbers.size, dtype=numpy.float32)
        getattr(ggml, f"dequantize_row_{kind}")(stored, back.ctypes.data_as(ctypes.c_void_p), ctypes.c_int64(back.size))
        result[kind] = hashlib.sha256(stored).hexdigest()
        result[kind + "_to_f32"] = sha(back)
    result |= quantized_types(ggml)
    (HERE / "conversions.json").write_text(json.dumps(result, indent=2) + "\n")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    ggml = ctypes.CDLL(sys.argv[1])
    torch.manual_seed(1)
    HERE.mkdir(exist_ok=True)
    torch_files()
    safetensors_files()
    gguf(ggml, "v3.gguf", 3)
    gguf(ggml, "v2.gguf", 2)
    llmc("f32.llmc.bin", 3)
    llmc("bf16.llmc.bin", 5)
    conversions(ggml)


main()
