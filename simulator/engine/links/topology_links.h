// The link model with links between devices, switches and hosts. A transfer goes to one device, over the route of its
// pair of devices. It takes the sum of the latencies plus bytes / bandwidth of the slowest link. It occupies every
// channel of the route (one direction of a link) from its start until its overhead is over.
//
// Requests are in one list. Whenever a request is added or channels get free, the network has its turn, after
// all inputs that get ready at that time and before the devices' turns. In its turn it goes through the list in
// order and starts every transfer whose channels are all free. A transfer of no duration, too, occupies its
// channels until that turn ends.
//
// Where transfers block devices (SimGraph::blocking), a transfer needs its two devices as well: it starts when they run
// nothing and are in no other transfer, and occupies them for that share of its time. One of no bytes does not.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "simulator/engine/links/destination_transfers.h"
#include "simulator/engine/links/request_comparison.h"
#include "simulator/engine/run/linked_queues.h"
#include "simulator/engine/run/run_state.h"

namespace emplace {

// The requests of a pair of devices use the same channels, so only the oldest request of each pair can start. The
// list is therefore a queue for each pair, and the pairs in the order of their oldest requests. Event slots: a
// transfer under way uses the slot of its first channel, which no other transfer uses at that time; the network's
// turn uses the last slot, after those of devices that get free (queues/turn_run.h).
class TopologyLinks {
 public:
  static size_t NumSlots(const SimGraph& graph) {
    const int32_t blocked = graph.blocking > 0 ? graph.num_devices : 0;
    return static_cast<size_t>(graph.routes.num_channels + blocked) + 1;
  }
  static size_t MostTransfers(const SimGraph& graph) { return DestinationTransfers::Most(graph); }

  explicit TopologyLinks(const SimGraph& graph)
      : transfers_(graph),
        comparison_(DestinationTransfers::MostOfAnOp(graph)),
        network_slot_(NumSlots(graph) - 1),
        queue_(NumPairs(graph), DestinationTransfers::Numbers(graph)),
        waiting_(NumPairs(graph)),
        request_(DestinationTransfers::Numbers(graph)),
        occupied_(static_cast<size_t>(graph.routes.num_channels)),
        under_way_(occupied_.size()) {}

  void Reset() {
    queue_.Clear();
    num_waiting_ = 0;
    requests_ = 0;
    std::fill(occupied_.begin(), occupied_.end(), uint8_t{0});
  }

  template <typename Run>
  void Send(Run& run, OpIndex op, size_t device, double now) {
    const auto device_of = [&](OpIndex reader) { return run.DeviceOf(reader); };
    transfers_.ForEachOf(run.graph, device_of, op, device, [&](int32_t transfer) {
      const size_t pair = device * run.num_devices + static_cast<size_t>(transfers_.DestinationOf(run, transfer));
      request_[static_cast<size_t>(transfer)] = requests_++;
      if (queue_.Empty(pair)) waiting_[num_waiting_++] = pair;
      queue_.Push(pair, transfer);
      if constexpr (Run::kByTurns) {
        if (HasBytes(run, transfer)) run.AddWaitingSend(device);
      }
    });
    run.ScheduleLinkTurn(network_slot_, now);
  }

  template <typename Run>
  [[gnu::always_inline]] void OnEvent(Run& run, size_t slot, bool delivery, double now) {
    if constexpr (Run::kByTurns) {
      if (slot >= occupied_.size() && slot != network_slot_) return run.Free(slot - occupied_.size(), now);
    }
    if (delivery) {
      const UnderWay& arrived = under_way_[slot];
      run.LogDelivery(arrived.transfer, now);
      transfers_.ForEachReader(run, arrived.transfer, arrived.pair / run.num_devices, [&](OpIndex reader, bool served) {
        if (run.TakeInput(reader, served)) run.QueueOp(reader, now);
      });
      run.ScheduleLinkTurn(slot, arrived.free_at_us);
    } else if (slot == network_slot_) {
      run.CancelLink(slot);
      StartWaiting(run, now);
    } else {
      run.CancelLink(slot);
      Occupy(run, under_way_[slot].pair, 0);
      run.ScheduleLinkTurn(network_slot_, now);
    }
  }

  // The transfers are in order already, and channels get free by events.
  double Finish(const RunState&) const { return 0; }

  template <typename DeviceOf>
  bool SendsTheSame(const RunState& run, OpIndex op, size_t device, DeviceOf new_device_of) {
    return comparison_.AreTheSame(
        transfers_, run, op, device, new_device_of, [&](int32_t transfer, const auto& device_of) {
          const OpIndex first_reader = run.graph.tensor_consumers.items[static_cast<size_t>(transfer)];
          return static_cast<size_t>(transfer) * run.num_devices + device_of(first_reader);
        });
  }
  void Replay(RunState& run, int32_t transfer) const {
    const size_t from = run.DeviceOf(run.producer_of[static_cast<size_t>(transfers_.TensorOf(transfer))]);
    transfers_.ForEachReader(run, transfer, from, [&](OpIndex reader, bool served) { run.TakeInput(reader, served); });
  }
  // request_ is not listed: its entries for transfers that were requested before a snapshot never change.
  template <typename Visit>
  void VisitState(Visit&& visit) {
    queue_.VisitState(visit);
    visit(std::span(waiting_));
    visit(std::span(&num_waiting_, 1));
    visit(std::span(&requests_, 1));
    visit(std::span(occupied_));
    visit(std::span(under_way_));
  }
  struct History {
    LinkedQueues::Links links;
    std::vector<int32_t> request;
  };
  History MakeHistory() const { return {queue_.MakeLinks(), std::vector<int32_t>(request_.size())}; }
  void SwapHistory(History& other) {
    queue_.SwapLinks(other.links);
    request_.swap(other.request);
  }
  void TakeQueued(const History& other) {
    queue_.TakeQueued(other.links, [&](int32_t transfer) { TakeRequest(other, transfer); });
  }
  void TakePast(const History& other) {
    queue_.TakePopped(other.links, [&](int32_t transfer) { TakeRequest(other, transfer); });
  }

 private:
  struct UnderWay {
    int32_t transfer;
    size_t pair;  // from * D + to
    double free_at_us;
  };

  void TakeRequest(const History& other, int32_t transfer) {
    request_[static_cast<size_t>(transfer)] = other.request[static_cast<size_t>(transfer)];
  }
  static size_t NumPairs(const SimGraph& graph) {
    return static_cast<size_t>(graph.num_devices) * static_cast<size_t>(graph.num_devices);
  }
  std::span<const int32_t> Route(const RunState& run, size_t pair) const {
    return run.graph.routes.channels.Row(static_cast<int32_t>(pair));
  }
  template <typename Run>
  bool IsFree(const Run& run, size_t pair) const {
    if constexpr (Run::kByTurns) {
      const bool has_devices = run.MayTransfer(pair / run.num_devices) && run.MayTransfer(pair % run.num_devices);
      if (!has_devices && HasBytes(run, queue_.Front(pair))) return false;
    }
    const std::span<const int32_t> route = Route(run, pair);
    return std::none_of(route.begin(), route.end(),
                        [this](int32_t c) { return occupied_[static_cast<size_t>(c)] != 0; });
  }
  bool HasBytes(const RunState& run, int32_t transfer) const {
    return run.graph.tensor_bytes[static_cast<size_t>(transfers_.TensorOf(transfer))] > 0;
  }
  void Occupy(const RunState& run, size_t pair, uint8_t occupied) {
    for (const int32_t channel : Route(run, pair)) occupied_[static_cast<size_t>(channel)] = occupied;
  }
  int32_t OldestRequest(size_t pair) const { return request_[static_cast<size_t>(queue_.Front(pair))]; }

  template <typename Run>
  void StartWaiting(Run& run, double now) {
    for (size_t i = 0; i < num_waiting_;) {
      const size_t pair = waiting_[i];
      if (!IsFree(run, pair)) {
        ++i;
        continue;
      }
      Start(run, pair, queue_.Pop(pair), now);
      // The pair leaves the list, or moves back to the place of its next request.
      size_t place = i;
      const bool again = !queue_.Empty(pair);
      for (; place + 1 < num_waiting_ && !(again && OldestRequest(waiting_[place + 1]) > OldestRequest(pair));
           ++place) {
        waiting_[place] = waiting_[place + 1];
      }
      if (again) {
        waiting_[place] = pair;
      } else {
        --num_waiting_;
      }
    }
  }

  template <typename Run>
  void Start(Run& run, size_t pair, int32_t transfer, double now) {
    const Routes& routes = run.graph.routes;
    const int32_t tensor = transfers_.TensorOf(transfer);
    const auto bytes = static_cast<double>(run.graph.tensor_bytes[static_cast<size_t>(tensor)]);
    const double transfer_us = routes.latency_us[pair] + bytes / routes.bandwidth_bytes_per_us[pair];
    const double delivered = now + transfer_us;
    const double free = delivered + run.graph.transfer_overhead_us;
    const auto first_channel = static_cast<size_t>(Route(run, pair).front());
    Occupy(run, pair, 1);
    under_way_[first_channel] = {transfer, pair, free};
    run.ScheduleDelivery(first_channel, delivered, tensor);
    if constexpr (Run::kByTurns) {
      if (bytes > 0) {
        const double free_at = now + run.graph.blocking * transfer_us;
        run.EndWaitingSend(pair / run.num_devices);
        run.Occupy(pair / run.num_devices, free_at);
        run.Occupy(pair % run.num_devices, free_at);
      }
    }
    if (run.keep_transfers) {
      run.timeline.transfers.push_back({tensor, static_cast<DeviceIndex>(pair / run.num_devices),
                                        transfers_.DestinationOf(run, transfer), now, delivered, delivered, free});
    }
  }

  DestinationTransfers transfers_;
  RequestComparison comparison_;
  const size_t network_slot_;
  LinkedQueues queue_;           // [D * D] queues of transfers
  std::vector<size_t> waiting_;  // [D * D] the first num_waiting_: pairs that wait, by their oldest request
  size_t num_waiting_ = 0;
  std::vector<int32_t> request_;     // [transfers] number of transfers requested before it
  int32_t requests_ = 0;             // Number of requests so far.
  std::vector<uint8_t> occupied_;    // [channels]
  std::vector<UnderWay> under_way_;  // [channels] the transfer whose first channel this is
};

}  // namespace emplace
