"""Llama, Qwen2, Qwen3, Gemma 3, OLMo 2, SmolLM3, Granite, Mistral, nanochat, and mixtures of their parts with GPT-2's, in plain PyTorch, written
from the published definitions.

A decoder: x + attention(norm(x)), x + feed_forward(norm(x)), a final norm and an output head without bias. Norms may also follow the branches
(norm_position). The differences between the families are members of `Config`. Members, parameter names and (out, in) layouts are those of dikkat's [model]:

    wte.weight (V, C)   wpe.weight (T, C), for learned positions   lm_head.weight (V, C), untied   ln_f.weight, .bias (C)
    h.N.ln_1, h.N.ln_2           .weight, .bias (C); an RMSNorm has no bias
    h.N.attn.c_attn              .weight ((H + 2 KV) D, C), .bias; rows q | k | v, heads of D rows one after another
    h.N.attn.q_norm, k_norm      .weight (D); over whole rows (H D) and (KV D)
    h.N.ln_1_out, ln_2_out       .weight, .bias (C), of a sandwich: the norms of the branches' outputs
    h.N.attn.c_proj              .weight (C, H D), .bias
    h.N.mlp.c_fc                 .weight (n_hidden, C), or (2 n_hidden, C) with rows gate | up; .bias
    h.N.mlp.c_proj               .weight (C, n_hidden), .bias

and the further ones of nanochat and modded-nanogpt:

    ln_emb                       .weight, .bias (C), of a norm after the embedding
    h.N.resid_lambda, x0_lambda  (1): block N reads resid_lambda x + x0_lambda x0, where x0 is the input of block 0 without them
    h.N.attn.value_embedding     .weight (V, KV D): head h of a value v becomes v + 2 sigmoid(W_h x[:12]) e_h[token]; x is what c_attn reads
    h.N.attn.value_gate          .weight (KV, 12): W; as many channels as x has, if it has fewer

Needs Debian's python3-torch (1.13).
"""

import dataclasses
import math
from typing import Optional

import torch
from torch import nn
from torch.nn import functional as F


@dataclasses.dataclass(frozen=True)
class Config:
    n_layer: int
    n_head: int  # H
    n_embd: int  # C
    n_hidden: int
    block_size: int
    vocab_size: int  # V
    n_kv_head: Optional[int] = None  # KV: n_head
    head_size: Optional[int] = None  # D: n_embd / n_head
    bias: bool = True  # of linear layers, and of a LayerNorm
    qkv_bias: Optional[bool] = None  # bias
    tie_embeddings: bool = True
    norm: str = "layer_norm"  # rms_norm
    norm_eps: float = 1e-5
    positions: str = "learned"  # sinusoidal, rope, none
    rope_theta: float = 10000.0
    rope_scaling: str = "none"  # linear, llama3
    rope_factor: float = 1.0
    rope_low_freq_factor: float = 1.0
    rope_high_freq_factor: float = 4.0
    rope_original_context: int = 8192
    activation: str = "gelu"  # relu, relu2, silu
    gated: bool = False
    qk_norm: bool = False
    qk_norm_over: str = "head"  # row
    norm_position: str = "pre"  # sandwich: x + norm(branch(norm(x))); branch: x + norm(branch(x))
    attention_scale: Optional[float] = None  # 1 / sqrt(head_size)
    window: int = 0  # keys that a query sees at most, itself included; 0: all
    window_pattern: int = 0  # every such layer sees all; 0: none does
    rope_theta_local: float = 0.0  # the base in layers with a window, without scaling; 0: as in the others
    rope_share: float = 1.0  # of the pairs of a head, the first ones
    rope_short_factors: tuple = ()  # of these pairs: divisors of their frequencies; (): none
    rope_amplitude: float = 1.0  # of cosines and sines of these pairs
    rope_pattern: int = 0  # every such layer has no RoPE; 0: all have it
    scale_embeddings: bool = False  # by sqrt(C)
    embedding_scale: float = 1.0
    residual_scale: float = 1.0  # of branches
    logit_scale: float = 1.0
    logit_softcap: float = 0.0  # 0: none
    embedding_norm: bool = False
    residual_scalars: bool = False
    value_embeddings: str = "none"  # alternate: the last layer and every other one before it; all

    def __post_init__(self):
        for name, default in (("n_kv_head", self.n_head), ("head_size", self.n_embd // self.n_head), ("qkv_bias", self.bias)):
            if getattr(self, name) is None:
                object.__setattr__(self, name, default)
        if self.attention_scale is None:
            object.__setattr__(self, "attention_scale", 1 / math.sqrt(self.head_size))

    def window_of(self, layer):
        return 0 if self.window_pattern and (layer + 1) % self.window_pattern == 0 else self.window

    def has_rope(self, layer):
        return self.positions == "rope" and not (self.rope_pattern and (layer + 1) % self.rope_pattern == 0)


class LayerNorm(nn.Module):
    def __init__(self, width, eps, bias):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)


class RMSNorm(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


def norm_of(c):
    return RMSNorm(c.n_embd, c.norm_eps) if c.norm == "rms_norm" else LayerNorm(c.n_embd, c.norm_eps, c.bias)


def turned_of(c):
    """The elements of a head that RoPE turns."""
    return int(c.head_size * c.rope_share) // 2 * 2


def rope_frequencies(c, layer):
    """(D / 2): radians per position of each pair of elements."""
    turned = turned_of(c)
    f = all_frequencies(c, c.window_of(layer) > 0, -torch.arange(0, turned, 2, dtype=torch.float64) / turned)
    f = f / torch.tensor(c.rope_short_factors, dtype=torch.float64) if c.rope_short_factors else f
    return torch.cat((f, torch.zeros((c.head_size - turned) // 2, dtype=torch.float64)))


def all_frequencies(c, is_local, exponents):
    if is_local and c.rope_theta_local:
        return c.rope_theta_local ** exponents
    f = c.rope_theta ** exponents
    if c.rope_scaling == "linear":  # equals dividing the positions
        return f / c.rope_factor
    if c.rope_scaling == "llama3":
        wavelength = 2 * math.pi / f
        s = (c.rope_original_context / wavelength - c.rope_low_freq_factor) / (c.rope_high_freq_factor - c.rope_low_freq_factor)
        between = f * ((1 - s) / c.rope_factor + s)
        f = torch.where(wavelength > c.rope_original_context / c.rope_low_freq_factor, f / c.rope_factor,
                        torch.where(wavelength < c.rope_original_context / c.rope_high_freq_factor, f, between))
    return f


def rotated(x, frequencies, amplitude, pairs):
    """x (..., T, D): element i of the first half and element i of the second half are a pair, turned by its angle at position t. The first
    `pairs` are also multiplied by the amplitude."""
    angles = torch.arange(x.size(-2), dtype=torch.float64)[:, None] * frequencies  # (T, D / 2)
    sizes = torch.ones_like(frequencies)
    sizes[:pairs] = amplitude
    cos, sin = (sizes * angles.cos()).to(x.dtype), (sizes * angles.sin()).to(x.dtype)
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


class Attention(nn.Module):
    def __init__(self, c, layer, has_value_embedding):
        super().__init__()
        self.c, self.layer = c, layer
        self.c_attn = nn.Linear(c.n_embd, (c.n_head + 2 * c.n_kv_head) * c.head_size, bias=c.qkv_bias)
        self.c_proj = nn.Linear(c.n_head * c.head_size, c.n_embd, bias=c.bias)
        if c.qk_norm:
            of_row = c.qk_norm_over == "row"
            self.q_norm = RMSNorm(c.head_size * (c.n_head if of_row else 1), c.norm_eps)
            self.k_norm = RMSNorm(c.head_size * (c.n_kv_head if of_row else 1), c.norm_eps)
        self.has_value_embedding = has_value_embedding
        if has_value_embedding:
            self.value_embedding = nn.Embedding(c.vocab_size, c.n_kv_head * c.head_size)
            self.value_gate = nn.Linear(min(c.n_embd, 12), c.n_kv_head, bias=False)

    def forward(self, x, tokens):
        c = self.c
        B, T, _ = x.shape
        q, k, v = self.c_attn(x).split([n * c.head_size for n in (c.n_head, c.n_kv_head, c.n_kv_head)], dim=-1)
        if c.qk_norm and c.qk_norm_over == "row":
            q, k = self.q_norm(q), self.k_norm(k)
        q, k, v = (rows.view(B, T, -1, c.head_size).transpose(1, 2) for rows in (q, k, v))  # (B, heads, T, D)
        if c.qk_norm and c.qk_norm_over == "head":
            q, k = self.q_norm(q), self.k_norm(k)
        if self.has_value_embedding:
            e = self.value_embedding(tokens).view(B, T, c.n_kv_head, c.head_size)
            gate = 2 * torch.sigmoid(self.value_gate(x[..., :12]))  # (B, T, KV)
            v = v + (gate.unsqueeze(-1) * e).transpose(1, 2)
        if c.has_rope(self.layer):
            frequencies = rope_frequencies(c, self.layer)
            q, k = (rotated(x, frequencies, c.rope_amplitude, turned_of(c) // 2) for x in (q, k))
        k, v = (t.repeat_interleave(c.n_head // c.n_kv_head, dim=1) for t in (k, v))  # query head h reads head h // (H / KV)
        scores = q @ k.transpose(-2, -1) * c.attention_scale
        hidden = torch.ones(T, T).triu(1).bool()
        if c.window_of(self.layer):
            hidden |= torch.ones(T, T).tril(-c.window_of(self.layer)).bool()
        scores = scores.masked_fill(hidden, float("-inf"))
        return self.c_proj((F.softmax(scores, dim=-1) @ v).transpose(1, 2).reshape(B, T, -1))


ACTIVATIONS = {
    "gelu": lambda x: F.gelu(x, approximate="tanh"),
    "relu": F.relu,
    "relu2": lambda x: F.relu(x).square(),
    "silu": F.silu,
}


class FeedForward(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.gated, self.act = c.gated, ACTIVATIONS[c.activation]
        self.c_fc = nn.Linear(c.n_embd, (2 if c.gated else 1) * c.n_hidden, bias=c.bias)
        self.c_proj = nn.Linear(c.n_hidden, c.n_embd, bias=c.bias)

    def forward(self, x):
        x = self.c_fc(x)
        if not self.gated:
            return self.c_proj(self.act(x))
        gate, up = x.chunk(2, dim=-1)
        return self.c_proj(self.act(gate) * up)


class Block(nn.Module):
    def __init__(self, c, number):
        super().__init__()
        counted_from_last = c.n_layer - 1 - number
        has_value_embedding = c.value_embeddings == "all" or c.value_embeddings == "alternate" and counted_from_last % 2 == 0
        self.residual_scalars, self.where, self.scale = c.residual_scalars, c.norm_position, c.residual_scale
        if c.residual_scalars:
            self.resid_lambda, self.x0_lambda = nn.Parameter(torch.ones(1)), nn.Parameter(torch.zeros(1))
        self.ln_1, self.attn = norm_of(c), Attention(c, number, has_value_embedding)
        self.ln_2, self.mlp = norm_of(c), FeedForward(c)
        if self.where == "sandwich":
            self.ln_1_out, self.ln_2_out = norm_of(c), norm_of(c)

    def forward(self, x, x0, tokens):
        if self.residual_scalars:
            x = self.resid_lambda * x + self.x0_lambda * x0
        if self.where == "sandwich":
            x = x + self.scale * self.ln_1_out(self.attn(self.ln_1(x), tokens))
            return x + self.scale * self.ln_2_out(self.mlp(self.ln_2(x)))
        if self.where == "branch":
            x = x + self.scale * self.ln_1(self.attn(x, tokens))
            return x + self.scale * self.ln_2(self.mlp(x))
        x = x + self.scale * self.attn(self.ln_1(x), tokens)
        return x + self.scale * self.mlp(self.ln_2(x))


def sinusoids(time, width):
    """(T, C): a sine and its cosine side by side."""
    angles = torch.arange(time).double()[:, None] * 10000.0 ** (-torch.arange(0, width, 2).double() / width)
    return torch.stack((angles.sin(), angles.cos()), dim=2).flatten(1)[:, :width]


class Llama(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.wte = nn.Embedding(c.vocab_size, c.n_embd)
        if c.positions == "learned":
            self.wpe = nn.Embedding(c.block_size, c.n_embd)
        if c.embedding_norm:
            self.ln_emb = norm_of(c)
        self.h = nn.ModuleList(Block(c, number) for number in range(c.n_layer))
        self.ln_f = norm_of(c)
        if not c.tie_embeddings:
            self.lm_head = nn.Linear(c.n_embd, c.vocab_size, bias=False)

    def forward(self, tokens):
        """tokens (B, T) -> logits (B, T, V)"""
        c = self.c
        x = self.wte(tokens) * c.embedding_scale
        if c.scale_embeddings:
            x = x * math.sqrt(c.n_embd)
        if c.positions == "learned":
            x = x + self.wpe(torch.arange(tokens.size(1)))
        elif c.positions == "sinusoidal":
            x = x + sinusoids(tokens.size(1), c.n_embd).to(x.dtype)
        if c.embedding_norm:
            x = self.ln_emb(x)
        x0 = x
        for block in self.h:
            x = block(x, x0, tokens)
        logits = F.linear(self.ln_f(x), (self.wte if c.tie_embeddings else self.lm_head).weight) * c.logit_scale
        return c.logit_softcap * torch.tanh(logits / c.logit_softcap) if c.logit_softcap else logits
