#include "train/text/tokenizer.h"

#include <utility>

namespace dikkat {

EncodeError::EncodeError(index offset, std::string problem, index document)
    : InputError(concat("byte ", offset, ": ", problem)), offset_(offset), document_(document), problem_(std::move(problem)) {}

}  // namespace dikkat
