// Fuzzes tokenizer files of all kinds. An accepted one encodes and decodes, and does not change when it is written and read again.

#include <algorithm>

#include "tests/fuzz/fuzz.h"
#include "train/text/bpe_tokenizer.h"
#include "train/text/hugging_face/bpe_files.h"
#include "train/text/tokenizer.h"
#include "train/text/tokenizer_file.h"
#include "train/text/unicode.h"

namespace dikkat {

namespace {

constexpr std::string_view kBetweenFiles = "\n---\n";
constexpr std::string_view kText =
    "a b\n\nThe  quick 12 he\xCC\x81 \xF0\x9F\x98\x80 it'S.\r\n <pad> <a> b<t><s><|endoftext|> abababababababababab";

std::unique_ptr<Tokenizer> gpt2(std::string_view input) {
  const std::size_t end = std::min(input.find(kBetweenFiles), input.size());
  const std::string_view ids = input.substr(std::min(end + kBetweenFiles.size(), input.size()));
  return std::make_unique<BpeTokenizer>(
      from_gpt2_files({.vocab_bpe = std::string(input.substr(0, end)), .encoder_json = std::string(ids)}));
}

/// The tokens of the text; none if it cannot be encoded.
std::vector<Token> tokens_of(const Tokenizer& tokenizer, std::string_view text, bool with_special = false) {
  try {
    return with_special ? tokenizer.encode_with_special(text) : tokenizer.encode(text);
  } catch (const EncodeError&) {
    return {};
  }
}

void use(const Tokenizer& tokenizer, std::string_view input) {
  const auto is_id = [&](Token id) { return id >= 0 && id < tokenizer.vocab_size(); };
  // Encode and decode texts, whole and in parts.
  for (const std::string_view text : {kText, input.substr(0, 300)}) {
    const std::vector<Token> tokens = tokens_of(tokenizer, text);
    fuzz::hold(std::all_of(tokens.begin(), tokens.end(), is_id), "a token is below vocab_size");
    const std::string back = tokenizer.decode(tokens);
    const auto* const bpe = dynamic_cast<const BpeTokenizer*>(&tokenizer);
    const bool nfc = bpe != nullptr && bpe->vocabulary().nfc;
    fuzz::hold(tokens.empty() || !tokenizer.is_lossless() || (nfc ? to_nfc(back) == to_nfc(text) : back == text),
               "decode(encode(text)) is the text");
    const std::vector<Token> with_special = tokens_of(tokenizer, text, true);
    fuzz::hold(std::all_of(with_special.begin(), with_special.end(), is_id), "a token is below vocab_size");
    const auto stable_prefix = static_cast<std::size_t>(tokenizer.stable_prefix(text));
    fuzz::hold(stable_prefix <= text.size(), "the stable prefix lies in the text");
    std::vector<Token> parts = tokens_of(tokenizer, text.substr(0, stable_prefix));
    const std::vector<Token> rest = tokens_of(tokenizer, text.substr(stable_prefix));
    parts.insert(parts.end(), rest.begin(), rest.end());
    fuzz::hold(tokens.empty() || parts == tokens, "the tokens of the parts are those of the text");
    for (const SpecialToken& special : tokenizer.special_tokens()) {
      fuzz::hold(is_id(special.id) && std::find(tokens.begin(), tokens.end(), special.id) == tokens.end(), "no text has a special token");
    }
  }
  // Check the tokens of the vocabulary.
  for (Token id = 0; id < std::min<index>(tokenizer.vocab_size(), 300); ++id) {
    static_cast<void>(tokenizer.decode({&id, 1}));
  }
  fuzz::hold(!tokenizer.separator() || is_id(*tokenizer.separator()), "the separator is below vocab_size");
  for (const Token end : tokenizer.text_tokens().ends) {
    fuzz::hold(is_id(end), "an end is below vocab_size");
  }
  // Write the tokenizer and read it again.
  const std::string json = tokenizer.to_json();
  const auto again = tokenizer_from_json(json);
  fuzz::hold(again->vocab_size() == tokenizer.vocab_size() && again->separator() == tokenizer.separator() &&
                 again->text_tokens() == tokenizer.text_tokens() && again->to_json() == json &&
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
