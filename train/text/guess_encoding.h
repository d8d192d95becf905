#pragma once

#include <string_view>

namespace dikkat {

/// Returns iconv's name of the probable encoding of a text that is not UTF-8; empty if none is likely. Judges one-byte encodings by the
/// most common letters of their languages, and Chinese, Japanese and Korean by pairs of bytes.
std::string_view guess_encoding(std::string_view text);

}  // namespace dikkat
