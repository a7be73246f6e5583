// Names and layouts of decoder weights on the Hugging Face Hub: the adapter between ParameterSet and safetensors files.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "models/decoder/config.hpp"
#include "nn/parameter_set.hpp"

namespace owlet {

/// One tensor of a checkpoint file as the Hub knows it.
struct NamedTensor {
  std::string name;
  Tensor values;  // host memory
};

/// The model's weights under the Hub's names and layouts (GPT-2: transposed, q k v joined), in `dtype` (f32 or bf16).
/// A tied head is left out. Memory: one tensor at a time is handed to `sink`.
void export_weights(Context& ctx, const DecoderConfig& config, const ParameterSet& parameters, DType dtype,
                    const std::function<void(const NamedTensor&)>& sink);
/// Names, types and shapes that export_weights will hand out, in order: for writers that need the header first.
struct NamedShape {
  std::string name;
  Shape shape;
};
std::vector<NamedShape> exported_shapes(const DecoderConfig& config);

/// Fills the parameters from tensors fetched by Hub name. `fetch` returns an undefined tensor for a missing name.
/// Throws Error corrupt_file naming tensor and both shapes; missing tensors are all listed.
void import_weights(Context& ctx, const DecoderConfig& config, ParameterSet& parameters,
                    const std::function<Tensor(const std::string& name)>& fetch);

}  // namespace owlet
