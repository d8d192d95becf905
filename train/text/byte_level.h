#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

/// How files of byte-level BPE write bytes as printable characters (openai/gpt-2, src/encoder.py, bytes_to_unicode): the 188 printable
/// bytes of Latin-1 as themselves, the other 68, in rising order, as U+0100, U+0101 ... A space is "Ġ", a line break "Ċ".
namespace dikkat::byte_level {

/// The bytes in the order of GPT-2's ids 0 to 255: the printable ones, then the others.
extern const std::array<unsigned char, 256> kOrder;

std::string to_text(std::string_view bytes);
/// nullopt if the text has a character that stands for no byte, or is not UTF-8.
std::optional<std::string> to_bytes(std::string_view text);

}  // namespace dikkat::byte_level
