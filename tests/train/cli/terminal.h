#pragma once

#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace dikkat::testing {

/// A terminal without a person.
class Terminal {
 public:
  explicit Terminal(unsigned short columns = 80) : master_(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK)) {
    EXPECT_EQ(::grantpt(master_), 0);
    EXPECT_EQ(::unlockpt(master_), 0);
    name_ = ::ptsname(master_);
    slave_ = ::open(name_.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);  // so that there always is one
    set_columns(columns);
  }
  ~Terminal() {
    ::close(slave_);
    ::close(master_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void set_columns(unsigned short columns) const {
    const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(::ioctl(master_, TIOCSWINSZ, &size), 0);
  }
  const std::string& name() const { return name_; }
  void type(const std::string& keys) const { EXPECT_EQ(::write(master_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size())); }
  /// All text that was shown so far.
  const std::string& shown() {
    char block[4096];
    for (ssize_t count = 0; (count = ::read(master_, block, sizeof block)) > 0;) {
      shown_.append(block, static_cast<std::size_t>(count));
    }
    return shown_;
  }
  int prompts() {
    int count = 0;
    for (std::size_t at = shown().find("> "); at != std::string::npos; at = shown_.find("> ", at + 1)) {
      ++count;
    }
    return count;
  }

 private:
  int master_;
  int slave_ = -1;
  std::string name_;
  std::string shown_;
};

}  // namespace dikkat::testing
