#pragma once

#include "autograd/base/packed_matrix.h"
#include "autograd/kernels/gemm/gemm.h"

namespace dikkat::kernels {

/// Packs rows first to first + count - 1 of a matrix of `cols` columns into `panels`, which is packed_bytes(packing, rows, cols) large and
/// zero. `rows` holds them one after another: bf16 as it is; q8 and q4 in blocks as ggml's q8_0 and q4_0, the last one filled up with
/// zeros.
void pack_rows(PackedType packing, index cols, index first, index count, const std::byte* rows, std::byte* panels);
/// Returns the bytes of a row given to pack_rows().
index row_bytes(PackedType packing, index cols);

/// Unpacks row `row` as f32: out (cols).
void unpack_row(const PackedMatrix& w, index row, float* out);
/// Unpacks rows first to first + count - 1 as f32, transposed, on all threads: out (cols, ld). `first` is a multiple of kPanelRows, and ld
/// is at least count rounded up to one.
void unpack_transposed(const PackedMatrix& w, index first, index count, float* out, index ld);

/// Does what gemm() does, but for few rows (is_few_rows()) and a packed B, which it reads once; with nine rows or more, a second time from
/// L2. Everything is computed in f32. The bits of an element of C do not depend on m, n or the number of threads.
void gemm_few_rows_packed(const Gemm<float>& p);

}  // namespace dikkat::kernels
