#include "train/system/missing_guard.h"

#include <array>
#include <cerrno>
#include <mutex>
#include <utility>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

std::mutex mutex;
std::function<void(const std::string&)> reporter;
std::array<bool, 3> reported{};

const char* consequence_of(Guard guard) {
  switch (guard) {
    case Guard::lock: return "has no locks, so nothing stops a second program from writing to the same folder: start only one there";
    case Guard::sync: return "cannot sync files, so a power failure may lose or damage the newest files: keep a copy elsewhere";
    case Guard::reservation: return "cannot reserve space, so a full disk is noticed only while a file is being written";
  }
  return "";
}

}  // namespace

bool is_missing(Guard guard, int error) {
  return error == ENOSYS || error == EOPNOTSUPP || error == EINVAL || (guard == Guard::lock && error == ENOLCK);
}

int accept_missing(Guard guard, const std::filesystem::path& path, int error) {
  if (!is_missing(guard, error)) {
    return error;
  }
  const std::lock_guard hold(mutex);
  if (reporter && !std::exchange(reported[static_cast<std::size_t>(guard)], true)) {
    reporter(concat("the file system of ", path.string(), " ", consequence_of(guard), " (", describe_errno(error), ")"));
  }
  return 0;
}

void on_missing_guard(std::function<void(const std::string&)> report) {
  const std::lock_guard hold(mutex);
  reporter = std::move(report);
  reported = {};
}

}  // namespace dikkat
