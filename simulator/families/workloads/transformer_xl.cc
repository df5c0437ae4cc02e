#include "simulator/families/workloads/transformer_xl.h"

#include <cmath>
#include <string>

#include "common/strings.h"

namespace emplace {
namespace {

constexpr double kMasked = -1e30;  // The score of what lies ahead.

// In comments: B batch, Q characters of the segment, K those with the memory, D width, H heads, d their width.
class TransformerXlBuilder {
 public:
  TransformerXlBuilder(const TransformerXlModel& model, TensorProgram& program)
      : model_(model),
        p_(program),
        keys_(model.memory + model.segment),
        rows_(model.batch * model.segment),
        all_heads_(model.heads * model.head_width) {}

  TensorId Build() {
    // Stages: a layer each, the first one with the embedding; then the softmax.
    p_.SetStage(0);
    const TensorId embedding = p_.Parameter("embedding", {model_.vocabulary, model_.width});
    const TensorId tokens = p_.IdInput("tokens", {rows_});
    const TensorId labels = p_.IdInput("labels", {rows_});
    // The encoding of each distance, the longest first, and what may not be seen: character q sees keys up to M + q.
    positions_ = p_.Input("positions", {keys_, model_.width});
    mask_ = p_.IdInput("mask", {model_.segment, keys_});
    if (p_.runnable()) mask_ = p_.Add("mask/truth", "aten.ne", {mask_});  // ATen's masks are truth values.
    const TensorId words = p_.Add("words", "aten.embedding", {embedding, tokens});
    const double scale = std::sqrt(static_cast<double>(model_.width));
    TensorId x = p_.Add("scaled_words", "aten.div", {words}, {.divisor = 1 / scale});  // [B Q, D]
    for (int64_t layer = 0; layer < model_.layers; ++layer) {
      p_.SetStage(static_cast<int32_t>(layer));
      const std::string name = StrCat("l", layer);
      x = FeedForward(name + "/feed_forward", Attention(name + "/attention", x));
    }
    p_.SetStage(static_cast<int32_t>(model_.layers));
    const TensorId bias = p_.Parameter("softmax/bias", {model_.vocabulary});
    const TensorId products = p_.Add("softmax/mm", "aten.mm", {x, embedding}, {.transpose_b = true});  // Tied weights.
    const TensorId logits = p_.Add("softmax/logits", "aten.add", {products, bias});
    const TensorId log_probs = p_.Add("softmax/log_softmax", "aten._log_softmax", {logits});
    return p_.Add("loss", "aten.nll_loss_forward", {log_probs, labels});
  }

 private:
  TensorId Product(const std::string& name, TensorId x, int64_t width) {
    return p_.Add(name, "aten.mm", {x, p_.Parameter(name + "/weight", {p_.tensor(x).shape[1], width})});
  }

  TensorId Affine(const std::string& name, TensorId x, int64_t width) {
    const TensorId weight = p_.Parameter(name + "/weight", {p_.tensor(x).shape[1], width});
    return p_.Add(name, "aten.addmm", {p_.Parameter(name + "/bias", {width}), x, weight});
  }

  // Layer norm of x plus what the layer made of it.
  TensorId AddAndNorm(const std::string& name, TensorId x, TensorId change) {
    const TensorId sum = p_.Add(name + "/residual", "aten.add", {x, change});
    return p_.Add(name + "/norm", "aten.native_layer_norm", {sum, p_.Parameter(name + "/affine", {2, model_.width})});
  }

  // [B n, H d] as [H B, n, d].
  TensorId Heads(const std::string& name, TensorId x, int64_t length) {
    const TensorId apart = p_.Reshape(x, {model_.batch, length, model_.heads, model_.head_width});
    return p_.Reshape(p_.Add(name + "/heads", "aten.permute_copy", {apart}, {.dims = {2, 0, 1, 3}}),
                      {model_.heads * model_.batch, length, model_.head_width});
  }

  // Scores by distance [H B, Q, K] as scores by key: row q moves left by Q - 1 - q. With a column of zeros before it
  // the same numbers, read as K + 1 rows of Q, are there from the second row on (appendix B of the paper). What enters
  // at the right is masked.
  TensorId RelativeShift(const std::string& name, TensorId scores) {
    const Shape by_key = p_.tensor(scores).shape;
    const TensorId padded = p_.Add(name + "/pad", "aten.constant_pad_nd", {scores}, {.pad = {1, 0, 0, 0}});
    const TensorId read_again = p_.Reshape(padded, {by_key[0], by_key[2] + 1, by_key[1]});
    return p_.Reshape(p_.Add(name + "/cut", "aten.constant_pad_nd", {read_again}, {.pad = {0, 0, -1, 0}}), by_key);
  }

  // x: [B Q, D]
  TensorId Attention(const std::string& n, TensorId x) {
    const TensorId memory = p_.Input(n + "/memory", {model_.batch, model_.memory, model_.width});
    const TensorId context = p_.Add(n + "/context", "aten.cat",
                                    {memory, p_.Reshape(x, {model_.batch, model_.segment, model_.width})}, {.dim = 1});
    const TensorId query = Product(n + "/query", x, all_heads_);
    const TensorId key_value =
        Product(n + "/key_value", p_.Reshape(context, {model_.batch * keys_, model_.width}), 2 * all_heads_);
    const TensorId key = Heads(n + "/key", p_.Slice(key_value, 1, 0, all_heads_), keys_);
    const TensorId value = Heads(n + "/value", p_.Slice(key_value, 1, all_heads_, all_heads_), keys_);
    const TensorId position =
        p_.Add(n + "/position/heads", "aten.permute_copy",
               {p_.Reshape(Product(n + "/position", positions_, all_heads_), {keys_, model_.heads, model_.head_width})},
               {.dims = {1, 0, 2}});  // [H, K, d], the same for the whole batch.

    // (query + u) . key by content, (query + v) . position by distance.
    const TensorId by_content = p_.Add(n + "/content", "aten.bmm", {Biased(n + "/content_bias", query), key},
                                       {.transpose_b = true});  // [H B, Q, K]
    const TensorId by_distance =
        p_.Add(n + "/distance", "aten.bmm",
               {p_.Reshape(Biased(n + "/distance_bias", query), {model_.heads, rows_, model_.head_width}), position},
               {.transpose_b = true});  // [H, B Q, K]
    const TensorId shifted =
        RelativeShift(n + "/shift", p_.Reshape(by_distance, {model_.heads * model_.batch, model_.segment, keys_}));
    const TensorId sum = p_.Add(n + "/sum", "aten.add", {by_content, shifted});
    const TensorId scaled =
        p_.Add(n + "/scale", "aten.div", {sum}, {.divisor = std::sqrt(static_cast<double>(model_.head_width))});
    const TensorId seen = p_.Add(n + "/masked", "aten.masked_fill", {scaled, mask_}, {.fill = kMasked});
    const TensorId weights = p_.Add(n + "/weights", "aten._softmax", {seen});
    const TensorId read = p_.Add(n + "/read", "aten.bmm", {weights, value});  // [H B, Q, d]
    const TensorId joined = p_.Add(n + "/joined", "aten.permute_copy",
                                   {p_.Reshape(read, {model_.heads, model_.batch, model_.segment, model_.head_width})},
                                   {.dims = {1, 2, 0, 3}});
    return AddAndNorm(n, x, Product(n + "/output", p_.Reshape(joined, {rows_, all_heads_}), model_.width));
  }

  // The queries with a bias for each head, as [H B, Q, d].
  TensorId Biased(const std::string& name, TensorId query) {
    const TensorId bias = p_.Parameter(name, {all_heads_});
    return Heads(name, p_.Add(name + "/add", "aten.add", {query, bias}), model_.segment);
  }

  TensorId FeedForward(const std::string& n, TensorId x) {
    const TensorId inner = p_.Add(n + "/relu", "aten.relu", {Affine(n + "/inner", x, model_.inner)});
    return AddAndNorm(n, x, Affine(n + "/outer", inner, model_.width));
  }

  const TransformerXlModel& model_;
  TensorProgram& p_;
  const int64_t keys_;       // K
  const int64_t rows_;       // B Q
  const int64_t all_heads_;  // H d
  TensorId positions_ = -1;  // [K, D]
  TensorId mask_ = -1;       // [Q, K], 1 for what a character may not see
};

}  // namespace

TensorProgram BuildTransformerXl(const TransformerXlModel& model, const StepOptions& options) {
  return BuildModelStep<TransformerXlBuilder>(model, options, Optimizer::kAdam);
}

}  // namespace emplace
