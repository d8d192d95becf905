#include "train/text/hugging_face/token_decoder.h"

#include <charconv>

#include "autograd/base/error.h"
#include "train/text/byte_level.h"
#include "train/text/hugging_face/hugging_face_fields.h"
#include "train/text/hugging_face/pattern_field.h"
#include "train/text/utf8.h"

namespace dikkat {
namespace {

using namespace hugging_face;

std::size_t count_of(const json& step, const char* name) {
  const json& value = field(step, name);
  if (!value.is_number_integer() || value < 0 || value > 1'000'000) {
    refuse(in("decoder", name), value, "a number of characters");
  }
  return value.get<std::size_t>();
}

std::string character_of(const json& step, const char* name) {
  std::string character = text(step, "decoder", name);
  if (character.empty() || utf8::decode(character, 0).bytes != static_cast<index>(character.size())) {
    refuse(in("decoder", name), step[name], "one character");
  }
  return character;
}

std::string replaced(const std::string& text, const TextPattern& pattern, const std::string& content) {
  // Bytes that are not UTF-8 are kept: a regular expression sees only the text between them.
  std::string out;
  const auto replace_in = [&](std::string_view valid) {
    std::size_t done = 0;
    pattern.for_matches(valid, [&](std::size_t first, std::size_t last) {
      out += valid.substr(done, first - done);
      out += content;
      done = last;
    });
    out += valid.substr(done);
  };
  std::string_view rest = text;
  for (auto invalid = utf8::first_invalid(rest); invalid; invalid = utf8::first_invalid(rest)) {
    const auto at = static_cast<std::size_t>(*invalid);
    replace_in(rest.substr(0, at));
    out += rest[at];
    rest.remove_prefix(at + 1);
  }
  replace_in(rest);
  return out;
}

void strip(std::string& text, const std::string& character, std::size_t start, std::size_t stop) {
  std::string_view rest = text;
  for (; start > 0 && rest.starts_with(character); --start) {
    rest.remove_prefix(character.size());
  }
  for (; stop > 0 && rest.ends_with(character); --stop) {
    rest.remove_suffix(character.size());
  }
  text = std::string(rest);
}

}  // namespace

int byte_of_token(std::string_view token) {
  unsigned byte = 0;
  const bool is_byte = token.size() == 6 && token.starts_with("<0x") && token.back() == '>' &&
                       std::from_chars(token.data() + 3, token.data() + 5, byte, 16).ptr == token.data() + 5;
  return is_byte ? static_cast<int>(byte) : -1;
}

std::string token_of_byte(unsigned char byte) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  return concat("<0x", kHex[byte >> 4], kHex[byte & 15], '>');
}

TokenDecoder::TokenDecoder(const json& description) {
  const std::string where = "decoder";
  for (const json& step : steps_of(description, where, "decoders")) {
    const std::string type = type_of(step);
    if (type == "Replace") {
      require_known(step, where, {"type", "pattern", "content"});
      steps_.push_back({.kind = Kind::replace, .pattern = pattern_in(step, where), .content = text(step, where, "content")});
    } else if (type == "ByteFallback" || type == "Fuse") {
      require_known(step, where, {"type"});
      steps_.push_back({.kind = type == "Fuse" ? Kind::fuse : Kind::byte_fallback});
    } else if (type == "Strip") {
      require_known(step, where, {"type", "content", "start", "stop"});
      steps_.push_back({.kind = Kind::strip,
                        .content = character_of(step, "content"),
                        .start = count_of(step, "start"),
                        .stop = count_of(step, "stop")});
    } else if (type == "ByteLevel") {
      require_known(step, where, {"type", "add_prefix_space", "trim_offsets", "use_regex"});
      steps_.push_back({.kind = Kind::byte_level});
    } else if (type == "Metaspace") {
      require_known(step, where, {"type", "replacement", "prepend_scheme", "add_prefix_space", "split", "str_rep"});
      const json& scheme = field(step, "prepend_scheme");
      steps_.push_back({.kind = Kind::metaspace,
                        .content = character_of(step, "replacement"),
                        .takes_prefix = scheme.is_null() ? flag(step, where, "add_prefix_space", true) : scheme != "never"});
    } else if (type == "WordPiece") {
      require_known(step, where, {"type", "prefix", "cleanup"});
      require_flag(step, where, "cleanup", false);
      steps_.push_back({.kind = Kind::word_piece, .content = text(step, where, "prefix")});
    } else {
      refuse(where, step, "a Sequence of Replace, ByteFallback, Fuse, Strip, ByteLevel, Metaspace or WordPiece");
    }
  }
}

std::string TokenDecoder::operator()(std::vector<std::string> tokens, bool begins_text) const {
  // Fusing joins all tokens into one.
  const auto fuse = [&] {
    std::string all;
    for (const std::string& token : tokens) {
      all += token;
    }
    tokens.assign(1, std::move(all));
  };
  bool is_fused = false;
  for (const Step& step : steps_) {
    // Apply the step to each token; after a fuse, the only token is the whole text.
    switch (step.kind) {
      case Kind::replace:
        for (std::string& token : tokens) {
          token = replaced(token, step.pattern, step.content);
        }
        break;
      case Kind::byte_fallback:
        for (std::string& token : tokens) {
          if (const int byte = byte_of_token(token); byte >= 0) {
            token = static_cast<char>(byte);
          }
        }
        break;
      case Kind::fuse:
        fuse();
        is_fused = true;
        break;
      case Kind::strip:
        // Once the tokens are one text, only its beginning can have the space that the tokenizer puts there.
        for (std::string& token : tokens) {
          strip(token, step.content, is_fused && !begins_text ? 0 : step.start, step.stop);
        }
        break;
      case Kind::byte_level:
        for (std::string& token : tokens) {
          if (auto bytes = byte_level::to_bytes(token)) {
            token = *std::move(bytes);
          }
        }
        fuse();
        break;
      case Kind::metaspace:
        for (std::size_t i = 0; i < tokens.size(); ++i) {
          const bool drops = i == 0 && begins_text && step.takes_prefix;
          tokens[i] = replaced(tokens[i], TextPattern::literal(step.content), drops ? "" : " ");
        }
        break;
      case Kind::word_piece:
        for (std::size_t i = begins_text ? 1 : 0; i < tokens.size(); ++i) {
          tokens[i] = tokens[i].starts_with(step.content) ? tokens[i].substr(step.content.size()) : concat(' ', tokens[i]);
        }
        break;
    }
  }
  fuse();
  return std::move(tokens[0]);
}

}  // namespace dikkat
