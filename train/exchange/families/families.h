#pragma once

#include "train/exchange/family.h"

// The tables of all families, one function for each. family.cpp lists them.
namespace dikkat::family_tables {

Family gpt2_family();
Family llama_family();
Family qwen2_family();
Family qwen3_family();
Family mistral_family();
Family smollm3_family();
Family granite_family();
Family granite_hybrid_family();
Family olmo2_family();
Family gemma3_family();
Family phi3_family();

}  // namespace dikkat::family_tables
