#include "train/system/temporary_file.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string_view>

#include <unistd.h>

#include "autograd/base/error.h"

namespace dikkat {

namespace fs = std::filesystem;

ProvisionalFile::~ProvisionalFile() {
  if (exists_) {
    ::unlink(path_.c_str());
  }
}

File create_temporary(const fs::path& folder, const std::string& stem, ProvisionalFile& name, Faults* faults) {
  constexpr int kMost = 1000;  // names to try
  for (int i = 1;; ++i) {
    name.set(folder / (i == 1 ? concat(".tmp-", stem, "-", ::getpid()) : concat(".tmp-", stem, "-", ::getpid(), "-", i)));
    File file;
    const int error = file.create(name.path(), faults);
    if (error != EEXIST || i == kMost) {
      require_done(error, Operation::open);
      name.created();
      return file;
    }
  }
}

void remove_old_temporaries(const fs::path& file) {
  const std::string beginning = concat(".tmp-", file.filename().string(), "-");
  std::error_code error;
  const auto written = fs::last_write_time(file, error);
  for (fs::directory_iterator other(file.has_parent_path() ? file.parent_path() : ".", error), end; !error && other != end;
       other.increment(error)) {
    const std::string name = other->path().filename().string();
    if (!name.starts_with(beginning) || name.find_first_not_of("0123456789-", beginning.size()) != std::string::npos) {
      continue;
    }
    std::error_code gone;
    if (other->symlink_status(gone).type() == fs::file_type::regular &&
        fs::last_write_time(other->path(), gone) < written - std::chrono::hours(1) && !gone) {
      fs::remove(other->path(), gone);
    }
  }
}

}  // namespace dikkat
