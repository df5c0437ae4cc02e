#include "policy/sgdp/sgdp_network.h"

#include <torch/nn/functional.h>
#include <torch/torch.h>

#include <string>
#include <vector>

#include "common/strings.h"
#include "policy/sgdp/sgdp_kind.h"
#include "policy/torch/parameters.h"

namespace emplace {
namespace {

using torch::Tensor;

constexpr double kLeastSpread = 0.01;  // What is added to a standard deviation: features that do not vary stay 0.

// x [n, F]: each column from its mean, in standard deviations.
Tensor Standardized(const Tensor& x) {
  const Tensor centered = x - x.mean(0);
  return centered / (centered.square().mean(0).sqrt() + kLeastSpread);
}

// Over the last dimension, of size H.
Tensor Norm(const TorchParameters& parameters, const std::string& name, const Tensor& x) {
  return torch::layer_norm(x, {x.size(-1)}, parameters[name + ".scale"], parameters[name + ".bias"]);
}

class SgdpNetwork final : public OneShotNetwork {
 public:
  explicit SgdpNetwork(const SgdpShape& shape) : shape_(shape) {}

  std::vector<ParameterSpec> Parameters() const override { return SgdpParameters(shape_); }

  Tensor Logits(const TorchParameters& parameters, const GroupTensors& graph) const override {
    const Tensor embedded = Embed(parameters, graph);
    const int64_t n = embedded.size(0);
    // Transformers work on segments, the last of which is filled up with zeros that nobody attends to.
    const int64_t segments = (n + shape_.segment - 1) / shape_.segment;
    Tensor x = torch::constant_pad_nd(embedded, {0, 0, 0, segments * shape_.segment - n})
                   .view({segments, shape_.segment, shape_.hidden});
    const Tensor visible = Visible(n, segments, x.device());
    const Tensor of_graph = embedded.mean(0);  // [H]
    for (int32_t layer = 0; layer < shape_.placer_layers; ++layer) {
      x = PlacerLayer(parameters, StrCat("placer.", layer), x, visible, of_graph);
    }
    x = x.view({segments * shape_.segment, shape_.hidden}).narrow(0, 0, n);
    if (shape_.graph_norm) x = x - x.mean(0);
    return Linear(parameters, "output", Norm(parameters, "output.norm", x));
  }

 private:
  // GraphSAGE (Hamilton et al. 2017, section 3.3, the pooling aggregator), over parents and children alike: [n, H].
  Tensor Embed(const TorchParameters& parameters, const GroupTensors& graph) const {
    const Tensor nodes = shape_.graph_norm ? Standardized(graph.nodes) : graph.nodes;
    Tensor h = torch::relu(Linear(parameters, "input", nodes));
    const Tensor to = graph.to.unsqueeze(1).expand({graph.to.size(0), shape_.hidden});
    for (int32_t layer = 0; layer < shape_.graph_layers; ++layer) {
      const std::string name = StrCat("graph.", layer);
      // Sigmoids are positive, so a group without neighbours hears 0.
      const Tensor messages = torch::sigmoid(Linear(parameters, name + ".pool", h)).index_select(0, graph.from);
      const Tensor heard = torch::zeros_like(h).scatter_reduce(0, to, messages, "amax");
      h = torch::relu(Linear(parameters, name + ".update", torch::cat({h, heard}, 1)));
    }
    return h;
  }

  // Whom the groups of each segment may attend to, [segments, 1, 1, 2 * segment]: those of the segment before, then
  // those of its own.
  Tensor Visible(int64_t n, int64_t segments, c10::Device device) const {
    const Tensor index = (torch::arange(segments, device) * shape_.segment).unsqueeze(1) +
                         torch::arange(-shape_.segment, shape_.segment, device).unsqueeze(0);
    return ((index >= 0) & (index < n)).unsqueeze(1).unsqueeze(1);
  }

  // x: [segments, segment, H]. The segment before is a memory, from which no gradient goes back (Dai et al. 2019,
  // "Transformer-XL", section 3.2); there is no positional encoding.
  Tensor PlacerLayer(const TorchParameters& parameters, const std::string& name, Tensor x, const Tensor& visible,
                     const Tensor& of_graph) const {
    if (shape_.superposition) {
      // 1 where the condition's output is 0, as it is at first.
      x = x * (2 * torch::sigmoid(Linear(parameters, name + ".condition", of_graph)));
    }
    const std::string attention = name + ".attention";
    const Tensor own = Norm(parameters, attention + ".norm", x);
    const Tensor memory =
        torch::cat({torch::zeros_like(own.narrow(0, 0, 1)), own.detach().narrow(0, 0, own.size(0) - 1)}, 0);
    const Tensor seen = torch::cat({memory, own}, 1);  // [segments, 2 * segment, H]
    const auto heads = [&](const char* part, const Tensor& of) {
      return Linear(parameters, attention + part, of)
          .view({of.size(0), of.size(1), shape_.heads, shape_.hidden / shape_.heads})
          .transpose(1, 2);
    };
    const Tensor mixed =
        torch::scaled_dot_product_attention(heads(".query", own), heads(".key", seen), heads(".value", seen), visible)
            .transpose(1, 2)
            .reshape(x.sizes());
    x = x + Linear(parameters, attention + ".out", mixed);
    const std::string feedforward = name + ".feedforward";
    const Tensor wide = torch::relu(Linear(parameters, feedforward + ".0", Norm(parameters, feedforward + ".norm", x)));
    return x + Linear(parameters, feedforward + ".1", wide);
  }

  const SgdpShape shape_;
};

}  // namespace

std::unique_ptr<OneShotNetwork> MakeSgdpNetwork(const PolicyShape& shape) {
  return std::make_unique<SgdpNetwork>(SgdpShape::Of(shape));
}

std::unique_ptr<Player> MakeSgdpPlayer(const PolicyShape& shape) {
  return MakeOneShotPlayer(shape, MakeSgdpNetwork(shape));
}

std::unique_ptr<Model> MakeSgdpModel(const PolicyShape& shape, const std::vector<PlacementTask>& tasks,
                                     c10::Device device) {
  return MakeOneShotModel(shape, MakeSgdpNetwork(shape), tasks, device);
}

}  // namespace emplace
