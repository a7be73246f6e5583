#include "data/sources/parquet_cell.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "formats/parquet/bit_reader.hpp"

namespace owlet {
namespace {

using parquet::Annotation;
using parquet::Meaning;
using parquet::PhysicalType;
using parquet::TimeUnit;

constexpr int64_t kSecondsPerDay = 86400;
constexpr int64_t kFirstDay = -719162, kLastDay = 2932896;  // 0001-01-01 and 9999-12-31, from 1970-01-01
constexpr size_t kMaxDecimalBytes = 64;
constexpr int kMaxDecimalScale = 255;

int64_t ticks_per_second(TimeUnit unit) {
  return unit == TimeUnit::millis ? 1'000 : unit == TimeUnit::micros ? 1'000'000 : 1'000'000'000;
}

int64_t floor_divide(int64_t value, int64_t divisor) { return value / divisor - (value % divisor < 0 ? 1 : 0); }

bool is_year_of_four_digits(int64_t days) { return days >= kFirstDay && days <= kLastDay; }

/// "2024-05-01"; only for days from kFirstDay to kLastDay.
std::string format_date(int64_t days) {
  const std::chrono::year_month_day date{std::chrono::sys_days{std::chrono::days{days}}};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()));
}

/// "12:34:56", with 3, 6 or 9 digits behind a point where they are not all zero.
std::string format_time(int64_t seconds, int64_t nanos) {
  std::string text = fmt::format("{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60);
  if (nanos == 0) return text;
  if (nanos % 1'000'000 == 0) return text + fmt::format(".{:03}", nanos / 1'000'000);
  if (nanos % 1'000 == 0) return text + fmt::format(".{:06}", nanos / 1'000);
  return text + fmt::format(".{:09}", nanos);
}

Json time_cell(int64_t ticks, const Annotation& annotation) {
  const int64_t per_second = ticks_per_second(annotation.unit), seconds = floor_divide(ticks, per_second);
  if (seconds < 0 || seconds > kSecondsPerDay) return ticks;
  return format_time(seconds, (ticks - seconds * per_second) * (1'000'000'000 / per_second));
}

Json timestamp_cell(int64_t ticks, const Annotation& annotation) {
  const int64_t per_second = ticks_per_second(annotation.unit), seconds = floor_divide(ticks, per_second);
  const int64_t days = floor_divide(seconds, kSecondsPerDay);
  if (!is_year_of_four_digits(days)) return ticks;
  const int64_t nanos = (ticks - seconds * per_second) * (1'000'000'000 / per_second);
  return format_date(days) + "T" + format_time(seconds - days * kSecondsPerDay, nanos) + (annotation.is_utc ? "Z" : "");
}

/// The twelve bytes of older files: nanoseconds of the day, then the Julian day.
Json int96_cell(std::string_view bytes) {
  constexpr int64_t kJulianDayOf1970 = 2440588, kNanosPerSecond = 1'000'000'000;
  const auto* data = reinterpret_cast<const std::byte*>(bytes.data());
  const auto nanos = parquet::load<int64_t>(data);
  const int64_t days = int64_t{parquet::load<uint32_t>(data + 8)} - kJulianDayOf1970;
  const bool is_time = nanos >= 0 && nanos < kSecondsPerDay * kNanosPerSecond && is_year_of_four_digits(days);
  check(is_time, ErrorKind::corrupt_file, "a timestamp of day {} and {} ns", days, nanos);
  return format_date(days) + "T" + format_time(nanos / kNanosPerSecond, nanos % kNanosPerSecond);
}

/// `digits` (without sign) with the point `scale` digits from the right.
std::string place_point(std::string digits, bool is_negative, int scale) {
  const auto places = static_cast<size_t>(scale);
  if (digits.size() <= places) digits.insert(0, places + 1 - digits.size(), '0');
  if (places > 0) digits.insert(digits.size() - places, 1, '.');
  if (is_negative) digits.insert(digits.begin(), '-');
  return digits;
}

int checked_scale(const Annotation& annotation) {
  check(annotation.scale >= 0 && annotation.scale <= kMaxDecimalScale, ErrorKind::corrupt_file,
        "a decimal of {} digits behind the point", annotation.scale);
  return annotation.scale;
}

/// Two's complement, most significant byte first.
std::string decimal_digits(std::string_view bytes, bool& is_negative) {
  std::vector<uint8_t> magnitude(bytes.begin(), bytes.end());
  is_negative = !magnitude.empty() && magnitude.front() >= 0x80;
  if (is_negative) {
    unsigned carry = 1;
    for (auto byte = magnitude.rbegin(); byte != magnitude.rend(); ++byte) {
      const unsigned sum = static_cast<uint8_t>(~*byte) + carry;
      *byte = static_cast<uint8_t>(sum);
      carry = sum >> 8;
    }
  }
  std::string digits;
  while (std::any_of(magnitude.begin(), magnitude.end(), [](uint8_t byte) { return byte != 0; })) {
    unsigned rest = 0;
    for (uint8_t& byte : magnitude) {
      const unsigned value = rest * 256 + byte;
      byte = static_cast<uint8_t>(value / 10);
      rest = value % 10;
    }
    digits.push_back(static_cast<char>('0' + rest));
  }
  if (digits.empty()) digits.push_back('0');
  std::reverse(digits.begin(), digits.end());
  return digits;
}

double half_to_double(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1F, fraction = bits & 0x3FF;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  if (exponent == 31) return fraction == 0 ? sign * HUGE_VAL : std::nan("");
  return sign * std::ldexp(fraction + 1024, exponent - 25);
}

std::string format_uuid(std::string_view bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text.push_back('-');
    text += fmt::format("{:02x}", static_cast<uint8_t>(bytes[i]));
  }
  return text;
}

Json integer_cell(int64_t value, const parquet::SchemaLeaf& leaf) {
  if (leaf.type == PhysicalType::boolean) return value != 0;
  switch (leaf.annotation.meaning) {
    case Meaning::integer:
      if (leaf.annotation.is_signed) return value;
      return leaf.type == PhysicalType::int32 ? Json(static_cast<uint32_t>(value)) : Json(static_cast<uint64_t>(value));
    case Meaning::decimal: {
      const auto magnitude = value < 0 ? uint64_t{0} - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
      return place_point(std::to_string(magnitude), value < 0, checked_scale(leaf.annotation));
    }
    case Meaning::date:
      return is_year_of_four_digits(value) ? Json(format_date(value)) : Json(value);
    case Meaning::time:
      return time_cell(value, leaf.annotation);
    case Meaning::timestamp:
      return timestamp_cell(value, leaf.annotation);
    default:
      return value;
  }
}

Json bytes_cell(std::string_view bytes, const parquet::SchemaLeaf& leaf) {
  if (leaf.type == PhysicalType::int96) return int96_cell(bytes);
  switch (leaf.annotation.meaning) {
    case Meaning::decimal: {
      check(bytes.size() <= kMaxDecimalBytes, ErrorKind::corrupt_file, "a decimal of {} bytes", bytes.size());
      bool is_negative = false;
      const std::string digits = decimal_digits(bytes, is_negative);
      return place_point(digits, is_negative, checked_scale(leaf.annotation));
    }
    case Meaning::uuid:
      check(bytes.size() == 16, ErrorKind::corrupt_file, "a UUID of {} bytes", bytes.size());
      return format_uuid(bytes);
    case Meaning::float16:
      check(bytes.size() == 2, ErrorKind::corrupt_file, "a 16-bit number of {} bytes", bytes.size());
      return half_to_double(parquet::load<uint16_t>(reinterpret_cast<const std::byte*>(bytes.data())));
    default:
      return std::string(bytes);
  }
}

}  // namespace

Json parquet_cell(const parquet::ColumnReader& column) {
  const parquet::SchemaLeaf& leaf = column.leaf();
  switch (parquet::value_class(leaf.type)) {
    case parquet::ValueClass::integers:
      return integer_cell(column.integer(), leaf);
    case parquet::ValueClass::reals:
      return column.real();
    case parquet::ValueClass::bytes:
      return bytes_cell(column.bytes(), leaf);
  }
  return nullptr;
}

void check_parquet_cells(const parquet::ParquetFile& file, const parquet::SchemaLeaf& leaf) {
  if (leaf.annotation.meaning != Meaning::unsupported) return;
  throw Error(ErrorKind::unsupported,
              fmt::format("'{}': column '{}' holds values of the kind {}, which are not read", file.name(), leaf.path,
                          leaf.annotation.name),
              "name the columns that you want, without this one");
}

}  // namespace owlet
