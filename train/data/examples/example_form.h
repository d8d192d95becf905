#pragma once

#include "train/chat/chat_template.h"
#include "train/config/data_config.h"
#include "train/text/tokenizer.h"

namespace dikkat {

/// How examples become tokens: they are written in a template, and cut at the end of a window.
struct ExampleForm {
  const Tokenizer& tokenizer;
  const ChatTemplate& chat;
  index window = 0;
  const char* window_key = "";  // the key that sets `window`, for notes
};

/// Returns the form of a source with these settings. Keeps references to the tokenizer and the template.
inline ExampleForm form_of(const DataConfig& config, const Tokenizer& tokenizer, const ChatTemplate& chat) {
  return {.tokenizer = tokenizer, .chat = chat, .window = config.window, .window_key = window_key(config)};
}

}  // namespace dikkat
