// What the decoders of all families are made of. A family decodes one declaration: `batch` values of it at once, since
// a declaration inside arrays has all their elements in its leaves. Private to codecs/.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/error.h"
#include "tessera/codecs/decoders/code_values.h"
#include "tessera/codecs/decoders/level.h"
#include "tessera/quant/families/family.h"
#include "tessera/quant/profile.h"
#include "tessera/types/function_builder.h"
#include "tessera/types/type_table.h"

namespace tessera::decoders {

class DecoderWriter {
 public:
  // `leaves` are the leaves of `type`, each in its own type or in another that has the same numbers.
  DecoderWriter(FunctionBuilder* builder, std::span<const StructType> types, const CheckedType& type,
                std::span<const Value> leaves, bool wide);

  FunctionBuilder& builder() { return builder_; }
  ElementType compute() const { return compute_; }  // FLOAT, or DOUBLE
  quant::Reader Read(int32_t type) const { return quant::Reader(types_, type); }

  // The values of a level, [batch, values] in memory order, in the compute type. Everything but the last Cast.
  Result<Value> Decode(const Level& level);

  // ---- Leaves

  // The leaf of a field of a declaration, in a type that every operator takes (`as`, or INT8, UINT8 or FLOAT in place
  // of smaller ones): of what the payload holds [batch, count], of a constant its own shape. Errors: kNotAProfile if
  // there is none; kNoDecoder where the opset does not convert its type.
  Result<Value> Field(const Place& place, std::string_view field, ElementType as = ElementType::kUndefined);
  // A constant of the declaration in the compute type.
  Result<Value> Parameter(const Place& place, std::string_view field);
  // The place of the declaration that a field refers to.
  Result<Place> Inside(const Place& place, std::string_view field) {
    return decoders::Inside(Read(place.type), place, field);
  }

  // ---- Codes

  // Numbers of a stored type as numbers of the compute type. Errors: kNoDecoder where the opset has no such type.
  Result<Value> Number(const Value& value);
  // [batch, count] codes of `bits` each, unsigned, from bytes [batch, n] in which they are packed from the least
  // significant bit. UINT8 where no code crosses a byte, else FLOAT, or INT64 above 24 bits.
  Result<Value> Unpack(const Value& bytes, uint32_t bits, int64_t count);
  // What unsigned codes of that many bits mean as elements of `type`, in the compute type.
  Result<Value> Reinterpret(const Value& codes, ElementType type, uint32_t bits);
  // [batch, count] codes of a field declared as CodesType() has it: in `type` itself, or packed bytes.
  Result<Value> Codes(const Place& place, std::string_view field, ElementType type, uint32_t bits, int64_t count);
  // ---- Parameters

  // A scale or zero point for values [batch, values]: it broadcasts against MemoryDims() behind the batch.
  Result<Value> StoredParameter(const Level& level, const Stored& stored, std::string_view name);
  // values * scale; `values` [batch, values].
  Result<Value> ApplyScale(const Level& level, const Value& values, const Scale& scale);
  Result<Value> ApplyZeroPoint(const Level& level, const Value& values, const LinearProfile& linear);

  tl::unexpected<Error> NoDecoder(std::string what, std::string fix) const;

 private:
  struct LeafValue {
    const Leaf* leaf = nullptr;
    Value value;
  };
  Result<Value> Rotate(const Level& level, const Value& values, const Rotation& rotation, bool pre);

  FunctionBuilder& builder_;
  std::span<const StructType> types_;
  std::map<std::string, LeafValue, std::less<>> leaves_;
  ElementType compute_;
};

// One row a family: the values of a level without its rotations.
using FamilyDecoder = Result<Value> (*)(DecoderWriter* writer, const Level& level);
Result<Value> DecodeLinear(DecoderWriter* writer, const Level& level);
Result<Value> DecodeCodebook(DecoderWriter* writer, const Level& level);
Result<Value> DecodeFloatingPoint(DecoderWriter* writer, const Level& level);
Result<Value> DecodeSparse(DecoderWriter* writer, const Level& level);
Result<Value> DecodeLog(DecoderWriter* writer, const Level& level);
Result<Value> DecodeFunction(DecoderWriter* writer, const Level& level);
Result<Value> DecodeTiling(DecoderWriter* writer, const Level& level);
Result<Value> DecodeCast(DecoderWriter* writer, const Level& level);
Result<Value> DecodeStructuredBlock(DecoderWriter* writer, const Level& level);

// Without the scale, which a merged tiling has for each tile.
Result<Value> LinearCodes(DecoderWriter* writer, const Level& level);
Result<Value> CodebookSum(DecoderWriter* writer, const Level& level);

// The field with the codes, tiles or blocks. Errors: kNotAProfile.
inline Result<std::string> CodesField(const DecoderWriter& writer, const Place& place) {
  return CodesField(writer.Read(place.type));
}

}  // namespace tessera::decoders
