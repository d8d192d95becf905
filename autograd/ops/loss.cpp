#include "autograd/ops/loss.h"

#include <algorithm>

#include "autograd/base/dry_run.h"
#include "autograd/base/parallel.h"
#include "autograd/kernels/elementwise.h"
#include "autograd/kernels/loss/cross_entropy.h"
#include "autograd/kernels/loss/linear_cross_entropy.h"
#include "autograd/ops/basic.h"
#include "autograd/ops/linear.h"
#include "autograd/ops/op.h"
#include "autograd/ops/widened.h"

namespace dikkat {
namespace {

/// Targets and weights of the rows.
struct Goal {
  const std::int32_t* targets;
  const float* weights;
  double normalizer;
};

Goal goal_of(Op op, Tape& tape, index rows, index classes, Tensor targets, const CrossEntropyOptions& options) {
  // Check shapes and numbers.
  const Tensor weights = options.weights, class_weights = options.class_weights;
  require(targets.dtype() == DType::i32 && targets.size() == rows, op, ": targets are ", targets.dtype(), " ", targets.shape(),
          ", expected i32, one for each of ", rows, " rows of logits");
  require(!weights || (weights.dtype() == DType::f32 && weights.size() == rows), op, ": weights are ", weights ? weights.shape() : Shape{},
          ", expected ", rows, " of f32");
  require(!class_weights || (class_weights.dtype() == DType::f32 && class_weights.shape() == Shape{classes}), op, ": class weights are ",
          class_weights ? class_weights.shape() : Shape{}, ", expected ", Shape{classes}, " of f32");
  require(0 <= options.label_smoothing && options.label_smoothing < 1, op, ": label smoothing ", options.label_smoothing,
          ", expected 0 <= share < 1");
  require(!class_weights || options.label_smoothing == 0, op, ": label smoothing ", options.label_smoothing,
          ", which is not possible with class weights: leave out one of them");
  // Check each target, and give it its weight.
  const auto* ids = targets.data<std::int32_t>();
  const float* w = weights ? weights.data<float>() : nullptr;
  const float* of_class = class_weights ? class_weights.data<float>() : nullptr;
  const bool has_own = class_weights || options.ignored_target.has_value();
  float* const own = has_own ? tape.save<float>(rows) : nullptr;
  double sum = 0;
  for (index i = 0; i < rows; ++i) {
    const bool is_ignored = (w != nullptr && w[i] == 0) || ids[i] == options.ignored_target;
    require(is_ignored || (0 <= ids[i] && ids[i] < classes), op, ": target ", ids[i], ", expected 0 to ", classes - 1);
    if (has_own) {
      const float by_class = is_ignored || of_class == nullptr ? 1 : of_class[ids[i]];
      require(by_class >= 0, op, ": the weight of class ", ids[i], " is ", by_class, ", expected 0 or more");
      own[i] = is_ignored ? 0 : w == nullptr ? by_class : by_class * w[i];
      sum += static_cast<double>(own[i]);
    }
  }
  require(options.normalizer || !has_own || sum >= 0, op, ": the sum of the targets' weights is ", sum,
          ", expected 0 or more, or a normalizer of your own");
  const double usual = has_own ? (sum > 0 ? sum : 1) : static_cast<double>(rows);
  const double normalizer = options.normalizer.value_or(usual);
  require(normalizer > 0, op, ": normalizer ", normalizer, ", expected more than 0");
  return {ids, has_own ? own : w, normalizer};
}

/// Checks a teacher, also each class that it names.
kernels::TeacherTargets teacher_of(index rows, index classes, const Goal& goal, const CrossEntropyOptions& options) {
  const Teacher& teacher = options.teacher;
  if (!teacher.ids) {
    require(!teacher.probabilities, "linear_cross_entropy: a teacher has probabilities and no ids, expected both");
    return {};
  }
  constexpr const char* kOp = "linear_cross_entropy: ";
  // Check shapes and numbers.
  const index top = teacher.ids.shape().rank() >= 1 ? teacher.ids.shape().cols() : 0;
  require(teacher.ids.dtype() == DType::i32 && 1 <= top && top < classes && teacher.ids.size() == rows * top, kOp, "the teacher's ids are ",
          teacher.ids.dtype(), " ", teacher.ids.shape(), ", expected i32 (", rows, ", K) with 1 <= K < ", classes);
  require(teacher.probabilities && teacher.probabilities.dtype() == DType::f32 && teacher.probabilities.size() == rows * (top + 1), kOp,
          "the teacher's probabilities are ", teacher.probabilities ? teacher.probabilities.shape() : Shape{}, ", expected f32 (", rows,
          ", ", top + 1, ")");
  require(0 <= teacher.share && teacher.share <= 1, kOp, "the teacher's share is ", teacher.share, ", expected 0 to 1");
  require(0 < teacher.temperature && teacher.temperature <= kernels::kMostTemperature, kOp, "the teacher's temperature is ",
          teacher.temperature, ", expected more than 0, at most ", kernels::kMostTemperature);
  require(options.label_smoothing == 0, kOp, "label smoothing ", options.label_smoothing,
          ", which is not possible with a teacher: leave out one of them");
  // Check the classes.
  const auto* ids = teacher.ids.data<std::int32_t>();
  const auto* probabilities = teacher.probabilities.data<float>();
  for (index row = 0; row < rows; ++row) {
    if (DryRun::active() || (goal.weights != nullptr && goal.weights[row] == 0)) {
      continue;
    }
    const auto* own = ids + row * top;
    for (index j = 0; j < top; ++j) {
      require((j == 0 ? 0 : own[j - 1] + 1) <= own[j] && own[j] < classes, kOp, "the teacher names class ", own[j], " in row ", row,
              ", expected ascending classes of 0 to ", classes - 1);
    }
    require(std::all_of(probabilities + row * (top + 1), probabilities + (row + 1) * (top + 1), [](float p) { return p >= 0; }), kOp,
            "a probability of the teacher in row ", row, " is negative or not a number");
  }
  return {top, ids, probabilities, teacher.share, teacher.temperature};
}

/// The rows that are scored. If rows of weight 0 are left out, logits are computed only for the others.
template <class X>
struct ScoredRows {
  index count = 0;
  const index* at = nullptr;              // (count): which rows they are; null: all
  const std::int32_t* targets = nullptr;  // (count)
  const float* weights = nullptr;         // (count), or null: 1 each
  kernels::TeacherTargets teacher{};      // of these rows
  X* x = nullptr;                         // (chunk, width), if `at` is not null: their inputs, and in backward the gradients of these
};

/// Takes memory for all rows, even if few are scored, so that a dry run, whose weights have no values, shows how much a step needs.
template <class X>
ScoredRows<X> scored_rows(Tape& tape, const Goal& goal, const kernels::TeacherTargets& teacher, index rows, index chunk, index width) {
  const ScoredRows<X> all{rows, nullptr, goal.targets, goal.weights, teacher};
  if (goal.weights == nullptr) {
    return all;
  }
  index* const at = tape.save<index>(rows);
  std::int32_t* const targets = tape.save<std::int32_t>(rows);
  float* const weights = tape.save<float>(rows);
  X* const x = tape.save<X>(chunk * width);
  std::int32_t* const ids = tape.save<std::int32_t>(rows * teacher.top);
  float* const probabilities = tape.save<float>(teacher.top > 0 ? rows * (teacher.top + 1) : 0);
  if (DryRun::active() || std::none_of(goal.weights, goal.weights + rows, [](float weight) { return weight == 0; })) {
    return all;
  }
  index count = 0;
  for (index row = 0; row < rows; ++row) {
    if (goal.weights[row] != 0) {
      at[count] = row;
      targets[count] = goal.targets[row];
      if (teacher.top > 0) {
        std::copy_n(teacher.ids + row * teacher.top, teacher.top, ids + count * teacher.top);
        std::copy_n(teacher.probabilities + row * (teacher.top + 1), teacher.top + 1, probabilities + count * (teacher.top + 1));
      }
      weights[count++] = goal.weights[row];
    }
  }
  auto of_scored = teacher;
  of_scored.ids = ids;
  of_scored.probabilities = probabilities;
  return {count, at, targets, weights, of_scored, x};
}

/// Copies the inputs of `count` scored rows, starting at `first`, to scored.x.
template <class X>
void gather(const ScoredRows<X>& scored, index first, index count, index width, const X* x) {
  parallel_for(count, Work::elements(count * width),
               [&](index i) { std::copy_n(x + scored.at[first + i] * width, width, scored.x + i * width); });
}

/// The gradients of the first scored rows, for a loss whose derivative is 1.
template <class X>
struct EarlyGradients {
  index rows;
  Computed<X> factor;  // the derivative of the loss
  const X* dx;         // (rows, width)
};

/// Writes the gradients of all rows: `early` holds those of the first scored rows, `scored.x` those of the others; 0 if a row is not
/// scored.
template <class X>
void scatter(const ScoredRows<X>& scored, const EarlyGradients<X>& early, index rows, index width, GradOut<X> out) {
  parallel_for(rows, Work::elements(rows * width), [&](index row) {
    const index i = std::lower_bound(scored.at, scored.at + scored.count, row) - scored.at;
    const GradOut<X> own{out.data + row * width, out.add};
    if (i == scored.count || scored.at[i] != row) {
      if (!out.add) {
        std::fill_n(own.data, width, X{});
      }
      return;
    }
    const bool is_early = i < early.rows;
    const X* const dx = is_early ? early.dx + i * width : scored.x + (i - early.rows) * width;
    for (index c = 0; c < width; ++c) {
      own.put(c, is_early ? early.factor * to_computed(dx[c]) : to_computed(dx[c]));
    }
  });
}

/// Writes the losses of the scored rows, and 0 for the others.
template <class X>
void tell_terms(const Computed<X>* losses, const ScoredRows<X>& scored, index rows, double* terms) {
  if (terms == nullptr) {
    return;
  }
  if (scored.at == nullptr) {
    std::copy_n(losses, rows, terms);
    return;
  }
  std::fill_n(terms, rows, 0.0);
  for (index i = 0; i < scored.count; ++i) {
    terms[scored.at[i]] = losses[i];
  }
}

constexpr index kRowUnit = 96;  // a multiple of the columns that matrix libraries keep in registers: rows are columns there

/// Returns the most rows of a chunk, whose logits several loops read one after another.
index most_rows_of_chunk(index classes, index logits_at_once) {
  constexpr index kMost = round_up(1024, kRowUnit);
  return std::clamp(logits_at_once / std::max<index>(classes, 1) / kRowUnit * kRowUnit, kRowUnit, kMost);
}
/// Returns the rows of each chunk of `count` rows, such that all chunks are of about one size.
index rows_of_chunk(index count, index most) {
  const index chunks = std::max<index>(ceil_div(count, most), 1);
  return std::max(round_up(ceil_div(count, chunks), kRowUnit), kRowUnit);
}

/// The output layer and its loss, one chunk of the scored rows after the other. A copy of it is the closure of backward.
template <class X>
struct ChunkedHead {
  using T = Computed<X>;
  using Part = kernels::LinearCrossEntropy<X>;

  Tensor x, weight, y;
  bool is_root;  // backward starts from y
  index rows;    // scored or not
  ScoredRows<X> scored;
  index chunk, last;  // scored rows of a chunk; the first one of the last chunk
  Part all;           // the scored rows of all chunks
  // The gradients of all chunks but the last, for a loss whose derivative is 1; null where none is needed.
  X* dx;                 // (last, width)
  T* dweight;            // (classes, width)
  bool dweight_in_slab;  // in place of dweight, forward adds to the parameter's slab

  /// Returns the chunk that begins at a scored row. If not all rows are scored, its inputs are those that were gathered last.
  Part part_at(index row) const {
    Part part = all;
    part.rows = std::min(chunk, scored.count - row);
    part.x = scored.at == nullptr ? all.x + row * all.width : scored.x;
    part.targets += row;
    part.weights = all.weights == nullptr ? nullptr : all.weights + row;
    part.losses += row;
    part.teacher.ids += row * part.teacher.top;
    part.teacher.probabilities += part.teacher.top > 0 ? row * (part.teacher.top + 1) : 0;
    return part;
  }

  /// Computes the loss, and right after that of a chunk its gradients; but those of the last chunk in backward.
  void forward(Tape& tape, double* terms) const {
    for (index row = 0; row <= last; row += chunk) {
      auto part = part_at(row);
      if (scored.at != nullptr) {
        gather(scored, row, part.rows, part.width, all.x);
      }
      kernels::linear_cross_entropy_forward(part);
      if (part.keep && row < last) {
        part.dx = {dx == nullptr ? nullptr : dx + row * part.width};
        part.dweight = dweight_in_slab ? tape.gradient_now<T>(weight) : GradOut<T>{dweight, row > 0};
        kernels::linear_cross_entropy_backward(part);
      }
    }
    *y.mutable_data<T>() = kernels::sum(scored.count, all.losses);
    tell_terms(all.losses, scored, rows, terms);
  }

  /// Computes the last chunk's gradients, and adds those of the others, which forward has computed.
  void backward(Gradients& g) const {
    auto part = part_at(last);
    part.dloss = *g.of<T>(y);
    require(!is_root || part.dloss == 1, "linear_cross_entropy: the derivative of the loss is ", part.dloss,
            ", expected 1: CrossEntropyOptions::is_root promises that backward starts from it");
    part.dweight_before = dweight;
    part.dweight = g.into<T>(weight);  // first, as the kernel writes it first: both may be the same memory
    const GradOut<X> out = g.into<X>(x);
    if (scored.at == nullptr) {
      part.dx = {out ? out.data + last * part.width : nullptr, out.add};
    } else {
      part.dx = {out ? scored.x : nullptr};
    }
    kernels::linear_cross_entropy_backward(part);
    if (out && scored.at == nullptr) {
      kernels::scaled_copy<X>(last * part.width, part.dloss, dx, out);
    } else if (out) {
      scatter(scored, {.rows = last, .factor = part.dloss, .dx = dx}, rows, part.width, out);
    }
  }

  /// Counts a product for the logits, and one for each gradient: in forward, except for the gradients of the last chunk.
  OpCost cost() const {
    const double of_a_row = 2 * static_cast<double>(all.classes * all.width);
    const int gradients = all.keep ? int{x.needs_gradient()} + int{weight.needs_gradient()} : 0;
    const double in_forward = of_a_row * (static_cast<double>(scored.count) + gradients * static_cast<double>(last));
    const Tensor inputs[] = {x, weight};
    return {cost_of({x, weight}, {y}, in_forward).forward,
            {.flops = of_a_row * gradients * static_cast<double>(scored.count - last), .bytes = 2 * gradient_bytes_of(inputs)}};
  }
};

/// Divides the scored rows into chunks, and takes the memory that backward needs.
template <class X>
ChunkedHead<X> chunked_head(Tape& tape, Tensor x, Tensor weight, const Goal& goal, const kernels::TeacherTargets& teacher,
                            const CrossEntropyOptions& options, index logits_at_once) {
  using T = Computed<X>;
  const index rows = x.shape().with_cols(1).rows();  // x may have no columns
  const index width = x.shape().cols(), classes = weight.shape()[0];
  const index of_all = rows_of_chunk(rows, most_rows_of_chunk(classes, logits_at_once));
  const ScoredRows<X> scored = scored_rows<X>(tape, goal, teacher, rows, std::min(of_all, rows), width);
  const index chunk = rows_of_chunk(scored.count, of_all);
  const index last = scored.count == 0 ? 0 : (scored.count - 1) / chunk * chunk;
  kernels::LinearCrossEntropy<X> all{.rows = std::min(chunk, scored.count),
                                     .width = width,
                                     .classes = classes,
                                     .x = x.data<X>(),
                                     .weight = weight.is_packed() ? nullptr : weight.data<T>(),
                                     .packed_weight = weight.packed(),
                                     .targets = scored.targets,
                                     .weights = scored.weights,
                                     .normalizer = goal.normalizer,
                                     .label_smoothing = options.label_smoothing,
                                     .teacher = scored.teacher,
                                     .softcap = options.softcap,
                                     .keep = tape.recording() && (x.needs_gradient() || weight.needs_gradient()),
                                     .losses = tape.save<T>(scored.count),
                                     .dloss = 1};
  all.work = tape.save<T>(kernels::linear_cross_entropy_work(all));
  // The gradients of all chunks but the last wait for backward, unless they go to a parameter's slab.
  const bool before_last = all.keep && last > 0;
  X* const dx = before_last && x.needs_gradient() ? tape.save<X>(last * width) : nullptr;
  const bool has_dweight = before_last && weight.needs_gradient();
  const bool in_slab = has_dweight && options.is_root && weight.record()->parameter != nullptr;
  T* const dweight = has_dweight && !in_slab ? tape.save<T>(classes * width) : nullptr;
  const Tensor y = tape.make(Shape{}, kDType<T>);
  return {x, weight, y, options.is_root, rows, scored, chunk, last, all, dx, dweight, in_slab};
}

}  // namespace

Tensor cross_entropy(Tensor logits, Tensor targets, const CrossEntropyOptions& options) {
  if (logits.dtype() == DType::bf16) {
    return cross_entropy(widened(logits), targets, options);
  }
  return for_float(logits.dtype(), "cross_entropy", [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(Op::cross_entropy, {logits}, {targets, options.weights, options.class_weights});
    // Check shapes and options, and take memory for the backward pass.
    require(logits.shape().rank() >= 1, "cross_entropy: logits are a scalar, expected (..., V)");
    const index rows = logits.shape().rows();
    const index cols = logits.shape().cols();
    require(options.softcap == 0, "cross_entropy: softcap ", options.softcap, ", expected 0: linear_cross_entropy() has it");
    require(!options.teacher.ids, "cross_entropy: a teacher is given, which is not possible: linear_cross_entropy() has it");
    const Goal goal = goal_of(Op::cross_entropy, tape, rows, cols, targets, options);
    T* tops = tape.save<T>(rows);
    T* sums = tape.save<T>(rows);
    T* losses = tape.save<T>(rows);
    const Tensor y = tape.make(Shape{}, logits.dtype());
    const kernels::CrossEntropy<T> problem{.rows = rows,
                                           .cols = cols,
                                           .logits = logits.data<T>(),
                                           .targets = goal.targets,
                                           .weights = goal.weights,
                                           .normalizer = goal.normalizer,
                                           .label_smoothing = options.label_smoothing,
                                           .tops = tops,
                                           .sums = sums,
                                           .losses = losses};
    // Sum the rows' losses.
    kernels::cross_entropy_forward(problem);
    *y.mutable_data<T>() = kernels::sum(rows, losses);
    tell_terms<T>(losses, {.count = rows}, rows, options.terms);
    tape.record({logits}, {y}, cost_of({logits}, {y}), [=](Gradients& g) {
      auto backward = problem;
      backward.dloss = *g.of<T>(y);
      backward.dlogits = g.into<T>(logits);
      kernels::cross_entropy_backward(backward);
    });
    return y;
  });
}

Tensor linear_cross_entropy(Tensor x, Tensor weight, Tensor targets, const CrossEntropyOptions& options, index logits_at_once) {
  return for_stored(x.dtype(), "linear_cross_entropy", [&](auto zero) {
    using X = decltype(zero);
    Tape& tape = begin_product(Op::linear_cross_entropy, x, {weight},
                               {targets, options.weights, options.class_weights, options.teacher.ids, options.teacher.probabilities});
    // Check shapes and options.
    require(x.shape().rank() >= 1 && weight.shape().rank() == 2 && weight.shape()[1] == x.shape().cols(), "linear_cross_entropy: x is ",
            x.shape(), " and weight ", weight.shape(), ", expected (..., C) and (V, C)");
    const index rows = x.shape().with_cols(1).rows();  // x may have no columns
    const index classes = weight.shape()[0];
    require(0 <= options.softcap && options.softcap <= kernels::kMostSoftcap, "linear_cross_entropy: softcap ", options.softcap,
            ", expected 0 to ", kernels::kMostSoftcap);
    const Goal goal = goal_of(Op::linear_cross_entropy, tape, rows, classes, targets, options);
    const kernels::TeacherTargets teacher = teacher_of(rows, classes, goal, options);
    // With few classes, compute all logits at once: the weight is small, and reading it once saves nothing.
    constexpr index kFewClasses = 1024;
    if (teacher.top == 0 && classes <= kFewClasses && rows * classes <= logits_at_once) {
      auto without_cap = options;
      without_cap.softcap = 0;
      return cross_entropy(softcap(linear(x, weight, {}, {.dtype = kDType<Computed<X>>}), options.softcap), targets, without_cap);
    }
    const auto head = chunked_head<X>(tape, x, weight, goal, teacher, options, logits_at_once);
    head.forward(tape, options.terms);
    tape.record({x, weight}, {head.y}, head.cost(), [head](Gradients& g) { head.backward(g); });
    return head.y;
  });
}

}  // namespace dikkat
