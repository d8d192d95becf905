// Damages a checkpoint in thousands of ways, in process. Every case must be refused with a message. tests/torture/damage.py starts it.
#include <algorithm>
#include <cstring>
#include <functional>
#include <random>

#include <fcntl.h>
#include <unistd.h>

#include "autograd/base/error.h"
#include "tests/torture/program.h"
#include "tests/torture/tally.h"
#include "tests/train/checkpoint/sample.h"

namespace dikkat::torture {
namespace {

/// A file in memory with the bytes of a good checkpoint, which cases damage and restore.
class Patient {
 public:
  explicit Patient(const std::filesystem::path& original) : bytes_(read_file(original)), path_(folder_ / "step-000000001.h5") {
    write_file(path_, bytes_);
    file_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
    require(file_ >= 0 && !bytes_.empty(), original.string(), " cannot be copied to ", path_.string());
    require(refusal(path_).empty(), original.string(), " is not a good checkpoint: ", refusal(path_));
  }
  Patient(const Patient&) = delete;
  Patient& operator=(const Patient&) = delete;
  ~Patient() { ::close(file_); }

  const std::string& bytes() const { return bytes_; }
  index size() const { return static_cast<index>(bytes_.size()); }

  void write(index at, std::string_view bytes) {
    require(::pwrite(file_, bytes.data(), bytes.size(), at) == static_cast<ssize_t>(bytes.size()), "cannot write to ", path_.string());
  }
  void resize(index size) { require(::ftruncate(file_, size) == 0, "cannot resize ", path_.string()); }
  void heal(index at, index count) {
    write(at, std::string_view(bytes_).substr(static_cast<std::size_t>(at), static_cast<std::size_t>(count)));
  }

  /// One case: the damaged file must be refused with a message that has its name. `name` is called after a failure.
  void judge(Tally& tally, const std::function<std::string()>& name) const {
    ++tally.cases;
    std::string text;
    try {
      text = refusal(path_);
    } catch (const std::exception& error) {
      return tally.fail(name() + ": another error than InputError: " + error.what());
    }
    if (text.empty()) {
      tally.fail(name() + ": accepted");
    } else if (!text.starts_with(path_.string() + " ") || text.size() < path_.string().size() + 10 ||
               text.find('\n') != std::string::npos) {
      tally.fail(name() + ": no message with the file's name: " + text);
    } else {
      ++tally.refused;
    }
  }

 private:
  ScratchDirectory folder_;
  std::string bytes_;
  std::filesystem::path path_;
  int file_ = -1;
};

std::string name_of(const char* what, index at, index how) { return concat(what, ' ', at, ' ', how); }

/// Flips bits of bytes begin to end - 1: each bit, or one chosen by the seed.
void flip(Patient& patient, Tally& tally, index begin, index end, bool every_bit, std::mt19937_64& random) {
  for (index at = begin; at < std::min(end, patient.size()); ++at) {
    for (index bit = every_bit ? 0 : static_cast<index>(random() % 8), last = every_bit ? 8 : bit + 1; bit < last; ++bit) {
      const char changed = static_cast<char>(patient.bytes()[static_cast<std::size_t>(at)] ^ (1 << bit));
      patient.write(at, {&changed, 1});
      patient.judge(tally, [&] { return name_of("flip byte, bit", at, bit); });
    }
    patient.heal(at, 1);
  }
}

void truncate(Patient& patient, Tally& tally, index begin, index end) {
  for (index size = begin; size < std::min(end, patient.size()); ++size) {
    patient.resize(size);
    patient.judge(tally, [&] { return name_of("cut to", size, 0); });
  }
  patient.resize(patient.size());
  patient.heal(0, patient.size());
}

/// Appends begin to end - 1 bytes of junk to the file: noise, zeros, or the file's own beginning.
void append(Patient& patient, Tally& tally, index begin, index end, std::mt19937_64& random) {
  std::string noise(static_cast<std::size_t>(end) + 1, '\0');
  std::generate(noise.begin(), noise.end(), [&] { return static_cast<char>(random()); });
  const std::string zeros(noise.size(), '\0');
  for (index count = std::max<index>(begin, 1); count < end; ++count) {
    const std::string& junk = count % 3 == 0 ? noise : count % 3 == 1 ? zeros : patient.bytes();
    patient.resize(patient.size());
    patient.write(patient.size(), std::string_view(junk).substr(0, static_cast<std::size_t>(count)));
    patient.judge(tally, [&] { return name_of("append", count, count % 3); });
  }
  patient.resize(patient.size());
}

/// Typical damage: lost, repeated or swapped sectors, noise, missing bytes.
void mangle(Patient& patient, Tally& tally, index count, std::mt19937_64& random) {
  const auto below = [&](index limit) { return static_cast<index>(random() % static_cast<std::uint64_t>(limit)); };
  constexpr index kSector = 512;
  for (index i = 0; i < count; ++i) {
    std::string bytes = patient.bytes();
    const index sectors = patient.size() / kSector;
    const auto sector = [&] { return bytes.begin() + below(sectors) * kSector; };
    const index kind = below(6);
    switch (kind) {
      case 0: std::fill_n(sector(), kSector, '\0'); break;
      case 1: std::copy_n(patient.bytes().begin() + below(sectors) * kSector, kSector, sector()); break;
      case 2: {
        const auto one = sector();
        std::swap_ranges(one, one + kSector, sector());
        break;
      }
      case 3:
        std::generate_n(bytes.begin() + below(patient.size() - 64), 1 + below(64), [&] { return static_cast<char>(random()); });
        break;
      case 4: bytes.erase(static_cast<std::size_t>(below(patient.size())), static_cast<std::size_t>(1 + below(16))); break;
      default: bytes.insert(static_cast<std::size_t>(below(patient.size())), 1, static_cast<char>(random())); break;
    }
    if (bytes == patient.bytes()) {
      continue;  // two sectors of zeros were swapped, or one with itself
    }
    patient.resize(static_cast<index>(bytes.size()));
    patient.write(0, bytes);
    patient.judge(tally, [&] { return name_of("mangle", i, kind); });
  }
  patient.resize(patient.size());
  patient.heal(0, patient.size());
}

/// A checkpoint of GPT-2's size: flips `count` bits at random positions.
void flip_in_a_large_one(Tally& tally, index count, std::mt19937_64& random) {
  const ScratchDirectory scratch(ScratchDirectory::On::disk);
  Sample sample;
  for (const char* path : {"model/large", "optimizer/m/large", "optimizer/v/large"}) {
    sample.add(path, {124, 1'000'000});
  }
  const std::filesystem::path path = save_checkpoint(scratch.path(), sample.snapshot).path();
  sample.numbers.clear();
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  const auto size = static_cast<std::uint64_t>(std::filesystem::file_size(path));
  for (index i = 0; i < count; ++i) {
    const auto at = static_cast<off_t>(random() % size);
    char byte = 0;
    require(::pread(file, &byte, 1, at) == 1, "cannot read the large checkpoint");
    const char changed = static_cast<char>(byte ^ (1 << random() % 8));
    require(::pwrite(file, &changed, 1, at) == 1, "cannot write to the large checkpoint");
    ++tally.cases;
    if (refusal(path).empty()) {
      tally.fail(name_of("large, byte", at, 0) + ": accepted");
    } else {
      ++tally.refused;
    }
    require(::pwrite(file, &byte, 1, at) == 1, "cannot mend the large checkpoint");
  }
  ::close(file);
}

int run(const std::vector<std::string>& words) {
  const auto number = [&](std::size_t i) { return std::stoll(words.at(i)); };
  Tally tally;
  if (words.at(0) == "large") {
    std::mt19937_64 random(static_cast<std::uint64_t>(number(2)));
    flip_in_a_large_one(tally, number(1), random);
  } else {
    std::mt19937_64 random(static_cast<std::uint64_t>(number(4)));
    Patient patient(words.at(1));
    if (words[0] == "flip-one" || words[0] == "flip-all") {
      flip(patient, tally, number(2), number(3), words[0] == "flip-all", random);
    } else if (words[0] == "truncate") {
      truncate(patient, tally, number(2), number(3));
    } else if (words[0] == "append") {
      append(patient, tally, number(2), number(3), random);
    } else if (words[0] == "mangle") {
      mangle(patient, tally, number(3) - number(2), random);
    } else {
      fail("damage: unknown kind ", words[0]);
    }
  }
  tally.print();
  return 0;
}

}  // namespace
}  // namespace dikkat::torture

int main(int argc, char** argv) {
  using namespace dikkat::torture;
  return run_program("damage flip-one|flip-all|truncate|append|mangle FILE BEGIN END SEED | large COUNT SEED",
                     [&] { return run({argv + 1, argv + argc}); });
}
