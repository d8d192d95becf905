// Uses a trained model in a program: loads a checkpoint, computes the probabilities of the next token, continues a text, changes the
// weights, saves the model, and loads it again.
//
//   trained_model RUN_DIR|FILE.h5 [PROMPT]
//
// Without arguments it first trains a small model, which takes about a second.

#include "train/model/trained_model.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "autograd/base/parallel.h"
#include "train/config/parse.h"
#include "train/config/resolve.h"
#include "train/run/trainer.h"
#include "train/sample/generate.h"

namespace dikkat {
namespace {

/// Trains through the library as `dikkat train` does: a GPT learns a tongue-twister, letter by letter.
void train_small_model(const std::filesystem::path& folder) {
  std::ofstream text(folder / "text.txt");
  for (int i = 0; i < 60; ++i) {
    text << "she sells sea shells by the sea shore.\n";
  }
  text.close();
  Config config = parse_config(R"(
    [model]
    n_layer = 1
    n_head = 2
    n_embd = 32
    block_size = 32
    [optim]
    learning_rate = 1e-2
    warmup_steps = 10
    [train]
    batch_size = 8
    max_steps = 300
  )",
                               "small model");
  config.data.corpus = {folder / "text.txt"};
  resolve(config);
  validate(config);
  Trainer trainer = Trainer::start(config, folder / "run");
  TrainingEvents quiet;
  trainer.run(quiet, [] { return false; });
}

/// Returns the probabilities of the next token, one for each token of the vocabulary.
std::vector<double> next_token(const TrainedModel& trained, const std::vector<Token>& tokens) {
  Tape tape(Recording::off);
  Pass pass{.tape = tape};
  const auto length = static_cast<index>(tokens.size());
  const Tensor logits = trained.model->gpt()(pass, tape.input<Token>({1, length}, tokens));  // (1, T, V)
  const std::span last(logits.data<float>() + (length - 1) * trained.model->vocab_size(),
                       static_cast<std::size_t>(trained.tokenizer->vocab_size()));
  const double top = *std::max_element(last.begin(), last.end());
  std::vector<double> probabilities;
  double sum = 0;
  for (const float logit : last) {
    sum += probabilities.emplace_back(std::exp(logit - top));
  }
  for (double& p : probabilities) {
    p /= sum;
  }
  return probabilities;
}

/// Returns the most likely continuation.
std::string continuation(const TrainedModel& trained, const std::vector<Token>& prompt) {
  const Vocabulary vocabulary{.size = trained.tokenizer->vocab_size(), .suppressed = trained.tokenizer->suppressed_tokens()};
  return trained.tokenizer->decode(
      generate(trained.model->gpt(), vocabulary, prompt, {.max_new_tokens = 28, .temperature = 0}).front().tokens);
}

void use(const std::string& source, const std::string& prompt, const std::filesystem::path& folder) {
  TrainedModel trained = load_trained_model(source);
  fmt::print("loaded a model with {} parameters, trained for {} steps\n", trained.model->parameters().parameter_count(),
             trained.origin.state().step);

  const std::vector<Token> tokens = trained.tokenizer->encode(prompt);
  const std::vector<double> probabilities = next_token(trained, tokens);
  const auto likely = static_cast<Token>(std::max_element(probabilities.begin(), probabilities.end()) - probabilities.begin());
  fmt::print("after \"{}\" comes \"{}\" with probability {:.2f}\n", prompt, trained.tokenizer->decode(std::span(&likely, 1)),
             probabilities[static_cast<std::size_t>(likely)]);
  fmt::print("{}{}\n", prompt, continuation(trained, tokens));

  // Weights are plain numbers. With the position embeddings set to 0, the model no longer knows the positions of its tokens.
  ParameterStore& parameters = trained.model->parameters();
  const ParameterStore::Entry& positions = parameters.entry("wpe.weight");  // (block_size, C)
  std::fill_n(parameters.weights<float>() + positions.offset, positions.size(), 0.0F);
  const std::string changed = continuation(trained, tokens);
  const SavedCheckpoint saved = save_model(folder, *trained.model, *trained.tokenizer, trained.config, trained.origin.state());
  const bool same = continuation(load_trained_model(saved.path().string()), tokens) == changed;
  fmt::print("saved without positions as {}: loaded again, it continues {}\n", saved.path().filename().string(),
             same ? "in the same way" : "otherwise");
}

}  // namespace
}  // namespace dikkat

int main(int argc, char** argv) {
  dikkat::wait_briefly(argv);  // so that threads without work do not spin for long on a busy machine
  std::string folder = std::filesystem::temp_directory_path() / "dikkat-example-XXXXXX";
  if (::mkdtemp(folder.data()) == nullptr) {
    fmt::print(stderr, "no folder can be made in {}\n", folder);
    return 1;
  }
  const std::span arguments(argv, static_cast<std::size_t>(argc));
  int code = 0;
  try {
    if (arguments.size() < 2) {
      dikkat::train_small_model(folder);
    }
    dikkat::use(arguments.size() < 2 ? folder + "/run" : arguments[1], arguments.size() < 3 ? "she sells " : arguments[2],
                folder + "/saved");
  } catch (const dikkat::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    code = 1;
  }
  std::filesystem::remove_all(folder);
  return code;
}
