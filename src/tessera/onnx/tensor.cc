#include "tessera/onnx/tensor.h"

#include <fmt/format.h>

#include <cstring>
#include <string>

#include "tessera/base/checked.h"

namespace tessera {
namespace {

// The member of TensorProto that holds data which is not raw.
enum class Member : uint8_t { kFloat, kDouble, kInt32, kInt64, kUint64, kString };

Member MemberOf(ElementType type) {
  switch (type) {
    case ElementType::kFloat:
    case ElementType::kComplex64:
      return Member::kFloat;
    case ElementType::kDouble:
    case ElementType::kComplex128:
      return Member::kDouble;
    case ElementType::kInt64:
      return Member::kInt64;
    case ElementType::kUint32:
    case ElementType::kUint64:
      return Member::kUint64;
    case ElementType::kString:
      return Member::kString;
    default:
      return Member::kInt32;
  }
}

constexpr const char* kMemberNames[] = {"float_data", "double_data", "int32_data",
                                        "int64_data", "uint64_data", "string_data"};

uint64_t EntriesIn(const ir::TensorProto& tensor, Member member) {
  switch (member) {
    case Member::kFloat:
      return tensor.float_data_size();
    case Member::kDouble:
      return tensor.double_data_size();
    case Member::kInt32:
      return tensor.int32_data_size();
    case Member::kInt64:
      return tensor.int64_data_size();
    case Member::kUint64:
      return tensor.uint64_data_size();
    case Member::kString:
      return tensor.string_data_size();
  }
  return 0;
}

// Entries of the typed member for `count` elements. Elements of 2 and 4 bits share an entry of one byte; FLOAT6 has
// one entry each, complex numbers two.
uint64_t EntriesFor(const TensorFacts& facts) {
  uint32_t bits = BitWidth(facts.type);
  if (bits == 2 || bits == 4) return facts.bytes;
  return Info(facts.type).kind == ElementKind::kComplex ? facts.count * 2 : facts.count;
}

template <typename T>
void Append(T value, std::vector<uint8_t>* bytes) {
  size_t at = bytes->size();
  bytes->resize(at + sizeof value);
  std::memcpy(bytes->data() + at, &value, sizeof value);
}

template <typename T>
T Load(std::span<const uint8_t> bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

// int32_data to bytes: one entry an element, or one byte of packed elements. An entry holds the code as an unsigned or
// a sign-extended number.
Result<std::vector<uint8_t>> FromInt32(const ir::TensorProto& tensor, const TensorFacts& facts,
                                       std::string_view where) {
  const uint32_t bits = BitWidth(facts.type);
  const uint32_t entry_bits = bits < 8 && bits != 6 ? 8 : bits;
  std::vector<uint8_t> bytes;
  bytes.reserve(facts.bytes);
  uint32_t pending = 0;
  uint32_t pending_bits = 0;
  for (int i = 0; i < tensor.int32_data_size(); ++i) {
    int64_t entry = tensor.int32_data(i);
    if (entry < -(int64_t{1} << (entry_bits - 1)) || entry >= (int64_t{1} << entry_bits)) {
      return Fail(ErrorCode::kTensorField, std::string(where), fmt::format("int32_data[{}] is {}", i, entry),
                  fmt::format("a number of {} bits", entry_bits));
    }
    if (entry_bits == 6) {
      pending |= (static_cast<uint32_t>(entry) & 63u) << pending_bits;
      for (pending_bits += 6; pending_bits >= 8; pending_bits -= 8, pending >>= 8)
        Append(static_cast<uint8_t>(pending), &bytes);
    } else {
      for (uint32_t b = 0; b < entry_bits; b += 8) Append(static_cast<uint8_t>(entry >> b), &bytes);
    }
  }
  if (pending_bits > 0) Append(static_cast<uint8_t>(pending), &bytes);
  return bytes;
}

}  // namespace

Result<TensorFacts> FactsOf(const ir::TensorProto& tensor, std::string_view where) {
  std::optional<ElementType> type = ElementTypeFromNumber(tensor.data_type());
  if (!type || *type == ElementType::kUndefined) {
    return Fail(ErrorCode::kTensorType, std::string(where), fmt::format("data_type is {}", tensor.data_type()),
                "the number of an element type, 1 to 28");
  }
  for (int i = 0; i < tensor.dims_size(); ++i) {
    if (tensor.dims(i) < 0) {
      return Fail(ErrorCode::kTensorDims, std::string(where), fmt::format("dims[{}] is {}", i, tensor.dims(i)),
                  "0 or more");
    }
  }
  std::optional<uint64_t> count = CheckedProduct(tensor.dims());
  std::optional<uint64_t> bits = count ? CheckedMul(*count, std::max<uint64_t>(BitWidth(*type), 1)) : std::nullopt;
  if (!bits) {
    return Fail(ErrorCode::kTensorDims, std::string(where),
                fmt::format("dims {} have too many elements", fmt::join(tensor.dims(), " x ")),
                "a size in bits below 2^64");
  }
  uint64_t bytes = *type == ElementType::kString ? 0 : CeilDiv(*bits, 8);
  return TensorFacts{*type, *count, bytes};
}

Result<void> CheckTensorData(const ir::TensorProto& tensor, uint64_t raw_bytes, std::string_view where) {
  TESSERA_ASSIGN(TensorFacts facts, FactsOf(tensor, where));
  const Member own = MemberOf(facts.type);
  bool has_typed = false;
  for (Member member :
       {Member::kFloat, Member::kDouble, Member::kInt32, Member::kInt64, Member::kUint64, Member::kString}) {
    if (EntriesIn(tensor, member) == 0) continue;
    if (member != own) {
      return Fail(
          ErrorCode::kTensorField, std::string(where),
          fmt::format("a tensor of {} has data in {}", Name(facts.type), kMemberNames[static_cast<int>(member)]),
          fmt::format("{} or raw_data", kMemberNames[static_cast<int>(own)]));
    }
    has_typed = true;
  }
  if (has_typed && tensor.has_raw_data()) {
    return Fail(ErrorCode::kTensorField, std::string(where),
                fmt::format("has data in raw_data and in {}", kMemberNames[static_cast<int>(own)]), "one of the two");
  }
  if (has_typed || own == Member::kString) {
    uint64_t expected = EntriesFor(facts);
    if (EntriesIn(tensor, own) != expected) {
      return Fail(ErrorCode::kTensorSize, std::string(where),
                  fmt::format("{} has {} entries", kMemberNames[static_cast<int>(own)], EntriesIn(tensor, own)),
                  fmt::format("{} for {} elements of {}", expected, facts.count, Name(facts.type)));
    }
    if (own == Member::kString && tensor.has_raw_data()) {
      return Fail(ErrorCode::kTensorField, std::string(where), "a tensor of STRING has raw_data", "string_data");
    }
    return {};
  }
  if (raw_bytes != facts.bytes) {
    return Fail(ErrorCode::kTensorSize, std::string(where), fmt::format("raw_data has {} bytes", raw_bytes),
                fmt::format("{} for {} elements of {}", facts.bytes, facts.count, Name(facts.type)));
  }
  return {};
}

Result<std::vector<uint8_t>> CanonicalBytes(const ir::TensorProto& tensor, std::span<const uint8_t> raw,
                                            std::string_view where) {
  TESSERA_TRY(CheckTensorData(tensor, raw.size(), where));
  TESSERA_ASSIGN(TensorFacts facts, FactsOf(tensor, where));
  if (facts.type == ElementType::kString) {
    return Fail(ErrorCode::kTensorType, std::string(where), "STRING has no fixed width", "another element type");
  }
  const Member member = MemberOf(facts.type);
  if (EntriesIn(tensor, member) == 0) return std::vector<uint8_t>(raw.begin(), raw.end());
  std::vector<uint8_t> bytes;
  bytes.reserve(facts.bytes);
  switch (member) {
    case Member::kFloat:
      for (float v : tensor.float_data()) Append(v, &bytes);
      break;
    case Member::kDouble:
      for (double v : tensor.double_data()) Append(v, &bytes);
      break;
    case Member::kInt64:
      for (int64_t v : tensor.int64_data()) Append(v, &bytes);
      break;
    case Member::kUint64:
      for (uint64_t v : tensor.uint64_data()) {
        if (facts.type == ElementType::kUint64) {
          Append(v, &bytes);
        } else if (v <= UINT32_MAX) {
          Append(static_cast<uint32_t>(v), &bytes);
        } else {
          return Fail(ErrorCode::kTensorField, std::string(where), fmt::format("uint64_data holds {}", v),
                      "a number of 32 bits");
        }
      }
      break;
    case Member::kInt32:
      return FromInt32(tensor, facts, where);
    case Member::kString:
      break;
  }
  return bytes;
}

void SetTypedData(std::span<const uint8_t> bytes, ElementType type, uint64_t count, ir::TensorProto* tensor) {
  const TensorFacts facts{type, count, bytes.size()};
  const uint64_t entries = EntriesFor(facts);
  const uint32_t bits = BitWidth(type);
  const bool is_signed = Info(type).kind == ElementKind::kSigned;
  for (uint64_t i = 0; i < entries; ++i) {
    switch (MemberOf(type)) {
      case Member::kFloat:
        tensor->add_float_data(Load<float>(bytes, i));
        break;
      case Member::kDouble:
        tensor->add_double_data(Load<double>(bytes, i));
        break;
      case Member::kInt64:
        tensor->add_int64_data(Load<int64_t>(bytes, i));
        break;
      case Member::kUint64:
        tensor->add_uint64_data(bits == 32 ? Load<uint32_t>(bytes, i) : Load<uint64_t>(bytes, i));
        break;
      case Member::kInt32:
        if (bits == 32)
          tensor->add_int32_data(Load<int32_t>(bytes, i));
        else if (bits == 16)
          tensor->add_int32_data(is_signed ? Load<int16_t>(bytes, i) : Load<uint16_t>(bytes, i));
        else if (bits == 8)
          tensor->add_int32_data(is_signed ? Load<int8_t>(bytes, i) : Load<uint8_t>(bytes, i));
        else if (bits != 6)
          tensor->add_int32_data(bytes[i]);
        else {
          uint64_t bit = i * 6;
          uint32_t pair = bytes[bit / 8] | (bit / 8 + 1 < bytes.size() ? bytes[bit / 8 + 1] << 8 : 0);
          tensor->add_int32_data(pair >> bit % 8 & 63);
        }
        break;
      case Member::kString:
        return;
    }
  }
}

}  // namespace tessera
