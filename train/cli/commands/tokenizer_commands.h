#pragma once

#include "train/cli/command.h"

// The commands of `dikkat tokenizer` that have files of their own.
namespace dikkat {

inline constexpr const char* kTokenizerHelp =
    "A tokenizer.json, GPT-2's vocab.bpe (next to encoder.json), a folder with one of these, a GGUF file, a run or a checkpoint";

void add_tokenizer_extend(Commands& tokenizer);
void add_tokenizer_compare(Commands& tokenizer);

}  // namespace dikkat
