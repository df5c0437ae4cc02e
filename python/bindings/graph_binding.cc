// emplace.Graph
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <string>

#include "common/error.h"
#include "common/files/file_io.h"
#include "common/strings.h"
#include "python/bindings/arrays.h"
#include "python/bindings/bindings.h"
#include "python/bindings/interruptible.h"
#include "simulator/graph/graph_io.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace emplace::python {
namespace {

// [n] what `value` gives for each op.
template <typename T, typename Value>
NumpyArray<T> ForEachOp(const OpGraph& graph, Value value) {
  std::vector<T> values;
  values.reserve(graph.ops().size());
  for (const Op& op : graph.ops()) values.push_back(value(op));
  return ToNumpy(std::move(values));
}

void Save(const OpGraph& graph, const std::filesystem::path& path) {
  const std::string json = GraphToJson(graph);
  WriteFileAtomically(path, path.extension() == ".zst" ? CompressZstd(json) : json);
}

OpGraph Load(const std::filesystem::path& path) {
  return RunOrLeave([path] { return LoadGraph(path); });
}

OpGraph FromJson(const std::string& json, const std::string& source) {
  return RunOrLeave([json, source] { return ParseGraph(json, source); });
}

OpGraph FromOps(const std::string& name, const nb::list& ops, const nb::dict& meta) {
  nb::dict document;
  document["format"] = "emplace.graph/1";
  document["name"] = name;
  if (nb::len(meta) > 0) document["meta"] = meta;
  document["ops"] = ops;
  // Numbers of NumPy are numbers, too.
  const nb::object number = nb::module_::import_("numpy").attr("generic");
  const nb::object plain = nb::cpp_function([&number](const nb::object& value) -> nb::object {
    if (nb::isinstance(value, number)) return value.attr("item")();
    throw BadInput(StrCat("ops hold a ", nb::cast<std::string>(nb::str(value.type().attr("__name__"))),
                          ", expected dicts, lists, texts, numbers and true or false"));
  });
  const auto to_json = [&](const nb::handle& value, const std::string& what) {
    try {
      const nb::object json =
          nb::module_::import_("json").attr("dumps")(value, nb::arg("default") = plain, nb::arg("allow_nan") = false);
      return nb::cast<std::string>(json);
    } catch (const nb::python_error& error) {
      const bool is_ours = error.matches(nb::module_::import_("emplace._core").attr("BadInput"));
      const bool is_form =
          error.matches(PyExc_ValueError) || error.matches(PyExc_TypeError) || error.matches(PyExc_RecursionError);
      if (is_ours || !is_form) throw;
      throw BadInput(StrCat(what, " is no JSON: ", nb::cast<std::string>(nb::str(error.value()))));
    }
  };
  std::string json;
  try {
    json = to_json(document, "meta");
  } catch (const Error&) {
    // Which op it is, if it is one.
    for (size_t op = 0; op < nb::len(ops); ++op) to_json(ops[op], StrCat("op ", op));
    throw;
  }
  return FromJson(json, name);
}

nb::object ToDict(const OpGraph& graph) { return nb::module_::import_("json").attr("loads")(GraphToJson(graph)); }

NumpyArray<int32_t> Edges(const OpGraph& graph) {
  std::vector<int32_t> edges;
  for (OpIndex producer = 0; producer < graph.num_ops(); ++producer) {
    for (const OpIndex consumer : graph.consumers().Row(producer)) {
      edges.push_back(producer);
      edges.push_back(consumer);
    }
  }
  const size_t rows = edges.size() / 2;
  return ToNumpy(std::move(edges), {rows, 2});
}

}  // namespace

void BindGraph(nb::module_& module) {
  nb::class_<OpGraph>(module, "Graph",
                      "A computation graph: ops, the tensors that they make, and the cost of each op on each kind of\n"
                      "device (format emplace.graph/1). Immutable; any thread may read it. n is the number of ops.")
      .def_static("load", &Load, "path"_a,
                  "Reads *.graph.json or *.graph.json.zst. Raises BadInput, which names the op, for a bad file.")
      .def_static("from_json", &FromJson, "text"_a, "source"_a = "graph",
                  "Reads the text of a graph file; `source` names it in errors.")
      .def_static("from_ops", &FromOps, "name"_a, "ops"_a, "meta"_a = nb::dict(),
                  "Makes a graph from a list of ops, each a dict with the keys of the file format: name, cost_us (a\n"
                  "number of microseconds, or a dict from device kind to it), and optionally type, inputs, outputs\n"
                  "(dicts with bytes, shape, dtype), param_bytes, temp_bytes, flops, group, allowed, copy_of, attrs,\n"
                  "call. meta: what there is to say of the graph as a whole.")
      .def("save", &Save, "path"_a, "Writes the graph's file, compressed where the name ends in .zst.")
      .def("to_json", &GraphToJson, "The text of the graph's file.")
      .def("to_dict", &ToDict, "The graph's file as dicts and lists.")
      .def_prop_ro("name", &OpGraph::name)
      .def_prop_ro("num_ops", &OpGraph::num_ops, "n")
      .def("__len__", &OpGraph::num_ops)
      .def_prop_ro(
          "ops", [](const OpGraph& graph) { return nb::list(ToDict(graph)["ops"]); },
          nb::sig("def ops(self) -> list[dict]"), "The ops as dicts of the file format, made anew at each call.")
      .def_prop_ro(
          "meta",
          [](const OpGraph& graph) {
            const std::string text = graph.meta_json().empty() ? "{}" : graph.meta_json();
            return nb::module_::import_("json").attr("loads")(text);
          },
          nb::sig("def meta(self) -> dict"), "What the file says of the graph as a whole, made anew at each call.")
      .def_prop_ro(
          "op_names",
          [](const OpGraph& graph) {
            std::vector<std::string> names;
            for (const Op& op : graph.ops()) names.push_back(op.name);
            return names;
          },
          "[n] name of each op.")
      .def_prop_ro(
          "op_types",
          [](const OpGraph& graph) {
            std::vector<std::string> types;
            for (const Op& op : graph.ops()) types.push_back(op.type);
            return types;
          },
          "[n] type of each op, such as aten.mm.")
      .def(
          "cost_us",
          [](const OpGraph& graph, const std::string& kind) {
            return ForEachOp<double>(
                graph, [&](const Op& op) { return op.AllowedOn(kind) ? op.cost.On(kind).value_or(0) : kMayNotRunUs; });
          },
          "kind"_a, "float64 [n] microseconds of each op on a device of this kind; NaN where the kind may not run it.")
      .def_prop_ro(
          "flops", [](const OpGraph& graph) { return ForEachOp<double>(graph, [](const Op& op) { return op.flops; }); },
          nb::rv_policy::move, "float64 [n] floating point operations of each op; 0 where not known.")
      .def_prop_ro(
          "param_bytes",
          [](const OpGraph& graph) { return ForEachOp<int64_t>(graph, [](const Op& op) { return op.param_bytes; }); },
          nb::rv_policy::move, "int64 [n] bytes that each op occupies for the whole step.")
      .def_prop_ro("parameter_bytes", &OpGraph::ParameterBytes,
                   "Bytes of all parameters and buffers, and of what the optimizer keeps of them: the sum of "
                   "param_bytes but of inputs and constants.")
      .def_prop_ro(
          "output_bytes",
          [](const OpGraph& graph) { return ForEachOp<int64_t>(graph, [](const Op& op) { return op.OutputBytes(); }); },
          nb::rv_policy::move, "int64 [n] bytes of all outputs of each op.")
      .def_prop_ro(
          "copy_of",
          [](const OpGraph& graph) { return ForEachOp<int32_t>(graph, [](const Op& op) { return op.copy_of; }); },
          nb::rv_policy::move,
          "int32 [n] index of the op of the first micro-batch that each op repeats; -1: it repeats none.")
      .def_prop_ro(
          "topological_order", [](const OpGraph& graph) { return ToNumpy(graph.topological_order()); },
          nb::rv_policy::move, "int32 [n] indices of the ops, each after all ops whose outputs it reads.")
      .def("edges", &Edges, "int32 [E, 2] producer and consumer of each pair of ops of which one reads the other.")
      .def("__eq__", [](const OpGraph& a, const OpGraph& b) { return GraphToJson(a) == GraphToJson(b); })
      .def(
          "__eq__", [](const OpGraph&, nb::object) { return false; }, nb::arg().none())
      .def("__hash__", [](const OpGraph& graph) { return std::hash<std::string>()(GraphToJson(graph)); })
      .def("__getstate__", &GraphToJson)
      .def("__setstate__",
           [](OpGraph& graph, const std::string& json) { new (&graph) OpGraph(ParseGraph(json, "pickled graph")); })
      .def("__repr__", [](const OpGraph& graph) {
        return "<emplace.Graph '" + graph.name() + "' with " + std::to_string(graph.num_ops()) + " ops>";
      });
}

}  // namespace emplace::python
