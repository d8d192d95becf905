#include "train/data/samples/prefetcher.h"

#include <array>
#include <exception>
#include <utility>

#include <tbb/task_group.h>

#include "autograd/base/error.h"
#include "train/system/handover.h"

namespace dikkat {

struct Prefetcher::State {
  const Loader& loader;
  index first_of_step;      // the first sample of the step after `step`
  index next = 0, end = 0;  // the range of samples of the part of `step` that are still to come
  index batch_size;
  std::function<index()> next_step_batches;
  Part part;
  Loader::Step step;
  Batch in_use;
  Batch in_work;
  std::exception_ptr failure;  // the task's exception; it is kept, so that a caller never gets a stale batch
  Handover begun, ended;
  tbb::task_group task;

  State(const Loader& from, index first_sample, index size, std::function<index()> step_batches, Part own)
      : loader(from), first_of_step(first_sample), batch_size(size), next_step_batches(std::move(step_batches)), part(own) {}
  ~State() { wait(); }

  void wait() {
    task.wait();
    ended.acquire();
  }

  void start() {
    const auto fill = [this] {
      try {
        if (next == end) {
          const index batches = next_step_batches();
          step = loader.step({first_of_step, batch_size * batches});
          first_of_step += batch_size * batches;
          const index of_part = batches / part.of * batch_size;
          next = step.samples.first + part.number * of_part;
          end = next + of_part;
        }
        loader.fill({next, batch_size}, step, in_work);
        next += batch_size;
      } catch (...) {
        failure = std::current_exception();
      }
    };
    begun.release();
    task.run(between(begun, ended, fill));
  }
};

Prefetcher::Prefetcher(const Loader& loader, index first_sample, index batch_size, index step_batches)
    : Prefetcher(loader, first_sample, batch_size, [step_batches] { return step_batches; }) {
  require(step_batches >= 1, "prefetcher: steps of ", step_batches, " batches, expected 1 or more");
}

Prefetcher::Prefetcher(const Loader& loader, index first_sample, index batch_size, std::function<index()> next_step_batches, Part part)
    : state_(std::make_unique<State>(loader, first_sample, batch_size, std::move(next_step_batches), part)) {
  require(first_sample >= 0 && batch_size >= 1, "prefetcher: batches of ", batch_size, " from sample ", first_sample,
          ", expected 1 or more from sample 0 or later");
  state_->start();
}

Prefetcher::~Prefetcher() = default;

const Batch& Prefetcher::next() {
  State& state = *state_;
  state.wait();
  if (state.failure) {
    std::rethrow_exception(state.failure);
  }
  std::swap(state.in_use, state.in_work);
  state.start();
  return state.in_use;
}

}  // namespace dikkat
