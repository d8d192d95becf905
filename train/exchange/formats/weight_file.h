#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/index.h"
#include "train/exchange/formats/metadata.h"
#include "train/exchange/formats/weight_type.h"
#include "train/system/mapped_file.h"

namespace dikkat {

/// A tensor in another program's file. Its data are a view into the mapped file.
struct WeightTensor {
  static constexpr int kMaxRank = 8;

  std::string name;
  WeightType type = WeightType::other;
  std::string type_name;            ///< the file's name of the type, also of one that cannot be converted: "BF16", "q4_K", "LongStorage"
  std::vector<index> shape{};       ///< row-major, at most kMaxRank extents; empty for a scalar
  index elements = 0;               ///< the product of the shape
  const std::byte* data = nullptr;  ///< not aligned; the system loads pages when they are read
  index bytes = 0;

  /// Returns the tensor for messages: "transformer.wte.weight (BF16 [50257, 768])".
  std::string text() const;
};

/// The tensors and values of another program's weight file, or of a model in several such files. It knows types and shapes, but nothing
/// about models. Movable; views into the file live as long as this does.
class WeightFile {
 public:
  // Limits above those of any real model. They keep a reader's memory in proportion to the file.
  static constexpr std::size_t kMostTensors = std::size_t{1} << 20;
  static constexpr std::size_t kMostValues = std::size_t{1} << 18;

  /// Throws InputError, beginning with `name`, if two tensors or two values have the same name.
  WeightFile(std::string name, std::vector<WeightTensor> tensors, std::vector<MetaEntry> metadata);

  /// Returns the file's name in messages: its path.
  const std::string& name() const { return name_; }
  /// Returns the tensors in the order of the file.
  const std::vector<WeightTensor>& tensors() const { return tensors_; }
  /// Returns the tensor with this name, or null.
  const WeightTensor* find(std::string_view name) const;
  /// Returns the values in the order of the file.
  const std::vector<MetaEntry>& metadata() const { return metadata_; }
  /// Returns the value with this key, or null.
  const MetaValue* value(std::string_view key) const;

  /// Keeps the file mapped as long as this lives.
  void keep(std::shared_ptr<const MappedFile> file) { files_.push_back(std::move(file)); }
  /// Drops the pages that have been read from this process's memory. The system reads them again when they are needed.
  void forget() const;

 private:
  std::string name_;
  std::vector<WeightTensor> tensors_;
  std::vector<MetaEntry> metadata_;
  std::vector<std::uint32_t> by_name_{};
  std::vector<std::uint32_t> by_key_{};
  std::vector<std::shared_ptr<const MappedFile>> files_{};
};

/// Maps the file, reads it with `parse`, and keeps it mapped as long as the result lives. Throws as `parse` does, and InputError if the
/// file cannot be opened.
WeightFile open_mapped(const std::string& path, WeightFile (*parse)(std::span<const std::byte> bytes, const std::string& name));

/// Formats of weight files.
enum class WeightFormat : std::uint8_t { safetensors, gguf, llmc, torch };

/// Returns the format of a file by its first bytes, not by its name. An unknown file counts as safetensors, whose reader then reports the
/// problem. Throws InputError if it cannot be opened.
WeightFormat weight_format_of(const std::string& path);

/// Opens a weight file of any format: safetensors, a safetensors index (a name that ends in ".index.json"), GGUF, llm.c's .bin, a .pt file
/// of torch.save. Throws InputError, beginning with the path, for a file that is not a weight file, is damaged, or is not supported.
WeightFile open_weights(const std::string& path);

}  // namespace dikkat
