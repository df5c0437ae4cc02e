#include "actor/hardware/program/boxed_call.h"

#include <torch/version.h>

#include <algorithm>
#include <optional>
#include <set>

#include "actor/hardware/program/call_constants.h"
#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

using c10::IValue;
using c10::TypeKind;

// REQUIRES: name is one of allowed_ops.h, "aten.addmm.default".
c10::OperatorHandle FindOperator(const std::string& name, const std::string& place) {
  const std::vector<std::string> parts = Split(name, '.');
  EMPLACE_CHECK(parts.size() == 3);
  const std::optional<c10::OperatorHandle> found =
      c10::Dispatcher::singleton().findSchema({parts[0] + "::" + parts[1], parts[2] == "default" ? "" : parts[2]});
  if (!found) throw BadInput(StrCat(place, ": LibTorch ", TORCH_VERSION, " has no operator '", name, "'"));
  return *found;
}

}  // namespace

// Puts the arguments of a call in the order of the operator's schema.
class BoxedCall::Builder {
 public:
  Builder(BoxedCall& made, const Op& op, c10::Device device)
      : made_(made), place_("op '" + op.name + "': call"), device_(device) {}

  void Build(const AtenCall& call) {
    made_.op_ = FindOperator(call.op, place_);
    made_.check_ = ArgumentCheckOf(call.op);
    const c10::DispatchKey key = device_.is_cuda() ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU;
    if (!made_.op_.hasComputedKernelForDispatchKey(key)) {
      throw BadInput(StrCat(place_, ": '", call.op, "' cannot be run on a ", device_.is_cuda() ? "GPU" : "CPU"));
    }
    const std::vector<c10::Argument>& schema = made_.op_.schema().arguments();
    if (call.args.size() > schema.size()) {
      throw BadInput(
          StrCat(place_, ": has ", call.args.size(), " arguments, expected at most ", schema.size(), " for ", call.op));
    }
    std::set<std::string> named;
    for (const auto& [name, argument] : call.kwargs) named.insert(name);
    for (size_t i = 0; i < schema.size(); ++i) {
      if (named.erase(schema[i].name()) != 0 && i < call.args.size()) {
        throw BadInput(StrCat(place_, ": argument '", schema[i].name(), "' is given by its position and by its name"));
      }
      Add(schema[i], Given(call, schema[i], i));
    }
    if (!named.empty()) throw BadInput(StrCat(place_, ": ", call.op, " has no argument '", *named.begin(), "'"));
    std::sort(made_.changed_inputs_.begin(), made_.changed_inputs_.end());
  }

 private:
  // What the call gives for an argument; nullptr: nothing.
  const AtenArgument* Given(const AtenCall& call, const c10::Argument& argument, size_t position) const {
    if (position < call.args.size()) return &call.args[position];
    for (const auto& [name, value] : call.kwargs) {
      if (name == argument.name()) return &value;
    }
    return nullptr;
  }

  void Add(const c10::Argument& argument, const AtenArgument* given) {
    if (argument.name() == "device") {
      made_.arguments_.emplace_back(device_);
    } else if (given == nullptr) {
      if (!argument.default_value()) throw BadInput(StrCat(place_, ": argument '", argument.name(), "' is missing"));
      made_.arguments_.push_back(*argument.default_value());
    } else if (const auto* const constant = std::get_if<AtenConstant>(&given->value)) {
      if (argument.alias_info() != nullptr && argument.alias_info()->isWrite()) {
        throw BadInput(StrCat(place_, ": changes argument '", argument.name(), "' in place, expected an input"));
      }
      made_.arguments_.push_back(ToIValue(*constant, argument, place_));
    } else {
      AddSlot(argument, *given);
    }
  }

  void AddSlot(const c10::Argument& argument, const AtenArgument& given) {
    const c10::Type* type = argument.type().get();
    if (const auto* optional = type->castRaw<c10::OptionalType>()) type = optional->getElementType().get();
    Slot slot{.position = made_.arguments_.size(), .kind = Slot::Kind::kTensor, .tensors = {}};
    if (const auto* const tensor = std::get_if<TensorArgument>(&given.value)) {
      if (type->kind() != TypeKind::TensorType) throw WrongValue(argument, place_);
      slot.tensors.push_back(Prepare(*tensor));
      if (argument.alias_info() != nullptr && argument.alias_info()->isWrite()) {
        if (!tensor->views.empty())
          throw BadInput(StrCat(place_, ": changes a view in place, expected a whole tensor"));
        made_.changed_inputs_.push_back(tensor->input);
      }
    } else {
      const auto* const list = type->castRaw<c10::ListType>();
      const TypeKind element = list == nullptr ? TypeKind::NoneType : list->getElementType()->kind();
      if (element != TypeKind::TensorType && element != TypeKind::OptionalType) throw WrongValue(argument, place_);
      slot.kind = element == TypeKind::TensorType ? Slot::Kind::kList : Slot::Kind::kListOfOptional;
      for (const AtenArgument& item : std::get<AtenList>(given.value))
        slot.tensors.push_back(Item(item, slot, argument));
    }
    made_.arguments_.emplace_back();
    made_.slots_.push_back(std::move(slot));
  }

  Tensor Item(const AtenArgument& item, const Slot& slot, const c10::Argument& argument) const {
    if (const auto* const tensor = std::get_if<TensorArgument>(&item.value)) return Prepare(*tensor);
    const auto* const constant = std::get_if<AtenConstant>(&item.value);
    const bool none = constant != nullptr && std::holds_alternative<std::monostate>(*constant);
    if (!none || slot.kind != Slot::Kind::kListOfOptional) throw WrongValue(argument, place_);
    return {};
  }

  Tensor Prepare(const TensorArgument& argument) const {
    Tensor tensor{.input = argument.input, .views = {}};
    for (const ViewCall& call : argument.views) {
      View view{FindOperator(call.op, place_), {}};
      const std::vector<c10::Argument>& schema = view.op.schema().arguments();
      if (call.args.size() + 1 > schema.size()) {
        throw BadInput(StrCat(place_, ": view ", call.op, " has ", call.args.size(), " arguments, expected at most ",
                              schema.size() - 1));
      }
      for (size_t i = 1; i < schema.size(); ++i) {
        if (i <= call.args.size()) {
          view.args.push_back(ToIValue(call.args[i - 1], schema[i], place_));
        } else if (schema[i].default_value()) {
          view.args.push_back(*schema[i].default_value());
        } else {
          throw BadInput(StrCat(place_, ": view ", call.op, " lacks its argument '", schema[i].name(), "'"));
        }
      }
      tensor.views.push_back(std::move(view));
    }
    return tensor;
  }

  BoxedCall& made_;
  const std::string place_;
  const c10::Device device_;
};

BoxedCall::BoxedCall(const Op& op, c10::Device device)
    : op_(c10::Dispatcher::singleton().findSchemaOrThrow("aten::alias", "")) {
  Builder(*this, op, device).Build(ParseAtenCall(op));
}

at::Tensor BoxedCall::Tensor::From(const Inputs& inputs) const {
  if (input == kNone) return {};
  at::Tensor tensor = inputs(input);
  for (const View& view : views) {
    torch::jit::Stack stack;
    stack.reserve(view.args.size() + 1);
    stack.emplace_back(std::move(tensor));
    stack.insert(stack.end(), view.args.begin(), view.args.end());
    view.op.callBoxed(stack);
    tensor = std::move(stack.front()).toTensor();
  }
  return tensor;
}

std::vector<at::Tensor> BoxedCall::Run(const Inputs& inputs) const {
  torch::jit::Stack stack = arguments_;
  for (const Slot& slot : slots_) {
    if (slot.kind == Slot::Kind::kTensor) {
      stack[slot.position] = slot.tensors.front().From(inputs);
    } else if (slot.kind == Slot::Kind::kList) {
      c10::List<at::Tensor> list;
      for (const Tensor& tensor : slot.tensors) list.push_back(tensor.From(inputs));
      stack[slot.position] = std::move(list);
    } else {
      c10::List<std::optional<at::Tensor>> list;
      for (const Tensor& tensor : slot.tensors) {
        list.push_back(tensor.input == Tensor::kNone ? std::optional<at::Tensor>() : tensor.From(inputs));
      }
      stack[slot.position] = std::move(list);
    }
  }
  if (check_ != nullptr) check_(stack);
  op_.callBoxed(stack);
  if (stack.size() == 1 && stack.front().isTensorList()) return std::move(stack.front()).toTensorVector();
  std::vector<at::Tensor> outputs;
  outputs.reserve(stack.size());
  for (IValue& value : stack) outputs.push_back(value.isTensor() ? std::move(value).toTensor() : at::Tensor());
  return outputs;
}

}  // namespace emplace
