#include "train/data/text_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <set>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;

using Extensions = std::span<const std::string_view>;

constexpr std::size_t kChunk = std::size_t{256} << 10;
constexpr std::size_t kLeastChunk = 4096;

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

bool ends_in(const fs::path& path, Extensions extensions) {
  return std::find(extensions.begin(), extensions.end(), lower(path.extension().string())) != extensions.end();
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
    if (is_hidden(at)) {
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

std::vector<std::string> text_files_of(const std::string& path, Extensions extensions) {
  require_input(!path.empty(), "corpus: a path is empty, expected a text file or a folder of text files");
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  require_input(status.type() != fs::file_type::not_found, "corpus: ", path,
                " does not exist, expected a text file or a folder of text files");
  require_input(!error, "corpus: cannot reach ", path, ": ", error.message());
  const fs::path absolute = fs::canonical(path, error);
  require_input(!error, "corpus: cannot reach ", path, ": ", error.message());
  if (status.type() == fs::file_type::directory) {
    return text_files_below(absolute, extensions);
  }
  require_input(status.type() == fs::file_type::regular, "corpus: ", path, " is ", name_of(status.type()),
                ", expected a text file or a folder of text files");
  return {absolute.string()};
}

class File {
 public:
  /// Without O_NONBLOCK, a FIFO put in the place of the file since it was looked at would hang the program.
  explicit File(const std::string& path) : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)) {
    require_input(descriptor_ >= 0, "corpus: cannot open ", path, ": ", std::strerror(errno));
  }
  ~File() { ::close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  struct stat status() const {
    struct stat status {};
    ::fstat(descriptor_, &status);
    return status;
  }
  ssize_t read(char* out, std::size_t bytes) const {
    ssize_t got = 0;
    do {
      got = ::read(descriptor_, out, bytes);
    } while (got < 0 && errno == EINTR);
    return got;
  }

 private:
  int descriptor_;
};

[[noreturn]] void refuse_binary(const std::string& path, std::string_view text, std::size_t nul) {
  const bool utf16 = text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
  fail_input("corpus: ", path, " is not text: it has a NUL byte at byte ", nul,
             utf16 ? "; it looks like UTF-16: convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)" : ", expected a text file");
}

}  // namespace

std::vector<std::string> find_text_files(std::span<const std::string> paths, Extensions extensions) {
  require_input(!paths.empty(), "corpus: none is given, expected a text file or a folder of text files (--corpus PATH or data.corpus)");
  std::vector<std::string> files;
  std::set<std::string> seen;
  for (const std::string& path : paths) {
    for (std::string& file : text_files_of(path, extensions)) {
      require_input(seen.insert(file).second, "corpus: ", file, " is given twice, expected each file once");
      files.push_back(std::move(file));
    }
  }
  return files;
}

std::string read_text_file(const std::string& path) {
  struct stat before {};
  require_input(::stat(path.c_str(), &before) == 0, "corpus: cannot open ", path, ": ", std::strerror(errno));
  require_input(S_ISREG(before.st_mode), "corpus: ", path, " is no regular file, expected a text file");  // opening a device may act on it
  const File file(path);
  const struct stat status = file.status();
  require_input(S_ISREG(status.st_mode), "corpus: ", path, " is no regular file, expected a text file");
  const auto expected = static_cast<std::size_t>(status.st_size);  // a hint: the file may grow, and files of the system say 0
  std::string text;
  try {
    text.reserve(expected + kLeastChunk);
  } catch (const std::exception&) {  // bad_alloc or length_error
    fail_input("corpus: ", path, " has ", status.st_size, " bytes, more than there is memory for");
  }
  for (std::size_t size = 0;;) {
    const std::size_t chunk = std::clamp(expected - std::min(size, expected), kLeastChunk, kChunk);
    text.resize(size + chunk);
    const ssize_t got = file.read(text.data() + size, chunk);
    require_input(got >= 0, "corpus: cannot read ", path, ": ", std::strerror(errno));
    text.resize(size + static_cast<std::size_t>(got));
    if (got == 0) {
      return text;
    }
    if (const std::size_t nul = text.find('\0', size); nul != std::string::npos) {
      refuse_binary(path, text, nul);
    }
    size = text.size();
  }
}

}  // namespace dikkat
