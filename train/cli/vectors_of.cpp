#include "train/cli/vectors_of.h"

#include "train/exchange/sentence_transformers.h"

namespace dikkat {

Pooling pooling_of(const ModelOrigin& origin) {
  if (origin.config().embedding.is_on()) {
    return origin.config().embedding.pooling;
  }
  return origin.files() != nullptr ? read_pooling(origin.path()).value_or(Pooling::mean) : Pooling::mean;
}

}  // namespace dikkat
