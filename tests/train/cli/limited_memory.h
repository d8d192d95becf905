#pragma once

#include "tests/support/sanitized.h"
#include "tests/train/cli/workspace.h"

namespace dikkat::testing {

/// Trains tiny.toml with at most this many bytes to map. The program must work, or name the memory that it could not get, and every
/// checkpoint must be good. Returns whether it worked.
inline bool train_within(const Workspace& workspace, std::size_t bytes, const Words& settings = {}) {
  SCOPED_TRACE(bytes);
  constexpr int kNotStarted = 127;  // the loader had no room for the libraries
  const std::string out = "limited-" + std::to_string(bytes);
  Words arguments = {"train", "--config", "tiny.toml", "--out", out};
  for (const std::string& setting : settings) {
    arguments.insert(arguments.end(), {"--set", setting});
  }
  const Outcome outcome = workspace.run(arguments, {.address_space = bytes});
  EXPECT_TRUE(outcome.code == 0 || outcome.code == 1 || outcome.code == 2 || outcome.code == kNotStarted) << outcome.code << '\n'
                                                                                                          << outcome.err;
  if (outcome.code == 1 || outcome.code == 2) {
    const bool ours = contains(outcome.err, "dikkat: ");
    const bool names = contains(outcome.err, "memory") || contains(outcome.err, "thread") || contains(outcome.err, "Out of memory");
    EXPECT_TRUE((ours || contains(outcome.err, "libgomp: ")) && names) << outcome.err;
  }
  if (std::filesystem::exists(workspace / (out + "/checkpoints"))) {
    bool any = false;
    for (const auto& entry : std::filesystem::directory_iterator(workspace / (out + "/checkpoints"))) {
      any = any || entry.path().extension() == ".h5";
    }
    if (any) {
      const Outcome verified = workspace.run({"verify", out});
      EXPECT_EQ(verified.code, 0) << verified.err;
    }
  }
  return outcome.code == 0;
}

}  // namespace dikkat::testing
