// Tokenizer files of all kinds. One that is accepted encodes and decodes, and is the same again after it was written.

#include <algorithm>

#include "tests/fuzz/fuzz.h"
#include "train/text/bpe_files.h"
#include "train/text/bpe_tokenizer.h"
#include "train/text/tokenizer.h"
#include "train/text/tokenizer_file.h"

namespace dikkat {

namespace {

constexpr std::string_view kBetweenFiles = "\n---\n";
constexpr std::string_view kText = "a b\n\nThe  quick 12 h\xC3\xA9 \xF0\x9F\x98\x80 it's <pad> <|endoftext|> abababababababababab";

std::unique_ptr<Tokenizer> gpt2(std::string_view input) {
  const std::size_t end = std::min(input.find(kBetweenFiles), input.size());
  const std::string_view ids = input.substr(std::min(end + kBetweenFiles.size(), input.size()));
  return std::make_unique<BpeTokenizer>(
      from_gpt2_files({.vocab_bpe = std::string(input.substr(0, end)), .encoder_json = std::string(ids)}));
}

/// The tokens of the text, none where it has none.
std::vector<Token> tokens_of(const Tokenizer& tokenizer, std::string_view text) {
  try {
    return tokenizer.encode(text);
  } catch (const EncodeError&) {
    return {};
  }
}

void use(const Tokenizer& tokenizer, std::string_view input) {
  const auto is_id = [&](Token id) { return id >= 0 && id < tokenizer.vocab_size(); };
  for (const std::string_view text : {kText, input.substr(0, 300)}) {
    const std::vector<Token> tokens = tokens_of(tokenizer, text);
    fuzz::hold(std::all_of(tokens.begin(), tokens.end(), is_id), "a token is below vocab_size");
    const std::string back = tokenizer.decode(tokens);
    fuzz::hold(tokens.empty() || !tokenizer.is_lossless() || back == text, "decode(encode(text)) is the text");
    const auto stable_prefix = static_cast<std::size_t>(tokenizer.stable_prefix(text));
    fuzz::hold(stable_prefix <= text.size(), "the stable prefix lies in the text");
  }
  for (Token id = 0; id < std::min<index>(tokenizer.vocab_size(), 300); ++id) {
    static_cast<void>(tokenizer.decode({&id, 1}));
  }
  fuzz::hold(!tokenizer.separator() || is_id(*tokenizer.separator()), "the separator is below vocab_size");
  const std::string json = tokenizer.to_json();
  const auto again = tokenizer_from_json(json);
  fuzz::hold(again->vocab_size() == tokenizer.vocab_size() && again->separator() == tokenizer.separator() && again->to_json() == json &&
                 tokens_of(*again, kText) == tokens_of(tokenizer, kText),
             "to_json() gives the same tokenizer");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static fuzz::MemoryFile place;
  std::string_view input = fuzz::text_of(data, size);
  const unsigned mode = fuzz::choice(input, 3);
  std::unique_ptr<Tokenizer> tokenizer;
  if (!fuzz::accepts([&] {
        if (mode == 2) {
          place.put(input);
        }
        tokenizer = mode == 0 ? tokenizer_from_json(input) : mode == 1 ? gpt2(input) : read_tokenizer_file(place.path());
      })) {
    return 0;
  }
  use(*tokenizer, input);
  return 0;
}

}  // namespace dikkat
