#include "train/checkpoint/isolated_parse.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <thread>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/train/checkpoint/sample.h"
#include "train/checkpoint/image.h"

namespace dikkat {
namespace {

using Parse = std::function<ImageIndex(const File&)>;

/// A good checkpoint, parsed by a function that is not.
class IsolatedParse : public testing::Test {
 protected:
  IsolatedParse() { limits_.patience_ms = 20'000; }

  template <class Kind = InputError>
  std::string complaint(const Parse& parse) {
    return text_of<Kind>([&] { parse_in_child(file_, limits_, parse); });
  }
  template <class Kind = InputError>
  void expect_complaint(const char* words, const Parse& parse) {
    const std::string text = complaint<Kind>(parse);
    EXPECT_NE(text.find(words), std::string::npos) << '"' << text << "\" lacks \"" << words << '"';
  }
  /// What `code`, run in place of the parser, gives: 0 or errno.
  int error_in_child(const std::function<int()>& code) {
    const std::string text = complaint([&](const File&) -> ImageIndex { fail_input(code()); });
    return std::stoi(text);
  }

  ScratchDirectory scratch_;
  Sample sample_;
  std::filesystem::path path_ = save_checkpoint(scratch_.path(), sample_.snapshot).path();
  File file_ = File::open_regular(path_);
  ChildLimits limits_ = parse_limits(file_.size());
};

ImageIndex honest(const File& file) { return parse_image(file, kFormat); }

int errno_of(long result) { return result < 0 ? errno : 0; }

TEST_F(IsolatedParse, GivesWhatTheParserGives) {
  const ImageIndex here = parse_image(file_, kFormat);
  const ImageIndex there = parse_in_child(file_, kFormat);
  EXPECT_TRUE(same_bits(here.state, there.state));
  EXPECT_EQ(here.config, there.config);
  EXPECT_EQ(here.tokenizer, there.tokenizer);
  ASSERT_EQ(here.tensors.size(), 12U);
  ASSERT_EQ(there.tensors.size(), here.tensors.size());
  for (std::size_t i = 0; i < here.tensors.size(); ++i) {
    EXPECT_EQ(here.tensors[i].path, there.tensors[i].path);
    EXPECT_EQ(here.tensors[i].shape, there.tensors[i].shape);
    EXPECT_EQ(here.tensors[i].offset, there.tensors[i].offset);
  }
}

TEST_F(IsolatedParse, GivesTheErrorsTheParserThrows) {
  EXPECT_EQ(complaint([](const File&) -> ImageIndex { fail_input("is odd\x1B[2J"); }), "is odd?[2J");
  EXPECT_EQ(complaint([](const File&) -> ImageIndex { fail_input(std::string(100'000, 'x')); }).size(), 2000U);
  try {
    parse_in_child(file_, limits_, [](const File&) -> ImageIndex { fail("the disk failed"); });
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(dynamic_cast<const InputError*>(&error), nullptr);
    EXPECT_STREQ(error.what(), "the disk failed");
  }
}

TEST_F(IsolatedParse, ACrashIsABadFile) {
  expect_complaint("cannot be parsed: the parser crashed (signal 11); the file is damaged or hostile", [](const File&) -> ImageIndex {
    ::raise(SIGSEGV);
    return {};
  });
  expect_complaint("crashed (signal 6)", [](const File&) -> ImageIndex { std::abort(); });
  expect_complaint("ended too early (status 3)", [](const File&) -> ImageIndex { ::_exit(3); });
  expect_complaint("ended too early", [](const File&) -> ImageIndex { throw 7; });
}

TEST_F(IsolatedParse, AKillFromOutsideIsNoFaultOfTheFile) {
  try {
    parse_in_child(file_, limits_, [](const File&) -> ImageIndex {
      ::raise(SIGKILL);
      return {};
    });
    FAIL();
  } catch (const InputError& error) {
    FAIL() << error.what();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("was killed, as where memory is short"), std::string::npos) << error.what();
  }
}

TEST_F(IsolatedParse, AnEndlessLoopEnds) {
  limits_.processor_seconds = 1;
  expect_complaint("took more than 1 s of processor time", [](const File&) -> ImageIndex {
    for (std::atomic<unsigned> turns = 0;; ++turns) {
    }
  });
}

TEST_F(IsolatedParse, SleepingForEverEnds) {
  limits_.patience_ms = 300;
  const auto sleep_for_ever = [] {
    for (;;) {
      ::pause();
    }
  };
  expect_complaint<Error>("came to no end within 0.3 s", [&](const File&) -> ImageIndex {
    sleep_for_ever();
    return {};
  });
  expect_complaint<Error>("came to no end within 0.3 s", [&](const File&) -> ImageIndex {
    ::close_range(0, ~0U, 0);  // as if it had answered
    sleep_for_ever();
    return {};
  });
  expect_complaint<Error>("came to no end within 0.3 s", [&](const File&) -> ImageIndex {
    ::raise(SIGSTOP);
    return {};
  });
}

TEST_F(IsolatedParse, MemoryIsBounded) {
  expect_complaint("cannot be parsed: ", [](const File&) -> ImageIndex {
    // Not freed: what is held for ever is what counts.
    for (std::vector<char*> held;; held.push_back(new char[std::size_t{16} << 20])) {
      if (held.size() > 1000) {
        ::_exit(0);  // 16 GiB were given
      }
    }
  });
  EXPECT_EQ(complaint([](const File&) -> ImageIndex { throw std::bad_alloc(); }),
            "cannot be parsed: that takes more than 64 MiB; the file is damaged or hostile");
}

TEST_F(IsolatedParse, NothingElseCanBeOpenedWrittenOrStarted) {
  ASSERT_EQ(errno_of(::close(::open("/etc/passwd", O_RDONLY))), 0);
  EXPECT_EQ(error_in_child([] { return errno_of(::open("/etc/passwd", O_RDONLY)); }), EPERM);
  EXPECT_EQ(error_in_child([] { return errno_of(::socket(AF_INET, SOCK_STREAM, 0)); }), EPERM);
  EXPECT_EQ(error_in_child([] { return errno_of(::fork()); }), EPERM);
  EXPECT_EQ(error_in_child([] { return errno_of(::execl("/bin/true", "true", nullptr)); }), EPERM);
  EXPECT_EQ(error_in_child([] { return errno_of(::kill(::getppid(), SIGTERM)); }), EPERM);
  const std::string file = scratch_ / "others";
  write_file(file, "mine");
  EXPECT_EQ(error_in_child([&] { return errno_of(::truncate(file.c_str(), 0)); }), EPERM);
  EXPECT_EQ(error_in_child([&] { return errno_of(::unlink(file.c_str())); }), EPERM);
  EXPECT_EQ(error_in_child([&] { return errno_of(::rename(file.c_str(), (file + "2").c_str())); }), EPERM);
  EXPECT_EQ(error_in_child([&] { return errno_of(::chmod(file.c_str(), 0)); }), EPERM);
  EXPECT_EQ(error_in_child([&] { return errno_of(::mkdir((file + "3").c_str(), 0700)); }), EPERM);
  EXPECT_EQ(read_file(file), "mine");
  const int open_here = ::open((scratch_ / "mine").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(open_here, 0);
  EXPECT_EQ(error_in_child([&] { return errno_of(::write(open_here, "x", 1)); }), EBADF);
  EXPECT_EQ(error_in_child([&] { return errno_of(::write(STDOUT_FILENO, "x", 1)); }), EBADF);
  EXPECT_EQ(error_in_child([&] { return errno_of(::write(file_.descriptor(), "x", 1)); }), EBADF);  // read-only
  ::close(open_here);
}

TEST_F(IsolatedParse, DescriptorsAreClosedWhereTheKernelHasNoCallForMany) {
  const int open_here = ::open((scratch_ / "mine").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(open_here, 0);
  const pid_t child = ::fork();  // what is refused once is refused for ever
  if (child == 0) {
    sock_filter program[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                             BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
                             BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const sock_fprog filter{.len = std::size(program), .filter = program};
    const bool refused = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0 &&
                         ::close_range(1000, 1000, 0) != 0;
    const bool closed = error_in_child([&] { return errno_of(::write(open_here, "x", 1)); }) == EBADF;
    ::_exit(!refused ? 1 : !closed ? 2 : complaint(honest).empty() ? 0 : 3);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  ::close(open_here);
}

TEST_F(IsolatedParse, AnswersThatNeverEndAreCutOff) {
  const auto flood = [&](int pipe) {
    for (;;) {
      write_answer(pipe, std::string(10'000, 'x'));
    }
  };
  LimitedChild child(limits_, {}, flood);
  const LimitedChild::Answer answer = child.answer();
  EXPECT_EQ(answer.bytes, "");
  EXPECT_NE(answer.trouble.find("gave an answer of more than "), std::string::npos);
}

TEST_F(IsolatedParse, ALongAnswerComesWhole) {
  std::string expected(1'000'000, 'x');  // more than a pipe holds
  expected[777'777] = 'y';
  LimitedChild child(limits_ = parse_limits(2'000'000), {}, [&](int pipe) { write_answer(pipe, expected); });
  const LimitedChild::Answer answer = child.answer();
  EXPECT_EQ(answer.trouble, "");
  EXPECT_TRUE(answer.bytes == expected);
}

std::atomic<int> heeded = 0;
void heed(int) { ++heeded; }

TEST_F(IsolatedParse, SignalsOfTheTerminalAreForTheParent) {
  struct sigaction action {};
  struct sigaction before {};
  action.sa_handler = heed;
  sigaction(SIGINT, &action, &before);
  heeded = 0;
  const ImageIndex image = parse_in_child(file_, limits_, [](const File& file) {
    ::raise(SIGINT);  // as Ctrl-C does, to both
    ::raise(SIGTERM);
    if (heeded != 0) {
      ::_exit(1);
    }
    return parse_image(file, kFormat);
  });
  EXPECT_EQ(image.tensors.size(), 12U);
  EXPECT_EQ(heeded, 0);
  ::raise(SIGINT);  // here it counts
  EXPECT_EQ(heeded, 1);
  sigaction(SIGINT, &before, nullptr);
}

TEST_F(IsolatedParse, WorksWhereChildrenAreNotWaitedFor) {
  const auto before = ::signal(SIGCHLD, SIG_IGN);
  EXPECT_EQ(complaint(honest), "");
  expect_complaint("makes no sense", [](const File&) -> ImageIndex { std::abort(); });  // how it ended is not told
  ::signal(SIGCHLD, before);
}

TEST_F(IsolatedParse, LeavesNoProcessAndNoDescriptor) {
  const auto open_descriptors = [] { return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}); };
  const auto before = open_descriptors();
  limits_.patience_ms = 100;
  complaint<Error>([](const File&) -> ImageIndex { return ::pause(), ImageIndex{}; });
  complaint([](const File&) -> ImageIndex { std::abort(); });
  complaint(honest);
  {
    const LimitedChild abandoned(limits_, {}, [](int) { ::pause(); });
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(IsolatedParse, FromManyThreadsBesideSaves) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "of the sanitizer's memory, unlike the C library's, a child waits for ever for what another thread had locked";
#endif
#endif
  std::vector<std::thread> threads;
  std::atomic<int> good = 0;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (int turn = 0; turn < 5; ++turn) {
        if (thread == 0) {
          const ScratchDirectory elsewhere;
          save_checkpoint(elsewhere.path(), sample_.snapshot);
        } else {
          CheckpointFile::open(path_);
        }
        ++good;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(good, 20);
}

}  // namespace
}  // namespace dikkat
