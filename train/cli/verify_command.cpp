#include <memory>

#include <fmt/format.h>

#include "train/checkpoint/checkpoint_list.h"
#include "train/cli/commands.h"
#include "train/cli/streams.h"

namespace dikkat {
namespace {

int verify_command(const std::string& source) {
  std::vector<std::filesystem::path> files;
  if (std::filesystem::is_directory(source)) {
    for (const CheckpointEntry& entry : list_checkpoints(source)) {
      files.push_back(entry.path);
    }
    require_input(!files.empty(), source, ": holds no checkpoint, expected a run directory with checkpoints/step-NNNNNNNNN.h5");
  } else {
    files.emplace_back(source);
  }
  int code = 0;
  for (const std::filesystem::path& file : files) {
    try {
      const CheckpointFile checkpoint = CheckpointFile::open(file);
      put(fmt::format("{}: good, step {}, {} bytes, hash {}\n", file.string(), checkpoint.state().step, checkpoint.bytes(),
                      checkpoint.hash()));
    } catch (const InputError& e) {
      tell(concat("dikkat: ", e.what()));
      code = 2;
    } catch (const Error& e) {  // it cannot be read just now; the others may
      tell(concat("dikkat: ", e.what()));
      code = std::max(code, 1);
    }
  }
  flush_results();
  return code;
}

}  // namespace

void add_verify(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat verify runs/mine
  dikkat verify runs/mine/checkpoints/step-000000700.h5)";
  const auto source = std::make_shared<std::string>();
  Command command = program.add("verify", "Read and check every byte of a checkpoint, or of all in a run directory", kExamples,
                                [source] { return verify_command(*source); });
  command.text("RUN_DIR|FILE.h5", *source, "", "A run directory or a checkpoint").required();
}

}  // namespace dikkat
