// How long do small programs take with dikkat::autograd, forward and backward? It prints one JSON line for each program of
// bench/library/programs.h; bench/library.py compares them with bench/library_torch.cpp.
#include <functional>
#include <map>

#include <dikkat/autograd.h>

#include "bench/library/programs.h"

namespace dikkat {
namespace {

using namespace library_bench;

Shape shape_of(const Extents& extents) { return Shape(std::span<const index>(extents)); }

/// The leaves of a program as parameters, and a tape.
class Leaves {
 public:
  explicit Leaves(const Program& program) : program_(program), ids_(ids_of<std::int32_t>(program)) {
    for (std::size_t i = 0; i < program.leaves.size(); ++i) {
      parameters_.push_back(
          store_.add(concat("p", i < 10 ? "0" : "", i), shape_of(program.leaves[i]), Init::zeros(), Decay::no, Role::vector));
    }
    store_.allocate(0);
    for (std::size_t i = 0; i < program.leaves.size(); ++i) {
      const std::vector<float> values = numbers(i, parameters_[i].shape().size());
      std::copy(values.begin(), values.end(), store_.weights<float>() + store_.entries()[i]->offset);
    }
  }

  Tape& tape() { return tape_; }
  /// Leaf i on the tape; the bare parameter.
  Tensor operator[](std::size_t i) { return tape_.use(parameters_[i]); }
  Tensor parameter(std::size_t i) const { return parameters_[i]; }
  Tensor ids() { return tape_.borrow(shape_of(program_.ids), DType::i32, ids_.data()); }

  /// The digests of y and of all gradients.
  std::vector<double> digests(Tensor y) {
    std::vector<double> all = {digest(std::span(y.data<float>(), static_cast<std::size_t>(y.size())))};
    store_.complete_gradients();
    for (const auto* entry : store_.entries()) {
      all.push_back(digest(std::span(store_.gradients<float>() + entry->offset, static_cast<std::size_t>(entry->size()))));
    }
    return all;
  }
  void reset() {
    tape_.reset();
    store_.clear_gradients();
  }

 private:
  const Program& program_;
  std::vector<std::int32_t> ids_;
  ParameterStore store_;
  std::vector<Parameter> parameters_;
  Tape tape_;
};

using Function = std::function<Tensor(Leaves&)>;

const std::map<std::string_view, Function>& functions() {
  static const std::map<std::string_view, Function> all = {
      {"scalar_chain",
       [](Leaves& p) {
         const Tensor a = p[0], b = p[1];
         Tensor y = a;
         for (int i = 0; i < kChain / 2; ++i) {
           y = y * b + a;
         }
         return y;
       }},
      {"mlp",
       [](Leaves& p) {
         const Tensor h = tanh(linear(p[6], p.parameter(0), p.parameter(1)));
         const Tensor h2 = tanh(linear(h, p.parameter(2), p.parameter(3)));
         return mse_loss(linear(h2, p.parameter(4), p.parameter(5)), p.parameter(7));
       }},
      {"cross_entropy", [](Leaves& p) { return cross_entropy(p.parameter(0), p.ids()); }},
      {"layer_norm_tiny", [](Leaves& p) { return layer_norm(p[0], p.parameter(1), p.parameter(2)); }},
      {"lstm_cell",
       [](Leaves& p) {
         const Tensor sums = linear(p[0], p.parameter(3), p.parameter(5));
         return lstm(unsqueeze(sums, 1), p.parameter(4), p.parameter(6), p[1], p[2]).h;
       }},
      {"attention_tiny", [](Leaves& p) { return matmul(softmax(matmul(p[0], p[1], true)), p[2]); }},
      {"formula", [](Leaves& p) { return elementwise([](auto x, auto y) { return x * tanh(y) + 1; }, p[0], p.parameter(1)); }},
      {"formula_of_row", [](Leaves& p) { return elementwise([](auto x, auto y) { return x * y + 1; }, p[0], tanh(p[1])); }},
      {"add_column", [](Leaves& p) { return p[0] + p.parameter(1); }},
      {"where_clamp",
       [](Leaves& p) {
         const Tensor x = p[0], y = p[1];
         return where(x > 0, x, clamp(y, -0.5, 0.5));
       }},
      {"sum_0", [](Leaves& p) { return sum(p[0], 0); }},
      {"sum_1", [](Leaves& p) { return sum(p[0], 1); }},
      {"variance", [](Leaves& p) { return variance(p[0], 1); }},
      {"softmax", [](Leaves& p) { return softmax(p[0], 1); }},
      {"logsumexp", [](Leaves& p) { return logsumexp(p[0], 1); }},
      {"layer_norm", [](Leaves& p) { return layer_norm(p[0], p.parameter(1), p.parameter(2)); }},
      {"cumsum", [](Leaves& p) { return cumsum(p[0], 1); }},
      {"topk", [](Leaves& p) { return topk(p[0], 16).values; }},
      {"index_select", [](Leaves& p) { return index_select(p.parameter(0), 0, p.ids()); }},
      {"transpose", [](Leaves& p) { return transpose(p[0]); }},
      {"concat",
       [](Leaves& p) {
         const std::array<Tensor, 2> parts = {p[0], p[1]};
         return concat(parts, 1);
       }},
      {"matmul", [](Leaves& p) { return matmul(p[0], p[1]); }},
      {"batched_matmul", [](Leaves& p) { return matmul(p[0], p[1]); }},
      {"einsum", [](Leaves& p) { return einsum("bthd,bshd->bhts", p[0], p[1]); }},
      {"conv2d", [](Leaves& p) { return conv2d(p[0], p.parameter(1), p.parameter(2), {.padding = 1}); }},
      {"max_pool2d", [](Leaves& p) { return max_pool2d(p[0], 2); }},
      {"lstm", [](Leaves& p) { return lstm(linear(p[0], p.parameter(1), p.parameter(3)), p.parameter(2), p.parameter(4)).h; }},
  };
  return all;
}

void run(const Program& program, const Options& options) {
  Leaves leaves(program);
  const Function& f = functions().at(program.name);
  std::vector<float> dy;
  const auto forward_and_backward = [&] {
    const Tensor y = f(leaves);
    if (y.shape().rank() == 0) {
      leaves.tape().backward(y);
      return y;
    }
    if (dy.empty()) {
      dy = numbers(50, y.size());
    }
    leaves.tape().backward(y, leaves.tape().borrow(y.shape(), DType::f32, dy.data()));
    return y;
  };
  const std::vector<double> digests = leaves.digests(forward_and_backward());
  leaves.reset();
  report(
      options, program.name, 1,
      [&] {
        forward_and_backward();
        leaves.reset();
      },
      digests);
}

/// The time to compute and record one addition of two scalars.
void run_recording(const Options& options) {
  static const Program kTwoScalars{"recording", "", {{}, {}}};
  Leaves leaves(kTwoScalars);
  report(options, "recording", kRecordedChain, [&] {
    Tensor y = leaves[0];
    const Tensor b = leaves[1];
    for (int i = 0; i < kRecordedChain; ++i) {
      y = y + b;
    }
    leaves.reset();
  });
}

void run_all(const Options& options) {
  set_thread_count(options.threads);
  start_threads();
  for (const Program& program : programs()) {
    if (options.only.empty() || options.only == program.name) {
      run(program, options);
    }
  }
  if (options.only.empty() || options.only == "recording") {
    run_recording(options);
  }
}

}  // namespace
}  // namespace dikkat

int main(int argc, char** argv) {
  dikkat::wait_briefly(argv);
  dikkat::run_all(library_bench::parse(argc, argv));
  return 0;
}
