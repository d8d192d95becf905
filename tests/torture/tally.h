#pragma once

#include <iostream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "autograd/base/index.h"

namespace dikkat::torture {

/// The outcomes of many cases, printed as one line of JSON for tests/torture/*.py.
struct Tally {
  index cases = 0;
  index survived = 0;
  index refused = 0;
  std::vector<std::string> failures;

  void fail(std::string what) {
    constexpr std::size_t kTold = 20;
    if (failures.size() < kTold) {
      failures.push_back(std::move(what));
    } else if (failures.size() == kTold) {
      failures.emplace_back("... and more");
    }
  }
  void print() const {
    std::cout << nlohmann::json{{"cases", cases}, {"survived", survived}, {"refused", refused}, {"failures", failures}} << std::endl;
  }
};

}  // namespace dikkat::torture
