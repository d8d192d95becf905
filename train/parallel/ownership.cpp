#include "train/parallel/ownership.h"

#include <algorithm>
#include <cmath>

#include "autograd/kernels/optimizer/adamw.h"

namespace dikkat {
namespace {

constexpr index kBlock = 1 << 14;          // elements of a block, the unit of the gradient norm and of ownership
static_assert(kBlock % Unit::kCut == 0);   // units are cut between blocks
constexpr index kBlocksInTurn = 256;       // consecutive blocks in which each rank owns one run
constexpr index kMostInMessage = 1 << 22;  // elements

/// Returns the owner of each group of whole units. The most expensive group is assigned first, and each group goes to the rank with the
/// least work. The units of a parameter form a group, because its state has one owner.
std::vector<int> owners_of(const std::vector<std::vector<const Unit*>>& groups, int ranks) {
  const auto cost = [](const std::vector<const Unit*>& units) {
    double flops = 0;
    for (const Unit* unit : units) {
      flops += unit->flops;
    }
    return flops;
  };
  std::vector<std::size_t> order(groups.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return cost(groups[a]) > cost(groups[b]); });
  std::vector<double> load(static_cast<std::size_t>(ranks));
  std::vector<int> owners(groups.size());
  for (const std::size_t group : order) {
    const auto least = std::min_element(load.begin(), load.end());
    *least += cost(groups[group]);
    owners[group] = static_cast<int>(least - load.begin());
  }
  return owners;
}

/// Appends a part, or merges it with the last range, if both have one owner and fit into a message.
void add(std::vector<OwnedRange>& joined, const OwnedRange& part) {
  if (!joined.empty() && joined.back().end == part.begin && joined.back().owner == part.owner &&
      joined.back().size() + part.size() <= kMostInMessage) {
    joined.back().end = part.end;
  } else {
    joined.push_back(part);
  }
}

}  // namespace

Ownership::Ownership(const ParameterStore& store, Optimizer& optimizer, int ranks) : units_(optimizer.units()) {
  require(ranks >= 1, "ownership: ", ranks, " ranks, expected 1 or more");
  std::sort(units_.begin(), units_.end(), [](const Unit& a, const Unit& b) { return a.begin < b.begin; });

  // Group whole units by their parameters, and choose the owners of the groups.
  std::vector<std::vector<const Unit*>> groups;
  std::vector<std::size_t> group_of(units_.size());
  const ParameterStore::Entry* last = nullptr;
  for (std::size_t i = 0; i < units_.size(); ++i) {
    if (units_[i].whole) {
      const auto after = std::upper_bound(store.trainable().begin(), store.trainable().end(), units_[i].begin,
                                          [](index begin, const ParameterStore::Entry* entry) { return begin < entry->offset; });
      const ParameterStore::Entry* parameter = *std::prev(after);
      if (parameter != last) {
        groups.emplace_back();
        last = parameter;
      }
      groups.back().push_back(&units_[i]);
      group_of[i] = groups.size() - 1;
    }
  }
  const std::vector<int> owners = owners_of(groups, ranks);

  // Cut units into parts at the boundaries of blocks.
  const index in_turn = std::min(kBlocksInTurn, ceil_div(store.trainable_size(), kBlock));
  for (std::size_t i = 0; i < units_.size(); ++i) {
    const Unit& unit = units_[i];
    for (index begin = unit.begin; begin < unit.end;) {
      const index block = begin / kBlock;
      const index end = std::min(unit.end, (block + 1) * kBlock);
      parts_.push_back({begin, end, unit.whole ? owners[group_of[i]] : static_cast<int>(block % in_turn * ranks / in_turn)});
      begin = end;
    }
  }
  for (const OwnedRange& part : parts_) {
    add(weights_, part);
  }
}

std::vector<OwnedRange> Ownership::state(const StateSlab& slab) const {
  std::vector<OwnedRange> joined;
  for (const StateSlab::Part& part : slab.parts) {
    const index first = part.parameter->offset, end = first + part.parameter->size();
    auto at = std::upper_bound(parts_.begin(), parts_.end(), first, [](index begin, const OwnedRange& owned) { return begin < owned.end; });
    if (part.shape != part.parameter->shape()) {  // such as one value for each row; the parameter's owner keeps it
      add(joined, {part.offset, part.offset + part.shape.size(), at->owner});
      continue;
    }
    for (; at != parts_.end() && at->begin < end; ++at) {
      const index from = std::max(first, at->begin), to = std::min(end, at->end);
      add(joined, {part.offset + from - first, part.offset + to - first, at->owner});
    }
  }
  return joined;
}

std::vector<Unit> Ownership::units_of(int rank) const {
  std::vector<Unit> own;
  auto part = parts_.begin();
  for (const Unit& unit : units_) {
    if (unit.whole) {
      if (part->owner == rank) {
        own.push_back(unit);
      }
      while (part != parts_.end() && part->begin < unit.end) {
        ++part;
      }
      continue;
    }
    for (; part != parts_.end() && part->begin < unit.end; ++part) {
      if (part->owner != rank) {
        continue;
      }
      if (!own.empty() && !own.back().whole && own.back().end == part->begin && own.back().begin >= unit.begin) {
        own.back().end = part->end;
      } else {
        own.push_back({.begin = part->begin, .end = part->end});
      }
    }
  }
  return own;
}

double norm_of(const std::vector<double>& sums_of_squares) {
  double total = 0;
  for (const double sum : sums_of_squares) {
    total += sum;
  }
  return std::sqrt(total);
}

double sum_of_squares(ParameterStore& store, const OwnedRange& part) {
  return for_float(store.dtype(), "gradient norm", [&](auto zero) {
    using T = decltype(zero);
    return kernels::sum_of_squares_here<T>(part.size(), store.gradients<T>() + part.begin);
  });
}

}  // namespace dikkat
