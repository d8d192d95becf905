#!/usr/bin/env python3
"""Writes recurrent.h5: torch.nn.RNN, torch.nn.GRU and torch.nn.LSTM, one layer, batch first, in float64. Needs Debian's python3-torch and python3-h5py
(run it with /usr/bin/python3).

One group per case, rnn, gru and lstm, each plain, without biases, with a first state, and with neither biases nor zeros as first state:
rnn  rnn_no_bias  rnn_h0  rnn_no_bias_h0  gru ...  lstm ... In each:

    x dx                  (B, T, in) = (3, 7, 5)
    h0 dh0                (B, hidden) = (3, 6); where the case has it; c0 dc0 likewise, of the LSTM
    c                     (B, hidden): the LSTM's c after the last step
    y dy                  (B, T, hidden): all states, and a random gradient of them
    weights/weight_ih     (gates * hidden, in), gates 1 of the RNN (tanh), 3 of the GRU: r | z | n, 4 of the LSTM: i | f | g | o; weights/weight_hh (gates * hidden, hidden)
    weights/bias_ih bias_hh   (gates * hidden); where the case has them
    gradients/<weight>    of <dy, y>, as are dx and dh0

Inputs and weights hold values that float32 holds exactly, and weights are large enough to bend every gate.
"""

import sys

sys.dont_write_bytecode = True

import torch

from h5_fixture import create, normal, write

B, T, IN, HIDDEN = 3, 7, 5, 6


def write_case(file, name, module, bias, with_h0):
    layer = module(IN, HIDDEN, bias=bias, batch_first=True).double()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(normal(*parameter.shape, std=0.6))
    x, h0, dy = normal(B, T, IN).requires_grad_(), normal(B, HIDDEN).requires_grad_(), normal(B, T, HIDDEN)
    lstm = module is torch.nn.LSTM
    c0 = normal(B, HIDDEN).requires_grad_() if lstm else None
    y, last = layer(x, (h0[None], c0[None]) if lstm else h0[None]) if with_h0 else layer(x)
    (y * dy).sum().backward()
    group = file.create_group(name)
    write(group, {"x": x, "dx": x.grad, "y": y, "dy": dy, **({"h0": h0, "dh0": h0.grad} if with_h0 else {}),
                  **({"c": last[1][0]} if lstm else {}), **({"c0": c0, "dc0": c0.grad} if lstm and with_h0 else {})})
    parameters = {path.removesuffix("_l0"): parameter for path, parameter in layer.named_parameters()}
    write(group.create_group("weights"), parameters)
    write(group.create_group("gradients"), {path: parameter.grad for path, parameter in parameters.items()})


def main():
    torch.set_num_threads(1)  # so that the file comes out the same, byte for byte
    torch.manual_seed(4)
    with create("recurrent.h5") as file:
        for name, module in (("rnn", torch.nn.RNN), ("gru", torch.nn.GRU), ("lstm", torch.nn.LSTM)):
            for bias in (True, False):
                for with_h0 in (False, True):
                    write_case(file, name + ("" if bias else "_no_bias") + ("_h0" if with_h0 else ""), module, bias, with_h0)


if __name__ == "__main__":
    main()
