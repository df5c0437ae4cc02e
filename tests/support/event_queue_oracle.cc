#include "tests/support/event_queue_oracle.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <queue>
#include <set>
#include <tuple>

namespace emplace {
namespace {

enum class Kind { kInputReady, kLink, kDevice };

// Ordered as rule 6 orders events. (a, b): producer and consumer, or the device of a link or of a device.
using Event = std::tuple<double, Kind, int, int>;

struct Tensor {
  int producer;
  int output;  // The control signal comes after all data outputs.
  int64_t bytes;
  std::set<int> readers;
};

class Oracle {
 public:
  Oracle(const OpGraph& graph, const Cluster& cluster, const Placement& placement)
      : graph_(graph), cluster_(cluster), place_(placement), n_(graph.num_ops()) {
    std::map<std::pair<int, int>, Tensor> tensors;
    for (int c = 0; c < n_; ++c) {
      for (const OpInput& input : graph.op(c).inputs) {
        const Op& producer = graph.op(input.producer);
        const bool control = input.output == OpInput::kControl;
        const int output = control ? static_cast<int>(producer.outputs.size()) : input.output;
        Tensor& tensor = tensors[{input.producer, output}];
        tensor.producer = input.producer;
        tensor.output = output;
        tensor.bytes = control ? 0 : producer.outputs[static_cast<size_t>(input.output)].bytes;
        tensor.readers.insert(c);
      }
    }
    tensors_of_.resize(static_cast<size_t>(n_));
    missing_.resize(static_cast<size_t>(n_));
    for (const auto& [key, tensor] : tensors) {
      tensors_of_[static_cast<size_t>(key.first)].push_back(tensor);
      for (const int reader : tensor.readers) ++missing_[static_cast<size_t>(reader)];
    }
    const size_t devices = cluster.devices.size();
    device_queue_.resize(devices);
    link_queue_.resize(devices);
    device_free_at_.assign(devices, 0);
    link_free_at_.assign(devices, 0);
    run_.start_us.resize(static_cast<size_t>(n_));
    run_.finish_us.resize(static_cast<size_t>(n_));
  }

  OracleRun Run() {
    for (int o = 0; o < n_; ++o) {
      if (missing_[static_cast<size_t>(o)] == 0) QueueOp(o, 0);
    }
    while (!events_.empty()) {
      const auto [time, kind, a, b] = events_.top();
      events_.pop();
      run_.makespan_us = std::max(run_.makespan_us, time);
      switch (kind) {
        case Kind::kInputReady:
          if (--missing_[static_cast<size_t>(b)] == 0) QueueOp(b, time);
          break;
        case Kind::kLink: ServeLink(a, time); break;
        case Kind::kDevice: ServeDevice(a, time); break;
      }
    }
    FindPeaks();
    return run_;
  }

 private:
  size_t DeviceOf(int op) const { return static_cast<size_t>(place_[static_cast<size_t>(op)]); }
  double CostOf(int op) const { return *graph_.op(op).cost.On(cluster_.devices[DeviceOf(op)].kind); }

  void QueueOp(int op, double now) {
    device_queue_[DeviceOf(op)].push_back(op);
    events_.push({now, Kind::kDevice, static_cast<int>(DeviceOf(op)), 0});
  }

  // An event that finds its device or link busy, or nothing to do, does nothing: another follows when it is free.
  void ServeDevice(int device, double now) {
    const auto d = static_cast<size_t>(device);
    if (device_free_at_[d] > now || device_queue_[d].empty()) return;
    const int op = device_queue_[d].front();
    device_queue_[d].pop_front();
    const double cost = CostOf(op);
    const double finish = now + cost;
    run_.start_us[static_cast<size_t>(op)] = now;
    run_.finish_us[static_cast<size_t>(op)] = finish;
    device_free_at_[d] = cost == 0 ? finish : finish + cluster_.op_overhead_us;
    events_.push({device_free_at_[d], Kind::kDevice, device, 0});

    std::vector<std::tuple<int, int, const Tensor*>> outgoing;  // First remote reader, output, tensor.
    for (const Tensor& tensor : tensors_of_[static_cast<size_t>(op)]) {
      int first_remote = -1;
      for (const int reader : tensor.readers) {
        if (DeviceOf(reader) == d) {
          events_.push({finish, Kind::kInputReady, op, reader});
        } else if (first_remote < 0) {
          first_remote = reader;
        }
      }
      if (first_remote >= 0) outgoing.push_back({first_remote, tensor.output, &tensor});
    }
    std::sort(outgoing.begin(), outgoing.end());
    for (const auto& [reader, output, tensor] : outgoing) link_queue_[d].push_back({finish, tensor});
    if (!outgoing.empty()) events_.push({finish, Kind::kLink, device, 0});
  }

  void ServeLink(int device, double now) {
    const auto d = static_cast<size_t>(device);
    if (link_free_at_[d] > now || link_queue_[d].empty() || link_queue_[d].front().first > now) return;
    const Tensor& tensor = *link_queue_[d].front().second;
    link_queue_[d].pop_front();
    const double delivered = now + static_cast<double>(tensor.bytes) / cluster_.bandwidth_bytes_per_us;
    for (const int reader : tensor.readers) {
      if (DeviceOf(reader) != d) events_.push({delivered, Kind::kInputReady, tensor.producer, reader});
    }
    link_free_at_[d] = delivered + cluster_.transfer_overhead_us;
    events_.push({link_free_at_[d], Kind::kLink, device, 0});
  }

  // Rule 8, by trying every moment at which something is taken.
  void FindPeaks() {
    for (size_t d = 0; d < cluster_.devices.size(); ++d) {
      int64_t parameters = 0;
      std::vector<std::tuple<double, double, int64_t>> held;  // From, until (both included), bytes.
      for (int o = 0; o < n_; ++o) {
        if (DeviceOf(o) != d) continue;
        const Op& op = graph_.op(o);
        parameters += op.param_bytes;
        const double start = run_.start_us[static_cast<size_t>(o)];
        double until = start;
        for (const int32_t reader : graph_.consumers().Row(o)) {
          until = std::max(until, std::floor(run_.start_us[static_cast<size_t>(reader)]) + std::floor(CostOf(reader)) - 1);
        }
        if (op.OutputBytes() > 0) held.push_back({start, until, op.OutputBytes()});
        if (op.temp_bytes > 0) held.push_back({start, run_.finish_us[static_cast<size_t>(o)], op.temp_bytes});
      }
      int64_t peak = parameters;
      for (const auto& [moment, ignored_until, ignored_bytes] : held) {
        int64_t total = parameters;
        for (const auto& [from, until, bytes] : held) {
          if (from <= moment && moment <= until) total += bytes;
        }
        peak = std::max(peak, total);
      }
      run_.peak_bytes.push_back(peak);
    }
  }

  const OpGraph& graph_;
  const Cluster& cluster_;
  const Placement& place_;
  const int n_;
  std::vector<std::vector<Tensor>> tensors_of_;  // [n] by output
  std::vector<int> missing_;                     // [n]
  std::vector<std::deque<int>> device_queue_;
  std::vector<std::deque<std::pair<double, const Tensor*>>> link_queue_;  // Time of arrival, tensor.
  std::vector<double> device_free_at_;
  std::vector<double> link_free_at_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  OracleRun run_;
};

}  // namespace

OracleRun SimulateByEventQueue(const OpGraph& graph, const Cluster& cluster, const Placement& placement) {
  return Oracle(graph, cluster, placement).Run();
}

}  // namespace emplace
