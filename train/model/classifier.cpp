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
  // Encode the texts.
  std::vector<Answer> answers;
  ReadTextStore store;
  for (const std::string& text : texts) {
    try {
      const ClassifiedText read = encode_text(*trained_.tokenizer, text, window());
      require_input(!read.tokens.empty(), "has no tokens, expected one or more");
      store.append(read.tokens);
      answers.push_back({.tokens = std::ssize(read.tokens), .is_cut = read.is_cut});
    } catch (const InputError& error) {
      fail_input("text ", answers.size() + 1, ' ', error.what());
    }
  }
  if (texts.empty()) {
    return answers;
  }
  // Run the model on some rows at a time.
  const ReadTextSamples samples(store, window());
  const index rows = std::max<index>(1, kTokensAtOnce / samples.longest().cols);
  Tape tape{Recording::off};
  Batch batch;
  std::vector<double> logits(labels().size());
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
      std::copy_n(from, logits.size(), logits.begin());
      label_probabilities(logits, several(), answers[static_cast<std::size_t>(text.number)].probabilities);
      from += logits.size();
    }
    tape.reset();
  }
  return answers;
}

}  // namespace dikkat
