#include <algorithm>

#include "beacon.h"
#include "core.h"

namespace muster {

namespace {

constexpr int most_requests = 4;  // for each location; the first does not count

double median(std::vector<double> trips) {
  std::sort(trips.begin(), trips.end());
  return trips[trips.size() / 2];
}

std::string hex_of(const std::string& bytes) {
  static const char digits[] = "0123456789abcdef";
  std::string out;
  for (const char one : bytes) {
    const auto value = static_cast<unsigned char>(one);
    out += digits[value >> 4];
    out += digits[value & 15];
  }
  return out;
}

}  // namespace

/// A measurement under way.
struct Client::Core::Measuring {
  LatencyOptions options;
  std::vector<Location> locations;
  std::vector<LatencySample> found;
  std::size_t left = 0;  // locations that are measured by HTTP
  std::chrono::steady_clock::time_point end;
  CancelPtr cancel;
  Callback<std::vector<LatencySample>> done;
  bool over = false;

  void finish() {
    if (over) return;
    over = true;
    Result<std::vector<LatencySample>> result;
    if (cancel->cancelled) {
      result.error = error_of(Error::Kind::cancelled, "the call was cancelled");
    } else {
      result.value = std::move(found);
    }
    done(std::move(result));
  }
};

void Client::Core::measure(const LatencyOptions& options, CancelPtr cancel, Callback<std::vector<LatencySample>> done) {
  caller.send(Request("GET", "/player/v1/locations", Access::open, true), cancel, [this, options, cancel, done](Error error, Answer answer) {
    if (error) {
      Result<std::vector<LatencySample>> result;
      result.error = std::move(error);
      return done(std::move(result));
    }
    const auto measuring = std::make_shared<Measuring>();
    measuring->options = options;
    measuring->options.samples = std::max(2, std::min(options.samples, 32));
    measuring->locations = Locations::from_json(answer.body).locations;
    measuring->end = std::chrono::steady_clock::now() + options.deadline;
    measuring->cancel = cancel;
    measuring->done = done;
    cancel->on = [measuring] { measuring->finish(); };
    loop.after(options.deadline, [measuring] { measuring->finish(); });
    if (options.http_only) return by_http(measuring, {});
    by_datagrams(measuring);
  });
}

// by_datagrams measures in a thread, since the time of an answer is that of its arrival, whatever
// else the network thread does.
void Client::Core::by_datagrams(std::shared_ptr<Measuring> measuring) {
  Datagrams what;
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < measuring->locations.size(); i++) {
    if (measuring->locations[i].udp.empty()) continue;
    what.to.push_back(measuring->locations[i].udp);
    which.push_back(i);
  }
  if (what.to.empty()) return by_http(measuring, {});
  what.samples = measuring->options.samples;
  what.receipts = measuring->options.receipts;
  what.interval = measuring->options.interval;
  what.deadline = measuring->options.deadline;
  datagrams_.emplace_back([this, what, which, measuring] {
    const std::vector<Trip> trips = measure_by_datagrams(what, stopping_);
    loop.post([this, which, trips, measuring] {
      std::vector<bool> measured(measuring->locations.size());
      for (std::size_t i = 0; i < which.size(); i++) {
        if (trips[i].ms < 0) continue;
        measured[which[i]] = true;
        LatencySample sample;
        sample.location = measuring->locations[which[i]].name;
        sample.rtt_ms = trips[i].ms;
        sample.method = LatencySampleMethod::udp;
        sample.receipt = trips[i].receipt;
        measuring->found.push_back(std::move(sample));
      }
      by_http(measuring, measured);
    });
  });
}

void Client::Core::by_http(std::shared_ptr<Measuring> measuring, std::vector<bool> measured) {
  measured.resize(measuring->locations.size());
  measuring->left = 1;
  for (std::size_t i = 0; i < measuring->locations.size(); i++) {
    const Location& location = measuring->locations[i];
    if (measured[i] || location.https.empty()) continue;
    measuring->left++;
    const auto trips = std::make_shared<std::vector<double>>();
    request_beacon(measuring, location, trips, 0);
  }
  if (--measuring->left == 0) measuring->finish();
}

// request_beacon makes the requests to a beacon, one after another, so that all but the first
// find the connection open.
void Client::Core::request_beacon(std::shared_ptr<Measuring> measuring, const Location& location, std::shared_ptr<std::vector<double>> trips, int number) {
  if (measuring->over) return;
  HttpCall call;
  call.method = "GET";
  call.url = location.https;
  const auto begun = std::chrono::steady_clock::now();
  loop.request(call, [this, measuring, location, trips, number, begun](HttpReply reply) {
    if (measuring->over) return;
    const bool is_good = reply.status >= 200 && reply.status < 300;
    if (is_good && number > 0) trips->push_back(std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begun).count());
    if (is_good && number + 1 < std::min(most_requests, measuring->options.samples)) return request_beacon(measuring, location, trips, number + 1);
    if (!trips->empty()) {
      LatencySample sample;
      sample.location = location.name;
      sample.rtt_ms = median(*trips);
      sample.method = LatencySampleMethod::https;
      measuring->found.push_back(std::move(sample));
      if (measuring->options.receipts) {
        const std::string url = location.https + (location.https.find('?') == std::string::npos ? "?nonce=" : "&nonce=") + hex_of(random_nonce());
        return request_receipt(measuring, location.name, url, "");
      }
    }
    if (--measuring->left == 0) measuring->finish();
  });
}

// request_receipt requests the time that a beacon signs and then, with that as the stamp, a receipt
// for the sample of its location.
void Client::Core::request_receipt(std::shared_ptr<Measuring> measuring, const std::string& location, const std::string& url, const std::string& stamp) {
  HttpCall call;
  call.method = "GET";
  call.url = stamp.empty() ? url : url + "&stamp=" + escape(stamp);
  loop.request(call, [this, measuring, location, url, stamp](HttpReply reply) {
    if (measuring->over) return;
    if (reply.status == 200 && !reply.body.empty()) {
      if (stamp.empty()) return request_receipt(measuring, location, url, reply.body);
      for (LatencySample& one : measuring->found) {
        if (one.location == location) one.receipt = reply.body;
      }
    }
    if (--measuring->left == 0) measuring->finish();
  });
}

}  // namespace muster
