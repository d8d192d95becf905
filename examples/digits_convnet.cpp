// Digits by a small convolutional network. The program draws them itself: strokes, turned, slanted, shifted, and in noise. It trains in two
// parts, as if it had been stopped between them: the second part loads weights, optimizer and position in the data from a file.
//
//   digits_convnet [FILE]

#include <algorithm>
#include <complex>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "autograd/base/run_main.h"
#include "autograd/ops/arithmetic.h"
#include "autograd/ops/loss.h"
#include "autograd/ops/reduce.h"
#include "layers/activations.h"
#include "layers/channel_norm.h"
#include "layers/convolution.h"
#include "layers/linear.h"
#include "layers/sequential.h"
#include "optim/adamw.h"
#include "train/library/array_loader.h"
#include "train/library/checkpoint.h"

namespace dikkat {
namespace {

using Point = std::complex<double>;
constexpr index kSide = 16, kTraining = 3000, kHeldOut = 1000, kSteps = 180;

// The strokes of each digit: the corners of a line, each by its column and row on a grid of 5 x 7.
constexpr std::string_view kStrokes[] = {"103041453616050110",   "112026",   "01103041420646",
                                         "004022324345361605",   "36300444", "400003334445360600",
                                         "40200305163645443303", "004016",   "13020110304142331304051636454433",
                                         "43130201103041433616"};

/// Draws image i, kSide x kSide pixels: about 0 for paper and 1 for ink.
void draw(index i, std::string_view strokes, float* image) {
  const RandomStream random(1, "digits", static_cast<std::uint64_t>(i));
  const auto between = [&](index number, double low, double high) { return low + (high - low) * random.uniform(number); };
  const Point turn = std::polar(between(0, 1.5, 2.1), between(1, -0.3, 0.3)), shift(between(2, 6, 10), between(3, 6, 10));
  const double slant = between(4, -0.3, 0.3), width = between(5, 0.7, 1.2);
  std::vector<Point> corners;  // in pixels
  for (std::size_t at = 0; at < strokes.size(); at += 2) {
    const double column = strokes[at] - '2', row = strokes[at + 1] - '3';
    corners.push_back(shift + turn * Point(column + slant * row, row));
  }
  for (index pixel = 0; pixel < kSide * kSide; ++pixel) {
    const Point center(static_cast<double>(pixel % kSide) + 0.5, static_cast<double>(pixel / kSide) + 0.5);
    double least = kSide;
    for (std::size_t k = 1; k < corners.size(); ++k) {
      const Point stroke = corners[k] - corners[k - 1], from = center - corners[k - 1];
      const double share = std::clamp(std::real(from * std::conj(stroke)) / std::norm(stroke), 0.0, 1.0);
      least = std::min(least, std::abs(from - share * stroke));
    }
    image[pixel] = static_cast<float>(std::clamp(width + 0.5 - least, 0.0, 1.0) + between(100 + pixel, -0.25, 0.25));
  }
}

/// Halves the image.
auto block(const Scope& s, index in, index out) {
  return Sequential{Conv2d(s / "conv", in, out, 3, {.padding = 1}), BatchNorm(s / "norm", out), Relu{}, MaxPool2d{2}};
}

/// Trains to step `last`, after the steps of an earlier call with this file. Returns the share of the unseen digits that are then right.
double train(const std::filesystem::path& file, const Array& images, const Array& labels, index last) {
  ParameterStore parameters;
  const Scope s(parameters);
  const Sequential net{block(s / 0, 1, 8), block(s / 1, 8, 16), Flatten{}, Linear(s / "head", kSide * kSide, 10)};
  parameters.allocate(1);
  AdamW adamw(parameters, {.beta2 = 0.99, .weight_decay = 0.01});
  ArrayLoader loader({images.rows(0, kTraining), labels.rows(0, kTraining)}, {.batch_size = 50, .seed = 1});
  ArrayLoader::State state = loader.state();
  index step = std::filesystem::exists(file) ? load(file, parameters, adamw, {{"loader", state}}) : 0;
  loader.restore(state);
  fmt::print("from step {}:\n", step);
  Tape tape;
  for (; step < last; ++step, tape.reset()) {
    const ArrayLoader::Batch batch = loader.next();
    Pass pass{.tape = tape, .training = true};
    const Tensor loss = cross_entropy(net(pass, batch.tensor(tape, 0)), batch.tensor(tape, 1));
    tape.backward(loss);
    adamw.step(step + 1, 3e-3);
    fmt::print("{}", step % 30 == 0 ? fmt::format("  step {:3}   loss {:.3f}\n", step, loss.item()) : "");
  }
  save(file, parameters, adamw, step, {{"loader", loader.state()}});

  Pass pass{.tape = tape};
  ArrayLoader held_out({images.rows(kTraining, kHeldOut), labels.rows(kTraining, kHeldOut)}, {.batch_size = kHeldOut});
  const ArrayLoader::Batch unseen = held_out.next();
  const double right = mean(equal(argmax(net(pass, unseen.tensor(tape, 0)), -1), unseen.tensor(tape, 1))).item();
  fmt::print("{:.1f}% of {} unseen digits are right\n", 100 * right, kHeldOut);
  return right;
}

int run(const std::vector<std::string>& arguments) {
  std::vector<float> pixels(static_cast<std::size_t>((kTraining + kHeldOut) * kSide * kSide));
  std::vector<std::int32_t> digits;
  for (index i = 0; i < kTraining + kHeldOut; ++i) {
    digits.push_back(static_cast<std::int32_t>(i % 10));
    draw(i, kStrokes[i % 10], pixels.data() + i * kSide * kSide);
  }
  const Array images({kTraining + kHeldOut, 1, kSide, kSide}, std::move(pixels)), labels({kTraining + kHeldOut}, std::move(digits));
  const auto file = arguments.empty() ? std::filesystem::temp_directory_path() / "dikkat-digits.h5" : std::filesystem::path(arguments[0]);
  std::filesystem::remove(file);
  train(file, images, labels, kSteps / 2);
  return train(file, images, labels, kSteps) >= 0.97 ? 0 : 1;
}

}  // namespace
}  // namespace dikkat

int main(int argc, char** argv) { return dikkat::run_main(argc, argv, dikkat::run); }
