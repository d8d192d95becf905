#pragma once

// A target is LLVMFuzzerTestOneInput. It hands the bytes to a reader, which must accept them or refuse them with a message. Anything else
// (another exception, a crash, a leak, too much memory or time) is a finding.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

#include "autograd/base/error.h"

namespace dikkat {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace fuzz {

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) { return {reinterpret_cast<const char*>(data), size}; }

/// Ends the process unless `ok`: accepted input must be as `expected` describes.
inline void hold(bool ok, const char* expected) {
  if (!ok) {
    std::fprintf(stderr, "broken: %s\n", expected);
    std::abort();
  }
}

/// Whether `act` ends without an error message.
template <class Act>
bool accepts(Act&& act) {
  try {
    act();
    return true;
  } catch (const Error& error) {
    hold(*error.what() != '\0', "an error says something");
    return false;
  }
}

/// A file in memory with a path, whose contents are replaced again and again.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)), path_(concat("/proc/self/fd/", descriptor_)) {}
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(descriptor_); }

  void put(std::string_view text) {
    hold(::ftruncate(descriptor_, static_cast<off_t>(text.size())) == 0 &&
             ::pwrite(descriptor_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()),
         "a file in memory takes what it is given");
  }
  const std::string& path() const { return path_; }

 private:
  int descriptor_;
  std::string path_;
};

/// Takes the first byte off, as a choice among `count`; 0 if there is none.
inline unsigned choice(std::string_view& input, unsigned count) {
  if (input.empty()) {
    return 0;
  }
  const unsigned byte = static_cast<unsigned char>(input.front());
  input.remove_prefix(1);
  return byte % count;
}

}  // namespace fuzz
}  // namespace dikkat
