#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "train/checkpoint/checkpoint_list.h"
#include "train/cli/commands.h"
#include "train/cli/terminal/json_output.h"
#include "train/cli/terminal/streams.h"
#include "train/system/folder.h"
#include "train/system/format_numbers.h"

namespace dikkat {
namespace {

struct VerifyArguments {
  std::string source;
  bool json = false;
};

int verify_command(const VerifyArguments& arguments) {
  // Find the checkpoints.
  const std::string& source = arguments.source;
  std::vector<std::filesystem::path> files;
  if (is_folder(source)) {
    for (const CheckpointEntry& entry : list_checkpoints(source)) {
      files.push_back(entry.path);
    }
    require_input(!files.empty(), source, " has no checkpoint, expected a run directory with checkpoints/step-NNNNNNNNN.h5");
  } else {
    files.emplace_back(source);
  }
  // Check each of them.
  int code = 0;
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  const auto is_bad = [&](const std::filesystem::path& file, const Error& error, int its_code) {
    warn(concat("dikkat: ", error.what()));
    list.push_back({{"checkpoint", file.string()}, {"good", false}, {"error", error.what()}});
    code = std::max(code, its_code);
  };
  for (const std::filesystem::path& file : files) {
    try {
      const CheckpointFile checkpoint = CheckpointFile::open(file);
      list.push_back({{"checkpoint", file.string()},
                      {"good", true},
                      {"step", checkpoint.state().step},
                      {"bytes", checkpoint.bytes()},
                      {"hash", checkpoint.hash()}});
      if (!arguments.json) {
        print_result(fmt::format("{}: good, step {}, {} bytes, sha256 {}\n", file.string(), checkpoint.state().step,
                                 grouped_digits(checkpoint.bytes()), checkpoint.hash()));
      }
    } catch (const InputError& e) {
      is_bad(file, e, 2);
    } catch (const Error& e) {  // it cannot be read at the moment, but the others may be readable
      is_bad(file, e, 1);
    }
  }
  if (arguments.json) {
    print_json({{"good", code == 0}, {"checkpoints", list}});
  }
  flush_results();
  return code;
}

}  // namespace

void add_verify(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat verify runs/mine
  dikkat verify runs/mine/checkpoints/step-000000700.h5
  dikkat verify runs/mine --json
Exit codes: 0 if all checkpoints are good, 2 if one is damaged, 1 if one cannot be read at the
moment.)";
  const auto a = std::make_shared<VerifyArguments>();
  Command command = program.add("verify", "Check every byte of a checkpoint, or of all checkpoints in a run directory", kExamples,
                                [a] { return verify_command(*a); });
  command.text("RUN_DIR|FILE.h5", a->source, "", "A run directory or a checkpoint").required();
  command.flag("--json", a->json, "Print one JSON object: good, and for each checkpoint step, bytes and hash, or error");
}

}  // namespace dikkat
