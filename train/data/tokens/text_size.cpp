#include "train/data/tokens/text_size.h"

#include <algorithm>
#include <optional>

#include "autograd/base/error.h"
#include "train/data/corpus/corpus_reader.h"
#include "train/system/pipeline.h"
#include "train/text/utf8.h"

namespace dikkat {
namespace {

/// The size of a chunk, and whether a word of it may be a part of one that the chunk's neighbor has too.
struct ChunkSize {
  TextSize size{};
  bool begins_document = true;
  bool begins_in_word = false, ends_in_word = false;
};

ChunkSize size_of(const Chunk& chunk, const Tokenizer& tokenizer, Token first_new) {
  ChunkSize result{.begins_document = chunk.begins};
  TextSize& size = result.size;
  size.bytes = std::ssize(chunk.text);
  const std::vector<Token> tokens = tokenizer.encode(chunk.text);
  size.tokens = std::ssize(tokens);
  size.new_tokens = std::ranges::count_if(tokens, [=](Token token) { return token >= first_new; });
  bool in_word = false;
  for (index at = 0; at < size.bytes;) {
    const utf8::Character character = utf8::decode(chunk.text, at);
    const bool is_space = character.fault == utf8::Fault::none && utf8::is_white_space(character.code_point);
    size.words += !is_space && !in_word ? 1 : 0;
    in_word = !is_space;
    result.begins_in_word = at == 0 ? in_word : result.begins_in_word;
    at += character.bytes;
  }
  result.ends_in_word = in_word;
  return result;
}

}  // namespace

TextSize size_of_text(const Corpus& corpus, const Tokenizer& tokenizer, Token first_new, const std::function<void(index)>& progress) {
  CorpusReader reader(corpus, [&](std::string_view text) { return tokenizer.stable_prefix(text); });
  TextSize sum;
  bool in_word = false;
  run_pipeline<std::vector<Chunk>, std::vector<ChunkSize>>(
      [&]() -> std::optional<std::vector<Chunk>> {
        auto chunks = reader.next();
        return chunks.empty() ? std::nullopt : std::optional(std::move(chunks));
      },
      [&](const std::vector<Chunk>& chunks) {
        std::vector<ChunkSize> sizes;
        for (const Chunk& chunk : chunks) {
          try {
            sizes.push_back(size_of(chunk, tokenizer, first_new));
          } catch (const EncodeError& error) {
            refuse_text(corpus, chunk, error);
          }
        }
        return sizes;
      },
      [&](const std::vector<ChunkSize>& sizes) {
        for (const ChunkSize& one : sizes) {
          const bool continues = !one.begins_document && in_word && one.begins_in_word;
          sum.bytes += one.size.bytes;
          sum.words += one.size.words - (continues ? 1 : 0);
          sum.tokens += one.size.tokens;
          sum.new_tokens += one.size.new_tokens;
          in_word = one.ends_in_word;
        }
        if (progress) {
          progress(sum.bytes);
        }
      });
  require_input(sum.words > 0, corpus.files.front().name, corpus.files.size() == 1 ? " has" : " and all other files of the corpus have",
                " no words, expected text");
  return sum;
}

}  // namespace dikkat
