// Lesson 3 of the course (docs/course): attention, first with numbers that can be checked by hand, and then trained. The task is to recall
// one of eight letters, which no model that sees only the last character can do.
//
//   attention_lesson [WHERE [no-positions]]      WHERE: which letter the model must recall, 1 to 8

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "dikkat/autograd.h"

namespace dikkat {
namespace {

constexpr index kLetters = 8, kAlphabet = 10, kTime = kLetters + 1, kWidth = 32, kRows = 256, kSteps = 200;

void print_row(const char* name, Tensor row) {
  std::printf("%-24s", name);
  for (index i = 0; i < row.size(); ++i) {
    std::printf(" %6.3f", static_cast<double>(row.data<float>()[i]));
  }
  std::printf("\n");
}

/// Returns scores (..., T, T) in which no position sees a later one: their weights become 0.
Tensor masked(Tape& tape, Tensor scores) {
  const Tensor i = arange(tape, scores.shape()[scores.shape().rank() - 1]);
  return where(unsqueeze(i, 1) >= i, scores, -1e9);
}

/// The three steps of attention, for three words with two numbers each. They are their own queries, keys and values.
void by_hand() {
  Tape tape(Recording::off);
  const Tensor words = tape.input<float>({3, 2}, std::vector<float>{1, 0, 0, 1, 1, 1});
  const Tensor scores = matmul(words, words, true);      // 1. how well each query fits each key
  const Tensor weights = softmax(masked(tape, scores));  // 2. shares: each row has the sum 1
  const Tensor mixed = matmul(weights, words);           // 3. the values, mixed by these shares
  print_row("scores of word 3:", select(scores, 0, 2));
  print_row("weights of word 1:", select(weights, 0, 0));
  print_row("weights of word 2:", select(weights, 0, 1));
  print_row("weights of word 3:", select(weights, 0, 2));
  print_row("word 3 becomes:", select(mixed, 0, 2));
}

/// A model with one layer of attention: letters (B, T) to scores of the answer (B, kAlphabet), and the weights of the last position.
struct Recall {
  Embedding letters, positions;
  Linear query, key, value, answer;
  bool has_positions;

  Recall(const Scope& s, bool with_positions)
      : letters(s / "letters", kAlphabet + 1, kWidth, 1.0),
        positions(s / "positions", kTime, kWidth, 1.0),
        query(s / "query", kWidth, kWidth),
        key(s / "key", kWidth, kWidth),
        value(s / "value", kWidth, kWidth),
        answer(s / "answer", kWidth, kAlphabet),
        has_positions(with_positions) {}

  Tensor operator()(Pass& pass, Tensor ids, Tensor* last_weights) const {
    Tensor x = letters(pass, ids);
    if (has_positions) {
      x = x + positions(pass, arange(pass.tape, kTime));
    }
    const Tensor scores = einsum("btc,bsc->bts", query(pass, x), key(pass, x)) / std::sqrt(static_cast<double>(kWidth));
    const Tensor weights = softmax(masked(pass.tape, scores));
    const Tensor mixed = einsum("bts,bsc->btc", weights, value(pass, x));
    *last_weights = select(weights, 1, kTime - 1);
    return answer(pass, select(mixed, 1, kTime - 1));
  }
};

void trained(index where, bool has_positions) {
  ParameterStore parameters;
  const Recall model(Scope(parameters), has_positions);
  parameters.allocate(1);
  AdamW adamw(parameters, {.weight_decay = 0});
  Tape tape;
  std::printf("\neight letters and a question mark; the answer is letter %td; %td parameters\n", where, parameters.parameter_count());
  for (index step = 0; step <= kSteps; ++step) {
    // New sequences in each step: letters 0 to 9, and 10 for the question mark.
    const RandomStream random(2, "letters", static_cast<std::uint64_t>(step));
    std::vector<std::int32_t> ids, answers;
    for (index i = 0; i < kRows * kLetters; ++i) {
      ids.push_back(static_cast<std::int32_t>(random.word(i) % kAlphabet));
      if (i % kLetters == where - 1) {
        answers.push_back(ids.back());
      }
      if (i % kLetters == kLetters - 1) {
        ids.push_back(kAlphabet);
      }
    }
    Pass pass{.tape = tape, .training = true};
    Tensor weights;
    const Tensor scores = model(pass, tape.input<std::int32_t>({kRows, kTime}, ids), &weights);
    const Tensor targets = tape.input<std::int32_t>({kRows}, answers);
    const Tensor loss = cross_entropy(scores, targets);
    tape.backward(loss);
    if (step % 50 == 0) {
      std::printf("step %3td   loss %.3f   %5.1f %% right\n", step, loss.item(), 100 * mean(equal(argmax(scores, -1), targets)).item());
    }
    if (step == kSteps) {
      print_row("weights of the last \"?\":", mean(weights, 0));
    }
    tape.reset();
    adamw.step(step + 1, 5e-3, clip_factor(gradient_norm(parameters), 1.0));
  }
}

int run(const std::vector<std::string>& given) {
  const index where = given.empty() ? 1 : given[0].size() == 1 ? given[0][0] - '0' : 0;
  const bool has_positions = given.size() < 2;
  require_input(where >= 1 && where <= kLetters && (has_positions || given[1] == "no-positions"),
                "attention_lesson: expected a number from 1 to 8, then nothing or no-positions");
  by_hand();
  trained(where, has_positions);
  return 0;
}

}  // namespace
}  // namespace dikkat

int main(int argc, char** argv) { return dikkat::run_main(argc, argv, dikkat::run); }
