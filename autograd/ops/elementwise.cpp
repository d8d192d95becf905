#include "autograd/ops/elementwise.h"

#include <algorithm>
#include <cstring>

#include "autograd/ops/broadcast_loops.h"
#include "autograd/ops/op.h"

namespace dikkat::detail {
namespace {

/// An elementwise op as its backward closure keeps it.
struct Kept {
  const char* name;
  const Tensor* x;
  std::size_t count;
  const FormulaLoops* loops;
  const void* formula;
};

Broadcast broadcast_of(const char* name, std::span<const Tensor> x, const Shape& also) {
  std::array<Shape, kMostOperands> shapes;
  require(x.size() <= kMostOperands, name, ": ", x.size(), " tensors, expected at most ", kMostOperands);
  for (std::size_t i = 0; i < x.size(); ++i) {
    shapes[i] = x[i].shape();
  }
  return Broadcast(name, std::span(shapes).first(x.size()), also);
}

/// Returns whether no operand repeats, so that plain loops do.
bool have_shape(const Shape& shape, std::span<const Tensor> x) {
  return std::all_of(x.begin(), x.end(), [&](Tensor operand) { return operand.shape() == shape; });
}

template <class T>
BroadcastProblem problem_of(const Broadcast& broadcast, const Kept& kept) {
  BroadcastProblem problem{.broadcast = broadcast, .element = sizeof(T), .loops = *kept.loops, .formula = kept.formula};
  for (std::size_t i = 0; i < kept.count; ++i) {
    problem.x[i] = reinterpret_cast<const std::byte*>(kept.x[i].data<T>());
  }
  return problem;
}

template <class T>
void backward(const Kept& kept, Tensor y, Gradients& gradients) {
  const std::span x(kept.x, kept.count);
  // Plain loops are enough if no operand repeats.
  if (have_shape(y.shape(), x)) {
    std::array<GradOut<T>, kMostOperands> dx;
    for (std::size_t i = 0; i < x.size(); ++i) {
      dx[i] = gradients.into<T>(x[i]);
    }
    return run_whole_backward<T>(*kept.loops, kept.formula, x, y.size(), gradients.of<T>(y), dx);
  }
  // Find the gradients to write.
  const Broadcast broadcast = broadcast_of(kept.name, x, y.shape());
  const BroadcastProblem problem = problem_of<T>(broadcast, kept);
  const auto* const dy = reinterpret_cast<const std::byte*>(gradients.of<T>(y));
  std::array<GradOut<T>, kMostOperands> dx{};
  bool any_whole = false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    dx[i] = gradients.into<T>(x[i]);
    any_whole = any_whole || (dx[i] && !broadcast.repeats(static_cast<int>(i)));
  }
  // Make one pass for each set of axes along which operands repeat. The first one also writes the gradients of operands that do not repeat.
  std::array<bool, kMostOperands> done{};
  std::array<GradOut<T>, kMostOperands> now = dx;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!dx[i] || done[i] || !broadcast.repeats(static_cast<int>(i))) {
      continue;
    }
    std::array<int, kMostOperands> sums{};
    std::size_t count = 0;
    for (std::size_t j = i; j < x.size(); ++j) {
      if (dx[j] && !done[j] && broadcast.are_alike(static_cast<int>(i), static_cast<int>(j))) {
        sums[count++] = static_cast<int>(j);
        done[j] = true;
      }
    }
    run_backward<T>(problem, dy, std::span(sums).first(count), now);
    for (std::size_t j = 0; j < x.size(); ++j) {
      now[j] = broadcast.repeats(static_cast<int>(j)) ? dx[j] : GradOut<T>{};
    }
    any_whole = false;
  }
  // Write the gradients of operands that do not repeat, if no pass has.
  if (any_whole) {
    run_backward<T>(problem, dy, {}, now);
  }
}

}  // namespace

template <class T>
Tensor elementwise_forward(Tape& tape, const char* name, std::span<const Tensor> x, const Formula& formula, const Shape& also) {
  const Shape& first = x.front().shape();
  const DType result = formula.result(kDType<T>);
  const auto memory_of = [](Tensor y) { return static_cast<std::byte*>(y.record()->data); };
  if (x.size() <= kMostOperands && have_shape(first, x.subspan(1)) && (also.rank() == 0 || also == first)) {
    const Tensor y = tape.make(first, result);
    run_whole_forward<T>(formula.loops<T>(), formula.object, x, y.size(), memory_of(y));
    return y;
  }
  const Broadcast broadcast = broadcast_of(name, x, also);
  const Tensor y = tape.make(broadcast.shape(), result);
  run_forward(problem_of<T>(broadcast, {name, x.data(), x.size(), &formula.loops<T>(), formula.object}), memory_of(y));
  return y;
}
template Tensor elementwise_forward<float>(Tape&, const char*, std::span<const Tensor>, const Formula&, const Shape&);
template Tensor elementwise_forward<double>(Tape&, const char*, std::span<const Tensor>, const Formula&, const Shape&);
template Tensor elementwise_forward<bf16>(Tape&, const char*, std::span<const Tensor>, const Formula&, const Shape&);
template Tensor elementwise_forward<std::int32_t>(Tape&, const char*, std::span<const Tensor>, const Formula&, const Shape&);

template <class T>
void backward_of_one(const Formula& formula, Tensor x, const Shape& shape, const T* dy, GradOut<T> dx) {
  const Broadcast broadcast = broadcast_of("gradient", std::span(&x, 1), shape);
  const BroadcastProblem problem = problem_of<T>(broadcast, {"gradient", &x, 1, &formula.loops<T>(), formula.object});
  const int first = 0;
  const bool is_sum = broadcast.repeats(first);
  run_backward<T>(problem, reinterpret_cast<const std::byte*>(dy), is_sum ? std::span(&first, 1) : std::span<const int>(), {dx});
}
template void backward_of_one(const Formula&, Tensor, const Shape&, const float*, GradOut<float>);
template void backward_of_one(const Formula&, Tensor, const Shape&, const double*, GradOut<double>);
template void backward_of_one(const Formula&, Tensor, const Shape&, const bf16*, GradOut<bf16>);

Tensor elementwise(const char* name, std::span<const Tensor> x, const Formula& formula, const Shape& also) {
  if (x.front().dtype() == DType::i32 && formula.of_i32 != nullptr) {
    Tape& tape = begin_op(name, x);
    const Tensor y = elementwise_forward<std::int32_t>(tape, name, x, formula, also);
    end_without_gradient(tape, x, y);
    return y;
  }
  return for_stored(x.front().dtype(), name, [&](auto zero) {
    using T = decltype(zero);
    Tape& tape = begin_op(name, x);
    const Tensor y = elementwise_forward<T>(tape, name, x, formula, also);
    if (!tape.recording()) {
      tape.record(x, std::span(&y, 1), cost_of(x, std::span(&y, 1)), [](Gradients&) {});
      return y;
    }
    // Keep the operands and the formula with the tape.
    auto* const operands = tape.save<Tensor>(static_cast<index>(x.size()));
    std::copy(x.begin(), x.end(), operands);
    auto* const object = tape.save<std::max_align_t>(ceil_div(static_cast<index>(formula.bytes), index{sizeof(std::max_align_t)}));
    std::memcpy(object, formula.object, formula.bytes);
    const Kept kept{name, operands, x.size(), &formula.loops<T>(), object};
    tape.record(x, std::span(&y, 1), cost_of(x, std::span(&y, 1)), [kept, y](Gradients& gradients) { backward<T>(kept, y, gradients); });
    return y;
  });
}

}  // namespace dikkat::detail
