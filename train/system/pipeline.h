#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "autograd/base/index.h"

namespace dikkat {

/// Calls task(i) for i = 0 to count - 1 on TBB's threads, in any order. If tasks throw, the others still run, and the exception with the
/// lowest i is rethrown, so that error messages do not depend on the threads.
void run_tasks(index count, const std::function<void(index)>& task);
/// Calls task(i) as above, but `block` consecutive calls make one unit of work. Use it for short calls. If task(i) throws, the later calls
/// of its unit do not run.
void run_tasks(index count, index block, const std::function<void(index)>& task);

/// Runs a pipeline with only a few items in flight. One thread at a time calls `read`, until it returns null. Many threads at once call
/// `work` on the items. One thread at a time calls `take` on the results, in the order of reading. If several throw, the exception of the
/// earliest item is rethrown.
void run_pipeline(const std::function<std::shared_ptr<void>()>& read,
                  const std::function<std::shared_ptr<void>(std::shared_ptr<void>)>& work,
                  const std::function<void(std::shared_ptr<void>)>& take);

/// Runs a pipeline with typed items: `read` returns std::optional<In>, `work` takes an In and returns an Out, `take` takes an Out.
template <class In, class Out, class Read, class Work, class Take>
void run_pipeline(Read&& read, Work&& work, Take&& take) {
  run_pipeline(
      [&]() -> std::shared_ptr<void> {
        std::optional<In> in = read();
        return in ? std::make_shared<In>(std::move(*in)) : nullptr;
      },
      [&](std::shared_ptr<void> in) -> std::shared_ptr<void> {
        return std::make_shared<Out>(work(std::move(*std::static_pointer_cast<In>(in))));
      },
      [&](std::shared_ptr<void> out) { take(std::move(*std::static_pointer_cast<Out>(out))); });
}

}  // namespace dikkat
