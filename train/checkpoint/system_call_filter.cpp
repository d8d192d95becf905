#include "train/checkpoint/system_call_filter.h"

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace dikkat {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kMachine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t kMachine = AUDIT_ARCH_AARCH64;
#else  // without a filter the limits must do
constexpr std::uint32_t kMachine = 0;
#endif

constexpr std::uint32_t kAllowed[] = {
    SYS_read,         SYS_pread64,     SYS_write,     SYS_lseek,           SYS_fstat,        SYS_newfstatat,  // which only look
    SYS_close,        SYS_close_range, SYS_mmap,      SYS_munmap,          SYS_mremap,       SYS_mprotect,
    SYS_madvise,      SYS_brk,         SYS_futex,     SYS_clock_gettime,   SYS_getpid,       SYS_getppid,
    SYS_gettid,       SYS_sched_yield, SYS_nanosleep, SYS_clock_nanosleep, SYS_rt_sigaction, SYS_rt_sigprocmask,
    SYS_rt_sigreturn, SYS_sigaltstack, SYS_exit,      SYS_exit_group,
#if defined(SYS_pause)
    SYS_pause,
#endif
};
/// Allowed where their first argument is this process.
constexpr std::uint32_t kToItself[] = {SYS_kill, SYS_tgkill};

// A program of the kernel's packet filter: each line is an instruction. A jump counts the instructions that it passes over.

void load(std::vector<sock_filter>& program, std::size_t offset) {
  program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset)));
}
void give(std::vector<sock_filter>& program, std::uint32_t verdict) { program.push_back(BPF_STMT(BPF_RET | BPF_K, verdict)); }
/// The next `count` instructions are for this value alone.
void only_if(std::vector<sock_filter>& program, std::uint32_t value, std::uint8_t count) {
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, count));
}

constexpr std::uint32_t kRefuse = SECCOMP_RET_ERRNO | EPERM;

std::vector<sock_filter> filter_for(std::uint32_t process) {
  std::vector<sock_filter> program;
  load(program, offsetof(seccomp_data, arch));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kMachine, 1, 0));
  give(program, kRefuse);
  load(program, offsetof(seccomp_data, nr));
  for (const std::uint32_t call : kAllowed) {
    only_if(program, call, 1);
    give(program, SECCOMP_RET_ALLOW);
  }
  for (const std::uint32_t call : kToItself) {
    only_if(program, call, 4);
    load(program, offsetof(seccomp_data, args));
    only_if(program, process, 1);
    give(program, SECCOMP_RET_ALLOW);
    give(program, kRefuse);
  }
  give(program, kRefuse);
  return program;
}

}  // namespace

bool keep_computing_calls_only() {
  if (kMachine == 0) {
    return false;
  }
  std::vector<sock_filter> program = filter_for(static_cast<std::uint32_t>(::getpid()));
  const sock_fprog filter{.len = static_cast<unsigned short>(program.size()), .filter = program.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

}  // namespace dikkat
