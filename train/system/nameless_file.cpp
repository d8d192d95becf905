#include "train/system/nameless_file.h"

#include <cstdlib>

#include <fcntl.h>
#include <unistd.h>

namespace dikkat {

int open_nameless_file(const std::string& folder) {
  std::string path = folder + "/dikkat-XXXXXX";  // O_TMPFILE needs no name, but not every file system has it
  const int file = ::mkostemp(path.data(), O_CLOEXEC);
  if (file >= 0) {
    ::unlink(path.c_str());
  }
  return file;
}

}  // namespace dikkat
