#pragma once

#include <utility>

#if defined(__SANITIZE_THREAD__)
#define DIKKAT_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DIKKAT_THREAD_SANITIZER
#endif
#endif

#if defined(DIKKAT_THREAD_SANITIZER)
extern "C" void __tsan_acquire(void* place);
extern "C" void __tsan_release(void* place);
#endif

namespace dikkat {

/// Tells ThreadSanitizer about an order that a library guarantees: everything before release() happens before everything after acquire().
/// Debian's TBB is not built for the sanitizer, so data that tasks receive and return would be reported as races. In other builds this is
/// empty.
class Handover {
 public:
#if defined(DIKKAT_THREAD_SANITIZER)
  void release() { __tsan_release(this); }
  void acquire() { __tsan_acquire(this); }
#else
  void release() {}
  void acquire() {}
#endif
};

/// Acquires when it goes out of scope, also when an exception is thrown.
class AcquireAtEnd {
 public:
  explicit AcquireAtEnd(Handover& handover) : handover_(handover) {}
  ~AcquireAtEnd() { handover_.acquire(); }
  AcquireAtEnd(const AcquireAtEnd&) = delete;
  AcquireAtEnd& operator=(const AcquireAtEnd&) = delete;

 private:
  Handover& handover_;
};

#if defined(DIKKAT_THREAD_SANITIZER)
namespace detail {
template <class F>
struct Between {
  Handover* before;
  Handover* after;
  F f;

  // Not instrumented: the library has copied this object from one thread to another.
  template <class... Arguments>
  __attribute__((no_sanitize("thread"))) decltype(auto) operator()(Arguments&&... arguments) const {
    struct Release {
      Handover* after;
      ~Release() { after->release(); }
    };
    before->acquire();
    const Release release{after};
    return f(std::forward<Arguments>(arguments)...);
  }
};
}  // namespace detail
#endif

/// Wraps f so that it acquires `before` when it begins and releases `after` when it ends. Both must outlive it. Calls are not ordered among
/// each other, unless before and after are the same.
template <class F>
auto between([[maybe_unused]] Handover& before, [[maybe_unused]] Handover& after, F f) {
#if defined(DIKKAT_THREAD_SANITIZER)
  return detail::Between<F>{&before, &after, std::move(f)};
#else
  return f;
#endif
}

}  // namespace dikkat
