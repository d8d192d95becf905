#include "train/data/tokens/tokenize.h"

#include <filesystem>

#include "autograd/base/error.h"
#include "train/data/corpus/corpus_reader.h"
#include "train/data/corpus/fingerprint.h"
#include "train/data/tokens/place_of_split.h"
#include "train/data/tokens/token_file.h"
#include "train/system/pipeline.h"

namespace dikkat {
namespace {

std::size_t at(Part part) { return static_cast<std::size_t>(part); }

class InMemory : public TokenSink {
 public:
  explicit InMemory(index vocab_size) : parts_{TokenStore(vocab_size), TokenStore(vocab_size)} {}

  void begin_document(Part part) override { parts_[at(part)].begin_document(); }
  void append(Part part, std::span<const Token> tokens) override { parts_[at(part)].append(tokens); }
  std::array<TokenStore, kParts> take() && { return std::move(parts_); }

 private:
  std::array<TokenStore, kParts> parts_;
};

}  // namespace

std::array<index, kParts> tokenize(const Corpus& corpus, const Tokenizer& tokenizer, const FileSplit& split, TokenSink& sink,
                                   const std::function<void(index)>& progress, const std::string& fingerprint) {
  struct Encoded {
    Part part;
    bool begins;
    index bytes;
    std::vector<Token> tokens;
  };
  CorpusReader reader(
      corpus, [&](std::string_view text) { return tokenizer.stable_prefix(text); }, split,
      [&](std::string_view text, index byte) { return place_of_split(tokenizer, text, byte); });
  const std::optional<Token> separator = tokenizer.separator();
  std::array<index, kParts> bytes{};
  Fingerprint found;
  // Read and hash chunks in order.
  run_pipeline<std::vector<Chunk>, std::vector<Encoded>>(
      [&]() -> std::optional<std::vector<Chunk>> {
        auto chunks = reader.next();
        for (const Chunk& chunk : chunks) {
          found.add(chunk.text);
          if (chunk.ends) {
            found.end_document();
          }
        }
        return chunks.empty() ? std::nullopt : std::optional(std::move(chunks));
      },
      // Encode groups of chunks in parallel.
      [&](const std::vector<Chunk>& chunks) {
        std::vector<Encoded> all;
        all.reserve(chunks.size());
        for (const Chunk& chunk : chunks) {
          try {
            all.push_back({.part = chunk.after_split ? Part::validation : Part::train,
                           .begins = chunk.begins,
                           .bytes = static_cast<index>(chunk.text.size()),
                           .tokens = tokenizer.encode(chunk.text)});
          } catch (const EncodeError& error) {
            refuse_text(corpus, chunk, error);
          }
        }
        return all;
      },
      // Write the tokens in order, with separators between documents.
      [&](const std::vector<Encoded>& all) {
        for (const Encoded& one : all) {
          if (one.begins) {
            if (separator && bytes[at(one.part)] > 0) {
              sink.append(one.part, {&*separator, 1});
            }
            sink.begin_document(one.part);
          }
          sink.append(one.part, one.tokens);
          bytes[at(one.part)] += one.bytes;
        }
        if (progress) {
          progress(bytes[0] + bytes[1]);
        }
      });
  // Check that the texts are still those of survey().
  require_input(fingerprint.empty() || found.finish() == fingerprint, "the corpus was changed while it was being read (",
                corpus.files.front().name, "); start again when nothing writes to it any more");
  return bytes;
}

TokenizedCorpus tokenize(const Corpus& corpus, const Tokenizer& tokenizer, const FileSplit& split,
                         const std::function<void(index)>& progress, const std::string& fingerprint) {
  InMemory sink(tokenizer.vocab_size());
  const auto bytes = tokenize(corpus, tokenizer, split, sink, progress, fingerprint);
  return {.parts = std::move(sink).take(), .bytes = bytes};
}

namespace {

/// Returns a string that differs for different splits.
std::string key_of(const FileSplit& split) {
  std::string key = split.empty() ? "-1" : "";
  for (const index training : split) {
    append_to(key, concat(key.empty() ? "" : " ", training));
  }
  return key;
}

/// The key of a token file, and its path.
struct TokenFileName {
  std::string key, path;

  TokenFileName(const std::string& folder, const std::string& fingerprint, const Tokenizer& tokenizer, const FileSplit& split)
      : key(to_hex(sha256(concat(fingerprint, ' ', to_hex(sha256(tokenizer.to_json())), ' ', key_of(split))))),
        path((std::filesystem::path(folder) / concat(key.substr(0, kTokenFileDigits), kTokenFileExtension)).string()) {}
};

}  // namespace

std::optional<TokenizedCorpus> find_tokens(const std::string& folder, const std::string& fingerprint, const Tokenizer& tokenizer,
                                           const FileSplit& split) {
  const TokenFileName name(folder, fingerprint, tokenizer, split);
  return open_token_file(name.path, name.key, tokenizer.vocab_size());
}

TokenizedCorpus tokenize_once(const std::string& folder, const std::string& fingerprint, const Corpus& corpus, const Tokenizer& tokenizer,
                              const FileSplit& split, const std::function<void(index)>& progress) {
  const TokenFileName name(folder, fingerprint, tokenizer, split);
  if (auto known = open_token_file(name.path, name.key, tokenizer.vocab_size())) {
    return std::move(*known);
  }
  {
    TokenFileWriter file(name.path, name.key, tokenizer.vocab_size());
    file.finish(tokenize(corpus, tokenizer, split, file, progress, fingerprint));
  }
  auto tokens = open_token_file(name.path, name.key, tokenizer.vocab_size());
  require(tokens.has_value(), name.path, ": the file that was just written is damaged; is another program writing there?");
  tokens->file = name.path;
  return std::move(*tokens);
}

}  // namespace dikkat
