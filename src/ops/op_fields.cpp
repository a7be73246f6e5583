#include "ops/op_fields.hpp"

namespace owlet {

namespace {

using Fields = std::vector<OpField>;
constexpr FieldType kActivation = FieldType::activation, kStatistic = FieldType::statistic, kIndex = FieldType::index;

OpField input(std::string_view name, Tensor& tensor, FieldType type = kActivation) {
  return {name, &tensor, FieldRole::input, type, nullptr};
}
OpField output(std::string_view name, Tensor& tensor, FieldType type = kActivation) {
  return {name, &tensor, FieldRole::output, type, nullptr};
}
OpField state(std::string_view name, Tensor& tensor, FieldType type = kActivation) {
  return {name, &tensor, FieldRole::state, type, nullptr};
}
OpField gradient(std::string_view name, GradientSlot& slot, FieldType type = kActivation) {
  return {name, &slot.tensor, FieldRole::gradient, type, &slot.accumulate};
}

Fields fields_of(op::Embedding& op) {
  return {input("tokens", op.tokens, kIndex), input("weight", op.weight), output("y", op.y)};
}
Fields fields_of(op::EmbeddingGrad& op) {
  return {input("dy", op.dy), input("tokens", op.tokens, kIndex), gradient("dweight", op.dweight, kStatistic)};
}
Fields fields_of(op::RmsNorm& op) {
  return {input("x", op.x), input("weight", op.weight, kStatistic), output("y", op.y),
          output("inv_rms", op.inv_rms, kStatistic)};
}
Fields fields_of(op::RmsNormGrad& op) {
  return {input("dy", op.dy),
          input("x", op.x),
          input("weight", op.weight, kStatistic),
          input("inv_rms", op.inv_rms, kStatistic),
          gradient("dx", op.dx),
          gradient("dweight", op.dweight, kStatistic)};
}
Fields fields_of(op::LayerNorm& op) {
  return {input("x", op.x),  input("weight", op.weight, kStatistic), input("bias", op.bias, kStatistic),
          output("y", op.y), output("mean", op.mean, kStatistic),    output("inv_std", op.inv_std, kStatistic)};
}
Fields fields_of(op::LayerNormGrad& op) {
  return {input("dy", op.dy),
          input("x", op.x),
          input("weight", op.weight, kStatistic),
          input("mean", op.mean, kStatistic),
          input("inv_std", op.inv_std, kStatistic),
          gradient("dx", op.dx),
          gradient("dweight", op.dweight, kStatistic),
          gradient("dbias", op.dbias, kStatistic)};
}
Fields fields_of(op::Linear& op) {
  return {input("x", op.x), input("weight", op.weight), input("bias", op.bias, kStatistic), output("y", op.y)};
}
Fields fields_of(op::LinearInputGrad& op) {
  return {input("dy", op.dy), input("weight", op.weight), gradient("dx", op.dx)};
}
Fields fields_of(op::LinearWeightGrad& op) {
  return {input("dy", op.dy), input("x", op.x), gradient("dweight", op.dweight, kStatistic),
          gradient("dbias", op.dbias, kStatistic)};
}
Fields fields_of(op::Rope& op) {
  OpField y = output("y", op.y);
  y.accumulate = &op.accumulate;
  return {input("x", op.x), input("positions", op.positions, kIndex), input("table", op.table, kStatistic), y};
}
Fields fields_of(op::Attention& op) {
  return {input("q", op.q),
          input("k", op.k),
          input("v", op.v),
          output("y", op.y),
          output("lse", op.lse, kStatistic),
          input("document_starts", op.document_starts, kIndex),
          input("kv_lengths", op.kv_lengths, kIndex)};
}
Fields fields_of(op::AttentionGrad& op) {
  return {input("dy", op.dy),
          input("q", op.q),
          input("k", op.k),
          input("v", op.v),
          input("y", op.y),
          input("lse", op.lse, kStatistic),
          input("document_starts", op.document_starts, kIndex),
          gradient("dq", op.dq),
          gradient("dk", op.dk),
          gradient("dv", op.dv)};
}
Fields fields_of(op::PlainAttention& op) {
  return {input("q", op.q),
          input("k", op.k),
          input("v", op.v),
          output("y", op.y),
          output("probabilities", op.probabilities),
          input("document_starts", op.document_starts, kIndex)};
}
Fields fields_of(op::PlainAttentionGrad& op) {
  return {input("dy", op.dy),
          input("q", op.q),
          input("k", op.k),
          input("v", op.v),
          input("probabilities", op.probabilities),
          gradient("dq", op.dq),
          gradient("dk", op.dk),
          gradient("dv", op.dv)};
}
Fields fields_of(op::CacheAppend& op) {
  return {input("rows", op.rows), input("kv_lengths", op.kv_lengths, kIndex), state("cache", op.cache)};
}
Fields fields_of(op::SwiGlu& op) { return {input("gate", op.gate), input("up", op.up), output("y", op.y)}; }
Fields fields_of(op::SwiGluGrad& op) {
  return {input("dy", op.dy), input("gate", op.gate), input("up", op.up), gradient("dgate", op.dgate),
          gradient("dup", op.dup)};
}
Fields fields_of(op::Gelu& op) { return {input("x", op.x), output("y", op.y)}; }
Fields fields_of(op::GeluGrad& op) { return {input("dy", op.dy), input("x", op.x), gradient("dx", op.dx)}; }
Fields fields_of(op::Add& op) { return {input("a", op.a), input("b", op.b), output("y", op.y)}; }
Fields fields_of(op::LinearCrossEntropy& op) {
  return {input("x", op.x),
          input("weight", op.weight),
          input("targets", op.targets, kIndex),
          output("losses", op.losses, kStatistic),
          gradient("dx", op.dx),
          gradient("dweight", op.dweight, kStatistic)};
}
Fields fields_of(op::AdamW& op) {
  return {state("weight", op.weight, FieldType::stored), state("lower_bits", op.lower_bits, FieldType::bits),
          input("gradient", op.gradient, kStatistic), state("m", op.m, kStatistic), state("v", op.v, kStatistic)};
}
Fields fields_of(op::AdamW8bit& op) {
  return {state("weight", op.weight, FieldType::stored),
          state("lower_bits", op.lower_bits, FieldType::bits),
          input("gradient", op.gradient, kStatistic),
          state("m", op.m, FieldType::code),
          state("v", op.v, FieldType::code),
          state("m_scale", op.m_scale, kStatistic),
          state("v_scale", op.v_scale, kStatistic)};
}
Fields fields_of(op::Cast& op) { return {input("x", op.x, FieldType::any), output("y", op.y, FieldType::any)}; }
Fields fields_of(op::SplitWeight& op) {
  return {input("x", op.x, FieldType::any), output("weight", op.weight, FieldType::any),
          output("lower_bits", op.lower_bits, FieldType::bits)};
}
Fields fields_of(op::Fill& op) { return {output("y", op.y, FieldType::any)}; }
Fields fields_of(op::FillNormal& op) { return {output("y", op.y, FieldType::any)}; }
Fields fields_of(op::SquaredNorm& op) {
  return {input("x", op.x, FieldType::any), output("result", op.result, FieldType::total)};
}

}  // namespace

std::vector<OpField> op_fields(AnyOp& op) {
  return std::visit([](auto& one) { return fields_of(one); }, op.variant);
}

}  // namespace owlet
