#pragma once

#include <string>
#include <vector>

#include "autograd/base/shape.h"
#include "train/checkpoint/element_type.h"
#include "train/checkpoint/snapshot.h"

namespace dikkat {

/// A tensor in a file.
struct StoredTensor {
  std::string path;  ///< as TensorView's
  ElementType type = ElementType::f32;
  Shape shape;
  index offset = 0;  ///< of its first byte from the beginning of the file
  index bytes = 0;   ///< bytes_of(type, shape)
};

/// All that a checkpoint holds but the elements of its tensors, which are read from the file when they are wanted.
struct Contents {
  TrainingState state;
  std::string config;
  std::string tokenizer;
  std::vector<StoredTensor> tensors;  ///< by path
};

}  // namespace dikkat
