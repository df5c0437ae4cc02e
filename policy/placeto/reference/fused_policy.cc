#include "policy/placeto/reference/fused_policy.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include <limits>
#include <span>
#include <utility>

#include "common/error.h"
#include "policy/placeto/placeto_graph.h"

namespace emplace {
namespace {

constexpr char kCall[] = "call";

// What backward needs to know; travels through autograd as an opaque object.
struct Call : torch::CustomClassHolder {
  Call(PlacetoGradient& call_kernel, std::vector<PlacetoState> call_states)
      : kernel(call_kernel), states(std::move(call_states)) {}
  PlacetoGradient& kernel;
  const std::vector<PlacetoState> states;
};

template <typename Float>
std::span<Float> Span(const torch::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<size_t>(tensor.numel())};
}

bool IsAllowed(const PlacetoState& state, size_t device) {
  const auto devices = static_cast<size_t>(state.graph->num_devices);
  return state.graph->allowed[static_cast<size_t>(state.step) * devices + device] != 0;
}

class FusedPolicy : public torch::autograd::Function<FusedPolicy> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor& values,
                               const c10::intrusive_ptr<Call>& call) {
    context->save_for_backward({values});
    context->saved_data[kCall] = c10::IValue::make_capsule(call);
    const auto devices = call->states.empty() ? int64_t{0} : int64_t{call->states[0].graph->num_devices};
    torch::Tensor logits = torch::empty({std::ssize(call->states), devices});
    call->kernel.SetWeights(Span<const float>(values));
    call->kernel.Forward(call->states, Span<float>(logits));
    float* logit = logits.data_ptr<float>();
    for (const PlacetoState& state : call->states) {
      for (size_t device = 0; device < static_cast<size_t>(devices); ++device, ++logit) {
        if (!IsAllowed(state, device)) *logit = -std::numeric_limits<float>::infinity();
      }
    }
    return logits;
  }

  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& logit_gradients) {
    const torch::Tensor values = context->get_saved_variables()[0];
    const auto call = c10::static_intrusive_pointer_cast<Call>(context->saved_data[kCall].toCapsule());
    const torch::Tensor logit_gradient = logit_gradients[0].to(torch::kFloat32).contiguous().clone();
    float* one = logit_gradient.data_ptr<float>();
    for (const PlacetoState& state : call->states) {
      for (size_t device = 0; device < static_cast<size_t>(state.graph->num_devices); ++device, ++one) {
        if (!IsAllowed(state, device)) *one = 0;
      }
    }
    const torch::Tensor gradient = torch::zeros_like(values);
    call->kernel.SetWeights(Span<const float>(values));
    call->kernel.Backward(call->states, Span<const float>(logit_gradient), Span<float>(gradient));
    return {gradient, torch::Tensor()};
  }
};

}  // namespace

torch::Tensor FusedLogits(const torch::Tensor& values, PlacetoGradient& kernel, std::vector<PlacetoState> states) {
  EMPLACE_CHECK(values.is_cpu() && values.is_contiguous() && values.scalar_type() == torch::kFloat32);
  return FusedPolicy::apply(values, c10::make_intrusive<Call>(kernel, std::move(states)));
}

}  // namespace emplace
