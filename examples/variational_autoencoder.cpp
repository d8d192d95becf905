// A variational autoencoder (Kingma and Welling, arXiv 1312.6114) of pictures of rings. Each picture follows from three numbers: where the
// ring is, and how large. The model is not given them, and must describe each picture by six
// numbers of its own.

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "autograd/base/run_main.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/loss.h"
#include "autograd/ops/random.h"
#include "autograd/ops/reduce.h"
#include "layers/activations.h"
#include "layers/linear.h"
#include "layers/sequential.h"
#include "optim/adamw.h"
#include "optim/schedule.h"

namespace dikkat {
namespace {

constexpr index kSide = 16, kPixels = kSide * kSide, kLatent = 6, kBatch = 64, kSteps = 1500;
constexpr std::uint64_t kSeed = 1;

/// A picture as the three numbers from 0 to 1 describe it: kPixels numbers from 0 to 1.
void draw(double right, double down, double size, std::vector<float>& pixels) {
  for (index i = 0; i < kPixels; ++i) {
    const double x = static_cast<double>(i % kSide) + 0.5 - (5 + 6 * right), y = static_cast<double>(i / kSide) + 0.5 - (5 + 6 * down);
    pixels.push_back(static_cast<float>(std::clamp(1.5 - std::abs(std::hypot(x, y) - (1.5 + 2.5 * size)), 0.0, 1.0)));
  }
}

std::vector<float> pictures(index count, std::uint64_t number) {
  const RandomStream random(kSeed, "pictures", number);
  std::vector<float> pixels;
  for (index i = 0; i < count; ++i) {
    draw(random.uniform(3 * i), random.uniform(3 * i + 1), random.uniform(3 * i + 2), pixels);
  }
  return pixels;
}

struct Autoencoder {
  Sequential<Linear, Gelu, Linear> encoder, decoder;

  explicit Autoencoder(const Scope& s)
      : encoder{Linear(s / "encoder.0", kPixels, 128), Gelu{}, Linear(s / "encoder.1", 128, 2 * kLatent)},
        decoder{Linear(s / "decoder.0", kLatent, 128), Gelu{}, Linear(s / "decoder.1", 128, kPixels)} {}

  struct Result {
    Tensor loss;    // the bound: bits for the picture, in nats, and for the numbers
    Tensor nats;    // (kLatent), the mean of KL(q(z | x) || N(0, 1)) of each number
    Tensor logits;  // of the pictures that it makes of the numbers, (N, kPixels)
  };
  Result operator()(Pass& pass, Tensor x) const {
    const Tensor code = encoder(pass, x);
    const Tensor mean_of_z = slice(code, 1, 0, kLatent), log_variance = slice(code, 1, kLatent, kLatent);
    const Tensor noise = normal(pass.tape, mean_of_z.shape(), pass.stream(hash_of("noise")));
    const Tensor z = mean_of_z + exp(0.5 * log_variance) * noise;
    const Tensor logits = decoder(pass, z);
    const Tensor nats = mean(0.5 * (square(mean_of_z) + exp(log_variance) - log_variance - 1), 0);
    return {.loss = binary_cross_entropy(logits, x, Reduction::batch_mean) + sum(nats), .nats = nats, .logits = logits};
  }
};

/// Prints pictures side by side.
void print(const std::vector<std::vector<float>>& pictures) {
  for (index row = 0; row < kSide; row += 2) {  // letters are twice as high as wide
    std::string line;
    for (const std::vector<float>& picture : pictures) {
      for (index i = row * kSide; i < (row + 1) * kSide; ++i) {
        line += " .:-=+*#@@"[static_cast<int>(9 * picture[static_cast<std::size_t>(i)])];
      }
      line += "  ";
    }
    fmt::print("{}\n", line);
  }
}

int run() {
  ParameterStore parameters;
  const Autoencoder model{Scope(parameters)};
  parameters.allocate(kSeed);
  AdamW adamw(parameters, {.beta2 = 0.999, .weight_decay = 0});
  const Schedule rate{.learning_rate = 2e-3, .min_lr = 2e-4, .warmup_steps = 50, .decay_steps = kSteps};
  Tape tape;
  for (index step = 0; step < kSteps; ++step, tape.reset()) {
    Pass pass{.tape = tape, .training = true, .seed = kSeed, .step = static_cast<std::uint64_t>(step)};
    const auto result = model(pass, tape.input<float>({kBatch, kPixels}, pictures(kBatch, pass.step)));
    tape.backward(result.loss);
    adamw.step(step + 1, rate(step));
    fmt::print("{}", step % 250 == 0 ? fmt::format("step {:4}   bound {:6.2f}\n", step, *result.loss.data<float>()) : "");
  }

  Pass pass{.tape = tape, .seed = kSeed, .step = kSteps};
  const std::vector<float> unseen = pictures(500, kSteps);
  const auto result = model(pass, tape.input<float>({500, kPixels}, unseen));
  const Tensor made = sigmoid(result.logits);
  std::vector<std::vector<float>> shown;
  for (index i = 0; i < 6; ++i) {
    const float* const first = i % 2 == 0 ? unseen.data() : made.data<float>();
    shown.emplace_back(first + i / 2 * kPixels, first + (i / 2 + 1) * kPixels);
  }
  print(shown);
  const index used = std::count_if(result.nats.data<float>(), result.nats.data<float>() + kLatent, [](float nats) { return nats > 0.5F; });
  fmt::print("three unseen pictures, each beside what the model makes of it; {} of {} numbers are used, bound {:.1f}\n", used, kLatent,
             *result.loss.data<float>());
  return used >= 3 && *result.loss.data<float>() < 38 ? 0 : 1;  // the pictures vary in three ways
}

}  // namespace
}  // namespace dikkat

int main(int argc, char** argv) { return dikkat::run_main(argc, argv, dikkat::run); }
