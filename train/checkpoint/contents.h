#pragma once

#include <string>
#include <vector>

#include "autograd/base/shape.h"
#include "train/checkpoint/element_type.h"
#include "train/checkpoint/snapshot.h"

namespace dikkat {

/// A tensor in a file.
struct StoredTensor {
  std::string path;  ///< as in TensorView
  ElementType type = ElementType::f32;
  Shape shape;
  index offset = 0;      ///< of its first byte in the file
  index bytes = 0;       ///< bytes_of(type, shape)
  bool required = true;  ///< as in TensorView
};

/// The contents of a checkpoint, without the elements of tensors, which are read from the file when needed.
struct Contents {
  TrainingState state;
  std::string config;
  std::string tokenizer;
  std::vector<StoredTensor> tensors;  ///< by path
};

}  // namespace dikkat
