#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace dikkat::testing {

/// The settings with which the program is started.
struct Start {
  std::vector<std::string> arguments = {};
  std::string folder = ".";  // working directory
  std::string input = {};    // standard input's text
  std::map<std::string, std::string> environment = {};
  // A path, or kClosed, that replaces the captured streams, or `input`.
  std::string in = {}, out = {}, err = {};
  std::size_t address_space = 0;      // bytes that it may map (RLIMIT_AS); 0: no further limit
  std::chrono::seconds patience{60};  // the program is killed when it takes longer
};

inline const std::string kClosed = "(closed)";

struct Outcome {
  int code = 0;  // exit code; -signal if a signal ended the process
  std::string out, err;
};

/// `dikkat` as a separate process.
class Program {
 public:
  explicit Program(Start start)
      : input_(memory_file(start.input)), out_(memory_file("")), err_(memory_file("")), patience_(start.patience) {
    // The machine is shared: threads that spin while they wait would slow down every test.
    std::map<std::string, std::string> settings = {{"GOMP_SPINCOUNT", "1000"}, {"KMP_BLOCKTIME", "0"}, {"OMP_NUM_THREADS", "2"}};
    for (const auto& [name, value] : start.environment) {
      settings[name] = value;
    }
    std::vector<std::string> environment;
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string text = *entry;
      if (!settings.contains(text.substr(0, text.find('=')))) {
        environment.push_back(text);
      }
    }
    for (const auto& [name, value] : settings) {
      environment.push_back(name + "=" + value);
    }
    std::vector<std::string> arguments = {DIKKAT_PROGRAM};
    arguments.insert(arguments.end(), start.arguments.begin(), start.arguments.end());

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addchdir_np(&actions, start.folder.c_str());
    connect(actions, STDIN_FILENO, input_, start.in, O_RDONLY);
    connect(actions, STDOUT_FILENO, out_, start.out, O_WRONLY);
    connect(actions, STDERR_FILENO, err_, start.err, O_WRONLY);
    // posix_spawn() sets no limits. prlimit does, and then becomes the program.
    const bool limited = start.address_space > 0;
    if (limited) {
      arguments.insert(arguments.begin(), {"prlimit", "--as=" + std::to_string(start.address_space)});
    }
    const int error = ::posix_spawn(&pid_, limited ? "/usr/bin/prlimit" : DIKKAT_PROGRAM, &actions, nullptr, pointers(arguments).data(),
                                    pointers(environment).data());
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
      ADD_FAILURE() << DIKKAT_PROGRAM << " cannot be started: error " << error;
      pid_ = -1;
    }
  }
  ~Program() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    for (const int file : {input_, out_, err_}) {
      ::close(file);
    }
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  void send(int signal) const { ::kill(pid_, signal); }

  /// Waits until the condition holds; false if the process ended before that or it takes too long.
  template <class Condition>
  bool until(Condition&& condition) {
    const auto deadline = std::chrono::steady_clock::now() + patience_;
    while (!condition()) {
      if (ended() || std::chrono::steady_clock::now() > deadline) {
        return false;
      }
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
    return true;
  }

  /// Whether the process handles SIGINT itself by now.
  bool handles_interrupts() const { return has_signal("status", "SigCgt", SIGINT); }
  /// Whether the signal, which was sent, is still pending. (A second one would be merged with it.)
  bool has_pending(int signal) const { return has_signal("status", "ShdPnd", signal); }
  /// Whether each of the process's threads blocks the signal.
  std::vector<bool> blocked_by_thread(int signal) const {
    std::vector<bool> blocked;
    std::error_code ended;
    for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/task", ended)) {
      blocked.push_back(has_signal("task/" + task.path().filename().string() + "/status", "SigBlk", signal));
    }
    return blocked;
  }

  /// The output so far.
  std::string out() const { return text_of(out_); }
  std::string err() const { return text_of(err_); }

  /// Waits for the process to end. If that takes too long, kills it and fails the test.
  Outcome wait() {
    if (!until([] { return false; }) && pid_ > 0) {
      ADD_FAILURE() << "the program did not end";
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, &status_, 0);
      pid_ = -1;
    }
    return {.code = WIFEXITED(status_) ? WEXITSTATUS(status_) : -WTERMSIG(status_), .out = text_of(out_), .err = text_of(err_)};
  }

 private:
  static int memory_file(const std::string& text) {
    const int file = ::memfd_create("dikkat test", MFD_CLOEXEC);
    EXPECT_EQ(::pwrite(file, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    return file;
  }
  static std::string text_of(int file) {
    std::string text(static_cast<std::size_t>(::lseek(file, 0, SEEK_END)), '\0');
    EXPECT_EQ(::pread(file, text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
    return text;
  }
  /// Whether a set of signals in a status file under /proc/PID contains this one.
  bool has_signal(const std::string& file, const std::string& set, int signal) const {
    std::ifstream status("/proc/" + std::to_string(pid_) + "/" + file);
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with(set + ":")) {
        return (std::stoull(line.substr(set.size() + 1), nullptr, 16) >> (signal - 1) & 1U) != 0;
      }
    }
    return false;
  }
  static void connect(posix_spawn_file_actions_t& actions, int stream, int captured, const std::string& instead, int mode) {
    if (instead == kClosed) {
      posix_spawn_file_actions_addclose(&actions, stream);
    } else if (!instead.empty()) {
      posix_spawn_file_actions_addopen(&actions, stream, instead.c_str(), mode, 0);
    } else {
      posix_spawn_file_actions_adddup2(&actions, captured, stream);
    }
  }
  static std::vector<char*> pointers(std::vector<std::string>& texts) {
    std::vector<char*> list;
    for (std::string& text : texts) {
      list.push_back(text.data());
    }
    list.push_back(nullptr);
    return list;
  }
  bool ended() {
    if (pid_ > 0 && ::waitpid(pid_, &status_, WNOHANG) == pid_) {
      pid_ = -1;
    }
    return pid_ < 0;
  }

  int input_, out_, err_;
  std::chrono::seconds patience_;
  pid_t pid_ = -1;
  int status_ = 0;
};

inline Outcome run(Start start) { return Program(std::move(start)).wait(); }

}  // namespace dikkat::testing
