// A project outside of dikkat: a small GPT learns to count to seven.

#include <cstdint>
#include <iostream>
#include <vector>

#include "autograd/ops/loss.h"
#include "layers/models/gpt.h"
#include "optim/adamw.h"
#include "train/sample/generate.h"

namespace dikkat {

bool learns_to_count() {
  std::vector<std::int32_t> tokens, next;
  for (std::int32_t i = 0; i < 16; ++i) {
    tokens.push_back(i % 7);
    next.push_back((i + 1) % 7);
  }

  ParameterStore parameters;
  const Gpt gpt(Scope(parameters), {.n_layer = 1, .n_head = 2, .n_embd = 16, .block_size = 16, .vocab_size = 7});
  parameters.allocate(1);
  AdamW adamw(parameters, {});
  Tape tape;
  std::vector<float> losses;
  for (index step = 1; step <= 20; ++step) {
    Pass pass{.tape = tape, .training = true};
    const Tensor logits = gpt(pass, tape.input<std::int32_t>({1, 16}, tokens));
    const Tensor loss = cross_entropy(logits, tape.input<std::int32_t>({1, 16}, next));
    losses.push_back(*loss.data<float>());
    tape.backward(loss);
    tape.reset();
    adamw.step(step, 1e-2);
  }

  std::cout << "loss " << losses.front() << " to " << losses.back() << '\n';
  const auto samples = generate(gpt, {.size = 7}, {0, 1, 2}, {.max_new_tokens = 8, .temperature = 0});
  for (const std::int32_t token : samples.front().tokens) {
    std::cout << token << ' ';
  }
  std::cout << '\n';
  return losses.back() < losses.front() / 2;
}

}  // namespace dikkat

int main() {
  const bool learned = dikkat::learns_to_count();
  std::cout << (learned ? "the loss went down\n" : "the loss did not go down\n");
  return learned ? 0 : 1;
}
