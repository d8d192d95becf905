#!/usr/bin/env python3
"""Writes transformer.h5: encoder-decoders built on PyTorch's nn.Transformer, in float64. Needs Debian's python3-torch and
python3-h5py (run it with /usr/bin/python3).

Two pairs of stacks, whose inputs are vectors:

    /post_norm   2 encoder and 2 decoder layers, width 24, 3 heads, feed-forward 40; no final norms, as in Vaswani et al. 2017
    /pre_norm    1 encoder and 2 decoder layers, width 16, 2 heads, feed-forward 40; norm_first, with a final norm on each stack

    weights/<name>           float32, exact in float64 too; names and layouts are dikkat's (`renamed` below)
    src, tgt                 (B, S, C), (B, T, C)
    src_lengths, tgt_lengths int32 (B): rows after them are padding, which no valid position sees
    memory, y                (B, S, C), (B, T, C), results of encoder and decoder, in the rows that are padding too
    dy                       (B, T, C), 0 in the target's padding
    gradients/<name>, dsrc, dtgt   of <dy, y>

and two whole models with V = 31 tokens:

    /shared      1 encoder and 2 decoder layers, width 16, 2 heads, feed-forward 32, post-norm; one table (V, C) is source
                 embedding, target embedding and output head
    /apart       1 encoder and 1 decoder layer, width 12, 3 heads, feed-forward 20, pre-norm with final norms; three such tables

    x[b, t, :] = sqrt(C) table[token[b, t], :] + PE(t, :),  PE(t, 2i) = sin(t / 10000^(2i/C)),  PE(t, 2i + 1) = cos of the same
    logits     = decoder(...) head^T

    weights/<name>
    source, target                  int32 (B, S), (B, T); padding holds tokens like any other, so that a leak shows
    source_lengths, target_lengths  int32 (B)
    labels                          int32 (B, T), -1 in the target's padding
    logits                          (B, T, V), in padding too
    plain/loss, smoothed/loss       mean cross-entropy over the labels that are not -1; smoothed with label_smoothing, an
                                    attribute: (1 - e) * -log p(label) + e * mean over V of -log p
    plain/gradients/<name>, smoothed/gradients/<name>

Sizes are attributes of each group. Every activation is ReLU, LayerNorm has eps 1e-5, and nothing is dropped. The modules stay in
training mode: in evaluation PyTorch 1.13 takes another path, which drops columns that are all padding and zeroes other padding.
"""

import sys

sys.dont_write_bytecode = True

import torch
from torch import nn
from torch.nn import functional as F

from h5_fixture import create, normal, write

LABEL_SMOOTHING = 0.1
STACKS = {  # group: (configuration, source lengths, target lengths); S and T are the longest of them
    "post_norm": (dict(n_encoder_layer=2, n_layer=2, n_head=3, n_embd=24, n_hidden=40, pre_norm=0, final_norm=0), (5, 9, 1), (7, 1, 4)),
    "pre_norm": (dict(n_encoder_layer=1, n_layer=2, n_head=2, n_embd=16, n_hidden=40, pre_norm=1, final_norm=1), (4, 1, 8), (3, 6, 2)),
}
MODELS = {
    "shared": (dict(n_encoder_layer=1, n_layer=2, n_head=2, n_embd=16, n_hidden=32, pre_norm=0, final_norm=0), (6, 2, 4), (2, 7, 5)),
    "apart": (dict(n_encoder_layer=1, n_layer=1, n_head=3, n_embd=12, n_hidden=20, pre_norm=1, final_norm=1), (3, 5), (6, 4)),
}
TABLES = {"shared": ("wte", "wte", "wte"), "apart": ("encoder_wte", "decoder_wte", "lm_head")}  # of source, target and output
VOCABULARY, BLOCK_SIZE = 31, 12


def transformer(n_encoder_layer, n_layer, n_head, n_embd, n_hidden, pre_norm, final_norm):
    model = nn.Transformer(n_embd, n_head, n_encoder_layer, n_layer, n_hidden, dropout=0, activation="relu",
                           norm_first=bool(pre_norm), batch_first=True)
    if not final_norm:
        model.encoder.norm = model.decoder.norm = None
    return model


class EncoderDecoder(nn.Module):
    """Tokens to logits."""

    def __init__(self, tables, config):
        super().__init__()
        self.tables, self.stacks = tables, transformer(**config)
        for name in sorted(set(tables)):
            setattr(self, name, nn.Embedding(VOCABULARY, config["n_embd"]))

    def forward(self, source, source_lengths, target, target_lengths):
        source_table, target_table, head = (getattr(self, name).weight for name in self.tables)
        _, y = run(self.stacks, embedded(source_table, source), source_lengths, embedded(target_table, target), target_lengths)
        return F.linear(y, head)


def embedded(table, tokens):
    width = table.size(1)
    angles = torch.arange(tokens.size(1)).double()[:, None] * 10000.0 ** (-torch.arange(0, width, 2).double() / width)
    positions = torch.stack((angles.sin(), angles.cos()), dim=2).flatten(1)  # (T, C): a sine and its cosine side by side
    return width**0.5 * F.embedding(tokens, table) + positions


def padding(lengths, time):
    """(B, T), true where row b is over."""
    return torch.arange(time) >= lengths[:, None]


def run(model, src, src_lengths, tgt, tgt_lengths):
    """Results of encoder and decoder: (B, S, C), (B, T, C)."""
    hidden = padding(src_lengths, src.size(1))
    future = torch.ones(tgt.size(1), tgt.size(1)).triu(1).bool()
    memory = model.encoder(src, src_key_padding_mask=hidden)
    y = model.decoder(tgt, memory, tgt_mask=future, tgt_key_padding_mask=padding(tgt_lengths, tgt.size(1)), memory_key_padding_mask=hidden)
    return memory, y


@torch.no_grad()
def fill(model):
    """Far from any usual start, so that a mistake shows: nothing is 0 or 1, no tensor is negligible."""
    for name, p in model.named_parameters():
        if p.dim() >= 2:
            p.copy_(normal(*p.shape, std=0.2))
        elif "norm" in name and name.endswith("weight"):
            p.copy_(normal(*p.shape, mean=1.0, std=0.25))
        else:
            p.copy_(normal(*p.shape, std=0.15))


def renamed(tensors):
    """PyTorch's names to dikkat's. Rows of c_attn are q | k | v; of crossattention.c_attn k | v, beside a q_attn."""
    result = {}
    for name, tensor in tensors.items():
        for old, new in (("stacks.", ""), ("coder_wte", "coder.wte"), ("layers.", "h."), ("coder.norm.", "coder.ln_f."),
                         ("norm1.", "ln_1."), ("norm2.", "ln_cross_attn." if "decoder." in name else "ln_2."), ("norm3.", "ln_2."),
                         ("self_attn.", "attn."), ("multihead_attn.", "crossattention."), ("in_proj_", "c_attn."),
                         ("out_proj.", "c_proj."), ("linear1.", "mlp.c_fc."), ("linear2.", "mlp.c_proj.")):
            name = name.replace(old, new)
        if "crossattention.c_attn" in name:
            result[name.replace("c_attn", "q_attn")], tensor = tensor.tensor_split([tensor.size(0) // 3])
        result[name] = tensor
    return result


def write_weights(group, model):
    write(group.create_group("weights"), renamed({name: p.detach().float() for name, p in model.named_parameters()}))


def write_gradients(group, model):
    """Writes the gradients of the last backward, and clears them."""
    write(group.create_group("gradients"), renamed({name: p.grad for name, p in model.named_parameters()}))
    model.zero_grad(set_to_none=True)


def write_stacks(group, config, *lengths):
    model = transformer(**config).double()
    fill(model)
    src_lengths, tgt_lengths = map(torch.tensor, lengths)
    src, tgt, dy = (normal(len(each), max(each), config["n_embd"]) for each in (lengths[0], lengths[1], lengths[1]))
    dy = dy.masked_fill(padding(tgt_lengths, tgt.size(1))[:, :, None], 0.0)
    memory, y = run(model, src.requires_grad_(), src_lengths, tgt.requires_grad_(), tgt_lengths)
    y.backward(dy)
    write(group, {"src": src, "src_lengths": src_lengths, "tgt": tgt, "tgt_lengths": tgt_lengths, "memory": memory, "y": y, "dy": dy,
                  "dsrc": src.grad, "dtgt": tgt.grad}, **config)
    write_weights(group, model)
    write_gradients(group, model)


def write_model(group, tables, config, *lengths):
    model = EncoderDecoder(tables, config).double()
    fill(model)
    source_lengths, target_lengths = map(torch.tensor, lengths)
    source, target, labels = (torch.randint(VOCABULARY, (len(each), max(each))) for each in (lengths[0], lengths[1], lengths[1]))
    labels[padding(target_lengths, labels.size(1))] = -1
    logits = model(source, source_lengths, target, target_lengths)
    write(group, {"source": source, "source_lengths": source_lengths, "target": target, "target_lengths": target_lengths,
                  "labels": labels, "logits": logits},
          vocab_size=VOCABULARY, block_size=BLOCK_SIZE, label_smoothing=LABEL_SMOOTHING, **config)
    write_weights(group, model)
    for name, smoothing in (("plain", 0.0), ("smoothed", LABEL_SMOOTHING)):
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-1, label_smoothing=smoothing)
        loss.backward(retain_graph=True)
        part = group.create_group(name)
        write(part, {"loss": loss})
        write_gradients(part, model)


def main():
    torch.set_num_threads(1)  # so that the file comes out the same, byte for byte
    torch.manual_seed(3)
    with create("transformer.h5") as file:
        for name, case in STACKS.items():
            write_stacks(file.create_group(name), *case)
        for name, case in MODELS.items():
            write_model(file.create_group(name), TABLES[name], *case)


if __name__ == "__main__":
    main()
