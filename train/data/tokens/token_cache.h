#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "autograd/base/index.h"

/// The cache of token files (token_file.h): a folder with a limit on its size.
namespace dikkat {

/// Returns $XDG_CACHE_HOME/dikkat, or ~/.cache/dikkat, and creates it if needed. Returns nullopt if it cannot be created or written to, for
/// example if the user has no home directory.
std::optional<std::string> default_token_folder();

/// Returns the size limit of the default folder in bytes: $DIKKAT_CACHE_GB times 10^9, by default 20 * 10^9. Throws InputError if the
/// variable is not a whole number from 0 to 1,000,000.
index token_folder_limit();

/// A token file in the cache.
struct KeptTokens {
  std::string path;
  index bytes = 0;
  std::time_t last_used = 0;  // when it was last written or opened
  bool in_use = false;        // whether a process has it open
};

/// Returns the token files in a folder, most recently used first; none if there is no such folder. Other files are ignored.
std::vector<KeptTokens> kept_tokens(const std::string& folder);

/// Removes token files, least recently used first, until their sizes add up to at most `limit` bytes. Files in use stay. Returns the
/// removed files.
std::vector<KeptTokens> remove_kept_tokens(const std::string& folder, index limit);

}  // namespace dikkat
