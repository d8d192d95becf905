#include <memory>

#include "autograd/base/error.h"
#include "train/cli/commands.h"
#include "train/cli/terminal/completions.h"
#include "train/cli/terminal/man_page.h"
#include "train/cli/terminal/streams.h"
#include "train/run/build_info.h"
#include "train/system/file.h"

namespace dikkat {

void add_completion(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat completion bash > ~/.local/share/bash-completion/completions/dikkat
  dikkat completion zsh > ~/.zfunc/_dikkat                # with fpath+=~/.zfunc before compinit
  dikkat completion fish > ~/.config/fish/completions/dikkat.fish)";
  const auto shell = std::make_shared<std::string>();
  const auto describe = program.describer();
  Command command =
      program.add("completion", "Print a script with which a shell completes dikkat's commands and options", kExamples, [shell, describe] {
        print_result(completions_for(*shell, describe()));
        flush_results();
        return 0;
      });
  command.text("SHELL", *shell, "", "Shell to print the script for: bash, zsh or fish").required();
}

void add_man(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat man ~/.local/share/man/man1 && man dikkat-train)";
  const auto folder = std::make_shared<std::string>();
  const auto describe = program.describer();
  Command command = program.add("man", "Write a manual page for each command", kExamples, [folder, describe] {
    std::error_code failed;
    std::filesystem::create_directories(*folder, failed);
    require_path(failed.value(), *folder, " cannot be created");
    for (const ManPage& page : man_pages(describe(), build_info().version)) {
      replace_file(std::filesystem::path(*folder) / page.name, page.text);
    }
    return 0;
  });
  command.text("FOLDER", *folder, "", "Folder for the pages: dikkat.1, dikkat-train.1, ...").required();
}

}  // namespace dikkat
