#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "autograd/base/index.h"

namespace dikkat {

/// How often each of some strings occurs. One costs its bytes and some thirty more.
class StringCounts {
 public:
  StringCounts();
  ~StringCounts();
  StringCounts(StringCounts&&) noexcept;
  StringCounts& operator=(StringCounts&&) noexcept;

  void add(std::string_view string, std::uint64_t times = 1);
  void add(const StringCounts& other);

  /// Of different strings: how many, and their bytes.
  index distinct() const;
  index distinct_bytes() const;
  /// Gives back what only add() needs, and ends it.
  void forget_places();
  void for_each(const std::function<void(std::string_view string, std::uint64_t times)>& f) const;

 private:
  struct Table;
  std::unique_ptr<Table> table_;
};

}  // namespace dikkat
