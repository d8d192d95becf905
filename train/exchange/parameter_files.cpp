#include "train/exchange/parameter_files.h"

#include <algorithm>
#include <string>
#include <vector>

#include "autograd/base/error.h"
#include "train/exchange/formats/convert.h"
#include "train/exchange/formats/safetensors.h"
#include "train/exchange/formats/safetensors_index.h"

namespace dikkat {
namespace {

void require_usable(const char* name, const ParameterStore& parameters) {
  require(parameters.dtype() == DType::f32, name, ": parameters of ", parameters.dtype(),
          ", expected f32; save() and load() keep other types");
  for (const ParameterStore::Entry* entry : parameters.entries()) {
    require(entry->values != nullptr, name, ": '", entry->path, "' has no memory, expected allocate() before");
    require(entry->record.packing == PackedType::f32, name, ": '", entry->path, "' is packed as ", name_of(entry->record.packing),
            ", expected f32");
  }
}

std::vector<index> extents_of(const ParameterStore::Entry& entry) {
  return {entry.shape().extents().begin(), entry.shape().extents().end()};
}

/// Lists how the file's tensors differ from the parameters.
std::vector<std::string> differences(const WeightFile& file, const ParameterStore& parameters) {
  std::vector<std::string> list, paths;
  for (const ParameterStore::Entry* entry : parameters.entries()) {
    paths.push_back(entry->path);
    const WeightTensor* tensor = file.find(entry->path);
    if (tensor == nullptr) {
      list.push_back(concat("it lacks ", entry->path, ' ', entry->shape()));
    } else if (tensor->shape != extents_of(*entry)) {
      list.push_back(concat("it has ", tensor->text(), ", expected ", entry->shape()));
    } else if (tensor->type == WeightType::other) {
      list.push_back(concat("it has ", tensor->text(), ", expected F32, F16, BF16 or F64"));
    }
  }
  std::ranges::sort(paths);
  for (const WeightTensor& tensor : file.tensors()) {
    if (!std::ranges::binary_search(paths, tensor.name)) {
      list.push_back(concat("it has ", tensor.text(), ", which the program does not"));
    }
  }
  return list;
}

}  // namespace

void save_safetensors(const std::filesystem::path& path, const ParameterStore& parameters, WeightType type) {
  require_usable("save_safetensors", parameters);
  require(type == WeightType::f32 || type == WeightType::f16 || type == WeightType::bf16 || type == WeightType::f64,
          "save_safetensors: the type ", type, ", expected f32, f16, bf16 or f64");
  std::vector<NewTensor> tensors;
  for (const ParameterStore::Entry* entry : parameters.entries()) {
    tensors.push_back(new_tensor(entry->path, type, extents_of(*entry), static_cast<const float*>(entry->values)));
  }
  write_safetensors(path.string(), std::move(tensors));
}

void load_safetensors(const std::filesystem::path& path, ParameterStore& parameters) {
  constexpr std::size_t kMost = 8;  // the most problems that a message names
  require_usable("load_safetensors", parameters);
  const WeightFile file = path.extension() == ".json" ? open_safetensors_index(path.string()) : open_safetensors(path.string());
  const std::vector<std::string> list = differences(file, parameters);
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, list.size()); ++i) {
    text += concat(i == 0 ? "" : "; ", list[i]);
  }
  require_input(list.empty(), path.string(), " does not fit this program: ", text,
                list.size() > kMost ? concat("; and ", list.size() - kMost, " more") : "", ". Nothing was loaded");
  for (ParameterStore::Entry* entry : parameters.entries()) {
    read_f32(*file.find(entry->path), 0, entry->size(), static_cast<float*>(entry->values));
  }
}

}  // namespace dikkat
