#include "train/data/tokens/token_form.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

constexpr std::size_t kEnoughIds = 16;
constexpr double kNearlyAll = 0.95, kMost = 0.5;

/// The 16-bit words at the beginning of a file.
class Words16 {
 public:
  explicit Words16(std::span<const std::byte> data) : data_(data.first(std::min(data.size(), kTokenFormBytes) / 8 * 8)) {}

  /// Returns the share of words for which f(word) is true, among words `first`, `first` + `step` and so on.
  template <class F>
  double share(std::size_t first, std::size_t step, F&& f) const {
    std::size_t all = 0, found = 0;
    for (std::size_t i = first; i < data_.size() / 2; i += step, ++all) {
      std::uint16_t word = 0;
      std::memcpy(&word, data_.data() + 2 * i, sizeof word);
      found += f(word) ? 1U : 0U;
    }
    return all == 0 ? 0 : static_cast<double>(found) / static_cast<double>(all);
  }

  double share_of_text() const {
    const auto printable = std::count_if(data_.begin(), data_.end(), [](std::byte byte) {
      const auto c = std::to_integer<unsigned>(byte);
      return c == '\t' || c == '\n' || c == '\r' || (' ' <= c && c <= '~');
    });
    return static_cast<double>(printable) / static_cast<double>(data_.size());
  }

  std::size_t bytes() const { return data_.size(); }

 private:
  std::span<const std::byte> data_;
};

/// Returns whether the upper word of a 32-bit float has the exponent of an ordinary number: 2^-31 to 2^17.
bool is_float_top(std::uint16_t word) { return 0x3000 <= (word & 0x7F80) && (word & 0x7F80) <= 0x4800; }
/// Returns whether the upper word of a 64-bit float has the exponent of an ordinary number.
bool is_double_top(std::uint16_t word) { return 0x3E00 <= (word & 0x7FF0) && (word & 0x7FF0) <= 0x4100; }

}  // namespace

TokenForm token_form(std::span<const std::byte> begin, std::size_t size, index vocab_size) {
  const Words16 words(begin);
  if (words.bytes() < 4 * kEnoughIds) {
    return {};
  }
  // The upper words of ids with more than 16 bits are at most this.
  const auto most = static_cast<std::uint16_t>(std::min<index>(vocab_size - 1, index{1} << 31) >> 16);
  const auto small = [&](std::size_t first, std::size_t step) {
    return words.share(first, step, [&](std::uint16_t word) { return word <= most; });
  };
  const auto zero = [&](std::size_t first, std::size_t step) {
    return words.share(first, step, [](std::uint16_t word) { return word == 0; });
  };
  const std::array<double, 4> zeros = {zero(0, 4), zero(1, 4), zero(2, 4), zero(3, 4)};
  // Recognize ids of 64 and of 32 bits by their small upper words.
  const bool is_wide = words.bytes() >= 8 * kEnoughIds;
  if (is_wide && size % 8 == 0 && small(1, 4) >= kNearlyAll && zeros[2] >= kNearlyAll && zeros[3] >= kNearlyAll && small(0, 4) < kMost) {
    return {.width = 8};
  }
  if (size % 4 == 0 && small(1, 2) >= kNearlyAll && small(0, 2) < kMost) {
    return {.width = 4};
  }
  // Refuse floats, big-endian ids and text.
  if (words.share(0, 1, is_float_top) >= kNearlyAll || words.share(1, 2, is_float_top) >= kNearlyAll ||
      (is_wide && words.share(3, 4, is_double_top) >= kNearlyAll)) {
    return {.problem = "holds floating-point numbers, not ids"};
  }
  if (is_wide && zeros[0] >= kNearlyAll && zeros[1] >= kNearlyAll && zeros[2] >= kNearlyAll && zeros[3] < kMost) {
    return {.problem = "holds numbers of 64 bits that begin with their highest byte (big endian)"};
  }
  if (zero(0, 2) >= kNearlyAll && zero(1, 2) < kMost) {
    return {.problem = "holds numbers of 32 bits that begin with their highest byte (big endian)"};
  }
  if (words.share_of_text() >= 0.99) {
    return {.problem = "holds text, not tokens; rename it to .txt"};
  }
  // Frequent tokens have low ids. So the upper byte of most ids is small, and the lower byte may have any value. In big-endian data it is
  // the other way round.
  const double small_upper = words.share(0, 1, [](std::uint16_t word) { return (word >> 8U) < 8; });
  const double small_lower = words.share(0, 1, [](std::uint16_t word) { return (word & 0xFFU) < 8; });
  if (small_lower >= kMost && small_upper <= 0.1) {
    return {.problem = "holds numbers of 16 bits that begin with their highest byte (big endian)"};
  }
  return {};
}

}  // namespace dikkat
