// A small GPT whose blocks have a mixture of experts (Shazeer et al., arXiv 1701.06538): a router sends each token to two of eight
// feed-forward networks, and only those are computed. A second loss keeps all of them busy (Fedus et al., arXiv 2101.03961). The number of
// steps may be given.

#include <filesystem>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "autograd/base/run_main.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/indexing.h"
#include "autograd/ops/loss.h"
#include "autograd/ops/reduce.h"
#include "layers/activations.h"
#include "layers/attention.h"
#include "layers/embedding.h"
#include "layers/norm.h"
#include "layers/sequential.h"
#include "optim/adamw.h"
#include "optim/clip.h"
#include "train/system/file.h"

namespace dikkat {
namespace {

constexpr index kRows = 8, kTime = 64, kTokens = kRows * kTime, kWidth = 64, kExperts = 8, kChosen = 2, kLetters = 128;

/// (kTokens, kWidth) to the same: the sum of two experts' results, weighted by the router. Adds to `balance`, which grows by 1 if all
/// experts are equally busy, and by more otherwise.
struct Experts {
  Linear router;
  std::vector<Sequential<Linear, Gelu, Linear>> experts;

  explicit Experts(const Scope& s) : router(s / "router", kWidth, kExperts, Init::normal(0.02), false) {
    for (index e = 0; e < kExperts; ++e) {
      experts.push_back(Sequential{Linear(s / e / "up", kWidth, 2 * kWidth), Gelu{}, Linear(s / e / "down", 2 * kWidth, kWidth)});
    }
  }

  Tensor operator()(Pass& pass, Tensor x, Tensor& balance) const {
    const Tensor shares = softmax(router(pass, x), -1);
    const Sorted chosen = topk(shares, kChosen);
    // Each expert computes its tokens. The results lie one after another, and `places` has those of each token.
    std::vector<Tensor> results;
    std::vector<float> load(kExperts);
    std::vector<std::int32_t> places(kTokens * kChosen);
    std::int32_t place = 0;
    for (std::size_t e = 0; e < kExperts; ++e) {
      std::vector<std::int32_t> tokens;
      for (std::size_t i = 0; i < places.size(); ++i) {
        if (chosen.indices.data<std::int32_t>()[i] == static_cast<std::int32_t>(e)) {
          tokens.push_back(static_cast<std::int32_t>(i) / kChosen);
          places[i] = place++;
        }
      }
      load[e] = static_cast<float>(tokens.size()) / (kTokens * kChosen);
      if (!tokens.empty()) {
        results.push_back(experts[e](pass, index_select(x, 0, pass.tape.input<std::int32_t>({std::ssize(tokens)}, tokens))));
      }
    }
    balance += kExperts * sum(mean(shares, 0) * pass.tape.input<float>({kExperts}, load));
    const Tensor of_tokens = index_select(concat(results, 0), 0, pass.tape.input<std::int32_t>({kTokens * kChosen}, places));
    const Tensor weights = chosen.values / sum(chosen.values, -1, true);
    return sum(reshape(of_tokens, {kTokens, kChosen, kWidth}) * unsqueeze(weights, 2), 1);
  }
};

struct Block {
  Norm norm1, norm2;
  SelfAttention attention;
  Experts experts;
  explicit Block(const Scope& s)
      : norm1(s / "norm1", kWidth), norm2(s / "norm2", kWidth), attention(s / "attn", kWidth, 4, true), experts(s) {}
};

void run(const std::vector<std::string>& arguments) {
  const std::string text = read_bytes(std::filesystem::path(__FILE__).parent_path().parent_path() / "data/tales.txt");
  const index steps = arguments.empty() ? 400 : std::stol(arguments[0]);
  ParameterStore parameters;
  const Scope s(parameters);
  const Embedding letters(s / "letters", kLetters, kWidth, 0.05), positions(s / "positions", kTime, kWidth, 0.05);
  const Block blocks[] = {Block(s / 0), Block(s / 1)};
  const Norm norm(s / "norm", kWidth);
  const Linear head(s / "head", kWidth, kLetters);
  parameters.allocate(1);
  fmt::print("a GPT of {} parameters, with {} experts in each block\n", parameters.parameter_count(), kExperts);
  AdamW adamw(parameters, {.beta2 = 0.99});
  double average = 0;  // of the last steps' losses
  Tape tape;
  for (index step = 0; step < steps; ++step, tape.reset()) {
    std::vector<std::int32_t> inputs, targets;
    for (index i = 0; i < kTokens; ++i) {  // windows at random places
      const double where = RandomStream(1, "windows", static_cast<std::uint64_t>(step)).uniform(i / kTime);
      const auto at =
          static_cast<std::size_t>(where * static_cast<double>(std::ssize(text) - kTime - 1)) + static_cast<std::size_t>(i % kTime);
      inputs.push_back(text[at] & 127);
      targets.push_back(text[at + 1] & 127);
    }
    Pass pass{.tape = tape, .training = true};
    Tensor x = letters(pass, tape.input<std::int32_t>({kRows, kTime}, inputs)) + positions.weight;
    Tensor balance = tape.input<float>({}, std::vector<float>{0});
    for (const Block& block : blocks) {
      x += block.attention(pass, block.norm1(pass, x));
      x += reshape(block.experts(pass, reshape(block.norm2(pass, x), {kTokens, kWidth}), balance), x.shape());
    }
    const Tensor loss = cross_entropy(head(pass, norm(pass, x)), tape.input<std::int32_t>({kRows, kTime}, targets));
    tape.backward(loss + 0.01 * balance);
    adamw.step(step + 1, 2e-3, clip_factor(gradient_norm(parameters), 1.0));
    average += (step == 0 ? 1 : 0.05) * (*loss.data<float>() - average);
    const std::string line = fmt::format("step {:3}   loss {:.3f}   balance {:.3f}\n", step + 1, average, *balance.data<float>() / 2);
    fmt::print("{}", (step + 1) % 50 == 0 ? line : "");
  }
}

}  // namespace
}  // namespace dikkat

int main(int argc, char** argv) { return dikkat::run_main(argc, argv, dikkat::run); }
