// An LSTM that writes text, letter by letter. It reads a text in rows side by side, and each step continues where the one before ended: the
// state of the LSTM goes on from step to step, gradients do not (truncated backpropagation through time).
//
//   character_lstm [TEXT [STEPS]]

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "autograd/base/run_main.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/loss.h"
#include "autograd/ops/random.h"
#include "layers/embedding.h"
#include "layers/linear.h"
#include "layers/recurrent.h"
#include "optim/adamw.h"
#include "optim/clip.h"
#include "optim/schedule.h"
#include "train/system/file.h"

namespace dikkat {
namespace {

constexpr index kRows = 16, kTime = 32, kHidden = 128;

struct Model {
  Embedding letters;
  Lstm lstm;
  Linear head;

  Model(const Scope& s, index alphabet)
      : letters(s / "letters", alphabet, 48, 0.3), lstm(s / "lstm", 48, kHidden), head(s / "head", kHidden, alphabet) {}
};

/// The state of an LSTM between two tapes.
struct State {
  std::vector<float> h, c;
  explicit State(index rows) : h(static_cast<std::size_t>(rows * kHidden)), c(h) {}

  LstmState on(Tape& tape) const {
    const Shape shape{std::ssize(h) / kHidden, kHidden};
    return {.h = tape.input<float>(shape, h), .c = tape.input<float>(shape, c)};
  }
  void keep(const LstmState& state) {
    std::copy_n(state.h.data<float>(), h.size(), h.begin());
    std::copy_n(state.c.data<float>(), c.size(), c.begin());
  }
};

/// Writes `count` letters, from the first one on.
std::string write(const Model& model, const std::string& alphabet, std::int32_t letter, index count) {
  State state(1);
  std::string text;
  Tape tape(Recording::off);
  for (index i = 0; i < count; ++i, tape.reset()) {
    Pass pass{.tape = tape};
    const auto [states, last] =
        model.lstm.run(pass, model.letters(pass, tape.input<std::int32_t>({1, 1}, std::array{letter})), state.on(tape));
    state.keep(last);
    const Tensor logits = model.head(pass, states) / 0.7;  // a temperature below 1 prefers likely letters
    letter = *categorical(logits, RandomStream(1, "letters", static_cast<std::uint64_t>(i))).data<std::int32_t>();
    text += alphabet[static_cast<std::size_t>(letter)];
  }
  return text;
}

int run(const std::vector<std::string>& arguments) {
  // The text as numbers of its letters, cut into rows.
  const auto tales = std::filesystem::path(__FILE__).parent_path().parent_path() / "data/tales.txt";
  const std::string text = read_bytes(arguments.empty() ? tales : std::filesystem::path(arguments[0]));
  const index steps = arguments.size() < 2 ? 600 : std::stol(arguments[1]), row = std::ssize(text) / kRows;
  std::string alphabet = text;
  std::ranges::sort(alphabet);
  alphabet.erase(std::unique(alphabet.begin(), alphabet.end()), alphabet.end());
  const auto part = [&](index from) {  // (kRows, kTime)
    std::vector<std::int32_t> ids;
    for (index i = 0; i < kRows * kTime; ++i) {
      const char letter = text[static_cast<std::size_t>(i / kTime * row + from + i % kTime)];
      ids.push_back(static_cast<std::int32_t>(alphabet.find(letter)));
    }
    return ids;
  };

  ParameterStore parameters;
  const Model model(Scope(parameters), std::ssize(alphabet));
  parameters.allocate(1);
  fmt::print("{} letters of {}; an LSTM of {} parameters\n", text.size(), alphabet.size(), parameters.parameter_count());
  AdamW adamw(parameters, {.beta2 = 0.99, .weight_decay = 0.01});
  const Schedule rate{.learning_rate = 5e-3, .min_lr = 5e-4, .warmup_steps = 10, .decay_steps = steps};
  Tape tape;
  State state(kRows);
  double mean = 0;  // of the last steps' losses
  for (index step = 0, at = 0; step < steps; ++step, at += kTime, tape.reset()) {
    if (at + kTime >= row) {  // all rows are read
      at = 0;
      state = State(kRows);
    }
    Pass pass{.tape = tape, .training = true};
    const Tensor x = model.letters(pass, tape.input<std::int32_t>({kRows, kTime}, part(at)));
    const auto [states, last] = model.lstm.run(pass, x, state.on(tape));
    const Tensor loss = cross_entropy(model.head(pass, states), tape.input<std::int32_t>({kRows, kTime}, part(at + 1)));
    tape.backward(loss);
    state.keep(last);
    adamw.step(step + 1, rate(step), clip_factor(gradient_norm(parameters), 1.0));
    mean += (step == 0 ? 1 : 0.05) * (static_cast<double>(*loss.data<float>()) - mean);
    fmt::print("{}", (step + 1) % 100 == 0 || step + 1 == steps ? fmt::format("step {:4}   loss {:.3f}\n", step + 1, mean) : "");
  }
  fmt::print("{}\n", write(model, alphabet, static_cast<std::int32_t>(alphabet.find('T')), 300));
  return 0;
}

}  // namespace
}  // namespace dikkat

int main(int argc, char** argv) { return dikkat::run_main(argc, argv, dikkat::run); }
