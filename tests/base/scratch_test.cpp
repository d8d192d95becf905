#include "autograd/base/scratch.h"

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "autograd/base/dry_run.h"
#include "tests/support/throws.h"

namespace dikkat {
namespace {

using testing::names;

constexpr index kMiB = index{1} << 20;

/// Runs f in a thread where no scratch was leased before.
template <class F>
void on_new_thread(F&& f) {
  std::thread(f).join();
}

TEST(Scratch, IsAlignedAndApartFromOtherLeases) {
  const Scratch<char> a(1000);
  const Scratch<float> b(3);
  const Scratch<double> c(index{100'000});
  for (const void* data : {static_cast<void*>(a.data()), static_cast<void*>(b.data()), static_cast<void*>(c.data())}) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 64, 0U);
  }
  std::memset(a, 1, 1000);
  std::memset(b, 2, 3 * sizeof(float));
  std::memset(c, 3, 100'000 * sizeof(double));
  for (index i = 0; i < 1000; ++i) {
    ASSERT_EQ(a[i], 1);
  }
  EXPECT_EQ(reinterpret_cast<const char*>(b.data())[0], 2);
  EXPECT_EQ(reinterpret_cast<const char*>(b.data())[11], 2);
}

TEST(Scratch, GoesBackAtTheEndOfItsScope) {
  on_new_thread([] {
    {
      const Scratch<char> most(kMiB);
    }
    EXPECT_EQ(scratch_in_use(), 0U);
    const Scratch<char> outer(64);
    char* first = nullptr;
    {
      const Scratch<char> inner(128);
      first = inner;
      EXPECT_EQ(scratch_in_use(), 192U);
    }
    EXPECT_EQ(scratch_in_use(), 64U);
    const Scratch<char> again(256);
    EXPECT_EQ(again.data(), first);
  });
}

TEST(Scratch, MemoryThatWasLeasedOnceIsNotAskedForAgain) {
  on_new_thread([] {
    const auto nested = [] {
      const Scratch<char> a(kMiB);
      const Scratch<char> b(3 * kMiB);
      const Scratch<char> c(5 * kMiB);
    };
    nested();
    nested();  // has room for all three at once
    const auto before = Pages::requests();
    for (int i = 0; i < 5; ++i) {
      nested();
      const Scratch<char> all(9 * kMiB);
    }
    EXPECT_EQ(Pages::requests(), before);
  });
}

TEST(Scratch, IsThisThreadsOwn) {
  const Scratch<float> a(1000);
  on_new_thread([&a] {
    const Scratch<float> b(1000);
    EXPECT_NE(a.data(), b.data());
  });
}

TEST(Scratch, ThatCannotBeHadLeavesTheRestAsItWas) {
  on_new_thread([] {
    const Scratch<char> a(64);
    EXPECT_TRUE(names(testing::error_of([] { const Scratch<char> huge(index{1} << 56); }), {"kernel scratch", "no memory"}));
    EXPECT_EQ(scratch_in_use(), 64U);
    const Scratch<char> b(64);
    EXPECT_NE(b.data(), a.data());
  });
}

/// The flags of the mapping that holds `address`, as in /proc/self/smaps.
std::string mapping_flags(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    char dash = 0;
    if (std::sscanf(line.c_str(), "%lx%c%lx ", &begin, &dash, &end) == 3 && dash == '-') {  // NOLINT(cert-err34-c)
      inside = begin <= at && at < end;
    } else if (inside && line.starts_with("VmFlags:")) {
      return line + " ";
    }
  }
  return "";
}

TEST(Scratch, OfADryRunIsNotKept) {
  on_new_thread([] {
    {
      const DryRun dry;
      const Scratch<char> a(16 * kMiB);
      EXPECT_NE(mapping_flags(a).find(" nh "), std::string::npos) << "without huge pages: " << mapping_flags(a);
    }
    const Scratch<char> a(16 * kMiB);
    EXPECT_NE(mapping_flags(a), "");
    EXPECT_EQ(mapping_flags(a).find(" nh "), std::string::npos) << mapping_flags(a);
  });
}

}  // namespace
}  // namespace dikkat
