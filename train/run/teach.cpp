#include "train/run/teach.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "autograd/base/error.h"
#include "autograd/base/parallel.h"
#include "train/checkpoint/lock.h"
#include "train/system/folder.h"

namespace dikkat {

void summarize_logits(std::span<const float> logits, const std::vector<double>& temperatures, const TeacherRecord& record) {
  // Keep the likeliest in a heap, whose first is the least likely of them.
  const auto better = [&](std::int32_t a, std::int32_t b) {
    const float x = logits[static_cast<std::size_t>(a)], y = logits[static_cast<std::size_t>(b)];
    return x > y || (x == y && a < b);
  };
  const std::size_t top = record.ids.size();
  std::iota(record.ids.begin(), record.ids.end(), 0);
  std::ranges::make_heap(record.ids, better);
  for (std::size_t id = top; id < logits.size(); ++id) {
    if (logits[id] > logits[static_cast<std::size_t>(record.ids.front())]) {
      std::ranges::pop_heap(record.ids, better);
      record.ids.back() = static_cast<std::int32_t>(id);
      std::ranges::push_heap(record.ids, better);
    }
  }
  std::ranges::sort(record.ids);
  // Sum the other classes relative to the largest logit.
  const float largest = *std::ranges::max_element(logits);
  const auto sum_of_others = [&](double temperature) {
    const auto inverse_temperature = static_cast<float>(1 / temperature);
    double sum = 0;
    std::size_t begin = 0;
    for (std::size_t j = 0; j <= top; ++j) {
      const std::size_t end = j < top ? static_cast<std::size_t>(record.ids[j]) : logits.size();
      for (std::size_t id = begin; id < end; ++id) {
        sum += static_cast<double>(std::exp((logits[id] - largest) * inverse_temperature));
      }
      begin = end + 1;
    }
    return sum;
  };
  // Write the log-probabilities at temperature 1, and the tails with the same normalizer.
  double all = sum_of_others(1);
  for (const std::int32_t id : record.ids) {
    all += std::exp(static_cast<double>(logits[static_cast<std::size_t>(id)] - largest));
  }
  const double log_all = std::log(all);
  for (std::size_t j = 0; j < top; ++j) {
    record.log_probabilities[j] =
        static_cast<float>(static_cast<double>(logits[static_cast<std::size_t>(record.ids[j])] - largest) - log_all);
  }
  for (std::size_t i = 0; i < temperatures.size(); ++i) {
    record.tails[i] = static_cast<float>(std::log(sum_of_others(temperatures[i])) - log_all / temperatures[i]);
  }
}

TeacherHeader teacher_header(const TeacherPositions& text, const Tokenizer& tokenizer, const TeachOptions& options) {
  TeacherHeader header{.top = options.top,
                       .temperatures = options.temperatures,
                       .targets = text.targets(),
                       .tokens = text.hash(),
                       .vocab_size = tokenizer.vocab_size(),
                       .vocabulary = hash_of_vocabulary(tokenizer),
                       .window = options.window,
                       .stride = options.stride,
                       .samples = text.samples(options.window, options.stride)->count(),
                       .batch_size = options.batch_size};
  const double targets_of_row = static_cast<double>(header.targets) / static_cast<double>(header.samples);
  const auto rows = static_cast<index>(static_cast<double>(options.targets_of_part) / targets_of_row);
  header.samples_of_part = round_up(std::max<index>(rows, 1), header.batch_size);
  return header;
}

TeacherPass::TeacherPass(const LanguageModel& model, const TeacherHeader& header, DType operands)
    : model_(model), header_(header), operands_(operands) {}

void TeacherPass::operator()(const Samples& samples, index first, index count, std::vector<std::byte>& records) {
  // Compute the features of all positions.
  RowLengths lengths;
  for (index row = 0; row < count; ++row) {
    lengths = longer(lengths, samples.lengths(first + row));
  }
  batch_.reshape(count, lengths);
  for (index row = 0; row < count; ++row) {
    samples.fill(0, first + row, row, batch_);
  }
  Pass pass{.tape = features_, .recompute = Recompute::block, .operands = operands_};
  const Tensor features = model_.features(pass, batch_);
  // Gather the features of the scored positions, one after another.
  const auto bytes = static_cast<std::size_t>(features.shape().cols()) * size_of(features.dtype());
  const auto* data = static_cast<const std::byte*>(features.record()->data);
  scored_features_.clear();
  for (std::size_t i = 0; i < batch_.numbers.size(); ++i) {
    if (batch_.numbers[i] >= 0) {
      scored_features_.insert(scored_features_.end(), data + i * bytes, data + (i + 1) * bytes);
    }
  }
  const index scored = static_cast<index>(scored_features_.size() / bytes), width = features.shape().cols();
  const DType type = features.dtype();
  features_.reset();
  // Compute their logits, as many rows at a time as the loss of training does, and a record of each row.
  const index classes = model_.vocab_size(), most = std::max<index>(kLogitsAtOnce / classes, 1);
  const auto top = static_cast<std::size_t>(header_.top), temperatures = header_.temperatures.size();
  for (index begin = 0; begin < scored; begin += most) {
    const index rows = std::min(most, scored - begin);
    Pass head{.tape = logits_, .operands = operands_};
    const Tensor read = logits_.borrow({rows, width}, type, scored_features_.data() + static_cast<std::size_t>(begin) * bytes);
    const auto* logits = model_.gpt().logits(head, read).data<float>();
    ids_.resize(static_cast<std::size_t>(rows) * top);
    log_probabilities_.resize(ids_.size());
    tails_.resize(static_cast<std::size_t>(rows) * temperatures);
    const auto record_of = [&](index row) {
      const auto at = static_cast<std::size_t>(row);
      return TeacherRecord{.ids = std::span(ids_).subspan(at * top, top),
                           .log_probabilities = std::span(log_probabilities_).subspan(at * top, top),
                           .tails = std::span(tails_).subspan(at * temperatures, temperatures)};
    };
    // A model may have more rows in its head than the tokenizer has tokens. These never occur.
    parallel_for(rows, Work::elements(rows * classes), [&](index row) {
      summarize_logits({logits + row * classes, static_cast<std::size_t>(header_.vocab_size)}, header_.temperatures, record_of(row));
    });
    for (index row = 0; row < rows; ++row) {
      require(std::ranges::all_of(record_of(row).log_probabilities, [](float p) { return std::isfinite(p); }),
              "teacher: the model's logits are not finite, so it cannot teach");
      append_record(header_, record_of(row), records);
    }
    logits_.reset();
  }
}

bool teach(const LanguageModel& model, const TeacherHeader& header, DType operands, const Samples& samples,
           const std::filesystem::path& folder, const std::function<bool()>& stop,
           const std::function<void(double done, double before)>& progress) {
  require_teacher_folder(folder, header);
  make_folders(folder);
  FolderLock lock = FolderLock::take(folder);
  lock.sign();
  begin_teacher_file(folder, header);
  // Find the missing parts.
  std::vector<index> missing;
  for (index part = 0; part < header.parts(); ++part) {
    if (!has_part(folder, header, part)) {
      missing.push_back(part);
    }
  }
  const auto all = static_cast<double>(header.parts());
  const double before = (all - static_cast<double>(missing.size())) / all;
  progress(before, before);
  // Write the missing parts.
  TeacherPass pass(model, header, operands);
  std::vector<std::byte> records;
  double done = before;
  for (const index part : missing) {
    records.clear();
    const index first = part * header.samples_of_part, end = std::min(header.samples, first + header.samples_of_part);
    for (index at = first; at < end; at += header.batch_size) {
      if (stop()) {
        return false;
      }
      const index count = std::min(header.batch_size, end - at);
      pass(samples, at, count, records);
      progress(done + static_cast<double>(at + count - first) / static_cast<double>(end - first) / all, before);
    }
    lock.require_held();
    write_part(folder, header, part, records);
    done += 1 / all;
  }
  return true;
}

}  // namespace dikkat
