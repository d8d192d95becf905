#include <fmt/chrono.h>
#include <fmt/format.h>

#include "autograd/base/error.h"
#include "train/cli/commands.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/data/tokens/token_cache.h"

namespace dikkat {
namespace {

std::string folder() {
  const auto found = default_token_folder();
  require_input(found.has_value(),
                "cache: there is no cache, since neither XDG_CACHE_HOME nor HOME names a folder that can be written to; set one of them");
  return *found;
}

index bytes_of(const std::vector<KeptTokens>& all) {
  index bytes = 0;
  for (const KeptTokens& tokens : all) {
    bytes += tokens.bytes;
  }
  return bytes;
}

std::string files(std::size_t count) { return fmt::format("{} file{}", grouped_digits(static_cast<index>(count)), count == 1 ? "" : "s"); }

int list_cache() {
  const std::string where = folder();
  const auto all = kept_tokens(where);
  for (const KeptTokens& tokens : all) {
    print_result(fmt::format("{:>10}  {:%Y-%m-%d %H:%M}  {}{}\n", short_bytes(tokens.bytes), fmt::localtime(tokens.last_used), tokens.path,
                             tokens.in_use ? "  (in use)" : ""));
  }
  flush_results();
  print_message(fmt::format("{} of tokens, {} of at most {} (DIKKAT_CACHE_GB), in {}", files(all.size()), short_bytes(bytes_of(all)),
                            short_bytes(token_folder_limit()), where));
  return 0;
}

int clear_cache() {
  const std::string where = folder();
  const auto removed = remove_kept_tokens(where, 0);
  const auto left = kept_tokens(where);
  print_message(fmt::format("removed {}, {}, from {}{}", files(removed.size()), short_bytes(bytes_of(removed)), where,
                            left.empty() ? "" : fmt::format("; {} in use remain{}", files(left.size()), left.size() == 1 ? "s" : "")));
  return 0;
}

}  // namespace

void add_cache(Commands& program) {
  Commands cache = program.group("cache", "List or remove the cached tokens of large texts");
  cache.add("list", "List the files with their sizes and when each was last used", "  dikkat cache list", list_cache);
  cache.add("clear", "Remove all files that are not in use; dikkat makes them again when needed", "  dikkat cache clear", clear_cache);
}

}  // namespace dikkat
