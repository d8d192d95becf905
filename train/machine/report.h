#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dikkat {

/// One figure of a machine.
struct MachineFigure {
  std::string group;  // its group: limits, products, attention, training, decoding
  std::string name;   // a description of the measurement
  std::string key;    // its name in JSON, unique
  double value = 0;
  std::string unit;                 // GFLOP/s, GB/s, ms, tokens/s
  std::optional<double> share{};    // its share of the limit of its kind
  std::optional<double> of_rate{};  // GFLOP/s or GB/s that the share was taken of
};

/// The figures of one measurement, and the reasons for missing ones.
struct MachineReport {
  std::vector<MachineFigure> figures;
  std::vector<std::string> left_out;  // why some figures are missing
  double seconds = 0;

  /// Returns the figure with this key; null if it was left out.
  const MachineFigure* find(std::string_view key) const;
};

/// Measures the speed of dikkat on this machine, on thread_count() threads, in about a minute. Measures the limits of its cores and memory,
/// products, attention, training steps of a small and of a large model on random tokens, and decoding. A rate is the median of its runs.
/// Limits are measured at the beginning and at the end, and the best run counts. Nothing else should run meanwhile. Parts that do not fit
/// into the available memory are left out. With `quick`, runs are shorter and take some seconds; the large model and the bandwidth of
/// memory are left out. `progress` receives the share that is done.
MachineReport measure_machine(bool quick, const std::function<void(double share)>& progress);

}  // namespace dikkat
