// Metrics in the formats of other programs, read by a reader that follows their specifications.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "train/metrics/csv.h"
#include "train/metrics/tensorboard.h"

namespace dikkat {
namespace {

RunHistory two_steps() {
  RunHistory history;
  history.steps.push_back({{.step = 1, .loss = 2.5, .gradient_norm = 0.5, .learning_rate = 1e-3, .tokens = 64, .seconds = 0.5}, 1000.25});
  history.evaluations.push_back(
      {{.step = 1, .train_loss = 2, .val_loss = 2.25, .val_standard_error = 0.125, .seconds = 1, .memory = 99}, 1001});
  history.steps.push_back(
      {{.step = 2, .loss = std::nan(""), .gradient_norm = 0.25, .learning_rate = 1e-3, .skipped = true, .tokens = 64, .seconds = 0.5},
       1002});
  history.evaluations.push_back({{.step = 3, .train_loss = 1, .val_loss = 1.5, .seconds = 1}, 1003});
  return history;
}

/// Computes the checksum bit by bit, as RFC 3720 defines it.
std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const char byte : bytes) {
    crc ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc >> 1) ^ ((crc & 1) * 0x82F63B78);
    }
  }
  return crc ^ 0xFFFFFFFF;
}

template <class Number>
Number take(std::string_view& bytes) {
  Number value{};
  EXPECT_GE(bytes.size(), sizeof value);
  std::memcpy(&value, bytes.data(), sizeof value);
  bytes.remove_prefix(sizeof value);
  return value;
}

std::uint32_t masked(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xA282EAD8; }

std::vector<std::string> records_of(std::string_view file) {
  std::vector<std::string> records;
  while (!file.empty()) {
    const std::string_view head = file.substr(0, 8);
    const auto size = take<std::uint64_t>(file);
    EXPECT_EQ(take<std::uint32_t>(file), masked(crc32c(head)));
    const std::string_view data = file.substr(0, size);
    file.remove_prefix(size);
    EXPECT_EQ(take<std::uint32_t>(file), masked(crc32c(data)));
    records.emplace_back(data);
  }
  return records;
}

std::uint64_t take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = take<std::uint8_t>(bytes);
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80) {
      return value;
    }
  }
}

/// The fields of a protobuf message: their bytes, by number.
std::map<int, std::string> fields_of(std::string_view message) {
  std::map<int, std::string> fields;
  while (!message.empty()) {
    const std::uint64_t key = take_varint(message);
    const std::uint64_t wire = key & 7;
    std::size_t size = wire == 1 ? 8 : wire == 5 ? 4 : 0;
    if (wire == 2) {
      size = take_varint(message);
    } else if (wire == 0) {
      const std::string_view rest = message;
      take_varint(message);
      fields[static_cast<int>(key >> 3)] = rest.substr(0, rest.size() - message.size());
      continue;
    }
    fields[static_cast<int>(key >> 3)] = message.substr(0, size);
    message.remove_prefix(size);
  }
  return fields;
}

TEST(Tensorboard, a_reader_of_event_files_finds_the_curves) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283) << "the check value of CRC-32C";
  const std::vector<std::string> records = records_of(to_tensorboard(two_steps()));
  ASSERT_FALSE(records.empty());
  EXPECT_EQ(fields_of(records[0])[3], "brain.Event:2");
  std::map<std::string, std::map<std::uint64_t, float>> curves;
  double time = 0;
  for (std::size_t i = 1; i < records.size(); ++i) {
    auto event = fields_of(records[i]);
    std::string_view wall = event[1], step = event[2];
    const auto at = take<double>(wall);
    EXPECT_GE(at, time);
    time = at;
    auto value = fields_of(fields_of(event[5])[1]);
    std::string_view number = value[2];
    curves[value[1]][take_varint(step)] = take<float>(number);
  }
  EXPECT_EQ(time, 1003);
  EXPECT_EQ(curves["loss/train"], (std::map<std::uint64_t, float>{{1, 2.5F}})) << "NaN is left out";
  EXPECT_EQ(curves["loss/validation"], (std::map<std::uint64_t, float>{{1, 2.25F}, {3, 1.5F}}));
  EXPECT_EQ(curves["grad_norm"], (std::map<std::uint64_t, float>{{1, 0.5F}, {2, 0.25F}}));
  EXPECT_EQ(curves["tokens_per_s"], (std::map<std::uint64_t, float>{{1, 128}, {2, 128}}));
}

TEST(Csv, has_separate_rows_for_steps_and_evaluations) {
  EXPECT_EQ(
      to_csv(two_steps()),
      "step,loss,grad_norm,learning_rate,skipped,tokens,ms,optimizer_ms,tokens_per_s,mfu,train_loss,val_loss,val_standard_error,eval_ms,"
      "memory,time\r\n"
      "1,2.5,0.5,0.001,0,64,500,0,128,,2,2.25,0.125,1000,99,1001\r\n"
      "2,,0.25,0.001,1,64,500,0,128,,,,,,,1002\r\n"
      "3,,,,,,,,,,1,1.5,,1000,,1003\r\n");
}

}  // namespace
}  // namespace dikkat
