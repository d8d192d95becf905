#include "train/cli/on_end.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "train/cli/streams.h"
#include "train/io/folder.h"

namespace dikkat {
namespace {

/// This process's environment, with these variables in place of those of the same names.
std::vector<std::string> environment_with(const std::vector<std::string>& variables) {
  std::vector<std::string> all = variables;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view text = *one;
    const std::string_view name = text.substr(0, text.find('=') + 1);
    if (std::none_of(variables.begin(), variables.end(), [&](const std::string& ours) { return ours.starts_with(name); })) {
      all.emplace_back(text);
    }
  }
  return all;
}

/// Starts a shell with a signal mask like that of any program: this process blocks signals on all threads. Returns its id; -1 if it could
/// not be started, with errno.
pid_t start_shell(const std::string& command, std::vector<std::string> environment) {
  std::vector<char*> variables;
  for (std::string& one : environment) {
    variables.push_back(one.data());
  }
  variables.push_back(nullptr);
  std::string shell = "/bin/sh", flag = "-c", text = command;
  char* arguments[] = {shell.data(), flag.data(), text.data(), nullptr};
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none, all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t child = -1;
  errno = ::posix_spawn(&child, shell.c_str(), &files, &attributes, arguments, variables.data());
  const int failed = errno;
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&files);
  errno = failed;
  return failed == 0 ? child : -1;
}

}  // namespace

void OnEnd::ended(const Trainer& trainer, const char* state, const std::string& reason) {
  command_ = trainer.config().train.on_end;
  const TrainingState& s = trainer.state();
  const bool has_best = s.best_step >= 0;
  variables_ = {concat("DIKKAT_STATE=", state),
                concat("DIKKAT_REASON=", reason),
                concat("DIKKAT_RUN=", absolute_path(trainer.directory()).string()),
                concat("DIKKAT_STEP=", s.step),
                has_best ? concat("DIKKAT_BEST_LOSS=", s.best_val_loss) : "DIKKAT_BEST_LOSS=",
                has_best ? concat("DIKKAT_BEST_STEP=", s.best_step) : "DIKKAT_BEST_STEP="};
}

OnEnd::~OnEnd() {
  if (command_.empty()) {
    return;
  }
  const pid_t child = start_shell(command_, environment_with(variables_));
  if (child < 0) {
    warn(concat("warning   train.on_end could not be started: ", errno_text));
    return;
  }
  constexpr auto kPatience = std::chrono::minutes(1);
  constexpr auto kMoment = std::chrono::milliseconds(20);
  const auto end = std::chrono::steady_clock::now() + kPatience;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > end) {
      warn("warning   train.on_end still runs after a minute: it is left alone");
      return;
    }
    std::this_thread::sleep_for(kMoment);
  }
  if (status != 0) {
    warn(concat("warning   train.on_end ended with ", WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), ": ", command_));
  }
}

}  // namespace dikkat
