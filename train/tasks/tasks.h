#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "autograd/base/index.h"

namespace dikkat {

/// Calls task(i) for i = 0 to count - 1 on TBB's threads, in any order. When tasks throw, all others still run and the exception
/// of the first, by i, is thrown: what a person reads does not depend on the threads.
void run_tasks(index count, const std::function<void(index)>& task);

/// `read` is called by one thread at a time, until it gives null; `work` by many at once, on what was read; `take` by one at a time, on
/// what work gave, in the order of reading. Only a few are under way at a time. When one throws, the exception of the earliest is thrown.
void run_pipeline(const std::function<std::shared_ptr<void>()>& read,
                  const std::function<std::shared_ptr<void>(std::shared_ptr<void>)>& work,
                  const std::function<void(std::shared_ptr<void>)>& take);

/// The same, with types.
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
