#pragma once

#include "train/text/hugging_face/write_hugging_face_json.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// Returns the tokenizer's files for a Hugging Face folder. A byte tokenizer becomes byte-level BPE without merges, a character tokenizer
/// BPE without merges, and a word tokenizer a WordLevel (word_pipeline(), which may throw InputError). A character tokenizer has no special
/// tokens, so its files have no chat template.
HuggingFaceFiles hugging_face_files_of(const Tokenizer& tokenizer, const HuggingFaceModel& model);

}  // namespace dikkat
