// How long do small programs take with libtorch, forward and backward? It prints one JSON line for each program of
// bench/library/programs.h; bench/library.py compares them with bench/library_dikkat.cpp.
#include <functional>
#include <map>

#include <torch/torch.h>

#include "bench/library/programs.h"

namespace {

using namespace library_bench;
using torch::Tensor;

/// The leaves of a program, which need gradients.
class Leaves {
 public:
  explicit Leaves(const Program& program) {
    for (std::size_t i = 0; i < program.leaves.size(); ++i) {
      const std::vector<float> values = numbers(i, size_of(program.leaves[i]));
      leaves_.push_back(torch::tensor(values).reshape(program.leaves[i]).requires_grad_());
    }
    if (program.ids_below > 0) {
      ids_ = torch::tensor(ids_of<std::int64_t>(program));
    }
  }

  const Tensor& operator[](std::size_t i) const { return leaves_[i]; }
  const Tensor& ids() const { return ids_; }

  /// The digests of y and of all gradients.
  std::vector<double> digests(const Tensor& y) const {
    std::vector<double> all = {digest_of(y)};
    for (const Tensor& leaf : leaves_) {
      all.push_back(digest_of(leaf.grad()));
    }
    return all;
  }
  void reset() {
    for (Tensor& leaf : leaves_) {
      leaf.mutable_grad().reset();  // as zero_grad() does
    }
  }

 private:
  static double digest_of(const Tensor& t) {
    const Tensor values = t.detach().contiguous();
    return digest(std::span(values.data_ptr<float>(), static_cast<std::size_t>(values.numel())));
  }

  std::vector<Tensor> leaves_;
  Tensor ids_;
};

using Function = std::function<Tensor(const Leaves&)>;

const std::map<std::string_view, Function>& functions() {
  static const std::map<std::string_view, Function> all = {
      {"scalar_chain",
       [](const Leaves& p) {
         const Tensor &a = p[0], &b = p[1];
         Tensor y = a;
         for (int i = 0; i < kChain / 2; ++i) {
           y = y * b + a;
         }
         return y;
       }},
      {"mlp",
       [](const Leaves& p) {
         const Tensor h = torch::tanh(torch::linear(p[6], p[0], p[1]));
         const Tensor h2 = torch::tanh(torch::linear(h, p[2], p[3]));
         return torch::mse_loss(torch::linear(h2, p[4], p[5]), p[7]);
       }},
      {"cross_entropy", [](const Leaves& p) { return torch::cross_entropy_loss(p[0], p.ids()); }},
      {"layer_norm_tiny", [](const Leaves& p) { return torch::layer_norm(p[0], {64}, p[1], p[2]); }},
      {"lstm_cell", [](const Leaves& p) { return std::get<0>(torch::lstm_cell(p[0], {p[1], p[2]}, p[3], p[4], p[5], p[6])); }},
      {"attention_tiny",
       [](const Leaves& p) { return torch::matmul(torch::softmax(torch::matmul(p[0], p[1].transpose(1, 2)), -1), p[2]); }},
      {"formula", [](const Leaves& p) { return p[0] * torch::tanh(p[1]) + 1; }},
      {"formula_of_row", [](const Leaves& p) { return p[0] * torch::tanh(p[1]) + 1; }},
      {"add_column", [](const Leaves& p) { return p[0] + p[1]; }},
      {"where_clamp", [](const Leaves& p) { return torch::where(p[0] > 0, p[0], torch::clamp(p[1], -0.5, 0.5)); }},
      {"sum_0", [](const Leaves& p) { return p[0].sum(0); }},
      {"sum_1", [](const Leaves& p) { return p[0].sum(1); }},
      {"variance", [](const Leaves& p) { return p[0].var(1); }},
      {"softmax", [](const Leaves& p) { return torch::softmax(p[0], 1); }},
      {"logsumexp", [](const Leaves& p) { return torch::logsumexp(p[0], 1); }},
      {"layer_norm", [](const Leaves& p) { return torch::layer_norm(p[0], {768}, p[1], p[2]); }},
      {"cumsum", [](const Leaves& p) { return torch::cumsum(p[0], 1); }},
      {"topk", [](const Leaves& p) { return std::get<0>(p[0].topk(16)); }},
      {"index_select", [](const Leaves& p) { return p[0].index_select(0, p.ids()); }},
      {"transpose", [](const Leaves& p) { return p[0].transpose(0, 1).contiguous(); }},
      {"concat", [](const Leaves& p) { return torch::cat({p[0], p[1]}, 1); }},
      {"matmul", [](const Leaves& p) { return torch::matmul(p[0], p[1]); }},
      {"batched_matmul", [](const Leaves& p) { return torch::matmul(p[0], p[1]); }},
      {"einsum", [](const Leaves& p) { return torch::einsum("bthd,bshd->bhts", {p[0], p[1]}); }},
      {"conv2d", [](const Leaves& p) { return torch::conv2d(p[0], p[1], p[2], 1, 1); }},
      {"max_pool2d", [](const Leaves& p) { return torch::max_pool2d(p[0], 2); }},
      {"lstm",
       [](const Leaves& p) {
         static const Tensor zero = torch::zeros({1, 16, 64});
         return std::get<0>(torch::lstm(p[0], {zero, zero}, {p[1], p[2], p[3], p[4]}, true, 1, 0.0, true, false, true));
       }},
  };
  return all;
}

void run(const Program& program, const Options& options) {
  Leaves leaves(program);
  const Function& f = functions().at(program.name);
  Tensor dy;
  const auto forward_and_backward = [&] {
    Tensor y = f(leaves);
    if (y.dim() == 0) {
      y.backward();
      return y;
    }
    if (!dy.defined()) {
      dy = torch::tensor(numbers(50, y.numel())).reshape(y.sizes());
    }
    y.backward(dy);
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
  const Tensor a = torch::tensor(1.0F).requires_grad_(), b = torch::tensor(1.0F).requires_grad_();
  report(options, "recording", kRecordedChain, [&] {
    Tensor y = a;
    for (int i = 0; i < kRecordedChain; ++i) {
      y = y + b;
    }
  });
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  torch::set_num_threads(options.threads);
  for (const Program& program : programs()) {
    if (options.only.empty() || options.only == program.name) {
      run(program, options);
    }
  }
  if (options.only.empty() || options.only == "recording") {
    run_recording(options);
  }
  return 0;
}
