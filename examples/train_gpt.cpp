// Trains a GPT from a text to samples, like train_gpt2.c of llm.c. It reads a text, trains for about half a minute on two cores, and
// continues an empty line. The whole training loop is in run(), from the data to the update of the weights; nothing is hidden in a Trainer.
//
//   train_gpt [TEXT [STEPS]]

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "dikkat/autograd.h"
#include "layers/models/gpt.h"
#include "train/data/samples/loader.h"
#include "train/data/samples/windows.h"
#include "train/sample/prompt.h"
#include "train/sample/text_generation.h"
#include "train/system/file.h"
#include "train/text/tokenizer_maker.h"

namespace dikkat {
namespace {

constexpr index kRows = 16;  // windows in a batch, B
constexpr index kTime = 64;  // tokens in a window, T
constexpr std::uint64_t kSeed = 1;

TokenStore store_of(std::span<const Token> tokens, index vocab_size) {
  TokenStore store(vocab_size);
  store.begin_document();
  store.append(tokens);
  return store;
}

/// Computes the batch's logits (B, T, V), and returns its loss: the weighted sum over its targets, divided by `normalizer`.
Tensor loss_of(const Gpt& gpt, Pass& pass, const Batch& batch, double normalizer) {
  const Shape shape{batch.rows, batch.lengths.cols};
  const Tensor logits = gpt(pass, pass.tape.input<Token>(shape, batch.inputs));
  const Tensor targets = pass.tape.input<Token>(shape, batch.targets);
  return cross_entropy(logits, targets, {.weights = pass.tape.input<float>(shape, batch.weights), .normalizer = normalizer});
}

/// Returns the mean loss over a text, in which each token is predicted once.
double evaluate(const Gpt& gpt, const SequentialWindows& windows) {
  Tape tape(Recording::off);
  Batch batch;
  double loss = 0;
  for (index first = 0; first < windows.count(); first += kRows) {
    batch.reshape(std::min(kRows, windows.count() - first), windows.longest());
    for (index row = 0; row < batch.rows; ++row) {
      windows.fill(0, first + row, row, batch);
    }
    Pass pass{.tape = tape};
    loss += loss_of(gpt, pass, batch, static_cast<double>(windows.targets())).item();
    tape.reset();
  }
  return loss;
}

void run(const std::filesystem::path& file, index steps) {
  // Data: a token for each character. The last tenth of the text is kept for evaluation.
  const std::string text = read_bytes(file);
  const std::string_view documents[] = {text};
  const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer("char", documents);
  const std::vector<Token> tokens = tokenizer->encode(text);
  const std::size_t split = tokens.size() - tokens.size() / 10;
  const TokenStore training = store_of(std::span(tokens).first(split), tokenizer->vocab_size());
  const TokenStore validation = store_of(std::span(tokens).subspan(split), tokenizer->vocab_size());
  const TrainingWindows windows(training, kTime, kSeed);
  const SequentialWindows held_out(validation, kTime);
  const Loader loader(windows, kSeed);

  // The model: its layers name their parameters, and allocate() gives them memory and initial values.
  ParameterStore parameters;
  const Gpt gpt(Scope(parameters), {.n_layer = 4, .n_head = 4, .n_embd = 128, .block_size = kTime, .vocab_size = tokenizer->vocab_size()});
  parameters.allocate(kSeed);
  fmt::print("{} tokens of {} characters; a GPT of {} parameters\n", tokens.size(), tokenizer->vocab_size(), parameters.parameter_count());

  // Training: each step reads a batch, computes the loss and its gradients, and updates the weights.
  const Schedule learning_rate{.learning_rate = 2e-3, .min_lr = 1e-4, .warmup_steps = 50, .decay_steps = steps};
  AdamW adamw(parameters, {.beta2 = 0.99});
  Tape tape;
  Batch batch;
  const auto start = std::chrono::steady_clock::now();
  for (index step = 0; step <= steps; ++step) {
    if (step % 100 == 0 || step == steps) {
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
      fmt::print("step {:4}   validation loss {:.3f}   {:5.1f} s\n", step, evaluate(gpt, held_out), seconds.count());
    }
    if (step == steps) {
      break;
    }
    loader.fill({.first = step * kRows, .count = kRows}, batch);
    Pass pass{.tape = tape, .training = true};
    tape.backward(loss_of(gpt, pass, batch, batch.step_weight));
    tape.reset();
    adamw.step(step + 1, learning_rate(step), clip_factor(gradient_norm(parameters), 1.0));
  }

  // Sampling: print a text of the model.
  TextGeneration generation(gpt, *tokenizer, vocabulary_of(*tokenizer), {default_prompt(*tokenizer)}, {.max_new_tokens = 400});
  while (const auto event = generation.next()) {
    fmt::print("{}", event->text);
  }
  fmt::print("\n");
}

}  // namespace
}  // namespace dikkat

int main(int argc, char** argv) {
  return dikkat::run_main(argc, argv, [](const std::vector<std::string>& given) {
    const std::string tales = std::filesystem::path(__FILE__).parent_path().parent_path() / "data/tales.txt";
    dikkat::run(given.empty() ? tales : given[0], given.size() < 2 ? 1000 : std::stol(given[1]));
  });
}
