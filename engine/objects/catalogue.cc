#include "engine/objects/catalogue.h"

#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/utf8.h"
#include "eris/errors.h"

namespace eris::engine {
namespace {

// Names are sent as protobuf strings, which must be UTF-8.
bool IsPrintableUtf8(absl::string_view text) {
  if (!base::IsUtf8({text.data(), text.size()})) return false;
  unsigned char before = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f || (before == 0xc2 && byte < 0xa0)) return false;
    before = byte;
  }
  return true;
}

absl::Status CheckName(absl::string_view name) {
  if (name.empty()) {
    return Error(ErrorReason::kObjectNameInvalid, "an object's name must not be empty");
  }
  if (name.size() > kObjectNameBytesMax) {
    return Error(ErrorReason::kObjectNameInvalid,
                 absl::StrCat("an object's name has at most ", kObjectNameBytesMax,
                              " bytes, this one has ", name.size()));
  }
  if (!IsPrintableUtf8(name)) {
    return Error(ErrorReason::kObjectNameInvalid,
                 "an object's name must be UTF-8 without control characters");
  }
  return absl::OkStatus();
}

absl::Status NoSuchObject(absl::string_view name) {
  return Error(ErrorReason::kObjectUnknown,
               absl::StrCat("no object \"", name.substr(0, kObjectNameBytesMax), "\""),
               {.field = "object", .value = std::string(name.substr(0, kObjectNameBytesMax))});
}

std::string_view View(absl::string_view text) { return {text.data(), text.size()}; }

}  // namespace

absl::StatusOr<Reservation> Catalogue::Reserve(absl::string_view name) {
  if (absl::Status status = CheckName(name); !status.ok()) return status;
  base::MutexLock lock(&mu_);
  if (objects_.find(View(name)) != objects_.end()) {
    return Error(ErrorReason::kObjectExists, absl::StrCat("object \"", name, "\" exists"),
                 {.field = "object", .value = std::string(name)});
  }
  if (free_slots_.empty() && next_slot_ == kObjectsMax) {
    return Error(ErrorReason::kTooManyObjects,
                 absl::StrCat("there are ", kObjectsMax, " objects, the limit"),
                 {.limit = absl::StrCat(kObjectsMax)});
  }
  Reservation reservation{.name = std::string(name), .slot = 0, .id = {next_id_}};
  // Allocate everything first, also for Release.
  const size_t slots = size_t{next_slot_} + 1;
  if (free_slots_.capacity() < slots) free_slots_.reserve(2 * slots);
  objects_.emplace(reservation.name, nullptr);
  if (free_slots_.empty()) {
    reservation.slot = next_slot_++;
  } else {
    reservation.slot = free_slots_.back();
    free_slots_.pop_back();
  }
  ++next_id_;
  return reservation;
}

void Catalogue::Publish(const Reservation& reservation, ObjectRef object) {
  base::MutexLock lock(&mu_);
  object->catalogue = this;
  objects_[reservation.name] = std::move(object);
}

void Catalogue::Release(const Reservation& reservation) {
  base::MutexLock lock(&mu_);
  objects_.erase(reservation.name);
  free_slots_.push_back(reservation.slot);
}

absl::StatusOr<ObjectRef> Catalogue::Find(absl::string_view name) const {
  base::MutexLock lock(&mu_);
  const auto found = objects_.find(View(name));
  if (found == objects_.end() || found->second == nullptr) return NoSuchObject(name);
  return found->second;
}

absl::StatusOr<ObjectRef> Catalogue::Withdraw(absl::string_view name,
                                              absl::FunctionRef<absl::Status(ObjectEntry&)> check,
                                              Reservation& reservation) {
  base::MutexLock lock(&mu_);
  const auto found = objects_.find(View(name));
  if (found == objects_.end() || found->second == nullptr) return NoSuchObject(name);
  ObjectEntry& object = *found->second;
  // Before the check, which may change the object: nothing throws after it.
  reservation = {object.name, object.route.slot(), object.route.object()};
  if (absl::Status status = check(object); !status.ok()) return status;
  return std::exchange(found->second, nullptr);
}

std::vector<ObjectRef> Catalogue::List() const {
  base::MutexLock lock(&mu_);
  std::vector<ObjectRef> list;
  for (const auto& [name, object] : objects_) {
    if (object != nullptr) list.push_back(object);
  }
  return list;
}

}  // namespace eris::engine
