#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "train/data/samples/batch.h"
#include "train/model/trained_model.h"

namespace dikkat {

// Pages that show a text token by token (train/web/report/page/text.js).

/// Writes the page of `sample --html`: each token's probability, its alternatives and the model's attention. `texts` are prompts with their
/// continuations, `given` is the number of prompt tokens. Of a very long text only the end is shown.
void write_sample_page(const std::filesystem::path& out, const TrainedModel& trained, const std::vector<std::vector<Token>>& texts,
                       index given);

/// The page of `eval --html`: evaluated texts with the loss of each token, up to a maximum length.
class LossPage {
 public:
  /// Keeps a reference to the tokenizer. `texts` counts the texts, 1 or more, which share the length of the page.
  LossPage(const Tokenizer& tokenizer, std::size_t texts) : tokenizer_(tokenizer), most_(kMostTokens / texts) {}

  /// Begins the next text. `name` lists its files.
  void begin(std::string name) { texts_.push_back({.name = std::move(name)}); }
  /// Adds the scored tokens of a batch to the last text. It is a LanguageScorer::Listener.
  void add(const Batch& batch, std::span<const double> losses);
  void write(const std::filesystem::path& out, const std::string& title, const std::string& model) const;

 private:
  static constexpr std::size_t kMostTokens = 20'000;  // as many as a browser shows at once

  struct Text {
    std::string name;
    Token before = 0;  // the token before the first one
    std::vector<Token> tokens{};
    std::vector<double> losses{};
  };

  const Tokenizer& tokenizer_;
  std::size_t most_;  // tokens of a text
  std::vector<Text> texts_;
  bool cut_ = false;  // whether a text was longer
};

}  // namespace dikkat
