#include "train/data/split.h"

#include "autograd/base/error.h"
#include "train/text/utf8.h"

namespace dikkat {

index training_share(index count, double val_fraction) {
  require_input(val_fraction >= 0 && val_fraction < 1, "data.val_fraction is ", val_fraction, ", expected 0 or more and less than 1");
  return static_cast<index>(static_cast<double>(count) * (1 - val_fraction));
}

Split split(const Corpus& corpus, double val_fraction) {
  const std::vector<Passage> all = corpus.passages();
  index left = training_share(byte_count(all), val_fraction);  // bytes still to come for training
  Split parts;
  for (const Passage& whole : all) {
    const auto size = static_cast<index>(whole.text.size());
    const index seam = left >= size ? size : utf8::snap(whole.text, left);
    const auto cut = static_cast<std::size_t>(seam);
    if (seam > 0) {
      parts.train.push_back({.name = whole.name, .text = whole.text.substr(0, cut), .offset = 0});
    }
    if (seam < size) {
      parts.validation.push_back({.name = whole.name, .text = whole.text.substr(cut), .offset = seam});
    }
    left = left >= size ? left - size : 0;
  }
  return parts;
}

}  // namespace dikkat
