#include "train/cli/with_ranks.h"

#include "autograd/base/error.h"
#include "train/cli/streams.h"
#include "train/loop/trainer.h"
#include "train/parallel/launcher.h"

namespace dikkat {

int with_ranks(const std::function<int(std::shared_ptr<Ranks>)>& command) {
  constexpr int kFailure = 1, kBadInput = 2;
  constexpr double kSecondsToStart = 120;
  std::unique_ptr<Engine> engine = connect_ranks();
  if (!engine) {
    return command(nullptr);
  }
  const auto ranks = std::make_shared<Ranks>(std::move(engine), kSecondsToStart);
  if (!ranks->is_first()) {
    be_quiet();
  }
  const auto say = [&](const std::exception& failure) {
    warn(concat("dikkat: ", ranks->is_first() ? "" : ranks->name_of(ranks->rank()) + ": ", failure.what()));
  };
  try {
    return command(ranks);
  } catch (const EndedByFirst& end) {
    return end.is_input_error() ? kBadInput : kFailure;
  } catch (const Agreed& failure) {  // all ranks know, and end in order
    say(failure);
    return failure.is_input_error() ? kBadInput : kFailure;
  } catch (const Diverged& failure) {
    say(failure);
    return kFailure;
  } catch (const std::exception& failure) {
    say(failure);
    const int code = dynamic_cast<const InputError*>(&failure) != nullptr ? kBadInput : kFailure;
    ranks->engine()->abort(code);
    return code;
  }
}

}  // namespace dikkat
