#include "train/data/corpus/gunzip.h"

#include <array>

#include <zlib.h>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

/// Decompresses gzip data: one or more members, one after another, and optional zero bytes at the end.
class Gunzip : public ByteSource {
 public:
  Gunzip(std::unique_ptr<ByteSource> source, const std::string& name) : source_(std::move(source)), name_(name) {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    require(::inflateInit2(&stream_, kGzipOnly) == Z_OK, "zlib: no memory");
  }
  ~Gunzip() override { ::inflateEnd(&stream_); }
  Gunzip(const Gunzip&) = delete;
  Gunzip& operator=(const Gunzip&) = delete;

  std::size_t read(char* out, std::size_t bytes) override {
    constexpr std::size_t kMost = 1U << 30;  // zlib counts in 32 bits
    stream_.next_out = reinterpret_cast<Bytef*>(out);
    stream_.avail_out = static_cast<uInt>(std::min(bytes, kMost));
    const uInt wanted = stream_.avail_out;
    // Decompress until there is some output.
    while (stream_.avail_out == wanted) {
      if (stream_.avail_in == 0) {
        stream_.next_in = reinterpret_cast<Bytef*>(buffer_.data());
        stream_.avail_in = static_cast<uInt>(source_->read(buffer_.data(), buffer_.size()));
      }
      if (stream_.avail_in == 0) {
        require_input(ended_, "corpus: ", name_, " is cut off: its gzip data ends too early; get the whole file again");
        return 0;
      }
      // After a member, skip zero bytes, and begin the next member.
      if (ended_) {
        while (stream_.avail_in > 0 && *stream_.next_in == 0) {  // padding, as tape drives write it; gzip ignores it too
          ++stream_.next_in;
          --stream_.avail_in;
        }
        if (stream_.avail_in == 0) {
          continue;
        }
        ::inflateReset(&stream_);
        ended_ = false;
      }
      const int result = ::inflate(&stream_, Z_NO_FLUSH);
      require_input(result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR, "corpus: ", name_,
                    " is damaged: its gzip data is invalid (", stream_.msg == nullptr ? "zlib gives no reason" : stream_.msg,
                    "); get the file again");
      ended_ = result == Z_STREAM_END;
    }
    return wanted - stream_.avail_out;
  }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string name_;
  std::array<char, 1 << 16> buffer_{};
  z_stream stream_{};
  bool ended_ = false;  // a member has ended
};

}  // namespace

std::unique_ptr<ByteSource> gunzip(std::unique_ptr<ByteSource> source, const std::string& name) {
  return std::make_unique<Gunzip>(std::move(source), name);
}

}  // namespace dikkat
