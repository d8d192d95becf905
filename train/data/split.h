#pragma once

#include <vector>

#include "train/data/corpus.h"

namespace dikkat {

/// A corpus in two parts. The views live as long as the corpus stays where it is.
struct Split {
  std::vector<Passage> train;
  std::vector<Passage> validation;
};

/// Of all bytes, documents one after another, the first floor(bytes * (1 - val_fraction)) are for training, moved back to the start of
/// the UTF-8 character that the seam would cut; the rest is for validation. The seam may lie within a document; no passage is empty.
/// Throws InputError unless 0 <= val_fraction < 1; 0 leaves nothing for validation.
Split split(const Corpus& corpus, double val_fraction);

}  // namespace dikkat
