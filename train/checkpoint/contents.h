#pragma once

#include <string>
#include <vector>

#include "autograd/base/shape.h"
#include "train/checkpoint/element_type.h"
#include "train/checkpoint/snapshot.h"

namespace dikkat {

/// Describes a tensor in a checkpoint file.
struct StoredTensor {
  std::string path;  ///< as in TensorView
  ElementType type = ElementType::f32;
  Shape shape;
  index offset = 0;      ///< where its first byte is in the file
  index bytes = 0;       ///< bytes_of(type, shape)
  bool required = true;  ///< as in TensorView

  bool operator==(const StoredTensor&) const = default;
};

/// The contents of a checkpoint, except for the tensors' elements, which are read from the file when needed.
struct Contents {
  TrainingState state;
  std::string config;
  std::string tokenizer;
  std::vector<StoredTensor> tensors;  ///< sorted by path
};

}  // namespace dikkat
