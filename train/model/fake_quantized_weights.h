#pragma once

#include <cstddef>
#include <vector>

#include "autograd/base/pages.h"
#include "autograd/tape/parameters.h"

namespace dikkat {

/// A second copy of a model's matrices, rounded as a q4_0 export rounds them. While it is shown, forward and backward passes multiply by
/// the rounded matrices. Gradients go to the exact ones (straight-through estimator: Bengio et al., arXiv 1308.3432), so training finds
/// weights that survive the rounding. The store's slab always holds the exact weights: optimizers and checkpoints never see the others.
class FakeQuantizedWeights {
 public:
  /// Keeps a reference to the store, which must be laid out. Throws InputError for a matrix whose rows are not whole blocks of
  /// kScaleBlock numbers: a GGUF file stores it in another type.
  explicit FakeQuantizedWeights(const ParameterStore& store);

  /// Returns the bytes of the copy: those of all matrices that are rounded.
  std::size_t bytes() const { return bytes_; }
  /// Maps the memory without touching it. The store must have its memory.
  void reserve();

  /// Rounds the matrices as they are now, and shows the copy in place of them. Runs on all threads. Throws InputError for numbers that
  /// q4_0 cannot hold; then nothing is shown.
  void show();
  /// Shows the exact matrices again.
  void hide();

 private:
  struct Matrix {
    ParameterStore::Entry* entry;
    index offset;  // offset in the copy, in numbers
  };

  std::vector<Matrix> matrices_;
  std::size_t bytes_ = 0;
  Pages copy_;
  std::vector<std::byte> encoded_;
};

}  // namespace dikkat
