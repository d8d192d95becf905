#include "train/text/tokenizer_extender.h"

#include "train/text/bpe_tokenizer.h"
#include "train/text/bpe_trainer.h"
#include "train/text/byte_level.h"
#include "train/text/hugging_face/bpe_pipeline.h"
#include "train/text/hugging_face/character_bpe.h"

namespace dikkat {
namespace {

/// Returns the old tokens of each new one: those of both sides of its merge.
std::vector<std::vector<Token>> pieces_of(std::span<const Merge> merges, Token first) {
  std::vector<std::vector<Token>> pieces;
  for (const auto& [left, right] : merges) {
    std::vector<Token> both;
    for (const Token side : {left, right}) {
      if (side < first) {
        both.push_back(side);
      } else {
        const std::vector<Token>& own = pieces[static_cast<std::size_t>(side - first)];
        both.insert(both.end(), own.begin(), own.end());
      }
    }
    pieces.push_back(std::move(both));
  }
  return pieces;
}

std::vector<Merge> joined(std::vector<Merge> old, const std::vector<Merge>& added) {
  old.insert(old.end(), added.begin(), added.end());
  return old;
}

/// Returns the tokens to begin with: the ids of added tokens are reserved.
BpeStart start_with(const std::vector<std::string>& tokens, index vocab_size, const AddedTokens& added) {
  BpeStart start{.tokens = tokens};
  start.tokens.resize(static_cast<std::size_t>(vocab_size));
  for (const auto& [id, token] : added) {
    start.taken.push_back(token.name);
    if (auto bytes = byte_level::to_bytes(token.name)) {
      start.taken.push_back(*std::move(bytes));
    }
  }
  return start;
}

std::unique_ptr<Tokenizer> extended(const BpeVocabulary& old, LearnedMerges learned) {
  BpeVocabulary vocabulary{.bpe = Bpe(std::move(learned.tokens), joined(old.bpe.merges(), learned.merges), old.bpe.ignores_merges()),
                           .added_tokens = old.added_tokens,
                           .splitter = old.splitter,
                           .nfc = old.nfc,
                           .text_tokens = old.text_tokens};
  return std::make_unique<BpeTokenizer>(std::move(vocabulary));
}

std::unique_ptr<Tokenizer> extended(const BpePipeline& old, LearnedMerges learned) {
  std::vector<Token> special;
  for (const SpecialToken& token : special_tokens_of(old.added_tokens)) {
    special.push_back(token.id);
  }
  for (const auto& [id, token] : old.added_tokens) {  // Hugging Face's library numbers those that are not in the vocabulary after its end
    learned.tokens[static_cast<std::size_t>(id)] = token.name;
  }
  BpePipeline contents = old;
  contents.bpe =
      std::make_shared<const CharacterBpe>(std::move(learned.tokens), joined(old.bpe->merges(), learned.merges), old.bpe->rules(), special);
  return std::make_unique<PipelineTokenizer>(std::move(contents));
}

}  // namespace

TokenizerExtender::TokenizerExtender(const Tokenizer& old, index add)
    : old_(old), bytes_(dynamic_cast<const BpeTokenizer*>(&old)), pipeline_(dynamic_cast<const PipelineTokenizer*>(&old)), add_(add) {
  require_input(bytes_ != nullptr || (pipeline_ != nullptr && pipeline_->is_byte_level()), "the tokenizer is of the kind \"", old.kind(),
                '"', old.kind() == BpeTokenizer::kKind ? " over characters (SentencePiece's)" : "",
                ", which cannot be extended, expected BPE over bytes, as GPT-2, Llama 3 and Qwen have: train a model of your own with "
                "tokenizer.kind = \"bpe\", or start from a model of such a kind");
}

void TokenizerExtender::read(std::string_view text) {
  const auto count = [&](std::string_view piece) { counts_.add(piece); };
  if (bytes_ != nullptr) {
    bytes_->for_pieces(text, count);
  } else {
    pipeline_->for_words(text, count);
  }
}

TokenizerExtension TokenizerExtender::extend(const std::function<void(double)>& progress) {
  const index size = old_.vocab_size();
  // Encode the pieces with the old merges, and learn more.
  CharacterBpe::Memory memory;
  BpeStart start;
  if (bytes_ != nullptr) {
    start = start_with(bytes_->bpe().tokens(), size, bytes_->vocabulary().added_tokens);
    start.encode = [&](std::string_view piece, std::vector<Token>& out) { bytes_->bpe().encode(piece, out); };
  } else {
    start = start_with(pipeline_->contents().bpe->tokens(), size, pipeline_->contents().added_tokens);
    start.encode = [&](std::string_view word, std::vector<Token>& out) { pipeline_->contents().bpe->encode(word, memory, out); };
  }
  LearnedMerges learned = learn_merges(std::move(start), std::move(counts_), add_, progress);
  require_input(!learned.merges.empty(), "the corpus adds no token: ",
                learned.known > 0 ? "every pair of adjacent tokens that occurs twice is a token already"
                                  : "no pair of adjacent tokens occurs twice in its words",
                ", expected more text, or text in a language that the tokenizer cuts into small pieces");
  // Make the new tokenizer.
  TokenizerExtension extension{.first = static_cast<Token>(size), .pieces = pieces_of(learned.merges, static_cast<Token>(size))};
  extension.tokenizer =
      bytes_ != nullptr ? extended(bytes_->vocabulary(), std::move(learned)) : extended(pipeline_->contents(), std::move(learned));
  return extension;
}

}  // namespace dikkat
