#include "train/system/foreign_failure.h"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>
#include <thread>
#include <typeinfo>

#include <cxxabi.h>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

constexpr const char* kNoThread =
    " could not start another thread: a limit of threads (ulimit -u, or pids.max of the container) or of memory (ulimit -v) is reached; "
    "raise it, or use fewer --threads";

/// Returns whether the system allows another thread. TBB's exceptions have no error code, so this tries it.
bool can_start_a_thread() {
  try {
    std::thread([] {}).join();
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

std::string type_name(const std::exception& failure) {
  const char* const name = typeid(failure).name();
  const std::unique_ptr<char, decltype(&std::free)> readable(abi::__cxa_demangle(name, nullptr, nullptr, nullptr), &std::free);
  return readable ? readable.get() : name;
}

bool is_system_code(const std::error_code& code) {
  return code.category() == std::generic_category() || code.category() == std::system_category();
}

}  // namespace

std::string sentence_about(const std::exception& failure, std::string_view command) {
  if (dynamic_cast<const Error*>(&failure) != nullptr) {
    return failure.what();
  }
  if (const auto* file = dynamic_cast<const std::filesystem::filesystem_error*>(&failure);
      file != nullptr && is_system_code(file->code())) {
    const std::string path = file->path1().string();
    return concat(command, " could not use ", path.empty() ? "a file or folder, possibly the current folder" : path, ": ",
                  describe_errno(file->code().value()));
  }
  if (const auto* refused = dynamic_cast<const std::system_error*>(&failure); refused != nullptr && is_system_code(refused->code())) {
    const int error = refused->code().value();
    return error == EAGAIN ? concat(command, kNoThread)
                           : concat(command, " failed because the system refused a call: ", describe_errno(error));
  }
  if (!can_start_a_thread()) {
    return concat(command, kNoThread);
  }
  return concat(command,
                " ended because of an error in the program or one of its libraries. Please report it, with the command and this text: ",
                type_name(failure), ", ", failure.what());
}

}  // namespace dikkat
