#include "train/config/accumulation.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "autograd/base/error.h"
#include "train/config/schema.h"

namespace dikkat {
namespace {

constexpr index kMostPasses = 1'000'000;

std::optional<index> number_in(std::string_view text) {
  index number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && number >= 0 ? std::optional(number) : std::nullopt;
}

/// Returns the numbers in "400:2".
std::optional<std::pair<index, index>> piece_in(std::string_view text) {
  const std::size_t colon = std::min(text.find(':'), text.size());
  const auto step = number_in(text.substr(0, colon));
  const auto count = number_in(text.substr(std::min(colon + 1, text.size())));
  return step && count && *count >= 1 && *count <= kMostPasses ? std::optional(std::pair(*step, *count)) : std::nullopt;
}

}  // namespace

std::string problem_with_accumulation(const TrainConfig& config) {
  index last = -1;
  for (const std::string& text : config.accumulation_schedule) {
    const auto piece = piece_in(text);
    if (!piece) {
      return concat("train.accumulation_schedule holds ", schema::in_quotes(text),
                    ", expected STEP:COUNT, such as \"400:2\": two micro-batches once 400 steps are done; COUNT is at most ", kMostPasses);
    }
    if (piece->first <= last) {
      return concat("train.accumulation_schedule has step ", piece->first, " after step ", last, ", expected steps in ascending order");
    }
    last = piece->first;
  }
  return "";
}

std::string problem_with_lanes(const TrainConfig& config) {
  const index lanes = config.lanes;
  if (!std::has_single_bit(static_cast<std::uint64_t>(lanes))) {
    return concat("train.lanes is ", lanes, ", expected a power of two: ", std::bit_floor(static_cast<std::uint64_t>(lanes)), " or ",
                  std::bit_ceil(static_cast<std::uint64_t>(lanes)));
  }
  const auto refused = [&](const char* key, index passes) {
    return concat("train.lanes is ", lanes, ", which does not divide ", key, " = ", passes,
                  ", expected a power of two that does: each lane gets the same number of micro-batches");
  };
  if (config.gradient_accumulation_steps % lanes != 0) {
    return refused("train.gradient_accumulation_steps", config.gradient_accumulation_steps);
  }
  for (const std::string& text : config.accumulation_schedule) {
    if (const index passes = piece_in(text)->second; passes % lanes != 0) {
      return refused("a count of train.accumulation_schedule", passes);
    }
  }
  return "";
}

Accumulation::Accumulation(const TrainConfig& config)
    : pieces_{{.first = 0, .count = config.gradient_accumulation_steps}}, max_steps_(config.max_steps) {
  const std::string problem = problem_with_accumulation(config);
  require_input(problem.empty(), problem);
  for (const std::string& text : config.accumulation_schedule) {
    const auto [first, count] = *piece_in(text);
    if (first == 0) {
      pieces_.clear();
    }
    pieces_.push_back({first, count});
  }
}

index Accumulation::operator()(index step) const {
  const auto after = std::upper_bound(pieces_.begin(), pieces_.end(), step, [](index s, const Piece& piece) { return s < piece.first; });
  return std::prev(after)->count;
}

index Accumulation::passes(index from, index to) const {
  index sum = 0;
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    const index end = i + 1 < pieces_.size() ? pieces_[i + 1].first : std::numeric_limits<index>::max();
    sum += pieces_[i].count * std::max<index>(0, std::min(to, end) - std::max(from, pieces_[i].first));
  }
  return sum;
}

index Accumulation::fewest() const {
  index count = pieces_.front().count;
  for (const Piece& piece : pieces_) {
    count = piece.first < max_steps_ ? std::min(count, piece.count) : count;
  }
  return count;
}

index Accumulation::most() const {
  index count = pieces_.front().count;
  for (const Piece& piece : pieces_) {
    count = piece.first < max_steps_ ? std::max(count, piece.count) : count;
  }
  return count;
}

}  // namespace dikkat
