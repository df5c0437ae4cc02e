#include "tests/support/event_queue_oracle.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <map>
#include <queue>
#include <set>
#include <tuple>

#include "tests/support/naive_routes.h"

namespace emplace {
namespace {

enum class Kind { kInputReady, kSend, kFree, kUnblock, kLink, kDevice };

// Ordered as rule 6 orders events. (a, b): producer and consumer; the op that sends; the transfer whose channels get
// free; the transfer that blocks its devices no more; the device of a link, or 0 for the network; a device.
using Event = std::tuple<double, Kind, int, int>;

struct Tensor {
  int producer;
  int output;  // The control signal comes after all data outputs.
  int64_t bytes;
  std::set<int> readers;
};

// One tensor to be sent: to one device, or to all that read it.
struct Request {
  const Tensor* tensor;
  size_t from;
  std::set<size_t> to;
};

struct Delivery {
  Request request;
  double time;
};

class Oracle {
 public:
  Oracle(const OpGraph& graph, const Cluster& cluster, const Placement& placement, const DeviceOrders& orders)
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
    order_.resize(devices);
    for (size_t d = 0; d < orders.size(); ++d) order_[d].assign(orders[d].begin(), orders[d].end());
    link_queue_.resize(devices);
    device_free_at_.assign(devices, 0);
    link_free_at_.assign(devices, 0);
    unsent_.assign(devices, 0);
    in_transfer_.assign(devices, false);
    occupied_.assign(2 * cluster.topology.links.size() + devices, false);
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
        case Kind::kSend:
          Send(a, time);
          break;
        case Kind::kFree:
          for (const int32_t channel : RouteOf(started_[static_cast<size_t>(a)]).channels) Occupy(channel, false);
          events_.push({time, Kind::kLink, 0, 0});
          break;
        case Kind::kUnblock:
          for (const size_t device : EndsOf(started_[static_cast<size_t>(a)])) {
            in_transfer_[device] = false;
            events_.push({time, Kind::kDevice, static_cast<int>(device), 0});
          }
          events_.push({time, Kind::kLink, 0, 0});
          break;
        case Kind::kLink:
          if (HasNetwork()) {
            ServeNetwork(time);
          } else {
            ServeLink(a, time);
          }
          break;
        case Kind::kDevice:
          ServeDevice(a, time);
          break;
      }
    }
    if (cluster_.memory_rule == MemoryRule::kPlaceto) {
      FindPeaksByPlaceto();
    } else {
      FindPeaksOfExecutor();
    }
    return run_;
  }

 private:
  size_t DeviceOf(int op) const { return static_cast<size_t>(place_[static_cast<size_t>(op)]); }
  double CostOf(int op) const { return *graph_.op(op).cost.On(cluster_.devices[DeviceOf(op)].kind); }

  // The op that the device would start now, taken out of its queue; -1: none. With an order, this is the next op of the
  // order, wherever it is in the queue.
  int TakeNextOp(size_t d) {
    if (device_queue_[d].empty()) return -1;
    auto next = device_queue_[d].begin();
    if (!order_[d].empty()) {
      next = std::find(device_queue_[d].begin(), device_queue_[d].end(), order_[d].front());
      if (next == device_queue_[d].end()) return -1;
      order_[d].pop_front();
    }
    const int op = *next;
    device_queue_[d].erase(next);
    return op;
  }

  void QueueOp(int op, double now) {
    device_queue_[DeviceOf(op)].push_back(op);
    events_.push({now, Kind::kDevice, static_cast<int>(DeviceOf(op)), 0});
  }

  // An event that finds its device or link busy, or nothing to do, does nothing: another follows when it is free.
  void ServeDevice(int device, double now) {
    const auto d = static_cast<size_t>(device);
    if (device_free_at_[d] > now || unsent_[d] > 0 || in_transfer_[d]) return;
    const int op = TakeNextOp(d);
    if (op < 0) return;
    const double cost = CostOf(op);
    const double finish = now + cost;
    run_.start_us[static_cast<size_t>(op)] = now;
    run_.finish_us[static_cast<size_t>(op)] = finish;
    device_free_at_[d] = cost == 0 ? finish : finish + cluster_.op_overhead_us;
    if (HasNetwork()) events_.push({device_free_at_[d], Kind::kLink, 0, 0});
    events_.push({device_free_at_[d], Kind::kDevice, device, 0});

    events_.push({finish, Kind::kSend, op, 0});
    for (const Tensor& tensor : tensors_of_[static_cast<size_t>(op)]) {
      for (const int reader : tensor.readers) {
        if (DeviceOf(reader) == d) events_.push({finish, Kind::kInputReady, op, reader});
      }
    }
  }

  void Send(int op, double now) {
    const size_t from = DeviceOf(op);
    std::map<std::tuple<int, int>, Request> outgoing;  // By first reader that it serves, then by output.
    for (const Tensor& tensor : tensors_of_[static_cast<size_t>(op)]) {
      std::map<size_t, std::set<int>> readers;  // By what each transfer is for: a device, or 0 for all of them.
      std::map<size_t, std::set<size_t>> to;
      for (const int reader : tensor.readers) {
        if (DeviceOf(reader) == from) continue;
        const size_t transfer = cluster_.link_model == LinkModel::kShared ? 0 : DeviceOf(reader);
        readers[transfer].insert(reader);
        to[transfer].insert(DeviceOf(reader));
      }
      for (const auto& [transfer, served] : readers) {
        outgoing[{*served.begin(), tensor.output}] = {&tensor, from, to[transfer]};
      }
    }
    for (const auto& [order, request] : outgoing) {
      (HasNetwork() ? requests_ : link_queue_[from]).push_back(request);
      if (Blocks(request)) ++unsent_[from];
    }
    if (!outgoing.empty()) events_.push({now, Kind::kLink, HasNetwork() ? 0 : static_cast<int>(from), 0});
  }

  void ServeLink(int device, double now) {
    const auto d = static_cast<size_t>(device);
    if (link_free_at_[d] > now || link_queue_[d].empty()) return;
    const Request request = link_queue_[d].front();
    link_queue_[d].pop_front();
    const double sent = now + static_cast<double>(request.tensor->bytes) / cluster_.bandwidth_bytes_per_us;
    Deliver(request, sent + cluster_.transfer_latency_us);
    link_free_at_[d] = sent + cluster_.transfer_overhead_us;
    events_.push({link_free_at_[d], Kind::kLink, device, 0});
  }

  // Every request in the list, in order, each against every channel of its route, and its devices if it blocks them.
  // None overtakes one between the same devices.
  void ServeNetwork(double now) {
    std::set<std::vector<size_t>> waiting;
    for (auto request = requests_.begin(); request != requests_.end();) {
      const NaiveRoute& route = RouteOf(*request);
      bool waits = std::any_of(route.channels.begin(), route.channels.end(),
                               [this](int32_t channel) { return occupied_[static_cast<size_t>(channel)]; });
      for (const size_t device : EndsOf(*request)) {
        waits = waits || (Blocks(*request) && (in_transfer_[device] || device_free_at_[device] > now));
      }
      if (waits || waiting.contains(EndsOf(*request))) {
        waiting.insert(EndsOf(*request));
        ++request;
        continue;
      }
      for (const int32_t channel : route.channels) Occupy(channel, true);
      const double transfer_us =
          route.latency_us + static_cast<double>(request->tensor->bytes) / route.bandwidth_bytes_per_us;
      const double delivered = now + transfer_us;
      if (Blocks(*request)) {
        --unsent_[request->from];
        for (const size_t device : EndsOf(*request)) in_transfer_[device] = true;
        events_.push({now + cluster_.blocking * transfer_us, Kind::kUnblock, static_cast<int>(started_.size()), 0});
      }
      Deliver(*request, delivered);
      events_.push({delivered + cluster_.transfer_overhead_us, Kind::kFree, static_cast<int>(started_.size()), 0});
      started_.push_back(*request);
      request = requests_.erase(request);
    }
  }

  void Deliver(const Request& request, double time) {
    ++run_.transfers;
    deliveries_.push_back({request, time});
    for (const int reader : request.tensor->readers) {
      if (request.to.count(DeviceOf(reader)) == 1) {
        events_.push({time, Kind::kInputReady, request.tensor->producer, reader});
      }
    }
  }

  bool HasNetwork() const { return cluster_.link_model == LinkModel::kTopology || cluster_.blocking > 0; }
  bool Blocks(const Request& request) const { return cluster_.blocking > 0 && request.tensor->bytes > 0; }
  static std::vector<size_t> EndsOf(const Request& request) { return {request.from, *request.to.begin()}; }
  void Occupy(int32_t channel, bool occupied) { occupied_[static_cast<size_t>(channel)] = occupied; }
  const NaiveRoute& RouteOf(const Request& request) {
    const auto from = static_cast<int32_t>(request.from);
    const auto to = static_cast<int32_t>(*request.to.begin());
    const auto known = routes_.find({from, to});
    if (known != routes_.end()) return known->second;
    const NaiveRoute route =
        cluster_.link_model == LinkModel::kTopology
            ? FindNaiveRoute(cluster_.topology, static_cast<int32_t>(cluster_.devices.size()), from, to)
            : NaiveRoute{{from}, cluster_.transfer_latency_us, cluster_.bandwidth_bytes_per_us};
    return routes_.emplace(std::pair(from, to), route).first->second;
  }

  // What a real device holds, by trying every moment at which something is taken.
  void FindPeaksOfExecutor() {
    struct Held {
      size_t device;
      double from;
      double until;  // Not held any more then.
      int64_t bytes;
    };
    constexpr double kEnd = std::numeric_limits<double>::infinity();
    std::vector<Held> held;
    const auto finish = [&](int op) { return run_.finish_us[static_cast<size_t>(op)]; };
    for (int o = 0; o < n_; ++o) {
      const Op& op = graph_.op(o);
      const double start = run_.start_us[static_cast<size_t>(o)];
      held.push_back({DeviceOf(o), 0, kEnd, op.param_bytes});
      held.push_back({DeviceOf(o), start, finish(o), op.temp_bytes});
      for (size_t output = 0; output < op.outputs.size(); ++output) {
        const int64_t bytes = op.outputs[output].bytes;
        if (op.outputs[output].resident) continue;
        double until = OutputsStay(graph_, o) ? kEnd : finish(o);
        for (const Tensor& tensor : tensors_of_[static_cast<size_t>(o)]) {
          if (tensor.output != static_cast<int>(output)) continue;
          for (const int reader : tensor.readers) {
            if (DeviceOf(reader) == DeviceOf(o)) until = std::max(until, finish(reader));
          }
          for (const Delivery& delivery : deliveries_) {
            if (delivery.request.tensor == &tensor) until = std::max(until, delivery.time);
          }
        }
        held.push_back({DeviceOf(o), start, until, bytes});
      }
    }
    for (const Delivery& delivery : deliveries_) {
      for (const size_t device : delivery.request.to) {
        double until = delivery.time;
        for (const int reader : delivery.request.tensor->readers) {
          if (DeviceOf(reader) == device) until = std::max(until, finish(reader));
        }
        held.push_back({device, delivery.time, until, delivery.request.tensor->bytes});
      }
    }
    run_.peak_bytes.assign(cluster_.devices.size(), 0);
    for (const Held& moment : held) {
      int64_t total = 0;
      for (const Held& other : held) {
        if (other.device == moment.device && other.from <= moment.from && moment.from < other.until)
          total += other.bytes;
      }
      run_.peak_bytes[moment.device] = std::max(run_.peak_bytes[moment.device], total);
    }
  }

  // Rule 8, by trying every moment at which something is taken.
  void FindPeaksByPlaceto() {
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
          until =
              std::max(until, std::floor(run_.start_us[static_cast<size_t>(reader)]) + std::floor(CostOf(reader)) - 1);
        }
        const int64_t bytes = op.OutputBytes() - op.ResidentOutputBytes();
        if (bytes > 0) held.push_back({start, until, bytes});
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
  std::vector<std::deque<int>> order_;  // What is left of each device's order.
  std::vector<std::deque<Request>> link_queue_;
  std::vector<double> device_free_at_;
  std::vector<double> link_free_at_;
  // Of a network, which is a topology, or sending links whose transfers block devices.
  std::deque<Request> requests_;
  std::vector<Request> started_;
  std::vector<bool> occupied_;     // [channels]
  std::vector<int> unsent_;        // [D] requests that will block the device, which sends
  std::vector<bool> in_transfer_;  // [D]
  std::map<std::pair<int32_t, int32_t>, NaiveRoute> routes_;
  std::vector<Delivery> deliveries_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  OracleRun run_;
};

}  // namespace

OracleRun SimulateByEventQueue(const OpGraph& graph, const Cluster& cluster, const Placement& placement,
                               const DeviceOrders& orders) {
  return Oracle(graph, cluster, placement, orders).Run();
}

}  // namespace emplace
