#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/data/byte_source.h"

namespace dikkat {

/// A file of a corpus.
struct CorpusFile {
  std::string name;                    // absolute path, or "standard input"
  std::string path;                    // where it can be opened, again and again
  std::shared_ptr<const void> copy{};  // of standard input; gone with the last of its kind
};

inline constexpr std::string_view kStandardInput = "-";
inline constexpr std::string_view kTextExtensions[] = {".txt", ".md", ".text", ".jsonl", ".ndjson"};

/// The files that `paths` name, in the order of `paths`. A folder stands for the text files in it and below it, sorted by path: regular
/// files that end in one of `extensions` (lower case; files may use any), or in one and then .gz or .zst, hidden files and folders left
/// out. A path with * ? or [ that is no file's stands for what it matches, sorted. "-" is standard input, which is copied into a
/// temporary file (TMPDIR), since a corpus is read more than once.
/// Throws InputError when there is no path, and for one that is missing, given twice, a FIFO, device or socket, a folder without text, or a
/// pattern that matches nothing.
std::vector<CorpusFile> find_corpus_files(std::span<const std::string> paths,
                                          std::span<const std::string_view> extensions = kTextExtensions);

/// The extension that tells what is in a file, in lower case: that before .gz or .zst where there is one.
std::string extension_of(const std::string& path);

/// The whole file. Throws InputError when it is no regular file, cannot be read, is larger than memory, or is binary (has a NUL byte).
std::string read_text_file(const CorpusFile& file);

/// Throws InputError where the stretch, which begins at `offset`, has a NUL byte: it is no text then.
void require_text(std::string_view stretch, std::size_t offset, const std::string& name);

}  // namespace dikkat
