#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

/// Conversion between bytes and the printable characters that files of byte-level BPE use for them (openai/gpt-2, src/encoder.py,
/// bytes_to_unicode). The 188 printable bytes of Latin-1 stand for themselves; the other 68, in ascending order, are U+0100, U+0101 ... A
/// space is "Ġ", a line break "Ċ".
namespace dikkat::byte_level {

/// The bytes in the order of GPT-2's ids 0 to 255: the printable ones, then the others.
extern const std::array<unsigned char, 256> kOrder;

std::string to_text(std::string_view bytes);
/// Returns nullopt if the text is not UTF-8 or has a character that does not stand for a byte.
std::optional<std::string> to_bytes(std::string_view text);

}  // namespace dikkat::byte_level
