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

/// Informs ThreadSanitizer of an order that a library guarantees: everything before release() happens before everything after acquire().
/// Debian's TBB is not built for the sanitizer, which would otherwise report the data that tasks receive and return as races. In other
/// builds these functions do nothing.
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

/// Calls acquire() in its destructor, so also when an exception is thrown.
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

  // Not instrumented, because the library has copied this object from one thread to another.
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

/// Wraps f so that it acquires `before` when it begins and releases `after` when it ends. Both must outlive the wrapper. Calls of it are
/// ordered only if `before` and `after` are the same object.
template <class F>
auto between([[maybe_unused]] Handover& before, [[maybe_unused]] Handover& after, F f) {
#if defined(DIKKAT_THREAD_SANITIZER)
  return detail::Between<F>{&before, &after, std::move(f)};
#else
  return f;
#endif
}

}  // namespace dikkat
