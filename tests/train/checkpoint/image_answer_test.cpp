#include "train/checkpoint/image_answer.h"

#include <cstring>

#include <gtest/gtest.h>

#include "tests/train/checkpoint/sample.h"

namespace dikkat {
namespace {

constexpr index kFileBytes = 100'000;

ImageIndex small_image() {
  ImageIndex image;
  image.state = Sample().snapshot.state;
  image.config = "a = 1\n";
  image.tokenizer = std::string("\0x", 2);
  image.tensors = {{TensorGroup::model, "a", {5, 3}, kHeaderBytes},
                   {TensorGroup::model, "b", {}, kFileBytes - 4},
                   {TensorGroup::adam_v, "a", {0, 4}, 0}};
  return image;
}

/// Why the image is not believed; empty if it is.
std::string doubt(const ImageIndex& image) {
  return text_of<InputError>([&] { decode_answer(encode_image(image), kFileBytes); });
}

template <class Change>
void expect_doubt(Change&& change) {
  ImageIndex image = small_image();
  change(image.tensors);
  EXPECT_NE(doubt(image).find("makes no sense"), std::string::npos) << image.tensors.size();
}

using Tensors = std::vector<StoredTensor>;

TEST(ImageAnswer, ComesBack) {
  const ImageIndex image = small_image();
  const ImageIndex back = decode_answer(encode_image(image), kFileBytes);
  EXPECT_TRUE(same_bits(image.state, back.state));
  EXPECT_EQ(image.config, back.config);
  EXPECT_EQ(image.tokenizer, back.tokenizer);
  ASSERT_EQ(back.tensors.size(), 3U);
  EXPECT_EQ(back.tensors[0].shape, (Shape{5, 3}));
  EXPECT_EQ(back.tensors[1].offset, kFileBytes - 4);
  EXPECT_EQ(back.tensors[2].group, TensorGroup::adam_v);
  EXPECT_EQ(back.tensors[2].name, "a");
}

TEST(ImageAnswer, TensorsMustLieInTheFile) {
  const auto enlarge = [](StoredTensor& tensor) {
    tensor.offset = kHeaderBytes;
    tensor.shape = {(kFileBytes - kHeaderBytes) / index{sizeof(float)}};
  };
  ImageIndex with_one_large = small_image();
  enlarge(with_one_large.tensors[0]);
  EXPECT_EQ(doubt(with_one_large), "");
  expect_doubt([&](Tensors& t) {  // each of the two does, but both have no room
    enlarge(t[0]);
    enlarge(t[1]);
  });
  expect_doubt([](Tensors& t) { t[0].offset = kHeaderBytes - 1; });
  expect_doubt([](Tensors& t) { t[0].offset = -4; });
  expect_doubt([](Tensors& t) { t[1].offset = kFileBytes - 3; });
  expect_doubt([](Tensors& t) { t[1].offset = kFileBytes + 1; });
  expect_doubt([](Tensors& t) { t[1].offset = std::numeric_limits<index>::max(); });
  expect_doubt([](Tensors& t) { t[0].shape = {index{1} << 40}; });
  expect_doubt([](Tensors& t) { t[0].shape = {index{1} << 31, index{1} << 31}; });  // the bytes of which cannot be counted
}

TEST(ImageAnswer, NamesMustBeGoodAndInOrder) {
  for (const char* name : {"", ".", "x/y", "x\n", "\x1B[2J", "x\x7F"}) {
    expect_doubt([&](Tensors& t) { t[0].name = name; });
  }
  expect_doubt([](Tensors& t) { std::swap(t[0], t[1]); });
  expect_doubt([](Tensors& t) { t[1].name = "a"; });
  expect_doubt([](Tensors& t) { std::swap(t[0], t[2]); });
}

TEST(ImageAnswer, EveryTruncationAndEveryExtraByteIsNoticed) {
  const std::string answer = encode_image(small_image());
  for (std::size_t size = 0; size < answer.size(); ++size) {
    EXPECT_THROW(decode_answer(std::string_view(answer).substr(0, size), kFileBytes), InputError) << size;
    std::string claims_so = answer.substr(0, size);  // a length that is right does not help
    if (size >= 8) {
      const std::uint64_t length = size;
      std::memcpy(claims_so.data(), &length, sizeof length);
      bool believed = true;
      try {
        believed = decode_answer(claims_so, kFileBytes).tensors.size() < 3;
      } catch (const InputError&) {
      }
      EXPECT_TRUE(believed) << size;  // fewer tensors are an answer as well: the model asks for its own by name
    }
  }
  EXPECT_THROW(decode_answer(answer + 'x', kFileBytes), InputError);
}

TEST(ImageAnswer, AnythingCanBeAnswered) {
  std::string answer = encode_image(small_image());
  EXPECT_THROW(decode_answer("", kFileBytes), InputError);
  EXPECT_THROW(decode_answer(std::string(1000, '\xFF'), kFileBytes), InputError);
  EXPECT_THROW(decode_answer(std::string(1000, '\0'), kFileBytes), InputError);
  // Any eight bytes as a number too large, at every place: lengths, ranks, extents, groups.
  for (std::size_t at = 8; at + 8 <= answer.size(); ++at) {
    for (const std::uint64_t number : {~std::uint64_t{0}, std::uint64_t{1} << 63, std::uint64_t{answer.size()}, std::uint64_t{5}}) {
      std::string changed = answer;
      std::memcpy(changed.data() + at, &number, sizeof number);
      try {
        for (const StoredTensor& tensor : decode_answer(changed, kFileBytes).tensors) {
          EXPECT_LE(tensor.shape.size() * 4, kFileBytes);
          EXPECT_TRUE(tensor.shape.size() == 0 || tensor.offset + tensor.shape.size() * 4 <= kFileBytes);
        }
      } catch (const InputError&) {
      }
    }
  }
}

TEST(ImageAnswer, ErrorsKeepTheirKind) {
  EXPECT_EQ(text_of<InputError>([] { decode_answer(encode_error("is odd", true), 0); }), "is odd");
  EXPECT_EQ(text_of<InputError>([] { decode_answer(encode_error("\x1B]0;x\a\n", true), 0); }), "?]0;x??");
  try {
    decode_answer(encode_error("read failed", false), 0);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(dynamic_cast<const InputError*>(&error), nullptr);
  }
}

}  // namespace
}  // namespace dikkat
