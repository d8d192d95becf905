#pragma once

#include <filesystem>

#include "autograd/tape/parameters.h"
#include "train/exchange/formats/weight_type.h"

// The parameters of a model of one's own in another program's file. The file has them under their paths in the model, such as
// "conv1.weight", row-major and in the same shapes. In Python, safetensors.torch.load_file() reads it.
namespace dikkat {

/// Writes all parameters, which must be f32, to a safetensors file, which is replaced atomically. `type` is f32, f16, bf16 or f64. Throws
/// Error for parameters that are not f32 or have no memory, for a packed matrix, and if the file cannot be written. Throws InputError for a
/// number that f16 cannot hold.
void save_safetensors(const std::filesystem::path& path, const ParameterStore& parameters, WeightType type = WeightType::f32);

/// Reads all parameters, which must be f32 and have memory, from a safetensors file of f32, f16, bf16 or f64, which is rounded. Reads
/// several files by their index (model.safetensors.index.json). Throws InputError for a damaged file, and for tensors that the file lacks,
/// has in addition, or has with another shape or type. The message names them, and no parameter was changed.
void load_safetensors(const std::filesystem::path& path, ParameterStore& parameters);

}  // namespace dikkat
