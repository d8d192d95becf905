#include "train/exchange/formats/weight_file.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>

#include "autograd/base/error.h"
#include "train/exchange/formats/gguf_reader.h"
#include "train/exchange/formats/llmc.h"
#include "train/exchange/formats/safetensors.h"
#include "train/exchange/formats/safetensors_index.h"
#include "train/exchange/formats/torch_file.h"
#include "train/system/byte_reader.h"
#include "train/system/placeholder.h"

namespace dikkat {
namespace {

/// Returns the positions of the items, sorted by name. Throws InputError if two names are equal.
template <class Item, class NameOf>
std::vector<std::uint32_t> sorted_by(const std::vector<Item>& items, NameOf&& name_of_item, const std::string& file, const char* what) {
  require_input(items.size() <= std::numeric_limits<std::uint32_t>::max(), file, ": it has too many ", what, "s");
  std::vector<std::uint32_t> order(items.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto name_at = [&](std::uint32_t i) -> const std::string& { return name_of_item(items[i]); };
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return name_at(a) < name_at(b); });
  const auto twice =
      std::adjacent_find(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return name_at(a) == name_at(b); });
  require_input(twice == order.end(), file, ": it has two ", what, "s named ", twice == order.end() ? "" : in_quotes(name_at(*twice)));
  return order;
}

template <class Item, class NameOf>
const Item* found_in(const std::vector<Item>& items, const std::vector<std::uint32_t>& order, std::string_view name,
                     NameOf&& name_of_item) {
  const auto at =
      std::lower_bound(order.begin(), order.end(), name, [&](std::uint32_t i, std::string_view n) { return name_of_item(items[i]) < n; });
  return at != order.end() && name_of_item(items[*at]) == name ? &items[*at] : nullptr;
}

const std::string& tensor_name(const WeightTensor& tensor) { return tensor.name; }
const std::string& entry_key(const MetaEntry& entry) { return entry.key; }

}  // namespace

std::string WeightTensor::text() const { return concat(in_quotes(name), " (", type_name, " ", shape_text(shape), ")"); }

WeightFile::WeightFile(std::string name, std::vector<WeightTensor> tensors, std::vector<MetaEntry> metadata)
    : name_(std::move(name)), tensors_(std::move(tensors)), metadata_(std::move(metadata)) {
  by_name_ = sorted_by(tensors_, tensor_name, name_, "tensor");
  by_key_ = sorted_by(metadata_, entry_key, name_, "value");
}

const WeightTensor* WeightFile::find(std::string_view name) const { return found_in(tensors_, by_name_, name, tensor_name); }

const MetaValue* WeightFile::value(std::string_view key) const {
  const MetaEntry* entry = found_in(metadata_, by_key_, key, entry_key);
  return entry == nullptr ? nullptr : &entry->value;
}

void WeightFile::forget() const {
  for (const auto& file : files_) {
    file->forget();
  }
}

WeightFile open_mapped(const std::string& path, WeightFile (*parse)(std::span<const std::byte> bytes, const std::string& name)) {
  const auto file = std::make_shared<const MappedFile>(path);
  WeightFile weights = parse({file->data(), file->size()}, path);
  weights.keep(file);
  return weights;
}

WeightFormat weight_format_of(const std::string& path) {
  const MappedFile file(path);
  const std::span<const std::byte> bytes(file.data(), file.size());
  require_no_placeholder(as_text(bytes), path);
  if (as_text(bytes).starts_with("GGUF")) {
    return WeightFormat::gguf;
  }
  if (is_llmc(bytes)) {
    return WeightFormat::llmc;
  }
  return is_torch(bytes) ? WeightFormat::torch : WeightFormat::safetensors;
}

WeightFile open_weights(const std::string& path) {
  if (path.ends_with(".index.json")) {
    return open_safetensors_index(path);
  }
  switch (weight_format_of(path)) {
    case WeightFormat::gguf: return open_gguf(path);
    case WeightFormat::llmc: return open_llmc(path);
    case WeightFormat::torch: return open_torch(path);
    case WeightFormat::safetensors: break;
  }
  return open_safetensors(path);
}

}  // namespace dikkat
