// FunctionUniformProto: codes that custom operators convert.
#include <fmt/format.h>

#include <algorithm>

#include "tessera/base/checked.h"
#include "tessera/quant/families/family.h"

namespace tessera::quant {
namespace {

void Validate(const Profile& profile, const Place& place, Validator* validator) {
  const auto& function = std::get<FunctionProfile>(profile.kind);
  validator->Storage(place.path, function.storage_type, function.bits);
  if (function.dequantize_op.empty()) {
    validator->Add(ErrorCode::kProfileValue, place.path.Field("dequantize_op"), "is missing", "\"domain::Operator\"");
  }
  if (function.block_layout) {
    ValidateBlockLayout(*function.block_layout, BlockStorageOrder::kInterleaved, place.path.Field("block_layout"),
                        validator);
  }
  for (size_t i = 0; i < profile.metadata.size(); ++i) {
    const std::string& key = profile.metadata[i].key;
    if (key == kQuantizeOpKey || key == kDequantizeOpKey) {
      validator->Add(ErrorCode::kProfileMetadata, place.path.Index("metadata_props", i),
                     Quoted(key) + " is where the operator's name goes", "another key");
    }
  }
}

Result<Body> Translate(Translator* translator, Level* level) {
  const auto& function = std::get<FunctionProfile>(level->profile->kind);
  Body body;
  if (function.block_layout) {
    TESSERA_TRY(RefuseCodeType(*level));
    const auto block_size = static_cast<uint64_t>(function.block_layout->block_size);
    if (level->values % block_size != 0) {
      return ShapeError(*level, fmt::format("{} values are not a multiple of block_size {}", level->values, block_size),
                        fmt::format("a multiple of {}", block_size));
    }
    TESSERA_ASSIGN(int32_t block, BlockDeclaration(translator, level, *function.block_layout));
    body.codes.push_back(PartField(NameOr(level->spelling->codes, "blocks"),
                                   ArrayOf({TypeReference{block}}, {level->values / block_size})));
  } else {
    TESSERA_ASSIGN(PhysicalType codes, CodesType(*level, function.storage_type, static_cast<uint32_t>(function.bits)));
    body.codes.push_back(PartField(NameOr(level->spelling->codes, "payload"), std::move(codes)));
  }
  body.constants = {IntConstant("storage_type", static_cast<int64_t>(function.storage_type)),
                    IntConstant("bits", function.bits)};
  if (!function.quantize_op.empty()) body.metadata.push_back({std::string(kQuantizeOpKey), function.quantize_op});
  body.metadata.push_back({std::string(kDequantizeOpKey), function.dequantize_op});
  return body;
}

bool Recognizes(const Recoverer&, const Reader& reader) {
  return reader.Has("storage_type") && reader.FindMetadata(kDequantizeOpKey) != nullptr;
}

Result<ReadBack> Recover(Recoverer* recoverer, const Reader& reader, const ReadLevel&, const std::string& name) {
  ReadBack back;
  FunctionProfile function;
  TESSERA_ASSIGN(function.storage_type, reader.Type("storage_type"));
  TESSERA_ASSIGN(function.bits, reader.Int("bits"));
  if (const std::string* op = reader.FindMetadata(kQuantizeOpKey)) function.quantize_op = *op;
  if (const std::string* op = reader.FindMetadata(kDequantizeOpKey)) function.dequantize_op = *op;
  const Field* codes = reader.Codes();
  if (codes == nullptr) return reader.NotAProfile("", "has no payload");
  const auto& type = std::get<PhysicalType>(codes->content);
  if (const int32_t block = Recoverer::Target(type); block >= 0) {
    const Reader inner = recoverer->Read(block);
    TESSERA_ASSIGN(function.block_layout, ReadBlock(*recoverer, inner, /*regions=*/false));
    back.spelling.codes = UnlessRule(codes->name, "blocks");
    back.spelling.parts.push_back({.name = UnlessRule(inner.type().Name(), name + "_BLOCK")});
  } else {
    back.spelling.codes = UnlessRule(codes->name, "payload");
    const bool native = static_cast<int64_t>(BitWidth(function.storage_type)) == function.bits;
    back.spelling.code_type = CodeTypeUnlessRule(type, native ? function.storage_type : ElementType::kUint8);
  }
  back.profile.kind = std::move(function);
  return back;
}

}  // namespace

const Family kFunctionFamily = {Validate, Translate, Recognizes, Recover};

}  // namespace tessera::quant
