#include "formats/safetensors.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "formats/safetensors_header.hpp"

namespace owlet {
namespace {

namespace fs = std::filesystem;

class SafetensorsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / fmt::format("owlet-safetensors-{}", getpid());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  /// A file with this header text and `data_bytes` bytes of data.
  fs::path write_raw(const std::string& header, size_t data_bytes, const std::string& name = "raw.safetensors") {
    std::ofstream file(folder_ / name, std::ios::binary);
    const uint64_t length = header.size();
    file.write(reinterpret_cast<const char*>(&length), 8);
    file << header << std::string(data_bytes, '\1');
    return folder_ / name;
  }

  /// The message of opening the file, empty if it opens.
  static std::string message_of(const fs::path& path) {
    try {
      SafetensorsFile file(path);
    } catch (const Error& error) {
      return fmt::format("{}: {}", to_string(error.kind()), error.what());
    }
    return {};
  }

  void expect_refused(const std::string& header, size_t data_bytes, const std::string& part) {
    const std::string message = message_of(write_raw(header, data_bytes));
    EXPECT_NE(message.find(part), std::string::npos) << header << "\n-> " << message;
    EXPECT_NE(message.find("raw.safetensors"), std::string::npos) << message;
  }

  fs::path folder_;
};

std::string bytes_of_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

SafetensorsItem item_of(std::string name, std::string dtype, std::vector<int64_t> shape, const std::string& bytes) {
  return {std::move(name), std::move(dtype), std::move(shape), [bytes] { return std::as_bytes(std::span(bytes)); }};
}

TEST_F(SafetensorsTest, ReadsAndWritesTheBytesOfTheReferenceLibrary) {
  const Json golden = read_json(fs::path(OWLET_SOURCE_DIR) / "tests/golden/formats/safetensors.json");
  const std::string reference = bytes_of_hex(golden["hex"]);
  write_file_atomically(folder_ / "reference.safetensors", reference);
  const SafetensorsFile file(folder_ / "reference.safetensors");
  EXPECT_EQ(file.metadata().at("format"), "pt");
  ASSERT_EQ(file.tensors().size(), golden["tensors"].size());
  std::vector<SafetensorsItem> items;
  for (const auto& [name, expected] : golden["tensors"].items()) {
    const SafetensorsTensor& tensor = file.get(name);
    EXPECT_EQ(tensor.shape, expected["shape"].get<std::vector<int64_t>>()) << name;
    EXPECT_EQ(text_of(tensor.bytes), bytes_of_hex(expected["bytes"])) << name;
    items.push_back(item_of(name, tensor.dtype, tensor.shape, bytes_of_hex(expected["bytes"])));
  }
  EXPECT_EQ(file.get("a.first").dtype, "F32");
  EXPECT_EQ(file.get("scalar").num_elements(), 1);
  EXPECT_EQ(safetensors_file_bytes(items), reference.size());
  write_safetensors(folder_ / "own.safetensors", items);
  EXPECT_EQ(read_file(folder_ / "own.safetensors"), reference);
}

TEST_F(SafetensorsTest, NamesTypesBothWays) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64, DType::i32, DType::u32,
                            DType::u16, DType::i8, DType::u8}) {
    const std::string spelling = safetensors_dtype(dtype);
    EXPECT_EQ(dtype_from_safetensors(spelling), dtype);
    const int index = safetensors_type_index(spelling);
    ASSERT_GE(index, 0);
    EXPECT_EQ(safetensors_types()[static_cast<size_t>(index)].element_bytes, size_of(dtype));
  }
  EXPECT_FALSE(dtype_from_safetensors("F8_E4M3"));
}

TEST_F(SafetensorsTest, MissingTensorNamesFileAndTensor) {
  const SafetensorsFile file(write_raw(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", 2));
  EXPECT_EQ(file.find("b"), nullptr);
  try {
    file.get("b");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::not_found);
    EXPECT_NE(std::string(error.what()).find("raw.safetensors has no tensor 'b'"), std::string::npos) << error.what();
  }
}

TEST_F(SafetensorsTest, RefusesHostileHeaders) {
  const std::string a = R"("a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  EXPECT_EQ(message_of(write_raw("{" + a + "}  ", 8)), "");
  expect_refused(" {" + a + "}", 8, "does not begin with '{'");
  expect_refused("", 8, "does not begin with '{'");
  expect_refused("{" + a, 8, "no valid JSON");
  expect_refused("{" + a + "," + a + "}", 8, "the name 'a' appears twice");
  expect_refused("{" + a + "}", 7, "cut short");
  expect_refused("{" + a + "}", 9, "the tensors end at byte 8, but the data part has 9");
  expect_refused("{" + a + R"(,"b":{"dtype":"U8","shape":[2],"data_offsets":[7,9]}})", 9, "overlaps another");
  expect_refused("{" + a + R"(,"b":{"dtype":"U8","shape":[2],"data_offsets":[9,11]}})", 11, "a hole");
  expect_refused(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8, "'a' occupies 8 bytes, but");
  expect_refused(R"({"a":{"dtype":"F99","shape":[2],"data_offsets":[0,8]}})", 8, "unsupported");
  expect_refused(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}})", 0, "2^62");
  expect_refused(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8, "the number -2");
  expect_refused(R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", 8, "the number 2.0");
  expect_refused(R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]}})", 8, "dimension");
  expect_refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8, "lies at bytes 8 to 0");
  expect_refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,18446744073709551608]}})", 8, "lies at bytes");
  expect_refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]}})", 8, "third offset");
  expect_refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", 8, "1 data_offsets");
  expect_refused(R"({"a":{"dtype":"F32","shape":[2]}})", 8, "lacks one of");
  expect_refused(R"({"a":{"dtype":"F32","dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8, "key 'dtype' twice");
  expect_refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"x":1}})", 8, "unknown key 'x'");
  expect_refused(R"({"a":{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}})", 8, "an array");
  expect_refused(R"({"a":{"dtype":{},"shape":[2],"data_offsets":[0,8]}})", 8, "an object");
  expect_refused(R"({"a":{"dtype":"F32","shape":"2","data_offsets":[0,8]}})", 8, "the text '2'");
  expect_refused(R"({"a":3})", 0, "the number 3");
  expect_refused(R"({"a":null})", 0, "null");
  expect_refused(R"({"__metadata__":{"x":1}})", 0, "the number 1");
  expect_refused("{" + std::string(100000, '['), 0, "safetensors");
  expect_refused("{" + a + "}{}", 8, "no valid JSON");
  EXPECT_EQ(message_of(write_raw(R"({"z":{"dtype":"F32","shape":[4,0],"data_offsets":[0,0]}})", 0)), "");
  expect_refused(R"({"z":{"dtype":"F32","shape":[0,4294967296,4294967296],"data_offsets":[0,0]}})", 0, "2^62");
}

TEST_F(SafetensorsTest, RefusesHostileLengths) {
  const auto write_bytes = [&](const std::string& bytes) {
    write_file_atomically(folder_ / "raw.safetensors", bytes);
    return message_of(folder_ / "raw.safetensors");
  };
  EXPECT_NE(write_bytes("").find("0 bytes are too few"), std::string::npos);
  EXPECT_NE(write_bytes("1234567").find("7 bytes are too few"), std::string::npos);
  EXPECT_NE(write_bytes(std::string(8, '\xff')).find("more than the 100000000"), std::string::npos);
  EXPECT_NE(write_bytes(std::string("\x09\0\0\0\0\0\0\0{}", 10)).find("only 2 follow"), std::string::npos);
  EXPECT_NE(message_of(folder_ / "none.safetensors").find("not_found"), std::string::npos);
}

TEST_F(SafetensorsTest, RefusesItemsThatAreWrong) {
  const auto kind_of = [&](std::vector<SafetensorsItem> items) {
    try {
      write_safetensors(folder_ / "w.safetensors", std::move(items));
    } catch (const Error& error) {
      return std::string(to_string(error.kind()));
    }
    return std::string("written");
  };
  EXPECT_EQ(kind_of({item_of("a", "U8", {1}, "x"), item_of("a", "U8", {1}, "y")}), "invalid_argument");
  EXPECT_EQ(kind_of({item_of("__metadata__", "U8", {1}, "x")}), "invalid_argument");
  EXPECT_EQ(kind_of({item_of("a", "U8", {2}, "x")}), "invalid_argument");
  EXPECT_EQ(kind_of({item_of("a", "Q4", {1}, "x")}), "unsupported");
  EXPECT_FALSE(fs::exists(folder_ / "w.safetensors"));
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_EQ(kind_of({}), "written");
  EXPECT_TRUE(SafetensorsFile(folder_ / "w.safetensors").tensors().empty());
}

// A 5 GB file with holes: offsets beyond 2^32 must come out exactly.
TEST_F(SafetensorsTest, ReadsTensorsBehindFourGigabytes) {
  const uint64_t big = uint64_t{5} << 30;
  const std::string header = fmt::format(R"({{"big":{{"dtype":"U8","shape":[{}],"data_offsets":[0,{}]}},)"
                                         R"("last":{{"dtype":"I32","shape":[2],"data_offsets":[{},{}]}}}})",
                                         big, big, big, big + 8);
  const fs::path path = write_raw(header, 0);
  std::error_code error;
  fs::resize_file(path, 8 + header.size() + big + 8, error);
  if (error) GTEST_SKIP() << "no sparse files here: " << error.message();
  {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(8 + header.size() + big));
    const int32_t values[2] = {-5, 1234567};
    file.write(reinterpret_cast<const char*>(values), 8);
  }
  const SafetensorsFile file(path);
  EXPECT_EQ(file.get("big").bytes.size(), big);
  int32_t values[2];
  std::memcpy(values, file.get("last").bytes.data(), 8);
  EXPECT_EQ(values[0], -5);
  EXPECT_EQ(values[1], 1234567);
  EXPECT_EQ(file.get("big").bytes[big - 1], std::byte{0});
  file.release(file.get("big"));
}

TEST_F(SafetensorsTest, IndexDecidesAndLeftoversAreReported) {
  write_safetensors(folder_ / "model-00001-of-00002.safetensors",
                    {item_of("a", "U8", {1}, "A"), item_of("extra", "U8", {1}, "E"), item_of("b", "U8", {1}, "?")});
  write_safetensors(folder_ / "model-00002-of-00002.safetensors", {item_of("b", "U8", {1}, "B")});
  write_safetensors(folder_ / "model.safetensors", {item_of("a", "U8", {1}, "s"), item_of("stale", "U8", {1}, "s")});
  write_file_atomically(folder_ / "model.safetensors.index.json",
                        R"({"metadata":{"total_size":2},"weight_map":{"a":"model-00001-of-00002.safetensors",)"
                        R"("b":"model-00002-of-00002.safetensors"}})");
  const SafetensorsFolder weights(folder_);
  EXPECT_EQ(weights.names(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(text_of(weights.get("a").bytes), "A");
  EXPECT_EQ(text_of(weights.get("b").bytes), "B");
  EXPECT_EQ(weights.find("stale"), nullptr);
  EXPECT_EQ(weights.find("extra"), nullptr);
  ASSERT_EQ(weights.leftovers().size(), 3u);
  EXPECT_NE(weights.leftovers()[0].find("'b' in model-00001"), std::string::npos) << weights.leftovers()[0];
  EXPECT_NE(weights.leftovers()[1].find("'extra' in model-00001"), std::string::npos) << weights.leftovers()[1];
  EXPECT_NE(weights.leftovers()[2].find("file model.safetensors"), std::string::npos) << weights.leftovers()[2];
  weights.release(weights.get("a"));

  fs::remove(folder_ / "model.safetensors.index.json");
  const SafetensorsFolder single(folder_);
  EXPECT_EQ(text_of(single.get("stale").bytes), "s");
  EXPECT_EQ(single.leftovers().size(), 2u);
}

TEST_F(SafetensorsTest, RefusesBadIndexes) {
  write_safetensors(folder_ / "x.safetensors", {item_of("a", "U8", {1}, "A")});
  const auto message = [&](const std::string& weight_map) {
    write_file_atomically(folder_ / "model.safetensors.index.json", R"({"weight_map":)" + weight_map + "}");
    try {
      SafetensorsFolder weights(folder_);
    } catch (const Error& error) {
      return fmt::format("{}: {}", to_string(error.kind()), error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message(R"({"a":"x.safetensors"})"), "");
  EXPECT_NE(message(R"({"b":"x.safetensors"})").find("'b' is said to be in 'x.safetensors', but is not"),
            std::string::npos);
  EXPECT_NE(message(R"({"a":"../x.safetensors"})").find("no plain file name"), std::string::npos);
  EXPECT_NE(message(R"({"a":"y.safetensors"})").find("not_found"), std::string::npos);
  EXPECT_NE(message(R"({"a":1})").find("no file name"), std::string::npos);
  EXPECT_NE(message("[]").find("corrupt_file"), std::string::npos);
  fs::remove_all(folder_ / "x.safetensors");
  fs::remove_all(folder_ / "model.safetensors.index.json");
  EXPECT_THROW(SafetensorsFolder{folder_}, Error);
}

}  // namespace
}  // namespace owlet
