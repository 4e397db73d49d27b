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
  bool receipts = false;  ///< has each beacon sign what it measures, too
  std::chrono::milliseconds interval{}, deadline{};
};

/// What was measured of one beacon.
struct Trip {
  double ms = -1;       ///< the median; negative if it did not answer half of the datagrams
  std::string receipt;  ///< empty if it signed none, or was not asked to
};

/// Returns the round trip to each beacon. It blocks, until the deadline at most, or soon after stop
/// is set.
std::vector<Trip> measure_by_datagrams(const Datagrams& what, const std::atomic<bool>& stop);

/// Returns random bytes, to tell an answer from those to somebody else.
std::string random_nonce();

}  // namespace muster
