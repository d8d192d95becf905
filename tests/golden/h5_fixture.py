"""The shared part of the fixture scripts: numbers that float32 holds exactly, and plain HDF5 (contiguous, no filter, no time stamps)."""

import pathlib

import h5py
import torch

HERE = pathlib.Path(__file__).resolve().parent


def normal(*shape, mean=0.0, std=1.0):
    """float64, rounded to values that float32 holds, so that f32 and f64 runs start from the same values."""
    return (mean + std * torch.randn(*shape, dtype=torch.float64)).float().double()


def create(name):
    """The oldest file form: its groups hold no times, so a script always writes the same bytes."""
    return h5py.File(HERE / name, "w", libver="earliest")


def write(group, tensors, **attributes):
    """One dataset per tensor: float64, float32 or int32 as the tensor is (int64 becomes int32)."""
    for name, tensor in tensors.items():
        tensor = tensor.detach()
        group.create_dataset(name, data=(tensor.int() if tensor.dtype == torch.int64 else tensor).numpy())
    group.attrs.update(attributes)
