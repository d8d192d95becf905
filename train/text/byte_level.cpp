#include "train/text/byte_level.h"

#include "train/text/utf8.h"

namespace dikkat::byte_level {
namespace {

constexpr bool prints(int byte) { return (0x21 <= byte && byte <= 0x7E) || (0xA1 <= byte && byte <= 0xAC) || 0xAE <= byte; }

constexpr std::array<unsigned char, 256> make_order() {
  std::array<unsigned char, 256> order{};
  std::size_t at = 0;
  for (const bool printing : {true, false}) {
    for (int byte = 0; byte < 256; ++byte) {
      if (prints(byte) == printing) {
        order[at++] = static_cast<unsigned char>(byte);
      }
    }
  }
  return order;
}

constexpr std::size_t kPrinting = 188;
constexpr char32_t kFirstOther = 0x100;  // stands for the first byte that does not print

constexpr std::array<char32_t, 256> make_characters() {
  constexpr auto order = make_order();
  std::array<char32_t, 256> characters{};
  for (std::size_t i = 0; i < order.size(); ++i) {
    characters[order[i]] = i < kPrinting ? order[i] : kFirstOther + static_cast<char32_t>(i - kPrinting);
  }
  return characters;
}

constexpr std::array<char32_t, 256> kCharacters = make_characters();  // by byte

}  // namespace

const std::array<unsigned char, 256> kOrder = make_order();

std::string to_text(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) {
    utf8::append(text, kCharacters[static_cast<unsigned char>(byte)]);
  }
  return text;
}

std::optional<std::string> to_bytes(std::string_view text) {
  std::string bytes;
  for (index at = 0; at < static_cast<index>(text.size());) {
    const utf8::Character character = utf8::decode(text, at);
    const char32_t c = character.code_point;
    const std::size_t other = c - kFirstOther + kPrinting;
    if (character.fault != utf8::Fault::none || (c < kFirstOther ? !prints(static_cast<int>(c)) : other >= kOrder.size())) {
      return std::nullopt;
    }
    bytes += static_cast<char>(c < kFirstOther ? static_cast<unsigned char>(c) : kOrder[other]);
    at += character.bytes;
  }
  return bytes;
}

}  // namespace dikkat::byte_level
