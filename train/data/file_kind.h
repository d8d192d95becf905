#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dikkat {

/// A kind of file that is not text, known by bytes at a fixed place.
struct FileKind {
  std::string_view magic;
  std::size_t offset = 0;  // of the magic bytes
  std::string_view what;   // "a PDF document"
  std::string_view
      advice;  // what to do: a sentence, in which FILE stands for the file's name; it gives a command that works, where there is one
};

/// The bytes from the start of a file that kind_of_file() looks at.
inline constexpr std::size_t kMagicBytes = 512;

/// The kind of the file that begins so, from the one table of kinds; nullptr for none of them.
const FileKind* kind_of_file(std::string_view begin);

/// The encoding of text in UTF-16 or UTF-32, by its byte order mark or, without one, by where its NUL bytes are: the name that iconv knows.
/// Empty for other data. `text` is the start of the file.
std::string_view wide_encoding(std::string_view text);

/// What to do about text in such an encoding: a command, in which the file is `name`.
std::string advice_on_encoding(std::string_view encoding, const std::string& name);

/// Throws InputError: the file is of this kind, `expected` names what it should be. Says what to do.
[[noreturn]] void refuse_kind(const FileKind& kind, const std::string& name, const char* expected);

}  // namespace dikkat
