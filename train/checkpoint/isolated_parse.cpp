#include "train/checkpoint/isolated_parse.h"

#include <algorithm>
#include <new>

#include "autograd/base/error.h"
#include "train/checkpoint/hdf5_library.h"
#include "train/checkpoint/image_answer.h"
#include "train/io/digits.h"

namespace dikkat {

namespace {

// The sanitizer looks at a type that it has not met with the help of a pipe, which the child may not make.
#if defined(__clang__)
__attribute__((no_sanitize("vptr")))
#endif
std::string
answer_of(const File& file, const ChildLimits& limits, const std::function<ImageIndex(const File&)>& parse) {
  try {
    return encode_image(parse(file));
  } catch (const InputError& error) {
    return encode_error(error.what(), true);
  } catch (const Error& error) {
    return encode_error(error.what(), false);
  } catch (const std::bad_alloc&) {
    return encode_error(
        concat("cannot be parsed: that takes more than ", limits.memory_bytes >> 20, " MiB; the file is damaged or hostile"), true);
  }
}

}  // namespace

ChildLimits parse_limits(index file_bytes) {
  // The texts and names of an honest file lie in it, and an answer that grows holds them four times; the library's own needs are small.
  constexpr index kMostTexts = 2 * kMaxTextBytes;
  const index texts = std::min(file_bytes, kMostTexts);
  return {.memory_bytes = (index{64} << 20) + 4 * texts, .answer_bytes = (index{64} << 10) + texts};
}

ImageIndex parse_in_child(const File& file, index format) {
  return parse_in_child(file, parse_limits(file.size()), [=](const File& same) { return parse_image(same, format); });
}

ImageIndex parse_in_child(const File& file, const ChildLimits& limits, const std::function<ImageIndex(const File&)>& parse) {
  auto hdf5 = enter_hdf5();  // the child has no thread that could come out of the library, so none may be inside
  const int descriptor = file.descriptor();
  LimitedChild child(limits, std::span(&descriptor, 1), [&](int pipe) {
    hdf5.unlock();
    write_answer(pipe, answer_of(file, limits, parse));
  });
  hdf5.unlock();
  const LimitedChild::Answer answer = child.answer();
  require(!answer.may_pass, "cannot be parsed just now: the parser ", answer.trouble, "; try again");
  require_input(answer.trouble.empty(), "cannot be parsed: the parser ", answer.trouble, "; the file is damaged or hostile");
  return decode_answer(answer.bytes, file.size());
}

}  // namespace dikkat
