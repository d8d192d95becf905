#pragma once

#include <concepts>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <type_traits>

#include "autograd/base/arena.h"
#include "autograd/base/buffer_pool.h"
#include "autograd/tape/cost.h"
#include "autograd/tape/gradients.h"
#include "autograd/tape/tensor.h"
#include "autograd/tape/tensor_records.h"

namespace dikkat {

/// The function that computes an op's gradients. It lives in the tape's arena and is never destroyed, so it must not own anything. It
/// captures Tensors, pointers into the arena and plain numbers.
template <class F>
concept BackwardClosure = std::invocable<F&, Gradients&> && std::is_trivially_copyable_v<F> && std::is_trivially_destructible_v<F>;

enum class Recording : bool { off, on };

/// The parts of a model, for reports by part. A model calls Tape::enter() before the ops of a part.
enum class Region : std::uint8_t { none, embedding, blocks, head };

/// One run of an op: its operands, results and cost.
struct OpRun {
  const char* op;  // its name
  Region region;
  std::span<const Tensor> inputs, outputs;
  OpCost cost;
};

/// Receives calls when ops run, for profiles. All calls come from the thread that uses the tape.
class TapeObserver {
 public:
  virtual ~TapeObserver() = default;
  /// Reports that the forward part of an op begins, or ends. An op that throws reports no end.
  virtual void forward_begins() = 0;
  virtual void forward_ends(const OpRun& run) = 0;
  /// Reports that the backward closure of an op begins.
  virtual void backward_begins() = 0;
  virtual void backward_ends(const OpRun& run) = 0;
};

/// Receives a call during backward when a parameter's gradient is complete: no further op of this pass adds to it. It is not called for
/// parameters that are used only in a recompute() whose outputs get no gradient. All calls come from the thread that uses the tape, between
/// ops.
class GradientWatcher {
 public:
  virtual ~GradientWatcher() = default;
  virtual void gradient_complete(ParameterGradient& gradient) = 0;
};

/// The record of a computation. Creation order is a topological order, so backward is one walk back over a list.
///
///   Tape tape;
///   Tensor loss = cross_entropy(linear(tape.input<float>({2, 8}, x), weight, bias), targets);
///   tape.backward(loss);   // the parameters' gradients are in their slab
///   tape.reset();          // every tensor of this tape is gone
class Tape {
 public:
  /// With Recording::off nothing needs a gradient and no closure is kept: for evaluation and sampling.
  explicit Tape(Recording recording = Recording::on)
      : arena_(recording == Recording::on ? "activation" : "inference"), recording_(recording), counts_uses_(recording == Recording::on) {}
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;
  ~Tape() {
    release_gradients();
    release_storage();
  }

  /// Returns whether ops are recorded: not with Recording::off, and not within NoGradient (tape/no_gradient.h).
  bool recording() const { return recording_ == Recording::on; }

  /// Returns a copy of `values`, whose number must be the shape's. With `needs_gradient`, gradient() returns dL/dx after backward; ids
  /// (i32) have none.
  template <class T>
  Tensor input(Shape shape, std::span<const T> values, bool needs_gradient = false) {
    return copy_in(shape, kDType<T>, values.data(), static_cast<index>(values.size()), needs_gradient);
  }

  template <class T>
  Tensor input(Shape shape, std::initializer_list<T> values, bool needs_gradient = false) {
    return input<T>(shape, std::span(values.begin(), values.size()), needs_gradient);
  }

  /// Returns a tensor without gradient that shows memory of the caller, which must not change until reset(). Nothing is copied.
  Tensor borrow(Shape shape, DType dtype, const void* data);

  /// Returns the parameter as a tensor of this tape, which needs no gradient if the tape does not record now. It is needed when no other
  /// operand of an op is on a tape.
  Tensor use(Tensor parameter);

  // For ops: name the op, make its outputs and what it saves, call the kernel, record.

  /// Names the next op, for error messages.
  void begin(const char* op) {
    op_ = op;
    if (observer_ != nullptr) {
      observer_->forward_begins();
    }
  }
  /// Returns a tensor of this tape, not initialized.
  Tensor make(Shape shape, DType dtype, Lifetime lifetime = Lifetime::until_reset);
  /// Releases x when an op has consumed it. If x has Lifetime::until_consumed, its memory becomes free and ops refuse x afterwards.
  void release(Tensor x);
  /// Returns a tensor that shows x's elements in another shape of the same size.
  Tensor view(Tensor x, Shape shape);
  /// Returns memory that lives until reset, not initialized.
  template <class T>
  T* save(index count) {
    return arena_.allocate<T>(count, op_);
  }

  /// Returns the place of a parameter's gradient, before backward: for an op whose result is the loss.
  template <class T>
  GradOut<T> gradient_now(Tensor parameter) {
    return Gradients(pool_).into<T>(parameter);
  }

  /// Keeps `backward` to be run when a gradient has flowed into one of the outputs; drops it if no input needs a gradient.
  /// `cost` is for observers; without it, a profile shows only the op's time.
  template <BackwardClosure F>
  void record(std::initializer_list<Tensor> inputs, std::initializer_list<Tensor> outputs, F backward) {
    record(inputs, outputs, OpCost{}, backward);
  }
  template <BackwardClosure F>
  void record(std::initializer_list<Tensor> inputs, std::initializer_list<Tensor> outputs, const OpCost& cost, F backward) {
    record(std::span(inputs.begin(), inputs.size()), std::span(outputs.begin(), outputs.size()), cost, backward);
  }
  template <BackwardClosure F>
  void record(std::span<const Tensor> inputs, std::span<const Tensor> outputs, const OpCost& cost, F backward) {
    const OpRun run{op_, region_, inputs, outputs, cost};
    if (begin_node(run)) {
      F* kept = new (arena_.allocate(sizeof(F), op_, alignof(F))) F(backward);
      end_node(run, kept, [](void* closure, Gradients& gradients) { (*static_cast<F*>(closure))(gradients); });
    }
  }

  /// Calls `observer` for every later op; null ends that. It must outlive its use.
  void observe(TapeObserver* observer) { observer_ = observer; }
  bool observed() const { return observer_ != nullptr; }
  /// Calls `watcher` during later backward passes; null ends that. It must outlive its use.
  void watch_gradients(GradientWatcher* watcher) { watcher_ = watcher; }

  /// Marks the part of a model to which the next ops belong, until the next call or reset().
  void enter(Region region) { region_ = region; }

  /// Computes the derivatives of a scalar. Gradients of intermediate results are freed as soon as they have been used. Call it once between
  /// two reset(). Throws Error when y is not a scalar, when nothing that y depends on needs a gradient, or when called a second time.
  ///
  /// There are no derivatives of gradients. A gradient is an array, and a tensor that is made of it is a constant. A backward closure that
  /// records an op on tensors that need gradients throws Error.
  void backward(Tensor y);
  /// Computes the derivatives of <dy, y>; dy has y's shape and type.
  void backward(Tensor y, Tensor dy);

  /// Returns, after backward, dL/dx of an input that needs a gradient, or of a parameter; null if none arrived. A parameter's is the sum
  /// since its store's clear_gradients(). Throws Error for any other tensor, and when T is not the element type.
  template <class T>
  const T* gradient(Tensor x) const {
    return static_cast<const T*>(gradient_of(x, kDType<T>));
  }

  /// Forgets every tensor. One that is used afterwards throws Error.
  void reset();
  /// Maps as much memory as `like` has used, before a first step of the same size. Throws Error if the system has not enough.
  void reserve(const Tape& like);
  /// Makes a later step that needs more memory throw Error, which names the op. Call it after the largest step.
  void freeze();

  /// Returns the highest number of bytes so far of activations and closures, or of their gradients.
  std::size_t activation_bytes() const { return arena_.peak() + (inner_ ? inner_->activation_bytes() : 0); }
  std::size_t gradient_bytes() const { return pool_.capacity(); }
  /// Returns the part of activation_bytes() that holds recomputed activations (recompute()).
  std::size_t recomputation_bytes() const { return inner_ ? inner_->activation_bytes() : 0; }

 private:
  friend class Recomputation;
  friend class NoGradient;

  struct Node {
    Node* previous = nullptr;
    void (*run)(void* closure, Gradients&) = nullptr;
    void* closure = nullptr;
    OpRun about;
  };
  struct Leaf {
    Leaf* previous = nullptr;
    Tensor tensor;
  };

  /// Makes the inner tape, for recompute(). Its gradients come from `pool`.
  explicit Tape(BufferPool& pool) : arena_("recomputed activation"), pool_(pool), recording_(Recording::off) {}

  void keep_gradient(Tensor leaf);
  const void* gradient_of(Tensor x, DType asked) const;
  Tensor copy_in(Shape shape, DType dtype, const void* values, index count, bool needs_gradient);
  TensorRecord* new_record(Shape shape, DType dtype);
  bool begin_node(const OpRun& run);
  void end_uses(std::span<const Tensor> inputs);
  void end_node(const OpRun& about, void* closure, void (*run)(void*, Gradients&));
  std::span<const Tensor> keep(std::span<const Tensor> tensors);
  void run_backward(Tensor y, Buffer* dy);
  void run_nodes();
  void release_gradient(Tensor t) noexcept;
  /// Releases the gradients of nodes that have not run, and of inputs.
  void release_gradients() noexcept;
  void release_storage() noexcept;
  /// Does what reset() does, but allocates nothing, so that destructors can call it.
  void forget() noexcept;

  Arena arena_;
  TensorRecords records_;
  BufferPool own_pool_;
  BufferPool& pool_ = own_pool_;
  std::unique_ptr<Tape> inner_;
  Recording recording_;
  bool counts_uses_ = false;  // whether it counts uses of parameters (ParameterGradient::uses); with recompute(), its first run does
  const char* op_ = "tape";
  TapeObserver* observer_ = nullptr;
  GradientWatcher* watcher_ = nullptr;
  Region region_ = Region::none;
  Node* last_ = nullptr;
  bool spent_ = false;       // backward has run
  bool in_closure_ = false;  // a backward closure runs
  Leaf* leaves_ = nullptr;   // inputs that need gradients, which are kept until reset
  Leaf* stored_ = nullptr;   // tensors with Lifetime::until_consumed
};

}  // namespace dikkat
