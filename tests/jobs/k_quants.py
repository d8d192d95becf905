"""Writes a GGUF file of f16 or f32 as one that is mixed like llama.cpp's Q4_K_M: most matrices in Q4_K, some in Q6_K. Each group's scale is that of its
extreme numbers, where llama.cpp searches for a better one."""
import math
import struct

import numpy

F32, F16, Q4_K, Q6_K = 0, 1, 12, 14
BLOCK, ALIGNMENT = 256, 32
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # bytes of the values of metadata
STRING, ARRAY = 8, 9


def halves(numbers):
    return numbers.astype("<f2").reshape(-1, 1).view("u1")


def divided(numbers, by):
    """Returns rounded quotients, 0 where the divisor is 0."""
    return numpy.rint(numpy.divide(numbers, by, out=numpy.zeros(numpy.broadcast(numbers, by).shape), where=by != 0))


def q4_k(numbers):
    """A block: two f16 factors, eight 6-bit scales and eight 6-bit minima in 12 bytes, 256 codes of 4 bits."""
    groups = numbers.reshape(-1, 8, 32)
    low = numpy.minimum(groups.min(2), 0)
    steps = (groups.max(2) - low) / 15
    d, m = (one.max(1, keepdims=True) / 63 for one in (steps, -low))
    d, m = (one.astype("f2").astype("f4") for one in (d, m))
    scales, minima = (numpy.clip(divided(one, by), 0, 63) for one, by in ((steps, d), (-low, m)))
    codes = numpy.clip(divided(groups + (m * minima)[..., None], (d * scales)[..., None]), 0, 15).astype("u1")
    s, o = scales.astype("u1"), minima.astype("u1")
    packed = numpy.concatenate([s[:, :4] | (s[:, 4:] >> 4) << 6, o[:, :4] | (o[:, 4:] >> 4) << 6, (s[:, 4:] & 15) | (o[:, 4:] & 15) << 4], 1)
    pairs = codes.reshape(-1, 4, 2, 32)
    return numpy.concatenate([halves(d), halves(m), packed, (pairs[:, :, 0] | pairs[:, :, 1] << 4).reshape(-1, 128)], 1)


def q6_k(numbers):
    """A block: the low 4 bits of 256 codes, their high 2 bits, 16 scales of 8 bits, an f16 factor."""
    groups = numbers.reshape(-1, 16, 16)
    steps = numpy.abs(groups).max(2) / 31
    d = (steps.max(1, keepdims=True) / 127).astype("f2").astype("f4")
    scales = numpy.clip(divided(steps, d), 0, 127)
    codes = (numpy.clip(divided(groups, (d * scales)[..., None]), -32, 31) + 32).astype("u1").reshape(-1, 2, 4, 32)
    low, high = codes & 15, codes >> 4
    low = numpy.concatenate([low[:, :, :2].reshape(-1, 2, 64) | low[:, :, 2:].reshape(-1, 2, 64) << 4], 2).reshape(-1, 128)
    high = (high[:, :, 0] | high[:, :, 1] << 2 | high[:, :, 2] << 4 | high[:, :, 3] << 6).reshape(-1, 64)
    return numpy.concatenate([low, high, scales.astype("i1").view("u1"), halves(d)], 1)


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, form):
        value, = struct.unpack_from("<" + form, self.data, self.at)
        self.at += struct.calcsize("<" + form)
        return value

    def string(self):
        size = self.take("Q")
        self.at += size
        return self.data[self.at - size:self.at]

    def skip_value(self, kind):
        if kind == STRING:
            self.string()
        elif kind == ARRAY:
            inner, count = self.take("I"), self.take("Q")
            for _ in range(count if inner in (STRING, ARRAY) else 0):
                self.skip_value(inner)
            self.at += SIZES.get(inner, 0) * count
        else:
            self.at += SIZES[kind]


def write_q4_k_m(source, out):
    # Read the file.
    data = source.read_bytes()
    file = Reader(data)
    assert file.take("4s") == b"GGUF" and file.take("I") == 3
    tensors, entries = file.take("Q"), file.take("Q")
    for _ in range(entries):
        file.string()
        file.skip_value(file.take("I"))
    metadata = data[24:file.at]
    infos = [(file.string(), [file.take("Q") for _ in range(file.take("I"))], file.take("I"), file.take("Q")) for _ in range(tensors)]
    begin = -(-file.at // ALIGNMENT) * ALIGNMENT

    # Choose each tensor's type, and pack it.
    head, body = bytearray(), bytearray()
    for name, shape, kind, offset in infos:
        numbers = numpy.frombuffer(data, "<f4" if kind == F32 else "<f2", math.prod(shape), begin + offset).astype("f4")
        if len(shape) == 1 or shape[0] % BLOCK != 0:
            packed = data[begin + offset:][:numbers.size * (4 if kind == F32 else 2)]
        elif b"token_embd" in name or b"attn_v" in name or b"ffn_down" in name:
            kind, packed = Q6_K, q6_k(numbers).tobytes()
        else:
            kind, packed = Q4_K, q4_k(numbers).tobytes()
        head += struct.pack("<Q", len(name)) + name + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, len(body))
        body += packed + bytes(-len(packed) % ALIGNMENT)
    front = b"GGUF" + struct.pack("<IQQ", 3, tensors, entries) + metadata + head
    out.write_bytes(front + bytes(-len(front) % ALIGNMENT) + body)
