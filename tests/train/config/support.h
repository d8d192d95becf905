#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/simd/philox.h"
#include "tests/support/throws.h"
#include "train/config/schema.h"

namespace dikkat {

/// A sequence of random numbers that is the same in every run.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : stream_(seed, "config tests", 0) {}

  std::uint64_t word() {
    const auto words = stream_.group(at_++);
    return std::uint64_t{words[0]} << 32 | words[1];
  }
  index below(index count) { return static_cast<index>(word() % static_cast<std::uint64_t>(count)); }
  double uniform() { return static_cast<double>(word() >> 11) * 0x1p-53; }

 private:
  RandomStream stream_;
  index at_ = 0;
};

/// A value that the key accepts.
inline schema::Value random_value(const schema::Key& key, Dice& dice) {
  const schema::Range& range = key.rule.range;
  const auto text = [&dice] {
    static constexpr std::string_view kPieces[] = {"a", "Z", "9",  "/",  ".",    " ",    "\"", "\\", "'",
                                                   "#", "=", "\n", "\t", "\x01", "\x7f", "ş",  "語", "😀"};
    std::string made = "x";
    for (index length = dice.below(12); length > 0; --length) {
      made += kPieces[static_cast<std::size_t>(dice.below(std::size(kPieces)))];
    }
    return made;
  };
  const auto number = [&] {
    const double high = std::min(range.high, 1e9);
    const double value = range.low + (high - range.low) * dice.uniform() * std::pow(10.0, -static_cast<double>(dice.below(20)));
    return range.contains(value) ? value : high / 2;
  };
  switch (key.type) {
    case schema::Type::boolean: return dice.below(2) == 1;
    case schema::Type::integer: {
      const double high = std::min(range.high, 9e18);
      return static_cast<index>(range.low) + dice.below(static_cast<index>(high - range.low) >> dice.below(40) | 1);
    }
    case schema::Type::number: return number();
    case schema::Type::text:
      return key.rule.choices.empty() ? text()
                                      : std::string(key.rule.choices[static_cast<std::size_t>(dice.below(std::ssize(key.rule.choices)))]);
    case schema::Type::list: {
      std::vector<std::string> items;
      for (index count = dice.below(4); count > 0; --count) {
        items.push_back(text());
      }
      return items;
    }
    case schema::Type::numbers: {
      std::vector<double> items;
      for (index count = dice.below(4); count > 0; --count) {
        items.push_back(number());
      }
      return items;
    }
    case schema::Type::unset: break;
  }
  return {};
}

/// A configuration whose values are in their ranges; keys with a derived default are sometimes left open.
inline Config random_config(Dice& dice) {
  Config config;
  for (const schema::Key& key : schema::keys()) {
    if (key.rule.derived.empty() || dice.below(2) == 1) {
      key.set(config, random_value(key, dice));
    }
  }
  return config;
}

}  // namespace dikkat
