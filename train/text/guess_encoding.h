#pragma once

#include <string_view>

namespace dikkat {

/// Returns iconv's name of the encoding that a text which is not UTF-8 probably has; empty if none is likely. Judges by the commonest
/// letters of languages that are often stored in one byte for each letter, and by the pairs of bytes of Chinese, Japanese and Korean.
std::string_view guess_encoding(std::string_view text);

}  // namespace dikkat
