#include "train/system/pipeline.h"

#include <algorithm>
#include <exception>
#include <vector>

#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <tbb/parallel_pipeline.h>

#include "train/system/handover.h"

namespace dikkat {

void run_tasks(index count, const std::function<void(index)>& task) {
  std::vector<std::exception_ptr> failures(static_cast<std::size_t>(count));
  const auto run_one = [&](index i) {
    try {
      task(i);
    } catch (...) {
      failures[static_cast<std::size_t>(i)] = std::current_exception();
    }
  };
  {
    Handover begun, ended;
    const AcquireAtEnd done(ended);
    begun.release();
    tbb::parallel_for(index{0}, count, between(begun, ended, run_one));
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) {
      std::rethrow_exception(failure);
    }
  }
}

void run_tasks(index count, index block, const std::function<void(index)>& task) {
  run_tasks(ceil_div(count, block), [&](index number) {
    for (index i = number * block; i < std::min(count, (number + 1) * block); ++i) {
      task(i);
    }
  });
}

void run_pipeline(const std::function<std::shared_ptr<void>()>& read,
                  const std::function<std::shared_ptr<void>(std::shared_ptr<void>)>& work,
                  const std::function<void(std::shared_ptr<void>)>& take) {
  struct Item {
    std::shared_ptr<void> value;
    std::exception_ptr failure;
  };
  // Failures travel with the items, so that the earliest one is rethrown.
  bool ended = false;
  const auto read_item = [&](tbb::flow_control& control) {
    Item item;
    try {
      item.value = ended ? nullptr : read();
    } catch (...) {
      item.failure = std::current_exception();
    }
    ended = ended || item.value == nullptr;
    if (item.value == nullptr && !item.failure) {
      control.stop();
    }
    return item;
  };
  // Work on an item, unless reading it failed.
  const auto work_on = [&](Item item) {
    if (!item.failure) {
      try {
        item.value = work(std::move(item.value));
      } catch (...) {
        item.failure = std::current_exception();
      }
    }
    return item;
  };
  // Take the results in order; the first failure ends the pipeline.
  const auto take_item = [&](const Item& item) {
    if (item.failure) {
      std::rethrow_exception(item.failure);
    }
    take(item.value);
  };
  // Run the filters, with two items in flight for each core.
  Handover items_read, items_done, items_taken;
  const AcquireAtEnd read_all(items_read), done_all(items_done), taken_all(items_taken);
  items_read.release();
  using Mode = tbb::filter_mode;
  tbb::parallel_pipeline(2 * static_cast<std::size_t>(tbb::info::default_concurrency()),
                         tbb::make_filter<void, Item>(Mode::serial_in_order, between(items_read, items_read, read_item)) &
                             tbb::make_filter<Item, Item>(Mode::parallel, between(items_read, items_done, work_on)) &
                             tbb::make_filter<Item, void>(Mode::serial_in_order,
                                                          between(items_taken, items_taken, between(items_done, items_taken, take_item))));
}

}  // namespace dikkat
