#include "train/data/corpus/shard_source.h"

#include <algorithm>

#include "autograd/base/error.h"
#include "train/data/corpus/corpus.h"
#include "train/data/corpus/fingerprint.h"
#include "train/data/corpus/split.h"
#include "train/data/corpus/text_dataset.h"
#include "train/data/tokens/token_shards.h"
#include "train/text/token_bytes.h"

// Token files of other programs.
namespace dikkat {
namespace {

/// Returns the bytes of the text that the tokens stand for.
index bytes_of(const TokenStore& tokens, const Tokenizer& tokenizer) {
  const TokenBytes sizes(tokenizer);
  constexpr index kBlock = index{1} << 16;
  constexpr index kForgetAfter = index{1} << 23;
  std::vector<Token> block(kBlock);
  index bytes = 0;
  for (index first = 0; first < tokens.size(); first += kBlock) {
    const index count = std::min(kBlock, tokens.size() - first);
    tokens.read(first, count, block.data());
    bytes += sizes.of(std::span(block).first(static_cast<std::size_t>(count)));
    if (first % kForgetAfter == 0) {
      tokens.forget();
    }
  }
  tokens.forget();
  return bytes;
}

class ShardSource : public OpenedSource {
 public:
  ShardSource(const DataConfig& config, const SourceReading& reading) : OpenedSource(config), seed_(reading.seed) {
    require_input(!has_validation() || are_token_shards(config.validation),
                  "data.corpus names token files (.bin), but data.validation names texts; expected token files in both");
    const std::vector<CorpusFile> files = find_corpus_files(config.corpus, kTokenExtensions);
    require_input(reading.tokenizer != nullptr, "data.corpus names token files (", files.front().name,
                  "), which only the tokenizer that made them can read: set tokenizer.path to it (GPT-2's vocab.bpe, or nanoGPT's "
                  "meta.pkl, which is also found next to them)");
    const SourceFacts of_files = read(files, files_, facts_.documents_of_training);
    const SourceFacts of_others =
        read(has_validation() ? find_corpus_files(config.validation, kTokenExtensions) : std::vector<CorpusFile>(), held_out_,
             facts_.documents_of_validation);
    set_facts(of_files, of_others);
    facts_.fingerprint = to_hex(sha256(of_files.fingerprint + of_others.fingerprint));
  }

  SourceData tokens(const Tokenizer& tokenizer, const LoadingProgress&, std::vector<std::string>& notes) override {
    TokenStore train = open_token_shards(files_, tokenizer.vocab_size(), tokenizer.separator(), &notes);
    TokenStore validation(tokenizer.vocab_size());
    if (has_validation()) {
      validation = open_token_shards(held_out_, tokenizer.vocab_size(), tokenizer.separator(), &notes);
    } else {
      const index share = training_share(train.size(), config_.val_fraction);
      validation = train.part(share, train.size() - share);
      train = train.part(0, share);
    }
    facts_.documents = train.documents() + validation.documents();
    const auto dataset = [&](TokenStore tokens) {
      const index bytes = bytes_of(tokens, tokenizer);
      return std::make_unique<TextDataset>(config_, seed_, tokenizer, std::move(tokens), bytes);
    };
    return source_of_texts(dataset(std::move(train)), dataset(std::move(validation)));
  }

 private:
  /// Maps the files. The fingerprint covers the same bytes from which the tokens are read later.
  static SourceFacts read(const std::vector<CorpusFile>& files, TokenShards& shards, DocumentHashes& documents) {
    Fingerprint fingerprint(&documents);
    shards = map_token_shards(files, &fingerprint);
    SourceFacts facts{.files = static_cast<index>(files.size()), .fingerprint = fingerprint.finish()};
    for (const auto& shard : shards) {
      facts.bytes += static_cast<index>(shard->size());
    }
    return facts;
  }

  const std::uint64_t seed_;
  TokenShards files_, held_out_;
};

}  // namespace

std::unique_ptr<OpenedSource> open_shards(const DataConfig& config, const SourceReading& reading) {
  return std::make_unique<ShardSource>(config, reading);
}

LoadedText evaluation_of_shards(const DataConfig& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths) {
  std::vector<std::string> notes;
  DocumentHashes documents;
  Fingerprint fingerprint(&documents);
  const TokenShards shards = map_token_shards(find_corpus_files(paths, kTokenExtensions), &fingerprint);
  TokenStore tokens = open_token_shards(shards, tokenizer.vocab_size(), tokenizer.separator(), &notes);
  const index bytes = bytes_of(tokens, tokenizer);
  return {.data = std::make_unique<TextDataset>(config, 0, tokenizer, std::move(tokens), bytes),
          .notes = std::move(notes),
          .documents = std::move(documents)};
}

}  // namespace dikkat
