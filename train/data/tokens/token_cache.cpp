#include "train/data/tokens/token_cache.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "autograd/base/error.h"
#include "train/data/tokens/token_file.h"
#include "train/system/descriptor.h"
#include "train/system/folder.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// Returns whether a file's name is one that tokenize_once() writes: hexadecimal digits and ".tokens".
bool is_token_file(const std::string& name) {
  return name.size() == kTokenFileDigits + kTokenFileExtension.size() && name.ends_with(kTokenFileExtension) &&
         name.find_first_not_of("0123456789abcdef") == kTokenFileDigits;
}

/// Takes an exclusive lock on the file until the descriptor is closed. Returns false if another process has it open.
bool lock_alone(const Descriptor& file) { return file.get() >= 0 && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0; }

Descriptor open_token_file_to_lock(const std::string& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
}

}  // namespace

std::optional<std::string> default_token_folder() {
  const fs::path cache = variable("XDG_CACHE_HOME"), home = variable("HOME");
  if (!cache.is_absolute() && home.empty()) {
    return std::nullopt;
  }
  const std::string folder = ((cache.is_absolute() ? cache : home / ".cache") / "dikkat").string();
  std::error_code error;
  fs::create_directories(folder, error);
  return !error && ::access(folder.c_str(), W_OK | X_OK) == 0 ? std::optional(folder) : std::nullopt;
}

index token_folder_limit() {
  constexpr index kDefault = 20, kMost = 1'000'000, kGigabyte = 1'000'000'000;
  const std::string text = variable("DIKKAT_CACHE_GB");
  index limit = kDefault;
  if (!text.empty()) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), limit);
    require_input(error == std::errc() && end == text.data() + text.size() && 0 <= limit && limit <= kMost, "DIKKAT_CACHE_GB is \"", text,
                  "\", expected a whole number from 0 to ", kMost, ": the size limit of the token cache, in GB");
  }
  return limit * kGigabyte;
}

std::vector<KeptTokens> kept_tokens(const std::string& folder) {
  std::vector<KeptTokens> all;
  for (const fs::path& entry : is_there(folder) ? paths_in(folder) : std::vector<fs::path>()) {
    const std::string path = entry.string();
    struct stat status{};
    if (is_token_file(entry.filename().string()) && ::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
      all.push_back(
          {.path = path, .bytes = status.st_size, .last_used = status.st_mtime, .in_use = !lock_alone(open_token_file_to_lock(path))});
    }
  }
  std::sort(all.begin(), all.end(), [](const KeptTokens& a, const KeptTokens& b) {
    return a.last_used != b.last_used ? a.last_used > b.last_used : a.path < b.path;
  });
  return all;
}

std::vector<KeptTokens> remove_kept_tokens(const std::string& folder, index limit) {
  std::vector<KeptTokens> kept = kept_tokens(folder);
  index bytes = 0;
  for (const KeptTokens& tokens : kept) {
    bytes += tokens.bytes;
  }
  std::vector<KeptTokens> removed;
  for (; bytes > limit && !kept.empty(); kept.pop_back()) {
    const KeptTokens& oldest = kept.back();
    const Descriptor file = open_token_file_to_lock(oldest.path);
    if (lock_alone(file) && ::unlink(oldest.path.c_str()) == 0) {
      bytes -= oldest.bytes;
      removed.push_back(oldest);
    }
  }
  return removed;
}

}  // namespace dikkat
