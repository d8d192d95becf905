// Malicious checkpoints: their hashes are valid, their index is hostile. Writes each as FOLDER/NAME.h5, and other.h5, a file that none of
// them may make the program read. Prints the names. good.h5 among them is unchanged.
#include "tests/torture/program.h"
#include "tests/torture/tally.h"
#include "tests/train/checkpoint/forged.h"
#include "tests/train/checkpoint/sample.h"

namespace dikkat::torture {
namespace {

int run(const std::filesystem::path& folder) {
  const std::filesystem::path saved = save_checkpoint(folder, Sample().snapshot).path();
  const std::string good = read_file(saved);
  std::filesystem::rename(saved, folder / "other.h5");
  nlohmann::json names = nlohmann::json::array();
  const auto put = [&](const std::string& name, const std::string& bytes) {
    write_file(folder / (name + ".h5"), bytes);
    names.push_back(name);
  };
  put("good", forged::sealed(forged::parts_of(good)));
  for (const forged::Case& c : forged::hostile_cases()) {
    put(c.name, c.forge(good));
  }
  std::cout << names << std::endl;
  return 0;
}

}  // namespace
}  // namespace dikkat::torture

int main(int argc, char** argv) {
  using namespace dikkat::torture;
  return run_program("hostile FOLDER", [&] { return run(argc > 1 ? argv[1] : ""); });
}
