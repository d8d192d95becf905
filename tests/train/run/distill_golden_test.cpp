// Compares a teacher's records and twenty steps of a student with plain PyTorch's float64 results (tests/golden/make_distill_fixture.py).

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "optim/adamw.h"
#include "tests/golden/json_fixture.h"
#include "train/run/teach.h"

namespace dikkat {
namespace {

using Json = nlohmann::json;

const Json& distill_fixture() {
  static const Json all = testing::json_fixture("distill.json");
  return all;
}

/// The model with the weights of `name`.
class GoldenModel {
 public:
  explicit GoldenModel(const char* name)
      : model(testing::golden_config(distill_fixture()["config"]), distill_fixture()["config"]["vocab_size"].get<index>()) {
    model.parameters().allocate(1);
    for (ParameterStore::Entry* entry : model.parameters().entries()) {
      testing::load_golden(*entry, distill_fixture()[name]);
    }
  }

  LanguageModel model;
};

/// The fixture's rows, all of whose targets are scored.
class GoldenRows : public Samples {
 public:
  index count() const override { return std::ssize(rows()); }
  RowLengths lengths(index) const override { return longest(); }
  RowLengths longest() const override { return {.cols = std::ssize(rows()[0]) - 1}; }
  double target_weight(index) const override { return static_cast<double>(longest().cols); }
  void fill(index, index sample, index row, Batch& batch) const override {
    const auto tokens = rows()[static_cast<std::size_t>(sample)].get<std::vector<Token>>();
    const index cols = longest().cols;
    std::copy(tokens.begin(), tokens.end() - 1, batch.inputs.begin() + row * cols);
    std::copy(tokens.begin() + 1, tokens.end(), batch.targets.begin() + row * cols);
    std::fill_n(batch.weights.begin() + row * cols, cols, 1.0F);
    std::iota(batch.numbers.begin() + row * cols, batch.numbers.begin() + (row + 1) * cols, sample * cols);
    batch.target_weight += static_cast<double>(cols);
  }

 private:
  static const Json& rows() { return distill_fixture()["tokens"]; }
};

TEST(DistillGolden, TheTeacherIsThatOfPyTorch) {
  const Json& c = distill_fixture()["config"];
  const Json& records = distill_fixture()["records"];
  const GoldenModel teacher("teacher");
  const GoldenRows rows;
  TeacherHeader header{.top = c["top"], .temperatures = c["temperatures"], .targets = std::ssize(records), .vocab_size = c["vocab_size"]};
  TeacherPass pass(teacher.model, header, DType::f32);
  std::vector<std::byte> bytes;
  pass(rows, 0, 2, bytes);
  pass(rows, 2, 1, bytes);
  ASSERT_EQ(std::ssize(bytes), std::ssize(records) * header.record_bytes());
  const std::byte* at = bytes.data();
  for (const Json& expected : records) {
    const auto top = static_cast<std::size_t>(header.top);
    std::vector<std::uint16_t> ids(top), steps(top);
    std::vector<float> tails(header.temperatures.size());
    std::memcpy(ids.data(), at, 2 * top);
    std::memcpy(steps.data(), at + 2 * top, 2 * top);
    std::memcpy(tails.data(), at + 4 * top, 4 * tails.size());
    at += header.record_bytes();
    for (std::size_t j = 0; j < top; ++j) {
      EXPECT_EQ(ids[j], expected["ids"][j].get<int>());
      EXPECT_NEAR(-steps[j] / 2048.0, expected["log_probabilities"][j].get<double>(), 0.5 / 2048 + 1e-5);
    }
    for (std::size_t i = 0; i < tails.size(); ++i) {
      EXPECT_NEAR(tails[i], expected["tails"][i].get<double>(), 1e-5);
    }
  }
}

TEST(DistillGolden, TwentyStepsOfTheStudentAreThoseOfPyTorch) {
  constexpr double kTolerance = 1e-5;
  const Json& c = distill_fixture()["config"];
  const GoldenRows rows;
  Batch batch;
  batch.reshape(rows.count(), rows.longest());
  for (index row = 0; row < rows.count(); ++row) {
    rows.fill(0, row, row, batch);
  }
  for (const Json& expected : distill_fixture()["results"]) {
    const double share = expected["share"], temperature = expected["temperature"];
    SCOPED_TRACE(concat("share ", share, ", temperature ", temperature));
    // The teacher's bins at the temperature.
    std::vector<std::int32_t> ids;
    std::vector<float> probabilities;
    for (const Json& record : distill_fixture()["records"]) {
      std::vector<double> bins;
      for (const Json& log_probability : record["log_probabilities"]) {
        bins.push_back(std::exp(log_probability.get<double>() / temperature));
      }
      bins.push_back(std::exp(record["tails"][temperature == 1 ? 0 : 1].get<double>()));
      const double sum = std::accumulate(bins.begin(), bins.end(), 0.0);
      for (const double one : bins) {
        probabilities.push_back(static_cast<float>(one / sum));
      }
      for (const Json& id : record["ids"]) {
        ids.push_back(id);
      }
    }
    // The steps.
    GoldenModel student("student");
    AdamW adamw(student.model.parameters(), {.beta1 = c["beta1"], .beta2 = c["beta2"], .eps = c["eps"], .weight_decay = 0});
    Tape tape;
    const index top = c["top"], cols = rows.longest().cols;
    for (index step = 1; step <= std::ssize(expected["losses"]); ++step) {
      Pass pass{.tape = tape};
      const Teacher teacher{.ids = tape.input<std::int32_t>({batch.rows, cols, top}, ids),
                            .probabilities = tape.input<float>({batch.rows, cols, top + 1}, probabilities),
                            .share = share,
                            .temperature = temperature};
      const Tensor loss = student.model.loss(pass, batch, batch.target_weight, 0, nullptr, teacher);
      const double found = *loss.data<float>(), wanted = expected["losses"][static_cast<std::size_t>(step - 1)];
      tape.backward(loss);
      tape.reset();
      EXPECT_NEAR(found, wanted, kTolerance * std::max(1.0, std::abs(wanted))) << "step " << step;
      adamw.step(step, c["learning_rate"]);
    }
  }
}

}  // namespace
}  // namespace dikkat
