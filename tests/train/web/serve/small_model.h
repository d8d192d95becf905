#pragma once

#include <string>
#include <vector>

#include "train/text/byte_tokenizer.h"
#include "train/web/serve/served_model.h"

namespace dikkat::serve {

/// A model of bytes with random weights, which writes random bytes.
struct SmallModel {
  static constexpr index kVocabulary = 256;

  ParameterStore store;
  Gpt gpt;
  ByteTokenizer tokenizer;

  explicit SmallModel(index context, bool tied = true)
      : gpt(Scope(store),
            {.n_layer = 1, .n_head = 2, .n_embd = 16, .block_size = context, .vocab_size = kVocabulary, .tie_embeddings = tied}) {
    store.allocate(5);
    for (ParameterStore::Entry* entry : store.entries()) {
      for (index i = 0; i < entry->size(); ++i) {
        static_cast<float*>(entry->record.data)[i] *= 12;
      }
    }
  }
  ServedModel served() const {
    return {.gpt = gpt,
            .tokenizer = tokenizer,
            .name = "tiny",
            .fingerprint = "print",
            .form = ChatTemplate(TemplateName::own,
                                 "{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ '\\n' }}{% endfor %}"
                                 "{% if add_generation_prompt %}<assistant>{% endif %}",
                                 tokenizer),
            .created = 5};
  }
  /// The model's logits after a text.
  std::vector<float> logits(const std::string& text) const {
    Tape tape(Recording::off);
    Pass pass{.tape = tape};
    const std::vector<Token> tokens = tokenizer.encode(text);
    const Tensor all = gpt(pass, tape.input<Token>({1, std::ssize(tokens)}, tokens));
    const float* last = all.data<float>() + (std::ssize(tokens) - 1) * kVocabulary;
    return {last, last + kVocabulary};
  }
};

inline const SmallModel& small_model() {
  static const SmallModel model(400);
  return model;
}
/// Returns a model with a context that takes minutes to fill.
inline const SmallModel& large_model() {
  static const SmallModel model(100'000);
  return model;
}

}  // namespace dikkat::serve
