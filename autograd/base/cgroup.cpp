#include "autograd/base/cgroup.h"

#include <fstream>

#include "autograd/base/error.h"

namespace dikkat {

std::string cgroup_in(std::istream& lines, std::string_view controller) {
  for (std::string line; std::getline(lines, line);) {
    const std::size_t names = line.find(':');
    const std::size_t path = line.find(':', names + 1);
    if (path == std::string::npos) {
      continue;
    }
    const std::string controllers = concat(',', std::string_view(line).substr(names + 1, path - names - 1), ',');
    if (controller.empty() ? line.starts_with("0::") : controllers.find(concat(',', controller, ',')) != std::string::npos) {
      return line.substr(path + 1);
    }
  }
  return "/";
}

std::string own_cgroup(std::string_view controller) {
  std::ifstream file("/proc/self/cgroup");
  return cgroup_in(file, controller);
}

}  // namespace dikkat
