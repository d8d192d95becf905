#pragma once

#include "train/exchange/hf_reader.h"

namespace dikkat {

/// Reads RoPE's keys in a config.json: base, scaling, and for some families the share of a head and a base for layers with a window. They
/// have several forms. Throws InputError for keys that are missing, unknown or in contradiction, because ignoring them would compute
/// another model.
void read_hf_rope(const HfReader& reader, const Family& family, Config& config);

}  // namespace dikkat
