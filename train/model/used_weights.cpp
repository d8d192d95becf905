#include "train/model/used_weights.h"

#include <algorithm>

#include "autograd/base/error.h"
#include "optim/averaged.h"

namespace dikkat {

void read_weight(const CheckpointFile& checkpoint, std::string_view path, const Shape& shape, Weights weights, float* out) {
  const std::string average = concat("optimizer/", Averaged::kSlab, path.substr(path.find('/')));
  const bool has_average = weights == Weights::used && std::ranges::binary_search(checkpoint.tensors(), average, {}, &StoredTensor::path);
  checkpoint.read(has_average ? average : path, ElementType::f32, shape, out);
}

}  // namespace dikkat
