#include "actor/hardware/program/given_tensors.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/view_as_real.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "actor/hardware/program/aten_call.h"
#include "actor/hardware/program/call_constants.h"
#include "common/error.h"
#include "common/files/json_text.h"
#include "common/rng.h"
#include "common/strings.h"

namespace emplace {
namespace {

using Json = nlohmann::json;

// The numbers of nested lists, in order. Number: int64_t or double.
template <typename Number>
void Flatten(const Json& value, std::vector<Number>& numbers, const std::string& place) {
  constexpr bool kWhole = std::is_same_v<Number, int64_t>;
  if (value.is_array()) {
    for (const Json& item : value) Flatten(item, numbers, place);
  } else if (value.is_boolean()) {
    numbers.push_back(value.get<bool>() ? 1 : 0);
  } else if (kWhole && value.is_number_integer()) {
    numbers.push_back(value.get<Number>());
  } else if (const std::optional<double> number = kWhole ? std::nullopt : FloatOf(value)) {
    numbers.push_back(static_cast<Number>(*number));
  } else {
    throw BadInput(StrCat(place, ": value holds ", ShownJson(value), ", expected ", kWhole ? "whole " : "", "numbers"));
  }
}

template <typename Number>
void FillConstantOf(at::Tensor& tensor, const Json& value, const std::string& place) {
  std::vector<Number> numbers;
  Flatten(value, numbers, place);
  // Of a complex number, both parts.
  at::Tensor parts = tensor.is_complex() ? at::view_as_real(tensor) : tensor;
  if (numbers.size() != static_cast<size_t>(parts.numel())) {
    throw BadInput(StrCat(place, ": value has ", numbers.size(), " numbers, expected ", parts.numel(),
                          " by the shape of its output"));
  }
  at::Tensor wide = at::empty(parts.sizes(), c10::CppTypeToScalarType<Number>::value);
  std::copy(numbers.begin(), numbers.end(), wide.data_ptr<Number>());
  parts.copy_(wide);
}

// Half of the width of a uniform distribution around 0 with this variance.
double HalfWidth(double variance) { return std::sqrt(3 * variance); }

Json AttrsOf(const Op& op, const std::string& place) {
  return op.attrs_json.empty() ? Json::object() : ParseJson(op.attrs_json, place);
}

// What an op's random numbers follow from: of a parameter its name, since all its replicas hold the same ones.
std::string SeedOf(const Op& op) {
  if (op.type != "emplace.parameter") return op.name;
  const Json attrs = AttrsOf(op, "op '" + op.name + "'");
  const auto name = attrs.find("name");
  return name != attrs.end() && name->is_string() ? name->get<std::string>() : op.name;
}

// Draws number after number. Doubles have room for all that the narrower types hold; they are rounded on the way, piece
// by piece, as all of a large tensor's would take several times its memory.
template <typename Draw>
void Fill(at::Tensor& tensor, Draw draw) {
  constexpr int64_t kPiece = 1 << 20;
  const int64_t count = tensor.numel();
  at::Tensor all = tensor.view({count});
  at::Tensor wide = at::empty({std::min(count, kPiece)}, at::kDouble);
  double* const numbers = wide.data_ptr<double>();
  for (int64_t begin = 0; begin < count; begin += kPiece) {
    const int64_t size = std::min(count - begin, kPiece);
    std::generate(numbers, numbers + size, draw);
    all.narrow(0, begin, size).copy_(wide.narrow(0, 0, size));
  }
}

// The greatest whole number of so many bytes with a sign.
int64_t GreatestOf(int64_t bytes) { return std::numeric_limits<int64_t>::max() >> (64 - 8 * bytes); }

void FillRandom(at::Tensor& tensor, const Op& op, int64_t index_bound) {
  Rng rng = Rng(0).Fork(SeedOf(op));
  if (tensor.scalar_type() == at::kBool) {
    tensor.fill_(true);
  } else if (!tensor.is_floating_point() && !tensor.is_complex()) {
    const auto bound = static_cast<double>(std::min(index_bound, GreatestOf(tensor.element_size())));
    Fill(tensor, [&] { return std::floor(rng.Uniform() * bound); });
  } else if (op.type == "emplace.parameter" && tensor.dim() < 2) {
    Fill(tensor, [&] { return rng.Uniform(0.5, 1.5); });
  } else {
    const int64_t row = op.type == "emplace.parameter" && tensor.size(0) > 0 ? tensor.numel() / tensor.size(0) : 1;
    const double half = HalfWidth(1.0 / static_cast<double>(std::max<int64_t>(row, 1)));
    Fill(tensor, [&] { return rng.Uniform(-half, half); });
  }
}

void FillConstant(at::Tensor& tensor, const Op& op, const std::string& place) {
  const Json attrs = AttrsOf(op, place);
  const Json& value = RequiredMember(attrs, "value", place);
  // Doubles do not hold all whole numbers.
  if (c10::isIntegralType(tensor.scalar_type(), /*includeBool=*/true)) {
    FillConstantOf<int64_t>(tensor, value, place);
  } else {
    FillConstantOf<double>(tensor, value, place);
  }
}

}  // namespace

void CheckGivenOp(const Op& op) {
  const std::string place = "op '" + op.name + "'";
  if (op.outputs.size() != 1 || !op.outputs[0].shape || op.outputs[0].dtype.empty()) {
    throw BadInput(StrCat(place, ": ", op.type, " has no shape or dtype, expected one output with both"));
  }
  // The memory that a step needs is known by the bytes, so the shape may not ask for more.
  const auto element = static_cast<double>(c10::elementSize(DtypeNamed(op.outputs[0].dtype, place)));
  double bytes = element;
  for (const int64_t extent : *op.outputs[0].shape) bytes *= static_cast<double>(extent);
  const auto most = static_cast<double>(op.AllBytes());
  if (bytes > most) {
    throw BadInput(StrCat(place, ": its shape takes ", bytes, " bytes, the graph says ", most));
  }
}

at::Tensor MakeGivenTensor(const Op& op, int64_t index_bound) {
  CheckGivenOp(op);
  const std::string place = "op '" + op.name + "'";
  at::Tensor tensor = at::empty(*op.outputs[0].shape, DtypeNamed(op.outputs[0].dtype, place));
  if (op.type == "emplace.constant") {
    FillConstant(tensor, op, place);
  } else {
    FillRandom(tensor, op, index_bound);
  }
  return tensor;
}

}  // namespace emplace
