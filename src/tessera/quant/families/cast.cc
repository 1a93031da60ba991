// CastUniformProto: values in another element type.
#include "tessera/quant/families/family.h"

namespace tessera::quant {
namespace {

void Validate(const Profile& profile, const Place& place, Validator* validator) {
  const auto& cast = std::get<CastProfile>(profile.kind);
  if (!IsFixedWidth(cast.storage_type)) {
    validator->Add(ErrorCode::kProfileValue, place.path.Field("storage_type"),
                   std::string(Name(cast.storage_type)) + " has no fixed width", "an element type with a width");
  }
}

Result<Body> Translate(Translator*, Level* level) {
  const auto& cast = std::get<CastProfile>(level->profile->kind);
  if (level->spelling->code_type && *level->spelling->code_type != cast.storage_type) {
    return Fail(ErrorCode::kProfileValue, level->name, "values are declared in their storage type",
                std::string(Name(cast.storage_type)));
  }
  Body body;
  body.codes.push_back(PartField(NameOr(level->spelling->codes, "values"), ArrayOf(cast.storage_type, level->dims)));
  return body;
}

bool Recognizes(const Recoverer&, const Reader& reader) {
  if (!reader.is_structure()) return true;
  const Field* codes = reader.Codes();
  return codes != nullptr && ElementOf(std::get<PhysicalType>(codes->content)) != ElementType::kUndefined;
}

Result<ReadBack> Recover(Recoverer*, const Reader& reader, const ReadLevel&, const std::string&) {
  ReadBack back;
  const PhysicalType* type = &reader.type().root;
  if (reader.is_structure()) {
    const Field* codes = reader.Codes();
    type = &std::get<PhysicalType>(codes->content);
    back.spelling.codes = UnlessRule(codes->name, "values");
  }
  CastProfile cast;
  cast.storage_type = ElementOf(*type);
  if (cast.storage_type == ElementType::kUndefined) return reader.NotAProfile("", "is no array of scalars");
  back.profile.kind = cast;
  return back;
}

}  // namespace

const Family kCastFamily = {Validate, Translate, Recognizes, Recover};

}  // namespace tessera::quant
