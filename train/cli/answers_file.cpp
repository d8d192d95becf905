#include "train/cli/answers_file.h"

#include <algorithm>
#include <cerrno>

#include "train/system/file.h"
#include "train/system/json.h"

namespace dikkat {
namespace {

using Object = nlohmann::ordered_json;

constexpr const char* kNoAnswer = "is not an answer of this command";

// Messages of these functions continue "FILE: line 7 ".

void require_answer(std::string_view line, const Object& question, const std::string& fingerprint) {
  Object answer = parse_json<Object>(line);
  const Object* const found = answer.is_object() ? find_value(answer, "fingerprint") : nullptr;
  require_input(found != nullptr && found->is_string(), kNoAnswer);
  require_input(*found == fingerprint, "is an answer of another model or with other options (fingerprint ", short_text(*found), ", now \"",
                fingerprint, "\")");
  for (const char* const field : kAnswerFields) {
    answer.erase(field);
  }
  require_input(json_text(answer) == json_text(question), "answers another question");
}

void require_half_answer(std::string_view half, const Object& question) {
  std::string begin = json_text(question);
  begin.back() = ',';
  begin += R"("answer":")";
  const std::size_t size = std::min(half.size(), begin.size());
  require_input(half.substr(0, size) == std::string_view(begin).substr(0, size), kNoAnswer);
}

}  // namespace

AnswersFile::AnswersFile(const std::string& path, std::span<const Object> questions, const std::string& fingerprint) : path_(path) {
  // Open and lock the file.
  if (const int error = open_for_appending(path, descriptor_)) {
    require_input(error != EINVAL, "--out ", path, " is not a regular file, expected one to which answers are added");
    require_path(error, "--out ", path, ": answers cannot be written");
  }
  require_input(lock_descriptor(descriptor_.get(), nullptr) != EWOULDBLOCK, "--out ", path,
                " is in use by another command; wait for its end, or choose another file");
  // Check its lines.
  const std::string text = read_bytes(path);
  std::string_view rest = text;
  try {
    while (!rest.empty()) {
      require_input(kept_ < std::ssize(questions), "comes after the answer to the last question");
      const Object& question = questions[static_cast<std::size_t>(kept_)];
      const std::size_t end = rest.find('\n');
      if (end == std::string_view::npos) {
        require_half_answer(rest, question);
        break;
      }
      require_answer(rest.substr(0, end), question, fingerprint);
      rest.remove_prefix(end + 1);
      ++kept_;
    }
  } catch (const InputError& error) {
    fail_input("--out ", path, ": line ", kept_ + 1, ' ', error.what(), "; choose another file");
  }
  if (!rest.empty()) {
    require_path(cut_file(descriptor_.get(), static_cast<index>(text.size() - rest.size())), path);
  }
}

void AnswersFile::append(const Object& answer) {
  const int error = append_line(descriptor_.get(), json_text(answer) + '\n');
  require(error == 0, path_, ": cannot be written: ", describe_errno(error));
}

}  // namespace dikkat
