#include "train/exchange/formats/gguf_reader.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "autograd/base/error.h"
#include "train/exchange/formats/ggml_types.h"
#include "train/system/byte_reader.h"

namespace dikkat {
namespace {

MetaType meta_type(std::uint32_t number, const std::string& name, std::string_view key) {
  require_input(number <= static_cast<std::uint32_t>(MetaType::f64), name, ": value ", in_quotes(key), " has the unknown type ", number,
                ", expected 0 to 12");
  return static_cast<MetaType>(number);
}

MetaArray read_array(ByteReader& reader, const std::string& name, std::string_view key) {
  MetaArray array;
  array.element = meta_type(reader.number<std::uint32_t>("the type of an array"), name, key);
  require_input(array.element != MetaType::array, name, ": value ", in_quotes(key), " is an array of arrays, expected numbers or strings");
  const auto count = reader.number<std::uint64_t>("the length of an array");
  const std::uint64_t least =
      array.element == MetaType::string ? sizeof(std::uint64_t) : static_cast<std::uint64_t>(bytes_of(array.element));
  require_input(count <= reader.left() / least, name, ": value ", in_quotes(key), " is an array of ", count, " elements at byte ",
                reader.at(), ", but the file has only ", reader.left(), " bytes left");
  array.count = static_cast<index>(count);
  if (array.element == MetaType::string) {
    ByteReader ahead = reader;
    for (std::uint64_t i = 0; i < count; ++i) {
      ahead.text("a string of an array");
    }
    array.bytes = reader.take(ahead.at() - reader.at(), "an array");
  } else {
    array.bytes = reader.take(count * least, "an array");
  }
  if (array.element == MetaType::boolean) {
    require_input(std::all_of(array.bytes.begin(), array.bytes.end(), [](std::byte b) { return b <= std::byte{1}; }), name, ": value ",
                  in_quotes(key), " has a bool that is not 0 or 1");
  }
  return array;
}

MetaValue read_value(ByteReader& reader, const std::string& name, std::string_view key) {
  constexpr const char* kWhat = "a value";
  switch (meta_type(reader.number<std::uint32_t>("the type of a value"), name, key)) {
    case MetaType::u8: return MetaValue(reader.number<std::uint8_t>(kWhat));
    case MetaType::i8: return MetaValue(reader.number<std::int8_t>(kWhat));
    case MetaType::u16: return MetaValue(reader.number<std::uint16_t>(kWhat));
    case MetaType::i16: return MetaValue(reader.number<std::int16_t>(kWhat));
    case MetaType::u32: return MetaValue(reader.number<std::uint32_t>(kWhat));
    case MetaType::i32: return MetaValue(reader.number<std::int32_t>(kWhat));
    case MetaType::f32: return MetaValue(reader.number<float>(kWhat));
    case MetaType::boolean: {
      const auto value = reader.number<std::uint8_t>(kWhat);
      require_input(value <= 1, name, ": value ", in_quotes(key), " is a bool of ", value, ", expected 0 or 1");
      return MetaValue(value == 1);
    }
    case MetaType::string: return MetaValue(reader.text(kWhat));
    case MetaType::array: return MetaValue(read_array(reader, name, key));
    case MetaType::u64: return MetaValue(reader.number<std::uint64_t>(kWhat));
    case MetaType::i64: return MetaValue(reader.number<std::int64_t>(kWhat));
    case MetaType::f64: return MetaValue(reader.number<double>(kWhat));
    case MetaType::none: break;
  }
  return MetaValue();
}

/// A tensor's description. Its data can be found when all descriptions have been read.
struct Described {
  WeightTensor tensor;
  std::uint64_t offset;
};

Described read_description(ByteReader& reader, const std::string& name) {
  const std::string_view tensor_name = reader.text("the name of a tensor");
  const auto rank = reader.number<std::uint32_t>("the number of a tensor's dimensions");
  require_input(rank <= kGgufMostExtents, name, ": tensor ", in_quotes(tensor_name), " has ", rank, " dimensions, expected at most ",
                kGgufMostExtents);
  WeightTensor tensor{.name = std::string(tensor_name), .type_name = {}, .shape = std::vector<index>(rank)};
  for (std::uint32_t i = rank; i-- > 0;) {
    const auto extent = reader.number<std::uint64_t>("a tensor's dimension");
    require_input(extent <= std::uint64_t{std::numeric_limits<index>::max()}, name, ": tensor ", in_quotes(tensor_name),
                  " has a dimension of ", extent);
    tensor.shape[i] = static_cast<index>(extent);
  }
  const auto number = reader.number<std::uint32_t>("the type of a tensor");
  const auto* const type = std::find_if(kGgmlTypes.begin(), kGgmlTypes.end(), [&](const GgmlType& t) { return t.number == number; });
  require_input(type != kGgmlTypes.end(), name, ": tensor ", in_quotes(tensor_name), " has the unknown type ", number,
                ", which is either new or no longer used");
  const auto bytes = byte_count(type->layout, tensor.shape);
  require_input(bytes.has_value(), name, ": tensor ", in_quotes(tensor_name), " (", type->name, " ", shape_text(tensor.shape),
                ") is too large, or its rows are not whole blocks of ", type->layout.elements, " elements");
  tensor.type = type->type;
  tensor.type_name = type->name;
  tensor.elements = element_count(tensor.shape).value_or(0);
  tensor.bytes = *bytes;
  return {std::move(tensor), reader.number<std::uint64_t>("the place of a tensor")};
}

std::uint64_t alignment_in(const std::vector<MetaEntry>& metadata, const std::string& name) {
  const auto entry = std::find_if(metadata.begin(), metadata.end(), [](const MetaEntry& e) { return e.key == "general.alignment"; });
  if (entry == metadata.end()) {
    return kGgufAlignment;
  }
  const std::uint64_t alignment = entry->value.type() == MetaType::u32 ? entry->value.bits() : 0;
  require_input(std::has_single_bit(alignment), name, ": general.alignment is ", entry->value.text(), ", expected a power of two, as u32");
  return alignment;
}

std::uint64_t round_up_to(std::uint64_t value, std::uint64_t alignment) { return (value + alignment - 1) & ~(alignment - 1); }

}  // namespace

WeightFile parse_gguf(std::span<const std::byte> bytes, const std::string& name) {
  // Read the header.
  ByteReader reader(bytes, name);
  const auto magic = reader.take(4, "\"GGUF\"");
  require_input(std::equal(magic.begin(), magic.end(), reinterpret_cast<const std::byte*>("GGUF")), name,
                ": it does not begin with \"GGUF\", expected a GGUF file");
  const auto version = reader.number<std::uint32_t>("the version");
  require_input(version == 0 || (version & 0xFFFFU) != 0, name,
                ": it is a big-endian GGUF file, expected a little-endian one: convert it on the machine that wrote it");
  require_input(version == 2 || version == 3, name, ": it is a GGUF file of version ", version, ", expected 2 or 3",
                version == 1 ? ": convert it again with a current llama.cpp" : "");
  const auto tensor_count = reader.number<std::uint64_t>("the number of tensors");
  const auto value_count = reader.number<std::uint64_t>("the number of values");
  require_input(tensor_count <= WeightFile::kMostTensors && value_count <= WeightFile::kMostValues, name, ": its header gives ",
                tensor_count, " tensors and ", value_count, " values, expected at most ", WeightFile::kMostTensors, " and ",
                WeightFile::kMostValues);

  // Read the values and the descriptions of tensors.
  std::vector<MetaEntry> metadata;
  for (std::uint64_t i = 0; i < value_count; ++i) {
    const std::string_view key = reader.text("the key of a value");
    metadata.push_back({.key = std::string(key), .value = read_value(reader, name, key)});
  }
  std::vector<Described> described;
  for (std::uint64_t i = 0; i < tensor_count; ++i) {
    described.push_back(read_description(reader, name));
  }

  // Find the tensors' data.
  const std::uint64_t alignment = alignment_in(metadata, name);
  const std::uint64_t begin = round_up_to(reader.at(), alignment);
  std::vector<WeightTensor> tensors;
  tensors.reserve(described.size());
  std::uint64_t expected = 0;
  for (Described& item : described) {
    WeightTensor& tensor = item.tensor;
    require_input(item.offset == expected, name, ": tensor ", in_quotes(tensor.name), " lies at byte ", item.offset,
                  " of the data, expected byte ", expected, ", after the tensor before it");
    const auto size = static_cast<std::uint64_t>(tensor.bytes);
    require_input(size == 0 || (begin <= bytes.size() && expected <= bytes.size() - begin && size <= bytes.size() - begin - expected), name,
                  ": tensor ", in_quotes(tensor.name), " has ", size, " bytes from byte ", expected, " of the data, which begin at byte ",
                  begin, ", but the file has only ", bytes.size(), " bytes: it is cut off");
    tensor.data = size == 0 ? bytes.data() : bytes.data() + begin + expected;
    expected = round_up_to(expected + size, alignment);
    tensors.push_back(std::move(tensor));
  }
  return {name, std::move(tensors), std::move(metadata)};
}

WeightFile open_gguf(const std::string& path) { return open_mapped(path, parse_gguf); }

}  // namespace dikkat
