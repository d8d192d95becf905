#pragma once

#include <string>
#include <vector>

#include "train/cli/description.h"

namespace dikkat {

struct ManPage {
  std::string name;  ///< "dikkat-train.1"
  std::string text;  ///< troff, with the macros of man(7)
};

/// Returns a page for the program and one for each command.
std::vector<ManPage> man_pages(const CommandDescription& program, const std::string& version);

}  // namespace dikkat
