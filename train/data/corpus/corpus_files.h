#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/error.h"
#include "autograd/base/index.h"
#include "train/data/corpus/byte_source.h"
#include "train/data/corpus/object_form.h"

namespace dikkat {

/// A file of a corpus.
struct CorpusFile {
  std::string name;                    // absolute path, or "standard input"
  std::string path;                    // the path to open it with, as often as needed
  std::shared_ptr<const void> copy{};  // keeps the copy of standard input open
  ObjectForm form = ObjectForm::none;  // set by open_corpus()
};

/// The files that were read, and the number of objects in each.
struct ObjectFiles {
  std::vector<std::string> names{};
  std::vector<index> objects{};
  index bytes = 0;  // bytes of all files
};

/// Files of one kind that were found in a folder but are not part of the corpus.
struct SkippedFiles {
  std::string what;     // "that end in .gz", "hidden"
  index files = 0;      // number of files; a hidden folder counts as one
  std::string example;  // the path of the first

  bool operator==(const SkippedFiles&) const = default;
};

/// Returns "13 files were skipped: 12 that end in .gz (docs/a.gz), 1 hidden (docs/.b)", or an empty string if there are none.
std::string describe(std::span<const SkippedFiles> skipped);

/// Thrown for a path that does not exist.
class MissingCorpus : public InputError {
 public:
  using InputError::InputError;
};

inline constexpr std::string_view kStandardInput = "-";
/// The mark that some editors write at the start of UTF-8 files.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
inline constexpr std::string_view kTextExtensions[] = {".txt", ".md", ".text", ".jsonl", ".ndjson"};

/// Lists the files of a corpus, in the order of `paths`.
///
/// A folder stands for the text files in and below it, sorted by path. These are regular files that end in one of `extensions` (in lower or
/// upper case), optionally followed by .gz or .zst. Other files, hidden files and folders, and the folders of training runs are skipped.
/// They are counted in `skipped`, which may be null.
///
/// A path with * ? or [ that does not exist is a pattern. It stands for the files that it matches, sorted, with any ending. FOLDER/**/NAME
/// stands for the files below FOLDER whose names match NAME.
///
/// "-" is standard input, which is copied into a temporary file (TMPDIR), since a corpus is read more than once.
///
/// Throws InputError if there are no paths, if a path is missing or given twice, and for a FIFO, device or socket. Throws it also for a
/// folder without text, and for a pattern that matches nothing.
std::vector<CorpusFile> find_corpus_files(std::span<const std::string> paths,
                                          std::span<const std::string_view> extensions = kTextExtensions,
                                          std::vector<SkippedFiles>* skipped = nullptr);

/// Returns the extension of a file in lower case, without a final .gz or .zst.
std::string extension_of(const std::string& path);
/// Returns whether a file has a JSON object on each line, judged by its name.
bool is_jsonl(const std::string& path);

/// Reads a whole file. Throws InputError if it is not a regular file, cannot be read, does not fit into memory, or is not text
/// (require_text()).
std::string read_text_file(const CorpusFile& file);

/// Throws InputError if `text` has a NUL byte and so is not text. `text` begins at byte `offset` of the file `name`. At offset 0 it also
/// throws for other known kinds of files and for UTF-16 or UTF-32 (file_kind.h), with advice on what to do.
void require_text(std::string_view text, std::size_t offset, const std::string& name);

}  // namespace dikkat
