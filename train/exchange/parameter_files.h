#pragma once

#include <filesystem>

#include "autograd/tape/parameters.h"
#include "train/exchange/formats/weight_type.h"

// The parameters of a model of one's own in another program's file. The file has them under the paths that the model's layers give them,
// such as "conv1.weight", row-major and in the same shapes: safetensors.torch.load_file() reads it in Python.
namespace dikkat {

/// Writes all parameters, which must be f32, to a safetensors file, which is replaced atomically. `type` is f32, f16, bf16 or f64. Throws
/// Error before the parameters have memory, for other parameters, for a matrix that is packed, and if the file cannot be written;
/// InputError for a number that f16 cannot hold.
void save_safetensors(const std::filesystem::path& path, const ParameterStore& parameters, WeightType type = WeightType::f32);

/// Reads all parameters, which must be f32 and have memory, from a safetensors file of f32, f16, bf16 or f64, which is rounded; or from
/// several, by their index (model.safetensors.index.json). Throws InputError, which names the tensors that the file lacks, has besides, or
/// has with another shape or type, and for a file that is damaged. Then no parameter was changed.
void load_safetensors(const std::filesystem::path& path, ParameterStore& parameters);

}  // namespace dikkat
