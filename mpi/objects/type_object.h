#pragma once
// DatatypeObject: the handle object around a dt::Datatype.
//
// Role:      holds what belongs to a handle, not to the shared, immutable type: name, attributes.
// Users:     bodies of mpi/.
// Threads:   belongs to its rank.
// See also:  runtime/datatype/datatype.h.

#include <map>
#include <memory>
#include <string>

#include "base/mpi_handle_names.h"
#include "mpi.h"
#include "mpi/objects/attributes.h"
#include "mpi/objects/error.h"
#include "mpi/objects/object.h"
#include "runtime/datatype/datatype.h"

namespace mpc::mpi {

struct DatarepTable;

class DatatypeObject final : public Object {
 public:
  DatatypeObject(int owner, dt::TypeRef type, MPI_Datatype predefined = nullptr)
      : Object(Kind::kDatatype, owner),
        type_(std::move(type)),
        predefined_(predefined) {}
  const dt::Datatype& type() const noexcept { return *type_; }
  const dt::TypeRef& ref() const noexcept { return type_; }
  // True for the ABI's constants and the types that MPI_Type_create_f90_* returns: never to be
  // freed.
  bool is_predefined() const noexcept { return type_->is_predefined(); }
  MPI_Datatype handle() noexcept {
    return predefined_ != nullptr ? predefined_ : reinterpret_cast<MPI_Datatype>(this);
  }

  AttributeSet attributes;
  std::string name;
  bool has_name = false;
  bool is_given_up = false;  // by MPI_Type_free; operations in flight still use it

 private:
  dt::TypeRef type_;
  MPI_Datatype predefined_;
};

// Per rank: objects of the predefined types, created when a name or an attribute is asked for, and
// of the types of MPI_Type_create_f90_*, whose handles are the same for the same arguments.
struct TypeTable {
  std::shared_ptr<DatarepTable> datareps;  // of MPI_Register_datarep; mpi/io/datarep.h
  std::map<const dt::Datatype*, std::unique_ptr<DatatypeObject>> objects;
};
// Null if `handle` is no predefined type.
DatatypeObject* predefined_type_object(MPI_Datatype handle);
void drop_type_object(DatatypeObject* object) noexcept;
// "MPI_INT"; "" if there is none.
inline const char* predefined_type_name(uint32_t code) noexcept {
  const char* name = abi::handle_name(code);
  return name != nullptr ? name : "";
}

// A handle of the calling rank; the ABI's constant if the type is predefined.
MPI_Datatype create_type_handle(dt::TypeRef type);

}  // namespace mpc::mpi
