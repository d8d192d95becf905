#include "train/checkpoint/dataset.h"

#include <algorithm>

#include "autograd/base/error.h"
#include "train/checkpoint/stored_name.h"
#include "train/system/format_numbers.h"

namespace dikkat {

namespace {

StoredDataset scalar(std::string path, ElementType type, const void* value) {
  return {{.path = std::move(path), .type = type, .shape = {}, .bytes = bytes_of(type, {})}, value};
}

StoredDataset dataset_of(std::string path, const std::string& text) {
  const auto bytes = static_cast<index>(text.size());
  require_input(bytes <= kMaxTextBytes, '/', path, " of ", grouped_digits(bytes), " bytes cannot be saved, expected at most ",
                grouped_digits(kMaxTextBytes));
  return {{.path = std::move(path), .shape = {}, .bytes = bytes + 1}, text.c_str(), true};
}
StoredDataset dataset_of(std::string path, const index& value) { return scalar(std::move(path), ElementType::i64, &value); }
StoredDataset dataset_of(std::string path, const std::uint64_t& value) { return scalar(std::move(path), ElementType::u64, &value); }
StoredDataset dataset_of(std::string path, const double& value) { return scalar(std::move(path), ElementType::f64, &value); }
StoredDataset dataset_of(std::string path, const bool& value) {
  static_assert(sizeof(bool) == 1);
  return scalar(std::move(path), ElementType::u8, &value);
}

StoredDataset dataset_of(const TensorView& tensor) {
  require(is_storable_path(tensor.path), "tensor \"", tensor.path,
          "\": this path cannot be stored, expected model/NAME or optimizer/SLAB/NAME without control characters");
  const index bytes = bytes_of(tensor.type, tensor.shape);
  require(tensor.data != nullptr || bytes == 0, "tensor ", tensor.path, " has no data");
  return {{.path = tensor.path, .type = tensor.type, .shape = tensor.shape, .bytes = bytes, .required = tensor.required}, tensor.data};
}

}  // namespace

std::vector<StoredDataset> datasets_of(const Snapshot& snapshot) {
  std::vector<StoredDataset> datasets;
  datasets.reserve(snapshot.tensors.size() + 32);
  datasets.push_back(dataset_of(kConfigPath, snapshot.config));
  datasets.push_back(dataset_of(kTokenizerPath, snapshot.tokenizer));
  for_each_field(snapshot.state, [&](const StateField& field, const auto& value) {
    datasets.push_back(dataset_of(concat(kStatePrefix, field.name), value));
  });
  for (const TensorView& tensor : snapshot.tensors) {
    datasets.push_back(dataset_of(tensor));
  }
  std::sort(datasets.begin(), datasets.end(), [](const StoredDataset& a, const StoredDataset& b) { return a.path < b.path; });
  const auto twice =
      std::adjacent_find(datasets.begin(), datasets.end(), [](const StoredDataset& a, const StoredDataset& b) { return a.path == b.path; });
  require(twice == datasets.end(), "tensor ", twice == datasets.end() ? "" : twice->path, " occurs twice");
  return datasets;
}

}  // namespace dikkat
