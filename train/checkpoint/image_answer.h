#pragma once

#include <string>
#include <string_view>

#include "autograd/base/index.h"
#include "train/checkpoint/image.h"

namespace dikkat {

// What a process that parses an image tells the one that asked: its own length, a kind, and then an ImageIndex, number by number and
// text by text, or a sentence.

std::string encode_image(const ImageIndex& image);
/// An InputError, or with `of_the_file` false another Error.
std::string encode_error(std::string_view text, bool of_the_file);

/// The image of an answer, or throws the error in it. The answer may be anything, since who gave it read a file that may be hostile:
/// throws InputError unless it is whole, each tensor lies in the `file_bytes` of the file and their names are in order. A sentence comes
/// out short and without control characters, which would act on a terminal.
ImageIndex decode_answer(std::string_view answer, index file_bytes);

}  // namespace dikkat
