#include "train/web/serve/job_runner.h"

#include <algorithm>
#include <new>
#include <utility>

#include "autograd/base/error.h"

namespace dikkat::serve {
namespace {

constexpr auto kIdleMoment = std::chrono::milliseconds(100);  // time between checks whether to stop, while idle

}  // namespace

JobRunner::JobRunner(const Gpt& model, JobQueue& queue, Options options)
    : model_(model),
      queue_(queue),
      options_(std::move(options)),
      metrics_(options_.metrics != nullptr ? *options_.metrics : own_metrics_),
      scheduler_(std::make_unique<Scheduler>(model_, options_.scheduler)) {}

void JobRunner::run(const std::function<bool()>& stop) {
  std::optional<Clock::time_point> deadline;  // set after `stop` has returned true
  while (!deadline || (!active_.empty() && Clock::now() < *deadline)) {
    if (!deadline && stop()) {
      queue_.close();
      deadline = Clock::now() + options_.grace;
      if (!active_.empty() && options_.grace > options_.grace.zero() && options_.log) {
        options_.log(concat("stopping: running answers have ", std::chrono::duration<double>(options_.grace).count(),
                            " s to end; another signal ends the server at once"));
      }
      continue;
    }
    begin_choices();
    end_canceled();
    if (options_.other_work) {
      options_.other_work();
    }
    if (!scheduler_->is_idle()) {
      step();
    }
  }
  fail_all(server_ends());
}

/// Begins choices while there are free streams.
void JobRunner::begin_choices() {
  while (has_free_stream()) {
    const std::shared_ptr<Active> active = next_active();
    if (active == nullptr) {
      return;
    }
    try {
      active->samples.reserve(active->samples.size() + 1);  // after this, drop() knows all added samples
      const index choice = active->next++;
      const index number = scheduler_->add(active->answer.sample(choice));
      active->samples.push_back(number);
      choices_.emplace(number, Choice{active, choice});
    } catch (const std::exception&) {
      fail(*active->job, error_of_answer());
      drop(*active);
    }
  }
}

/// Returns the job whose choice begins next; nullptr if there is none. Waits a moment for one if there is nothing else to do.
std::shared_ptr<JobRunner::Active> JobRunner::next_active() {
  std::shared_ptr<Active> fewest;
  for (const std::shared_ptr<Active>& one : active_) {
    if (one->has_next() && (fewest == nullptr || one->samples.size() < fewest->samples.size())) {
      fewest = one;
    }
  }
  if (fewest != nullptr && fewest->samples.empty()) {
    return fewest;
  }
  const bool is_idle = scheduler_->is_idle() && fewest == nullptr;
  while (const std::shared_ptr<Job> job = queue_.take(is_idle ? kIdleMoment : kIdleMoment.zero())) {
    if (auto active = begin(job)) {
      return active;
    }
  }
  return fewest;
}

/// Returns nullptr for a job that fails at once.
std::shared_ptr<JobRunner::Active> JobRunner::begin(const std::shared_ptr<Job>& job) {
  try {
    job->begin();
    metrics_.begin_answer(job->usage().prompt * job->request().options.num_samples);
    return active_.emplace_back(std::make_shared<Active>(Active{.job = job, .answer = Answer(*job)}));
  } catch (const std::exception&) {
    fail(*job, error_of_answer());
    return nullptr;
  }
}

void JobRunner::end_canceled() {
  for (const std::shared_ptr<Active>& active : std::vector(active_)) {
    if (active->job->is_canceled()) {
      metrics_.end_answer(active->job->age());
      drop(*active);
    }
  }
}

/// Ends the samples of a job that receives no more pieces, and ignores their events.
void JobRunner::drop(Active& active) {
  active.is_dropped = true;
  for (const index number : active.samples) {
    scheduler_->end(number, Ending::stop);
  }
  leave(active);
}

void JobRunner::leave(const Active& active) {
  std::erase_if(active_, [&](const auto& one) { return one.get() == &active; });
}

void JobRunner::step() {
  try {
    for (const Scheduler::Event& event : scheduler_->step()) {
      take(event);
    }
    const index cached = scheduler_->prompt_tokens_cached();
    metrics_.count_cached(cached - std::exchange(cached_, cached));
  } catch (const std::exception&) {  // the scheduler cannot continue
    fail_all(error_of_answer());
    scheduler_.reset();  // before the memory of the next one is allocated
    scheduler_ = std::make_unique<Scheduler>(model_, options_.scheduler);
    cached_ = 0;
  }
}

void JobRunner::take(const Scheduler::Event& event) {
  const auto found = choices_.find(event.number);
  if (found == choices_.end()) {
    return;
  }
  const Choice choice = found->second;
  Active& active = *choice.of;
  if (event.ending) {
    choices_.erase(found);
    std::erase(active.samples, event.number);
  }
  if (active.is_dropped) {
    return;
  }
  try {
    if (event.failure) {
      std::rethrow_exception(event.failure);
    }
    if (event.has_token()) {
      metrics_.count_token(active.job->generated() == 0 ? std::optional(active.job->age()) : std::nullopt);
    }
    const bool continues = active.answer.take(choice.choice, event);
    if (active.answer.is_over()) {
      end(*active.job);
      leave(active);
    } else if (!continues && !event.ending) {
      scheduler_->end(event.number, Ending::stop);
    }
  } catch (const std::exception&) {
    fail(*active.job, error_of_answer());
    drop(active);
  }
}

/// Fails all jobs that have begun.
void JobRunner::fail_all(const ApiError& error) {
  choices_.clear();
  for (const std::shared_ptr<Active>& active : std::exchange(active_, {})) {
    fail(*active->job, error);
  }
}

// Completes the metrics of an answer before its client sees the end.

void JobRunner::end(Job& job) {
  metrics_.end_answer(job.age());
  job.end();
}

void JobRunner::fail(Job& job, const ApiError& error) {
  metrics_.end_answer(job.age());
  job.fail(error);
}

ApiError error_of_answer() {
  try {
    throw;
  } catch (const ApiError& error) {
    return error;
  } catch (const Error& error) {
    return {500, error.what()};
  } catch (const std::bad_alloc&) {
    return {500, "the server has no memory left for this answer"};
  } catch (const std::exception&) {  // a library's message would mean nothing to a client
    return {500, "an error in the server; its owner should report it"};
  }
}

}  // namespace dikkat::serve
