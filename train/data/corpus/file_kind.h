#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dikkat {

/// A kind of file that is not text, recognized by bytes at a fixed offset.
struct FileKind {
  std::string_view magic;
  std::size_t offset = 0;   // offset of the magic bytes in the file
  std::string_view what;    // "a PDF document"
  std::string_view advice;  // what to do, with a working command if there is one; FILE stands for the file's name
};

/// The number of bytes at the start of a file that kind_of_file() looks at.
inline constexpr std::size_t kMagicBytes = 512;

/// Returns the kind of a file that begins with `begin`, from the only table of kinds; nullptr if it is not in the table.
const FileKind* kind_of_file(std::string_view begin);

/// Returns iconv's name of the encoding of UTF-16 or UTF-32 text; empty for other data. Judges by the byte order mark or, without one, by
/// the positions of the NUL bytes. `text` is the start of the file.
std::string_view wide_encoding(std::string_view text);

/// Returns advice with a file's name in place of FILE. FILE stays for data without a usable name, such as standard input.
std::string with_file_name(std::string_view advice, const std::string& name);

/// Returns advice on how to convert text in such an encoding: a command for the file `name`.
std::string advice_on_encoding(std::string_view encoding, const std::string& name);

/// Throws InputError, because the file is of this kind and not what `expected` names. The message includes the advice.
[[noreturn]] void refuse_kind(const FileKind& kind, const std::string& name, const char* expected);

}  // namespace dikkat
