// Shows every matrix of attention: the worked examples of the course's documents 001 (multi-head attention) and 004 (attention mechanisms).
// Each result is computed twice: in small steps that print their results, and by `attention`, the op that models are trained with. That op
// makes none of these matrices. The program exits with 1 if the two ever differ.

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "autograd/ops/attention.h"
#include "autograd/ops/basic.h"
#include "autograd/ops/layer_norm.h"
#include "autograd/ops/linear.h"
#include "autograd/tape/tape.h"

namespace dikkat {
namespace {

Tape tape(Recording::off);  // nothing is differentiated here
bool all_agree = true;

using Rows = std::vector<std::vector<double>>;

Tensor matrix(const Rows& rows) {
  std::vector<double> values;
  for (const auto& row : rows) {
    values.insert(values.end(), row.begin(), row.end());
  }
  return tape.input<double>({static_cast<index>(rows.size()), static_cast<index>(rows.front().size())}, values);
}

Tensor filled(Shape shape, double value) {
  return tape.input<double>(shape, std::vector<double>(static_cast<std::size_t>(shape.size()), value));
}

/// Returns random numbers between -limit and limit.
Tensor random_matrix(index rows, index cols, double limit, const std::string& name) {
  const RandomStream stream(1, name, 0);
  std::vector<double> values;
  for (index i = 0; i < rows * cols; ++i) {
    values.push_back(limit * (2 * stream.uniform(i) - 1));
  }
  return tape.input<double>({rows, cols}, values);
}

double at(Tensor x, index row, index col) { return x.data<double>()[row * x.shape().cols() + col]; }
Tensor row(Tensor x, index i) { return slice(x, 0, i, 1); }
Tensor columns(Tensor x, index first, index count) { return slice(x, 1, first, count); }
Tensor side_by_side(const std::vector<Tensor>& parts) { return concat(std::span<const Tensor>(parts), 1); }

/// Prints a matrix below its name. Of a wide one, it prints only the first and last columns.
Tensor show(const std::string& name, Tensor x) {
  fmt::print("  {}   ({} x {})\n", name, x.shape().rows(), x.shape().cols());
  for (index i = 0; i < x.shape().rows(); ++i) {
    fmt::print("   ");
    for (index j = 0; j < x.shape().cols(); ++j) {
      if (x.shape().cols() <= 8 || j < 4 || j >= x.shape().cols() - 2) {
        fmt::print(" {:>8.4f}", at(x, i, j));
      } else if (j == 4) {
        fmt::print("  ...");
      }
    }
    fmt::print("\n");
  }
  return x;
}

void title(const std::string& text) { fmt::print("\n{}\n", text); }

/// Returns softmax(scale q k^T) v, computed by the op that training uses. q, k and v are (T, C), here a batch of one.
Tensor fused(Tensor q, Tensor k, Tensor v, AttentionOptions options) {
  const auto batch_of_one = [](Tensor x) { return HeadColumns{reshape(x, {1, x.shape()[0], x.shape()[1]})}; };
  options.head_size = q.shape()[1] / options.heads;
  return attention(batch_of_one(q), batch_of_one(k), batch_of_one(v), options);
}

void compare(Tensor steps, Tensor op, const char* name = "attention") {
  double difference = 0;
  for (index i = 0; i < steps.size(); ++i) {
    difference = std::max(difference, std::abs(steps.data<double>()[i] - op.data<double>()[i]));
  }
  const bool agree = steps.size() == op.size() && difference <= 1e-13;
  all_agree = all_agree && agree;
  fmt::print("  the op `{}` {}: largest difference {:.0e}\n", name, agree ? "agrees" : "DISAGREES", difference);
}

// --- Document 001 -------------------------------------------------------------------------------------------------------------------

/// Steps 1 to 8: three inputs of width 4, one head.
void small_head() {
  title("Step 1: three inputs, d_model = 4");
  const Tensor x = show("x", matrix({{1, 0, 1, 0}, {0, 2, 0, 2}, {1, 1, 1, 1}}));

  title("Step 2: weights; the document gives w_query, the other two are chosen here in its spirit");
  const Tensor w_query = show("w_query", matrix({{1, 0, 1}, {1, 0, 0}, {0, 0, 1}, {0, 1, 1}}));
  const Tensor w_key = show("w_key", matrix({{0, 0, 1}, {1, 1, 0}, {0, 1, 0}, {1, 0, 0}}));
  const Tensor w_value = show("w_value", matrix({{0, 1, 0}, {1, 0, 1}, {1, 1, 0}, {1, 0, 0}}));

  title("Step 3: queries, keys and values");
  const Tensor q = show("Q = x w_query", matmul(x, w_query));
  const Tensor k = show("K = x w_key", matmul(x, w_key));
  const Tensor v = show("V = x w_value", matmul(x, w_value));

  const auto steps_4_and_5 = [&](const char* k_d, double factor) {
    title(fmt::format("Steps 4 and 5 with k_d = {}", k_d));
    const Tensor scores = show("scores = Q K^T / k_d", scale(matmul(q, k, true), factor));
    return show("weights = softmax of each row", softmax(scores));
  };
  const Tensor sharp = steps_4_and_5("1, as the document simplifies", 1);
  const Tensor soft = steps_4_and_5("sqrt(3), the root of a key's width, as attention is defined", 1 / std::sqrt(3.0));

  title("Steps 6 and 7 (k_d = 1): each value times its weight for input 1, and their sum");
  Tensor sum;
  for (index j = 0; j < 3; ++j) {
    const Tensor part = show(fmt::format("attention {} = {:.4f} V[{}]", j + 1, at(sharp, 0, j), j), scale(row(v, j), at(sharp, 0, j)));
    sum = j == 0 ? part : add(sum, part);
  }
  show("output 1 = their sum", sum);

  title("Step 8: the same for all inputs is one product, weights V");
  const Tensor y = show("output, k_d = 1", matmul(sharp, v));
  compare(sum, row(y, 0), "matmul");
  compare(y, fused(q, k, v, {.scale = 1.0}));
  const Tensor scaled = show("output, k_d = sqrt(3)", matmul(soft, v));
  compare(scaled, fused(q, k, v, {}));
}

/// Steps 9 and 10, and Post-LN: the layer at its full width, with three inputs of 512 and eight heads of 64. The document draws random
/// results for the heads; here inputs and weights are random, and the heads compute their results.
void full_layer() {
  constexpr index kWidth = 512, kHeads = 8, kSize = kWidth / kHeads;
  const double limit = std::sqrt(3.0 / kWidth);  // a product with such weights is about as large as its input

  title("Step 9: d_model = 512, eight heads of 64");
  const Tensor x = show("x", random_matrix(3, kWidth, 1.5, "x"));
  std::vector<Tensor> q, k, v, z;
  for (index h = 0; h < kHeads; ++h) {
    const auto projected = [&](const char* weight) {
      return matmul(x, random_matrix(kWidth, kSize, limit, fmt::format("{} {}", weight, h)));
    };
    q.push_back(projected("query"));
    k.push_back(projected("key"));
    v.push_back(projected("value"));
    const Tensor weights = softmax(scale(matmul(q.back(), k.back(), true), 1 / std::sqrt(64.0)));
    z.push_back(show(fmt::format("z{}, head {} of 8", h, h + 1), matmul(weights, v.back())));
  }

  title("Step 10: the heads side by side, 8 x 64 = 512");
  const Tensor sublayer = show("Sublayer(x)", side_by_side(z));
  compare(sublayer, fused(side_by_side(q), side_by_side(k), side_by_side(v), {.heads = kHeads}));
  fmt::print("  (trained layers put one more product behind this, with W^O; the document leaves it out)\n");

  title("Post-LN: LayerNorm(x + Sublayer(x)), gamma = 1, beta = 0");
  const Tensor averaging = filled({kWidth, kWidth}, 1.0 / kWidth);  // v averaging: each row's mean, in each column
  const Tensor sum = show("v = x + Sublayer(x)", add(x, sublayer));
  const Tensor mean = matmul(sum, averaging);
  const Tensor centered = add(sum, scale(mean, -1));
  const Tensor variance = matmul(multiply(centered, centered), averaging);
  show("mu, of each row", columns(mean, 0, 1));
  show("sigma, of each row", power(columns(variance, 0, 1), 0.5));
  const Tensor deviation = power(add(variance, filled({kWidth}, 1e-5)), 0.5);  // 1e-5 avoids a division by 0
  const Tensor y = show("(v - mu) / sigma", multiply(centered, power(deviation, -1)));
  compare(y, layer_norm(sum, filled({kWidth}, 1), filled({kWidth}, 0)), "layer_norm");
}

// --- Document 004 -------------------------------------------------------------------------------------------------------------------

/// Computes the context vector of "shiny", by attention that has no weights of its own.
void hello_shiny_sun() {
  title("\"Hello shiny sun!\": attention without trained weights, for the word \"shiny\"");
  const Tensor words = show("embeddings", matrix({{0.34, 0.22, 0.54}, {0.53, 0.34, 0.98}, {0.29, 0.54, 0.93}}));
  const Tensor scores = show("1. scores: \"shiny\" times each word", matmul(row(words, 1), words, true));
  const Tensor weights = show("2. weights: their softmax", softmax(scores));
  std::vector<Tensor> terms;
  for (index j = 0; j < 3; ++j) {
    terms.push_back(scale(row(words, j), at(weights, 0, j)));
  }
  show("3. weighted embeddings", concat(std::span<const Tensor>(terms), 0));
  const Tensor context = show("   and their sum, the context vector", add(add(terms[0], terms[1]), terms[2]));
  compare(context, slice(fused(words, words, words, {.scale = 1.0}), 1, 1, 1));

  const Rows printed_terms = {{0.0779, 0.0504, 0.1237}, {0.2156, 0.1382, 0.3983}, {0.1057, 0.1972, 0.3390}};
  const double printed[] = {0.3992, 0.3858, 0.8610};
  int wrong = 0;
  fmt::print("  The document computes by hand:\n");
  for (index i = 0; i < 3; ++i) {
    fmt::print("    {:.4f}, exactly {:.10f}, off by {:+.1e}\n", printed[i], at(context, 0, i), printed[i] - at(context, 0, i));
    for (index j = 0; j < 3; ++j) {
      const double term = at(terms[static_cast<std::size_t>(j)], 0, i);
      wrong += std::abs(printed_terms[static_cast<std::size_t>(j)][static_cast<std::size_t>(i)] - term) > 0.5e-4 ? 1 : 0;
    }
  }
  fmt::print("  {} of its 9 weighted components are wrong in the fourth decimal.\n", wrong);
}

/// Weights, (out, in), as torch.nn.Linear draws them.
struct Projections {
  Tensor query, key, value;
};

// torch.manual_seed(789), then three Linear(3, 2, bias=False).
Projections seed_789() {
  return {.query = matrix({{0.316059083, 0.456808567, 0.51183486}, {-0.1682854, -0.337877035, -0.0917738676}}),
          .key = matrix({{0.405805826, -0.470420539, 0.236805201}, {0.213360742, -0.260050654, -0.510542989}}),
          .value = matrix({{0.252569884, -0.14147827, -0.196181342}, {0.519107401, -0.0851675794, -0.204327047}})};
}

// torch.manual_seed(123), then three Linear(3, 2, bias=False).
Projections seed_123() {
  return {.query = matrix({{-0.235429645, 0.0191244762, -0.286745936}, {0.217726618, -0.49193421, 0.423223078}}),
          .key = matrix({{-0.419641405, -0.459017664, -0.364820182}, {0.261478186, -0.213326395, 0.216052175}}),
          .value = matrix({{-0.490014136, -0.350292057, -0.211989194}, {-0.11346072, -0.440439373, 0.378043622}})};
}

Tensor sentence() {
  return matrix({{0.43, 0.15, 0.89}, {0.55, 0.87, 0.66}, {0.57, 0.85, 0.64}, {0.22, 0.58, 0.33}, {0.77, 0.25, 0.10}, {0.05, 0.80, 0.55}});
}

void self_attention_with_weights() {
  title("\"Your journey starts with one step\": self-attention with trained weights (SelfAttention_v2, seed 789)");
  const Tensor x = show("inputs, a row for each word", sentence());
  const Projections w = seed_789();
  show("W_query, as Linear keeps it: (d_out x d_in)", w.query);
  show("W_key", w.key);
  show("W_value", w.value);
  const Tensor q = show("queries", linear(x, w.query));
  const Tensor k = show("keys", linear(x, w.key));
  const Tensor v = show("values", linear(x, w.value));
  const Tensor scores = show("scores = queries keys^T", matmul(q, k, true));
  const Tensor weights = show("weights = softmax(scores / sqrt(2))", softmax(scale(scores, 1 / std::sqrt(2.0))));
  const Tensor context = show("context vectors = weights values", matmul(weights, v));
  compare(context, fused(q, k, v, {}));
}

/// Returns a mask with -inf above the diagonal, so that word i does not see the words after it.
Tensor causal_mask(index words) {
  std::vector<double> mask;
  for (index i = 0; i < words; ++i) {
    for (index j = 0; j < words; ++j) {
      mask.push_back(j > i ? -INFINITY : 0);
    }
  }
  return tape.input<double>({words, words}, mask);
}

void causal_attention() {
  title("Causal attention (CausalAttention, seed 123): no word sees the ones after it");
  const Tensor x = sentence();
  const Projections w = seed_123();
  const Tensor q = show("queries", linear(x, show("W_query", w.query)));
  const Tensor k = show("keys", linear(x, show("W_key", w.key)));
  const Tensor v = show("values", linear(x, show("W_value", w.value)));
  const Tensor masked = show("scores + mask", add(matmul(q, k, true), causal_mask(6)));
  const Tensor weights = show("weights = softmax(masked / sqrt(2)): e^-inf = 0", softmax(scale(masked, 1 / std::sqrt(2.0))));
  const Tensor context = show("context vectors", matmul(weights, v));
  compare(context, fused(q, k, v, {.causal = true}));

  title("The same in training: dropout with p = 0.5 strikes out about half of the weights and doubles the others");
  const RandomStream stream(3, "weights", 0);
  // The op draws four keys at a time: a row of weights takes a multiple of four random words.
  const Tensor padded = side_by_side({weights, filled({6, 2}, 0)});
  const Tensor dropped = show("weights after dropout", columns(dropout(padded, 0.5, stream), 0, 6));
  const Tensor noisy = show("context vectors", matmul(dropped, v));
  compare(noisy, fused(q, k, v, {.causal = true, .dropout = 0.5, .stream = stream}));
}

void multi_head_attention() {
  title("Multi-head attention (MultiHeadAttention, 2 heads, seed 123): the width of 2 is split, each head has its own column");
  const Tensor x = sentence();
  const Projections w = seed_123();
  const Tensor q = linear(x, w.query), k = linear(x, w.key), v = linear(x, w.value);
  std::vector<Tensor> heads;
  for (index h = 0; h < 2; ++h) {
    const auto own = [&](Tensor all) { return columns(all, h, 1); };
    fmt::print("  head {}\n", h + 1);
    const Tensor q_h = show("queries", own(q));
    const Tensor k_h = show("keys", own(k));
    const Tensor v_h = show("values", own(v));
    const Tensor masked = show("scores + mask", add(matmul(q_h, k_h, true), causal_mask(6)));
    const Tensor weights = show("weights = softmax(masked): sqrt(d_k) is 1 here", softmax(masked));
    heads.push_back(show("context = weights values", matmul(weights, v_h)));
  }
  const Tensor joined = show("heads side by side", side_by_side(heads));
  compare(joined, fused(q, k, v, {.heads = 2, .causal = true}));
  const Tensor out_proj = show("out_proj", matrix({{-0.166757792, 0.22697258}, {0.500025988, 0.131738231}}));
  const Tensor out_bias = tape.input<double>({2}, std::vector{0.193358868, 0.682540953});
  show("context vectors = heads out_proj^T + bias", linear(joined, out_proj, out_bias));
}

int run() {
  fmt::print("=== Document 001: the multi-head attention sublayer ===\n");
  small_head();
  full_layer();
  fmt::print("\n=== Document 004: attention mechanisms ===\n");
  hello_shiny_sun();
  self_attention_with_weights();
  causal_attention();
  multi_head_attention();
  fmt::print("\n{}\n", all_agree ? "Step by step and in one op: the same numbers everywhere." : "Steps and op DISAGREE, see above.");
  return all_agree ? 0 : 1;
}

}  // namespace
}  // namespace dikkat

int main() { return dikkat::run(); }
