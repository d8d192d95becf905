#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/error.h"
#include "autograd/base/index.h"
#include "train/data/byte_source.h"

namespace dikkat {

/// A file of a corpus.
struct CorpusFile {
  std::string name;                    // absolute path, or "standard input"
  std::string path;                    // where it can be opened, again and again
  std::shared_ptr<const void> copy{};  // of standard input; closed with the last owner
};

/// Files of a folder that were left out, of one kind.
struct PassedOver {
  std::string what;     // "that end in .gz", "hidden"
  index files = 0;      // a hidden folder counts as one
  std::string example;  // the path of the first

  bool operator==(const PassedOver&) const = default;
};

/// "13 files were passed over: 12 that end in .gz (docs/a.gz), 1 hidden (docs/.b)"; empty where there are none.
std::string describe(std::span<const PassedOver> passed_over);

/// A path of a corpus where nothing is.
class MissingCorpus : public InputError {
 public:
  using InputError::InputError;
};

inline constexpr std::string_view kStandardInput = "-";
/// What some editors put at the start of UTF-8.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
inline constexpr std::string_view kTextExtensions[] = {".txt", ".md", ".text", ".jsonl", ".ndjson"};

/// The files that `paths` name, in the order of `paths`.
///
/// A folder stands for the text files in it and below it, sorted by path: regular files that end in one of `extensions` (in lower or upper
/// case), or in one and then .gz or .zst. Hidden files and folders and the folders of training runs are left out. What else folders hold is
/// appended to `passed_over` (may be null).
///
/// A path with * ? or [ that is no file's is a pattern, and stands for what it matches, sorted: files of any ending. FOLDER/**/NAME stands
/// for the files below FOLDER whose names match NAME.
///
/// "-" is standard input, which is copied into a temporary file (TMPDIR), since a corpus is read more than once.
///
/// Throws InputError when there is no path, and for one that is missing, given twice, a FIFO, device or socket, a folder without text, or a
/// pattern that matches nothing.
std::vector<CorpusFile> find_corpus_files(std::span<const std::string> paths,
                                          std::span<const std::string_view> extensions = kTextExtensions,
                                          std::vector<PassedOver>* passed_over = nullptr);

/// The extension that tells what is in a file, in lower case: that before .gz or .zst where there is one.
std::string extension_of(const std::string& path);

/// The whole file. Throws InputError when it is no regular file, cannot be read, is larger than memory, or is binary (has a NUL byte).
std::string read_text_file(const CorpusFile& file);

/// Throws InputError where the text, which begins at `offset` of what `name` names, has a NUL byte: it is no text then.
void require_text(std::string_view text, std::size_t offset, const std::string& name);

}  // namespace dikkat
