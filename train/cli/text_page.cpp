#include "train/cli/text_page.h"

#include <cmath>
#include <cstdlib>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "train/cli/write_page.h"
#include "train/sample/look_at.h"
#include "train/system/json.h"
#include "train/web/report/page.h"

namespace dikkat {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kMostTokens = 20'000;  // on an evaluation's page, as many as a browser shows at once
constexpr std::size_t kMostSampled = 4'000;  // for a sample, whose tokens have alternatives

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

std::string text_of(const Tokenizer& tokenizer, Token token) { return tokenizer.decode(std::span(&token, 1)); }

Json to_json(const Look& look, const Tokenizer& tokenizer, std::size_t given) {
  Json tokens = Json::array();
  for (std::size_t i = 0; i < look.tokens.size(); ++i) {
    const Look::Seen& one = look.tokens[i];
    Json alternatives = Json::array();
    for (const auto& [token, p] : one.alternatives) {
      alternatives.push_back({text_of(tokenizer, token), probability(p)});
    }
    tokens.push_back(
        {{"t", text_of(tokenizer, one.token)}, {"p", probability(one.probability)}, {"given", i < given}, {"a", std::move(alternatives)}});
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
    const Look look = look_at(model, std::span(text).subspan(left_out), {.ids = trained.tokenizer->vocab_size()});
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
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (batch.weights[i] <= 0) {
      continue;  // padding, or context of a window with a stride
    }
    if (tokens_.size() >= kMostTokens) {
      cut_ = true;
      return;
    }
    tokens_.push_back({batch.targets[i], losses[i]});
  }
}

void LossPage::write(const std::filesystem::path& out, const std::string& title, const std::string& model) const {
  Json tokens = Json::array();
  for (const Scored& one : tokens_) {
    tokens.push_back({{"t", text_of(tokenizer_, one.token)}, {"p", probability(std::exp(-one.loss))}});
  }
  Json text{{"name", "text"}, {"tokens", std::move(tokens)}};
  dikkat::write(out, {{"title", title},
                      {"model", model},
                      {"kind", "eval"},
                      {"note", cut_ ? "Only the beginning of the evaluated text is shown." : ""},
                      {"texts", Json::array({std::move(text)})}});
}

}  // namespace dikkat
