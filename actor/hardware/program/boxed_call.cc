#include "actor/hardware/program/boxed_call.h"

#include <ATen/ScalarOps.h>
#include <torch/version.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "common/error.h"
#include "common/strings.h"

namespace emplace {
namespace {

using c10::IValue;
using c10::TypeKind;

struct NamedDtype {
  const char* name;
  c10::ScalarType type;
};
constexpr std::array kDtypes = {
    NamedDtype{"f32", c10::ScalarType::Float},         NamedDtype{"f64", c10::ScalarType::Double},
    NamedDtype{"f16", c10::ScalarType::Half},          NamedDtype{"bf16", c10::ScalarType::BFloat16},
    NamedDtype{"i64", c10::ScalarType::Long},          NamedDtype{"i32", c10::ScalarType::Int},
    NamedDtype{"i16", c10::ScalarType::Short},         NamedDtype{"i8", c10::ScalarType::Char},
    NamedDtype{"u8", c10::ScalarType::Byte},           NamedDtype{"u64", c10::ScalarType::UInt64},
    NamedDtype{"bool", c10::ScalarType::Bool},         NamedDtype{"c64", c10::ScalarType::ComplexFloat},
    NamedDtype{"c128", c10::ScalarType::ComplexDouble}};

struct NamedFormat {
  const char* name;
  c10::MemoryFormat format;
};
constexpr std::array kMemoryFormats = {NamedFormat{"contiguous_format", c10::MemoryFormat::Contiguous},
                                       NamedFormat{"channels_last", c10::MemoryFormat::ChannelsLast},
                                       NamedFormat{"channels_last_3d", c10::MemoryFormat::ChannelsLast3d},
                                       NamedFormat{"preserve_format", c10::MemoryFormat::Preserve}};

// Turns constants into what an operator's schema wants: graphs write 1 also where the operator takes 1.0, and 2 where
// it takes [2, 2].
class Conversion {
 public:
  explicit Conversion(const std::string& place) : place_(place) {}

  IValue Convert(const AtenConstant& constant, const c10::Argument& argument) const {
    const c10::Type* type = argument.type().get();
    if (const auto* optional = type->castRaw<c10::OptionalType>()) {
      if (std::holds_alternative<std::monostate>(constant)) return {};
      type = optional->getElementType().get();
    }
    if (const auto* list = type->castRaw<c10::ListType>()) {
      return ConvertList(constant, list->getElementType()->kind(), argument);
    }
    // LibTorch looks types of numbers, layouts and memory formats up by their number without a check.
    if (const std::optional<NamedConstant::Kind> kind = KindOfName(argument)) {
      const auto* const named = std::get_if<NamedConstant>(&constant);
      if (named == nullptr || named->kind != *kind) throw Wrong(argument);
      return Named(*named);
    }
    const auto* const integer = std::get_if<int64_t>(&constant);
    const auto* const number = std::get_if<double>(&constant);
    const auto* const flag = std::get_if<bool>(&constant);
    switch (type->kind()) {
      case TypeKind::TensorType:
        // A number beside a tensor: it does not decide the type of the result.
        if (integer != nullptr || number != nullptr || flag != nullptr) return WrappedNumber(ToScalar(constant));
        break;
      case TypeKind::IntType:
      case TypeKind::SymIntType:
        if (integer != nullptr) return *integer;
        break;
      case TypeKind::FloatType:
      case TypeKind::SymFloatType:
        if (number != nullptr) return *number;
        if (integer != nullptr) return static_cast<double>(*integer);
        break;
      case TypeKind::BoolType:
      case TypeKind::SymBoolType:
        if (flag != nullptr) return *flag;
        break;
      case TypeKind::NumberType:
        if (integer != nullptr || number != nullptr || flag != nullptr) return ToScalar(constant);
        break;
      case TypeKind::StringType:
        if (const auto* const text = std::get_if<std::string>(&constant)) return *text;
        break;
      default:
        break;
    }
    throw Wrong(argument);
  }

  Error Wrong(const c10::Argument& argument) const {
    return BadInput(StrCat(place_, ": argument '", argument.name(), "' has a value of another type, expected ",
                           argument.type()->str()));
  }

 private:
  // What an argument names, which to the dispatcher is a whole number; nullopt: nothing.
  static std::optional<NamedConstant::Kind> KindOfName(const c10::Argument& argument) {
    const c10::Type* type = argument.real_type().get();
    if (const auto* optional = type->castRaw<c10::OptionalType>()) type = optional->getElementType().get();
    switch (type->kind()) {
      case TypeKind::ScalarTypeType:
        return NamedConstant::Kind::kDtype;
      case TypeKind::LayoutType:
        return NamedConstant::Kind::kLayout;
      case TypeKind::MemoryFormatType:
        return NamedConstant::Kind::kMemoryFormat;
      default:
        return std::nullopt;
    }
  }

  static c10::Scalar ToScalar(const AtenConstant& constant) {
    if (const auto* const integer = std::get_if<int64_t>(&constant)) return *integer;
    if (const auto* const flag = std::get_if<bool>(&constant)) return *flag;
    return std::get<double>(constant);
  }

  static IValue WrappedNumber(const c10::Scalar& number) {
    at::Tensor tensor = at::scalar_to_tensor(number);
    tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
    return tensor;
  }

  int64_t Named(const NamedConstant& named) const {
    if (named.kind == NamedConstant::Kind::kDtype) return static_cast<int64_t>(DtypeNamed(named.name, place_));
    if (named.kind == NamedConstant::Kind::kLayout && named.name == "strided") {
      return static_cast<int64_t>(c10::Layout::Strided);
    }
    for (const NamedFormat& known : kMemoryFormats) {
      if (named.kind == NamedConstant::Kind::kMemoryFormat && named.name == known.name) {
        return static_cast<int64_t>(known.format);
      }
    }
    throw BadInput(StrCat(place_, ": '", named.name, "', expected a known memory format, or the layout strided"));
  }

  IValue ConvertList(const AtenConstant& constant, TypeKind element, const c10::Argument& argument) const {
    const auto* const integers = std::get_if<std::vector<int64_t>>(&constant);
    const bool empty = integers != nullptr && integers->empty();  // Graphs write every empty list as one of integers.
    // In place of a list of equal numbers there may be one.
    const auto repeats = static_cast<size_t>(std::max(argument.N().value_or(1), 1));
    if (element == TypeKind::IntType || element == TypeKind::SymIntType) {
      if (integers != nullptr) return c10::List<int64_t>(*integers);
      if (const auto* const integer = std::get_if<int64_t>(&constant)) {
        return c10::List<int64_t>(std::vector<int64_t>(repeats, *integer));
      }
    } else if (element == TypeKind::FloatType) {
      if (const auto* const numbers = std::get_if<std::vector<double>>(&constant)) return c10::List<double>(*numbers);
      if (integers != nullptr) return c10::List<double>(std::vector<double>(integers->begin(), integers->end()));
    } else if (element == TypeKind::BoolType) {
      c10::List<bool> list;
      if (const auto* const flags = std::get_if<std::vector<bool>>(&constant)) {
        for (const bool flag : *flags) list.push_back(flag);
        return list;
      }
      if (empty) return list;
    } else if (element == TypeKind::TensorType && empty) {
      return c10::List<at::Tensor>();
    } else if (element == TypeKind::OptionalType && empty) {
      return c10::List<std::optional<at::Tensor>>();
    }
    throw Wrong(argument);
  }

  const std::string& place_;
};

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

c10::ScalarType DtypeNamed(const std::string& name, const std::string& place) {
  for (const NamedDtype& known : kDtypes) {
    if (name == known.name) return known.type;
  }
  throw BadInput(StrCat(place, ": '", name, "' is no type of numbers, expected one such as f32, bf16 or i64"));
}

// Puts the arguments of a call in the order of the operator's schema.
class BoxedCall::Builder {
 public:
  Builder(BoxedCall& made, const Op& op, c10::Device device)
      : made_(made), place_("op '" + op.name + "': call"), device_(device) {}

  void Build(const AtenCall& call) {
    made_.op_ = FindOperator(call.op, place_);
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
      made_.arguments_.push_back(Conversion(place_).Convert(*constant, argument));
    } else {
      AddSlot(argument, *given);
    }
  }

  void AddSlot(const c10::Argument& argument, const AtenArgument& given) {
    const c10::Type* type = argument.type().get();
    if (const auto* optional = type->castRaw<c10::OptionalType>()) type = optional->getElementType().get();
    Slot slot{.position = made_.arguments_.size(), .kind = Slot::Kind::kTensor, .tensors = {}};
    if (const auto* const tensor = std::get_if<TensorArgument>(&given.value)) {
      if (type->kind() != TypeKind::TensorType) throw Conversion(place_).Wrong(argument);
      slot.tensors.push_back(Prepare(*tensor));
      if (argument.alias_info() != nullptr && argument.alias_info()->isWrite()) {
        if (!tensor->views.empty())
          throw BadInput(StrCat(place_, ": changes a view in place, expected a whole tensor"));
        made_.changed_inputs_.push_back(tensor->input);
      }
    } else {
      const auto* const list = type->castRaw<c10::ListType>();
      const TypeKind element = list == nullptr ? TypeKind::NoneType : list->getElementType()->kind();
      if (element != TypeKind::TensorType && element != TypeKind::OptionalType)
        throw Conversion(place_).Wrong(argument);
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
    if (!none || slot.kind != Slot::Kind::kListOfOptional) throw Conversion(place_).Wrong(argument);
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
          view.args.push_back(Conversion(place_).Convert(call.args[i - 1], schema[i]));
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
  op_.callBoxed(stack);
  if (stack.size() == 1 && stack.front().isTensorList()) return std::move(stack.front()).toTensorVector();
  std::vector<at::Tensor> outputs;
  outputs.reserve(stack.size());
  for (IValue& value : stack) outputs.push_back(value.isTensor() ? std::move(value).toTensor() : at::Tensor());
  return outputs;
}

}  // namespace emplace
