#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "autograd/base/index.h"

/// The folder in which token files (token_file.h) are kept from run to run, of at most so many bytes.
namespace dikkat {

/// $XDG_CACHE_HOME/dikkat, or ~/.cache/dikkat, which is made. Nothing where that cannot be made or written to, as for somebody who has no
/// home.
std::optional<std::string> default_token_folder();

/// Bytes that the default folder may hold: $DIKKAT_CACHE_GB in units of 10^9 bytes, 20 where it is not set. Throws InputError where it is
/// no number from 0 to 1,000,000.
index token_folder_limit();

/// A token file in a folder.
struct KeptTokens {
  std::string path;
  index bytes = 0;
  std::time_t last_used = 0;  // read or made
  bool in_use = false;        // some process has it open
};

/// Those in the folder, the most recently used first; none where there is no such folder. Other files are left alone.
std::vector<KeptTokens> kept_tokens(const std::string& folder);

/// Removes token files, the least recently used first, until they have at most `limit` bytes together. A file that is in use stays.
/// Gives those that were removed.
std::vector<KeptTokens> remove_kept_tokens(const std::string& folder, index limit);

}  // namespace dikkat
