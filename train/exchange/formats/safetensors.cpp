#include "train/exchange/formats/safetensors.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <tuple>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/system/byte_reader.h"
#include "train/system/json.h"
#include "train/system/placeholder.h"
#include "train/text/utf8.h"

namespace dikkat {
namespace {

constexpr std::uint64_t kMostHeaderBytes = 100'000'000;  // the limit of the format's own library

struct SafetensorsType {
  std::string_view name;
  index bits;
  WeightType type = WeightType::other;
};

/// All types, in the reverse of the order in which the format's own library writes them.
constexpr std::array kTypes{SafetensorsType{"BOOL", 8},
                            SafetensorsType{"F4", 4},
                            SafetensorsType{"F6_E2M3", 6},
                            SafetensorsType{"F6_E3M2", 6},
                            SafetensorsType{"U8", 8},
                            SafetensorsType{"I8", 8},
                            SafetensorsType{"F8_E5M2", 8},
                            SafetensorsType{"F8_E4M3", 8},
                            SafetensorsType{"F8_E8M0", 8},
                            SafetensorsType{"F8_E4M3FNUZ", 8},
                            SafetensorsType{"F8_E5M2FNUZ", 8},
                            SafetensorsType{"I16", 16},
                            SafetensorsType{"U16", 16},
                            SafetensorsType{"F16", 16, WeightType::f16},
                            SafetensorsType{"BF16", 16, WeightType::bf16},
                            SafetensorsType{"I32", 32},
                            SafetensorsType{"U32", 32},
                            SafetensorsType{"F32", 32, WeightType::f32},
                            SafetensorsType{"C64", 64},
                            SafetensorsType{"F64", 64, WeightType::f64},
                            SafetensorsType{"I64", 64},
                            SafetensorsType{"U64", 64}};

struct TensorInfo {
  std::string name;
  std::string dtype{};
  std::vector<index> shape{};
  std::vector<index> offsets{};
  bool has_dtype = false;
  bool has_shape = false;
  bool has_offsets = false;
};

/// Reads the header part by part, so that only the descriptions of tensors use memory.
class HeaderReader : public JsonWalker {
 public:
  explicit HeaderReader(std::string name) : name_(std::move(name)) {}

  /// Throws InputError for anything unexpected.
  void read(std::string_view text) {
    const std::size_t bad = walk_json(text, *this);
    check(bad == 0, "is not valid JSON at byte ", bad);
  }

  std::vector<TensorInfo> tensors{};
  std::vector<MetaEntry> metadata{};

 private:
  enum class Place : std::uint8_t { outside, names, tensor, metadata, shape, offsets };

  template <class... Parts>
  void check(bool ok, const Parts&... parts) const {
    require_input(ok, name_, ": the header ", parts...);
  }

  void on_key(std::string_view key) override {
    if (place_ == Place::names) {
      in_metadata_ = key == "__metadata__";
      if (in_metadata_) {
        check(!had_metadata_, "has \"__metadata__\" twice");
        had_metadata_ = true;
      } else {
        check(tensors.size() < WeightFile::kMostTensors, "has more than ", WeightFile::kMostTensors, " tensors");
        tensors.push_back({.name = std::string(key)});
      }
    } else if (place_ == Place::metadata) {
      check(metadata.size() < WeightFile::kMostValues, "has more than ", WeightFile::kMostValues, " texts in __metadata__");
      metadata.push_back({.key = std::string(key)});
    } else {
      TensorInfo& tensor = tensors.back();
      bool* has = key == "dtype"          ? &tensor.has_dtype
                  : key == "shape"        ? &tensor.has_shape
                  : key == "data_offsets" ? &tensor.has_offsets
                                          : nullptr;
      check(has != nullptr, "tensor ", in_quotes(tensor.name), " has a field ", in_quotes(key), ", expected dtype, shape and data_offsets");
      check(!*has, "tensor ", in_quotes(tensor.name), " has the field ", in_quotes(key), " twice");
      *has = true;
      field_ = has == &tensor.has_dtype ? Place::tensor : has == &tensor.has_shape ? Place::shape : Place::offsets;
    }
  }

  void on_object() override {
    check(place_ == Place::outside || place_ == Place::names, "has an object ", where());
    place_ = place_ == Place::outside ? Place::names : in_metadata_ ? Place::metadata : Place::tensor;
  }

  void on_object_end() override {
    if (place_ == Place::tensor) {
      const TensorInfo& tensor = tensors.back();
      check(tensor.has_dtype && tensor.has_shape && tensor.has_offsets, "tensor ", in_quotes(tensor.name), " has no field \"",
            !tensor.has_dtype   ? "dtype"
            : !tensor.has_shape ? "shape"
                                : "data_offsets",
            "\"");
    }
    place_ = Place::names;
  }

  void on_array() override {
    check(place_ == Place::tensor && field_ != Place::tensor, "has an array ", where());
    place_ = field_;
  }

  void on_array_end() override {
    const TensorInfo& tensor = tensors.back();
    check(place_ != Place::offsets || tensor.offsets.size() == 2, "tensor ", in_quotes(tensor.name), " has ", tensor.offsets.size(),
          " data_offsets, expected 2");
    place_ = Place::tensor;
  }

  void on_text(std::string_view text) override {
    if (place_ == Place::metadata) {
      metadata.back().value = MetaValue(text);
    } else {
      check(place_ == Place::tensor && field_ == Place::tensor, "has a text ", where());
      tensors.back().dtype = text;
    }
  }

  void on_number(std::optional<std::uint64_t> number) override {
    check(place_ == Place::shape || place_ == Place::offsets, "has a number ", where());
    TensorInfo& tensor = tensors.back();
    check(number && *number <= std::uint64_t{std::numeric_limits<index>::max()}, "tensor ", in_quotes(tensor.name), " has a number in its ",
          place_ == Place::shape ? "shape" : "data_offsets", " that is not an integer from 0 to 2^63 - 1");
    const bool shape = place_ == Place::shape;
    std::vector<index>& numbers = shape ? tensor.shape : tensor.offsets;
    const std::size_t most = shape ? WeightTensor::kMaxRank : 2;
    check(numbers.size() < most, "tensor ", in_quotes(tensor.name), " has more than ", most, shape ? " extents" : " data_offsets");
    numbers.push_back(static_cast<index>(*number));
  }

  void on_other() override { check(false, "has true, false or null ", where()); }

  /// Returns the end of a message about an unexpected value: its place, and what is expected there.
  std::string where() const {
    switch (place_) {
      case Place::outside: return "where the object of tensors is expected";
      case Place::names: return concat("as ", in_metadata_ ? "__metadata__" : in_quotes(tensors.back().name), ", expected an object");
      case Place::metadata: return "in __metadata__, expected texts";
      case Place::tensor:
      case Place::shape:
      case Place::offsets: break;
    }
    return concat("in the description of tensor ", in_quotes(tensors.back().name),
                  ", expected \"dtype\": text, \"shape\": [numbers], \"data_offsets\": [begin, end]");
  }

  std::string name_;
  Place place_ = Place::outside;
  Place field_ = Place::tensor;
  bool in_metadata_ = false;
  bool had_metadata_ = false;
};

/// Returns a tensor that its description and the data agree on. It must begin at `begin`, where the tensor before it ends.
WeightTensor checked_tensor(const std::string& name, TensorInfo& info, std::span<const std::byte> data, index begin) {
  const auto* const type = std::find_if(kTypes.begin(), kTypes.end(), [&](const SafetensorsType& t) { return t.name == info.dtype; });
  require_input(type != kTypes.end(), name, ": tensor ", in_quotes(info.name), " has the unknown type ", in_quotes(info.dtype));
  const index end = info.offsets[1];
  require_input(info.offsets[0] == begin && end >= begin, name, ": tensor ", in_quotes(info.name), " lies at bytes ", info.offsets[0],
                " to ", end, " of the data, expected it to begin at ", begin, ", where the tensor before it ends");
  require_input(end <= static_cast<index>(data.size()), name, ": tensor ", in_quotes(info.name), " ends at byte ", end,
                " of the data, but the file has only ", data.size(), " bytes of data: it is cut off");
  const auto elements = element_count(info.shape);
  const auto bits = elements ? checked_product(*elements, type->bits) : std::nullopt;
  require_input(bits && *bits % 8 == 0 && *bits / 8 == end - begin, name, ": tensor ", in_quotes(info.name), " (", info.dtype, " ",
                shape_text(info.shape), ") has ", end - begin, " bytes, expected ",
                bits ? concat(*bits / 8) : "more than any file can have");
  return {.name = std::move(info.name),
          .type = type->type,
          .type_name = std::move(info.dtype),
          .shape = std::move(info.shape),
          .elements = *elements,
          .data = data.data() + begin,
          .bytes = end - begin};
}

}  // namespace

WeightFile parse_safetensors(std::span<const std::byte> bytes, const std::string& name) {
  // Read the header.
  constexpr const char* kExpected = ", expected a safetensors file";
  require_input(bytes.size() >= sizeof(std::uint64_t), name, ": it has ", bytes.size(), " bytes", kExpected);
  ByteReader reader(bytes, name);
  const auto length = reader.number<std::uint64_t>("the length of the header");
  const std::uint64_t left = reader.left();
  const auto header = length <= kMostHeaderBytes && length <= left ? reader.take(length, "the header") : std::span<const std::byte>();
  const std::size_t first = as_text(header).find_first_not_of(" \t\r\n");  // some writers align the data with blanks before the object
  require_input(first != std::string_view::npos && header[first] == std::byte{'{'}, name, ": its first 8 bytes give a header of ", length,
                " bytes, which must fit into the ", left, " bytes that follow and begin with '{'", kExpected);
  HeaderReader parsed(name);
  parsed.read(as_text(header));
  std::sort(parsed.tensors.begin(), parsed.tensors.end(),
            [](const TensorInfo& a, const TensorInfo& b) { return std::tie(a.offsets, a.name) < std::tie(b.offsets, b.name); });

  // Find the tensors' data.
  const auto data = bytes.subspan(reader.at());
  std::vector<WeightTensor> tensors;
  tensors.reserve(parsed.tensors.size());
  index end = 0;
  for (TensorInfo& info : parsed.tensors) {
    tensors.push_back(checked_tensor(name, info, data, end));
    end += tensors.back().bytes;
  }
  require_input(end == static_cast<index>(data.size()), name, ": its tensors end at byte ", end, " of the data, which has ", data.size(),
                " bytes: the file was changed, or something was appended to it");
  return {name, std::move(tensors), std::move(parsed.metadata)};
}

WeightFile open_safetensors(const std::string& path) {
  return open_mapped(path, [](std::span<const std::byte> bytes, const std::string& name) {
    require_no_placeholder(as_text(bytes), name);
    return parse_safetensors(bytes, name);
  });
}

void write_safetensors(const std::string& path, std::vector<NewTensor> tensors, Faults* faults) {
  // Sort the tensors as the format's own library does.
  require_different_names(tensors, path);
  const auto type_of = [&](const NewTensor& tensor) {
    const auto* const type = std::find_if(kTypes.begin(), kTypes.end(),
                                          [&](const SafetensorsType& t) { return t.type == tensor.type && t.type != WeightType::other; });
    require_input(type != kTypes.end(), path, ": tensor ", in_quotes(tensor.name), ": safetensors has no type ", tensor.type,
                  ", expected f32, f16, bf16 or f64");
    return type;
  };
  std::for_each(tensors.begin(), tensors.end(), type_of);
  std::sort(tensors.begin(), tensors.end(), [&](const NewTensor& a, const NewTensor& b) {
    const auto* const first = type_of(a);
    const auto* const second = type_of(b);
    return first != second ? first > second : a.name < b.name;
  });

  // Describe the tensors in the header.
  std::string header = R"({"__metadata__":{"format":"pt"})";
  index end = 0;
  for (const NewTensor& tensor : tensors) {
    const index bytes = bytes_of(tensor, WeightTensor::kMaxRank);
    std::string shape;
    for (const index extent : tensor.shape) {
      shape += concat(shape.empty() ? "" : ",", extent);
    }
    require_input(!utf8::first_invalid(tensor.name), path, ": the name ", in_quotes(tensor.name), " is not UTF-8");
    header += concat(",", json_text(nlohmann::json(tensor.name)), ":{\"dtype\":\"", type_of(tensor)->name, "\",\"shape\":[", shape,
                     "],\"data_offsets\":[", end, ",", end + bytes, "]}");
    end += bytes;
  }
  header += '}';
  header.resize(static_cast<std::size_t>(round_up(static_cast<index>(header.size()), 8)), ' ');
  require_input(header.size() <= kMostHeaderBytes, path, ": the header would have ", header.size(), " bytes, but readers accept at most ",
                kMostHeaderBytes);

  // Write the file.
  const std::uint64_t length = header.size();
  write_file(
      path, static_cast<index>(sizeof length + length) + end,
      [&](ByteSink& sink) {
        sink.put(std::as_bytes(std::span(&length, 1)));
        sink.put(std::as_bytes(std::span(header)));
        for (const NewTensor& tensor : tensors) {
          put_elements(sink, tensor);
        }
      },
      faults);
}

}  // namespace dikkat
