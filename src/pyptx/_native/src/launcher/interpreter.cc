#include "interpreter.h"

#include <dlfcn.h>

#include <type_traits>

namespace pyptx::python {
namespace {

Interpreter Find() {
  Interpreter python{};
  python.found = true;
  auto bind = [&](auto* function, const char* name) {
    void* symbol = dlsym(RTLD_DEFAULT, name);
    if (symbol == nullptr) python.found = false;
    *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(symbol);
  };
  bind(&python.IncRef, "Py_IncRef");
  bind(&python.DecRef, "Py_DecRef");
  bind(&python.Type, "PyObject_Type");
  bind(&python.CallNoArgs, "PyObject_CallNoArgs");
  bind(&python.CallObject, "PyObject_CallObject");
  bind(&python.GetAttr, "PyObject_GetAttr");
  bind(&python.RichCompareBool, "PyObject_RichCompareBool");
  bind(&python.DictGetItem, "PyDict_GetItemWithError");
  bind(&python.TupleSize, "PyTuple_Size");
  bind(&python.TupleGetItem, "PyTuple_GetItem");
  bind(&python.TupleNew, "PyTuple_New");
  bind(&python.TupleSetItem, "PyTuple_SetItem");
  bind(&python.LongAsLongLong, "PyLong_AsLongLong");
  bind(&python.LongFromLong, "PyLong_FromLong");
  bind(&python.CapsuleGetPointer, "PyCapsule_GetPointer");
  bind(&python.CapsuleNew, "PyCapsule_New");
  bind(&python.FunctionNew, "PyCFunction_NewEx");
  bind(&python.ErrOccurred, "PyErr_Occurred");
  bind(&python.ErrClear, "PyErr_Clear");
  bind(&python.SaveThread, "PyEval_SaveThread");
  bind(&python.RestoreThread, "PyEval_RestoreThread");
  return python;
}

}  // namespace

const Interpreter& Python() {
  static const Interpreter python = Find();
  return python;
}

}  // namespace pyptx::python
