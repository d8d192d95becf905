// A model of a program's own is saved and loaded with all its bits.
#include "train/library/checkpoint.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include "autograd/tape/no_gradient.h"
#include "layers/dropout.h"
#include "layers/linear.h"
#include "layers/norm.h"
#include "optim/adamw.h"
#include "optim/averaged.h"
#include "optim/clip.h"
#include "optim/muon.h"
#include "optim/sgd.h"
#include "tests/support/compare.h"
#include "tests/support/numbers.h"
#include "tests/support/temporary_folder.h"
#include "train/checkpoint/load.h"
#include "train/library/run_folder.h"
#include "train/metrics/run_history.h"
#include "train/model/trained_model.h"

namespace dikkat {
namespace {

using testing::converted;
using testing::error_of;
using testing::names;
using testing::numbers;
using testing::same_bits;

constexpr index kRows = 6, kWidth = 10;

struct Net {
  Linear up;
  Norm norm;
  Dropout drop;
  Linear down;

  explicit Net(const Scope& s, index hidden = 24)
      : up(s / "up", kWidth, hidden, true, 0.3), norm(s / "norm", hidden), drop(s / "drop", 0.2), down(s / "down", hidden, 3, true, 0.3) {}

  Tensor operator()(Pass& pass, Tensor x) const { return down(pass, drop(pass, norm(pass, gelu(up(pass, x))))); }
};

using MakeOptimizer = std::function<std::unique_ptr<Optimizer>(ParameterStore&)>;

/// A program that trains its own model, and counts what it has seen.
template <class T>
struct Program {
  ParameterStore parameters{kDType<T>};
  Net net{Scope(parameters)};
  std::unique_ptr<Optimizer> optimizer;
  std::vector<double> losses = std::vector<double>(12);
  float mean = 0.5F;
  std::int64_t seen = 0;

  explicit Program(const MakeOptimizer& make) {
    parameters.freeze("down.bias");
    parameters.allocate(4);
    optimizer = make(parameters);
  }

  void train(index from, index to) {
    Tape tape;
    for (index step = from; step < to; ++step) {
      Pass pass{.tape = tape, .training = true, .seed = 9, .step = static_cast<std::uint64_t>(step)};
      const auto x = converted<T>(numbers(kRows * kWidth, static_cast<std::uint64_t>(step)));
      const Tensor y = net(pass, tape.input<T>({kRows, kWidth}, x));
      const Tensor loss = mean_of_squares(y);
      tape.backward(loss);
      losses[static_cast<std::size_t>(step)] = static_cast<double>(*loss.data<T>());
      mean += 0.1F * (static_cast<float>(*loss.data<T>()) - mean);
      seen += kRows;
      tape.reset();
      optimizer->step(step + 1, 0.01, clip_factor(gradient_norm(parameters), 0.5));
    }
  }

  void save_to(const std::string& path, index step) {
    save(path, parameters, *optimizer, step, {{"losses", losses}, {"mean", mean}, {"seen", seen}});
  }
  index load_from(const std::string& path) {
    return load(path, parameters, *optimizer, {{"losses", losses}, {"mean", mean}, {"seen", seen}});
  }

  std::vector<T> weights() const {
    const T* first = parameters.weights<T>();
    return {first, first + parameters.slab_size()};
  }

 private:
  static Tensor mean_of_squares(Tensor y) { return dikkat::mean(multiply(y, y)); }
};

std::string contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

const std::vector<std::pair<std::string, MakeOptimizer>>& optimizers() {
  static const std::vector<std::pair<std::string, MakeOptimizer>> all = {
      {"adamw", [](ParameterStore& store) { return std::make_unique<AdamW>(store, AdamW::Options{}); }},
      {"sgd", [](ParameterStore& store) { return std::make_unique<Sgd>(store, Sgd::Options{.nesterov = true}); }},
      {"muon", [](ParameterStore& store) { return std::make_unique<Muon>(store, Muon::Options{}); }},
      {"normuon", [](ParameterStore& store) { return std::make_unique<Muon>(store, Muon::Options{.beta2 = 0.95}); }},
      {"averaged",
       [](ParameterStore& store) {
         auto optimizer = std::make_unique<Averaged>(std::make_unique<AdamW>(store, AdamW::Options{}), store, 0.9);
         optimizer->reserve();
         optimizer->start_average();
         return optimizer;
       }},
  };
  return all;
}

template <class T>
void check_resume(const std::string& name, const MakeOptimizer& make) {
  SCOPED_TRACE(name);
  const TemporaryFolder folder;
  Program<T> whole(make);
  whole.train(0, 12);
  whole.save_to(folder.path("whole.h5"), 12);
  for (const index stop : {0, 5, 11}) {
    const std::string file = folder.path(concat("new folder/", stop, ".h5"));
    {
      Program<T> first(make);
      first.train(0, stop);
      first.save_to(file, stop);
    }
    Program<T> second(make);
    second.train(0, 3);  // what it has learned is overwritten
    ASSERT_EQ(second.load_from(file), stop);
    second.train(stop, 12);
    EXPECT_TRUE(same_bits(second.weights(), whole.weights())) << stop;
    second.save_to(file, 12);
    EXPECT_TRUE(contents(file) == contents(folder.path("whole.h5"))) << stop;
  }
}

TEST(OwnModel, StoppedAndResumedHasTheBitsOfOneThatWasNot) {
  for (const auto& [name, make] : optimizers()) {
    check_resume<float>(name, make);
  }
  check_resume<double>("f64", optimizers()[0].second);
}

/// A small GAN with the losses of least squares (Mao et al., arXiv 1611.04076).
struct Gan {
  ParameterStore generator, critic;
  Linear make{Scope(generator) / "layer", 4, kWidth, true, 0.3};
  Linear judge{Scope(critic) / "layer", kWidth, 1, true, 0.3};  // a parameter of the same name
  std::optional<AdamW> of_generator, of_critic;
  std::int64_t seen = 0;

  Gan() {
    generator.allocate(1);
    critic.allocate(2);
    of_generator.emplace(generator, AdamW::Options{});
    of_critic.emplace(critic, AdamW::Options{.beta1 = 0.5});
  }

  void train(index from, index to) {
    Tape tape;
    for (index step = from; step < to; ++step) {
      const auto input = [&](index width, std::uint64_t seed) {
        return tape.input<float>({kRows, width}, numbers(kRows * width, 2 * static_cast<std::uint64_t>(step) + seed));
      };
      {
        Pass pass{.tape = tape};
        const Tensor real = judge(pass, input(kWidth, 0)), made = judge(pass, detach(make(pass, input(4, 1))));
        tape.backward(mean(square(real - 1) + square(made)));
        of_critic->step(step + 1, 0.01);
        tape.reset();
      }
      Pass pass{.tape = tape};
      tape.backward(mean(square(judge(pass, make(pass, input(4, 1))) - 1)));
      of_generator->step(step + 1, 0.01);
      critic.clear_gradients();
      tape.reset();
      seen += kRows;
    }
  }

  std::vector<NamedModel> models() { return {{"generator", generator, *of_generator}, {"critic", critic, *of_critic}}; }
  std::vector<float> weights() const {
    std::vector<float> all(generator.weights<float>(), generator.weights<float>() + generator.slab_size());
    all.insert(all.end(), critic.weights<float>(), critic.weights<float>() + critic.slab_size());
    return all;
  }
};

TEST(OwnModel, OfSeveralModelsIsStoppedAndResumedWithTheSameBits) {
  const TemporaryFolder folder;
  Gan whole;
  whole.train(0, 8);
  save(folder.path("whole.h5"), whole.models(), 8, {{"seen", whole.seen}});
  for (const index stop : {0, 3, 7}) {
    const std::string file = folder.path(concat(stop, ".h5"));
    {
      Gan first;
      first.train(0, stop);
      save(file, first.models(), stop, {{"seen", first.seen}});
    }
    Gan second;
    second.train(0, 2);                                                    // what it has learned is overwritten
    const NamedModel models[] = {second.models()[1], second.models()[0]};  // in any order
    ASSERT_EQ(load(file, models, {{"seen", second.seen}}), stop);
    second.train(stop, 8);
    EXPECT_TRUE(same_bits(second.weights(), whole.weights())) << stop;
    EXPECT_EQ(second.seen, whole.seen);
    save(file, second.models(), 8, {{"seen", second.seen}});
    EXPECT_TRUE(contents(file) == contents(folder.path("whole.h5"))) << stop;
  }
}

TEST(OwnModel, OfSeveralModelsContinuesInARunFolder) {
  const TemporaryFolder folder;
  Gan whole;
  whole.train(0, 6);
  for (const index end : {2, 4, 6}) {  // each time as a new program
    Gan gan;
    RunFolder run(folder / "run");
    const index first = run.resume(gan.models(), {{"seen", gan.seen}});
    ASSERT_EQ(first, end - 2);
    gan.train(first, end);
    run.log_step({.step = end, .loss = 1});
    run.save(gan.models(), end, {{"seen", gan.seen}});
    EXPECT_EQ(gan.seen, end * kRows);
    EXPECT_EQ(same_bits(gan.weights(), whole.weights()), end == 6);
  }
  EXPECT_EQ(read_history(folder / "run").header->parameters, 4 * kWidth + kWidth + kWidth + 1);
}

TEST(OwnModel, OfSeveralModelsGivesOneOfThem) {
  const TemporaryFolder folder;
  const std::string path = folder.path("gan.h5");
  Gan gan;
  gan.train(0, 3);
  save(path, gan.models(), 3);
  Gan other;
  EXPECT_EQ(load(path, other.generator, "generator"), 3);
  EXPECT_EQ(load(path, other.critic, "critic"), 3);
  EXPECT_TRUE(same_bits(other.weights(), gan.weights()));
  // Models that the file does not have, or has besides.
  const auto refusal = [&](auto&& attempt) { return error_of<InputError>(attempt); };
  EXPECT_TRUE(names(refusal([&] { load(path, other.generator, "critic"); }), {path, "model/critic.layer.weight", "[10, 4]", "[1, 10]"}));
  EXPECT_TRUE(names(refusal([&] { load(path, other.generator, "gen"); }), {path, "lacks model/gen.layer.weight"}));
  EXPECT_TRUE(names(refusal([&] { load(path, other.generator); }), {path, "lacks model/layer.weight", "has model/critic.layer.weight"}));
  const NamedModel one{"critic", other.critic, *other.of_critic};
  EXPECT_TRUE(names(refusal([&] { load(path, std::span(&one, 1)); }), {path, "has model/generator.layer.weight"}));
  EXPECT_TRUE(same_bits(other.weights(), gan.weights()));
  // Names that are not allowed.
  for (const char* name : {"", "a/b", "a.b"}) {
    const NamedModel odd{name, gan.critic, *gan.of_critic};
    EXPECT_TRUE(names(error_of([&] { save(path, std::span(&odd, 1), 3); }), {concat("'", name, "'")}));
  }
  const NamedModel alike[] = {{"a", gan.critic, *gan.of_critic}, {"a", gan.generator, *gan.of_generator}};
  EXPECT_TRUE(names(error_of([&] { save(path, alike, 3); }), {path, "model/a.layer."}));
  EXPECT_EQ(load(path, other.models()), 3) << "the file has not changed";
}

TEST(OwnModel, IsReplacedAndLeavesNothingBeside) {
  const TemporaryFolder folder;
  Program<float> program(optimizers()[0].second);
  for (index step = 0; step < 3; ++step) {
    program.train(step, step + 1);
    program.save_to(folder.path("mine.h5"), step + 1);
    EXPECT_EQ(CheckpointFile::open(folder.path("mine.h5")).state().step, step + 1);
  }
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    found.insert(entry.path().filename().string());
  }
  EXPECT_EQ(found, std::set<std::string>{"mine.h5"});
}

// A program that is killed while it saves leaves a temporary file. Later saves remove it, but not that of another program that saves now.
TEST(OwnModel, RemovesWhatKilledWritersLeft) {
  const TemporaryFolder folder;
  const auto leave = [&](const std::string& name, int hours) {
    folder.write(name, "half");
    std::filesystem::last_write_time(folder / name, std::filesystem::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  leave(".tmp-mine.h5-123456", 2);
  leave(".tmp-mine.h5-123456-2", 30);
  leave(concat(".tmp-mine.h5-", ::getpid()), 2);  // of a program with this process's id
  leave(".tmp-mine.h5-123457", 0);
  const int lock = ::open(folder.path(".tmp-mine.h5-123457").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(lock, LOCK_EX | LOCK_NB), 0);
  leave(".tmp-other.h5-123456", 2);
  leave(".tmp-mine.h5-notes", 2);
  Program<float> program(optimizers()[0].second);
  program.save_to(folder.path("mine.h5"), 1);
  EXPECT_EQ(CheckpointFile::open(folder.path("mine.h5")).state().step, 1);
  ::close(lock);
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    found.insert(entry.path().filename().string());
  }
  EXPECT_EQ(found, (std::set<std::string>{"mine.h5", ".tmp-mine.h5-123457", ".tmp-other.h5-123456", ".tmp-mine.h5-notes"}));
}

TEST(OwnModel, OfParametersOnlyIsLoadedFromEitherFile) {
  const TemporaryFolder folder;
  Program<float> program(optimizers()[0].second);
  program.train(0, 4);
  program.save_to(folder.path("whole.h5"), 4);
  save(folder.path("weights.h5"), program.parameters);
  for (const auto& [file, step] : {std::pair("whole.h5", 4), std::pair("weights.h5", 0)}) {
    Program<float> other(optimizers()[0].second);
    EXPECT_EQ(load(folder.path(file), other.parameters), step);
    EXPECT_TRUE(same_bits(other.weights(), program.weights())) << file;
  }
  EXPECT_TRUE(names(error_of<InputError>([&] { program.load_from(folder.path("weights.h5")); }), {"weights.h5", "optimizer"}));
}

TEST(OwnModel, KeepsArraysOfEveryType) {
  const TemporaryFolder folder;
  Program<float> program(optimizers()[0].second);
  const std::vector<float> f32 = {-0.0F, 1.5F, std::nanf("7")};
  const std::array<double, 2> f64 = {1e-310, -2};
  const std::vector<std::uint8_t> u8 = {0, 255};
  const std::int32_t i32[] = {-1, 2, 3, 4, 5, 6};
  const std::vector<std::int64_t> i64 = {INT64_MIN}, none;
  const std::uint64_t u64 = UINT64_MAX;
  const auto path = folder.path("mine.h5");
  save(path, program.parameters, *program.optimizer, 1,
       {{"f32", f32}, {"f64", f64}, {"u8", u8}, {"i32", Shape{2, 3}, i32}, {"i64", i64}, {"none", none}, {"u64", u64}});

  std::vector<float> f32_there(3);
  std::array<double, 2> f64_there{};
  std::vector<std::uint8_t> u8_there(2);
  std::int32_t i32_there[6] = {};
  std::vector<std::int64_t> i64_there(1), none_there;
  std::uint64_t u64_there = 0;
  load(path, program.parameters, *program.optimizer,
       {{"f32", f32_there},
        {"f64", f64_there},
        {"u8", u8_there},
        {"i32", Shape{2, 3}, i32_there},
        {"i64", i64_there},
        {"none", none_there},
        {"u64", u64_there}});
  EXPECT_TRUE(same_bits(f32_there, f32));
  EXPECT_EQ(f64_there, f64);
  EXPECT_EQ(u8_there, u8);
  EXPECT_TRUE(std::equal(std::begin(i32), std::end(i32), std::begin(i32_there)));
  EXPECT_EQ(i64_there, i64);
  EXPECT_EQ(u64_there, u64);
}

/// Calls `attempt`, which must refuse the file, and expects that it changes nothing of the program.
template <class T>
void expect_refused(Program<T>& program, const std::vector<std::string>& parts, const std::function<void()>& attempt) {
  const std::vector<T> weights = program.weights();
  const std::vector<double> losses = program.losses;
  EXPECT_TRUE(names(error_of<InputError>(attempt), parts));
  EXPECT_TRUE(same_bits(program.weights(), weights)) << parts.front();
  EXPECT_EQ(program.losses, losses);
}

TEST(OwnModel, ThatDoesNotFitIsRefusedByNameAndChangesNothing) {
  const TemporaryFolder folder;
  const auto path = folder.path("mine.h5");
  Program<float> program(optimizers()[0].second);
  program.train(0, 2);
  program.save_to(path, 2);

  // Another model: a parameter of another shape, one more, and one less.
  ParameterStore parameters;
  const Scope scope(parameters);
  const Linear up(scope / "up", kWidth, 25, true, 0.3), extra(scope / "extra", 3, 3, false, 0.1);
  const Norm norm(scope / "norm", 24);
  parameters.allocate(1);
  const std::vector<float> before(parameters.weights<float>(), parameters.weights<float>() + parameters.slab_size());
  const std::string message = error_of<InputError>([&] { load(path, parameters); });
  EXPECT_TRUE(names(message, {path, "model/up.weight f32 [24, 10]", "f32 [25, 10]", "lacks model/extra.weight f32 [3, 3]",
                              "has model/down.weight f32 [3, 24]"}));
  EXPECT_TRUE(same_bits(std::vector<float>(parameters.weights<float>(), parameters.weights<float>() + parameters.slab_size()), before));

  // Another element type, another optimizer, and other arrays.
  Program<double> wide(optimizers()[0].second);
  expect_refused(wide, {"model/up.weight f32", "f64 [24, 10]", "more"}, [&] { wide.load_from(path); });
  Program<float> sgd(optimizers()[1].second);
  expect_refused(sgd, {"optimizer/momentum/", "more"}, [&] { sgd.load_from(path); });
  const auto load_arrays = [&](std::initializer_list<LoadedArray> arrays) {
    return [&program, &path, list = std::vector<LoadedArray>(arrays)] { load(path, program.parameters, *program.optimizer, list); };
  };
  std::vector<double> longer(13);
  double wrong_type = 0;
  program.losses[3] = 7;
  const auto [losses, mean, seen] =
      std::tuple(LoadedArray("losses", program.losses), LoadedArray("mean", program.mean), LoadedArray("seen", program.seen));
  expect_refused(program, {"arrays/losses f64 [12]", "f64 [13]"}, load_arrays({{"losses", longer}, mean, seen}));
  expect_refused(program, {"arrays/mean f32 []", "f64 []"}, load_arrays({losses, {"mean", wrong_type}, seen}));
  expect_refused(program, {"has arrays/seen i64 []"}, load_arrays({losses, mean}));
  expect_refused(program, {"lacks arrays/more f64 []"}, load_arrays({losses, mean, seen, {"more", wrong_type}}));
  EXPECT_EQ(program.load_from(path), 2);
}

TEST(OwnModel, InADamagedFileIsRefused) {
  const TemporaryFolder folder;
  const auto path = folder.path("mine.h5");
  Program<float> program(optimizers()[0].second);
  program.save_to(path, 0);
  const std::string good = contents(path);
  program.train(0, 1);
  for (std::size_t at = 100; at < good.size(); at += good.size() / 23) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 4);
    folder.write("mine.h5", bad);
    expect_refused(program, {path}, [&] { program.load_from(path); });
  }
  folder.write("mine.h5", good.substr(0, good.size() - 1));
  expect_refused(program, {path}, [&] { program.load_from(path); });
  expect_refused(program, {"nowhere.h5"}, [&] { program.load_from(folder.path("nowhere.h5")); });
  folder.write("mine.h5", good);
  EXPECT_EQ(program.load_from(path), 0);
}

TEST(OwnModel, ThatCannotBeSavedSaysWhy) {
  const TemporaryFolder folder;
  Program<float> program(optimizers()[0].second);
  const double one = 1;
  EXPECT_TRUE(names(error_of([&] { save(folder.path("mine.h5"), program.parameters, *program.optimizer, 1, {{"a", one}, {"a", one}}); }),
                    {"mine.h5", "arrays/a"}));
  EXPECT_TRUE(names(error_of([&] { save(folder.path("mine.h5"), program.parameters, *program.optimizer, -1); }), {"-1"}));
  EXPECT_FALSE(std::filesystem::exists(folder / "mine.h5"));
  ParameterStore empty;
  empty.add("w", {3}, Init::ones(), Decay::no, Role::vector);
  EXPECT_TRUE(names(error_of([&] { save(folder.path("mine.h5"), empty); }), {"w", "allocate()"}));
  ParameterStore packed;
  packed.add("w", {64, 64}, Init::ones(), Decay::no, Role::hidden);
  packed.freeze("w", PackedType::bf16);
  packed.allocate(1);
  EXPECT_TRUE(names(error_of([&] { save(folder.path("mine.h5"), packed); }), {"w", "packed", "bf16"}));
}

// Commands that need a language model report that this is none.
TEST(OwnModel, IsNoLanguageModel) {
  const TemporaryFolder folder;
  Program<float> program(optimizers()[0].second);
  program.save_to(folder.path("mine.h5"), 3);
  EXPECT_TRUE(names(error_of<InputError>([&] { load_trained_model(folder.path("mine.h5")); }), {"mine.h5", "configuration", "inspect"}));
}

}  // namespace
}  // namespace dikkat
