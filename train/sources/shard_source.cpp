#include <algorithm>

#include "autograd/base/error.h"
#include "train/data/corpus.h"
#include "train/data/fingerprint.h"
#include "train/data/split.h"
#include "train/data/token_shards.h"
#include "train/io/mapped_file.h"
#include "train/sources/source.h"

// Token files of other programs.
namespace dikkat {
namespace {

/// Bytes of the text that the tokens stand for.
index bytes_of(const TokenStore& tokens, const Tokenizer& tokenizer) {
  std::vector<index> sizes;
  sizes.reserve(static_cast<std::size_t>(tokenizer.vocab_size()));
  for (Token id = 0; id < tokenizer.vocab_size(); ++id) {
    sizes.push_back(id == tokenizer.separator() ? 0 : static_cast<index>(tokenizer.decode(std::span(&id, 1)).size()));
  }
  constexpr index kBlock = index{1} << 16;
  constexpr index kForgetAfter = index{1} << 23;
  std::vector<Token> block(kBlock);
  index bytes = 0;
  for (index first = 0; first < tokens.size(); first += kBlock) {
    const index count = std::min(kBlock, tokens.size() - first);
    tokens.read(first, count, block.data());
    for (index i = 0; i < count; ++i) {
      bytes += sizes[static_cast<std::size_t>(block[static_cast<std::size_t>(i)])];
    }
    if (first % kForgetAfter == 0) {
      tokens.forget();
    }
  }
  tokens.forget();
  return bytes;
}

/// Size and fingerprint of the files' bytes.
CorpusFacts survey_shards(const std::vector<CorpusFile>& files) {
  Fingerprint fingerprint;
  CorpusFacts facts;
  for (const CorpusFile& file : files) {
    const MappedFile mapped(file.path);
    const std::string_view bytes(reinterpret_cast<const char*>(mapped.data()), mapped.size());
    constexpr std::size_t kBlock = std::size_t{1} << 24;
    for (std::size_t at = 0; at < bytes.size(); at += kBlock) {
      fingerprint.add(bytes.substr(at, kBlock));
      mapped.forget();
    }
    fingerprint.end_document();
    facts.bytes += static_cast<index>(mapped.size());
  }
  facts.fingerprint = fingerprint.finish();
  return facts;
}

class ShardSource : public Source {
 public:
  ShardSource(const Config& config, const SourceReading& reading) : Source(config) {
    require_input(!has_validation() || are_token_shards(config.data.validation),
                  "data.corpus names tokens (.bin) and data.validation texts, expected tokens in both");
    files_ = find_corpus_files(config.data.corpus, kTokenExtensions);
    held_out_ = has_validation() ? find_corpus_files(config.data.validation, kTokenExtensions) : std::vector<CorpusFile>();
    require_input(
        reading.tokenizer != nullptr, "data.corpus names tokens (", files_.front().name,
        "), which only the tokenizer that made them can read: set tokenizer.path to it (GPT-2's vocab.bpe, or nanoGPT's meta.pkl as JSON)");
    set_facts(facts_of(files_), facts_of(held_out_));
    facts_.fingerprint = to_hex(sha256(facts_of(files_).fingerprint + facts_of(held_out_).fingerprint));
  }

  SplitText tokens(const Tokenizer& tokenizer, const LoadingProgress&, std::vector<std::string>&) override {
    TokenStore train = open_token_shards(files_, tokenizer.vocab_size(), tokenizer.separator());
    TokenStore validation(tokenizer.vocab_size());
    if (has_validation()) {
      validation = open_token_shards(held_out_, tokenizer.vocab_size(), tokenizer.separator());
    } else {
      const index share = training_share(train.size(), config_.data.val_fraction);
      validation = train.part(share, train.size() - share);
      train = train.part(0, share);
    }
    facts_.documents = train.documents() + validation.documents();
    const index train_bytes = bytes_of(train, tokenizer);
    const index validation_bytes = bytes_of(validation, tokenizer);
    return split_of_tokens(config_, tokenizer, evaluation_of_tokens(config_, tokenizer, std::move(train), train_bytes),
                           evaluation_of_tokens(config_, tokenizer, std::move(validation), validation_bytes));
  }

 private:
  static SourceFacts facts_of(const std::vector<CorpusFile>& files) {
    const CorpusFacts facts = survey_shards(files);
    return {.files = static_cast<index>(files.size()), .bytes = facts.bytes, .fingerprint = facts.fingerprint};
  }

  std::vector<CorpusFile> files_, held_out_;
};

}  // namespace

std::unique_ptr<Source> open_shards(const Config& config, const SourceReading& reading) { return std::make_unique<ShardSource>(config, reading); }

EvaluationText evaluation_of_shards(const Config& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths) {
  TokenStore tokens = open_token_shards(find_corpus_files(paths, kTokenExtensions), tokenizer.vocab_size(), tokenizer.separator());
  const index bytes = bytes_of(tokens, tokenizer);
  return evaluation_of_tokens(config, tokenizer, std::move(tokens), bytes);
}

}  // namespace dikkat
