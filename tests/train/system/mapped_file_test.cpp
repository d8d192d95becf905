#include "train/system/mapped_file.h"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "train/system/machine_memory.h"

namespace dikkat {
namespace {

TEST(MappedFile, ForgottenPagesAreNotMemoryOfThisProcess) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  const TemporaryFolder folder;
  const MappedFile file(folder.write("large", std::string(kBytes, 'x')));
  const auto sum = [&] {
    std::size_t total = 0;
    for (std::size_t i = 0; i < kBytes; i += 4096) {
      total += static_cast<std::size_t>(file.data()[i]);
    }
    return total;
  };
  const std::size_t before = process_memory().resident;
  const std::size_t expected = sum();
  EXPECT_GT(process_memory().resident, before + kBytes / 2);
  file.forget();
  EXPECT_LT(process_memory().resident, before + kBytes / 4);
  EXPECT_EQ(sum(), expected) << "it is read again";
}

}  // namespace
}  // namespace dikkat
