#include "train/data/corpus/corpus_files.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <new>
#include <optional>
#include <set>

#include <fnmatch.h>
#include <glob.h>
#include <unistd.h>

#include "autograd/base/error.h"
#include "train/data/corpus/file_kind.h"
#include "train/system/file.h"
#include "train/system/nameless_file.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;

using Extensions = std::span<const std::string_view>;

constexpr std::size_t kChunk = std::size_t{256} << 10;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

bool ends_in(const fs::path& path, Extensions extensions) {
  return std::find(extensions.begin(), extensions.end(), extension_of(path.string())) != extensions.end();
}

/// Returns ".a, .b or .c".
std::string list_of(Extensions extensions) {
  std::string list;
  for (std::size_t i = 0; i < extensions.size(); ++i) {
    list += concat(i == 0 ? "" : i + 1 == extensions.size() ? " or " : ", ", extensions[i]);
  }
  return list;
}

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

/// Returns whether this is the folder of a training run, whose files are not text to train on.
bool is_run(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path / "checkpoints", error) && fs::exists(path / "config.toml", error) && fs::exists(path / ".lock", error);
}

const char* name_of(fs::file_type type) {
  switch (type) {
    case fs::file_type::block:
    case fs::file_type::character: return "a device";
    case fs::file_type::fifo: return "a FIFO";
    case fs::file_type::socket: return "a socket";
    case fs::file_type::directory: return "a folder";
    default: return "not a regular file";
  }
}

/// Counts skipped files by kind.
class Omissions {
 public:
  void add(const std::string& what, const fs::path& path) {
    SkippedFiles& kind = kinds_[what];
    kind.what = what;
    kind.example = kind.files++ == 0 ? path.string() : std::min(kind.example, path.string());
  }

  /// Returns the kinds, those with the most files first.
  std::vector<SkippedFiles> sorted() const {
    std::vector<SkippedFiles> all;
    for (const auto& [what, kind] : kinds_) {
      all.push_back(kind);
    }
    std::stable_sort(all.begin(), all.end(), [](const SkippedFiles& a, const SkippedFiles& b) { return a.files > b.files; });
    return all;
  }

 private:
  std::map<std::string, SkippedFiles> kinds_;
};

constexpr std::string_view kThatEndIn = "that end in ";

/// Returns "that end in .log.gz".
std::string ending_of(const fs::path& path) {
  const std::string last = path.extension().string();
  const std::string inner = extension_of(path.string());
  return last.empty() ? "without an ending" : concat(kThatEndIn, inner == lower(last) ? "" : inner, last);
}

/// Returns the regular files in and below a folder for which `wanted` is true, sorted. Counts the other files.
std::vector<std::string> files_below(const fs::path& folder, const std::function<bool(const fs::path&)>& wanted, Omissions& omissions) {
  std::vector<fs::path> found;
  std::error_code error;
  fs::path at = folder;  // the path that an error concerns
  fs::recursive_directory_iterator entry(folder, error);
  for (const fs::recursive_directory_iterator end; !error && entry != end; entry.increment(error)) {
    at = entry->path();
    std::error_code ignored;
    if (is_hidden(at) || is_run(at)) {
      entry.disable_recursion_pending();
      omissions.add(is_hidden(at) ? "hidden" : "of training runs", at);
    } else if (entry->is_regular_file(ignored) && wanted(at)) {
      found.push_back(at);
    } else if (!entry->is_directory(ignored)) {
      omissions.add(entry->is_regular_file(ignored) ? ending_of(at) : "that are not regular files", at);
    }
  }
  require_input(!error, "corpus: cannot list the folder ", at.string(), ": ", error.message());
  std::sort(found.begin(), found.end());
  std::vector<std::string> files;
  std::transform(found.begin(), found.end(), std::back_inserter(files), [](const fs::path& file) { return file.string(); });
  return files;
}

std::vector<std::string> text_files_below(const fs::path& folder, Extensions extensions, std::vector<SkippedFiles>& skipped) {
  Omissions omissions;
  std::vector<std::string> files = files_below(folder, [&](const fs::path& path) { return ends_in(path, extensions); }, omissions);
  const std::vector<SkippedFiles> kinds = omissions.sorted();
  if (files.empty()) {
    const auto named = std::find_if(kinds.begin(), kinds.end(), [](const SkippedFiles& kind) { return kind.what.starts_with(kThatEndIn); });
    fail_input("corpus: the folder ", folder.string(), " contains no text, expected files that end in ", list_of(extensions),
               kinds.empty() ? "" : concat("; ", describe(kinds)),
               named == kinds.end() ? ""
                                    : concat("; to read files with another ending, give a pattern: '", folder.string(), "/**/*",
                                             fs::path(named->example).extension().string(), "'"));
  }
  skipped.insert(skipped.end(), kinds.begin(), kinds.end());
  return files;
}

/// For a pattern FOLDER/**/NAME, returns the files below the folder whose names match. Returns nullopt for other patterns.
std::optional<std::vector<std::string>> files_at_any_depth(const std::string& pattern) {
  constexpr std::string_view kAnyDepth = "**/";
  const std::size_t at = pattern.find(kAnyDepth);
  const std::string name = at == std::string::npos ? "" : pattern.substr(at + kAnyDepth.size());
  if (name.empty() || name.find('/') != std::string::npos) {
    return std::nullopt;
  }
  std::error_code error;
  const fs::path folder = fs::canonical(at == 0 ? "." : pattern.substr(0, at), error);
  if (error) {
    return std::vector<std::string>();
  }
  Omissions ignored;
  return files_below(folder, [&](const fs::path& path) { return ::fnmatch(name.c_str(), path.filename().c_str(), 0) == 0; }, ignored);
}

std::vector<std::string> text_files_of(const std::string& path, Extensions extensions, std::vector<SkippedFiles>& skipped);

std::vector<std::string> text_files_like(const std::string& pattern, Extensions extensions, std::vector<SkippedFiles>& skipped) {
  const auto require_some = [&](bool some) {
    require_input(some, "corpus: no file matches the pattern ", pattern, ", expected a text file or a folder of text files");
  };
  if (auto files = files_at_any_depth(pattern)) {
    require_some(!files->empty());
    return std::move(*files);
  }
  glob_t matches{};
  // NOLINTNEXTLINE(concurrency-mt-unsafe): only ~user in a pattern is unsafe, and GLOB_TILDE is not set
  const int result = ::glob(pattern.c_str(), 0, nullptr, &matches);
  std::vector<std::string> paths(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  ::globfree(&matches);
  require_some(result == 0 && !paths.empty());
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    for (std::string& file : text_files_of(path, extensions, skipped)) {
      files.push_back(std::move(file));
    }
  }
  return files;
}

std::vector<std::string> text_files_of(const std::string& path, Extensions extensions, std::vector<SkippedFiles>& skipped) {
  require_input(!path.empty(), "corpus: a path is empty, expected a text file or a folder of text files");
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found && path.find_first_of("*?[") != std::string::npos) {
    return text_files_like(path, extensions, skipped);
  }
  if (status.type() == fs::file_type::not_found) {
    throw MissingCorpus(concat("corpus: ", path, " does not exist, expected a text file or a folder of text files"));
  }
  require_input(!error, "corpus: cannot reach ", path, ": ", error.message());
  const bool is_folder = status.type() == fs::file_type::directory;
  require_input(is_folder || status.type() == fs::file_type::regular, "corpus: ", path, " is ", name_of(status.type()),
                ", expected a text file or a folder of text files, or - for standard input");
  const fs::path absolute = fs::canonical(path, error);
  require_input(!error, "corpus: cannot reach ", path, ": ", error.message());
  if (is_folder) {
    return text_files_below(absolute, extensions, skipped);
  }
  return {absolute.string()};
}

/// Copies standard input to a file without a name.
CorpusFile copy_of_standard_input() {
  std::error_code error;
  const std::string folder = fs::temp_directory_path(error).string();
  require_input(!error, "corpus: no temporary folder to copy standard input to (TMPDIR): ", error.message());
  const int file = open_nameless_file(folder);
  require_input(file >= 0, "corpus: standard input cannot be copied to ", folder, ": ", errno_text, "; set TMPDIR to another folder");
  std::shared_ptr<const void> owner(nullptr, [file](const void*) { ::close(file); });
  std::vector<std::byte> buffer(kChunk);
  for (index copied = 0, got = 0;; copied += got) {
    const int unread = read_next(STDIN_FILENO, buffer, got);
    require(unread == 0, "corpus: cannot read standard input: ", describe_errno(unread));
    if (got == 0) {
      return {.name = "standard input", .path = concat("/proc/self/fd/", file), .copy = std::move(owner)};
    }
    const int unwritten = write_all(file, copied, std::span(buffer).first(static_cast<std::size_t>(got)));
    require(unwritten == 0, "corpus: standard input cannot be copied to ", folder, ": ", describe_errno(unwritten),
            "; set TMPDIR to a folder with more free space");
  }
}

}  // namespace

std::string extension_of(const std::string& path) {
  const fs::path whole(path);
  const std::string last = lower(whole.extension().string());
  return last == ".gz" || last == ".zst" ? lower(whole.stem().extension().string()) : last;
}

std::vector<CorpusFile> find_corpus_files(std::span<const std::string> paths, Extensions extensions, std::vector<SkippedFiles>* skipped) {
  require_input(!paths.empty(), "corpus: not given, expected a text file or a folder of text files (--corpus PATH or data.corpus)");
  std::vector<CorpusFile> files;
  std::set<std::string> seen;
  std::vector<SkippedFiles> left_out;
  for (const std::string& path : paths) {
    for (std::string& file : path == kStandardInput ? std::vector<std::string>{path} : text_files_of(path, extensions, left_out)) {
      require_input(seen.insert(file).second, "corpus: ", file, " is given twice, expected each file once");
      files.push_back(file == kStandardInput ? copy_of_standard_input() : CorpusFile{.name = file, .path = file});
    }
  }
  if (skipped != nullptr) {
    skipped->insert(skipped->end(), left_out.begin(), left_out.end());
  }
  return files;
}

std::string describe(std::span<const SkippedFiles> skipped) {
  index all = 0;
  std::string kinds;
  for (const SkippedFiles& kind : skipped) {
    all += kind.files;
    kinds += concat(kinds.empty() ? "" : ", ", kind.files, ' ', kind.what, " (", kind.example, ')');
  }
  return all == 0 ? "" : concat(all, all == 1 ? " file was skipped: " : " files were skipped: ", kinds);
}

void require_text(std::string_view text, std::size_t offset, const std::string& name) {
  const FileKind* const kind = offset == 0 ? kind_of_file(text) : nullptr;
  if (kind != nullptr) {
    refuse_kind(*kind, name, "text");
  }
  const std::size_t nul = text.find('\0');
  const std::string_view encoding =
      offset == 0 && (nul != std::string_view::npos || text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) ? wide_encoding(text)
                                                                                                                     : std::string_view();
  require_input(encoding.empty(), "corpus: ", name, " looks like ", encoding, ", expected UTF-8; ", advice_on_encoding(encoding, name));
  require_input(nul == std::string_view::npos, "corpus: ", name, " is not text: it has a NUL byte at byte ", offset + nul,
                ", expected a text file; a GPT with the byte tokenizer reads any file (tokenizer.kind = \"byte\", --kind byte)");
}

bool is_jsonl(const std::string& path) {
  const std::string extension = extension_of(path);
  return extension == ".jsonl" || extension == ".ndjson";
}

std::string read_text_file(const CorpusFile& file) {
  const auto source = open_bytes(file.path, file.name);
  std::string text;
  try {
    while (const std::size_t got = append(*source, kChunk, text)) {
      const std::size_t had = text.size() - got;
      require_text(std::string_view(text).substr(had), had, file.name);
    }
    return text;
  } catch (const std::bad_alloc&) {
    fail_input("corpus: ", file.name, " has more than ", text.size(), " bytes, which do not fit into memory");
  }
}

}  // namespace dikkat
