// A custom model, loss and training loop: a small residual network learns which of two interleaved spirals a point lies on.

#include <cmath>
#include <numbers>
#include <vector>

#include <fmt/core.h>

#include "autograd/base/parallel.h"
#include "autograd/ops/basic.h"
#include "layers/linear.h"
#include "layers/norm.h"
#include "optim/adamw.h"
#include "optim/clip.h"
#include "optim/schedule.h"

namespace dikkat {
namespace {

/// Computes x + W2 gelu(W1 norm(x)). A module is a struct with one operator() that takes its parameters from a scope, which names them.
struct Residual {
  Norm norm;
  Linear up, down;

  Residual(const Scope& s, index width)
      : norm(s / "norm", width), up(s / "up", width, 2 * width, true, 0.3), down(s / "down", 2 * width, width, true, 0.1) {}

  Tensor operator()(Pass& pass, Tensor x) const { return add(x, down(pass, gelu(up(pass, norm(pass, x))))); }
};

/// Maps points (N, 2) to scores (N, 1): above 0 for one spiral, below 0 for the other.
struct SpiralNet {
  Linear read;
  Residual first, second;
  Linear score;

  explicit SpiralNet(const Scope& s, index width = 32)
      : read(s / "read", 2, width, true, 1.0),
        first(s / "first", width),
        second(s / "second", width),
        score(s / "score", width, 1, true, 0.1) {}

  Tensor operator()(Pass& pass, Tensor points) const { return score(pass, second(pass, first(pass, tanh(read(pass, points))))); }
};

struct Points {
  std::vector<float> xy;     // (N, 2)
  std::vector<float> sides;  // (N, 1): 1 or -1
  index count() const { return static_cast<index>(sides.size()); }
};

/// Returns two spirals of two turns, each the mirror image of the other.
Points spirals(index count, double first_angle, double noise) {
  const RandomStream random(1, "noise", 0);
  Points points;
  for (index i = 0; i < count; ++i) {
    const double side = i % 2 == 0 ? 1 : -1;
    const index along = i / 2;
    const double t = (static_cast<double>(along) + first_angle) * 2 / static_cast<double>(count);
    const double angle = 4 * std::numbers::pi * t;
    const double radius = side * (0.1 + 0.9 * t);
    points.xy.push_back(static_cast<float>(radius * std::cos(angle) + noise * (random.uniform(2 * i) - 0.5)));
    points.xy.push_back(static_cast<float>(radius * std::sin(angle) + noise * (random.uniform(2 * i + 1) - 0.5)));
    points.sides.push_back(static_cast<float>(side));
  }
  return points;
}

/// Computes the squared hinge loss, the mean of max(0, 1 - side * score)^2, from primitive ops, which know its gradient.
Tensor squared_hinge(Tensor scores, Tensor sides) {
  const Tensor one = scores.tape()->input<float>({1}, std::vector{1.0F});
  const Tensor miss = relu(add(scale(multiply(scores, sides), -1), one));
  return mean(multiply(miss, miss));
}

std::vector<float> scores_of(const SpiralNet& net, const std::vector<float>& xy) {
  Tape tape(Recording::off);
  Pass pass{.tape = tape};
  const Tensor y = net(pass, tape.input<float>({static_cast<index>(xy.size()) / 2, 2}, xy));
  return {y.data<float>(), y.data<float>() + y.size()};
}

double share_right(const SpiralNet& net, const Points& points) {
  const std::vector<float> scores = scores_of(net, points.xy);
  int right = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    right += (scores[i] > 0) == (points.sides[i] > 0) ? 1 : 0;
  }
  return static_cast<double>(right) / static_cast<double>(scores.size());
}

/// Draws the plane as the model sees it.
void draw(const SpiralNet& net) {
  for (int line = 0; line < 20; ++line) {
    std::vector<float> xy;
    for (int column = 0; column < 48; ++column) {
      xy.push_back((static_cast<float>(column) + 0.5F) / 24 - 1);
      xy.push_back(1 - (static_cast<float>(line) + 0.5F) / 10);
    }
    std::string text;
    for (const float score : scores_of(net, xy)) {
      text += score > 0 ? '#' : '.';
    }
    fmt::print("  {}\n", text);
  }
}

int run() {
  const Points training = spirals(200, 0.0, 0.04), held_out = spirals(200, 0.5, 0.0);

  ParameterStore parameters;
  const SpiralNet net{Scope(parameters)};
  parameters.allocate(1);  // memory, and initial values from seed 1
  fmt::print("two spirals, {} points; a residual network of {} parameters\n", training.count(), parameters.parameter_count());

  constexpr index kSteps = 300;
  const Schedule learning_rate{.learning_rate = 1e-2, .min_lr = 1e-3, .warmup_steps = 20, .decay_steps = kSteps};
  AdamW adamw(parameters, {.weight_decay = 0.01});
  Tape tape;
  for (index step = 0; step < kSteps; ++step) {
    Pass pass{.tape = tape, .training = true};
    const Tensor scores = net(pass, tape.input<float>({training.count(), 2}, training.xy));
    const Tensor loss = squared_hinge(scores, tape.input<float>({training.count(), 1}, training.sides));
    tape.backward(loss);
    if (step % 30 == 0 || step == kSteps - 1) {
      fmt::print("step {:3}   loss {:.5f}   held-out points right {:5.1f} %\n", step, *loss.data<float>(),
                 100 * share_right(net, held_out));
    }
    tape.reset();
    adamw.step(step + 1, learning_rate(step), clip_factor(gradient_norm(parameters), 1.0));
  }

  draw(net);
  const double right = share_right(net, held_out);
  fmt::print("{:.1f} % of the held-out points are on the side that the network says\n", 100 * right);
  return right >= 0.97 ? 0 : 1;
}

}  // namespace
}  // namespace dikkat

int main(int, char** argv) {
  dikkat::wait_briefly(argv);  // so that threads without work do not spin for long on a busy machine
  return dikkat::run();
}
