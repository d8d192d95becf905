#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "autograd/base/index.h"

namespace dikkat {

/// Counts strings. A distinct string takes its bytes and about thirty more.
class StringCounts {
 public:
  StringCounts();
  ~StringCounts();
  StringCounts(StringCounts&&) noexcept;
  StringCounts& operator=(StringCounts&&) noexcept;

  void add(std::string_view string, std::uint64_t times = 1);
  void add(const StringCounts& other);

  /// Return the number of distinct strings, and their bytes.
  index distinct() const;
  index distinct_bytes() const;
  /// Frees the memory that only add() needs. add() must not be called afterwards.
  void forget_places();
  void for_each(const std::function<void(std::string_view string, std::uint64_t times)>& f) const;

 private:
  struct Table;
  std::unique_ptr<Table> table_;
};

}  // namespace dikkat
