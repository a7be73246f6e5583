// The decoder-only transformer, eager: read Decoder::hidden beside the papers.
#pragma once

#include <memory>

#include "models/decoder/config.hpp"
#include "models/language_model.hpp"

namespace owlet {

/// Builds the model's layers and allocates its parameters (uninitialised) on the context's backend.
/// Follow with parameters().initialize(ctx, seed) or load_decoder_weights.
std::unique_ptr<LanguageModel> make_decoder(Context& ctx, const DecoderConfig& config, const ParameterStorage& storage);

}  // namespace owlet
