#include "simulator/families/workloads/nasnet.h"

#include <string>

#include "common/strings.h"
#include "simulator/families/workloads/conv_layers.h"

namespace emplace {
namespace {

class NasnetBuilder {
 public:
  NasnetBuilder(const NasnetModel& model, TensorProgram& program)
      : model_(model), program_(program), layers_(program) {}

  TensorId Build() {
    program_.SetStage(0);  // The stem; then a stage a cell.
    const TensorId images = program_.Input("images", {model_.batch, 3, model_.image, model_.image});
    const TensorId labels = program_.IdInput("labels", {model_.batch});
    const TensorId stem = layers_.Convolution("stem/conv", images, model_.stem_filters, {3, 3}, 2, {0, 0});
    CellInputs x{layers_.BatchNorm("stem/bn", stem), -1};
    x = {Reduction("stem1", x, model_.filters / 4), x.previous};
    x = {Reduction("stem2", x, model_.filters / 2), x.previous};
    int64_t filters = model_.filters;
    for (int stage = 0; stage < 3; ++stage) {
      if (stage > 0) {
        filters *= 2;
        // The cell after a reduction still reads what the reduction read before (the large model's skip_reduction).
        x = {Reduction(StrCat("reduction", stage), x, filters), x.before};
      }
      for (int64_t cell = 0; cell < model_.repeats; ++cell) {
        x = {Normal(StrCat("stage", stage, "/cell", cell), x, filters), x.previous};
      }
    }
    return layers_.Classify("head", layers_.Relu("head/relu", x.previous), labels, model_.classes);
  }

 private:
  // Figure 4 of the paper, left.
  TensorId Normal(const std::string& n, CellInputs inputs, int64_t filters) {
    program_.SetStage(++stage_);
    const auto [h, p] = layers_.Adjust(n, inputs, filters);
    const auto separable = [&](const char* part, TensorId x, int64_t kernel) {
      return layers_.SeparableTwice(n + part, x, filters, kernel, 1);
    };
    const auto average = [&](const char* part, TensorId x) { return layers_.AveragePool(n + part, x, 3, 1, 1); };
    // The right one first: ops are numbered as they are made, and compilers differ in which argument they compute
    // first.
    const TensorId right1 = separable("/b1/right", p, 3);
    const TensorId b1 = layers_.Sum(n + "/b1", separable("/b1/left", h, 5), right1);
    const TensorId right2 = separable("/b2/right", p, 3);
    const TensorId b2 = layers_.Sum(n + "/b2", separable("/b2/left", p, 5), right2);
    const TensorId b3 = layers_.Sum(n + "/b3", average("/b3/left", h), p);
    const TensorId right4 = average("/b4/right", p);
    const TensorId b4 = layers_.Sum(n + "/b4", average("/b4/left", p), right4);
    const TensorId b5 = layers_.Sum(n + "/b5", separable("/b5/left", h, 3), h);
    return layers_.Concatenate(n + "/cat", {p, b1, b2, b3, b4, b5});
  }

  // Figure 4, right: the first three blocks halve the size.
  TensorId Reduction(const std::string& n, CellInputs inputs, int64_t filters) {
    program_.SetStage(++stage_);
    const auto [h, p] = layers_.Adjust(n, inputs, filters);
    const auto separable = [&](const char* part, TensorId x, int64_t kernel, int64_t stride) {
      return layers_.SeparableTwice(n + part, x, filters, kernel, stride);
    };
    const TensorId right1 = separable("/b1/right", p, 7, 2);
    const TensorId b1 = layers_.Sum(n + "/b1", separable("/b1/left", h, 5, 2), right1);
    const TensorId right2 = separable("/b2/right", p, 7, 2);
    const TensorId b2 = layers_.Sum(n + "/b2", layers_.MaxPool(n + "/b2/left", h, 3, 2, 1), right2);
    const TensorId right3 = separable("/b3/right", p, 5, 2);
    const TensorId b3 = layers_.Sum(n + "/b3", layers_.AveragePool(n + "/b3/left", h, 3, 2, 1), right3);
    const TensorId b4 = layers_.Sum(n + "/b4", layers_.AveragePool(n + "/b4/left", b1, 3, 1, 1), b2);
    const TensorId right5 = layers_.MaxPool(n + "/b5/right", h, 3, 2, 1);
    const TensorId b5 = layers_.Sum(n + "/b5", separable("/b5/left", b1, 3, 1), right5);
    return layers_.Concatenate(n + "/cat", {b2, b3, b4, b5});
  }

  const NasnetModel& model_;
  TensorProgram& program_;
  ConvLayers layers_;
  int32_t stage_ = 0;
};

}  // namespace

TensorProgram BuildNasnet(const NasnetModel& model, const StepOptions& options) {
  return BuildModelStep<NasnetBuilder>(model, options, Optimizer::kMomentum);
}

}  // namespace emplace
