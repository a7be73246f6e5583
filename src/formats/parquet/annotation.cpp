#include "formats/parquet/annotation.hpp"

#include "base/error.hpp"

namespace owlet::parquet {
namespace {

Annotation unsupported(std::string_view name) {
  Annotation annotation;
  annotation.meaning = Meaning::unsupported;
  annotation.name = name;
  return annotation;
}

Annotation with_meaning(Meaning meaning) {
  Annotation annotation;
  annotation.meaning = meaning;
  return annotation;
}

Annotation integer(int bit_width, bool is_signed) {
  Annotation annotation = with_meaning(Meaning::integer);
  annotation.bit_width = bit_width;
  annotation.is_signed = is_signed;
  return annotation;
}

Annotation in_unit(Meaning meaning, TimeUnit unit) {
  Annotation annotation = with_meaning(meaning);
  annotation.unit = unit;
  annotation.is_utc = true;  // the older annotations know instants only
  return annotation;
}

TimeUnit read_time_unit(CompactReader& reader, CompactType type) {
  TimeUnit unit = TimeUnit::millis;
  reader.read_struct(type, [&](int field, CompactType field_type) {
    check(field >= 1 && field <= 3, ErrorKind::corrupt_file, "the metadata has the unit of time {}", field);
    unit = static_cast<TimeUnit>(field - 1);
    reader.skip(field_type);
  });
  return unit;
}

Annotation read_logical_decimal(CompactReader& reader, CompactType type) {
  Annotation annotation = with_meaning(Meaning::decimal);
  reader.read_struct(type, [&](int field, CompactType field_type) {
    if (field == 1) {
      annotation.scale = reader.read_integer<int32_t>(field_type);
    } else {
      reader.skip(field_type);
    }
  });
  return annotation;
}

Annotation read_logical_time(CompactReader& reader, CompactType type, Meaning meaning) {
  Annotation annotation = with_meaning(meaning);
  reader.read_struct(type, [&](int field, CompactType field_type) {
    if (field == 1) {
      annotation.is_utc = reader.read_boolean(field_type);
    } else if (field == 2) {
      annotation.unit = read_time_unit(reader, field_type);
    } else {
      reader.skip(field_type);
    }
  });
  return annotation;
}

Annotation read_logical_integer(CompactReader& reader, CompactType type) {
  Annotation annotation = integer(0, true);
  reader.read_struct(type, [&](int field, CompactType field_type) {
    if (field == 1) {
      annotation.bit_width = reader.read_integer<int8_t>(field_type);
    } else if (field == 2) {
      annotation.is_signed = reader.read_boolean(field_type);
    } else {
      reader.skip(field_type);
    }
  });
  return annotation;
}

/// One member of the union LogicalType; `field` says which.
Annotation read_logical_member(CompactReader& reader, int field, CompactType type) {
  if (field == 5) return read_logical_decimal(reader, type);
  if (field == 7) return read_logical_time(reader, type, Meaning::time);
  if (field == 8) return read_logical_time(reader, type, Meaning::timestamp);
  if (field == 10) return read_logical_integer(reader, type);
  reader.skip(type);
  switch (field) {
    case 1:   // STRING
    case 4:   // ENUM
    case 12:  // JSON
      return with_meaning(Meaning::text);
    case 2:
      return with_meaning(Meaning::map);
    case 3:
      return with_meaning(Meaning::list);
    case 6:
      return with_meaning(Meaning::date);
    case 11:
      return with_meaning(Meaning::null);
    case 14:
      return with_meaning(Meaning::uuid);
    case 15:
      return with_meaning(Meaning::float16);
    case 13:
      return unsupported("BSON");
    case 16:
      return unsupported("VARIANT");
    case 17:
      return unsupported("GEOMETRY");
    case 18:
      return unsupported("GEOGRAPHY");
    default:
      return unsupported("an unknown logical type");
  }
}

}  // namespace

Annotation annotation_of_converted(int32_t converted) {
  switch (converted) {
    case 0:   // UTF8
    case 4:   // ENUM
    case 19:  // JSON
      return with_meaning(Meaning::text);
    case 1:  // MAP
    case 2:  // MAP_KEY_VALUE
      return with_meaning(Meaning::map);
    case 3:
      return with_meaning(Meaning::list);
    case 5:
      return with_meaning(Meaning::decimal);
    case 6:
      return with_meaning(Meaning::date);
    case 7:
      return in_unit(Meaning::time, TimeUnit::millis);
    case 8:
      return in_unit(Meaning::time, TimeUnit::micros);
    case 9:
      return in_unit(Meaning::timestamp, TimeUnit::millis);
    case 10:
      return in_unit(Meaning::timestamp, TimeUnit::micros);
    case 11:
    case 12:
    case 13:
    case 14:  // UINT_8 to UINT_64
      return integer(8 << (converted - 11), false);
    case 15:
    case 16:
    case 17:
    case 18:  // INT_8 to INT_64
      return integer(8 << (converted - 15), true);
    case 20:
      return unsupported("BSON");
    case 21:
      return unsupported("INTERVAL");
    default:
      return unsupported("an unknown converted type");
  }
}

Annotation read_logical_type(CompactReader& reader, CompactType type) {
  Annotation annotation;
  reader.read_struct(
      type, [&](int field, CompactType field_type) { annotation = read_logical_member(reader, field, field_type); });
  return annotation;
}

}  // namespace owlet::parquet
