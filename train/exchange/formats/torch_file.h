#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "train/exchange/formats/weight_file.h"

namespace dikkat {

/// Whether these are the first bytes of a file of torch.save: a zip archive, or one of the two older forms, which open_torch() refuses.
bool is_torch(std::span<const std::byte> bytes);

/// Opens what torch.save wrote (PyTorch 1.6 and later), such as nanoGPT's ckpt.pt: a dict of tensors, dicts, lists and plain values. Names
/// and keys are paths into it, as "model/transformer.wte.weight", "model_args/n_layer", "optimizer/param_groups/0/lr". Nothing of the file
/// is run. A tensor whose elements do not lie row by row (a transposed view) is there as WeightType::other, and its type_name says so.
/// Throws InputError, beginning with the path, for a damaged file, and for one with anything else than tensors and plain values.
WeightFile open_torch(const std::string& path);

/// The same for a file in memory, which must outlive the result; `name` begins error messages.
WeightFile parse_torch(std::span<const std::byte> bytes, const std::string& name);

}  // namespace dikkat
