#include "train/data/corpus/split.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/base/error.h"
#include "train/system/format_numbers.h"

namespace dikkat {
namespace {

/// Returns '3 files: a.txt, b.txt and c.txt'. Long lists are cut.
std::string list_of(const std::vector<std::string>& names, std::size_t of_all) {
  constexpr std::size_t kShown = 5;
  const std::size_t shown = std::min(names.size(), kShown);
  std::string list = names.size() == of_all ? concat("all ", of_all, " files") : concat(names.size(), " of ", of_all, " files");
  if (names.size() < of_all) {
    for (std::size_t i = 0; i < shown; ++i) {
      list += concat(i == 0 ? ": " : ", ", names[i]);
    }
    list += names.size() > shown ? concat(" and ", names.size() - shown, " more") : "";
  }
  return list;
}

}  // namespace

index training_share(index count, double val_fraction) {
  require_input(val_fraction >= 0 && val_fraction < 1, "data.val_fraction is ", val_fraction, ", expected 0 or more and less than 1");
  return static_cast<index>(static_cast<double>(count) * (1 - val_fraction));
}

FileSplit split_at(std::span<const index> sizes, index training) {
  FileSplit split;
  for (const index size : sizes) {
    split.push_back(std::min(size, training));
    training -= split.back();
  }
  return split;
}

FileSplit spread_split(std::span<const index> sizes, double val_fraction, index least) {
  constexpr double kFewWholeFiles = 4;  // with fewer, a whole file is too coarse a share
  const index all = std::accumulate(sizes.begin(), sizes.end(), index{0});
  const FileSplit at_end = split_at(sizes, training_share(all, val_fraction));
  if (sizes.size() <= 1) {
    return at_end;
  }
  const bool are_few = val_fraction * static_cast<double>(sizes.size()) < kFewWholeFiles;
  FileSplit split;
  double seen = 0, validation = 0;
  for (const index size : sizes) {
    seen += static_cast<double>(size);
    const double wanted = std::fma(val_fraction, seen, -validation);  // one rounding on every processor: all have this split
    const bool is_cut = are_few || val_fraction * static_cast<double>(size) >= static_cast<double>(least);
    const index share = is_cut ? std::clamp<index>(std::llround(wanted), 0, std::max<index>(size - 1, 0))
                               : (2 * wanted >= static_cast<double>(size) ? size : 0);
    split.push_back(size - share);
    validation += static_cast<double>(share);
  }
  return validation > 0 ? split : at_end;
}

FileSplit split_of(const DataConfig& config, std::span<const index> sizes, index least) {
  return config.split == SplitPlace::spread
             ? spread_split(sizes, config.val_fraction, least)
             : split_at(sizes, training_share(std::accumulate(sizes.begin(), sizes.end(), index{0}), config.val_fraction));
}

std::string note_on_split(std::span<const std::string> names, std::span<const index> sizes, const FileSplit& split) {
  std::vector<std::string> whole, ends;
  for (std::size_t i = 0; i < split.size(); ++i) {
    if (split[i] < sizes[i]) {
      (split[i] == 0 ? whole : ends).push_back(names[i]);
    }
  }
  if (names.size() <= 1 || (whole.empty() && ends.empty())) {
    return "";
  }
  return concat("for validation: ", ends.empty() ? "" : concat("the end of ", list_of(ends, names.size())),
                ends.empty() || whole.empty() ? "" : ", and ", whole.empty() ? "" : list_of(whole, names.size()));
}

}  // namespace dikkat
