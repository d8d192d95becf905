#pragma once

#include <vector>

#include "train/data/corpus.h"

namespace dikkat {

/// floor(count * (1 - val_fraction)): how many of `count` things, the first ones, are for training. Throws InputError unless
/// 0 <= val_fraction < 1.
index training_share(index count, double val_fraction);

/// A corpus in two parts. The views live as long as the corpus stays where it is.
struct Split {
  std::vector<Passage> train;
  std::vector<Passage> validation;
};

/// Of all bytes, documents one after another, the training_share() is for training, moved back to the start of the UTF-8 character
/// that the seam would cut; the rest is for validation. The seam may lie within a document; no passage is empty.
/// Throws InputError unless 0 <= val_fraction < 1; 0 leaves nothing for validation.
Split split(const Corpus& corpus, double val_fraction);

}  // namespace dikkat
