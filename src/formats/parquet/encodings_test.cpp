// Runs, differences and Thrift against bytes worked out by hand from the specification.
#include <gtest/gtest.h>

#include <vector>

#include "base/error.hpp"
#include "formats/parquet/bit_reader.hpp"
#include "formats/parquet/compact_protocol.hpp"
#include "formats/parquet/delta_decoder.hpp"
#include "formats/parquet/rle_decoder.hpp"

namespace owlet::parquet {
namespace {

std::vector<std::byte> bytes_of(const std::vector<int>& numbers) {
  std::vector<std::byte> bytes;
  for (const int number : numbers) bytes.push_back(static_cast<std::byte>(number));
  return bytes;
}

using Values = std::vector<uint32_t>;

TEST(ParquetEncodings, BitsOfAnyWidthAtAnyPlace) {
  std::vector<std::byte> bytes;
  for (int i = 0; i < 24; ++i) bytes.push_back(static_cast<std::byte>(i * 37 + 11));
  for (int width = 0; width <= 64; ++width) {
    for (size_t bit = 0; bit + static_cast<size_t>(width) <= bytes.size() * 8; ++bit) {
      uint64_t expected = 0;
      for (int i = 0; i < width; ++i) {
        const size_t place = bit + static_cast<size_t>(i);
        expected |= (static_cast<uint64_t>(bytes[place / 8]) >> (place % 8) & 1) << i;
      }
      ASSERT_EQ(load_bits(bytes, bit, width), expected) << width << " bits at " << bit;
    }
  }
}

TEST(ParquetEncodings, RunsAndPackedValues) {
  // The specification's example: 0 to 7 in 3 bits. Then a run of 4 times 5, and no values in between.
  const auto bytes = bytes_of({0x03, 0x88, 0xC6, 0xFA, 0x00, 0x07, 0x08, 0x05});
  RleDecoder decoder(bytes, 3);
  Values first(5), second(7);
  decoder.decode(first);
  EXPECT_EQ(first, (Values{0, 1, 2, 3, 4}));
  decoder.decode(second);
  EXPECT_EQ(second, (Values{5, 6, 7, 5, 5, 5, 5}));
  Values more(1);
  EXPECT_THROW(decoder.decode(more), Error);
}

TEST(ParquetEncodings, RunsOfEveryWidth) {
  for (int width = 0; width <= 32; ++width) {
    const uint32_t value = width == 0 ? 0 : 0xFFFFFFFFu >> (32 - width);
    std::vector<int> numbers = {0x05};  // two groups of eight, all bits set
    for (int i = 0; i < 2 * width; ++i) numbers.push_back(0xFF);
    numbers.push_back(6);  // three times
    for (int i = 0; i < (width + 7) / 8; ++i) numbers.push_back(static_cast<int>(value >> (8 * i) & 0xFF));
    const auto bytes = bytes_of(numbers);
    RleDecoder decoder(bytes, width);
    Values values(19);
    decoder.decode(values);
    EXPECT_EQ(values, Values(19, value)) << width;
  }
}

TEST(ParquetEncodings, LastGroupMayBeCutBehindItsLastValue) {
  const auto bytes = bytes_of({0x03, 0xE4});  // eight values of 2 bits, only four are there
  RleDecoder decoder(bytes, 2);
  Values values(4);
  decoder.decode(values);
  EXPECT_EQ(values, (Values{0, 1, 2, 3}));
  Values more(1);
  EXPECT_THROW(decoder.decode(more), Error);
}

TEST(ParquetEncodings, DamagedRuns) {
  for (const auto& numbers :
       std::vector<std::vector<int>>{{}, {0x80}, {0x06}, {0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 1}, {0, 0}}) {
    const auto bytes = bytes_of(numbers);
    RleDecoder decoder(bytes, 8);
    Values values(1);
    EXPECT_THROW(decoder.decode(values), Error) << numbers.size();
  }
}

TEST(ParquetEncodings, OldestLevelsHaveTheHighestBitFirst) {
  // The specification's example: 0 to 7 in 3 bits.
  const auto bytes = bytes_of({0x05, 0x39, 0x77});
  BitPackedLevels decoder(bytes, 3);
  Values values(8);
  decoder.decode(values);
  EXPECT_EQ(values, (Values{0, 1, 2, 3, 4, 5, 6, 7}));
  Values more(1);
  EXPECT_THROW(decoder.decode(more), Error);
}

TEST(ParquetEncodings, Differences) {
  // The specification's examples. 1 to 5: differences of 1, widths 0. Then 7, 5, 3, 1, 2, 3, 4, 5: smallest difference
  // -2, the others 0, 0, 0, 3, 3, 3, 3 in 2 bits.
  std::vector<int> numbers = {0x80, 0x01, 0x04, 0x05, 0x02, 0x02, 0, 0, 0, 0};
  const auto rising = bytes_of(numbers);
  DeltaDecoder decoder(rising);
  EXPECT_EQ(decoder.size(), rising.size());
  for (int i = 1; i <= 5; ++i) EXPECT_EQ(decoder.next(), i);
  EXPECT_THROW(decoder.next(), Error);

  numbers = {0x80, 0x01, 0x04, 0x08, 0x0E, 0x03, 2, 0, 0, 0, 0xC0, 0x3F, 0, 0, 0, 0, 0, 0};
  for (const size_t size : {size_t{18}, size_t{12}}) {  // whole, and cut behind the last value
    const auto bytes = bytes_of({numbers.begin(), numbers.begin() + static_cast<std::ptrdiff_t>(size)});
    DeltaDecoder values(bytes);
    for (const int64_t value : {7, 5, 3, 1, 2, 3, 4, 5}) EXPECT_EQ(values.next(), value);
  }
}

TEST(ParquetEncodings, DifferencesWrapAround) {
  // From the largest number to the smallest: a difference of 1.
  std::vector<int> numbers = {0x80, 0x01, 0x01, 0x02, 0xFE, 0xFF, 0xFF, 0xFF,
                              0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01, 0x02, 0};
  const auto bytes = bytes_of(numbers);
  DeltaDecoder decoder(bytes);
  EXPECT_EQ(decoder.next(), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(decoder.next(), std::numeric_limits<int64_t>::min());
}

TEST(ParquetEncodings, DamagedDifferences) {
  const std::vector<std::vector<int>> damaged = {
      {},
      {0x80, 0x01, 0x00, 0x02, 0x02},
      {0x80, 0x01, 0x03, 0x02, 0x02},
      {0x00, 0x01, 0x02, 0x02},
      {0x80, 0x80, 0x80, 0x80, 0x08, 0x04, 0x02, 0x02},      // blocks of 2^31 values
      {0x80, 0x01, 0x04, 0x05, 0x02, 0x02, 65, 0, 0, 0},     // 65 bits
      {0x80, 0x01, 0x04, 0x05, 0x02, 0x02, 64, 0, 0, 0, 1},  // too few bytes
      {0x80, 0x01, 0x04, 0x05, 0x02, 0x02, 0, 0},
  };
  for (size_t i = 0; i < damaged.size(); ++i) {
    const auto bytes = bytes_of(damaged[i]);
    EXPECT_THROW(
        {
          DeltaDecoder decoder(bytes);
          decoder.next();
          decoder.next();
        },
        Error)
        << i;
    EXPECT_THROW(DeltaDecoder(bytes).size(), Error) << i;
  }
}

TEST(ParquetEncodings, ThriftNumbersTextsAndWhatIsPassedOver) {
  const auto bytes = bytes_of({
      0x15, 0x03,                                                                  // 1: i32 -2
      0x16, 0x80, 0x80, 0x80, 0x80, 0x40,                                          // 2: i64 2^33
      0x18, 0x02, 'o',  'w',                                                       // 3: text
      0x11,                                                                        // 4: true
      0x05, 0x28, 0x08,                                                            // 20: i32 4
      0x19, 0x2C, 0x15, 0x02, 0x00, 0x00,                                          // 21: two structs
      0x1B, 0x01, 0x85, 0x01, 'k',  0x02,                                          // 22: a map from text to i32
      0x17, 1,    2,    3,    4,    5,    6, 7, 8,                                 // 23: a double
      0x1D, 1,    2,    3,    4,    5,    6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16,  // 24: a UUID
      0x13, 0xFF,                                                                  // 25: i8 -1
      0x00,
  });
  CompactReader reader(bytes);
  std::vector<int64_t> numbers;
  std::string text;
  reader.read_struct([&](int field, CompactType type) {
    if (field == 1 || field == 20 || field == 25) {
      numbers.push_back(reader.read_integer<int32_t>(type));
    } else if (field == 2) {
      EXPECT_THROW(CompactReader(reader).read_integer<int32_t>(type), Error);
      numbers.push_back(reader.read_integer<int64_t>(type));
    } else if (field == 3) {
      text = reader.read_binary(type);
    } else if (field == 4) {
      EXPECT_TRUE(reader.read_boolean(type));
    } else {
      reader.skip(type);
    }
  });
  EXPECT_EQ(numbers, (std::vector<int64_t>{-2, int64_t{1} << 33, 4, -1}));
  EXPECT_EQ(text, "ow");
  EXPECT_EQ(reader.position(), bytes.size());
  for (size_t size = 0; size < bytes.size(); ++size) {
    CompactReader cut(std::span<const std::byte>(bytes).first(size));
    EXPECT_THROW(cut.read_struct([&](int, CompactType type) { cut.skip(type); }), Error) << size;
  }
}

TEST(ParquetEncodings, DamagedThrift) {
  const std::vector<std::vector<int>> damaged = {
      {0x1E, 0x00},                                                                    // a type that there is not
      {0x10, 0x00},                                                                    // a field without a type
      {0x18, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 'x', 0x00},                                 // a text of 4 GiB
      {0x19, 0xF5, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0x00},                                // a list of 2^32
      {0x1B, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0x55, 0x00},                                // a map of 2^32
      {0x16, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01, 0x00},  // a number of 71 bits
      {0x05, 0xFE, 0xFF, 0x7F, 0x02, 0x00},                                            // a field's number of 20 bits
  };
  for (size_t i = 0; i < damaged.size(); ++i) {
    const auto bytes = bytes_of(damaged[i]);
    CompactReader reader(bytes);
    EXPECT_THROW(reader.read_struct([&](int, CompactType type) { reader.skip(type); }), Error) << i;
  }
}

}  // namespace
}  // namespace owlet::parquet
