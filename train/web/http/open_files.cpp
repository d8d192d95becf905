#include "train/web/http/open_files.h"

#include <algorithm>
#include <limits>

#include <sys/resource.h>

namespace dikkat {

std::size_t permit_open_files(std::size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return std::numeric_limits<std::size_t>::max();  // unknown: opening more may fail later
  }
  if (limit.rlim_cur < wanted) {
    rlimit higher = limit;
    higher.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
    limit = ::setrlimit(RLIMIT_NOFILE, &higher) == 0 ? higher : limit;
  }
  return limit.rlim_cur;
}

}  // namespace dikkat
