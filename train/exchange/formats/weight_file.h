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

/// A tensor in another program's file, where it lies in the mapped file: nothing is copied.
struct WeightTensor {
  static constexpr int kMaxRank = 8;

  std::string name;
  WeightType type = WeightType::other;
  std::string type_name;            ///< as the file has it, also of a type that is not converted: "BF16", "q4_K", "LongStorage"
  std::vector<index> shape{};       ///< row-major, at most kMaxRank extents; empty for a scalar
  index elements = 0;               ///< the product of the shape
  const std::byte* data = nullptr;  ///< of any alignment; the system loads the pages that are read
  index bytes = 0;

  /// "transformer.wte.weight (BF16 [50257, 768])", for messages.
  std::string text() const;
};

/// The tensors of another program's weight file (or of one divided into several), and the values beside them. It knows types and shapes,
/// and nothing of models. Movable; views into the file live as long as this does.
class WeightFile {
 public:
  // More than any model has: what readers keep of a file stays in proportion to it.
  static constexpr std::size_t kMostTensors = std::size_t{1} << 20;
  static constexpr std::size_t kMostValues = std::size_t{1} << 18;

  /// Throws InputError, beginning with `name`, if two tensors or two values have the same name.
  WeightFile(std::string name, std::vector<WeightTensor> tensors, std::vector<MetaEntry> metadata);

  /// What messages call the file: its path.
  const std::string& name() const { return name_; }
  /// In the order of the file.
  const std::vector<WeightTensor>& tensors() const { return tensors_; }
  /// The tensor with this name, or null.
  const WeightTensor* find(std::string_view name) const;
  /// In the order of the file.
  const std::vector<MetaEntry>& metadata() const { return metadata_; }
  /// The value with this key, or null.
  const MetaValue* value(std::string_view key) const;

  /// Keeps the file mapped as long as this lives.
  void keep(std::shared_ptr<const MappedFile> file) { files_.push_back(std::move(file)); }
  /// Drops the pages that were read from this process's memory. They are read again when needed.
  void forget() const;

 private:
  std::string name_;
  std::vector<WeightTensor> tensors_;
  std::vector<MetaEntry> metadata_;
  std::vector<std::uint32_t> by_name_{};
  std::vector<std::uint32_t> by_key_{};
  std::vector<std::shared_ptr<const MappedFile>> files_{};
};

/// Formats of weight files.
enum class WeightFormat : std::uint8_t { safetensors, gguf, llmc, torch };

/// Which format this file is, by its first bytes, not by its name. A file that is none of the others is taken for safetensors, whose reader
/// says what is wrong. Throws InputError if it cannot be opened.
WeightFormat weight_format_of(const std::string& path);

/// Opens a weight file of any format: safetensors, a safetensors index (a name that ends in ".index.json"), GGUF, llm.c's .bin, a .pt file
/// of torch.save. Throws InputError, beginning with the path, for a file that is none, is damaged, or needs what this program does not
/// know.
WeightFile open_weights(const std::string& path);

}  // namespace dikkat
