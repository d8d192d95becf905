#include "train/library/array_loader.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/numbers.h"
#include "tests/support/temporary_folder.h"

namespace dikkat {
namespace {

using testing::error_of;
using testing::names;
using testing::numbers;

Array images(index rows) { return {Shape{rows, 2, 3}, numbers(rows * 6, 1)}; }

/// Labels that are the numbers of their rows.
Array labels(index rows) {
  std::vector<std::int32_t> values;
  for (index i = 0; i < rows; ++i) {
    values.push_back(static_cast<std::int32_t>(i));
  }
  return {Shape{rows}, std::move(values)};
}

std::vector<index> rows_of(const ArrayLoader::Batch& batch) { return {batch.rows().begin(), batch.rows().end()}; }

std::vector<index> epoch_of(ArrayLoader& loader) {
  std::vector<index> rows;
  for (const index epoch = loader.epoch(); loader.epoch() == epoch;) {
    std::ranges::copy(loader.next().rows(), std::back_inserter(rows));
  }
  return rows;
}

TEST(ArrayLoader, TakesEachRowOnceInAnEpochInAnOrderOfItsOwn) {
  ArrayLoader loader({labels(23)}, {.batch_size = 5, .seed = 3});
  EXPECT_EQ(loader.batches_per_epoch(), 5);
  std::set<std::vector<index>> orders;
  for (index epoch = 0; epoch < 4; ++epoch) {
    EXPECT_EQ(loader.epoch(), epoch);
    const std::vector<index> order = epoch_of(loader);
    orders.insert(order);
    EXPECT_EQ(std::set<index>(order.begin(), order.end()).size(), 23U);
    EXPECT_EQ(order.size(), 23U);
  }
  EXPECT_EQ(orders.size(), 4U);
}

TEST(ArrayLoader, HasAnOrderThatDependsOnSeedAndEpochOnly) {
  ArrayLoader one({labels(40)}, {.batch_size = 5, .seed = 3}), two({images(40), labels(40)}, {.batch_size = 9, .seed = 3}),
      other({labels(40)}, {.batch_size = 5, .seed = 4});
  for (int epoch = 0; epoch < 3; ++epoch) {
    const std::vector<index> order = epoch_of(one);
    EXPECT_EQ(epoch_of(two), order);
    EXPECT_NE(epoch_of(other), order);
  }
}

TEST(ArrayLoader, KeepsTheLastBatchOrDropsIt) {
  ArrayLoader keeps({labels(10)}, {.batch_size = 4, .shuffle = false}),
      drops({labels(10)}, {.batch_size = 4, .shuffle = false, .drop_last = true});
  EXPECT_EQ(drops.batches_per_epoch(), 2);
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (const auto& rows : {std::vector<index>{0, 1, 2, 3}, std::vector<index>{4, 5, 6, 7}, std::vector<index>{8, 9}}) {
      EXPECT_EQ(rows_of(keeps.next()), rows);
      if (rows.size() == 4) {
        EXPECT_EQ(rows_of(drops.next()), rows);
      }
    }
  }
  EXPECT_EQ(keeps.epoch(), 2);
  EXPECT_EQ(drops.epoch(), 2);
}

TEST(ArrayLoader, GivesTheRowsOfAllArraysAsTensors) {
  const Array pictures = images(9);
  const Array wide = pictures.as(DType::f64);
  ArrayLoader loader({pictures, labels(9), wide}, {.batch_size = 4, .seed = 5});
  Tape tape;
  for (int i = 0; i < 3; ++i) {
    const ArrayLoader::Batch batch = loader.next();
    const index count = batch.size();
    const Tensor x = batch.tensor(tape, 0), y = batch.tensor(tape, 1), z = batch.tensor(tape, 2);
    EXPECT_EQ(x.shape(), (Shape{count, 2, 3}));
    EXPECT_EQ(y.shape(), (Shape{count}));
    for (index row = 0; row < count; ++row) {
      const index from = batch.rows()[static_cast<std::size_t>(row)];
      EXPECT_EQ(y.data<std::int32_t>()[row], from);
      for (index k = 0; k < 6; ++k) {
        EXPECT_EQ(x.data<float>()[row * 6 + k], pictures.values<float>()[static_cast<std::size_t>(from * 6 + k)]);
        EXPECT_EQ(z.data<double>()[row * 6 + k], static_cast<double>(x.data<float>()[row * 6 + k]));
      }
    }
    EXPECT_TRUE(names(error_of([&] { (void)batch.tensor(tape, 3); }), {"array loader", "3"}));
    tape.reset();
  }
}

TEST(ArrayLoader, ContinuesExactlyFromAState) {
  for (const bool drop_last : {false, true}) {
    const ArrayLoader::Options options{.batch_size = 4, .seed = 8, .drop_last = drop_last};
    ArrayLoader whole({labels(11)}, options);
    for (int stop = 0; stop < 9; ++stop) {
      ArrayLoader continued({labels(11)}, options);
      continued.restore(whole.state());
      EXPECT_EQ(continued.epoch(), whole.epoch());
      EXPECT_EQ(continued.position(), whole.position());
      ArrayLoader ahead({labels(11)}, options);
      ahead.restore(whole.state());
      for (int i = 0; i < 7; ++i) {
        EXPECT_EQ(rows_of(continued.next()), rows_of(ahead.next()));
      }
      const auto rows = rows_of(whole.next());
      continued.restore(ahead.state());
      ArrayLoader again({labels(11)}, options);
      for (int i = 0; i < stop; ++i) {
        again.next();
      }
      EXPECT_EQ(rows_of(again.next()), rows) << stop;
    }
  }
}

TEST(ArrayLoader, RefusesWhatDoesNotFit) {
  EXPECT_TRUE(names(error_of([] { ArrayLoader({}, {}); }), {"array loader", "1 or more"}));
  EXPECT_TRUE(names(error_of([] { ArrayLoader({images(3), labels(4)}, {}); }), {"[3, 2, 3]", "[4]"}));
  EXPECT_TRUE(names(error_of([] { ArrayLoader({labels(4)}, {.batch_size = 0}); }), {"0", "4 rows"}));
  EXPECT_TRUE(names(error_of([] { ArrayLoader({labels(4)}, {.batch_size = 5, .drop_last = true}); }), {"5", "4 rows"}));
  ArrayLoader loader({labels(4)}, {.batch_size = 2, .seed = 1}), other({labels(4)}, {.batch_size = 2, .seed = 2}),
      longer({labels(5)}, {.seed = 1});
  EXPECT_TRUE(names(error_of<InputError>([&] { loader.restore(other.state()); }), {"seed 2", "seed 1"}));
  EXPECT_TRUE(names(error_of<InputError>([&] { loader.restore(longer.state()); }), {"5 rows", "4 rows"}));
  EXPECT_TRUE(names(error_of<InputError>([&] { loader.restore({0, 4, 4, 1}); }), {"row 4", "0 to 3"}));
}

TEST(Array, SharesItsNumbersWithItsParts) {
  const Array all = images(10), some = all.rows(4, 3);
  EXPECT_EQ(some.shape(), (Shape{3, 2, 3}));
  EXPECT_EQ(some.values<float>().data(), all.values<float>().data() + 24);
  EXPECT_EQ(some.rows(1, 2).values<float>().data(), all.values<float>().data() + 30);
  EXPECT_EQ(some.reshaped({3, 6}).shape(), (Shape{3, 6}));
  EXPECT_EQ(all.rows(10, 0).rows(), 0);
  EXPECT_TRUE(names(error_of([&] { (void)all.rows(8, 3); }), {"3 rows", "row 8", "[10, 2, 3]"}));
  EXPECT_TRUE(names(error_of([&] { (void)all.reshaped({7}); }), {"[10, 2, 3]", "[7]", "60"}));
  EXPECT_TRUE(names(error_of([&] { (void)all.values<double>(); }), {"f32", "f64"}));
  EXPECT_TRUE(names(error_of([] { Array(Shape{3}, std::vector<float>(4)); }), {"4", "[3]"}));
  EXPECT_NE(error_of([] { Array(Shape{}, std::vector<float>(1)); }), "");
}

TEST(Array, HasColumnsAndOtherTypes) {
  const Array table(Shape{3, 4}, std::vector<float>{1, 2, 3, 0, 4, 5, 6, 1, 7, 8, 9, 2});
  const auto copy_of = [](auto span) { return std::vector(span.begin(), span.end()); };
  EXPECT_EQ(copy_of(table.columns(1, 2).values<float>()), (std::vector<float>{2, 3, 5, 6, 8, 9}));
  const Array labels = table.column(3).as(DType::i32);
  EXPECT_EQ(labels.shape(), Shape{3});
  EXPECT_EQ(copy_of(labels.values<std::int32_t>()), (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(copy_of(table.rows(1, 1).column(0).values<float>()), std::vector<float>{4});
  EXPECT_TRUE(names(error_of<InputError>([] { (void)Array(Shape{2}, std::vector<double>{1, 0.5}).as(DType::i32); }), {"0.5"}));
  EXPECT_TRUE(names(error_of<InputError>([] { (void)Array(Shape{1}, std::vector<double>{3e9}).as(DType::i32); }), {"3e+09"}));
  EXPECT_TRUE(names(error_of([&] { (void)table.columns(3, 2); }), {"2 columns", "column 3", "[3, 4]"}));
  EXPECT_TRUE(names(error_of([&] { (void)table.as(DType::bf16); }), {"bf16"}));
}

/// A file as numpy.save writes it.
std::string npy(const std::string& type, const std::string& shape, const std::string& data, const std::string& order = "False") {
  std::string header = concat("{'descr': '", type, "', 'fortran_order': ", order, ", 'shape': ", shape, ", }");
  header.resize((10 + header.size() + 64) / 64 * 64 - 10, ' ');
  header.back() = '\n';
  return concat("\x93NUMPY\x01", std::string(1, '\0'), static_cast<char>(header.size()), static_cast<char>(header.size() >> 8U)) + header +
         data;
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST(NumpyFiles, AreReadInEveryType) {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& text) { return read_npy(folder.write("x.npy", text)); };
  const auto check = [&](const Array& array, const Shape& shape, const auto& expected) {
    using T = typename std::remove_cvref_t<decltype(expected)>::value_type;
    EXPECT_EQ(array.shape(), shape);
    EXPECT_TRUE(std::ranges::equal(array.values<T>(), expected));
  };
  const std::vector<float> singles = {1.5F, -2, 3, 0, 1e-40F, 6};
  check(read(npy("<f4", "(2, 3)", bytes_of(singles))), {2, 3}, singles);
  const std::vector<double> doubles = {1.5, -1e300};
  check(read(npy("<f8", "(2,)", bytes_of(doubles))), {2}, doubles);
  check(read(npy("<f8", "()", bytes_of(std::vector<double>{7}))), {1}, std::vector<double>{7});
  const std::vector<std::int32_t> whole = {0, 127, 1};
  check(read(npy("|u1", "(3,)", bytes_of(std::vector<std::uint8_t>{0, 127, 1}))), {3}, whole);
  check(read(npy("|b1", "(3, 1)", bytes_of(std::vector<std::uint8_t>{0, 1, 1}))), {3, 1}, std::vector<std::int32_t>{0, 1, 1});
  check(read(npy("|i1", "(3,)", bytes_of(std::vector<std::int8_t>{-1, 127, 1}))), {3}, std::vector<std::int32_t>{-1, 127, 1});
  check(read(npy("<i2", "(1, 1, 2)", bytes_of(std::vector<std::int16_t>{-300, 300}))), {1, 1, 2}, std::vector<std::int32_t>{-300, 300});
  check(read(npy("<u2", "(1,)", bytes_of(std::vector<std::uint16_t>{65535}))), {1}, std::vector<std::int32_t>{65535});
  check(read(npy("<i4", "(3,)", bytes_of(whole))), {3}, whole);
  check(read(npy("<u4", "(3,)", bytes_of(std::vector<std::uint32_t>{0, 127, 1}))), {3}, whole);
  check(read(npy("<i8", "(3,)", bytes_of(std::vector<std::int64_t>{0, 127, 1}))), {3}, whole);
  check(read(npy("<u8", "(3,)", bytes_of(std::vector<std::uint64_t>{0, 127, 1}))), {3}, whole);
  check(read(npy("<f4", "(0, 3)", "")), {0, 3}, std::vector<float>{});
}

TEST(NumpyFiles, ThatCannotBeUsedAreRefused) {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& text) { return error_of<InputError>([&] { (void)read_npy(folder.write("x.npy", text)); }); };
  const std::string good = npy("<f4", "(2,)", bytes_of(std::vector<float>{1, 2}));
  EXPECT_EQ(refusal(good), "");
  for (std::size_t bytes = 0; bytes < good.size(); ++bytes) {
    EXPECT_TRUE(names(refusal(good.substr(0, bytes)), {"x.npy"})) << bytes;
  }
  EXPECT_TRUE(names(refusal(good + "1"), {"x.npy", "9", "8", "[2]"}));
  EXPECT_TRUE(names(refusal(npy("<f4", "(2,)", std::string(8, '0'), "True")), {"x.npy", "Fortran"}));
  EXPECT_TRUE(names(refusal(npy(">f4", "(2,)", std::string(8, '0'))), {"x.npy", ">f4"}));
  EXPECT_TRUE(names(refusal(npy("<c8", "(1,)", std::string(8, '0'))), {"x.npy", "<c8"}));
  EXPECT_TRUE(names(refusal(npy("<i8", "(1,)", bytes_of(std::vector<std::int64_t>{1LL << 31}))), {"x.npy", "2147483648"}));
  for (const char* shape :
       {"2", "(-1,)", "(a,)", "(1, 1, 1, 1, 1, 1, 1, 1, 1)", "(99999999999999999999,)", "(1048577, 1048576)", "(4611686018427387904, 4)"}) {
    EXPECT_TRUE(names(refusal(npy("<f4", shape, std::string(8, '0'))), {"x.npy"})) << shape;
  }
  EXPECT_TRUE(names(error_of<InputError>([&] { (void)read_npy(folder.path("nowhere.npy")); }), {"nowhere.npy"}));
}

TEST(Tables, AreReadWithAnySeparator) {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& text) { return read_csv(folder.write("x.csv", text)); };
  const std::vector<float> expected = {1, -2.5, 3e3F, 4, 5, 6};
  for (const char* text :
       {"1,-2.5,3e3\n4,5,6\n", "a,b,c\n1, -2.5 ,3e3\n4,5,6", "1;-2.5;3e3\r\n\r\n+4;5;6\r\n", "x y z\n1\t-2.5\t3e3\n\n 4  5 6 \n"}) {
    const Array table = read(text);
    EXPECT_EQ(table.shape(), (Shape{2, 3})) << text;
    EXPECT_TRUE(std::ranges::equal(table.values<float>(), expected)) << text;
  }
  EXPECT_EQ(read("").shape(), (Shape{0, 0}));
  EXPECT_EQ(read("heading\n").shape(), (Shape{0, 0}));
}

TEST(Tables, WithAnythingElseAreRefusedByLine) {
  const TemporaryFolder folder;
  const auto refusal = [&](const std::string& text) { return error_of<InputError>([&] { (void)read_csv(folder.write("x.csv", text)); }); };
  EXPECT_TRUE(names(refusal("1,2\n3,x\n"), {"x.csv", "line 2", "field 2"}));
  EXPECT_TRUE(names(refusal("a,b\n1,2\n\n3,4,5\n"), {"x.csv", "line 4", "3 numbers", "2"}));
  EXPECT_TRUE(names(refusal("1,2\nc,d\n"), {"line 2", "field 1"}));
  EXPECT_TRUE(names(refusal("1,2x\n"), {"line 1", "field 2"}));
  EXPECT_TRUE(names(refusal("1,,2\n"), {"line 1", "field 2"}));
}

}  // namespace
}  // namespace dikkat
