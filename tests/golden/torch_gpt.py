"""GPT-2 as nanoGPT builds it, in plain PyTorch, to compare dikkat's numbers and step times with.

Pre-LN blocks, learned positions, GELU in its tanh form, attention by explicit (T, T) matrices under a mask buffer,
scale 1/sqrt(head size), LayerNorm with eps 1e-5 and the biased variance, no bias on the output head. Parameter names and
(out, in) layouts are those of GPT-2 and of dikkat. Needs Debian's python3-torch: 1.13, or for `fused_attention` a release
that has scaled_dot_product_attention.
"""

import dataclasses
import math

import torch
from torch import nn
from torch.nn import functional as F


@dataclasses.dataclass(frozen=True)
class GPTConfig:
    n_layer: int
    n_head: int
    n_embd: int
    block_size: int
    vocab_size: int
    dropout: float = 0.0
    bias: bool = True
    qkv_bias: bool = True
    tie_embeddings: bool = True
    fused_attention: bool = False  # by scaled_dot_product_attention


class LayerNorm(nn.Module):
    """nn.LayerNorm with an optional bias, which PyTorch 1.13 lacks."""

    def __init__(self, width, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.bias = nn.Parameter(torch.zeros(width)) if bias else None

    def forward(self, x):
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.n_head, self.dropout = c.n_head, c.dropout
        self.fused = c.fused_attention
        self.c_attn = nn.Linear(c.n_embd, 3 * c.n_embd, bias=c.qkv_bias)  # rows: q | k | v
        self.c_proj = nn.Linear(c.n_embd, c.n_embd, bias=c.bias)
        self.attn_dropout, self.resid_dropout = nn.Dropout(c.dropout), nn.Dropout(c.dropout)
        visible = torch.ones(c.block_size, c.block_size).tril().bool()
        self.register_buffer("visible", visible.view(1, 1, c.block_size, c.block_size), persistent=False)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (t.view(B, T, self.n_head, -1).transpose(1, 2) for t in self.c_attn(x).split(C, dim=2))  # (B, H, T, D)
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout if self.training else 0.0, is_causal=True)
        else:
            scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(q.size(-1)))
            scores = scores.masked_fill(~self.visible[:, :, :T, :T], float("-inf"))
            y = self.attn_dropout(F.softmax(scores, dim=-1)) @ v
        return self.resid_dropout(self.c_proj(y.transpose(1, 2).contiguous().view(B, T, C)))


class FeedForward(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c_fc = nn.Linear(c.n_embd, 4 * c.n_embd, bias=c.bias)
        self.c_proj = nn.Linear(4 * c.n_embd, c.n_embd, bias=c.bias)
        self.dropout = nn.Dropout(c.dropout)

    def forward(self, x):
        return self.dropout(self.c_proj(F.gelu(self.c_fc(x), approximate="tanh")))


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.ln_1, self.attn = LayerNorm(c.n_embd, c.bias), Attention(c)
        self.ln_2, self.mlp = LayerNorm(c.n_embd, c.bias), FeedForward(c)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(c.vocab_size, c.n_embd), nn.Embedding(c.block_size, c.n_embd)
        self.dropout = nn.Dropout(c.dropout)
        self.h = nn.ModuleList(Block(c) for _ in range(c.n_layer))
        self.ln_f = LayerNorm(c.n_embd, c.bias)
        if not c.tie_embeddings:
            self.lm_head = nn.Linear(c.n_embd, c.vocab_size, bias=False)

    def forward(self, tokens):
        """tokens (B, T) -> logits (B, T, V)"""
        x = self.dropout(self.wte(tokens) + self.wpe(torch.arange(tokens.size(1))))
        for block in self.h:
            x = block(x)
        head = self.lm_head if hasattr(self, "lm_head") else self.wte
        return F.linear(self.ln_f(x), head.weight)

    @torch.no_grad()
    def initialise(self):
        """GPT-2's: normal 0.02, the projections into the residual stream smaller by sqrt(2 n_layer), biases 0."""
        for name, p in self.named_parameters():
            if p.dim() >= 2:
                p.normal_(0.0, 0.02 / math.sqrt(2 * len(self.h)) if name.endswith("c_proj.weight") else 0.02)
            elif name.endswith("bias"):
                p.zero_()


def mean_loss(logits, targets):
    return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))


def adamw(model, learning_rate, betas, weight_decay, eps=1e-8, **more):
    """AdamW in nanoGPT's two groups: tensors of two or more dimensions decay, all others do not. `more` goes to torch.optim.AdamW."""
    groups = [
        {"params": [p for p in model.parameters() if p.dim() >= 2], "weight_decay": weight_decay},
        {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=learning_rate, betas=betas, eps=eps, **more)
