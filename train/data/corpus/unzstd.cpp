#include "train/data/corpus/unzstd.h"

#include <vector>

#include <zstd.h>
#include <zstd_errors.h>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

/// Decompresses zstd data: one or more frames, one after another.
class Unzstd : public ByteSource {
 public:
  Unzstd(std::unique_ptr<ByteSource> source, const std::string& name)
      : source_(std::move(source)), name_(name), context_(ZSTD_createDCtx(), ZSTD_freeDCtx), buffer_(ZSTD_DStreamInSize()) {
    require(context_ != nullptr, "zstd: no memory");
  }

  std::size_t read(char* out, std::size_t bytes) override {
    ZSTD_outBuffer output{out, bytes, 0};
    while (output.pos == 0) {
      if (in_.pos == in_.size) {
        in_ = {buffer_.data(), source_->read(buffer_.data(), buffer_.size()), 0};
      }
      if (in_.size == 0 && missing_ == 0) {
        return 0;
      }
      missing_ = ZSTD_decompressStream(context_.get(), &output, &in_);
      require_input(ZSTD_getErrorCode(missing_) != ZSTD_error_frameParameter_windowTooLarge, "corpus: ", name_,
                    " takes more than 128 MiB of memory to decompress; compress it with zstd --long=27 or less");
      require_input(ZSTD_isError(missing_) == 0, "corpus: ", name_, " is damaged: its zstd data is invalid (", ZSTD_getErrorName(missing_),
                    "); get the file again");
      require_input(in_.size > 0 || output.pos > 0, "corpus: ", name_,
                    " is cut off: its zstd data ends too early; get the whole file again");
    }
    return output.pos;
  }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string name_;
  std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context_;
  std::vector<char> buffer_;
  ZSTD_inBuffer in_{};
  std::size_t missing_ = 1;  // 0 when a frame has ended and all of it was returned
};

}  // namespace

std::unique_ptr<ByteSource> unzstd(std::unique_ptr<ByteSource> source, const std::string& name) {
  return std::make_unique<Unzstd>(std::move(source), name);
}

}  // namespace dikkat
