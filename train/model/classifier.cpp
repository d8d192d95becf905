#include "train/model/classifier.h"

#include <algorithm>
#include <cmath>

#include "train/data/examples/labels.h"
#include "train/model/pooling.h"

namespace dikkat {
namespace {

constexpr index kTokensAtOnce = 2048;  // tokens of a forward pass, about

}  // namespace

void label_probabilities(std::span<const double> logits, bool several, std::vector<double>& probabilities) {
  const double largest = std::ranges::max(logits);
  double sum = 0;
  for (const double logit : logits) {
    sum += std::exp(logit - largest);
  }
  probabilities.clear();
  for (const double logit : logits) {
    probabilities.push_back(several ? 1 / (1 + std::exp(-logit)) : std::exp(logit - largest) / sum);
  }
}

void require_no_classifier(const TrainedModel& trained) {
  require_input(!trained.model->is_classifier(), trained.origin.path().string(), " is a classifier of ", trained.config.model.classes,
                " labels, which does not continue texts, expected a model that predicts the next token; `dikkat classify` gives texts "
                "their labels");
}

std::size_t Classifier::Answer::best() const {
  return static_cast<std::size_t>(std::ranges::max_element(probabilities) - probabilities.begin());
}

Classifier::Classifier(const TrainedModel& trained) : trained_(trained) {
  require_input(trained.model->is_classifier(), trained.origin.path().string(),
                " predicts the next token, expected a classifier; `dikkat finetune MODEL --data FILE --labels FIELD` makes one");
}

std::vector<Classifier::Answer> Classifier::operator()(std::span<const std::string> texts) const {
  std::vector<Answer> answers;
  std::vector<std::vector<Token>> all;
  for (const std::string& text : texts) {
    try {
      ClassifiedText read = encode_text(*trained_.tokenizer, text, window());
      require_input(!read.tokens.empty(), "has no tokens, expected one or more");
      answers.push_back({.tokens = std::ssize(read.tokens), .is_cut = read.is_cut});
      all.push_back(std::move(read.tokens));
    } catch (const InputError& error) {
      fail_input("text ", answers.size() + 1, ' ', error.what());
    }
  }
  const std::vector<float> given = logits(all);
  for (std::size_t i = 0; i < answers.size(); ++i) {
    answers[i].probabilities = probabilities(std::span(given).subspan(i * labels().size(), labels().size()));
  }
  return answers;
}

std::vector<double> Classifier::probabilities(std::span<const float> logits) const {
  std::vector<double> probabilities;
  label_probabilities(std::vector<double>(logits.begin(), logits.end()), several(), probabilities);
  return probabilities;
}

std::vector<float> Classifier::logits(std::span<const std::vector<Token>> texts) const {
  if (texts.empty()) {
    return {};
  }
  ReadTextStore store;
  std::ranges::for_each(texts, [&](const std::vector<Token>& text) { store.append(text); });
  // Run the model on some rows at a time.
  const ReadTextSamples samples(store, window());
  const index rows = std::max<index>(1, kTokensAtOnce / samples.longest().cols), classes = std::ssize(labels());
  std::vector<float> all(texts.size() * labels().size());
  Tape tape{Recording::off};
  Batch batch;
  for (index first = 0; first < samples.count(); first += rows) {
    const index count = std::min(rows, samples.count() - first);
    batch.reshape(count, samples.longest());
    for (index row = 0; row < count; ++row) {
      samples.fill(0, first + row, row, batch);
    }
    Pass pass{.tape = tape};
    const Tensor given = trained_.model->gpt().logits(pass, pooled_features(*trained_.model, pass, batch, Pooling::last));
    const float* from = given.data<float>();
    for (const ReadText& text : batch.texts) {
      std::copy_n(from, classes, all.begin() + text.number * classes);
      from += classes;
    }
    tape.reset();
  }
  return all;
}

}  // namespace dikkat
