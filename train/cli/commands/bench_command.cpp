#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "autograd/kernels/instruction_set.h"
#include "train/cli/commands.h"
#include "train/cli/terminal/json_output.h"
#include "train/cli/terminal/progress.h"
#include "train/cli/terminal/streams.h"
#include "train/machine/report.h"
#include "train/run/own_provenance.h"

namespace dikkat {
namespace {

struct BenchArguments {
  bool quick = false, json = false;
};

std::string with_digits(double value) { return fmt::format("{:.{}f}", value, value < 10 ? 2 : value < 100 ? 1 : 0); }

/// Prints the figures in groups, with their shares.
void print_table(const MachineReport& report) {
  std::string group;
  for (const MachineFigure& figure : report.figures) {
    if (figure.group != group) {
      group = figure.group;
      print_result(concat(group, '\n'));
    }
    std::string share = figure.share ? fmt::format("{:>4.0f} % of the limit", 100 * *figure.share) : "";
    if (figure.share && figure.group == "decoding") {  // reading memory of the weights' size: each has its own limit
      share += fmt::format(", reading {} GB/s", with_digits(*figure.of_rate));
    }
    print_result(fmt::format("  {:<48}{:>10} {:<9}{}\n", figure.name, with_digits(figure.value), figure.unit, share));
  }
}

/// Returns one line for reports of problems: the machine, and its most important figures.
std::string summary(const MachineReport& report, const Provenance& machine) {
  std::string line =
      fmt::format("dikkat {} ({}): {}, {} threads, {}", machine.version, machine.commit,
                  machine.processor.empty() ? "unknown processor" : machine.processor, machine.threads, kernels::instruction_set());
  constexpr std::pair<const char*, const char*> kFigures[] = {
      {"f32", "f32_1024_768_768"},          {"bf16", "bf16_1024_768_768"},        {"read", "read"},
      {"small step f32", "step_small_f32"}, {"bf16", "step_small_bf16"},          {"large step f32", "step_large_f32"},
      {"bf16", "step_large_bf16"},          {"small decode", "decode_small_f32"}, {"large decode q8", "decode_large_q8"}};
  for (const auto& [name, key] : kFigures) {
    if (const MachineFigure* figure = report.find(key)) {
      line += concat("; ", name, ' ', with_digits(figure->value), ' ', figure->unit);
    }
  }
  return line;
}

int bench_command(const BenchArguments& arguments) {
  // Measure.
  MachineReport report;
  {
    PassingLine line;
    report = measure_machine(arguments.quick, [&](double share) { line.show("measuring this machine", 0, share); });
  }
  // Print the figures.
  const Provenance machine = own_provenance();
  if (arguments.json) {
    nlohmann::ordered_json object{{"version", machine.version},
                                  {"commit", machine.commit},
                                  {"processor", machine.processor},
                                  {"threads", machine.threads},
                                  {"instructions", kernels::instruction_set()},
                                  {"seconds", report.seconds}};
    for (const MachineFigure& figure : report.figures) {
      auto& entry = object["figures"][figure.key];
      entry = {{"group", figure.group}, {"name", figure.name}, {"value", figure.value}, {"unit", figure.unit}};
      if (figure.share) {
        entry["share"] = *figure.share;
        entry["limit"] = *figure.of_rate;
      }
    }
    object["left_out"] = report.left_out;
    print_json(object);
  } else {
    print_table(report);
    for (const std::string& reason : report.left_out) {
      print_result(concat("left out: ", reason, '\n'));
    }
    print_result(concat("\nFor a report, paste this line:\n", summary(report, machine), '\n'));
  }
  flush_results();
  return 0;
}

}  // namespace

void add_bench(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat bench
  dikkat bench --quick --threads 1
  dikkat bench --json > machine.json
Close other programs first: they take cores and memory bandwidth.)";
  const auto a = std::make_shared<BenchArguments>();
  Command command = program.add("bench", "Measure this machine in a minute: products, memory, attention, training steps, decoding",
                                kExamples, [a] { return bench_command(*a); });
  command.flag("--quick", a->quick, "Take some seconds: shorter runs, without the large model and the bandwidth of memory");
  command.flag("--json", a->json, "Print one JSON object");
}

}  // namespace dikkat
