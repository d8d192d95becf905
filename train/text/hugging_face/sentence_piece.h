#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/text/hugging_face/bpe_pipeline.h"

// SentencePiece's BPE, which GGUF calls "llama": a text is one word, in which "▁" stands for a space. The adjacent pair whose token has the
// highest score is merged first. A tokenizer.json has ranked merges instead of scores.
namespace dikkat {

/// How a tokenizer of SentencePiece's kind begins a text.
struct SentencePieceRules {
  bool adds_space = false;  // puts "▁" before each text between added tokens
};

/// Returns the rules if a tokenizer is of this kind; nullopt for others.
std::optional<SentencePieceRules> sentence_piece_rules(const BpePipeline& contents);

/// Returns a score for each token, so that merging by score equals merging by rank. The token whose first merge has the lowest rank has the
/// highest score. Throws InputError if two tokens without a merge could be merged by score. Throws it also if the merges of a token do not
/// follow each other, unless that is an added token.
std::vector<float> sentence_piece_scores(const BpePipeline& contents);

/// The vocabulary of a file with scores.
struct SentencePieceVocabulary {
  std::vector<std::string> tokens{};  // by id; empty: no token has the id
  std::vector<double> scores{};       // by id
  std::vector<TokenType> types{};     // by id
  SentencePieceRules rules{};
  TextTokens text_tokens{};
};

/// Returns the tokenizer. Throws InputError for an invalid vocabulary.
BpePipeline sentence_piece_pipeline(SentencePieceVocabulary vocabulary);

}  // namespace dikkat
