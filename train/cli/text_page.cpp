#include "train/cli/text_page.h"

#include <cmath>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "train/cli/terminal/write_page.h"
#include "train/sample/text_stream.h"
#include "train/sample/token_inspection.h"
#include "train/system/json.h"
#include "train/text/utf8.h"
#include "train/web/report/page.h"

namespace dikkat {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostSampled = 4'000;  // tokens of a sample, which have alternatives

std::string base64(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - i);
    unsigned word = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      word = word << 8 | (k < count ? bytes[i + k] : 0U);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += k <= count ? kDigits[word >> (18 - 6 * k) & 63U] : '=';
    }
  }
  return text;
}

Json probability(double value) { return std::isfinite(value) ? Json(std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr)) : Json(); }

/// Returns the text that a token adds after another one. Bytes that are not a whole character are written as numbers: <C3>.
std::string name_of(const Tokenizer& tokenizer, std::optional<Token> before, Token token) {
  std::string text = text_behind(tokenizer, before, token);
  if (!utf8::first_invalid(text)) {
    return text;
  }
  std::string name;
  for (const char c : text) {
    append_to(name, fmt::format("<{:02X}>", static_cast<unsigned char>(c)));
  }
  return name;
}

/// Returns the tokens of a text that follows `before`: {"t": text, "n": name, if it is another one}. A character that is split over tokens
/// is in the text of the last of them.
Json json_of(const Tokenizer& tokenizer, std::optional<Token> before, std::span<const Token> tokens) {
  Json list = Json::array();
  TextStream text(tokenizer, before);
  for (const Token token : tokens) {
    Json& one = list.emplace_back();
    const std::string shown = text.push(token);
    one["t"] = shown;
    if (std::string name = name_of(tokenizer, before, token); name != shown) {
      one["n"] = std::move(name);
    }
    before = token;
  }
  if (!list.empty()) {
    list.back()["t"].get_ref<std::string&>() += text.finish();
  }
  return list;
}

Json to_json(const TokenInspection& look, const Tokenizer& tokenizer, std::size_t given) {
  std::vector<Token> text;
  for (const TokenInspection::Seen& one : look.tokens) {
    text.push_back(one.token);
  }
  Json tokens = json_of(tokenizer, std::nullopt, text);
  for (std::size_t i = 0; i < text.size(); ++i) {
    Json alternatives = Json::array();
    for (const auto& [token, p] : look.tokens[i].alternatives) {
      alternatives.push_back({name_of(tokenizer, i > 0 ? std::optional(text[i - 1]) : std::nullopt, token), probability(p)});
    }
    tokens[i]["p"] = probability(look.tokens[i].probability);
    tokens[i]["given"] = i < given;
    tokens[i]["a"] = std::move(alternatives);
  }
  return {{"tokens", std::move(tokens)},
          {"attention",
           {{"layers", look.layers},
            {"heads", look.heads},
            {"first", look.first_query},
            {"begin", look.first_key},
            {"weights", base64(look.attention)}}}};
}

void write(const std::filesystem::path& out, const Json& data) { write_page(out, page_of(PageKind::text, json_text(data))); }

}  // namespace

void write_sample_page(const std::filesystem::path& out, const TrainedModel& trained, const std::vector<std::vector<Token>>& texts,
                       index given) {
  const Gpt& model = trained.model->gpt();
  Json all = Json::array();
  bool cut = false;
  for (const std::vector<Token>& text : texts) {
    const std::size_t shown = std::min(text.size(), kMostSampled);
    const std::size_t left_out = text.size() - shown;
    cut |= left_out > 0;
    const TokenInspection look = inspect_tokens(model, std::span(text).subspan(left_out), {.ids = trained.tokenizer->vocab_size()});
    const auto prompt = static_cast<std::size_t>(given);
    Json one = to_json(look, *trained.tokenizer, prompt > left_out ? prompt - left_out : 0);
    one["name"] = fmt::format("sample {}", all.size() + 1);
    all.push_back(std::move(one));
  }
  write(out, {{"title", "What the model wrote"},
              {"model", trained.origin.path().string()},
              {"kind", "sample"},
              {"note", cut ? "The text is long: only its end is shown." : ""},
              {"texts", std::move(all)}});
}

void LossPage::add(const Batch& batch, std::span<const double> losses) {
  Text& text = texts_.back();
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (batch.weights[i] <= 0) {
      continue;  // padding, or context of a window with a stride
    }
    if (text.tokens.size() >= most_) {
      cut_ = true;
      return;
    }
    if (text.tokens.empty()) {
      text.before = batch.inputs[i];
    }
    text.tokens.push_back(batch.targets[i]);
    text.losses.push_back(losses[i]);
  }
}

void LossPage::write(const std::filesystem::path& out, const std::string& title, const std::string& model) const {
  Json all = Json::array();
  for (const Text& text : texts_) {
    Json tokens = json_of(tokenizer_, text.before, text.tokens);
    for (std::size_t i = 0; i < text.losses.size(); ++i) {
      tokens[i]["p"] = probability(std::exp(-text.losses[i]));
    }
    all.push_back({{"name", text.name}, {"tokens", std::move(tokens)}});
  }
  dikkat::write(out, {{"title", title},
                      {"model", model},
                      {"kind", "eval"},
                      {"note", cut_ ? "Only the beginning of the evaluated text is shown." : ""},
                      {"texts", std::move(all)}});
}

}  // namespace dikkat
