#pragma once

#include "train/text/hugging_face/bpe_pipeline.h"
#include "train/text/hugging_face/sentence_piece.h"

namespace dikkat::testing {

/// Returns a tokenizer that puts a space before every text, as those of Llama 2 and Mistral do. Its ids:
/// 0 <unk>, 1 <s>, which begins every text, 2 </s>, 3 "▁", 4 "a", 5 "b", 6 "▁a", 7 "▁b".
inline PipelineTokenizer sentence_piece_tokenizer() {
  SentencePieceVocabulary vocabulary{.tokens = {"<unk>", "<s>", "</s>", "\u2581", "a", "b", "\u2581a", "\u2581b"},
                                     .scores = {0, 0, 0, -3, -4, -5, -1, -2},
                                     .rules = {.adds_space = true},
                                     .text_tokens = {.bos = 1, .eos = 2, .before = 1}};
  vocabulary.types.assign(vocabulary.tokens.size(), TokenType::text);
  vocabulary.types[0] = TokenType::unknown;
  vocabulary.types[1] = vocabulary.types[2] = TokenType::special;
  return PipelineTokenizer(sentence_piece_pipeline(std::move(vocabulary)));
}

}  // namespace dikkat::testing
