// Lesson 2 of the course (docs/course): a model that sees one character and predicts the next. It is made twice: by counting pairs, and by
// gradient descent, which knows nothing about counting. Both reach the same loss.
//
//   bigram TEXT [STEPS [CHARACTER]]      prints what follows CHARACTER, too

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "dikkat/autograd.h"

namespace dikkat {
namespace {

constexpr double kAdded = 0;  // is added to the count of each pair before the chances are computed
constexpr float kRate = 10;   // how far a step of gradient descent goes

void print(const char* text, double number) { std::printf("%-40s %.3f\n", text, number); }

int run(const std::vector<std::string>& given) {
  const std::string path = given.empty() ? "data/tales.txt" : given[0];
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator(file), {}};
  require_input(text.size() > 1, path, ": found no text");

  // The vocabulary: the characters of the text, sorted. The id of a character is its place.
  const std::set<char> distinct(text.begin(), text.end());
  const std::vector<char> vocabulary(distinct.begin(), distinct.end());
  const auto size = static_cast<index>(vocabulary.size());
  const auto id_of = [&](char c) { return static_cast<index>(std::ranges::lower_bound(vocabulary, c) - vocabulary.begin()); };
  std::printf("%zu characters, %td of them distinct\n", text.size(), size);

  // Counting: a row for each character, with a column for the character after it.
  std::vector<float> counts(static_cast<std::size_t>(size * size), 0);
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    counts[static_cast<std::size_t>(id_of(text[i]) * size + id_of(text[i + 1]))] += 1;
  }
  const auto pairs = static_cast<double>(text.size() - 1);
  std::vector<double> chances;  // (V, V): each row has the sum 1
  double loss = 0;              // the mean of -log(chance) of the characters that really follow
  for (index row = 0; row < size; ++row) {
    const float* counted = counts.data() + row * size;
    double total = 0;
    for (index column = 0; column < size; ++column) {
      total += static_cast<double>(counted[column]) + kAdded;
    }
    for (index column = 0; column < size; ++column) {
      const auto count = static_cast<double>(counted[column]);
      chances.push_back((count + kAdded) / total);
      loss -= count > 0 ? count * std::log(chances.back()) / pairs : 0;
    }
  }
  print("loss of a model that knows nothing:", std::log(static_cast<double>(size)));
  print("loss by counting:", loss);

  // Learning: a table of scores (V, V) begins at 0. softmax makes chances of a row of scores. The tape finds the slope of the loss for each
  // score, and each step moves all scores a little downhill.
  std::vector<float> scores(counts.size(), 0);
  const std::string number = given.size() > 1 ? given[1] : "1000";
  char* end = nullptr;
  const index steps = std::strtol(number.c_str(), &end, 10);
  require_input(steps >= 0 && *end == 0, "bigram: found ", number, ", expected a number of steps");
  Tape tape;
  for (index step = 0; step <= steps; ++step) {
    const Tensor table = tape.input<float>({size, size}, scores, true);  // true: it needs a gradient
    const Tensor seen = tape.input<float>({size, size}, counts);
    const Tensor learned = -sum(seen * log_softmax(table)) / pairs;
    tape.backward(learned);
    if (step == 0 || step == 10 || step == 100 || step == steps) {
      print(("loss by learning, step " + std::to_string(step) + ":").c_str(), learned.item());
    }
    const float* slopes = tape.gradient<float>(table);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      scores[i] -= kRate * slopes[i];
    }
    tape.reset();
  }

  // Looking: the likeliest characters after one.
  if (given.size() > 2) {
    require_input(given[2].size() == 1 && distinct.contains(given[2][0]), "bigram: found \"", given[2],
                  "\", expected a character of the text");
    const double* row = chances.data() + id_of(given[2][0]) * size;
    std::vector<index> order;
    for (index column = 0; column < size; ++column) {
      order.push_back(column);
    }
    std::ranges::stable_sort(order, [&](index a, index b) { return row[a] > row[b]; });
    for (std::size_t i = 0; i < 3; ++i) {
      const char next = vocabulary[static_cast<std::size_t>(order[i])];
      std::printf("after '%s' comes '%s' with the chance %.3f\n", given[2].c_str(),
                  next == '\n' ? "line break" : std::string(1, next).c_str(), static_cast<double>(row[order[i]]));
    }
  }

  // Writing: draw the next character by its chance, again and again.
  const RandomStream random(2, "writing", 0);
  std::string written = "T";
  for (index i = 0; i < 150; ++i) {
    const double* row = chances.data() + id_of(distinct.contains(written.back()) ? written.back() : vocabulary[0]) * size;
    double rest = random.uniform(i);
    index next = 0;
    while (next + 1 < size && rest >= row[next]) {
      rest -= row[next++];
    }
    written += vocabulary[static_cast<std::size_t>(next)];
  }
  std::printf("\n%s\n", written.c_str());
  return 0;
}

}  // namespace
}  // namespace dikkat

int main(int argc, char** argv) { return dikkat::run_main(argc, argv, dikkat::run); }
