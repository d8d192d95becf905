#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "train/exchange/formats/weight_file.h"

namespace dikkat {

/// Returns whether these bytes begin a file of torch.save: a zip archive, or one of two older forms, which open_torch() refuses.
bool is_torch(std::span<const std::byte> bytes);

/// Opens a file of torch.save (PyTorch 1.6 and later), such as nanoGPT's ckpt.pt: a dict of tensors, dicts, lists and plain values. Names
/// and keys are paths into it, such as "model/transformer.wte.weight", "model_args/n_layer", "optimizer/param_groups/0/lr". No code in the
/// file is run. A tensor that is not row-major (a transposed view) has the type WeightType::other, and its type_name has the strides.
/// Throws InputError, beginning with the path, for a damaged file, and for one with anything other than tensors and plain values.
WeightFile open_torch(const std::string& path);

/// Opens a file of torch.save in memory, which must outlive the result. Errors begin with `name`.
WeightFile parse_torch(std::span<const std::byte> bytes, const std::string& name);

}  // namespace dikkat
