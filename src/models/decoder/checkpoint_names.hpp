// Names and layouts of decoder weights on the Hugging Face Hub: the adapter between ParameterSet and safetensors files.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/decoder/config.hpp"
#include "nn/parameter_set.hpp"

namespace owlet {

/// One tensor of a checkpoint file as the Hub knows it.
struct NamedTensor {
  std::string name;
  Tensor values;  // host memory
};

/// Name and shape of such a tensor.
struct NamedShape {
  std::string name;
  Shape shape;
};

/// Hands out the tensor of a Hub name in ordinary memory (f64, f32, bf16 or f16), or an undefined one where the file
/// has none.
using TensorFetch = std::function<Tensor(const std::string& name)>;

/// The model's weights under the Hub's names and layouts (GPT-2: transposed, q k v joined), in `dtype` (f32 or bf16;
/// f64 too). A tied head is left out. Memory: one tensor at a time is handed to `sink`.
void export_weights(Context& ctx, const DecoderConfig& config, const ParameterSet& parameters, DType dtype,
                    const std::function<void(const NamedTensor&)>& sink);
/// One of those tensors by its Hub name, for writers that have an order of their own. Throws Error invalid_argument for
/// a name the model does not have.
Tensor export_weight(Context& ctx, const DecoderConfig& config, const ParameterSet& parameters, DType dtype,
                     std::string_view name);
/// Names and shapes that export_weights will hand out, in order: for writers that need the header first.
std::vector<NamedShape> exported_shapes(const DecoderConfig& config);

/// Fills the parameters from tensors fetched by Hub name; names without the leading "model." or "transformer." are
/// tried too. Throws Error corrupt_file naming tensor and both shapes; missing tensors are all listed. A tied head that
/// the file holds as well must equal the embedding.
void import_weights(Context& ctx, const DecoderConfig& config, ParameterSet& parameters, const TensorFetch& fetch);

/// Whether config ties the output head to the embedding but the file holds a head with other values. Such a model is
/// loaded as it was trained by setting ties_embeddings = false before make_decoder.
bool has_separate_head(const DecoderConfig& config, const TensorFetch& fetch);

}  // namespace owlet
