#include "train/system/checked_file.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

/// The page that a thread read last. It is kept because neighboring windows are in one page.
struct LastPage {
  std::uint64_t file = 0;  // CheckedFile::number_; 0: none
  std::size_t page = 0;
  std::array<std::byte, PageSums::kPageBytes> bytes;
};

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> count{0};
  return ++count;
}

}  // namespace

std::uint64_t PageSums::sum_of(std::span<const std::byte> data) {
  // Four sums side by side, so that the processor does not wait for each product. The constants are random and odd.
  constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15U;
  std::array<std::uint64_t, 4> sums = {0x243F6A8885A308D3U, 0x13198A2E03707344U, 0xA4093822299F31D0U, data.size()};
  const auto add = [&](std::size_t lane, std::uint64_t word) {
    sums[lane] = (sums[lane] ^ word) * kFactor;
    sums[lane] ^= sums[lane] >> 32U;
  };
  std::size_t at = 0;
  for (; at + 32 <= data.size(); at += 32) {
    std::array<std::uint64_t, 4> words{};
    std::memcpy(words.data(), data.data() + at, 32);
    for (std::size_t lane = 0; lane < 4; ++lane) {
      add(lane, words[lane]);
    }
  }
  for (; at < data.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data.data() + at, std::min<std::size_t>(8, data.size() - at));
    add(0, word);
  }
  for (std::size_t lane = 1; lane < 4; ++lane) {
    add(0, sums[lane]);
  }
  return sums[0];
}

void PageSums::set(std::size_t offset, std::span<const std::byte> data) {
  require(offset % kPageBytes == 0 && offset + data.size() <= bytes_ && (data.size() % kPageBytes == 0 || offset + data.size() == bytes_),
          "page sums: ", data.size(), " bytes at ", offset, ", expected whole pages within ", bytes_, " bytes");
  for (std::size_t at = 0; at < data.size(); at += kPageBytes) {
    sums_[(offset + at) / kPageBytes] = sum_of(data.subspan(at, std::min(kPageBytes, data.size() - at)));
  }
}

CheckedFile::CheckedFile(const std::string& path, const std::function<void(std::span<const std::byte>)>& on_block)
    : file_(std::make_shared<const MappedFile>(path)), sums_(file_->size()), number_(next_number()) {
  constexpr std::size_t kBlock = std::size_t{1} << 20, kForgetAfter = std::size_t{1} << 24;
  std::vector<std::byte> block(std::min(kBlock, size()));  // a copy, so that the sums and on_block see the same bytes
  for (std::size_t at = 0; at < size(); at += kBlock) {
    block.resize(std::min(kBlock, size() - at));
    std::memcpy(block.data(), file_->data() + at, block.size());
    sums_.set(at, block);
    if (on_block) {
      on_block(block);
    }
    if (at % kForgetAfter == 0) {
      forget();
    }
  }
  forget();
}

CheckedFile::CheckedFile(std::shared_ptr<const MappedFile> file, std::size_t begin, PageSums sums)
    : file_(std::move(file)), begin_(begin), sums_(std::move(sums)), number_(next_number()) {
  require(begin_ + size() <= file_->size(), "checked file: ", size(), " bytes at ", begin_, ", but the file has ", file_->size());
}

void CheckedFile::read(std::size_t offset, std::span<std::byte> out) const {
  constexpr std::size_t kPage = PageSums::kPageBytes;
  require(offset <= size() && out.size() <= size() - offset, "checked file: ", out.size(), " bytes at ", offset, ", but there are ",
          size());
  thread_local LastPage last;
  while (!out.empty()) {
    const std::size_t page = offset / kPage, within = offset % kPage;
    const std::size_t bytes = std::min(kPage, size() - page * kPage);
    if (last.file != number_ || last.page != page) {
      last.file = 0;
      std::memcpy(last.bytes.data(), file_->data() + begin_ + page * kPage, bytes);  // the copy is compared, and returned
      require_input(sums_.has(page, std::span(last.bytes).first(bytes)), path(), " was changed while it was in use: bytes ",
                    begin_ + page * kPage, " to ", begin_ + page * kPage + bytes - 1,
                    " differ from those at the start; nothing was learned from the changed bytes. Restore the old file ",
                    "before you resume the run, and write new data to a new file");
      last.file = number_;
      last.page = page;
    }
    const std::size_t count = std::min(out.size(), bytes - within);
    std::memcpy(out.data(), last.bytes.data() + within, count);
    out = out.subspan(count);
    offset += count;
  }
}

}  // namespace dikkat
