#pragma once

#include <string>

namespace dikkat {

/// Prints what is in another program's model: family, shape, context, tokenizer, chat template and tensors, as text or as one JSON object. Throws
/// InputError for files that are damaged, or describe a model that this program cannot compute.
void inspect_files(const std::string& source, bool json);

}  // namespace dikkat
