#include "train/run/course.h"

#include "train/model/make_optimizer.h"

namespace dikkat {

Course::Course(const Config& config, const TrainingData& data, std::uint64_t seed)
    : loader(data.training(), seed), schedule(make_schedule(config.optim)), accumulation(config.train) {}

std::unique_ptr<Batches> Course::batches(const TrainingState& state, index batch_size, const Ranks& ranks) const {
  const auto passes_of_steps = [this, step = state.step]() mutable { return accumulation(step++); };
  return std::make_unique<Prefetcher>(loader, state.samples_seen, batch_size, passes_of_steps,
                                      Prefetcher::Part{.number = ranks.rank(), .of = ranks.size()});
}

}  // namespace dikkat
