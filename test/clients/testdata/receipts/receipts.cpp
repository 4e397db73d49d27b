// Measures with receipts, reports what was measured, and prints both. Arguments: the server's
// URL, and udp or https.

#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <thread>

#include "muster/client.h"

int main(int, char** arguments) {
  muster::Client client(arguments[1]);
  muster::LatencyOptions options;
  options.http_only = std::strcmp(arguments[2], "https") == 0;
  options.receipts = true;
  options.samples = 3;
  options.interval = std::chrono::milliseconds(120);
  bool over = false;
  int status = 1;
  client.login_guest([&](muster::Result<std::string> player) {
    if (!player.ok()) {
      over = true;
      return;
    }
    client.measure_latency(options, [&](muster::Result<std::vector<muster::LatencySample>> measured) {
      muster::LatencyReport report;
      report.samples = measured.value;
      client.api().report_latency(report, [&, report](muster::Result<muster::LatencyResult> result) {
        std::printf("{\"samples\": %s, \"result\": %s}\n", report.to_json()["samples"].write().c_str(), result.value.to_json().write().c_str());
        status = result.ok() ? 0 : 1;
        over = true;
      });
    });
  });
  while (!over) {
    client.update();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return status;
}
