#include "train/run/own_provenance.h"

#include <ctime>
#include <fstream>

#include <sys/utsname.h>

#include "autograd/base/parallel.h"
#include "train/run/build_info.h"

namespace dikkat {
namespace {

std::string utc_date() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::vector<std::string> command_line() {
  std::vector<std::string> words;
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  for (std::string word; std::getline(file, word, '\0');) {
    words.push_back(word);
  }
  return words;
}

std::string host_name() {
  utsname names{};
  return ::uname(&names) == 0 ? names.nodename : "";
}

/// Returns "AMD EPYC 9R14", for example, or "Arm 0x41-0xd0c" on arm64: the ids of the first core's maker and part. Empty if the system
/// reports neither.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string maker;
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string::npos) {
      continue;
    }
    if (line.starts_with("model name")) {
      return line.substr(colon + 2);
    }
    if (line.starts_with("CPU implementer")) {
      maker = line.substr(colon + 2);
    } else if (line.starts_with("CPU part") && !maker.empty()) {
      return "Arm " + maker + "-" + line.substr(colon + 2);
    }
  }
  return "";
}

}  // namespace

Provenance own_provenance() {
  return {.date = utc_date(),
          .version = build_info().version,
          .commit = build_info().commit,
          .command = command_line(),
          .host = host_name(),
          .processor = processor_name(),
          .threads = thread_count()};
}

}  // namespace dikkat
