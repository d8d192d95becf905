#include "autograd/ops/cost.h"

#include <string_view>

namespace dikkat {
namespace {

double bytes_of(Tensor x) { return x ? static_cast<double>(x.size()) * static_cast<double>(size_of(x.dtype())) : 0; }

double bytes_of(std::span<const Tensor> tensors) {
  double bytes = 0;
  for (const Tensor x : tensors) {
    bytes += bytes_of(x);
  }
  return bytes;
}

double bytes_of_gradients(std::span<const Tensor> inputs) {
  double bytes = 0;
  for (const Tensor x : inputs) {
    bytes += x && x.needs_gradient() ? bytes_of(x) : 0;
  }
  return bytes;
}

/// Of x (rows, in) times a weight (out, in), the first two inputs.
double product_flops(const OpRun& run) {
  const Tensor x = run.inputs[0];
  return 2 * static_cast<double>(x.shape().rows()) * static_cast<double>(run.inputs[1].size());
}

/// The first two inputs' gradients are a product each.
int gradient_products(const OpRun& run) { return int{run.inputs[0].needs_gradient()} + int{run.inputs[1].needs_gradient()}; }

/// Of one product over the pairs that attention looks at: a pair has as many multiply-adds as y has columns, all heads together.
double attention_product(const OpRun& run) { return 2 * run.pairs * static_cast<double>(run.outputs[0].shape().cols()); }

}  // namespace

Cost forward_cost(const OpRun& run) {
  const std::string_view op = run.op;
  const double all = bytes_of(run.inputs) + bytes_of(run.outputs);
  if (op == "linear" || op == "activated_linear") {
    return {product_flops(run), all};
  }
  if (op == "matmul") {  // (..., m, k) times (..., k, n), or (..., n, k)
    return {2 * static_cast<double>(run.outputs[0].size()) * static_cast<double>(run.inputs[0].shape().cols()), all};
  }
  if (op == "attention") {
    return {2 * attention_product(run), all};
  }
  if (op == "linear_cross_entropy") {  // gradients are made on the way
    return {product_flops(run) * (1 + (run.outputs[0].needs_gradient() ? gradient_products(run) : 0)), all};
  }
  if (op == "embedding") {  // of the table, the rows that are asked for
    return {0, 2 * bytes_of(run.outputs)};
  }
  return {0, op == "reshape" ? 0 : all};
}

Cost backward_cost(const OpRun& run) {
  const std::string_view op = run.op;
  const double written = bytes_of_gradients(run.inputs);
  const double dy = bytes_of(run.outputs);
  const double all = dy + bytes_of(run.inputs) + written;
  if (op == "linear" || op == "activated_linear") {
    return {product_flops(run) * gradient_products(run), all};
  }
  if (op == "matmul") {
    return {forward_cost(run).flops * gradient_products(run), all};
  }
  if (op == "attention") {
    return {5 * attention_product(run), all};
  }
  if (op == "linear_cross_entropy") {
    return {0, 2 * written};
  }
  if (op == "embedding") {  // dy, and rows of the table read and written
    return {0, 3 * dy};
  }
  if (op == "add" || op == "reshape") {  // most often passed on untouched
    return {};
  }
  if (op == "scale" || op == "dropout" || op == "sum" || op == "mean" || op == "slice" || op == "concat") {
    return {0, dy + written};
  }
  return {0, all};
}

}  // namespace dikkat
