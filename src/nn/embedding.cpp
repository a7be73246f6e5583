#include "nn/embedding.hpp"

#include "ops/embedding.hpp"

namespace owlet {

Tensor Embedding::operator()(Context& ctx, const Tensor& ids) const { return embedding(ctx, ids, weight->value); }

Embedding make_embedding(Context& ctx, ParameterSet& parameters, const std::string& name, int64_t num_rows,
                         int64_t width, float deviation) {
  return {&parameters.add(ctx, name + ".weight", {num_rows, width}, {Initialization::Kind::normal, deviation})};
}

}  // namespace owlet
