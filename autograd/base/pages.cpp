#include "autograd/base/pages.h"

#include <atomic>
#include <cerrno>
#include <memory>
#include <utility>

#include <sys/mman.h>
#include <unistd.h>

#include "autograd/base/dry_run.h"
#include "autograd/base/error.h"
#include "autograd/base/processor.h"

namespace dikkat {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
std::atomic<std::int64_t> page_requests{0};

[[noreturn]] void fail_for(std::size_t bytes, const char* what) {
  fail(what, ": no memory for ", bytes, " bytes (", bytes >> 20, " MiB): ", errno_text);
}

}  // namespace

Pages::Pages(std::size_t bytes, const char* what) : size_(bytes) {
  require_processor();  // checked here because all memory that kernels use comes from here
  if (bytes == 0) {
    return;
  }
  const bool huge = bytes >= kHugePage;
  mapped_ = huge ? bytes + kHugePage : bytes;  // room to align: mmap aligns to 4 KiB only
  require(mapped_ > bytes || !huge, what, ": ", bytes, " bytes asked for, more than can be addressed");
  const int unpromised =
      DryRun::active() ? MAP_NORESERVE : 0;  // a dry run may map more than the machine has, so that the plan can report how much
  mapping_ = ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | unpromised, -1, 0);
  if (mapping_ == MAP_FAILED) {
    mapping_ = nullptr;
    fail_for(bytes, what);
  }
  page_requests.fetch_add(1, std::memory_order_relaxed);
  void* start = mapping_;
  if (huge) {
    std::size_t room = mapped_;
    std::align(kHugePage, bytes, start, room);
    // If this fails, programs are only slower. A dry run touches few bytes, and each would take a huge page.
    ::madvise(start, bytes, DryRun::active() ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
  }
  data_ = static_cast<std::byte*>(start);
}

Pages::~Pages() {
  if (mapping_ != nullptr) {
    ::munmap(mapping_, mapped_);
  }
}

Pages::Pages(Pages&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapping_(std::exchange(other.mapping_, nullptr)),
      mapped_(std::exchange(other.mapped_, 0)) {}

Pages& Pages::operator=(Pages&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapping_, other.mapping_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

void Pages::release(std::size_t offset, std::size_t bytes) {
  static const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));  // on arm64 4, 16 or 64 KiB; madvise() rounds up the end
  const auto start = reinterpret_cast<std::uintptr_t>(data_) + offset;
  const std::uintptr_t first = (start + page - 1) / page * page;
  const std::uintptr_t end = (start + bytes) / page * page;
  if (first < end) {
    ::madvise(data_ + (first - reinterpret_cast<std::uintptr_t>(data_)), end - first, MADV_DONTNEED);  // if it fails, they stay in use
  }
}

void require_room(std::size_t bytes, const char* what) {
  void* room = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) {
    fail_for(bytes, what);
  }
  ::munmap(room, bytes);
}

std::int64_t Pages::requests() { return page_requests.load(std::memory_order_relaxed); }

}  // namespace dikkat
