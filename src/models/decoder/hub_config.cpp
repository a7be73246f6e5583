// config.json of the Hugging Face Hub to DecoderConfig and back.
// Source: transformers 5 (configuration_{llama,gpt2,mistral,qwen2,gptj}.py, modeling_rope_utils.py).
#include <charconv>
#include <string>

#include "base/error.hpp"
#include "models/decoder/config.hpp"

namespace owlet {

namespace {

/// Reads fields of one config.json, with messages that name it.
class HubReader {
 public:
  HubReader(const Json& config, std::string_view source) : config_(config), source_(source) {}

  bool has(std::string_view key) const {
    const auto found = config_.find(key);
    return found != config_.end() && !found->is_null();
  }
  bool is_null(std::string_view key) const {
    const auto found = config_.find(key);
    return found != config_.end() && found->is_null();
  }
  template <typename T>
  T get(std::string_view key) const {
    return json_get<T>(config_, key, source_);
  }
  template <typename T>
  T get_or(std::string_view key, T fallback) const {
    return json_get_or<T>(config_, key, fallback, source_);
  }
  /// Throws unless the field is missing, null or `expected`.
  template <typename T>
  void expect(std::string_view key, const T& expected) const {
    const T value = get_or<T>(key, expected);
    check(value == expected, ErrorKind::unsupported, "{}: '{}' is {}, Owlet only knows {}", source_, key, value,
          expected);
  }
  const Json& json() const { return config_; }
  std::string_view source() const { return source_; }

 private:
  const Json& config_;
  std::string_view source_;
};

bool is_llama_like(DecoderFamily family) {
  return family == DecoderFamily::llama || family == DecoderFamily::mistral || family == DecoderFamily::qwen2;
}

/// Refuses a rope description that turns other angles than the plain one. `rope` is `rope_scaling` or
/// `rope_parameters`.
void check_plain_rope(const Json& rope, std::string_view key, std::string_view source) {
  check(rope.is_object(), ErrorKind::corrupt_file, "{}: '{}' is not an object", source, key);
  std::string kind = "default";
  for (const std::string_view spelling : {"type", "rope_type"}) {
    kind = json_get_or<std::string>(rope, spelling, kind, source);
  }
  if (kind != "default") {
    throw Error(ErrorKind::unsupported, fmt::format("{}: '{}' asks for rope type '{}'", source, key, kind),
                "Owlet only knows plain rotary positions; their angles would differ from the first token on");
  }
  for (const auto& [name, value] : rope.items()) {
    check(!value.is_object(), ErrorKind::unsupported, "{}: '{}' differs from layer to layer ('{}')", source, key, name);
  }
  const double part = json_get_or<double>(rope, "partial_rotary_factor", 1.0, source);
  check(part == 1.0, ErrorKind::unsupported, "{}: '{}' rotates the part {} of each head, Owlet only whole heads",
        source, key, part);
}

/// rope_theta of both spellings; `rope_parameters` (and, in files between the two, `rope_scaling`) goes first.
double read_rope_theta(const HubReader& hub) {
  double theta = hub.get_or<double>("rope_theta", 10000.0);
  for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
    if (!hub.has(key)) continue;
    const Json& rope = hub.json().at(std::string(key));
    check_plain_rope(rope, key, hub.source());
    theta = json_get_or<double>(rope, "rope_theta", theta, hub.source());
  }
  return theta;
}

int64_t read_mistral_window(const HubReader& hub) {
  if (hub.is_null("sliding_window")) return 0;
  return hub.get_or<int64_t>("sliding_window", 4096);
}

/// Qwen2 slides from layer max_window_layers on; Owlet in all layers or in none.
int64_t read_qwen2_window(const HubReader& hub, int64_t num_layers) {
  if (!hub.get_or<bool>("use_sliding_window", false) || hub.is_null("sliding_window")) return 0;
  const auto window = hub.get_or<int64_t>("sliding_window", 4096);
  const auto first = hub.get_or<int64_t>("max_window_layers", 28);
  if (first >= num_layers) return 0;
  check(first <= 0, ErrorKind::unsupported,
        "{}: 'max_window_layers' is {} of {} layers, Owlet slides in all layers or in none", hub.source(), first,
        num_layers);
  return window;
}

void check_layer_types(const HubReader& hub, const DecoderConfig& c) {
  const std::string_view expected = c.sliding_window > 0 ? "sliding_attention" : "full_attention";
  for (const std::string& kind : hub.get_or<std::vector<std::string>>("layer_types", {})) {
    check(kind == expected, ErrorKind::unsupported, "{}: 'layer_types' holds '{}' where all layers are '{}'",
          hub.source(), kind, expected);
  }
}

/// C / H where config.json does not name a head size.
int64_t divided_head_size(const HubReader& hub, const DecoderConfig& c) {
  check(c.num_heads > 0 && c.width % c.num_heads == 0, ErrorKind::corrupt_file,
        "{}: width {} does not divide into {} heads", hub.source(), c.width, c.num_heads);
  return c.width / c.num_heads;
}

void read_llama_like(const HubReader& hub, DecoderConfig& c) {
  c.width = hub.get<int64_t>("hidden_size");
  c.num_layers = hub.get<int64_t>("num_hidden_layers");
  c.num_heads = hub.get<int64_t>("num_attention_heads");
  const int64_t usual_kv_heads = c.family == DecoderFamily::mistral ? 8 : c.num_heads;
  c.num_kv_heads =
      hub.get_or<int64_t>("num_key_value_heads", hub.is_null("num_key_value_heads") ? c.num_heads : usual_kv_heads);
  c.head_size = hub.has("head_dim") ? hub.get<int64_t>("head_dim") : divided_head_size(hub, c);
  c.feed_forward_width = hub.get<int64_t>("intermediate_size");
  c.max_context = hub.get<int64_t>("max_position_embeddings");
  c.norm_eps = hub.get_or<float>("rms_norm_eps", 1e-6f);
  c.rope_theta = read_rope_theta(hub);
  c.ties_embeddings = hub.get_or<bool>("tie_word_embeddings", false);
  const auto activation = hub.get_or<std::string>("hidden_act", "silu");
  check(activation == "silu" || activation == "swish", ErrorKind::unsupported, "{}: 'hidden_act' is '{}', not silu",
        hub.source(), activation);
  hub.expect<double>("partial_rotary_factor", 1.0);
  if (c.family == DecoderFamily::llama) {
    c.has_qkv_bias = c.has_output_bias = hub.get_or<bool>("attention_bias", false);
    c.has_feed_forward_bias = hub.get_or<bool>("mlp_bias", false);
  } else if (c.family == DecoderFamily::mistral) {
    c.sliding_window = read_mistral_window(hub);
  } else {
    c.sliding_window = read_qwen2_window(hub, c.num_layers);
  }
  check_layer_types(hub, c);
}

GeluKind read_gelu(const HubReader& hub) {
  const auto name = hub.get_or<std::string>("activation_function", "gelu_new");
  if (name == "gelu") return GeluKind::exact;
  check(name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast", ErrorKind::unsupported,
        "{}: 'activation_function' is '{}', Owlet knows gelu and gelu_new", hub.source(), name);
  return GeluKind::tanh;
}

void read_gpt(const HubReader& hub, DecoderConfig& c) {
  c.width = hub.get<int64_t>("n_embd");
  c.num_layers = hub.get<int64_t>("n_layer");
  c.num_heads = c.num_kv_heads = hub.get<int64_t>("n_head");
  c.head_size = divided_head_size(hub, c);
  c.max_context = hub.get<int64_t>("n_positions");
  check(c.width <= (int64_t{1} << 40), ErrorKind::corrupt_file, "{}: 'n_embd' is {}", hub.source(), c.width);
  c.feed_forward_width = hub.get_or<int64_t>("n_inner", 4 * c.width);
  c.norm_eps = hub.get_or<float>("layer_norm_epsilon", 1e-5f);
  c.gelu = read_gelu(hub);
  c.ties_embeddings = hub.get_or<bool>("tie_word_embeddings", c.family == DecoderFamily::gpt2);
  if (c.family == DecoderFamily::gptj) {
    c.rotary_size = hub.is_null("rotary_dim") ? c.head_size : hub.get_or<int64_t>("rotary_dim", 64);
    c.has_head_bias = true;
    return;
  }
  hub.expect("scale_attn_weights", true);
  hub.expect("scale_attn_by_inverse_layer_idx", false);
  hub.expect("add_cross_attention", false);
}

/// The shortest decimal that reads back as the same float: 0.02, not 0.019999999552965164.
double shortest_decimal(float value) {
  const std::string text = fmt::format("{}", value);
  double decimal = 0;
  std::from_chars(text.data(), text.data() + text.size(), decimal);
  return decimal;
}

void write_llama_like(const DecoderConfig& c, OrderedJson& json) {
  json["hidden_size"] = c.width;
  json["intermediate_size"] = c.feed_forward_width;
  json["num_hidden_layers"] = c.num_layers;
  json["num_attention_heads"] = c.num_heads;
  json["num_key_value_heads"] = c.num_kv_heads;
  json["head_dim"] = c.head_size;
  json["hidden_act"] = "silu";
  json["max_position_embeddings"] = c.max_context;
  json["rms_norm_eps"] = shortest_decimal(c.norm_eps);
  json["rope_theta"] = c.rope_theta;
  json["rope_scaling"] = nullptr;
  json["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", c.rope_theta}};
  json["attention_dropout"] = 0.0;
  const OrderedJson window = c.sliding_window > 0 ? OrderedJson(c.sliding_window) : OrderedJson(nullptr);
  if (c.family == DecoderFamily::llama) {
    json["attention_bias"] = c.has_qkv_bias;
    json["mlp_bias"] = c.has_feed_forward_bias;
    json["pretraining_tp"] = 1;
  } else if (c.family == DecoderFamily::mistral) {
    json["sliding_window"] = window;
  } else {
    json["use_sliding_window"] = c.sliding_window > 0;
    json["sliding_window"] = window;
    json["max_window_layers"] = c.sliding_window > 0 ? 0 : c.num_layers;
  }
}

void write_gpt(const DecoderConfig& c, OrderedJson& json) {
  json["n_embd"] = c.width;
  json["n_inner"] = c.feed_forward_width;
  json["n_layer"] = c.num_layers;
  json["n_head"] = c.num_heads;
  json["n_positions"] = c.max_context;
  json["activation_function"] = c.gelu == GeluKind::tanh ? "gelu_new" : "gelu";
  json["layer_norm_epsilon"] = shortest_decimal(c.norm_eps);
  for (const char* dropout : {"resid_pdrop", "embd_pdrop", "attn_pdrop"}) json[dropout] = 0.0;
  if (c.family == DecoderFamily::gptj) {
    json["rotary_dim"] = c.rotary_size == 0 ? c.head_size : c.rotary_size;
  } else {
    json["scale_attn_weights"] = true;
  }
}

std::string_view architecture(DecoderFamily family) {
  switch (family) {
    case DecoderFamily::llama:
      return "LlamaForCausalLM";
    case DecoderFamily::gpt2:
      return "GPT2LMHeadModel";
    case DecoderFamily::mistral:
      return "MistralForCausalLM";
    case DecoderFamily::qwen2:
      return "Qwen2ForCausalLM";
    case DecoderFamily::gptj:
      return "GPTJForCausalLM";
  }
  return "";
}

std::string_view torch_name(std::string_view dtype) {
  if (dtype == "f32") return "float32";
  if (dtype == "bf16") return "bfloat16";
  return dtype;
}

}  // namespace

OrderedJson to_hub_config(const DecoderConfig& config, int bos_id, int eos_id, std::string_view dtype) {
  config.check();
  OrderedJson json;
  json["architectures"] = {architecture(config.family)};
  json["model_type"] = to_string(config.family);
  json["vocab_size"] = config.vocab_size;
  if (is_llama_like(config.family)) {
    write_llama_like(config, json);
  } else {
    write_gpt(config, json);
  }
  json["initializer_range"] = shortest_decimal(config.initializer_range);
  json["tie_word_embeddings"] = config.ties_embeddings;
  json["use_cache"] = true;
  json["bos_token_id"] = bos_id < 0 ? OrderedJson(nullptr) : OrderedJson(bos_id);
  json["eos_token_id"] = eos_id < 0 ? OrderedJson(nullptr) : OrderedJson(eos_id);
  json["torch_dtype"] = torch_name(dtype);
  json["dtype"] = torch_name(dtype);
  return json;
}

DecoderConfig from_hub_config(const Json& config, std::string_view source) {
  const auto model_type = json_get<std::string>(config, "model_type", source);
  const HubReader hub(config, source);
  DecoderConfig c;
  try {
    c = family_defaults(parse_decoder_family(model_type));
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: 'model_type' is '{}', which Owlet does not know", source, model_type),
                error.hint());
  }
  check(!hub.has("quantization_config"), ErrorKind::unsupported,
        "{}: 'quantization_config' is set; Owlet reads weights of f32, bf16 and f16 only", source);
  c.vocab_size = hub.get<int64_t>("vocab_size");
  if (is_llama_like(c.family)) {
    read_llama_like(hub, c);
  } else {
    read_gpt(hub, c);
  }
  c.initializer_range = hub.get_or<float>("initializer_range", 0.02f);
  try {
    c.check();
  } catch (const Error& error) {
    throw Error(ErrorKind::corrupt_file, fmt::format("{}: {}", source, error.what()), error.hint());
  }
  return c;
}

}  // namespace owlet
