#pragma once

#include "train/text/hugging_face_json.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// The tokenizer's files in a folder of Hugging Face. Bytes are byte-level BPE without merges; characters are BPE without merges. Throws
/// InputError for other kinds. `model.chat_template` is left out where there are no special tokens (characters).
HuggingFaceFiles hugging_face_files_of(const Tokenizer& tokenizer, const HuggingFaceModel& model);

}  // namespace dikkat
