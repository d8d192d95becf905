#include "autograd/ops/embedding.h"

#include "autograd/kernels/embedding.h"
#include "autograd/ops/op.h"

namespace dikkat {

Tensor embedding(Tensor tokens, Tensor table, const EmbeddingOptions& options) {
  return for_float(table.dtype(), "embedding", [&](auto zero) {
    using T = decltype(zero);
    require(tokens.dtype() == DType::i32 && tokens.shape().rank() == 2, "embedding: tokens are ", tokens.dtype(), " ", tokens.shape(),
            ", expected i32 (B, T)");
    require(table.shape().rank() == 2, "embedding: table is ", table.shape(), ", expected (vocabulary, width)");
    const Tensor positions = options.positions;
    const T scale = static_cast<T>(options.scale);
    Tape& tape = begin_op(Op::embedding, {table, positions}, {tokens, options.first});
    // Check the shapes.
    const index batch = tokens.shape()[0];
    const index time = tokens.shape()[1];
    const index vocabulary = table.shape()[0];
    const index cols = table.shape()[1];
    const index max_positions = positions ? positions.shape()[0] : 0;
    require(!positions || (positions.shape().rank() == 2 && positions.shape()[1] == cols), "embedding: positions are ",
            positions ? positions.shape() : Shape{}, ", expected (max_positions, ", cols, ")");
    require(!options.first || (options.first.dtype() == DType::i32 && options.first.shape() == Shape{batch}),
            "embedding: first positions are ", options.first ? options.first.dtype() : DType::i32, " ",
            options.first ? options.first.shape() : Shape{}, ", expected i32 [", batch, "]");
    // Check the range of positions and tokens.
    const auto* first = options.first ? options.first.data<std::int32_t>() : nullptr;
    for (index b = 0; positions && b < batch; ++b) {
      const index from = first == nullptr ? 0 : first[b];
      require(0 <= from && from <= max_positions - time, "embedding: ", time, " positions from ", from, " on, expected them among ",
              max_positions);
    }
    const auto* ids = tokens.data<std::int32_t>();
    for (index i = 0; i < batch * time; ++i) {
      require(0 <= ids[i] && ids[i] < vocabulary, "embedding: token ", ids[i], ", expected 0 to ", vocabulary - 1);
    }
    // Look up the rows of the tokens.
    const PackedMatrix packed = table.packed();
    const Tensor y = tape.make({batch, time, cols}, table.dtype());
    kernels::embedding_forward<T>({.batch = batch,
                                   .time = time,
                                   .cols = cols,
                                   .tokens = ids,
                                   .table = table.is_packed() ? nullptr : table.data<T>(),
                                   .packed_table = table.is_packed() ? &packed : nullptr,
                                   .positions = positions ? positions.data<T>() : nullptr,
                                   .first = first,
                                   .scale = scale,
                                   .y = y.mutable_data<T>()});
    // Record the cost and the backward pass.
    const double rows = bytes_of(y);  // only the table's rows that occur count; backward reads and writes them, and reads dy
    tape.record({table, positions}, {y}, {{.bytes = 2 * rows}, {.bytes = 3 * rows}}, [=](Gradients& g) {
      kernels::embedding_backward<T>({.batch = batch,
                                      .time = time,
                                      .cols = cols,
                                      .vocabulary = vocabulary,
                                      .positions = max_positions,
                                      .tokens = ids,
                                      .first = first,
                                      .scale = scale,
                                      .dy = g.of<T>(y),
                                      .dtable = g.into<T>(table),
                                      .dpositions = positions ? g.into<T>(positions) : GradOut<T>{}});
    });
    return y;
  });
}

}  // namespace dikkat
