#include "train/system/folder.h"

#include <algorithm>
#include <cerrno>

#include <unistd.h>

#include "autograd/base/error.h"
#include "train/system/write_file.h"

namespace dikkat {

namespace fs = std::filesystem;

bool is_folder(const fs::path& path) {
  std::error_code unknown;
  return fs::is_directory(path, unknown);
}

bool is_file(const fs::path& path) {
  std::error_code unknown;
  return fs::is_regular_file(path, unknown);
}

bool make_folders(const fs::path& path) {
  std::error_code error;
  const bool created = fs::create_directories(path, error);
  require_path(is_folder(path) ? 0 : error ? error.value() : ENOTDIR, path.string(), link_text(path), " cannot be created");
  return created;
}

void remove_tree(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  require(!error, path.string(), " cannot be removed: ", describe_errno(error.value()));
}

std::vector<fs::path> paths_in(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    paths.push_back(entry->path());
  }
  require_path(error.value(), folder.string(), " cannot be listed");
  std::sort(paths.begin(), paths.end());
  return paths;
}

fs::path absolute_path(const fs::path& path) {
  std::error_code error;
  fs::path whole = fs::absolute(path, error);
  require_input(!error || path.empty(), path.string(), " cannot be found: the current folder was removed or cannot be read (",
                describe_errno(error.value()), "); change to another folder, or give an absolute path");
  return whole;
}

fs::path program_file() {
  std::error_code unknown;
  return fs::read_symlink("/proc/self/exe", unknown);
}

void write_new_file(const fs::path& path, std::string_view text) {
  const bool makes_folder = path.has_parent_path() && make_folders(path.parent_path());
  try {
    write_new_file(path, static_cast<index>(text.size()), [&](ByteSink& sink) { sink.put(std::as_bytes(std::span(text))); });
  } catch (...) {
    if (makes_folder) {
      ::rmdir(path.parent_path().c_str());  // does nothing if it is no longer empty
    }
    throw;
  }
}

bool write_new_or_same_file(const fs::path& path, std::string_view text) {
  if (is_file(path) && read_bytes(path, static_cast<index>(text.size()) + 1) == text) {
    return false;
  }
  write_new_file(path, text);
  return true;
}

}  // namespace dikkat
