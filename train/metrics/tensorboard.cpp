#include "train/metrics/tensorboard.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace dikkat {
namespace {

/// Computes the CRC-32C (Castagnoli, reflected).
std::uint32_t crc32c(std::string_view bytes) {
  static const std::array<std::uint32_t, 256> table = [] {
    constexpr std::uint32_t kPolynomial = 0x82F63B78;
    std::array<std::uint32_t, 256> remainders{};
    for (std::uint32_t byte = 0; byte < remainders.size(); ++byte) {
      std::uint32_t rest = byte;
      for (int bit = 0; bit < 8; ++bit) {
        rest = (rest >> 1) ^ ((rest & 1) != 0 ? kPolynomial : 0);
      }
      remainders[byte] = rest;
    }
    return remainders;
  }();
  std::uint32_t crc = ~0U;
  for (const char byte : bytes) {
    crc = table[(crc ^ static_cast<unsigned char>(byte)) & 0xFF] ^ (crc >> 8);
  }
  return ~crc;
}

/// Returns the checksum as TFRecord masks it, because the CRC of data that contains CRCs is weak.
std::uint32_t masked_crc(std::string_view bytes) { return std::rotr(crc32c(bytes), 15) + 0xA282EAD8; }

/// Returns the bytes of a number. TFRecord and protobuf are little-endian, and so is every processor that this program runs on.
template <class Number>
std::string bytes_of(Number value) {
  static_assert(std::endian::native == std::endian::little);
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

void append_record(std::string& file, std::string_view data) {
  const std::string length = bytes_of(std::uint64_t{data.size()});
  file += length;
  file += bytes_of(masked_crc(length));
  file += data;
  file += bytes_of(masked_crc(data));
}

// A protobuf field is a key (the field's number and the encoding of its value) and the value.
enum class Wire : unsigned { varint = 0, eight_bytes = 1, length = 2, four_bytes = 5 };

std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) {
    bytes += static_cast<char>((value & 0x7F) | 0x80);
  }
  return bytes += static_cast<char>(value);
}

std::string key(unsigned field, Wire wire) { return varint(std::uint64_t{field} << 3 | static_cast<unsigned>(wire)); }
std::string text_field(unsigned field, std::string_view text) { return key(field, Wire::length) + varint(text.size()) + std::string(text); }

/// Encodes an Event with a time, a step and one more field.
std::string event(double time, index step, const std::string& content) {
  constexpr unsigned kTime = 1, kStep = 2;
  return key(kTime, Wire::eight_bytes) + bytes_of(time) + key(kStep, Wire::varint) + varint(static_cast<std::uint64_t>(step)) + content;
}

/// Encodes the field `summary` of an Event: a Summary with one Value.
std::string scalar(std::string_view tag, double value) {
  constexpr unsigned kSummary = 5, kValue = 1, kTag = 1, kSimpleValue = 2;
  const std::string inner = text_field(kTag, tag) + key(kSimpleValue, Wire::four_bytes) + bytes_of(static_cast<float>(value));
  return text_field(kSummary, text_field(kValue, inner));
}

}  // namespace

std::string to_tensorboard(const RunHistory& history) {
  // The first record has the version of the format.
  constexpr unsigned kFileVersion = 3;
  const double begin = !history.steps.empty()         ? history.steps.front().time
                       : !history.evaluations.empty() ? history.evaluations.front().time
                                                      : 0;
  std::string file;
  append_record(file, event(begin, 0, text_field(kFileVersion, "brain.Event:2")));
  // Steps and evaluations follow in the order of their steps.
  const auto add = [&](double time, index step, std::string_view tag, double value) {
    if (std::isfinite(value)) {
      append_record(file, event(time, step, scalar(tag, value)));
    }
  };
  auto evaluation = history.evaluations.begin();
  const auto add_evaluation = [&] {
    add(evaluation->time, evaluation->report.step, "loss/validation", evaluation->report.val_loss);
    add(evaluation->time, evaluation->report.step, "loss/train_evaluated", evaluation->report.train_loss);
    for (const NamedLoss& one : evaluation->report.losses) {
      add(evaluation->time, evaluation->report.step, "loss_of/" + one.name, one.loss);
    }
    ++evaluation;
  };
  for (const RunHistory::Step& one : history.steps) {
    const StepReport& r = one.report;
    while (evaluation != history.evaluations.end() && evaluation->report.step < r.step) {
      add_evaluation();
    }
    add(one.time, r.step, "loss/train", r.loss);
    add(one.time, r.step, "grad_norm", r.gradient_norm);
    add(one.time, r.step, "learning_rate", r.learning_rate);
    add(one.time, r.step, "tokens_per_s", r.tokens_per_second());
    add(one.time, r.step, "mfu", r.mfu);
  }
  while (evaluation != history.evaluations.end()) {
    add_evaluation();
  }
  return file;
}

}  // namespace dikkat
