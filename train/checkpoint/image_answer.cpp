#include "train/checkpoint/image_answer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstring>

#include "autograd/base/error.h"
#include "train/checkpoint/header.h"
#include "train/checkpoint/stored_name.h"

namespace dikkat {

namespace {

enum class Kind : std::uint8_t { image, bad_file, failure };

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMaxSentence = 2000;

class Writer {
 public:
  explicit Writer(Kind kind) : text_(kLengthBytes, '\0') { text_ += static_cast<char>(kind); }

  void put(std::integral auto number) { put_bits(static_cast<std::uint64_t>(number)); }
  void put(double number) { put_bits(std::bit_cast<std::uint64_t>(number)); }
  void put(std::string_view text) {
    put_bits(text.size());
    text_ += text;
  }

  std::string done() && {
    const std::uint64_t length = text_.size();
    std::memcpy(text_.data(), &length, sizeof length);
    return std::move(text_);
  }

 private:
  void put_bits(std::uint64_t bits) {
    std::array<char, sizeof bits> bytes{};
    std::memcpy(bytes.data(), &bits, sizeof bits);
    text_.append(bytes.data(), bytes.size());
  }

  std::string text_;
};

void require_sense(bool ok) { require_input(ok, "cannot be parsed: its parser gave an answer that makes no sense; the file is hostile"); }

class Reader {
 public:
  explicit Reader(std::string_view rest) : rest_(rest) {}

  template <std::integral N>
  void get(N& number) {
    const std::uint64_t bits = get_bits();
    number = static_cast<N>(bits);
    require_sense(static_cast<std::uint64_t>(number) == bits);
  }
  void get(double& number) { number = std::bit_cast<double>(get_bits()); }
  void get(std::string& text) { text = get_text(); }

  std::string_view get_text() { return take(get_bits()); }
  std::string_view take(std::uint64_t count) {
    require_sense(count <= rest_.size());
    const std::string_view text = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return text;
  }
  bool empty() const { return rest_.empty(); }

 private:
  std::uint64_t get_bits() {
    std::uint64_t bits = 0;
    std::memcpy(&bits, take(sizeof bits).data(), sizeof bits);
    return bits;
  }

  std::string_view rest_;
};

/// The bytes of a tensor. Throws for a shape that cannot be, and for numbers that do not lie in the file.
index bytes_in_file(const StoredTensor& tensor, index file_bytes) {
  index bytes = 0;
  require_sense(!__builtin_mul_overflow(tensor.shape.size(), index{sizeof(float)}, &bytes));
  require_sense(bytes == 0 || (tensor.offset >= kHeaderBytes && tensor.offset <= file_bytes && bytes <= file_bytes - tensor.offset));
  return bytes;
}

Shape get_shape(Reader& reader) {
  std::uint64_t rank = 0;
  reader.get(rank);
  require_sense(rank <= Shape::kMaxRank);
  std::vector<index> e(rank);
  index size = 1;
  for (index& extent : e) {
    reader.get(extent);
    require_sense(extent >= 0 && !__builtin_mul_overflow(size, extent, &size));
  }
  return Shape(e);
}

ImageIndex get_image(Reader& reader, index file_bytes) {
  ImageIndex image;
  for_each_field(image.state, [&](const char*, auto& value) { reader.get(value); });
  reader.get(image.config);
  reader.get(image.tokenizer);
  index bytes_left = file_bytes;
  while (!reader.empty()) {
    StoredTensor tensor;
    reader.get(tensor.path);
    tensor.shape = get_shape(reader);
    reader.get(tensor.offset);
    tensor.bytes = bytes_in_file(tensor, file_bytes);
    bytes_left -= tensor.bytes;
    require_sense(bytes_left >= 0);
    require_sense(is_storable_name(tensor.path.substr(tensor.path.rfind('/') + 1)) &&
                  (image.tensors.empty() || image.tensors.back().path < tensor.path));
    image.tensors.push_back(std::move(tensor));
  }
  return image;
}

std::string sentence(std::string_view text) {
  std::string out(text.substr(0, kMaxSentence));
  std::replace_if(out.begin(), out.end(), is_control, '?');
  return out;
}

}  // namespace

std::string encode_image(const ImageIndex& image) {
  Writer writer(Kind::image);
  for_each_field(image.state, [&](const char*, const auto& value) { writer.put(value); });
  writer.put(image.config);
  writer.put(image.tokenizer);
  for (const StoredTensor& tensor : image.tensors) {
    writer.put(tensor.path);
    writer.put(tensor.shape.rank());
    for (int axis = 0; axis < tensor.shape.rank(); ++axis) {
      writer.put(tensor.shape[axis]);
    }
    writer.put(tensor.offset);
  }
  return std::move(writer).done();
}

std::string encode_error(std::string_view text, bool of_the_file) {
  Writer writer(of_the_file ? Kind::bad_file : Kind::failure);
  writer.put(text.substr(0, kMaxSentence));
  return std::move(writer).done();
}

ImageIndex decode_answer(std::string_view answer, index file_bytes) {
  Reader reader(answer);
  std::uint64_t length = 0;
  reader.get(length);
  require_sense(length == answer.size());
  const std::string_view kind = reader.take(1);
  if (kind[0] == static_cast<char>(Kind::image)) {
    return get_image(reader, file_bytes);
  }
  const std::string text = sentence(reader.get_text());
  require_sense(reader.empty() && !text.empty());
  require_sense(kind[0] == static_cast<char>(Kind::bad_file) || kind[0] == static_cast<char>(Kind::failure));
  if (kind[0] == static_cast<char>(Kind::bad_file)) {
    fail_input(text);
  }
  fail(text);
}

}  // namespace dikkat
