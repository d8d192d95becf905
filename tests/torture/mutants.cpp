// Preloaded into the program (LD_PRELOAD), this breaks what DIKKAT_MUTANT names. mutants.py checks that torture finds each mutation.
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace {

bool is(const char* mutant) {
  const char* name = std::getenv("DIKKAT_MUTANT");
  return name != nullptr && std::strcmp(name, mutant) == 0;
}

/// The C library's function of this name.
template <class Function>
Function* real(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

/// Removes all checkpoints except the newest.
void remove_older_checkpoints() {
  std::set<std::filesystem::path> checkpoints;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator("run/checkpoints", error)) {
    if (file.path().filename().string().starts_with("step-")) {
      checkpoints.insert(file.path());
    }
  }
  for (const auto& path : checkpoints) {
    if (path != *checkpoints.rbegin()) {
      ::unlink(path.c_str());
    }
  }
}

}  // namespace

extern "C" {

int sigaction(int number, const struct sigaction* action, struct sigaction* old) noexcept {
  struct sigaction ignoring{};
  ignoring.sa_handler = SIG_IGN;
  const bool heard = number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGUSR1;
  return real<int(int, const struct sigaction*, struct sigaction*)>("sigaction")(
      number, action != nullptr && heard && is("deaf") ? &ignoring : action, old);
}

int pthread_sigmask(int how, const sigset_t* set, sigset_t* old) noexcept {
  return real<int(int, const sigset_t*, sigset_t*)>("pthread_sigmask")(how, is("open") && how == SIG_BLOCK ? nullptr : set, old);
}

int fsync(int file) {
  const int result = real<int(int)>("fsync")(file);
  return is("sync-always-done") ? 0 : result;
}

int posix_fallocate(int file, off_t offset, off_t bytes) {
  if (is("removes-too-early")) {
    remove_older_checkpoints();
  }
  return real<int(int, off_t, off_t)>("posix_fallocate")(file, offset, bytes);
}

int statvfs(const char* path, struct statvfs* told) noexcept {
  const int result = real<int(const char*, struct statvfs*)>("statvfs")(path, told);
  if (is("sees-no-full-disk")) {
    told->f_blocks = 0;
  }
  return result;
}

}  // extern "C"

namespace {

/// Before main(): removes everything of the run that the program will resume.
[[gnu::constructor]] void forget(int count, char** words) {
  std::error_code error;
  if (is("forgets") && count > 1 && std::strcmp(words[1], "resume") == 0) {
    for (const auto& file : std::filesystem::directory_iterator("run/checkpoints", error)) {
      ::unlink(file.path().c_str());
    }
  }
}

}  // namespace
