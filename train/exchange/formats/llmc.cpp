#include "train/exchange/formats/llmc.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "autograd/base/error.h"
#include "train/system/byte_reader.h"

namespace dikkat {
namespace {

constexpr std::int32_t kMagic = 20240326;
constexpr std::int32_t kF32Version = 3;
constexpr std::int32_t kBf16Version = 5;
constexpr std::size_t kHeaderNumbers = 256;
using Numbers = std::array<std::int32_t, kHeaderNumbers>;

struct NumberOfHeader {
  const char* name;
  std::size_t place;
  index LlmcHeader::* member;
};
constexpr std::array kNumbers{
    NumberOfHeader{"max_seq_len", 2, &LlmcHeader::max_seq_len}, NumberOfHeader{"vocab_size", 3, &LlmcHeader::vocab_size},
    NumberOfHeader{"layers", 4, &LlmcHeader::layers},           NumberOfHeader{"heads", 5, &LlmcHeader::heads},
    NumberOfHeader{"channels", 6, &LlmcHeader::channels},       NumberOfHeader{"padded_vocab_size", 7, &LlmcHeader::padded_vocab_size}};

void require_sensible(const LlmcHeader& header, const std::string& name) {
  for (const NumberOfHeader& number : kNumbers) {
    const index value = header.*number.member;
    require_input(value > 0 && value <= std::numeric_limits<std::int32_t>::max(), name, ": the header has ", number.name, " = ", value,
                  ", expected 1 to 2147483647");
  }
  require_input(header.channels % header.heads == 0, name, ": the header has ", header.channels, " channels and ", header.heads,
                " heads, expected channels to be a multiple of heads");
  require_input(header.padded_vocab_size >= header.vocab_size, name, ": the header has padded_vocab_size = ", header.padded_vocab_size,
                ", expected at least vocab_size = ", header.vocab_size);
}

}  // namespace

std::vector<LlmcTensor> llmc_tensors(const LlmcHeader& header) {
  const index layers = header.layers;
  const index c = header.channels;
  return {{"wte", {header.padded_vocab_size, c}},
          {"wpe", {header.max_seq_len, c}},
          {"ln1w", {layers, c}},
          {"ln1b", {layers, c}},
          {"qkvw", {layers, 3 * c, c}},
          {"qkvb", {layers, 3 * c}},
          {"attprojw", {layers, c, c}},
          {"attprojb", {layers, c}},
          {"ln2w", {layers, c}},
          {"ln2b", {layers, c}},
          {"fcw", {layers, 4 * c, c}},
          {"fcb", {layers, 4 * c}},
          {"fcprojw", {layers, c, 4 * c}},
          {"fcprojb", {layers, c}},
          {"lnfw", {c}},
          {"lnfb", {c}}};
}

bool is_llmc(std::span<const std::byte> bytes) {
  return bytes.size() >= sizeof kMagic && std::memcmp(bytes.data(), &kMagic, sizeof kMagic) == 0;
}

WeightFile parse_llmc(std::span<const std::byte> bytes, const std::string& name) {
  // Read the header.
  require_input(is_llmc(bytes), name, ": it does not begin with the number ", kMagic, ", expected a model file of llm.c");
  ByteReader reader(bytes, name);
  const auto numbers = reader.number<Numbers>("the header");
  const std::int32_t version = numbers[1];
  require_input(version == kF32Version || version == kBf16Version, name, ": it is an llm.c model file of version ", version, ", expected ",
                kF32Version, " (f32) or ", kBf16Version, " (bf16): write it again with a current llm.c");
  LlmcHeader header;
  std::vector<MetaEntry> metadata;
  for (const NumberOfHeader& number : kNumbers) {
    header.*number.member = numbers[number.place];
    metadata.push_back({.key = number.name, .value = MetaValue(numbers[number.place])});
  }
  require_sensible(header, name);

  // Find the tensors after the header.
  const WeightType type = version == kF32Version ? WeightType::f32 : WeightType::bf16;
  std::vector<WeightTensor> tensors;
  for (LlmcTensor& expected : llmc_tensors(header)) {
    const auto size = byte_count(layout_of(type), expected.shape);
    require_input(size && static_cast<std::uint64_t>(*size) <= reader.left(), name, ": the file has ", bytes.size(), " bytes, but tensor ",
                  in_quotes(expected.name), " (", type, " ", shape_text(expected.shape), ") begins at byte ", reader.at(),
                  ": the file is cut off, or its header is damaged");
    const auto data = reader.take(static_cast<std::uint64_t>(*size), "a tensor");
    tensors.push_back({.name = std::move(expected.name),
                       .type = type,
                       .type_name = std::string(name_of(type)),
                       .shape = std::move(expected.shape),
                       .elements = *size / layout_of(type).bytes,
                       .data = data.data(),
                       .bytes = *size});
  }
  require_input(reader.left() == 0, name, ": the file has ", reader.left(), " bytes more than its header gives");
  return {name, std::move(tensors), std::move(metadata)};
}

WeightFile open_llmc(const std::string& path) { return open_mapped(path, parse_llmc); }

void write_llmc(const std::string& path, const LlmcHeader& header, const std::vector<NewTensor>& tensors, Faults* faults) {
  // Check the header.
  require_sensible(header, path);
  const std::vector<LlmcTensor> expected = llmc_tensors(header);
  require_input(tensors.size() == expected.size(), path, ": there are ", tensors.size(), " tensors to write, expected ", expected.size());
  const WeightType type = tensors.front().type;
  require_input(type == WeightType::f32 || type == WeightType::bf16, path, ": llm.c has no type ", type, ", expected f32 or bf16");
  Numbers numbers{};
  numbers[0] = kMagic;
  numbers[1] = type == WeightType::f32 ? kF32Version : kBf16Version;
  for (const NumberOfHeader& number : kNumbers) {
    numbers[number.place] = static_cast<std::int32_t>(header.*number.member);
  }

  // Check the tensors, and write the file.
  index total = sizeof numbers;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const NewTensor& tensor = tensors[i];
    require_input(tensor.name == expected[i].name && tensor.shape == expected[i].shape && tensor.type == type, path, ": tensor ", i + 1,
                  " is ", in_quotes(tensor.name), " (", tensor.type, " ", shape_text(tensor.shape), "), expected ",
                  in_quotes(expected[i].name), " (", type, " ", shape_text(expected[i].shape), ")");
    total += bytes_of(tensor, WeightTensor::kMaxRank);
  }
  write_file(
      path, total,
      [&](ByteSink& sink) {
        sink.put(std::as_bytes(std::span(numbers)));
        for (const NewTensor& tensor : tensors) {
          put_elements(sink, tensor);
        }
      },
      faults);
}

}  // namespace dikkat
