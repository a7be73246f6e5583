// What a decoder may look like: family defaults, checks, parameter count. The Hub's config.json is in hub_config.cpp.
#include "models/decoder/config.hpp"

#include <array>
#include <cmath>
#include <initializer_list>
#include <utility>

#include "base/error.hpp"

namespace owlet {

namespace {

constexpr std::array<std::pair<DecoderFamily, std::string_view>, 5> kFamilies = {{{DecoderFamily::llama, "llama"},
                                                                                  {DecoderFamily::gpt2, "gpt2"},
                                                                                  {DecoderFamily::mistral, "mistral"},
                                                                                  {DecoderFamily::qwen2, "qwen2"},
                                                                                  {DecoderFamily::gptj, "gptj"}}};

/// Sizes above these are mistakes; it keeps every product of two sizes far from overflow.
constexpr int64_t kLargestSize = int64_t{1} << 28, kMostLayers = 1 << 14, kLargestHead = 1 << 14,
                  kLongestContext = int64_t{1} << 24;

void check_sizes(const DecoderConfig& c) {
  struct Field {
    std::string_view name;
    int64_t value;
    int64_t largest = kLargestSize;
  };
  const std::initializer_list<Field> fields = {{"vocab_size", c.vocab_size},
                                               {"width", c.width},
                                               {"num_layers", c.num_layers, kMostLayers},
                                               {"num_heads", c.num_heads},
                                               {"num_kv_heads", c.num_kv_heads},
                                               {"head_size", c.head_size, kLargestHead},
                                               {"feed_forward_width", c.feed_forward_width},
                                               {"max_context", c.max_context, kLongestContext}};
  for (const auto& [name, value, largest] : fields) {
    check(value >= 1 && value <= largest, ErrorKind::invalid_argument, "{} is {}, expected 1 to {}", name, value,
          largest);
  }
  check(c.num_heads % c.num_kv_heads == 0, ErrorKind::invalid_argument,
        "num_heads is {}, not a multiple of num_kv_heads {}", c.num_heads, c.num_kv_heads);
  check(c.num_heads <= kLargestSize / c.head_size, ErrorKind::invalid_argument, "{} heads of size {} are too wide",
        c.num_heads, c.head_size);
}

void check_numbers(const DecoderConfig& c) {
  check(std::isfinite(c.norm_eps) && c.norm_eps > 0, ErrorKind::invalid_argument, "norm_eps is {}, expected above 0",
        c.norm_eps);
  check(std::isfinite(c.initializer_range) && c.initializer_range >= 0, ErrorKind::invalid_argument,
        "initializer_range is {}, expected 0 or more", c.initializer_range);
  check(c.sliding_window >= 0, ErrorKind::invalid_argument, "sliding_window is {}, expected 0 (none) or more",
        c.sliding_window);
  if (c.position != PositionKind::rope) return;
  const int64_t rotary = c.rotary_size == 0 ? c.head_size : c.rotary_size;
  check(rotary > 0 && rotary <= c.head_size && rotary % 2 == 0, ErrorKind::invalid_argument,
        "{} of {} head dimensions would be rotated, expected an even number up to all", rotary, c.head_size);
  check(std::isfinite(c.rope_theta) && c.rope_theta > 0, ErrorKind::invalid_argument,
        "rope_theta is {}, expected above 0", c.rope_theta);
}

/// Throws unless config.json of the family can say this: a model must be writable before it is trained.
void check_family(const DecoderConfig& c) {
  const DecoderConfig usual = family_defaults(c.family);
  const auto expect = [&](bool holds, std::string_view what) {
    check(holds, ErrorKind::invalid_argument, "a model of the {} family {}", to_string(c.family), what);
  };
  expect(c.norm == usual.norm,
         usual.norm == NormKind::rms_norm ? "has rms_norm, not layer_norm" : "has layer_norm, not rms_norm");
  expect(c.position == usual.position, usual.position == PositionKind::rope ? "has rotary positions, not learned ones"
                                                                            : "has learned positions, not rotary ones");
  expect(c.feed_forward == usual.feed_forward,
         usual.feed_forward == FeedForwardKind::swiglu ? "has swiglu, not gelu" : "has gelu, not swiglu");
  expect(c.is_parallel_block == usual.is_parallel_block,
         usual.is_parallel_block ? "has parallel blocks" : "has attention and feed-forward one after the other");
  expect(c.position != PositionKind::rope || c.rope_style == usual.rope_style,
         usual.rope_style == RopeStyle::halves ? "rotates in halves, not in pairs" : "rotates in pairs, not in halves");
  const bool can_rotate_partly = c.family == DecoderFamily::gptj;
  expect(can_rotate_partly || c.position != PositionKind::rope || c.rotary_size == 0 || c.rotary_size == c.head_size,
         "rotates whole heads");
  expect(c.family != DecoderFamily::gptj || c.rope_theta == 10000.0, "has rope_theta 10000");

  const bool is_gpt = c.family == DecoderFamily::gpt2 || c.family == DecoderFamily::gptj;
  expect(!is_gpt || c.num_kv_heads == c.num_heads, "has as many key/value heads as heads");
  expect(!is_gpt || c.num_heads * c.head_size == c.width, "has heads as wide together as the model");
  const bool can_slide = c.family == DecoderFamily::mistral || c.family == DecoderFamily::qwen2;
  expect(can_slide || c.sliding_window == 0, "has no sliding_window (mistral and qwen2 have)");

  if (c.family == DecoderFamily::llama) {
    expect(c.has_qkv_bias == c.has_output_bias, "has biases in all four attention projections or in none");
  } else {
    expect(c.has_qkv_bias == usual.has_qkv_bias,
           usual.has_qkv_bias ? "has biases in q, k and v" : "has no biases in q, k and v");
    expect(c.has_output_bias == usual.has_output_bias,
           usual.has_output_bias ? "has a bias in the attention output" : "has no bias in the attention output");
    expect(c.has_feed_forward_bias == usual.has_feed_forward_bias,
           usual.has_feed_forward_bias ? "has biases in the feed-forward" : "has no biases in the feed-forward");
  }
  expect(c.family == DecoderFamily::gptj || !c.has_head_bias, "has no bias in the output head");
}

}  // namespace

std::string_view to_string(DecoderFamily family) {
  for (const auto& [known, name] : kFamilies) {
    if (known == family) return name;
  }
  return "unknown";
}

DecoderFamily parse_decoder_family(std::string_view name) {
  for (const auto& [family, known] : kFamilies) {
    if (known == name) return family;
  }
  throw Error(ErrorKind::unsupported, fmt::format("'{}' is not a model family that Owlet knows", name),
              "known families: llama, gpt2, mistral, qwen2, gptj");
}

DecoderConfig family_defaults(DecoderFamily family) {
  DecoderConfig c;
  c.family = family;
  const bool is_gpt = family == DecoderFamily::gpt2 || family == DecoderFamily::gptj;
  if (is_gpt) {
    c.norm = NormKind::layer_norm;
    c.feed_forward = FeedForwardKind::gelu;
    c.has_feed_forward_bias = true;
  }
  switch (family) {
    case DecoderFamily::gpt2:
      c.position = PositionKind::learned;
      c.has_qkv_bias = c.has_output_bias = true;
      break;
    case DecoderFamily::gptj:
      c.rope_style = RopeStyle::pairs;
      c.is_parallel_block = true;
      c.ties_embeddings = false;
      break;
    case DecoderFamily::qwen2:
      c.has_qkv_bias = true;
      break;
    case DecoderFamily::llama:
    case DecoderFamily::mistral:
      break;
  }
  return c;
}

void DecoderConfig::check() const {
  check_sizes(*this);
  check_numbers(*this);
  check_family(*this);
}

int64_t DecoderConfig::num_parameters() const {
  const int64_t C = width, F = feed_forward_width, V = vocab_size;
  const int64_t query_width = num_heads * head_size, kv_width = num_kv_heads * head_size;
  const int64_t norm_size = norm == NormKind::layer_norm ? 2 * C : C;

  int64_t attention = 2 * C * query_width + 2 * C * kv_width;
  if (has_qkv_bias) attention += query_width + 2 * kv_width;
  if (has_output_bias) attention += C;
  const bool is_gated = feed_forward == FeedForwardKind::swiglu;
  int64_t network = (is_gated ? 3 : 2) * C * F;
  if (has_feed_forward_bias) network += (is_gated ? 2 : 1) * F + C;
  const int64_t block = attention + network + (is_parallel_block ? 1 : 2) * norm_size;

  int64_t count = V * C + num_layers * block + norm_size;
  if (position == PositionKind::learned) count += max_context * C;
  if (!ties_embeddings) count += V * C;
  if (has_head_bias) count += V;
  return count;
}

}  // namespace owlet
