#include "models/decoder/checkpoint_names.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "nn/host_convert.hpp"

namespace owlet {

namespace {

/// How one tensor of the Hub is made of our parameters: their rows one below the other, then transposed where the Hub
/// stores (inputs, outputs).
struct HubTensor {
  std::string name;
  std::vector<std::string> parameters;
  bool is_transposed = false;
  /// A bias that the family has but this model does not: written as zeros of this size, read as zeros only.
  int64_t zero_size = 0;
};

constexpr std::string_view kHead = "lm_head.weight";
constexpr std::string_view kEmbedding = "model.embed_tokens.weight";

/// Collects the list of a model in the order of its parameters.
class HubNames {
 public:
  explicit HubNames(const DecoderConfig& config) : config_(config) {}

  std::vector<HubTensor> collect() {
    switch (config_.family) {
      case DecoderFamily::gpt2:
        add_gpt2();
        break;
      case DecoderFamily::gptj:
        add_gptj();
        break;
      case DecoderFamily::llama:
      case DecoderFamily::mistral:
      case DecoderFamily::qwen2:
        add_llama_like();
        break;
    }
    if (!config_.ties_embeddings) add(std::string(kHead), {std::string(kHead)});
    if (config_.has_head_bias) {
      add("lm_head.bias", {"lm_head.bias"});
    } else if (config_.family == DecoderFamily::gptj) {
      list_.push_back({"lm_head.bias", {}, false, config_.vocab_size});
    }
    return std::move(list_);
  }

 private:
  void add(std::string name, std::vector<std::string> parameters, bool is_transposed = false) {
    list_.push_back({std::move(name), std::move(parameters), is_transposed});
  }
  /// The same name on both sides.
  void add_same(const std::string& name, bool has_bias) {
    add(name + ".weight", {name + ".weight"});
    if (has_bias) add(name + ".bias", {name + ".bias"});
  }
  /// "<hub>.weight" and "<hub>.bias" for one layer of ours.
  void add_layer(const std::string& hub, const std::string& ours, bool has_bias, bool is_transposed = false) {
    add(hub + ".weight", {ours + ".weight"}, is_transposed);
    if (has_bias) add(hub + ".bias", {ours + ".bias"});
  }

  void add_llama_like() {
    add_same("model.embed_tokens", false);
    for (int64_t layer = 0; layer < config_.num_layers; ++layer) {
      const std::string block = "model.layers." + std::to_string(layer);
      add_same(block + ".input_layernorm", false);
      for (const char* part : {".self_attn.q_proj", ".self_attn.k_proj", ".self_attn.v_proj"}) {
        add_same(block + part, config_.has_qkv_bias);
      }
      add_same(block + ".self_attn.o_proj", config_.has_output_bias);
      add_same(block + ".post_attention_layernorm", false);
      for (const char* part : {".mlp.gate_proj", ".mlp.up_proj", ".mlp.down_proj"}) {
        add_same(block + part, config_.has_feed_forward_bias);
      }
    }
    add_same("model.norm", false);
  }

  void add_gpt2() {
    add_layer("transformer.wte", "model.embed_tokens", false);
    add_layer("transformer.wpe", "model.embed_positions", false);
    for (int64_t layer = 0; layer < config_.num_layers; ++layer) {
      const std::string hub = "transformer.h." + std::to_string(layer);
      const std::string block = "model.layers." + std::to_string(layer), attention = block + ".self_attn";
      add_layer(hub + ".ln_1", block + ".input_layernorm", true);
      add(hub + ".attn.c_attn.weight",
          {attention + ".q_proj.weight", attention + ".k_proj.weight", attention + ".v_proj.weight"}, true);
      add(hub + ".attn.c_attn.bias",
          {attention + ".q_proj.bias", attention + ".k_proj.bias", attention + ".v_proj.bias"});
      add_layer(hub + ".attn.c_proj", attention + ".o_proj", true, true);
      add_layer(hub + ".ln_2", block + ".post_attention_layernorm", true);
      add_layer(hub + ".mlp.c_fc", block + ".mlp.up_proj", true, true);
      add_layer(hub + ".mlp.c_proj", block + ".mlp.down_proj", true, true);
    }
    add_layer("transformer.ln_f", "model.norm", true);
  }

  void add_gptj() {
    add_layer("transformer.wte", "model.embed_tokens", false);
    for (int64_t layer = 0; layer < config_.num_layers; ++layer) {
      const std::string hub = "transformer.h." + std::to_string(layer);
      const std::string block = "model.layers." + std::to_string(layer);
      add_layer(hub + ".ln_1", block + ".input_layernorm", true);
      for (const char* part : {"q_proj", "k_proj", "v_proj"}) {
        add_layer(hub + ".attn." + part, block + ".self_attn." + part, false);
      }
      add_layer(hub + ".attn.out_proj", block + ".self_attn.o_proj", false);
      add_layer(hub + ".mlp.fc_in", block + ".mlp.up_proj", true);
      add_layer(hub + ".mlp.fc_out", block + ".mlp.down_proj", true);
    }
    add_layer("transformer.ln_f", "model.norm", true);
  }

  const DecoderConfig& config_;
  std::vector<HubTensor> list_;
};

/// Shape of one of our parameters, from the configuration alone.
Shape parameter_shape(const DecoderConfig& c, std::string_view name) {
  const int64_t C = c.width, F = c.feed_forward_width, V = c.vocab_size;
  const int64_t query_width = c.num_heads * c.head_size, kv_width = c.num_kv_heads * c.head_size;
  const auto layer_of = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  const bool is_bias = name.ends_with(".bias");
  const auto linear = [&](int64_t outputs, int64_t inputs) {
    return is_bias ? Shape{outputs} : Shape{outputs, inputs};
  };
  if (layer_of("norm")) return {C};
  if (layer_of("embed_positions")) return {c.max_context, C};
  if (layer_of("embed_tokens")) return {V, C};
  if (layer_of("lm_head")) return linear(V, C);
  if (layer_of("q_proj")) return linear(query_width, C);
  if (layer_of("k_proj") || layer_of("v_proj")) return linear(kv_width, C);
  if (layer_of("o_proj")) return linear(C, query_width);
  if (layer_of("gate_proj") || layer_of("up_proj")) return linear(F, C);
  if (layer_of("down_proj")) return linear(C, F);
  fail(ErrorKind::internal, "no shape is known for parameter '{}'", name);
}

/// The parameters' rows one below the other, before transposing.
Shape joined_shape(const DecoderConfig& config, const HubTensor& tensor) {
  if (tensor.parameters.empty()) return {tensor.zero_size};
  const Shape first = parameter_shape(config, tensor.parameters.front());
  int64_t rows = 0;
  for (const std::string& name : tensor.parameters) rows += parameter_shape(config, name)[0];
  return first.rank() == 2 ? Shape{rows, first[1]} : Shape{rows};
}

Shape hub_shape(const DecoderConfig& config, const HubTensor& tensor) {
  const Shape joined = joined_shape(config, tensor);
  return tensor.is_transposed ? Shape{joined[1], joined[0]} : joined;
}

template <typename T>
void transpose_elements(const Tensor& source, const Tensor& target) {
  const int64_t rows = source.dim(0), columns = source.dim(1);
  const T* from = reinterpret_cast<const T*>(source.bytes());
  T* to = reinterpret_cast<T*>(target.bytes());
  // Square tiles, so that both sides stay in the cache.
  constexpr int64_t kTile = 32;
  for (int64_t row_0 = 0; row_0 < rows; row_0 += kTile) {
    for (int64_t column_0 = 0; column_0 < columns; column_0 += kTile) {
      for (int64_t row = row_0; row < std::min(rows, row_0 + kTile); ++row) {
        for (int64_t column = column_0; column < std::min(columns, column_0 + kTile); ++column) {
          to[column * rows + row] = from[row * columns + column];
        }
      }
    }
  }
}

/// matrix (N, M) -> (M, N), any element type.
Tensor transposed(const Tensor& matrix) {
  Tensor result = make_host_tensor({matrix.dim(1), matrix.dim(0)}, matrix.dtype());
  switch (size_of(matrix.dtype())) {
    case 8:
      transpose_elements<uint64_t>(matrix, result);
      break;
    case 4:
      transpose_elements<uint32_t>(matrix, result);
      break;
    case 2:
      transpose_elements<uint16_t>(matrix, result);
      break;
    default:
      transpose_elements<uint8_t>(matrix, result);
  }
  return result;
}

/// The best values there are of a parameter, in ordinary memory.
Tensor read_parameter(Context& ctx, const Parameter& parameter, DType dtype) {
  return convert_on_host(read_on_host(ctx, parameter), dtype);
}

const Parameter& required(const Parameter* parameter, const std::string& name) {
  check(parameter != nullptr, ErrorKind::internal, "the model has no parameter '{}'", name);
  return *parameter;
}

Tensor export_one(Context& ctx, const DecoderConfig& config, const ParameterSet& parameters, const HubTensor& tensor,
                  DType dtype) {
  if (tensor.parameters.empty()) return make_host_tensor({tensor.zero_size}, dtype);
  if (tensor.parameters.size() == 1) {
    const std::string& name = tensor.parameters.front();
    const Tensor values = read_parameter(ctx, required(parameters.find(name), name), dtype);
    return tensor.is_transposed ? transposed(values) : values;
  }
  Tensor joined = make_host_tensor(joined_shape(config, tensor), dtype);
  int64_t row = 0;
  for (const std::string& name : tensor.parameters) {
    const Tensor part = read_parameter(ctx, required(parameters.find(name), name), dtype);
    const Tensor place = joined.slice(row, row + part.dim(0));
    std::memcpy(place.bytes(), part.bytes(), part.size_bytes());
    row += part.dim(0);
  }
  return tensor.is_transposed ? transposed(joined) : joined;
}

/// Tries the full name, then the one without the prefix that the Hub's models without a head lack.
Tensor fetch_either(const TensorFetch& fetch, const std::string& name) {
  Tensor values = fetch(name);
  if (values.defined()) return values;
  for (const std::string_view prefix : {"model.", "transformer."}) {
    if (name.starts_with(prefix)) return fetch(name.substr(prefix.size()));
  }
  return values;
}

void check_zero(const HubTensor& tensor, const Tensor& values) {
  for (int64_t i = 0; i < values.num_elements(); ++i) {
    check(element_as_double(values, i) == 0.0, ErrorKind::unsupported,
          "'{}' holds {} at {}, but this model has no such bias", tensor.name, element_as_double(values, i), i);
  }
}

void import_one(Context& ctx, const DecoderConfig& config, ParameterSet& parameters, const HubTensor& tensor,
                const Tensor& values) {
  const Shape expected = hub_shape(config, tensor);
  check(values.shape() == expected, ErrorKind::corrupt_file, "'{}' has shape {}, this model needs {}", tensor.name,
        to_string(values.shape()), to_string(expected));
  if (tensor.parameters.empty()) return check_zero(tensor, values);
  const Tensor joined = tensor.is_transposed ? transposed(values) : values;
  int64_t row = 0;
  for (const std::string& name : tensor.parameters) {
    Parameter* parameter = parameters.find(name);
    required(parameter, name);
    parameters.load(ctx, *parameter, joined.slice(row, row + parameter->shape[0]));
    row += parameter->shape[0];
  }
}

bool have_equal_values(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return false;
  if (a.dtype() == b.dtype()) return std::memcmp(a.bytes(), b.bytes(), a.size_bytes()) == 0;
  for (int64_t i = 0; i < a.num_elements(); ++i) {
    if (element_as_double(a, i) != element_as_double(b, i)) return false;
  }
  return true;
}

std::string hub_name_of(const std::vector<HubTensor>& list, std::string_view parameter) {
  for (const HubTensor& tensor : list) {
    if (tensor.parameters.size() == 1 && tensor.parameters.front() == parameter) return tensor.name;
  }
  return std::string(parameter);
}

}  // namespace

void export_weights(Context& ctx, const DecoderConfig& config, const ParameterSet& parameters, DType dtype,
                    const std::function<void(const NamedTensor&)>& sink) {
  for (const HubTensor& tensor : HubNames(config).collect()) {
    sink({tensor.name, export_one(ctx, config, parameters, tensor, dtype)});
  }
}

Tensor export_weight(Context& ctx, const DecoderConfig& config, const ParameterSet& parameters, DType dtype,
                     std::string_view name) {
  const std::vector<HubTensor> list = HubNames(config).collect();
  const auto found = std::ranges::find(list, name, &HubTensor::name);
  check(found != list.end(), ErrorKind::invalid_argument, "the model has no weights '{}'", name);
  return export_one(ctx, config, parameters, *found, dtype);
}

std::vector<NamedShape> exported_shapes(const DecoderConfig& config) {
  std::vector<NamedShape> shapes;
  for (const HubTensor& tensor : HubNames(config).collect()) shapes.push_back({tensor.name, hub_shape(config, tensor)});
  return shapes;
}

bool has_separate_head(const DecoderConfig& config, const TensorFetch& fetch) {
  if (!config.ties_embeddings) return false;
  const Tensor head = fetch(std::string(kHead));
  if (!head.defined()) return false;
  const Tensor table = fetch_either(fetch, hub_name_of(HubNames(config).collect(), kEmbedding));
  return table.defined() && !have_equal_values(head, table);
}

void import_weights(Context& ctx, const DecoderConfig& config, ParameterSet& parameters, const TensorFetch& fetch) {
  std::string missing;
  for (const HubTensor& tensor : HubNames(config).collect()) {
    const Tensor values = fetch_either(fetch, tensor.name);
    if (values.defined()) {
      import_one(ctx, config, parameters, tensor, values);
    } else if (!tensor.parameters.empty()) {
      missing += (missing.empty() ? "" : ", ") + tensor.name;
    }
  }
  check(missing.empty(), ErrorKind::corrupt_file, "these weights are missing: {}", missing);
  if (has_separate_head(config, fetch)) {
    throw Error(ErrorKind::corrupt_file,
                fmt::format("'{}' differs from the embedding that config.json ties it to", kHead),
                "set \"tie_word_embeddings\": false in config.json to keep both");
  }
}

}  // namespace owlet
