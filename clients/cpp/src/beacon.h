#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <vector>

namespace muster {

/// What to measure by datagrams.
struct Datagrams {
  std::vector<std::string> to;  ///< HOST:PORT each
  int samples = 0;
  std::chrono::milliseconds interval{}, deadline{};
};

/// Returns the median round trip to each beacon in milliseconds, or a negative number for one that
/// did not answer half of the datagrams. It blocks, until the deadline at most, or soon after stop
/// is set.
std::vector<double> measure_by_datagrams(const Datagrams& what, const std::atomic<bool>& stop);

}  // namespace muster
