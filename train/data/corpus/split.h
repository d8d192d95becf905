#pragma once

#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "autograd/base/index.h"
#include "train/config/data_config.h"

namespace dikkat {

/// Returns floor(count * (1 - val_fraction)): how many of `count` bytes, tokens, examples or pairs are for training. The training part
/// comes first. Throws InputError unless 0 <= val_fraction < 1.
index training_share(index count, double val_fraction);

/// The split of several files: how many bytes or examples of each are for training, counted from its beginning. The others are for
/// validation. Empty: everything is for training.
using FileSplit = std::vector<index>;

/// Splits files at one place: the first `training` bytes or examples of all are for training. `sizes` has each file's bytes or examples.
FileSplit split_at(std::span<const index> sizes, index training);

/// Splits files so that the validation part is spread over all of them. The end of a file is for validation if its share is at least
/// `least`, or if there are few files. Among the other files, one of every few is for validation as a whole. One file is split by
/// training_share(). If the files are too small for any share, the result is that of split_at().
FileSplit spread_split(std::span<const index> sizes, double val_fraction, index least);

/// Splits files as data.split and data.val_fraction ask. `least` is that of spread_split().
FileSplit split_of(const DataConfig& config, std::span<const index> sizes, index least);

/// Moves the items of files that are for validation after the others, and keeps the order of both. `sizes` has the items of each file.
template <class Item>
void put_validation_last(std::vector<Item>& items, std::span<const index> sizes, const FileSplit& split) {
  std::vector<Item> training, validation;
  auto item = std::make_move_iterator(items.begin());
  for (std::size_t file = 0; file < split.size(); ++file) {
    const auto middle = item + split[file], end = item + sizes[file];
    training.insert(training.end(), item, middle);
    validation.insert(validation.end(), middle, end);
    item = end;
  }
  items = std::move(training);
  items.insert(items.end(), std::make_move_iterator(validation.begin()), std::make_move_iterator(validation.end()));
}

/// The share of a text that is worth cutting off its end, in bytes: about a thousand tokens.
inline constexpr index kLeastTextShare = 4096;

/// Returns the note to the user on which files are for validation: 'for validation: 2 of 20 files, a.txt and k.txt'. Empty if there is one
/// file, or no validation part.
std::string note_on_split(std::span<const std::string> names, std::span<const index> sizes, const FileSplit& split);

}  // namespace dikkat
