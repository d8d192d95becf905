#include "train/checkpoint/snapshot.h"

#include <bit>

namespace dikkat {

namespace {

void append_bits(std::string& out, const std::string& value) {
  append_to(out, value.size());
  out += ':';
  out += value;
}
void append_bits(std::string& out, double value) { append_to(out, std::bit_cast<std::uint64_t>(value)); }
void append_bits(std::string& out, std::integral auto value) { append_to(out, value); }

std::string bits_of(const TrainingState& state) {
  std::string bits;
  for_each_field(state, [&](const StateField&, const auto& value) {
    append_bits(bits, value);
    bits += '\n';
  });
  return bits;
}

}  // namespace

bool same_bits(const TrainingState& a, const TrainingState& b) { return bits_of(a) == bits_of(b); }

}  // namespace dikkat
