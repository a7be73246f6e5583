#include "backends/reference/reference_backend.hpp"

#include <cstring>

#include "backends/reference/kernels.hpp"
#include "base/error.hpp"
#include "ops/op_fields.hpp"

namespace owlet {

namespace {

bool is_taken(const OpField& field) {
  const Tensor& tensor = *field.tensor;
  if (!tensor.defined()) return true;
  switch (field.type) {
    case FieldType::activation:
    case FieldType::statistic:
    case FieldType::stored:
    case FieldType::total:
      return tensor.dtype() == DType::f64;
    case FieldType::index:
      return tensor.dtype() == DType::i32;
    case FieldType::code:
      return tensor.dtype() == DType::i8 || tensor.dtype() == DType::u8;
    case FieldType::bits:
      return tensor.dtype() == DType::u16;
    case FieldType::any:
      return true;
  }
  return false;
}

class ReferenceBackend final : public Backend {
 public:
  ReferenceBackend() : allocator_(make_system_memory_source()) {}

  std::string_view name() const override { return "reference"; }

  void run(const AnyOp& op) override {
    AnyOp copy = op;
    for (const OpField& field : op_fields(copy)) {
      check(is_taken(field), ErrorKind::unsupported, "{}: the reference backend computes in f64, {} is {}", op.name(),
            field.name, describe(*field.tensor));
    }
    std::visit([](const auto& one) { reference::run(one); }, op.variant);
  }

  bool supports(const AnyOp& op) const override {
    AnyOp copy = op;
    const std::vector<OpField> fields = op_fields(copy);
    return std::all_of(fields.begin(), fields.end(), is_taken);
  }

  CachingAllocator& allocator() override { return allocator_; }

  void write(const Tensor& tensor, const void* source) override {
    if (tensor.size_bytes() > 0) std::memcpy(tensor.bytes(), source, tensor.size_bytes());
  }
  void read(const Tensor& tensor, void* target) override {
    if (tensor.size_bytes() > 0) std::memcpy(target, tensor.bytes(), tensor.size_bytes());
  }

 private:
  CachingAllocator allocator_;
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace owlet
