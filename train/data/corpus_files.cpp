#include "train/data/corpus_files.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <new>
#include <set>

#include <glob.h>
#include <unistd.h>

#include "autograd/base/error.h"
#include "train/io/nameless_file.h"

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

/// ".a, .b or .c"
std::string list_of(Extensions extensions) {
  std::string list;
  for (std::size_t i = 0; i < extensions.size(); ++i) {
    list += concat(i == 0 ? "" : i + 1 == extensions.size() ? " or " : ", ", extensions[i]);
  }
  return list;
}

bool is_hidden(const fs::path& path) { return path.filename().string().starts_with('.'); }

/// The folder of a training run, whose metrics are no text to train on.
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
    default: return "no regular file";
  }
}

std::vector<std::string> text_files_below(const fs::path& folder, Extensions extensions) {
  std::vector<fs::path> found;
  std::error_code error;
  fs::path at = folder;  // what an error is about
  fs::recursive_directory_iterator entry(folder, error);
  for (const fs::recursive_directory_iterator end; !error && entry != end; entry.increment(error)) {
    at = entry->path();
    if (is_hidden(at) || is_run(at)) {
      entry.disable_recursion_pending();
    } else if (std::error_code ignored; ends_in(at, extensions) && entry->is_regular_file(ignored)) {
      found.push_back(at);
    }
  }
  require_input(!error, "corpus: cannot list the folder ", at.string(), ": ", error.message());
  require_input(!found.empty(), "corpus: the folder ", folder.string(), " holds no text, expected files that end in ", list_of(extensions));
  std::sort(found.begin(), found.end());
  std::vector<std::string> files;
  std::transform(found.begin(), found.end(), std::back_inserter(files), [](const fs::path& file) { return file.string(); });
  return files;
}

std::vector<std::string> text_files_of(const std::string& path, Extensions extensions);

std::vector<std::string> text_files_like(const std::string& pattern, Extensions extensions) {
  glob_t matches{};
  // NOLINTNEXTLINE(concurrency-mt-unsafe): unsafe is what ~user in a pattern asks for, and GLOB_TILDE is not given
  const int result = ::glob(pattern.c_str(), 0, nullptr, &matches);
  std::vector<std::string> paths(matches.gl_pathv, matches.gl_pathv + matches.gl_pathc);
  ::globfree(&matches);
  require_input(result == 0 && !paths.empty(), "corpus: nothing is like ", pattern, ", expected a text file or a folder of text files");
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    for (std::string& file : text_files_of(path, extensions)) {
      files.push_back(std::move(file));
    }
  }
  return files;
}

std::vector<std::string> text_files_of(const std::string& path, Extensions extensions) {
  require_input(!path.empty(), "corpus: a path is empty, expected a text file or a folder of text files");
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found && path.find_first_of("*?[") != std::string::npos) {
    return text_files_like(path, extensions);
  }
  require_input(status.type() != fs::file_type::not_found, "corpus: ", path,
                " does not exist, expected a text file or a folder of text files");
  require_input(!error, "corpus: cannot reach ", path, ": ", error.message());
  const bool is_folder = status.type() == fs::file_type::directory;
  require_input(is_folder || status.type() == fs::file_type::regular, "corpus: ", path, " is ", name_of(status.type()),
                ", expected a text file or a folder of text files, or - for standard input");
  const fs::path absolute = fs::canonical(path, error);
  require_input(!error, "corpus: cannot reach ", path, ": ", error.message());
  if (is_folder) {
    return text_files_below(absolute, extensions);
  }
  return {absolute.string()};
}

/// A file without a name that holds what standard input had.
CorpusFile copy_of_standard_input() {
  std::error_code error;
  const std::string folder = fs::temp_directory_path(error).string();
  require_input(!error, "corpus: there is no folder to copy standard input to (TMPDIR): ", error.message());
  const int file = open_nameless_file(folder);
  require_input(file >= 0, "corpus: standard input cannot be copied to ", folder, ": ", errno_text, "; set TMPDIR to another folder");
  std::shared_ptr<const void> owner(nullptr, [file](const void*) { ::close(file); });
  std::vector<char> buffer(kChunk);
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, buffer.data(), buffer.size());
    if (got == 0) {
      return {.name = "standard input", .path = concat("/proc/self/fd/", file), .copy = std::move(owner)};
    }
    require_input(got > 0 || errno == EINTR, "corpus: cannot read standard input: ", errno_text);
    for (ssize_t at = 0; at < got;) {
      const ssize_t put = ::write(file, buffer.data() + at, static_cast<std::size_t>(got - at));
      require_input(put >= 0 || errno == EINTR, "corpus: standard input cannot be copied to ", folder, ": ", errno_text,
                    "; set TMPDIR to a folder with more room");
      at += std::max<ssize_t>(put, 0);
    }
  }
}

}  // namespace

std::string extension_of(const std::string& path) {
  const fs::path whole(path);
  const std::string last = lower(whole.extension().string());
  return last == ".gz" || last == ".zst" ? lower(whole.stem().extension().string()) : last;
}

std::vector<CorpusFile> find_corpus_files(std::span<const std::string> paths, Extensions extensions) {
  require_input(!paths.empty(), "corpus: none is given, expected a text file or a folder of text files (--corpus PATH or data.corpus)");
  std::vector<CorpusFile> files;
  std::set<std::string> seen;
  for (const std::string& path : paths) {
    for (std::string& file : path == kStandardInput ? std::vector<std::string>{path} : text_files_of(path, extensions)) {
      require_input(seen.insert(file).second, "corpus: ", file, " is given twice, expected each file once");
      files.push_back(file == kStandardInput ? copy_of_standard_input() : CorpusFile{.name = file, .path = file});
    }
  }
  return files;
}

void require_text(std::string_view stretch, std::size_t offset, const std::string& name) {
  if (const std::size_t nul = stretch.find('\0'); nul != std::string_view::npos) {
    const bool utf16 = offset == 0 && (stretch.starts_with("\xFF\xFE") || stretch.starts_with("\xFE\xFF"));
    fail_input("corpus: ", name, " is not text: it has a NUL byte at byte ", offset + nul,
               utf16 ? "; it looks like UTF-16: convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)" : ", expected a text file");
  }
}

std::string read_text_file(const CorpusFile& file) {
  const auto source = open_bytes(file.path, file.name);
  std::string text;
  try {
    for (std::size_t size = 0;;) {
      text.resize(size + kChunk);
      const std::size_t got = source->read(text.data() + size, kChunk);
      text.resize(size + got);
      if (got == 0) {
        return text;
      }
      require_text(std::string_view(text).substr(size), size, file.name);
      size = text.size();
    }
  } catch (const std::bad_alloc&) {
    fail_input("corpus: ", file.name, " has more than ", text.size(), " bytes, more than there is memory for");
  }
}

}  // namespace dikkat
