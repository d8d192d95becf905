"""Converts a GGUF file to another type with llama.cpp's own quantizer.

    quantize.py LIBRARIES IN.gguf OUT.gguf TYPE     LIBRARIES: the folder of libllama, in the npm package @node-llama-cpp/linux-x64
"""

import ctypes
import pathlib
import sys

# llama_ftype of llama.h
TYPES = dict(F32=0, Q4_1=3, Q8_0=7, Q5_0=8, Q5_1=9, Q2_K=10, Q3_K_M=12, Q4_K_M=15, Q5_K_M=17, Q6_K=18, IQ4_NL=25, IQ3_S=26, IQ4_XS=30)


class Parameters(ctypes.Structure):
    """The beginning of llama_model_quantize_params, and more bytes than its rest has."""

    _fields_ = [
        ("threads", ctypes.c_int32),
        ("type", ctypes.c_int32),
        ("output_type", ctypes.c_int32),
        ("embedding_type", ctypes.c_int32),
        ("allow_requantize", ctypes.c_bool),
        ("rest", ctypes.c_uint8 * 255),
    ]


libraries, source, out, name = sys.argv[1:]
llama = ctypes.CDLL(str(next(pathlib.Path(libraries).glob("libllama.*so"))))
llama.llama_model_quantize_default_params.restype = Parameters
parameters = llama.llama_model_quantize_default_params()
parameters.threads = 1
parameters.type = TYPES[name]
parameters.allow_requantize = True
if llama.llama_model_quantize(source.encode(), out.encode(), ctypes.byref(parameters)) != 0:
    sys.exit(f"llama.cpp cannot convert {source} to {name}")
