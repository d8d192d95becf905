// Fuzzes the metrics.jsonl that a resumed run reads. It is never refused: lines that cannot be read are left out.

#include <cmath>

#include "tests/fuzz/fuzz.h"
#include "train/metrics/read_metrics.h"

namespace dikkat {

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = fuzz::text_of(data, size);
  const index last_step = fuzz::choice(input, 64);
  const KeptMetrics kept = keep_metrics(std::string(input), last_step);
  fuzz::hold(kept.text.empty() || kept.text.back() == '\n', "lines are whole");
  fuzz::hold(kept.text.size() <= input.size(), "nothing is made up");
  fuzz::hold(!kept.evaluation || (kept.evaluation->step == last_step && !std::isnan(kept.evaluation->val_loss)),
             "an evaluation has a loss");
  const KeptMetrics again = keep_metrics(kept.text, last_step);
  fuzz::hold(again.text == kept.text && again.evaluation.has_value() == kept.evaluation.has_value() &&
                 again.header.has_value() == kept.header.has_value(),
             "what was kept is kept again");
  return 0;
}

}  // namespace dikkat
