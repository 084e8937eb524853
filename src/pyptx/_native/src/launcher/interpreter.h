// The part of Python's stable ABI that the fast path needs, declared here and found in the running interpreter: so the
// library is built without Python's headers, and one build serves every version.
#ifndef PYPTX_LAUNCHER_INTERPRETER_H_
#define PYPTX_LAUNCHER_INTERPRETER_H_

#include <cstddef>
#include <cstdint>
#include <utility>

struct _object;

namespace pyptx::python {

using Object = _object;
using Size = std::ptrdiff_t;

// PyMethodDef.
struct MethodDef {
  const char* name;
  void* function;
  int flags;
  const char* doc;
};
constexpr int kFastCall = 0x80;  // METH_FASTCALL: function(self, arguments, their number)
constexpr int kEqual = 2;        // Py_EQ

struct Interpreter {
  void (*IncRef)(Object*);
  void (*DecRef)(Object*);
  Object* (*Type)(Object*);
  Object* (*CallNoArgs)(Object*);
  Object* (*CallObject)(Object*, Object*);
  Object* (*GetAttr)(Object*, Object*);
  int (*RichCompareBool)(Object*, Object*, int);
  Object* (*DictGetItem)(Object*, Object*);
  Size (*TupleSize)(Object*);
  Object* (*TupleGetItem)(Object*, Size);
  Object* (*TupleNew)(Size);
  int (*TupleSetItem)(Object*, Size, Object*);
  long long (*LongAsLongLong)(Object*);
  Object* (*LongFromLong)(long);
  void* (*CapsuleGetPointer)(Object*, const char*);
  Object* (*CapsuleNew)(void*, const char*, void (*)(Object*));
  Object* (*FunctionNew)(MethodDef*, Object*, Object*);
  Object* (*ErrOccurred)();
  void (*ErrClear)();
  void* (*SaveThread)();
  void (*RestoreThread)(void*);
  bool found = false;  // all of them
};

// Those of this process.
const Interpreter& Python();

// A reference to an object, given back at the end.
class Ref {
 public:
  Ref() = default;
  explicit Ref(Object* owned) : object_(owned) {}
  Ref(const Ref&) = delete;
  Ref& operator=(const Ref&) = delete;
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ != nullptr) Python().DecRef(object_);
  }
  static Ref To(Object* borrowed) {
    Python().IncRef(borrowed);
    return Ref(borrowed);
  }

  Object* get() const { return object_; }
  Object* release() { return std::exchange(object_, nullptr); }

 private:
  Object* object_ = nullptr;
};

}  // namespace pyptx::python

#endif  // PYPTX_LAUNCHER_INTERPRETER_H_
