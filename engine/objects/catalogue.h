// The catalogue: which data objects exist, and which slots are free. Thread-safe. A name is
// reserved while its object is being created or dropped, so that an incomplete object cannot be
// found.
#ifndef ERIS_ENGINE_OBJECTS_CATALOGUE_H_
#define ERIS_ENGINE_OBJECTS_CATALOGUE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "base/mutex.h"
#include "engine/objects/object_entry.h"

namespace eris::engine {

// A place for a new object: the caller owns slot and id until Publish or Release.
struct Reservation {
  std::string name;
  uint32_t slot = 0;
  ObjectId id;
};

class Catalogue {
 public:
  // Errors: InvalidArgument (name empty, longer than kObjectNameBytesMax, not UTF-8 or with control
  // characters), AlreadyExists, ResourceExhausted (kObjectsMax).
  absl::StatusOr<Reservation> Reserve(absl::string_view name);
  void Publish(const Reservation& reservation, ObjectRef object);
  // The creation has failed, or the object's drop has ended: name and slot are free again.
  void Release(const Reservation& reservation);

  // Errors: NotFound.
  absl::StatusOr<ObjectRef> Find(absl::string_view name) const;
  // Removes the object, if `check` permits it, and keeps its name and slot reserved until Release.
  // `check` must not block. Errors: NotFound; those of `check`.
  absl::StatusOr<ObjectRef> Withdraw(absl::string_view name,
                                     absl::FunctionRef<absl::Status(ObjectEntry&)> check,
                                     Reservation& reservation);
  std::vector<ObjectRef> List() const;  // by name

 private:
  mutable base::Mutex mu_;
  // nullptr: reserved.
  std::map<std::string, ObjectRef, std::less<>> objects_ ABSL_GUARDED_BY(mu_);
  std::vector<uint32_t> free_slots_ ABSL_GUARDED_BY(mu_);
  uint32_t next_slot_ ABSL_GUARDED_BY(mu_) = 0;
  uint32_t next_id_ ABSL_GUARDED_BY(mu_) = 1;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_OBJECTS_CATALOGUE_H_
