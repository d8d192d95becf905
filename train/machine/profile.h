#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "autograd/tape/tape.h"

namespace dikkat {

/// Measures the time of training steps by op, forward and backward. The rate follows from the op's cost (OpCost: the least that it must
/// compute and move). The first two steps, which allocate memory, do not count if there are more.
class Profile : public TapeObserver {
 public:
  void forward_begins() override { start_ = Clock::now(); }
  void forward_ends(const OpRun& run) override;
  void backward_begins() override { start_ = Clock::now(); }
  void backward_ends(const OpRun& run) override;

  /// Times a part of a step that is not an op, until the end of the scope. `cost` is the work of that part. Without a profile it does
  /// nothing.
  class Piece {
   public:
    Piece(Profile* profile, const char* name, Cost cost = {}) : profile_(profile), name_(name), cost_(cost) {
      if (profile_ != nullptr) {
        start_ = Clock::now();
      }
    }
    ~Piece() {
      if (profile_ != nullptr) {
        profile_->add(profile_->pieces_, name_, start_, cost_.flops, cost_.bytes);
      }
    }
    Piece(const Piece&) = delete;
    Piece& operator=(const Piece&) = delete;

   private:
    Profile* profile_;
    const char* name_;
    Cost cost_;
    std::chrono::steady_clock::time_point start_;
  };

  void step_begins();
  void step_ends(double seconds);

  /// Returns the tables as text, each sorted by time. The last line has no newline.
  std::string table() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Row {
    const char* name = "";
    index calls = 0;
    double seconds = 0, flops = 0, bytes = 0;
  };
  using Rows = std::vector<Row>;

  void add(Rows& rows, const char* name, Clock::time_point start, double flops, double bytes);
  std::string rows_of(const char* title, Rows rows) const;

  Rows forward_, backward_, pieces_;
  Clock::time_point start_;
  index steps_ = 0, seen_ = 0;
  double seconds_ = 0;
};

}  // namespace dikkat
