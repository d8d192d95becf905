#include "train/exchange/formats/gguf_writer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <set>

#include "autograd/base/error.h"
#include "train/exchange/formats/ggml_types.h"

namespace dikkat {
namespace {

template <class T>
void append(std::string& out, T number) {
  out.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void append_string(std::string& out, std::string_view text) {
  append(out, std::uint64_t{text.size()});
  out += text;
}

void append_value(std::string& out, const MetaValue& value) {
  append(out, static_cast<std::uint32_t>(value.type()));
  switch (value.type()) {
    case MetaType::u8:
    case MetaType::i8:
    case MetaType::boolean:
    case MetaType::u16:
    case MetaType::i16:
    case MetaType::u32:
    case MetaType::i32:
    case MetaType::u64:
    case MetaType::i64: {
      const std::uint64_t bits = value.bits();
      out.append(reinterpret_cast<const char*>(&bits), static_cast<std::size_t>(bytes_of(value.type())));
      break;
    }
    case MetaType::f32: append(out, static_cast<float>(value.number().value_or(0))); break;
    case MetaType::f64: append(out, value.number().value_or(0)); break;
    case MetaType::string: append_string(out, value.string().value_or("")); break;
    case MetaType::array: {
      const MetaArray& array = *value.array();
      append(out, static_cast<std::uint32_t>(array.element));
      append(out, static_cast<std::uint64_t>(array.count));
      out.append(reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size());
      break;
    }
    case MetaType::none: break;
  }
}

const GgmlType& ggml_type_of(const NewTensor& tensor, const std::string& path) {
  const auto* const type = std::find_if(kGgmlTypes.begin(), kGgmlTypes.end(), [&](const GgmlType& t) { return t.type == tensor.type; });
  require_input(type != kGgmlTypes.end() && can_be_written(tensor.type), path, ": tensor ", in_quotes(tensor.name),
                " has a type that cannot be written");
  return *type;
}

index alignment_of(const std::vector<MetaEntry>& metadata, const std::string& path) {
  std::uint64_t alignment = kGgufAlignment;
  std::set<std::string_view> keys;
  for (const MetaEntry& entry : metadata) {
    require_input(keys.insert(entry.key).second, path, ": two values with the key ", in_quotes(entry.key), " cannot be written");
    require_input(entry.value.type() != MetaType::none, path, ": the value ", in_quotes(entry.key), " is none, which GGUF does not have");
    if (entry.key == "general.alignment") {
      alignment = entry.value.type() == MetaType::u32 ? entry.value.bits() : 0;
    }
  }
  require_input(std::has_single_bit(alignment), path, ": general.alignment must be a power of two, as u32");
  return static_cast<index>(alignment);
}

}  // namespace

void write_gguf(const std::string& path, const std::vector<MetaEntry>& metadata, const std::vector<NewTensor>& tensors, Faults* faults) {
  // Put the head together: values, and descriptions of tensors.
  require_different_names(tensors, path);
  const index alignment = alignment_of(metadata, path);
  std::string head = "GGUF";
  append(head, std::uint32_t{3});
  append(head, std::uint64_t{tensors.size()});
  append(head, std::uint64_t{metadata.size()});
  for (const MetaEntry& entry : metadata) {
    append_string(head, entry.key);
    append_value(head, entry.value);
  }
  index offset = 0;
  for (const NewTensor& tensor : tensors) {
    require_input(tensor.name.size() <= kGgufLongestName, path, ": the name of tensor ", in_quotes(tensor.name), " has ",
                  tensor.name.size(), " bytes, expected at most ", kGgufLongestName);
    const index bytes = bytes_of(tensor, kGgufMostExtents);
    append_string(head, tensor.name);
    append(head, static_cast<std::uint32_t>(tensor.shape.size()));
    std::for_each(tensor.shape.rbegin(), tensor.shape.rend(), [&](index extent) { append(head, static_cast<std::uint64_t>(extent)); });
    append(head, ggml_type_of(tensor, path).number);
    append(head, static_cast<std::uint64_t>(offset));
    offset += round_up(bytes, alignment);
  }
  head.resize(static_cast<std::size_t>(round_up(static_cast<index>(head.size()), alignment)), '\0');

  // Write the file with the tensors' data.
  write_file(
      path, static_cast<index>(head.size()) + offset,
      [&](ByteSink& sink) {
        sink.put(std::as_bytes(std::span(head)));
        for (const NewTensor& tensor : tensors) {
          const index bytes = bytes_of(tensor, kGgufMostExtents);
          put_elements(sink, tensor);
          put_zeros(sink, round_up(bytes, alignment) - bytes);
        }
      },
      faults);
}

}  // namespace dikkat
