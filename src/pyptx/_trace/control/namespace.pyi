# Written by `python -m pyptx._isa.stub` from the ISA table.

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeAlias, TypeVar, overload

import numpy as np

from pyptx._isa.given import RawPair, TensorPosition
from pyptx._operands import (
    Address,
    FabricHandle,
    FunctionName,
    Label,
    Minus,
    Pair,
    Parameter,
    Part,
    Sink,
    Symbol,
    Targets,
    TensorAddress,
    Variable,
)
from pyptx._trace.core.context import Trace
from pyptx._trace.core.register_array import RegArray
from pyptx._trace.core.values import Not, Reg, Special

class _Memory(Protocol):
    """Something in memory that is its address as an operand, such as a shared tile."""

    def __ptx_operand__(self, trace: Trace) -> Symbol | Address: ...

class _Named(Protocol):
    """Something whose address a `mov` takes: memory or a function."""

    def __ptx_operand__(self, trace: Trace) -> Symbol | Address | FunctionName: ...

_Whole: TypeAlias = int | np.integer[Any]
_Number: TypeAlias = float | np.generic
_Source: TypeAlias = Reg | Not
_Integer: TypeAlias = _Source | _Whole
_Float: TypeAlias = _Source | _Number
_Symbol: TypeAlias = Symbol | Variable | Parameter | FunctionName | _Named
_Address: TypeAlias = Address | Reg | Symbol | Variable | Parameter | _Memory
_Position: TypeAlias = TensorPosition | TensorAddress
_Targets: TypeAlias = Targets | Sequence[Label] | Sequence[str]
_Registers: TypeAlias = Sequence[Reg] | RegArray
_Sources: TypeAlias = Sequence[_Source] | RegArray
_Integers: TypeAlias = Sequence[_Integer] | RegArray
_Floats: TypeAlias = Sequence[_Float] | RegArray
_Mixed: TypeAlias = Sequence[Reg | Sink] | RegArray
_Guard: TypeAlias = Reg | Not | None

_Vector = TypeVar("_Vector", bound=_Registers)
_Two = TypeVar("_Two", bound=Reg | Pair)
_Selected = TypeVar("_Selected", bound=Reg | Part)

class Spelling:
    """An opcode and modifiers so far. Call it with the operands, destination first or left out."""

class _abs(Spelling):
    bf16: _abs_1
    bf16x2: _abs_1
    f16: _abs_1
    f16x2: _abs_1
    f32: _abs_2
    f64: _abs_2
    ftz: _abs_3
    s16: _abs_4
    s32: _abs_4
    s64: _abs_4

class _abs_1(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _abs_2(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _abs_3(Spelling):
    f16: _abs_1
    f16x2: _abs_1
    f32: _abs_2

class _abs_4(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _activemask(Spelling):
    b32: _activemask_1

class _activemask_1(Spelling):
    @overload
    def __call__(self, d: Reg, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, *, pred: _Guard = None) -> Reg: ...

class _add(Spelling):
    bf16: _add_1
    bf16x2: _add_1
    cc: _add_2
    e4m3x4: _add_3
    e5m2x4: _add_3
    f16: _add_1
    f16x2: _add_1
    f32: _add_4
    f32x2: _add_5
    f64: _add_6
    ftz: _add_7
    rm: _add_8
    rn: _add_9
    rp: _add_8
    rz: _add_10
    s16: _add_11
    s16x2: _add_1
    s32: _add_11
    s64: _add_11
    s8x4: _add_1
    sat: _add_12
    satfinite: _add_13
    u16: _add_11
    u16x2: _add_1
    u32: _add_11
    u64: _add_11
    u8x4: _add_1

class _add_1(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _add_2(Spelling):
    s32: _add_11
    s64: _add_11
    u32: _add_11
    u64: _add_11

class _add_3(Spelling):
    e2m1p4x4: _add_14
    e2m1x4: _add_14
    e2m3x4: _add_14
    e3m2x4: _add_14
    e4m3x4: _add_14
    e5m2x4: _add_14
    ue8m0x4: _add_14

class _add_4(Spelling):
    bf16: _add_15
    f16: _add_15
    @overload
    def __call__(self, d: Reg, a: _Float, b: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float, b: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _add_5(Spelling):
    bf16x2: _add_16
    f16x2: _add_16
    @overload
    def __call__(self, d: Reg, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _add_6(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Float, b: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float, b: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _add_7(Spelling):
    f16: _add_1
    f16x2: _add_1
    f32: _add_6
    f32x2: _add_1
    sat: _add_17

class _add_8(Spelling):
    f32: _add_4
    f32x2: _add_5
    f64: _add_6
    ftz: _add_18
    sat: _add_19

class _add_9(Spelling):
    bf16: _add_1
    bf16x2: _add_1
    e4m3x4: _add_3
    e5m2x4: _add_3
    f16: _add_1
    f16x2: _add_1
    f32: _add_4
    f32x2: _add_5
    f64: _add_6
    ftz: _add_7
    sat: _add_20
    satfinite: _add_13

class _add_10(Spelling):
    bf16x2: _add_21
    f32: _add_4
    f32x2: _add_5
    f64: _add_6
    ftz: _add_22
    sat: _add_19

class _add_11(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _add_12(Spelling):
    f16: _add_1
    f16x2: _add_1
    f32: _add_4
    s16x2: _add_1
    s32: _add_11
    s8x4: _add_1
    u16x2: _add_1
    u32: _add_11
    u8x4: _add_1

class _add_13(Spelling):
    e4m3x4: _add_3
    e5m2x4: _add_3

class _add_14(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Source, c: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, c: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _add_15(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Source, c: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, c: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _add_16(Spelling):
    f32x2: _add_14

class _add_17(Spelling):
    f16: _add_1
    f16x2: _add_1
    f32: _add_6

class _add_18(Spelling):
    f32: _add_6
    f32x2: _add_1
    sat: _add_23

class _add_19(Spelling):
    f32: _add_4

class _add_20(Spelling):
    f16: _add_1
    f16x2: _add_1
    f32: _add_4

class _add_21(Spelling):
    f32x2: _add_16

class _add_22(Spelling):
    f16x2: _add_21
    f32: _add_6
    f32x2: _add_1
    sat: _add_23

class _add_23(Spelling):
    f32: _add_6

class _addc(Spelling):
    cc: _addc_1
    s32: _addc_2
    s64: _addc_2
    u32: _addc_2
    u64: _addc_2

class _addc_1(Spelling):
    s32: _addc_2
    s64: _addc_2
    u32: _addc_2
    u64: _addc_2

class _addc_2(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _alloca(Spelling):
    u32: _alloca_1
    u64: _alloca_1

class _alloca_1(Spelling):
    @overload
    def __call__(
        self,
        ptr: Reg,
        size: _Integer,
        immAlign: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        size: _Integer,
        immAlign: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _and(Spelling):
    b16: _and_1
    b32: _and_1
    b64: _and_1
    pred: _and_2

class _and_1(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _and_2(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _applypriority(Spelling):
    L2__evict_normal: _applypriority_1
    async_: _applypriority_2
    global_: _applypriority_3

class _applypriority_1(Spelling):
    def __call__(self, a: _Address, size: _Whole, /, *, pred: _Guard = None) -> None: ...

class _applypriority_2(Spelling):
    bulk: _applypriority_4

class _applypriority_3(Spelling):
    L2__evict_normal: _applypriority_1

class _applypriority_4(Spelling):
    bulk_group: _applypriority_5
    global_: _applypriority_6
    tensor: _applypriority_7

class _applypriority_5(Spelling):
    L2__evict_normal: _applypriority_8

class _applypriority_6(Spelling):
    bulk_group: _applypriority_5

class _applypriority_7(Spelling):
    _1d: _applypriority_9
    _2d: _applypriority_10
    _3d: _applypriority_11
    _4d: _applypriority_11
    _5d: _applypriority_11

class _applypriority_8(Spelling):
    def __call__(self, a: _Address, size: _Integer, /, *, pred: _Guard = None) -> None: ...

class _applypriority_9(Spelling):
    bulk_group: _applypriority_12
    global_: _applypriority_13

class _applypriority_10(Spelling):
    bulk_group: _applypriority_14
    global_: _applypriority_15

class _applypriority_11(Spelling):
    bulk_group: _applypriority_16
    global_: _applypriority_17

class _applypriority_12(Spelling):
    L2__evict_normal: _applypriority_18
    tile: _applypriority_19

class _applypriority_13(Spelling):
    bulk_group: _applypriority_12

class _applypriority_14(Spelling):
    L2__evict_normal: _applypriority_20
    tile: _applypriority_21
    tile__gather4: _applypriority_22

class _applypriority_15(Spelling):
    bulk_group: _applypriority_14

class _applypriority_16(Spelling):
    L2__evict_normal: _applypriority_20
    im2col: _applypriority_23
    im2col__w: _applypriority_24
    im2col__w__128: _applypriority_24
    tile: _applypriority_21

class _applypriority_17(Spelling):
    bulk_group: _applypriority_16

class _applypriority_18(Spelling):
    override__global_address: _applypriority_25
    def __call__(self, tensorMap: _Position, /, *, pred: _Guard = None) -> None: ...

class _applypriority_19(Spelling):
    L2__evict_normal: _applypriority_18

class _applypriority_20(Spelling):
    override__global_address: _applypriority_26
    def __call__(self, tensorMap: _Position, /, *, pred: _Guard = None) -> None: ...

class _applypriority_21(Spelling):
    L2__evict_normal: _applypriority_20

class _applypriority_22(Spelling):
    L2__evict_normal: _applypriority_27

class _applypriority_23(Spelling):
    L2__evict_normal: _applypriority_28

class _applypriority_24(Spelling):
    L2__evict_normal: _applypriority_29

class _applypriority_25(Spelling):
    override__global_dim: _applypriority_30
    def __call__(self, tensorMap: _Position, /, *, pred: _Guard = None) -> None: ...

class _applypriority_26(Spelling):
    override__global_dim_stride: _applypriority_30
    def __call__(self, tensorMap: _Position, /, *, pred: _Guard = None) -> None: ...

class _applypriority_27(Spelling):
    override__global_address: _applypriority_30
    def __call__(self, tensorMap: _Position, /, *, pred: _Guard = None) -> None: ...

class _applypriority_28(Spelling):
    override__global_address: _applypriority_31
    def __call__(
        self,
        tensorMap: _Position,
        im2colOffsets: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _applypriority_29(Spelling):
    override__global_address: _applypriority_32
    def __call__(
        self,
        tensorMap: _Position,
        im2colInfo: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _applypriority_30(Spelling):
    def __call__(self, tensorMap: _Position, /, *, pred: _Guard = None) -> None: ...

class _applypriority_31(Spelling):
    def __call__(
        self,
        tensorMap: _Position,
        im2colOffsets: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _applypriority_32(Spelling):
    def __call__(
        self,
        tensorMap: _Position,
        im2colInfo: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _atom(Spelling):
    acq_rel: _atom_1
    acquire: _atom_1
    add: _atom_2
    and_: _atom_3
    cas: _atom_4
    cluster: _atom_5
    cta: _atom_5
    dec: _atom_6
    exch: _atom_7
    global_: _atom_8
    gpu: _atom_5
    inc: _atom_6
    max: _atom_9
    min: _atom_9
    or_: _atom_3
    relaxed: _atom_1
    release: _atom_1
    shared: _atom_10
    shared__cluster: _atom_10
    shared__cta: _atom_10
    sys: _atom_5
    xor: _atom_3

class _atom_1(Spelling):
    add: _atom_2
    and_: _atom_3
    cas: _atom_4
    cluster: _atom_5
    cta: _atom_5
    dec: _atom_6
    exch: _atom_7
    global_: _atom_8
    gpu: _atom_5
    inc: _atom_6
    max: _atom_9
    min: _atom_9
    or_: _atom_3
    shared: _atom_10
    shared__cluster: _atom_10
    shared__cta: _atom_10
    sys: _atom_5
    xor: _atom_3

class _atom_2(Spelling):
    L2__cache_hint: _atom_11
    f32: _atom_12
    f64: _atom_12
    noftz: _atom_13
    s32: _atom_14
    u32: _atom_14
    u64: _atom_14
    v2: _atom_15
    v4: _atom_15

class _atom_3(Spelling):
    L2__cache_hint: _atom_16
    b32: _atom_14
    b64: _atom_14

class _atom_4(Spelling):
    b128: _atom_17
    b16: _atom_18
    b32: _atom_18
    b64: _atom_18

class _atom_5(Spelling):
    add: _atom_2
    and_: _atom_3
    cas: _atom_4
    dec: _atom_6
    exch: _atom_7
    global_: _atom_8
    inc: _atom_6
    max: _atom_9
    min: _atom_9
    or_: _atom_3
    shared: _atom_10
    shared__cluster: _atom_10
    shared__cta: _atom_10
    xor: _atom_3

class _atom_6(Spelling):
    L2__cache_hint: _atom_19
    u32: _atom_14

class _atom_7(Spelling):
    L2__cache_hint: _atom_20
    b128: _atom_21
    b32: _atom_14
    b64: _atom_14

class _atom_8(Spelling):
    add: _atom_2
    and_: _atom_3
    cas: _atom_4
    dec: _atom_6
    exch: _atom_7
    inc: _atom_6
    max: _atom_9
    min: _atom_9
    or_: _atom_3
    xor: _atom_3

class _atom_9(Spelling):
    L2__cache_hint: _atom_22
    noftz: _atom_23
    s32: _atom_14
    s64: _atom_14
    u32: _atom_14
    u64: _atom_14

class _atom_10(Spelling):
    add: _atom_24
    and_: _atom_25
    cas: _atom_4
    dec: _atom_26
    exch: _atom_27
    inc: _atom_26
    max: _atom_28
    min: _atom_28
    or_: _atom_25
    xor: _atom_25

class _atom_11(Spelling):
    f32: _atom_29
    f64: _atom_29
    s32: _atom_30
    u32: _atom_30
    u64: _atom_30
    v2: _atom_31
    v4: _atom_31

class _atom_12(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Address, b: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, d: Sink, a: _Address, b: _Float, /, *, pred: _Guard = None) -> Sink: ...
    @overload
    def __call__(self, a: _Address, b: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _atom_13(Spelling):
    L2__cache_hint: _atom_32
    bf16: _atom_21
    bf16x2: _atom_21
    f16: _atom_21
    f16x2: _atom_21
    f32: _atom_12
    v2: _atom_33
    v4: _atom_33
    v8: _atom_34

class _atom_14(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Address, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, d: Sink, a: _Address, b: _Integer, /, *, pred: _Guard = None) -> Sink: ...
    @overload
    def __call__(self, a: _Address, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _atom_15(Spelling):
    f32: _atom_35

class _atom_16(Spelling):
    b32: _atom_30
    b64: _atom_30

class _atom_17(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Address,
        b: _Source,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        d: Sink,
        a: _Address,
        b: _Source,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Sink: ...
    @overload
    def __call__(self, a: _Address, b: _Source, c: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _atom_18(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Address,
        b: _Integer,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        d: Sink,
        a: _Address,
        b: _Integer,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Sink: ...
    @overload
    def __call__(self, a: _Address, b: _Integer, c: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _atom_19(Spelling):
    u32: _atom_30

class _atom_20(Spelling):
    b128: _atom_36
    b32: _atom_30
    b64: _atom_30

class _atom_21(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Address, b: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, d: Sink, a: _Address, b: _Source, /, *, pred: _Guard = None) -> Sink: ...
    @overload
    def __call__(self, a: _Address, b: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _atom_22(Spelling):
    s32: _atom_30
    s64: _atom_30
    u32: _atom_30
    u64: _atom_30

class _atom_23(Spelling):
    L2__cache_hint: _atom_37
    v2: _atom_38
    v4: _atom_38
    v8: _atom_34

class _atom_24(Spelling):
    f32: _atom_12
    f64: _atom_12
    noftz: _atom_39
    s32: _atom_14
    u32: _atom_14
    u64: _atom_14

class _atom_25(Spelling):
    b32: _atom_14
    b64: _atom_14

class _atom_26(Spelling):
    u32: _atom_14

class _atom_27(Spelling):
    b128: _atom_21
    b32: _atom_14
    b64: _atom_14

class _atom_28(Spelling):
    s32: _atom_14
    s64: _atom_14
    u32: _atom_14
    u64: _atom_14

class _atom_29(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Address,
        b: _Float,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        d: Sink,
        a: _Address,
        b: _Float,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Sink: ...
    @overload
    def __call__(
        self,
        a: _Address,
        b: _Float,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _atom_30(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Address,
        b: _Integer,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        d: Sink,
        a: _Address,
        b: _Integer,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Sink: ...
    @overload
    def __call__(
        self,
        a: _Address,
        b: _Integer,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _atom_31(Spelling):
    f32: _atom_40

class _atom_32(Spelling):
    bf16: _atom_36
    bf16x2: _atom_36
    f16: _atom_36
    f16x2: _atom_36
    f32: _atom_29
    v2: _atom_41
    v4: _atom_41
    v8: _atom_42

class _atom_33(Spelling):
    bf16: _atom_43
    bf16x2: _atom_43
    f16: _atom_43
    f16x2: _atom_43
    f32: _atom_35

class _atom_34(Spelling):
    bf16: _atom_43
    f16: _atom_43

class _atom_35(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        a: _Address,
        b: _Floats,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(self, a: _Address, b: _Floats, /, *, pred: _Guard = None) -> list[Reg]: ...

class _atom_36(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Address,
        b: _Source,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        d: Sink,
        a: _Address,
        b: _Source,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Sink: ...
    @overload
    def __call__(
        self,
        a: _Address,
        b: _Source,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _atom_37(Spelling):
    v2: _atom_44
    v4: _atom_44
    v8: _atom_42

class _atom_38(Spelling):
    bf16: _atom_43
    bf16x2: _atom_43
    f16: _atom_43
    f16x2: _atom_43

class _atom_39(Spelling):
    bf16: _atom_21
    bf16x2: _atom_21
    f16: _atom_21
    f16x2: _atom_21
    f32: _atom_12

class _atom_40(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        a: _Address,
        b: _Floats,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        a: _Address,
        b: _Floats,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _atom_41(Spelling):
    bf16: _atom_45
    bf16x2: _atom_45
    f16: _atom_45
    f16x2: _atom_45
    f32: _atom_40

class _atom_42(Spelling):
    bf16: _atom_45
    f16: _atom_45

class _atom_43(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        a: _Address,
        b: _Sources,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(self, a: _Address, b: _Sources, /, *, pred: _Guard = None) -> list[Reg]: ...

class _atom_44(Spelling):
    bf16: _atom_45
    bf16x2: _atom_45
    f16: _atom_45
    f16x2: _atom_45

class _atom_45(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        a: _Address,
        b: _Sources,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        a: _Address,
        b: _Sources,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _bar(Spelling):
    arrive: _bar_1
    cta: _bar_2
    red: _bar_3
    sync: _bar_4
    warp: _bar_5

class _bar_1(Spelling):
    def __call__(self, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> None: ...

class _bar_2(Spelling):
    arrive: _bar_1
    red: _bar_3
    sync: _bar_4

class _bar_3(Spelling):
    and_: _bar_6
    or_: _bar_6
    popc: _bar_7

class _bar_4(Spelling):
    def __call__(self, a: _Integer, b: _Integer = ..., /, *, pred: _Guard = None) -> None: ...

class _bar_5(Spelling):
    sync: _bar_8

class _bar_6(Spelling):
    pred: _bar_9

class _bar_7(Spelling):
    u32: _bar_10

class _bar_8(Spelling):
    def __call__(self, membermask: _Integer, /, *, pred: _Guard = None) -> None: ...

class _bar_9(Spelling):
    @overload
    def __call__(
        self,
        p: Reg,
        a: _Integer,
        b: _Integer,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, p: Reg, a: _Integer, c: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, c: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, c: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _bar_10(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer,
        b: _Integer,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, d: Reg, a: _Integer, c: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, c: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, c: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _barrier(Spelling):
    arrive: _barrier_1
    cluster: _barrier_2
    cta: _barrier_3
    red: _barrier_4
    sync: _barrier_5

class _barrier_1(Spelling):
    aligned: _barrier_6
    def __call__(self, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> None: ...

class _barrier_2(Spelling):
    arrive: _barrier_7
    wait: _barrier_8

class _barrier_3(Spelling):
    arrive: _barrier_1
    red: _barrier_4
    sync: _barrier_5

class _barrier_4(Spelling):
    and_: _barrier_9
    or_: _barrier_9
    popc: _barrier_10

class _barrier_5(Spelling):
    aligned: _barrier_11
    def __call__(self, a: _Integer, b: _Integer = ..., /, *, pred: _Guard = None) -> None: ...

class _barrier_6(Spelling):
    def __call__(self, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> None: ...

class _barrier_7(Spelling):
    aligned: _barrier_12
    relaxed: _barrier_13
    release: _barrier_13
    def __call__(self, *, pred: _Guard = None) -> None: ...

class _barrier_8(Spelling):
    acquire: _barrier_13
    aligned: _barrier_12
    def __call__(self, *, pred: _Guard = None) -> None: ...

class _barrier_9(Spelling):
    aligned: _barrier_14
    pred: _barrier_15

class _barrier_10(Spelling):
    aligned: _barrier_16
    u32: _barrier_17

class _barrier_11(Spelling):
    def __call__(self, a: _Integer, b: _Integer = ..., /, *, pred: _Guard = None) -> None: ...

class _barrier_12(Spelling):
    def __call__(self, *, pred: _Guard = None) -> None: ...

class _barrier_13(Spelling):
    aligned: _barrier_12
    def __call__(self, *, pred: _Guard = None) -> None: ...

class _barrier_14(Spelling):
    pred: _barrier_15

class _barrier_15(Spelling):
    @overload
    def __call__(
        self,
        p: Reg,
        a: _Integer,
        b: _Integer,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, p: Reg, a: _Integer, c: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, c: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, c: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _barrier_16(Spelling):
    u32: _barrier_17

class _barrier_17(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer,
        b: _Integer,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, d: Reg, a: _Integer, c: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, c: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, c: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _bfe(Spelling):
    s32: _bfe_1
    s64: _bfe_1
    u32: _bfe_1
    u64: _bfe_1

class _bfe_1(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer,
        b: _Integer,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, c: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _bfi(Spelling):
    b32: _bfi_1
    b64: _bfi_1

class _bfi_1(Spelling):
    @overload
    def __call__(
        self,
        f: Reg,
        a: _Integer,
        b: _Integer,
        c: _Integer,
        d: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        a: _Integer,
        b: _Integer,
        c: _Integer,
        d: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _bfind(Spelling):
    s32: _bfind_1
    s64: _bfind_1
    shiftamt: _bfind_2
    u32: _bfind_1
    u64: _bfind_1

class _bfind_1(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _bfind_2(Spelling):
    s32: _bfind_1
    s64: _bfind_1
    u32: _bfind_1
    u64: _bfind_1

class _bmsk(Spelling):
    clamp: _bmsk_1
    wrap: _bmsk_1

class _bmsk_1(Spelling):
    b32: _bmsk_2

class _bmsk_2(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _bra(Spelling):
    uni: _bra_1
    def __call__(self, target: Label | str, /, *, pred: _Guard = None) -> None: ...

class _bra_1(Spelling):
    def __call__(self, target: Label | str, /, *, pred: _Guard = None) -> None: ...

class _brev(Spelling):
    b32: _brev_1
    b64: _brev_1

class _brev_1(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _brkpt(Spelling):
    def __call__(self, *, pred: _Guard = None) -> None: ...

class _brx(Spelling):
    idx: _brx_1

class _brx_1(Spelling):
    uni: _brx_2
    def __call__(self, index: _Source, targets: _Targets, /, *, pred: _Guard = None) -> None: ...

class _brx_2(Spelling):
    def __call__(self, index: _Source, targets: _Targets, /, *, pred: _Guard = None) -> None: ...

class _clmad(Spelling):
    hi: _clmad_1
    lo: _clmad_1

class _clmad_1(Spelling):
    u64: _clmad_2

class _clmad_2(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer,
        b: _Integer,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, c: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _clusterlaunchcontrol(Spelling):
    query_cancel: _clusterlaunchcontrol_1
    try_cancel: _clusterlaunchcontrol_2

class _clusterlaunchcontrol_1(Spelling):
    get_first_ctaid: _clusterlaunchcontrol_3
    get_first_ctaid__x: _clusterlaunchcontrol_4
    get_first_ctaid__y: _clusterlaunchcontrol_4
    get_first_ctaid__z: _clusterlaunchcontrol_4
    is_canceled: _clusterlaunchcontrol_5

class _clusterlaunchcontrol_2(Spelling):
    async_: _clusterlaunchcontrol_6

class _clusterlaunchcontrol_3(Spelling):
    v4: _clusterlaunchcontrol_7

class _clusterlaunchcontrol_4(Spelling):
    b32: _clusterlaunchcontrol_8

class _clusterlaunchcontrol_5(Spelling):
    pred: _clusterlaunchcontrol_9

class _clusterlaunchcontrol_6(Spelling):
    mbarrier__complete_tx__bytes: _clusterlaunchcontrol_10
    shared__cta: _clusterlaunchcontrol_11

class _clusterlaunchcontrol_7(Spelling):
    b32: _clusterlaunchcontrol_12

class _clusterlaunchcontrol_8(Spelling):
    b128: _clusterlaunchcontrol_13

class _clusterlaunchcontrol_9(Spelling):
    b128: _clusterlaunchcontrol_14

class _clusterlaunchcontrol_10(Spelling):
    b128: _clusterlaunchcontrol_15
    multicast__cluster__all: _clusterlaunchcontrol_16

class _clusterlaunchcontrol_11(Spelling):
    mbarrier__complete_tx__bytes: _clusterlaunchcontrol_10

class _clusterlaunchcontrol_12(Spelling):
    b128: _clusterlaunchcontrol_17

class _clusterlaunchcontrol_13(Spelling):
    @overload
    def __call__(self, d: Reg, try_cancel_response: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, try_cancel_response: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _clusterlaunchcontrol_14(Spelling):
    @overload
    def __call__(
        self,
        pred_: Reg,
        try_cancel_response: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, try_cancel_response: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _clusterlaunchcontrol_15(Spelling):
    def __call__(self, addr: _Address, mbar: _Address, /, *, pred: _Guard = None) -> None: ...

class _clusterlaunchcontrol_16(Spelling):
    b128: _clusterlaunchcontrol_15

class _clusterlaunchcontrol_17(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        try_cancel_response: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: _Mixed,
        try_cancel_response: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Mixed: ...
    @overload
    def __call__(self, try_cancel_response: _Source, /, *, pred: _Guard = None) -> list[Reg]: ...

class _clz(Spelling):
    b32: _clz_1
    b64: _clz_1

class _clz_1(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _cnot(Spelling):
    b16: _cnot_1
    b32: _cnot_1
    b64: _cnot_1

class _cnot_1(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _copysign(Spelling):
    f32: _copysign_1
    f64: _copysign_1

class _copysign_1(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Float, b: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float, b: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _cos(Spelling):
    approx: _cos_1

class _cos_1(Spelling):
    f32: _cos_2
    ftz: _cos_3

class _cos_2(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _cos_3(Spelling):
    f32: _cos_2

class _cp(Spelling):
    async_: _cp_1
    reduce: _cp_2

class _cp_1(Spelling):
    bulk: _cp_3
    ca: _cp_4
    cg: _cp_4
    commit_group: _cp_5
    mbarrier: _cp_6
    wait_all: _cp_5
    wait_group: _cp_7

class _cp_2(Spelling):
    async_: _cp_8

class _cp_3(Spelling):
    commit_group: _cp_5
    global_: _cp_9
    prefetch: _cp_10
    relaxed: _cp_11
    shared__cluster: _cp_12
    shared__cta: _cp_13
    tensor: _cp_14
    wait_group: _cp_15
    weak: _cp_16

class _cp_4(Spelling):
    shared: _cp_17
    shared__cta: _cp_17

class _cp_5(Spelling):
    def __call__(self, *, pred: _Guard = None) -> None: ...

class _cp_6(Spelling):
    arrive: _cp_18

class _cp_7(Spelling):
    def __call__(self, n: _Whole, /, *, pred: _Guard = None) -> None: ...

class _cp_8(Spelling):
    bulk: _cp_19

class _cp_9(Spelling):
    shared__cta: _cp_20

class _cp_10(Spelling):
    L2: _cp_21
    tensor: _cp_22

class _cp_11(Spelling):
    cluster: _cp_23
    cta: _cp_23
    gpu: _cp_24
    sys: _cp_24

class _cp_12(Spelling):
    global_: _cp_25
    shared__cta: _cp_26

class _cp_13(Spelling):
    global_: _cp_27

class _cp_14(Spelling):
    _1d: _cp_28
    _2d: _cp_29
    _3d: _cp_30
    _4d: _cp_30
    _5d: _cp_30

class _cp_15(Spelling):
    read: _cp_7
    def __call__(self, n: _Whole, /, *, pred: _Guard = None) -> None: ...

class _cp_16(Spelling):
    global_: _cp_9
    shared__cluster: _cp_12
    shared__cta: _cp_13

class _cp_17(Spelling):
    global_: _cp_31

class _cp_18(Spelling):
    b64: _cp_32
    noinc: _cp_33
    shared: _cp_34
    shared__cta: _cp_34

class _cp_19(Spelling):
    global_: _cp_35
    relaxed: _cp_36
    shared__cluster: _cp_37
    tensor: _cp_38

class _cp_20(Spelling):
    bulk_group: _cp_39

class _cp_21(Spelling):
    global_: _cp_40

class _cp_22(Spelling):
    _1d: _cp_41
    _2d: _cp_42
    _3d: _cp_43
    _4d: _cp_43
    _5d: _cp_43

class _cp_23(Spelling):
    global_: _cp_44
    shared__cluster: _cp_45
    shared__cta: _cp_46

class _cp_24(Spelling):
    global_: _cp_44
    shared__cluster: _cp_47
    shared__cta: _cp_46

class _cp_25(Spelling):
    mbarrier__complete_tx__bytes: _cp_48

class _cp_26(Spelling):
    mbarrier__complete_tx__bytes: _cp_49

class _cp_27(Spelling):
    mbarrier__complete_tx__bytes: _cp_50

class _cp_28(Spelling):
    global_: _cp_51
    shared__cluster: _cp_52
    shared__cta: _cp_53

class _cp_29(Spelling):
    global_: _cp_54
    shared__cluster: _cp_55
    shared__cta: _cp_56

class _cp_30(Spelling):
    global_: _cp_57
    shared__cluster: _cp_58
    shared__cta: _cp_59

class _cp_31(Spelling):
    L2__128B: _cp_60
    L2__256B: _cp_60
    L2__64B: _cp_60
    L2__cache_hint: _cp_61
    @overload
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        cp_size: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        cp_size: _Whole,
        src_size_or_ignore_src: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_32(Spelling):
    def __call__(self, addr: _Address, /, *, pred: _Guard = None) -> None: ...

class _cp_33(Spelling):
    b64: _cp_32
    shared: _cp_34
    shared__cta: _cp_34

class _cp_34(Spelling):
    b64: _cp_32

class _cp_35(Spelling):
    shared__cta: _cp_62

class _cp_36(Spelling):
    cluster: _cp_63
    cta: _cp_63
    gpu: _cp_64
    sys: _cp_64

class _cp_37(Spelling):
    shared__cta: _cp_65

class _cp_38(Spelling):
    _1d: _cp_66
    _2d: _cp_67
    _3d: _cp_68
    _4d: _cp_68
    _5d: _cp_68

class _cp_39(Spelling):
    L2__cache_hint: _cp_69
    cp_mask: _cp_70
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        size: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_40(Spelling):
    L2__cache_hint: _cp_71
    L2__evict_last: _cp_72
    def __call__(self, src: _Address, size: _Integer, /, *, pred: _Guard = None) -> None: ...

class _cp_41(Spelling):
    L2: _cp_73

class _cp_42(Spelling):
    L2: _cp_74

class _cp_43(Spelling):
    L2: _cp_75

class _cp_44(Spelling):
    shared__cta: _cp_76

class _cp_45(Spelling):
    global_: _cp_77
    shared__cta: _cp_78

class _cp_46(Spelling):
    global_: _cp_79

class _cp_47(Spelling):
    global_: _cp_77

class _cp_48(Spelling):
    L2__cache_hint: _cp_80
    mbarrier__report__disabled: _cp_81
    mbarrier__report__validity__per_16bytes__8: _cp_81
    mbarrier__report__validity__per_16bytes__80: _cp_81
    mbarrier__report__validity__per_16bytes__8000: _cp_81
    mbarrier__report__validity__per_16bytes__80000000: _cp_81
    mbarrier__report__validity__per_element__ff: _cp_81
    multicast__cluster: _cp_82
    multicast__cluster__16b: _cp_82
    multicast__cluster__32b: _cp_82
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        size: _Integer,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_49(Spelling):
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        size: _Integer,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_50(Spelling):
    L2__cache_hint: _cp_83
    ignore_oob: _cp_84
    mbarrier__report__disabled: _cp_85
    mbarrier__report__validity__per_16bytes__8: _cp_86
    mbarrier__report__validity__per_16bytes__80: _cp_86
    mbarrier__report__validity__per_16bytes__8000: _cp_86
    mbarrier__report__validity__per_16bytes__80000000: _cp_86
    mbarrier__report__validity__per_element__ff: _cp_86
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        size: _Integer,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_51(Spelling):
    shared__cta: _cp_87

class _cp_52(Spelling):
    global_: _cp_88

class _cp_53(Spelling):
    global_: _cp_89

class _cp_54(Spelling):
    shared__cta: _cp_90

class _cp_55(Spelling):
    global_: _cp_91

class _cp_56(Spelling):
    global_: _cp_92

class _cp_57(Spelling):
    shared__cta: _cp_93

class _cp_58(Spelling):
    global_: _cp_94

class _cp_59(Spelling):
    global_: _cp_95

class _cp_60(Spelling):
    @overload
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        cp_size: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        cp_size: _Whole,
        src_size_or_ignore_src: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_61(Spelling):
    L2__128B: _cp_96
    L2__256B: _cp_96
    L2__64B: _cp_96
    @overload
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        cp_size: _Whole,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        cp_size: _Whole,
        src_size_or_ignore_src: _Integer,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_62(Spelling):
    bulk_group: _cp_97

class _cp_63(Spelling):
    global_: _cp_35
    shared__cluster: _cp_37

class _cp_64(Spelling):
    global_: _cp_35

class _cp_65(Spelling):
    mbarrier__complete_tx__bytes: _cp_98

class _cp_66(Spelling):
    global_: _cp_99

class _cp_67(Spelling):
    global_: _cp_100

class _cp_68(Spelling):
    global_: _cp_101

class _cp_69(Spelling):
    cp_mask: _cp_102
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        size: _Integer,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_70(Spelling):
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        size: _Integer,
        byteMask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_71(Spelling):
    def __call__(
        self,
        src: _Address,
        size: _Integer,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_72(Spelling):
    def __call__(self, src: _Address, size: _Integer, /, *, pred: _Guard = None) -> None: ...

class _cp_73(Spelling):
    global_: _cp_103

class _cp_74(Spelling):
    global_: _cp_104

class _cp_75(Spelling):
    global_: _cp_105

class _cp_76(Spelling):
    bulk_group: _cp_106

class _cp_77(Spelling):
    mbarrier__complete_tx__bytes: _cp_107

class _cp_78(Spelling):
    mbarrier__complete_tx__bytes: _cp_108

class _cp_79(Spelling):
    mbarrier__complete_tx__bytes: _cp_109

class _cp_80(Spelling):
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        size: _Integer,
        mbar: _Address,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_81(Spelling):
    L2__cache_hint: _cp_80
    multicast__cluster: _cp_82
    multicast__cluster__16b: _cp_82
    multicast__cluster__32b: _cp_82
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        size: _Integer,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_82(Spelling):
    L2__cache_hint: _cp_110
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        size: _Integer,
        mbar: _Address,
        ctaMask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_83(Spelling):
    ignore_oob: _cp_111
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        size: _Integer,
        mbar: _Address,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_84(Spelling):
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        size: _Integer,
        ignoreBytesLeft: _Integer,
        ignoreBytesRight: _Integer,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_85(Spelling):
    L2__cache_hint: _cp_83
    ignore_oob: _cp_84
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        size: _Integer,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_86(Spelling):
    L2__cache_hint: _cp_80
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        size: _Integer,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_87(Spelling):
    bulk_group: _cp_112
    tile: _cp_113

class _cp_88(Spelling):
    mbarrier__complete_tx__bytes: _cp_114
    tile: _cp_115

class _cp_89(Spelling):
    mbarrier__complete_tx__bytes: _cp_116
    tile: _cp_117

class _cp_90(Spelling):
    bulk_group: _cp_118
    tile: _cp_119
    tile__scatter4: _cp_120

class _cp_91(Spelling):
    mbarrier__complete_tx__bytes: _cp_121
    tile: _cp_122
    tile__gather4: _cp_123

class _cp_92(Spelling):
    mbarrier__complete_tx__bytes: _cp_124
    tile: _cp_125
    tile__gather4: _cp_126

class _cp_93(Spelling):
    bulk_group: _cp_118
    im2col_no_offs: _cp_120
    im2col_no_offs__w: _cp_120
    tile: _cp_119

class _cp_94(Spelling):
    im2col: _cp_127
    im2col__w: _cp_128
    im2col__w__128: _cp_128
    mbarrier__complete_tx__bytes: _cp_121
    tile: _cp_122

class _cp_95(Spelling):
    im2col: _cp_129
    im2col__w: _cp_130
    im2col__w__128: _cp_130
    mbarrier__complete_tx__bytes: _cp_124
    tile: _cp_125

class _cp_96(Spelling):
    @overload
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        cp_size: _Whole,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        cp_size: _Whole,
        src_size_or_ignore_src: _Integer,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_97(Spelling):
    L2__cache_hint: _cp_131
    add: _cp_132
    and_: _cp_133
    dec: _cp_134
    inc: _cp_134
    max: _cp_135
    min: _cp_135
    or_: _cp_133
    xor: _cp_133

class _cp_98(Spelling):
    add: _cp_136
    and_: _cp_137
    dec: _cp_138
    inc: _cp_138
    max: _cp_139
    min: _cp_139
    or_: _cp_137
    xor: _cp_137

class _cp_99(Spelling):
    shared__cta: _cp_140

class _cp_100(Spelling):
    shared__cta: _cp_141

class _cp_101(Spelling):
    shared__cta: _cp_142

class _cp_102(Spelling):
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        size: _Integer,
        policy: _Integer,
        byteMask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_103(Spelling):
    L2__cache_hint: _cp_143
    L2__evict_last: _cp_144
    override__global_address: _cp_145
    tile: _cp_146
    def __call__(self, tensorMap: _Position, /, *, pred: _Guard = None) -> None: ...

class _cp_104(Spelling):
    L2__cache_hint: _cp_147
    L2__evict_last: _cp_148
    override__global_address: _cp_149
    tile: _cp_150
    tile__gather4: _cp_151
    def __call__(self, tensorMap: _Position, /, *, pred: _Guard = None) -> None: ...

class _cp_105(Spelling):
    L2__cache_hint: _cp_147
    L2__evict_last: _cp_148
    im2col: _cp_152
    im2col__w: _cp_153
    im2col__w__128: _cp_153
    override__global_address: _cp_149
    tile: _cp_150
    def __call__(self, tensorMap: _Position, /, *, pred: _Guard = None) -> None: ...

class _cp_106(Spelling):
    L2__cache_hint: _cp_154
    b128: _cp_155
    cp_mask: _cp_156

class _cp_107(Spelling):
    L2__cache_hint: _cp_157
    b128: _cp_49
    mbarrier__report__disabled: _cp_158
    mbarrier__report__validity__per_16bytes__8: _cp_158
    mbarrier__report__validity__per_16bytes__80: _cp_158
    mbarrier__report__validity__per_16bytes__8000: _cp_158
    mbarrier__report__validity__per_16bytes__80000000: _cp_158
    mbarrier__report__validity__per_element__ff: _cp_158
    multicast__cluster: _cp_159
    multicast__cluster__16b: _cp_159
    multicast__cluster__32b: _cp_159

class _cp_108(Spelling):
    b128: _cp_49

class _cp_109(Spelling):
    L2__cache_hint: _cp_160
    b128: _cp_49
    ignore_oob: _cp_161
    mbarrier__report__disabled: _cp_162
    mbarrier__report__validity__per_16bytes__8: _cp_163
    mbarrier__report__validity__per_16bytes__80: _cp_163
    mbarrier__report__validity__per_16bytes__8000: _cp_163
    mbarrier__report__validity__per_16bytes__80000000: _cp_163
    mbarrier__report__validity__per_element__ff: _cp_163

class _cp_110(Spelling):
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        size: _Integer,
        mbar: _Address,
        ctaMask: _Integer,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_111(Spelling):
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        size: _Integer,
        ignoreBytesLeft: _Integer,
        ignoreBytesRight: _Integer,
        mbar: _Address,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_112(Spelling):
    L2__cache_hint: _cp_164
    override__global_address: _cp_165
    def __call__(self, tensorMap: _Position, src: _Address, /, *, pred: _Guard = None) -> None: ...

class _cp_113(Spelling):
    bulk_group: _cp_112

class _cp_114(Spelling):
    L2__cache_hint: _cp_166
    cta_group__1: _cp_167
    cta_group__2: _cp_167
    mbarrier__report__disabled: _cp_168
    mbarrier__report__validity__per_16bytes__8: _cp_168
    mbarrier__report__validity__per_16bytes__80: _cp_168
    mbarrier__report__validity__per_16bytes__8000: _cp_168
    mbarrier__report__validity__per_16bytes__80000000: _cp_168
    mbarrier__report__validity__per_element__ff: _cp_168
    multicast__cluster: _cp_169
    multicast__cluster__16b: _cp_169
    multicast__cluster__32b: _cp_170
    override__global_address: _cp_171
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_115(Spelling):
    mbarrier__complete_tx__bytes: _cp_114

class _cp_116(Spelling):
    L2__cache_hint: _cp_166
    cta_group__1: _cp_167
    cta_group__2: _cp_167
    mbarrier__report__disabled: _cp_172
    mbarrier__report__validity__per_16bytes__8: _cp_172
    mbarrier__report__validity__per_16bytes__80: _cp_172
    mbarrier__report__validity__per_16bytes__8000: _cp_172
    mbarrier__report__validity__per_16bytes__80000000: _cp_172
    mbarrier__report__validity__per_element__ff: _cp_172
    override__global_address: _cp_171
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_117(Spelling):
    mbarrier__complete_tx__bytes: _cp_116

class _cp_118(Spelling):
    L2__cache_hint: _cp_173
    override__global_address: _cp_174
    def __call__(self, tensorMap: _Position, src: _Address, /, *, pred: _Guard = None) -> None: ...

class _cp_119(Spelling):
    bulk_group: _cp_118

class _cp_120(Spelling):
    bulk_group: _cp_175

class _cp_121(Spelling):
    L2__cache_hint: _cp_176
    cta_group__1: _cp_177
    cta_group__2: _cp_177
    mbarrier__report__disabled: _cp_178
    mbarrier__report__validity__per_16bytes__8: _cp_178
    mbarrier__report__validity__per_16bytes__80: _cp_178
    mbarrier__report__validity__per_16bytes__8000: _cp_178
    mbarrier__report__validity__per_16bytes__80000000: _cp_178
    mbarrier__report__validity__per_element__ff: _cp_178
    multicast__cluster: _cp_169
    multicast__cluster__16b: _cp_169
    multicast__cluster__32b: _cp_179
    override__global_address: _cp_180
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_122(Spelling):
    mbarrier__complete_tx__bytes: _cp_121

class _cp_123(Spelling):
    mbarrier__complete_tx__bytes: _cp_181

class _cp_124(Spelling):
    L2__cache_hint: _cp_176
    cta_group__1: _cp_177
    cta_group__2: _cp_177
    mbarrier__report__disabled: _cp_182
    mbarrier__report__validity__per_16bytes__8: _cp_182
    mbarrier__report__validity__per_16bytes__80: _cp_182
    mbarrier__report__validity__per_16bytes__8000: _cp_182
    mbarrier__report__validity__per_16bytes__80000000: _cp_182
    mbarrier__report__validity__per_element__ff: _cp_182
    override__global_address: _cp_180
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_125(Spelling):
    mbarrier__complete_tx__bytes: _cp_124

class _cp_126(Spelling):
    mbarrier__complete_tx__bytes: _cp_183

class _cp_127(Spelling):
    mbarrier__complete_tx__bytes: _cp_184

class _cp_128(Spelling):
    mbarrier__complete_tx__bytes: _cp_185

class _cp_129(Spelling):
    mbarrier__complete_tx__bytes: _cp_186

class _cp_130(Spelling):
    mbarrier__complete_tx__bytes: _cp_187

class _cp_131(Spelling):
    add: _cp_188
    and_: _cp_189
    dec: _cp_190
    inc: _cp_190
    max: _cp_191
    min: _cp_191
    or_: _cp_189
    xor: _cp_189

class _cp_132(Spelling):
    f32: _cp_155
    f64: _cp_155
    noftz: _cp_192
    s32: _cp_155
    u32: _cp_155
    u64: _cp_155

class _cp_133(Spelling):
    b32: _cp_155
    b64: _cp_155

class _cp_134(Spelling):
    u32: _cp_155

class _cp_135(Spelling):
    bf16: _cp_155
    f16: _cp_155
    s32: _cp_155
    s64: _cp_155
    u32: _cp_155
    u64: _cp_155

class _cp_136(Spelling):
    s32: _cp_49
    u32: _cp_49
    u64: _cp_49

class _cp_137(Spelling):
    b32: _cp_49

class _cp_138(Spelling):
    u32: _cp_49

class _cp_139(Spelling):
    s32: _cp_49
    u32: _cp_49

class _cp_140(Spelling):
    add: _cp_87
    and_: _cp_87
    dec: _cp_87
    inc: _cp_87
    max: _cp_87
    min: _cp_87
    or_: _cp_87
    xor: _cp_87

class _cp_141(Spelling):
    add: _cp_193
    and_: _cp_193
    dec: _cp_193
    inc: _cp_193
    max: _cp_193
    min: _cp_193
    or_: _cp_193
    xor: _cp_193

class _cp_142(Spelling):
    add: _cp_93
    and_: _cp_93
    dec: _cp_93
    inc: _cp_93
    max: _cp_93
    min: _cp_93
    or_: _cp_93
    xor: _cp_93

class _cp_143(Spelling):
    override__global_address: _cp_194
    def __call__(
        self,
        tensorMap: _Position,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_144(Spelling):
    override__global_address: _cp_145
    def __call__(self, tensorMap: _Position, /, *, pred: _Guard = None) -> None: ...

class _cp_145(Spelling):
    override__global_dim: _cp_195
    def __call__(self, tensorMap: _Position, /, *, pred: _Guard = None) -> None: ...

class _cp_146(Spelling):
    L2__cache_hint: _cp_143
    L2__evict_last: _cp_144
    override__global_address: _cp_145
    def __call__(self, tensorMap: _Position, /, *, pred: _Guard = None) -> None: ...

class _cp_147(Spelling):
    override__global_address: _cp_196
    def __call__(
        self,
        tensorMap: _Position,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_148(Spelling):
    override__global_address: _cp_149
    def __call__(self, tensorMap: _Position, /, *, pred: _Guard = None) -> None: ...

class _cp_149(Spelling):
    override__global_dim_stride: _cp_195
    def __call__(self, tensorMap: _Position, /, *, pred: _Guard = None) -> None: ...

class _cp_150(Spelling):
    L2__cache_hint: _cp_147
    L2__evict_last: _cp_148
    override__global_address: _cp_149
    def __call__(self, tensorMap: _Position, /, *, pred: _Guard = None) -> None: ...

class _cp_151(Spelling):
    L2__cache_hint: _cp_197
    L2__evict_last: _cp_198
    override__global_address: _cp_195
    def __call__(self, tensorMap: _Position, /, *, pred: _Guard = None) -> None: ...

class _cp_152(Spelling):
    L2__cache_hint: _cp_199
    L2__evict_last: _cp_200
    override__global_address: _cp_201
    def __call__(
        self,
        tensorMap: _Position,
        im2colOffsets: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_153(Spelling):
    L2__cache_hint: _cp_202
    L2__evict_last: _cp_203
    override__global_address: _cp_204
    def __call__(
        self,
        tensorMap: _Position,
        im2colInfo: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_154(Spelling):
    b128: _cp_205
    cp_mask: _cp_206

class _cp_155(Spelling):
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        size: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_156(Spelling):
    b128: _cp_70

class _cp_157(Spelling):
    b128: _cp_80

class _cp_158(Spelling):
    L2__cache_hint: _cp_157
    b128: _cp_49
    multicast__cluster: _cp_159
    multicast__cluster__16b: _cp_159
    multicast__cluster__32b: _cp_159

class _cp_159(Spelling):
    L2__cache_hint: _cp_207
    b128: _cp_208

class _cp_160(Spelling):
    b128: _cp_80
    ignore_oob: _cp_209

class _cp_161(Spelling):
    b128: _cp_84

class _cp_162(Spelling):
    L2__cache_hint: _cp_160
    b128: _cp_49
    ignore_oob: _cp_161

class _cp_163(Spelling):
    L2__cache_hint: _cp_157
    b128: _cp_49

class _cp_164(Spelling):
    override__global_address: _cp_210
    def __call__(
        self,
        tensorMap: _Position,
        src: _Address,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_165(Spelling):
    override__global_dim: _cp_211
    def __call__(self, tensorMap: _Position, src: _Address, /, *, pred: _Guard = None) -> None: ...

class _cp_166(Spelling):
    override__global_address: _cp_212
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_167(Spelling):
    L2__cache_hint: _cp_166
    override__global_address: _cp_171
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_168(Spelling):
    L2__cache_hint: _cp_166
    cta_group__1: _cp_167
    cta_group__2: _cp_167
    multicast__cluster: _cp_169
    multicast__cluster__16b: _cp_169
    multicast__cluster__32b: _cp_170
    override__global_address: _cp_171
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_169(Spelling):
    L2__cache_hint: _cp_213
    cta_group__1: _cp_214
    cta_group__2: _cp_214
    override__global_address: _cp_215
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        ctaMask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_170(Spelling):
    L2__cache_hint: _cp_216
    cta_group__1: _cp_217
    cta_group__2: _cp_217
    override__global_address: _cp_218
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        ctaMask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_171(Spelling):
    override__global_dim: _cp_219
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_172(Spelling):
    L2__cache_hint: _cp_166
    cta_group__1: _cp_167
    cta_group__2: _cp_167
    override__global_address: _cp_171
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_173(Spelling):
    override__global_address: _cp_220
    def __call__(
        self,
        tensorMap: _Position,
        src: _Address,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_174(Spelling):
    override__global_dim_stride: _cp_211
    def __call__(self, tensorMap: _Position, src: _Address, /, *, pred: _Guard = None) -> None: ...

class _cp_175(Spelling):
    L2__cache_hint: _cp_221
    override__global_address: _cp_211
    def __call__(self, tensorMap: _Position, src: _Address, /, *, pred: _Guard = None) -> None: ...

class _cp_176(Spelling):
    override__global_address: _cp_222
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_177(Spelling):
    L2__cache_hint: _cp_176
    override__global_address: _cp_180
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_178(Spelling):
    L2__cache_hint: _cp_176
    cta_group__1: _cp_177
    cta_group__2: _cp_177
    multicast__cluster: _cp_169
    multicast__cluster__16b: _cp_169
    multicast__cluster__32b: _cp_179
    override__global_address: _cp_180
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_179(Spelling):
    L2__cache_hint: _cp_223
    cta_group__1: _cp_224
    cta_group__2: _cp_224
    override__global_address: _cp_225
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        ctaMask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_180(Spelling):
    override__global_dim_stride: _cp_219
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_181(Spelling):
    L2__cache_hint: _cp_226
    cta_group__1: _cp_227
    cta_group__2: _cp_227
    mbarrier__report__disabled: _cp_228
    mbarrier__report__validity__per_16bytes__8: _cp_228
    mbarrier__report__validity__per_16bytes__80: _cp_228
    mbarrier__report__validity__per_16bytes__8000: _cp_228
    mbarrier__report__validity__per_16bytes__80000000: _cp_228
    mbarrier__report__validity__per_element__ff: _cp_228
    multicast__cluster: _cp_169
    multicast__cluster__16b: _cp_169
    multicast__cluster__32b: _cp_169
    override__global_address: _cp_219
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_182(Spelling):
    L2__cache_hint: _cp_176
    cta_group__1: _cp_177
    cta_group__2: _cp_177
    override__global_address: _cp_180
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_183(Spelling):
    L2__cache_hint: _cp_226
    cta_group__1: _cp_227
    cta_group__2: _cp_227
    mbarrier__report__disabled: _cp_229
    mbarrier__report__validity__per_16bytes__8: _cp_229
    mbarrier__report__validity__per_16bytes__80: _cp_229
    mbarrier__report__validity__per_16bytes__8000: _cp_229
    mbarrier__report__validity__per_16bytes__80000000: _cp_229
    mbarrier__report__validity__per_element__ff: _cp_229
    override__global_address: _cp_219
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_184(Spelling):
    L2__cache_hint: _cp_230
    cta_group__1: _cp_231
    cta_group__2: _cp_231
    mbarrier__report__disabled: _cp_232
    mbarrier__report__validity__per_16bytes__8: _cp_232
    mbarrier__report__validity__per_16bytes__80: _cp_232
    mbarrier__report__validity__per_16bytes__8000: _cp_232
    mbarrier__report__validity__per_16bytes__80000000: _cp_232
    mbarrier__report__validity__per_element__ff: _cp_232
    multicast__cluster: _cp_233
    multicast__cluster__16b: _cp_233
    multicast__cluster__32b: _cp_233
    override__global_address: _cp_234
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        im2colOffsets: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_185(Spelling):
    L2__cache_hint: _cp_235
    cta_group__1: _cp_236
    cta_group__2: _cp_236
    mbarrier__report__disabled: _cp_237
    mbarrier__report__validity__per_16bytes__8: _cp_237
    mbarrier__report__validity__per_16bytes__80: _cp_237
    mbarrier__report__validity__per_16bytes__8000: _cp_237
    mbarrier__report__validity__per_16bytes__80000000: _cp_237
    mbarrier__report__validity__per_element__ff: _cp_237
    multicast__cluster: _cp_238
    multicast__cluster__16b: _cp_238
    multicast__cluster__32b: _cp_238
    override__global_address: _cp_239
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        im2colInfo: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_186(Spelling):
    L2__cache_hint: _cp_230
    cta_group__1: _cp_231
    cta_group__2: _cp_231
    mbarrier__report__disabled: _cp_240
    mbarrier__report__validity__per_16bytes__8: _cp_240
    mbarrier__report__validity__per_16bytes__80: _cp_240
    mbarrier__report__validity__per_16bytes__8000: _cp_240
    mbarrier__report__validity__per_16bytes__80000000: _cp_240
    mbarrier__report__validity__per_element__ff: _cp_240
    override__global_address: _cp_234
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        im2colOffsets: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_187(Spelling):
    L2__cache_hint: _cp_235
    cta_group__1: _cp_236
    cta_group__2: _cp_236
    mbarrier__report__disabled: _cp_241
    mbarrier__report__validity__per_16bytes__8: _cp_241
    mbarrier__report__validity__per_16bytes__80: _cp_241
    mbarrier__report__validity__per_16bytes__8000: _cp_241
    mbarrier__report__validity__per_16bytes__80000000: _cp_241
    mbarrier__report__validity__per_element__ff: _cp_241
    override__global_address: _cp_239
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        im2colInfo: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_188(Spelling):
    f32: _cp_205
    f64: _cp_205
    noftz: _cp_242
    s32: _cp_205
    u32: _cp_205
    u64: _cp_205

class _cp_189(Spelling):
    b32: _cp_205
    b64: _cp_205

class _cp_190(Spelling):
    u32: _cp_205

class _cp_191(Spelling):
    bf16: _cp_205
    f16: _cp_205
    s32: _cp_205
    s64: _cp_205
    u32: _cp_205
    u64: _cp_205

class _cp_192(Spelling):
    bf16: _cp_155
    f16: _cp_155
    f32: _cp_155

class _cp_193(Spelling):
    bulk_group: _cp_118
    tile: _cp_119

class _cp_194(Spelling):
    override__global_dim: _cp_243
    def __call__(
        self,
        tensorMap: _Position,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_195(Spelling):
    def __call__(self, tensorMap: _Position, /, *, pred: _Guard = None) -> None: ...

class _cp_196(Spelling):
    override__global_dim_stride: _cp_243
    def __call__(
        self,
        tensorMap: _Position,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_197(Spelling):
    override__global_address: _cp_243
    def __call__(
        self,
        tensorMap: _Position,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_198(Spelling):
    override__global_address: _cp_195
    def __call__(self, tensorMap: _Position, /, *, pred: _Guard = None) -> None: ...

class _cp_199(Spelling):
    override__global_address: _cp_244
    def __call__(
        self,
        tensorMap: _Position,
        im2colOffsets: _Integers,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_200(Spelling):
    override__global_address: _cp_201
    def __call__(
        self,
        tensorMap: _Position,
        im2colOffsets: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_201(Spelling):
    def __call__(
        self,
        tensorMap: _Position,
        im2colOffsets: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_202(Spelling):
    override__global_address: _cp_245
    def __call__(
        self,
        tensorMap: _Position,
        im2colInfo: _Integers,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_203(Spelling):
    override__global_address: _cp_204
    def __call__(
        self,
        tensorMap: _Position,
        im2colInfo: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_204(Spelling):
    def __call__(
        self,
        tensorMap: _Position,
        im2colInfo: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_205(Spelling):
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        size: _Integer,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_206(Spelling):
    b128: _cp_102

class _cp_207(Spelling):
    b128: _cp_110

class _cp_208(Spelling):
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        size: _Integer,
        mbar: _Address,
        ctaMask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_209(Spelling):
    b128: _cp_111

class _cp_210(Spelling):
    override__global_dim: _cp_246
    def __call__(
        self,
        tensorMap: _Position,
        src: _Address,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_211(Spelling):
    def __call__(self, tensorMap: _Position, src: _Address, /, *, pred: _Guard = None) -> None: ...

class _cp_212(Spelling):
    override__global_dim: _cp_247
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_213(Spelling):
    override__global_address: _cp_248
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        ctaMask: _Integer,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_214(Spelling):
    L2__cache_hint: _cp_213
    override__global_address: _cp_215
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        ctaMask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_215(Spelling):
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        ctaMask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_216(Spelling):
    override__global_address: _cp_249
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        ctaMask: _Integer,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_217(Spelling):
    L2__cache_hint: _cp_216
    override__global_address: _cp_218
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        ctaMask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_218(Spelling):
    override__global_dim: _cp_215
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        ctaMask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_219(Spelling):
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_220(Spelling):
    override__global_dim_stride: _cp_246
    def __call__(
        self,
        tensorMap: _Position,
        src: _Address,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_221(Spelling):
    override__global_address: _cp_246
    def __call__(
        self,
        tensorMap: _Position,
        src: _Address,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_222(Spelling):
    override__global_dim_stride: _cp_247
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_223(Spelling):
    override__global_address: _cp_250
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        ctaMask: _Integer,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_224(Spelling):
    L2__cache_hint: _cp_223
    override__global_address: _cp_225
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        ctaMask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_225(Spelling):
    override__global_dim_stride: _cp_215
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        ctaMask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_226(Spelling):
    override__global_address: _cp_247
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_227(Spelling):
    L2__cache_hint: _cp_226
    override__global_address: _cp_219
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_228(Spelling):
    L2__cache_hint: _cp_226
    cta_group__1: _cp_227
    cta_group__2: _cp_227
    multicast__cluster: _cp_169
    multicast__cluster__16b: _cp_169
    multicast__cluster__32b: _cp_169
    override__global_address: _cp_219
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_229(Spelling):
    L2__cache_hint: _cp_226
    cta_group__1: _cp_227
    cta_group__2: _cp_227
    override__global_address: _cp_219
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_230(Spelling):
    override__global_address: _cp_251
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        im2colOffsets: _Integers,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_231(Spelling):
    L2__cache_hint: _cp_230
    override__global_address: _cp_234
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        im2colOffsets: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_232(Spelling):
    L2__cache_hint: _cp_230
    cta_group__1: _cp_231
    cta_group__2: _cp_231
    multicast__cluster: _cp_233
    multicast__cluster__16b: _cp_233
    multicast__cluster__32b: _cp_233
    override__global_address: _cp_234
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        im2colOffsets: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_233(Spelling):
    L2__cache_hint: _cp_252
    cta_group__1: _cp_253
    cta_group__2: _cp_253
    override__global_address: _cp_254
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        im2colOffsets: _Integers,
        ctaMask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_234(Spelling):
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        im2colOffsets: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_235(Spelling):
    override__global_address: _cp_255
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        im2colInfo: _Integers,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_236(Spelling):
    L2__cache_hint: _cp_235
    override__global_address: _cp_239
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        im2colInfo: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_237(Spelling):
    L2__cache_hint: _cp_235
    cta_group__1: _cp_236
    cta_group__2: _cp_236
    multicast__cluster: _cp_238
    multicast__cluster__16b: _cp_238
    multicast__cluster__32b: _cp_238
    override__global_address: _cp_239
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        im2colInfo: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_238(Spelling):
    L2__cache_hint: _cp_256
    cta_group__1: _cp_257
    cta_group__2: _cp_257
    override__global_address: _cp_258
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        im2colInfo: _Integers,
        ctaMask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_239(Spelling):
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        im2colInfo: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_240(Spelling):
    L2__cache_hint: _cp_230
    cta_group__1: _cp_231
    cta_group__2: _cp_231
    override__global_address: _cp_234
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        im2colOffsets: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_241(Spelling):
    L2__cache_hint: _cp_235
    cta_group__1: _cp_236
    cta_group__2: _cp_236
    override__global_address: _cp_239
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        im2colInfo: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_242(Spelling):
    bf16: _cp_205
    f16: _cp_205
    f32: _cp_205

class _cp_243(Spelling):
    def __call__(
        self,
        tensorMap: _Position,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_244(Spelling):
    def __call__(
        self,
        tensorMap: _Position,
        im2colOffsets: _Integers,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_245(Spelling):
    def __call__(
        self,
        tensorMap: _Position,
        im2colInfo: _Integers,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_246(Spelling):
    def __call__(
        self,
        tensorMap: _Position,
        src: _Address,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_247(Spelling):
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_248(Spelling):
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        ctaMask: _Integer,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_249(Spelling):
    override__global_dim: _cp_248
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        ctaMask: _Integer,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_250(Spelling):
    override__global_dim_stride: _cp_248
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        ctaMask: _Integer,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_251(Spelling):
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        im2colOffsets: _Integers,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_252(Spelling):
    override__global_address: _cp_259
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        im2colOffsets: _Integers,
        ctaMask: _Integer,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_253(Spelling):
    L2__cache_hint: _cp_252
    override__global_address: _cp_254
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        im2colOffsets: _Integers,
        ctaMask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_254(Spelling):
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        im2colOffsets: _Integers,
        ctaMask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_255(Spelling):
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        im2colInfo: _Integers,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_256(Spelling):
    override__global_address: _cp_260
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        im2colInfo: _Integers,
        ctaMask: _Integer,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_257(Spelling):
    L2__cache_hint: _cp_256
    override__global_address: _cp_258
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        im2colInfo: _Integers,
        ctaMask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_258(Spelling):
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        im2colInfo: _Integers,
        ctaMask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_259(Spelling):
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        im2colOffsets: _Integers,
        ctaMask: _Integer,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _cp_260(Spelling):
    def __call__(
        self,
        dst: _Address,
        tensorMap: _Position,
        mbar: _Address,
        im2colInfo: _Integers,
        ctaMask: _Integer,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _createpolicy(Spelling):
    cvt: _createpolicy_1
    fractional: _createpolicy_2
    range: _createpolicy_3

class _createpolicy_1(Spelling):
    L2: _createpolicy_4

class _createpolicy_2(Spelling):
    L2__evict_first: _createpolicy_5
    L2__evict_last: _createpolicy_5
    L2__evict_normal: _createpolicy_5
    L2__evict_unchanged: _createpolicy_5

class _createpolicy_3(Spelling):
    L2__evict_first: _createpolicy_6
    L2__evict_last: _createpolicy_6
    L2__evict_normal: _createpolicy_6
    L2__evict_unchanged: _createpolicy_6
    fabric: _createpolicy_7
    global_: _createpolicy_8

class _createpolicy_4(Spelling):
    b64: _createpolicy_9

class _createpolicy_5(Spelling):
    L2__evict_first: _createpolicy_10
    L2__evict_unchanged: _createpolicy_10
    b64: _createpolicy_11

class _createpolicy_6(Spelling):
    L2__evict_first: _createpolicy_12
    L2__evict_unchanged: _createpolicy_12
    b64: _createpolicy_13

class _createpolicy_7(Spelling):
    L2__evict_first: _createpolicy_14
    L2__evict_last: _createpolicy_14
    L2__evict_normal: _createpolicy_14
    L2__evict_unchanged: _createpolicy_14

class _createpolicy_8(Spelling):
    L2__evict_first: _createpolicy_6
    L2__evict_last: _createpolicy_6
    L2__evict_normal: _createpolicy_6
    L2__evict_unchanged: _createpolicy_6

class _createpolicy_9(Spelling):
    @overload
    def __call__(self, policy: Reg, property: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, property: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _createpolicy_10(Spelling):
    b64: _createpolicy_11

class _createpolicy_11(Spelling):
    @overload
    def __call__(self, policy: Reg, fraction: _Float = ..., /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, fraction: _Float = ..., /, *, pred: _Guard = None) -> Reg: ...

class _createpolicy_12(Spelling):
    b64: _createpolicy_13

class _createpolicy_13(Spelling):
    @overload
    def __call__(
        self,
        policy: Reg,
        a: _Address,
        primary_size: _Integer,
        total_size: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        a: _Address,
        primary_size: _Integer,
        total_size: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _createpolicy_14(Spelling):
    L2__evict_first: _createpolicy_15
    L2__evict_unchanged: _createpolicy_15
    b64: _createpolicy_16

class _createpolicy_15(Spelling):
    b64: _createpolicy_16

class _createpolicy_16(Spelling):
    @overload
    def __call__(
        self,
        policy: Reg,
        leId: FabricHandle,
        primary_size: _Integer,
        total_size: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        leId: FabricHandle,
        primary_size: _Integer,
        total_size: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _cvt(Spelling):
    bf16: _cvt_1
    f16: _cvt_2
    f32: _cvt_3
    f64: _cvt_4
    ftz: _cvt_5
    pack: _cvt_6
    rm: _cvt_7
    rmi: _cvt_8
    rn: _cvt_9
    rna: _cvt_10
    rni: _cvt_8
    rp: _cvt_11
    rpi: _cvt_8
    rs: _cvt_12
    rz: _cvt_13
    rzi: _cvt_8
    s16: _cvt_14
    s32: _cvt_14
    s64: _cvt_14
    s8: _cvt_14
    sat: _cvt_15
    u16: _cvt_14
    u32: _cvt_14
    u64: _cvt_14
    u8: _cvt_14

class _cvt_1(Spelling):
    bf16: _cvt_16

class _cvt_2(Spelling):
    f16: _cvt_16

class _cvt_3(Spelling):
    bf16: _cvt_16
    f16: _cvt_16
    f32: _cvt_17

class _cvt_4(Spelling):
    bf16: _cvt_16
    f16: _cvt_16
    f32: _cvt_17
    f64: _cvt_17

class _cvt_5(Spelling):
    f32: _cvt_3
    f64: _cvt_18
    sat: _cvt_19

class _cvt_6(Spelling):
    sat: _cvt_20

class _cvt_7(Spelling):
    bf16: _cvt_21
    f16: _cvt_22
    f32: _cvt_23
    f64: _cvt_24
    ftz: _cvt_25
    sat: _cvt_26

class _cvt_8(Spelling):
    bf16: _cvt_1
    f16: _cvt_2
    f32: _cvt_18
    f64: _cvt_27
    ftz: _cvt_28
    s16: _cvt_4
    s32: _cvt_4
    s64: _cvt_4
    s8: _cvt_4
    sat: _cvt_29
    u16: _cvt_4
    u32: _cvt_4
    u64: _cvt_4
    u8: _cvt_4

class _cvt_9(Spelling):
    bf16: _cvt_21
    bf16x2: _cvt_30
    f16: _cvt_22
    f16x2: _cvt_31
    f32: _cvt_23
    f64: _cvt_24
    ftz: _cvt_25
    pzo: _cvt_32
    relu: _cvt_33
    sat: _cvt_26
    satfinite: _cvt_34
    scaled__n1__ue8m0: _cvt_35
    scaled__n2__ue8m0: _cvt_36
    tf32: _cvt_18
    ue5m3x2: _cvt_37

class _cvt_10(Spelling):
    satfinite: _cvt_38
    tf32: _cvt_18

class _cvt_11(Spelling):
    bf16: _cvt_21
    f16: _cvt_22
    f32: _cvt_23
    f64: _cvt_24
    ftz: _cvt_25
    sat: _cvt_26
    satfinite: _cvt_39
    ue5m3x2: _cvt_37
    ue8m0x2: _cvt_40

class _cvt_12(Spelling):
    bf16x2: _cvt_41
    f16x2: _cvt_41
    relu: _cvt_42
    satfinite: _cvt_43

class _cvt_13(Spelling):
    bf16: _cvt_21
    bf16x2: _cvt_44
    f16: _cvt_22
    f16x2: _cvt_44
    f32: _cvt_23
    f64: _cvt_24
    ftz: _cvt_25
    pzo: _cvt_32
    relu: _cvt_45
    sat: _cvt_26
    satfinite: _cvt_46
    scaled__n1__ue8m0: _cvt_35
    tf32: _cvt_18
    ue5m3x2: _cvt_37
    ue8m0x2: _cvt_40

class _cvt_14(Spelling):
    s16: _cvt_47
    s32: _cvt_47
    s64: _cvt_47
    s8: _cvt_47
    u16: _cvt_47
    u32: _cvt_47
    u64: _cvt_47
    u8: _cvt_47

class _cvt_15(Spelling):
    f16: _cvt_2
    f32: _cvt_48
    f64: _cvt_49
    s16: _cvt_50
    s32: _cvt_51
    s64: _cvt_52
    s8: _cvt_53
    u16: _cvt_54
    u32: _cvt_55
    u64: _cvt_56
    u8: _cvt_57

class _cvt_16(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _cvt_17(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _cvt_18(Spelling):
    f32: _cvt_17

class _cvt_19(Spelling):
    f32: _cvt_48
    f64: _cvt_18

class _cvt_20(Spelling):
    s16: _cvt_58
    s2: _cvt_59
    s4: _cvt_59
    s8: _cvt_59
    u16: _cvt_58
    u2: _cvt_59
    u4: _cvt_59
    u8: _cvt_59

class _cvt_21(Spelling):
    f16: _cvt_16
    f32: _cvt_17
    f64: _cvt_17
    s16: _cvt_60
    s32: _cvt_60
    s64: _cvt_60
    s8: _cvt_60
    u16: _cvt_60
    u32: _cvt_60
    u64: _cvt_60
    u8: _cvt_60

class _cvt_22(Spelling):
    bf16: _cvt_16
    f32: _cvt_17
    f64: _cvt_17
    s16: _cvt_60
    s32: _cvt_60
    s64: _cvt_60
    s8: _cvt_60
    u16: _cvt_60
    u32: _cvt_60
    u64: _cvt_60
    u8: _cvt_60

class _cvt_23(Spelling):
    f64: _cvt_17
    s16: _cvt_60
    s32: _cvt_60
    s64: _cvt_60
    s8: _cvt_60
    u16: _cvt_60
    u32: _cvt_60
    u64: _cvt_60
    u8: _cvt_60

class _cvt_24(Spelling):
    bf16: _cvt_16
    s16: _cvt_60
    s32: _cvt_60
    s64: _cvt_60
    s8: _cvt_60
    u16: _cvt_60
    u32: _cvt_60
    u64: _cvt_60
    u8: _cvt_60

class _cvt_25(Spelling):
    bf16: _cvt_18
    f16: _cvt_18
    f32: _cvt_23
    sat: _cvt_61

class _cvt_26(Spelling):
    f16: _cvt_62
    f32: _cvt_23
    f64: _cvt_63

class _cvt_27(Spelling):
    f64: _cvt_17

class _cvt_28(Spelling):
    f32: _cvt_18
    s16: _cvt_18
    s32: _cvt_18
    s64: _cvt_18
    s8: _cvt_18
    sat: _cvt_64
    u16: _cvt_18
    u32: _cvt_18
    u64: _cvt_18
    u8: _cvt_18

class _cvt_29(Spelling):
    f16: _cvt_2
    f32: _cvt_18
    f64: _cvt_27
    s16: _cvt_49
    s32: _cvt_49
    s64: _cvt_49
    s8: _cvt_49
    u16: _cvt_49
    u32: _cvt_49
    u64: _cvt_49
    u8: _cvt_49

class _cvt_30(Spelling):
    e2m1x2: _cvt_16
    e2m3x2: _cvt_16
    e3m2x2: _cvt_16
    e4m3x2: _cvt_16
    e5m2x2: _cvt_16
    f32: _cvt_65
    s2f6x2: _cvt_16
    ue5m3x2: _cvt_16
    ue8m0x2: _cvt_16

class _cvt_31(Spelling):
    e2m1x2: _cvt_16
    e2m3x2: _cvt_16
    e3m2x2: _cvt_16
    e4m3x2: _cvt_16
    e5m2x2: _cvt_16
    f32: _cvt_65
    ue5m3x2: _cvt_16

class _cvt_32(Spelling):
    bf16: _cvt_18
    bf16x2: _cvt_44
    f16: _cvt_18
    f16x2: _cvt_44
    tf32: _cvt_18

class _cvt_33(Spelling):
    bf16: _cvt_18
    bf16x2: _cvt_66
    f16: _cvt_18
    f16x2: _cvt_67
    pzo: _cvt_32
    satfinite: _cvt_68
    scaled__n2__ue8m0: _cvt_69
    tf32: _cvt_18

class _cvt_34(Spelling):
    bf16: _cvt_18
    bf16x2: _cvt_70
    e2m1x2: _cvt_37
    e2m3x2: _cvt_37
    e3m2x2: _cvt_37
    e4m3x2: _cvt_37
    e5m2x2: _cvt_37
    f16: _cvt_18
    f16x2: _cvt_44
    pzo: _cvt_71
    relu: _cvt_72
    s2f6x2: _cvt_40
    scaled__n1__ue8m0: _cvt_73
    scaled__n2__ue8m0: _cvt_74
    tf32: _cvt_18
    ue5m3x2: _cvt_37

class _cvt_35(Spelling):
    ue5m3x2: _cvt_75

class _cvt_36(Spelling):
    bf16x2: _cvt_76

class _cvt_37(Spelling):
    bf16x2: _cvt_16
    f16x2: _cvt_16
    f32: _cvt_65

class _cvt_38(Spelling):
    tf32: _cvt_18

class _cvt_39(Spelling):
    ue5m3x2: _cvt_37
    ue8m0x2: _cvt_40

class _cvt_40(Spelling):
    bf16x2: _cvt_16
    f32: _cvt_65

class _cvt_41(Spelling):
    f32: _cvt_77

class _cvt_42(Spelling):
    bf16x2: _cvt_41
    f16x2: _cvt_41
    satfinite: _cvt_43

class _cvt_43(Spelling):
    bf16x2: _cvt_41
    e2m1x4: _cvt_78
    e2m3x4: _cvt_78
    e3m2x4: _cvt_78
    e4m3x4: _cvt_78
    e5m2x4: _cvt_78
    f16x2: _cvt_41

class _cvt_44(Spelling):
    f32: _cvt_65

class _cvt_45(Spelling):
    bf16: _cvt_18
    bf16x2: _cvt_44
    f16: _cvt_18
    f16x2: _cvt_44
    pzo: _cvt_32
    satfinite: _cvt_68
    tf32: _cvt_18

class _cvt_46(Spelling):
    bf16: _cvt_18
    bf16x2: _cvt_44
    e2m1x2: _cvt_37
    e2m3x2: _cvt_37
    e3m2x2: _cvt_37
    e4m3x2: _cvt_37
    e5m2x2: _cvt_37
    f16: _cvt_18
    f16x2: _cvt_44
    pzo: _cvt_71
    relu: _cvt_79
    s2f6x2: _cvt_40
    scaled__n1__ue8m0: _cvt_73
    scaled__n2__ue8m0: _cvt_80
    tf32: _cvt_18
    ue5m3x2: _cvt_37
    ue8m0x2: _cvt_40

class _cvt_47(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer | Special, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer | Special, /, *, pred: _Guard = None) -> Reg: ...

class _cvt_48(Spelling):
    f16: _cvt_16
    f32: _cvt_17

class _cvt_49(Spelling):
    f16: _cvt_16
    f32: _cvt_17
    f64: _cvt_17

class _cvt_50(Spelling):
    s32: _cvt_47
    s64: _cvt_47
    u16: _cvt_47
    u32: _cvt_47
    u64: _cvt_47

class _cvt_51(Spelling):
    s64: _cvt_47
    u32: _cvt_47
    u64: _cvt_47

class _cvt_52(Spelling):
    u64: _cvt_47

class _cvt_53(Spelling):
    s16: _cvt_47
    s32: _cvt_47
    s64: _cvt_47
    u16: _cvt_47
    u32: _cvt_47
    u64: _cvt_47
    u8: _cvt_47

class _cvt_54(Spelling):
    s16: _cvt_47
    s32: _cvt_47
    s64: _cvt_47
    s8: _cvt_47
    u32: _cvt_47
    u64: _cvt_47

class _cvt_55(Spelling):
    s16: _cvt_47
    s32: _cvt_47
    s64: _cvt_47
    s8: _cvt_47
    u64: _cvt_47

class _cvt_56(Spelling):
    s16: _cvt_47
    s32: _cvt_47
    s64: _cvt_47
    s8: _cvt_47

class _cvt_57(Spelling):
    s16: _cvt_47
    s32: _cvt_47
    s64: _cvt_47
    s8: _cvt_47
    u16: _cvt_47
    u32: _cvt_47
    u64: _cvt_47

class _cvt_58(Spelling):
    s32: _cvt_81

class _cvt_59(Spelling):
    s32: _cvt_82

class _cvt_60(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _cvt_61(Spelling):
    f16: _cvt_18
    f32: _cvt_23

class _cvt_62(Spelling):
    f32: _cvt_17
    f64: _cvt_17
    s16: _cvt_60
    s32: _cvt_60
    s64: _cvt_60
    s8: _cvt_60
    u16: _cvt_60
    u32: _cvt_60
    u64: _cvt_60
    u8: _cvt_60

class _cvt_63(Spelling):
    s16: _cvt_60
    s32: _cvt_60
    s64: _cvt_60
    s8: _cvt_60
    u16: _cvt_60
    u32: _cvt_60
    u64: _cvt_60
    u8: _cvt_60

class _cvt_64(Spelling):
    f32: _cvt_18
    s16: _cvt_18
    s32: _cvt_18
    s64: _cvt_18
    s8: _cvt_18
    u16: _cvt_18
    u32: _cvt_18
    u64: _cvt_18
    u8: _cvt_18

class _cvt_65(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Float, b: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float, b: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _cvt_66(Spelling):
    e2m1x2: _cvt_16
    e2m3x2: _cvt_16
    e3m2x2: _cvt_16
    e4m3x2: _cvt_16
    e5m2x2: _cvt_16
    f32: _cvt_65
    s2f6x2: _cvt_16

class _cvt_67(Spelling):
    e2m1x2: _cvt_16
    e2m3x2: _cvt_16
    e3m2x2: _cvt_16
    e4m3x2: _cvt_16
    e5m2x2: _cvt_16
    f32: _cvt_65

class _cvt_68(Spelling):
    bf16: _cvt_18
    bf16x2: _cvt_44
    f16: _cvt_18
    f16x2: _cvt_44
    pzo: _cvt_83

class _cvt_69(Spelling):
    bf16x2: _cvt_84

class _cvt_70(Spelling):
    e2m1x2: _cvt_16
    e2m3x2: _cvt_16
    e3m2x2: _cvt_16
    e4m3x2: _cvt_16
    e5m2x2: _cvt_16
    f32: _cvt_65
    s2f6x2: _cvt_16
    ue5m3x2: _cvt_16

class _cvt_71(Spelling):
    bf16: _cvt_18
    bf16x2: _cvt_44
    e2m1x2: _cvt_37
    e2m3x2: _cvt_37
    e3m2x2: _cvt_37
    e4m3x2: _cvt_37
    e5m2x2: _cvt_37
    f16: _cvt_18
    f16x2: _cvt_44
    scaled__n1__ue8m0: _cvt_85
    tf32: _cvt_18

class _cvt_72(Spelling):
    bf16x2: _cvt_86
    e2m1x2: _cvt_37
    e2m3x2: _cvt_37
    e3m2x2: _cvt_37
    e4m3x2: _cvt_37
    e5m2x2: _cvt_37
    pzo: _cvt_87
    s2f6x2: _cvt_40
    scaled__n1__ue8m0: _cvt_85
    scaled__n2__ue8m0: _cvt_88
    tf32: _cvt_18

class _cvt_73(Spelling):
    e2m1x2: _cvt_75
    e2m3x2: _cvt_75
    e3m2x2: _cvt_75
    e4m3x2: _cvt_75
    e5m2x2: _cvt_75
    ue5m3x2: _cvt_75

class _cvt_74(Spelling):
    bf16x2: _cvt_76
    s2f6x2: _cvt_89

class _cvt_75(Spelling):
    bf16x2: _cvt_90
    f16x2: _cvt_90
    f32: _cvt_91

class _cvt_76(Spelling):
    e2m1x2: _cvt_90
    e2m3x2: _cvt_90
    e3m2x2: _cvt_90
    e4m3x2: _cvt_90
    e5m2x2: _cvt_90
    s2f6x2: _cvt_90
    ue5m3x2: _cvt_90

class _cvt_77(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Float,
        b: _Float,
        rbits: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Float, b: _Float, rbits: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _cvt_78(Spelling):
    f32: _cvt_92

class _cvt_79(Spelling):
    e2m1x2: _cvt_37
    e2m3x2: _cvt_37
    e3m2x2: _cvt_37
    e4m3x2: _cvt_37
    e5m2x2: _cvt_37
    pzo: _cvt_87
    s2f6x2: _cvt_40
    scaled__n1__ue8m0: _cvt_85
    scaled__n2__ue8m0: _cvt_80
    tf32: _cvt_18

class _cvt_80(Spelling):
    s2f6x2: _cvt_89

class _cvt_81(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _cvt_82(Spelling):
    b32: _cvt_93

class _cvt_83(Spelling):
    bf16: _cvt_18
    bf16x2: _cvt_44
    f16: _cvt_18
    f16x2: _cvt_44

class _cvt_84(Spelling):
    e2m1x2: _cvt_90
    e2m3x2: _cvt_90
    e3m2x2: _cvt_90
    e4m3x2: _cvt_90
    e5m2x2: _cvt_90
    s2f6x2: _cvt_90

class _cvt_85(Spelling):
    e2m1x2: _cvt_75
    e2m3x2: _cvt_75
    e3m2x2: _cvt_75
    e4m3x2: _cvt_75
    e5m2x2: _cvt_75

class _cvt_86(Spelling):
    e2m1x2: _cvt_16
    e2m3x2: _cvt_16
    e3m2x2: _cvt_16
    e4m3x2: _cvt_16
    e5m2x2: _cvt_16
    s2f6x2: _cvt_16

class _cvt_87(Spelling):
    e2m1x2: _cvt_37
    e2m3x2: _cvt_37
    e3m2x2: _cvt_37
    e4m3x2: _cvt_37
    e5m2x2: _cvt_37
    scaled__n1__ue8m0: _cvt_85
    tf32: _cvt_18

class _cvt_88(Spelling):
    bf16x2: _cvt_84
    s2f6x2: _cvt_89

class _cvt_89(Spelling):
    bf16x2: _cvt_90
    f32: _cvt_91

class _cvt_90(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Source, scale: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, scale: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _cvt_91(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Float,
        b: _Float,
        scale: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Float, b: _Float, scale: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _cvt_92(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Floats, rbits: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Floats, rbits: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _cvt_93(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer,
        b: _Integer,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, c: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _cvta(Spelling):
    const: _cvta_1
    global_: _cvta_1
    local: _cvta_1
    param: _cvta_1
    param__entry: _cvta_1
    shared: _cvta_1
    shared__cluster: _cvta_1
    shared__cta: _cvta_1
    to: _cvta_2

class _cvta_1(Spelling):
    u64: _cvta_3

class _cvta_2(Spelling):
    const: _cvta_4
    global_: _cvta_4
    local: _cvta_4
    param: _cvta_4
    param__entry: _cvta_4
    shared: _cvta_4
    shared__cluster: _cvta_4
    shared__cta: _cvta_4

class _cvta_3(Spelling):
    @overload
    def __call__(self, p: Reg, a: _Source | _Symbol, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source | _Symbol, /, *, pred: _Guard = None) -> Reg: ...

class _cvta_4(Spelling):
    u64: _cvta_5

class _cvta_5(Spelling):
    @overload
    def __call__(self, p: Reg, a: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _discard(Spelling):
    L2: _discard_1
    global_: _discard_2

class _discard_1(Spelling):
    def __call__(self, a: _Address, size: _Whole, /, *, pred: _Guard = None) -> None: ...

class _discard_2(Spelling):
    L2: _discard_1

class _div(Spelling):
    approx: _div_1
    full: _div_1
    rm: _div_2
    rn: _div_2
    rp: _div_2
    rz: _div_2
    s16: _div_3
    s32: _div_3
    s64: _div_3
    u16: _div_3
    u32: _div_3
    u64: _div_3

class _div_1(Spelling):
    f32: _div_4
    ftz: _div_5

class _div_2(Spelling):
    f32: _div_4
    f64: _div_4
    ftz: _div_5

class _div_3(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _div_4(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Float, b: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float, b: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _div_5(Spelling):
    f32: _div_4

class _dp2a(Spelling):
    hi: _dp2a_1
    lo: _dp2a_1

class _dp2a_1(Spelling):
    s32: _dp2a_2
    u32: _dp2a_2

class _dp2a_2(Spelling):
    s32: _dp2a_3
    u32: _dp2a_3

class _dp2a_3(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer,
        b: _Integer,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, c: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _dp4a(Spelling):
    s32: _dp4a_1
    u32: _dp4a_1

class _dp4a_1(Spelling):
    s32: _dp4a_2
    u32: _dp4a_2

class _dp4a_2(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer,
        b: _Integer,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, c: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _elect(Spelling):
    sync: _elect_1

class _elect_1(Spelling):
    @overload
    def __call__(self, d: Pair, membermask: _Integer, /, *, pred: _Guard = None) -> Pair: ...
    @overload
    def __call__(self, membermask: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _ex2(Spelling):
    approx: _ex2_1

class _ex2_1(Spelling):
    f16: _ex2_2
    f16x2: _ex2_2
    f32: _ex2_3
    ftz: _ex2_4

class _ex2_2(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _ex2_3(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _ex2_4(Spelling):
    bf16: _ex2_2
    bf16x2: _ex2_2
    f32: _ex2_3

class _exit(Spelling):
    def __call__(self, *, pred: _Guard = None) -> None: ...

class _fabric(Spelling):
    submit: _fabric_1
    try_atom: _fabric_2
    try_get: _fabric_3
    try_pullred: _fabric_4
    try_put: _fabric_5
    try_red: _fabric_6
    wait: _fabric_7

class _fabric_1(Spelling):
    op_restrict__fetching: _fabric_8
    def __call__(self, *, pred: _Guard = None) -> None: ...

class _fabric_2(Spelling):
    async_: _fabric_9

class _fabric_3(Spelling):
    async_: _fabric_10

class _fabric_4(Spelling):
    async_: _fabric_11

class _fabric_5(Spelling):
    async_: _fabric_12

class _fabric_6(Spelling):
    async_: _fabric_13

class _fabric_7(Spelling):
    sync_restrict__reads: _fabric_8

class _fabric_8(Spelling):
    def __call__(self, *, pred: _Guard = None) -> None: ...

class _fabric_9(Spelling):
    shared__cta: _fabric_14

class _fabric_10(Spelling):
    shared__cta: _fabric_15

class _fabric_11(Spelling):
    multimem: _fabric_16

class _fabric_12(Spelling):
    multimem: _fabric_17
    shared__cta: _fabric_18

class _fabric_13(Spelling):
    multimem: _fabric_19
    shared__cta: _fabric_20

class _fabric_14(Spelling):
    mbarrier__complete_tx__16B: _fabric_21

class _fabric_15(Spelling):
    mbarrier__complete_tx__bytes: _fabric_22

class _fabric_16(Spelling):
    shared__cta: _fabric_23

class _fabric_17(Spelling):
    shared__cta: _fabric_18

class _fabric_18(Spelling):
    mbarrier__complete_tx__16B: _fabric_24

class _fabric_19(Spelling):
    shared__cta: _fabric_20

class _fabric_20(Spelling):
    mbarrier__complete_tx__16B: _fabric_25

class _fabric_21(Spelling):
    mbarrier__report__fabric: _fabric_26

class _fabric_22(Spelling):
    mbarrier__report__fabric: _fabric_27

class _fabric_23(Spelling):
    mbarrier__complete_tx__bytes: _fabric_28

class _fabric_24(Spelling):
    mbarrier__report__fabric: _fabric_29

class _fabric_25(Spelling):
    mbarrier__report__fabric: _fabric_30

class _fabric_26(Spelling):
    relaxed: _fabric_31

class _fabric_27(Spelling):
    relaxed: _fabric_32

class _fabric_28(Spelling):
    mbarrier__report__fabric: _fabric_33

class _fabric_29(Spelling):
    counted__bytes: _fabric_34
    cp_mask: _fabric_35
    relaxed: _fabric_36

class _fabric_30(Spelling):
    counted__bytes: _fabric_37
    relaxed: _fabric_38

class _fabric_31(Spelling):
    sys: _fabric_39

class _fabric_32(Spelling):
    sys: _fabric_40

class _fabric_33(Spelling):
    relaxed: _fabric_41

class _fabric_34(Spelling):
    relaxed: _fabric_36

class _fabric_35(Spelling):
    relaxed: _fabric_42

class _fabric_36(Spelling):
    sys: _fabric_43

class _fabric_37(Spelling):
    relaxed: _fabric_38

class _fabric_38(Spelling):
    sys: _fabric_44

class _fabric_39(Spelling):
    L2__cache_hint: _fabric_45
    add: _fabric_46
    and_: _fabric_47
    cas: _fabric_48
    exch: _fabric_48
    max: _fabric_49
    min: _fabric_49
    or_: _fabric_47
    xor: _fabric_47

class _fabric_40(Spelling):
    L2__cache_hint: _fabric_50
    b128: _fabric_51

class _fabric_41(Spelling):
    sys: _fabric_52

class _fabric_42(Spelling):
    sys: _fabric_53

class _fabric_43(Spelling):
    L2__cache_hint: _fabric_54
    b128: _fabric_55

class _fabric_44(Spelling):
    L2__cache_hint: _fabric_56
    add: _fabric_57
    and_: _fabric_58
    max: _fabric_59
    min: _fabric_59
    or_: _fabric_58
    xor: _fabric_58

class _fabric_45(Spelling):
    add: _fabric_60
    and_: _fabric_61
    cas: _fabric_62
    exch: _fabric_62
    max: _fabric_63
    min: _fabric_63
    or_: _fabric_61
    xor: _fabric_61

class _fabric_46(Spelling):
    bf16x2: _fabric_64
    f16x2: _fabric_64
    f32: _fabric_64
    f64: _fabric_64
    u32: _fabric_64
    u64: _fabric_64

class _fabric_47(Spelling):
    b32: _fabric_64
    b64: _fabric_64

class _fabric_48(Spelling):
    b128: _fabric_64
    b32: _fabric_64
    b64: _fabric_64

class _fabric_49(Spelling):
    bf16x2: _fabric_64
    f16x2: _fabric_64
    s32: _fabric_64
    s64: _fabric_64
    u32: _fabric_64
    u64: _fabric_64

class _fabric_50(Spelling):
    b128: _fabric_65

class _fabric_51(Spelling):
    def __call__(
        self,
        dst: _Address,
        srcLeId: FabricHandle,
        size: _Integer,
        bar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _fabric_52(Spelling):
    add: _fabric_66
    and_: _fabric_67
    max: _fabric_68
    min: _fabric_68
    or_: _fabric_67
    xor: _fabric_67

class _fabric_53(Spelling):
    L2__cache_hint: _fabric_69
    b128: _fabric_70

class _fabric_54(Spelling):
    b128: _fabric_71

class _fabric_55(Spelling):
    def __call__(
        self,
        dstLeId: FabricHandle,
        src: _Address,
        size: _Integer,
        bar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _fabric_56(Spelling):
    add: _fabric_72
    and_: _fabric_73
    max: _fabric_74
    min: _fabric_74
    or_: _fabric_73
    xor: _fabric_73

class _fabric_57(Spelling):
    bf16: _fabric_55
    f16: _fabric_55
    f32: _fabric_55
    f64: _fabric_55
    u32: _fabric_55
    u64: _fabric_55

class _fabric_58(Spelling):
    b32: _fabric_55
    b64: _fabric_55

class _fabric_59(Spelling):
    bf16: _fabric_55
    f16: _fabric_55
    s32: _fabric_55
    s64: _fabric_55
    u32: _fabric_55
    u64: _fabric_55

class _fabric_60(Spelling):
    bf16x2: _fabric_75
    f16x2: _fabric_75
    f32: _fabric_75
    f64: _fabric_75
    u32: _fabric_75
    u64: _fabric_75

class _fabric_61(Spelling):
    b32: _fabric_75
    b64: _fabric_75

class _fabric_62(Spelling):
    b128: _fabric_75
    b32: _fabric_75
    b64: _fabric_75

class _fabric_63(Spelling):
    bf16x2: _fabric_75
    f16x2: _fabric_75
    s32: _fabric_75
    s64: _fabric_75
    u32: _fabric_75
    u64: _fabric_75

class _fabric_64(Spelling):
    def __call__(
        self,
        dstLeId: FabricHandle,
        dst: _Address,
        src: _Address,
        bar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _fabric_65(Spelling):
    def __call__(
        self,
        dst: _Address,
        srcLeId: FabricHandle,
        size: _Integer,
        bar: _Address,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _fabric_66(Spelling):
    acc__f16: _fabric_76
    acc__f32: _fabric_77
    bf16: _fabric_78
    f16: _fabric_78
    f32: _fabric_78
    u32: _fabric_78
    u64: _fabric_78

class _fabric_67(Spelling):
    b32: _fabric_78
    b64: _fabric_78

class _fabric_68(Spelling):
    bf16: _fabric_78
    e4m3: _fabric_78
    e5m2: _fabric_78
    f16: _fabric_78
    s32: _fabric_78
    s64: _fabric_78
    u32: _fabric_78
    u64: _fabric_78

class _fabric_69(Spelling):
    b128: _fabric_79

class _fabric_70(Spelling):
    def __call__(
        self,
        dstLeId: FabricHandle,
        src: _Address,
        size: _Integer,
        bar: _Address,
        bytemask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _fabric_71(Spelling):
    def __call__(
        self,
        dstLeId: FabricHandle,
        src: _Address,
        size: _Integer,
        bar: _Address,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _fabric_72(Spelling):
    bf16: _fabric_71
    f16: _fabric_71
    f32: _fabric_71
    f64: _fabric_71
    u32: _fabric_71
    u64: _fabric_71

class _fabric_73(Spelling):
    b32: _fabric_71
    b64: _fabric_71

class _fabric_74(Spelling):
    bf16: _fabric_71
    f16: _fabric_71
    s32: _fabric_71
    s64: _fabric_71
    u32: _fabric_71
    u64: _fabric_71

class _fabric_75(Spelling):
    def __call__(
        self,
        dstLeId: FabricHandle,
        dst: _Address,
        src: _Address,
        bar: _Address,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _fabric_76(Spelling):
    e4m3: _fabric_78
    e5m2: _fabric_78

class _fabric_77(Spelling):
    bf16: _fabric_78
    f16: _fabric_78

class _fabric_78(Spelling):
    sync: _fabric_80

class _fabric_79(Spelling):
    def __call__(
        self,
        dstLeId: FabricHandle,
        src: _Address,
        size: _Integer,
        bar: _Address,
        bytemask: _Integer,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _fabric_80(Spelling):
    def __call__(
        self,
        dst: _Address,
        srcLeId: FabricHandle,
        size: _Integer,
        bar: _Address,
        membermask: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _fence(Spelling):
    acq_rel: _fence_1
    acquire: _fence_2
    cluster: _fence_3
    cta: _fence_3
    gpu: _fence_3
    mbarrier_init: _fence_4
    proxy: _fence_5
    release: _fence_6
    sc: _fence_1
    sys: _fence_3

class _fence_1(Spelling):
    cluster: _fence_3
    cta: _fence_3
    gpu: _fence_3
    sys: _fence_3

class _fence_2(Spelling):
    cluster: _fence_3
    cta: _fence_3
    gpu: _fence_3
    sync_restrict__shared__cluster: _fence_7
    sys: _fence_3

class _fence_3(Spelling):
    def __call__(self, *, pred: _Guard = None) -> None: ...

class _fence_4(Spelling):
    release: _fence_7

class _fence_5(Spelling):
    alias: _fence_8
    async_: _fence_9
    async__generic: _fence_10
    fabric__fabric: _fence_11
    fabric__generic: _fence_11
    generic__fabric: _fence_11
    tensormap__generic: _fence_12

class _fence_6(Spelling):
    cluster: _fence_3
    cta: _fence_3
    gpu: _fence_3
    sync_restrict__shared__cta: _fence_7
    sys: _fence_3

class _fence_7(Spelling):
    cluster: _fence_3

class _fence_8(Spelling):
    acquire: _fence_13
    release: _fence_13
    def __call__(self, *, pred: _Guard = None) -> None: ...

class _fence_9(Spelling):
    global_: _fence_3
    shared__cluster: _fence_3
    shared__cta: _fence_3
    def __call__(self, *, pred: _Guard = None) -> None: ...

class _fence_10(Spelling):
    acquire: _fence_14
    release: _fence_15

class _fence_11(Spelling):
    alias: _fence_16

class _fence_12(Spelling):
    acquire: _fence_17
    release: _fence_1

class _fence_13(Spelling):
    sys: _fence_3

class _fence_14(Spelling):
    sync_restrict__shared__cluster: _fence_7

class _fence_15(Spelling):
    sync_restrict__shared__cluster__read: _fence_7
    sync_restrict__shared__cta: _fence_7

class _fence_16(Spelling):
    acquire: _fence_13
    release: _fence_13

class _fence_17(Spelling):
    cluster: _fence_18
    cta: _fence_18
    gpu: _fence_18
    sys: _fence_18

class _fence_18(Spelling):
    def __call__(self, addr: _Address, size: _Whole, /, *, pred: _Guard = None) -> None: ...

class _fma(Spelling):
    e4m3x4: _fma_1
    e5m2x4: _fma_1
    rm: _fma_2
    rn: _fma_3
    rp: _fma_2
    rz: _fma_2
    satfinite: _fma_4

class _fma_1(Spelling):
    e2m1p4x4: _fma_5
    e2m1x4: _fma_5
    e2m3x4: _fma_5
    e3m2x4: _fma_5
    e4m3x4: _fma_5
    e5m2x4: _fma_5
    ue8m0x4: _fma_5

class _fma_2(Spelling):
    f32: _fma_6
    f32x2: _fma_7
    f64: _fma_8
    ftz: _fma_9
    sat: _fma_10

class _fma_3(Spelling):
    bf16: _fma_11
    bf16x2: _fma_11
    e4m3x4: _fma_1
    e5m2x4: _fma_1
    f16: _fma_11
    f16x2: _fma_11
    f32: _fma_6
    f32x2: _fma_7
    f64: _fma_8
    ftz: _fma_12
    oob: _fma_13
    relu: _fma_14
    sat: _fma_15
    satfinite: _fma_4

class _fma_4(Spelling):
    e4m3x4: _fma_1
    e5m2x4: _fma_1

class _fma_5(Spelling):
    e2m1p4x4: _fma_11
    e2m1x4: _fma_11
    e2m3x4: _fma_11
    e3m2x4: _fma_11
    e4m3x4: _fma_11
    e5m2x4: _fma_11
    ue8m0x4: _fma_11

class _fma_6(Spelling):
    bf16: _fma_16
    f16: _fma_16
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Float,
        b: _Float,
        c: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Float, b: _Float, c: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _fma_7(Spelling):
    bf16x2: _fma_17
    f16x2: _fma_17
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Source,
        b: _Source,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Source, b: _Source, c: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _fma_8(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Float,
        b: _Float,
        c: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Float, b: _Float, c: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _fma_9(Spelling):
    f32: _fma_8
    f32x2: _fma_11
    sat: _fma_18

class _fma_10(Spelling):
    f32: _fma_6

class _fma_11(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Source,
        b: _Source,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Source, b: _Source, c: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _fma_12(Spelling):
    f16: _fma_11
    f16x2: _fma_11
    f32: _fma_8
    f32x2: _fma_11
    relu: _fma_19
    sat: _fma_20

class _fma_13(Spelling):
    bf16: _fma_11
    bf16x2: _fma_11
    f16: _fma_11
    f16x2: _fma_11
    relu: _fma_14

class _fma_14(Spelling):
    bf16: _fma_11
    bf16x2: _fma_11
    f16: _fma_11
    f16x2: _fma_11

class _fma_15(Spelling):
    f16: _fma_11
    f16x2: _fma_11
    f32: _fma_6

class _fma_16(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Source,
        b: _Source,
        c: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Source, b: _Source, c: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _fma_17(Spelling):
    f32x2: _fma_21

class _fma_18(Spelling):
    f32: _fma_8

class _fma_19(Spelling):
    f16: _fma_11
    f16x2: _fma_11

class _fma_20(Spelling):
    f16: _fma_11
    f16x2: _fma_11
    f32: _fma_8

class _fma_21(Spelling):
    f32x2: _fma_11

class _fns(Spelling):
    b32: _fns_1

class _fns_1(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        mask: _Integer,
        base: _Integer,
        offset: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        mask: _Integer,
        base: _Integer,
        offset: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _getctarank(Spelling):
    shared__cluster: _getctarank_1
    u32: _getctarank_2
    u64: _getctarank_2

class _getctarank_1(Spelling):
    u32: _getctarank_3
    u64: _getctarank_3

class _getctarank_2(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _getctarank_3(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Source | _Symbol, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source | _Symbol, /, *, pred: _Guard = None) -> Reg: ...

class _griddepcontrol(Spelling):
    launch_dependents: _griddepcontrol_1
    wait: _griddepcontrol_1

class _griddepcontrol_1(Spelling):
    def __call__(self, *, pred: _Guard = None) -> None: ...

class _isspacep(Spelling):
    const: _isspacep_1
    global_: _isspacep_1
    local: _isspacep_1
    param: _isspacep_1
    param__entry: _isspacep_1
    shared: _isspacep_1
    shared__cluster: _isspacep_1
    shared__cta: _isspacep_1

class _isspacep_1(Spelling):
    @overload
    def __call__(self, p: Reg, a: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _istypep(Spelling):
    samplerref: _istypep_1
    surfref: _istypep_1
    texref: _istypep_1

class _istypep_1(Spelling):
    @overload
    def __call__(self, p: Reg, a: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _ld(Spelling):
    L1__evict_first: _ld_1
    L1__evict_last: _ld_1
    L1__evict_normal: _ld_1
    L1__evict_unchanged: _ld_1
    L1__no_allocate: _ld_1
    L2__128B: _ld_2
    L2__256B: _ld_2
    L2__64B: _ld_2
    L2__cache_hint: _ld_3
    L2__evict_first: _ld_4
    L2__evict_last: _ld_4
    L2__evict_normal: _ld_4
    acquire: _ld_5
    b128: _ld_6
    b16: _ld_6
    b32: _ld_6
    b64: _ld_6
    b8: _ld_6
    ca: _ld_7
    cg: _ld_7
    const: _ld_8
    cs: _ld_7
    cv: _ld_7
    f32: _ld_6
    f64: _ld_6
    global_: _ld_9
    local: _ld_8
    lu: _ld_7
    mmio: _ld_10
    param: _ld_8
    param__entry: _ld_8
    param__func: _ld_11
    proxy__readonly: _ld_12
    relaxed: _ld_5
    s16: _ld_6
    s32: _ld_6
    s64: _ld_6
    s8: _ld_6
    shared: _ld_8
    shared__cluster: _ld_8
    shared__cta: _ld_8
    u16: _ld_6
    u32: _ld_6
    u64: _ld_6
    u8: _ld_6
    v2: _ld_13
    v4: _ld_14
    v8: _ld_15
    volatile: _ld_16
    weak: _ld_17

class _ld_1(Spelling):
    L2__128B: _ld_2
    L2__256B: _ld_2
    L2__64B: _ld_2
    L2__cache_hint: _ld_3
    L2__evict_first: _ld_4
    L2__evict_last: _ld_4
    L2__evict_normal: _ld_4
    b128: _ld_6
    b16: _ld_6
    b32: _ld_6
    b64: _ld_6
    b8: _ld_6
    f32: _ld_6
    f64: _ld_6
    s16: _ld_6
    s32: _ld_6
    s64: _ld_6
    s8: _ld_6
    u16: _ld_6
    u32: _ld_6
    u64: _ld_6
    u8: _ld_6
    v2: _ld_13
    v4: _ld_14
    v8: _ld_15

class _ld_2(Spelling):
    b128: _ld_6
    b16: _ld_6
    b32: _ld_6
    b64: _ld_6
    b8: _ld_6
    f32: _ld_6
    f64: _ld_6
    s16: _ld_6
    s32: _ld_6
    s64: _ld_6
    s8: _ld_6
    u16: _ld_6
    u32: _ld_6
    u64: _ld_6
    u8: _ld_6
    v2: _ld_13
    v4: _ld_14
    v8: _ld_15

class _ld_3(Spelling):
    L2__128B: _ld_18
    L2__256B: _ld_18
    L2__64B: _ld_18
    b128: _ld_19
    b16: _ld_19
    b32: _ld_19
    b64: _ld_19
    b8: _ld_19
    f32: _ld_19
    f64: _ld_19
    s16: _ld_19
    s32: _ld_19
    s64: _ld_19
    s8: _ld_19
    u16: _ld_19
    u32: _ld_19
    u64: _ld_19
    u8: _ld_19
    v2: _ld_20
    v4: _ld_21
    v8: _ld_22

class _ld_4(Spelling):
    L2__128B: _ld_23
    L2__256B: _ld_23
    L2__64B: _ld_23
    L2__cache_hint: _ld_24
    v4: _ld_25
    v8: _ld_15

class _ld_5(Spelling):
    cluster: _ld_26
    cta: _ld_26
    gpu: _ld_26
    sys: _ld_26

class _ld_6(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Address, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Address, /, *, pred: _Guard = None) -> Reg: ...

class _ld_7(Spelling):
    L2__128B: _ld_2
    L2__256B: _ld_2
    L2__64B: _ld_2
    L2__cache_hint: _ld_3
    b128: _ld_6
    b16: _ld_6
    b32: _ld_6
    b64: _ld_6
    b8: _ld_6
    f32: _ld_6
    f64: _ld_6
    s16: _ld_6
    s32: _ld_6
    s64: _ld_6
    s8: _ld_6
    u16: _ld_6
    u32: _ld_6
    u64: _ld_6
    u8: _ld_6
    v2: _ld_13
    v4: _ld_14
    v8: _ld_15

class _ld_8(Spelling):
    b128: _ld_6
    b16: _ld_6
    b32: _ld_6
    b64: _ld_6
    b8: _ld_6
    ca: _ld_11
    cg: _ld_11
    cs: _ld_11
    cv: _ld_11
    f32: _ld_6
    f64: _ld_6
    lu: _ld_11
    s16: _ld_6
    s32: _ld_6
    s64: _ld_6
    s8: _ld_6
    u16: _ld_6
    u32: _ld_6
    u64: _ld_6
    u8: _ld_6
    v2: _ld_13
    v4: _ld_27

class _ld_9(Spelling):
    L1__evict_first: _ld_1
    L1__evict_last: _ld_1
    L1__evict_normal: _ld_1
    L1__evict_unchanged: _ld_1
    L1__no_allocate: _ld_1
    L2__128B: _ld_2
    L2__256B: _ld_2
    L2__64B: _ld_2
    L2__cache_hint: _ld_3
    L2__evict_first: _ld_4
    L2__evict_last: _ld_4
    L2__evict_normal: _ld_4
    b128: _ld_6
    b16: _ld_6
    b32: _ld_6
    b64: _ld_6
    b8: _ld_6
    ca: _ld_28
    cg: _ld_28
    cs: _ld_28
    cv: _ld_7
    f32: _ld_6
    f64: _ld_6
    lu: _ld_7
    nc: _ld_29
    s16: _ld_6
    s32: _ld_6
    s64: _ld_6
    s8: _ld_6
    u16: _ld_6
    u32: _ld_6
    u64: _ld_6
    u8: _ld_6
    v2: _ld_13
    v4: _ld_14
    v8: _ld_15

class _ld_10(Spelling):
    acquire: _ld_30
    relaxed: _ld_30

class _ld_11(Spelling):
    b128: _ld_6
    b16: _ld_6
    b32: _ld_6
    b64: _ld_6
    b8: _ld_6
    f32: _ld_6
    f64: _ld_6
    s16: _ld_6
    s32: _ld_6
    s64: _ld_6
    s8: _ld_6
    u16: _ld_6
    u32: _ld_6
    u64: _ld_6
    u8: _ld_6
    v2: _ld_13
    v4: _ld_27

class _ld_12(Spelling):
    b16: _ld_6
    b32: _ld_6
    b64: _ld_6
    b8: _ld_6
    f32: _ld_6
    f64: _ld_6
    global_: _ld_31
    s16: _ld_6
    s32: _ld_6
    s64: _ld_6
    s8: _ld_6
    u16: _ld_6
    u32: _ld_6
    u64: _ld_6
    u8: _ld_6

class _ld_13(Spelling):
    b16: _ld_32
    b32: _ld_32
    b64: _ld_32
    b8: _ld_32
    f32: _ld_32
    f64: _ld_32
    s16: _ld_32
    s32: _ld_32
    s64: _ld_32
    s8: _ld_32
    u16: _ld_32
    u32: _ld_32
    u64: _ld_32
    u8: _ld_32

class _ld_14(Spelling):
    b16: _ld_32
    b32: _ld_32
    b64: _ld_33
    b8: _ld_32
    f32: _ld_32
    f64: _ld_33
    s16: _ld_32
    s32: _ld_32
    s64: _ld_33
    s8: _ld_32
    u16: _ld_32
    u32: _ld_32
    u64: _ld_33
    u8: _ld_32

class _ld_15(Spelling):
    b32: _ld_33
    f32: _ld_33
    s32: _ld_33
    u32: _ld_33

class _ld_16(Spelling):
    L2__128B: _ld_2
    L2__256B: _ld_2
    L2__64B: _ld_2
    b128: _ld_6
    b16: _ld_6
    b32: _ld_6
    b64: _ld_6
    b8: _ld_6
    f32: _ld_6
    f64: _ld_6
    global_: _ld_34
    local: _ld_11
    s16: _ld_6
    s32: _ld_6
    s64: _ld_6
    s8: _ld_6
    shared: _ld_11
    shared__cluster: _ld_11
    shared__cta: _ld_11
    u16: _ld_6
    u32: _ld_6
    u64: _ld_6
    u8: _ld_6
    v2: _ld_13
    v4: _ld_14
    v8: _ld_15

class _ld_17(Spelling):
    L1__evict_first: _ld_1
    L1__evict_last: _ld_1
    L1__evict_normal: _ld_1
    L1__evict_unchanged: _ld_1
    L1__no_allocate: _ld_1
    L2__128B: _ld_2
    L2__256B: _ld_2
    L2__64B: _ld_2
    L2__cache_hint: _ld_3
    L2__evict_first: _ld_4
    L2__evict_last: _ld_4
    L2__evict_normal: _ld_4
    b128: _ld_6
    b16: _ld_6
    b32: _ld_6
    b64: _ld_6
    b8: _ld_6
    ca: _ld_7
    cg: _ld_7
    const: _ld_8
    cs: _ld_7
    cv: _ld_7
    f32: _ld_6
    f64: _ld_6
    global_: _ld_35
    local: _ld_8
    lu: _ld_7
    param: _ld_8
    param__entry: _ld_8
    param__func: _ld_11
    s16: _ld_6
    s32: _ld_6
    s64: _ld_6
    s8: _ld_6
    shared: _ld_8
    shared__cluster: _ld_8
    shared__cta: _ld_8
    u16: _ld_6
    u32: _ld_6
    u64: _ld_6
    u8: _ld_6
    v2: _ld_13
    v4: _ld_14
    v8: _ld_15

class _ld_18(Spelling):
    b128: _ld_19
    b16: _ld_19
    b32: _ld_19
    b64: _ld_19
    b8: _ld_19
    f32: _ld_19
    f64: _ld_19
    s16: _ld_19
    s32: _ld_19
    s64: _ld_19
    s8: _ld_19
    u16: _ld_19
    u32: _ld_19
    u64: _ld_19
    u8: _ld_19
    v2: _ld_20
    v4: _ld_21
    v8: _ld_22

class _ld_19(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Address, policy: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Address, policy: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _ld_20(Spelling):
    b16: _ld_36
    b32: _ld_36
    b64: _ld_36
    b8: _ld_36
    f32: _ld_36
    f64: _ld_36
    s16: _ld_36
    s32: _ld_36
    s64: _ld_36
    s8: _ld_36
    u16: _ld_36
    u32: _ld_36
    u64: _ld_36
    u8: _ld_36

class _ld_21(Spelling):
    b16: _ld_36
    b32: _ld_36
    b64: _ld_37
    b8: _ld_36
    f32: _ld_36
    f64: _ld_37
    s16: _ld_36
    s32: _ld_36
    s64: _ld_37
    s8: _ld_36
    u16: _ld_36
    u32: _ld_36
    u64: _ld_37
    u8: _ld_36

class _ld_22(Spelling):
    b32: _ld_37
    f32: _ld_37
    s32: _ld_37
    u32: _ld_37

class _ld_23(Spelling):
    v4: _ld_25
    v8: _ld_15

class _ld_24(Spelling):
    L2__128B: _ld_38
    L2__256B: _ld_38
    L2__64B: _ld_38
    v4: _ld_39
    v8: _ld_22

class _ld_25(Spelling):
    b64: _ld_33
    f64: _ld_33
    s64: _ld_33
    u64: _ld_33

class _ld_26(Spelling):
    L1__evict_first: _ld_1
    L1__evict_last: _ld_1
    L1__evict_normal: _ld_1
    L1__evict_unchanged: _ld_1
    L1__no_allocate: _ld_1
    L2__128B: _ld_2
    L2__256B: _ld_2
    L2__64B: _ld_2
    L2__cache_hint: _ld_3
    L2__evict_first: _ld_4
    L2__evict_last: _ld_4
    L2__evict_normal: _ld_4
    b128: _ld_6
    b16: _ld_6
    b32: _ld_6
    b64: _ld_6
    b8: _ld_6
    f32: _ld_6
    f64: _ld_6
    global_: _ld_29
    s16: _ld_6
    s32: _ld_6
    s64: _ld_6
    s8: _ld_6
    shared: _ld_11
    shared__cluster: _ld_11
    shared__cta: _ld_11
    u16: _ld_6
    u32: _ld_6
    u64: _ld_6
    u8: _ld_6
    v2: _ld_13
    v4: _ld_14
    v8: _ld_15

class _ld_27(Spelling):
    b16: _ld_32
    b32: _ld_32
    b8: _ld_32
    f32: _ld_32
    s16: _ld_32
    s32: _ld_32
    s8: _ld_32
    u16: _ld_32
    u32: _ld_32
    u8: _ld_32

class _ld_28(Spelling):
    L2__128B: _ld_2
    L2__256B: _ld_2
    L2__64B: _ld_2
    L2__cache_hint: _ld_3
    b128: _ld_6
    b16: _ld_6
    b32: _ld_6
    b64: _ld_6
    b8: _ld_6
    f32: _ld_6
    f64: _ld_6
    nc: _ld_7
    s16: _ld_6
    s32: _ld_6
    s64: _ld_6
    s8: _ld_6
    u16: _ld_6
    u32: _ld_6
    u64: _ld_6
    u8: _ld_6
    v2: _ld_13
    v4: _ld_14
    v8: _ld_15

class _ld_29(Spelling):
    L1__evict_first: _ld_1
    L1__evict_last: _ld_1
    L1__evict_normal: _ld_1
    L1__evict_unchanged: _ld_1
    L1__no_allocate: _ld_1
    L2__128B: _ld_2
    L2__256B: _ld_2
    L2__64B: _ld_2
    L2__cache_hint: _ld_3
    L2__evict_first: _ld_4
    L2__evict_last: _ld_4
    L2__evict_normal: _ld_4
    b128: _ld_6
    b16: _ld_6
    b32: _ld_6
    b64: _ld_6
    b8: _ld_6
    f32: _ld_6
    f64: _ld_6
    s16: _ld_6
    s32: _ld_6
    s64: _ld_6
    s8: _ld_6
    u16: _ld_6
    u32: _ld_6
    u64: _ld_6
    u8: _ld_6
    v2: _ld_13
    v4: _ld_14
    v8: _ld_15

class _ld_30(Spelling):
    sys: _ld_40

class _ld_31(Spelling):
    b16: _ld_6
    b32: _ld_6
    b64: _ld_6
    b8: _ld_6
    f32: _ld_6
    f64: _ld_6
    s16: _ld_6
    s32: _ld_6
    s64: _ld_6
    s8: _ld_6
    u16: _ld_6
    u32: _ld_6
    u64: _ld_6
    u8: _ld_6

class _ld_32(Spelling):
    @overload
    def __call__(self, d: _Vector, a: _Address, /, *, pred: _Guard = None) -> _Vector: ...
    @overload
    def __call__(self, a: _Address, /, *, pred: _Guard = None) -> list[Reg]: ...

class _ld_33(Spelling):
    @overload
    def __call__(self, d: _Vector, a: _Address, /, *, pred: _Guard = None) -> _Vector: ...
    @overload
    def __call__(self, d: _Mixed, a: _Address, /, *, pred: _Guard = None) -> _Mixed: ...
    @overload
    def __call__(self, a: _Address, /, *, pred: _Guard = None) -> list[Reg]: ...

class _ld_34(Spelling):
    L2__128B: _ld_2
    L2__256B: _ld_2
    L2__64B: _ld_2
    b128: _ld_6
    b16: _ld_6
    b32: _ld_6
    b64: _ld_6
    b8: _ld_6
    f32: _ld_6
    f64: _ld_6
    s16: _ld_6
    s32: _ld_6
    s64: _ld_6
    s8: _ld_6
    u16: _ld_6
    u32: _ld_6
    u64: _ld_6
    u8: _ld_6
    v2: _ld_13
    v4: _ld_14
    v8: _ld_15

class _ld_35(Spelling):
    L1__evict_first: _ld_1
    L1__evict_last: _ld_1
    L1__evict_normal: _ld_1
    L1__evict_unchanged: _ld_1
    L1__no_allocate: _ld_1
    L2__128B: _ld_2
    L2__256B: _ld_2
    L2__64B: _ld_2
    L2__cache_hint: _ld_3
    L2__evict_first: _ld_4
    L2__evict_last: _ld_4
    L2__evict_normal: _ld_4
    b128: _ld_6
    b16: _ld_6
    b32: _ld_6
    b64: _ld_6
    b8: _ld_6
    ca: _ld_7
    cg: _ld_7
    cs: _ld_7
    cv: _ld_7
    f32: _ld_6
    f64: _ld_6
    lu: _ld_7
    s16: _ld_6
    s32: _ld_6
    s64: _ld_6
    s8: _ld_6
    u16: _ld_6
    u32: _ld_6
    u64: _ld_6
    u8: _ld_6
    v2: _ld_13
    v4: _ld_14
    v8: _ld_15

class _ld_36(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        a: _Address,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(self, a: _Address, policy: _Integer, /, *, pred: _Guard = None) -> list[Reg]: ...

class _ld_37(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        a: _Address,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: _Mixed,
        a: _Address,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> _Mixed: ...
    @overload
    def __call__(self, a: _Address, policy: _Integer, /, *, pred: _Guard = None) -> list[Reg]: ...

class _ld_38(Spelling):
    v4: _ld_39
    v8: _ld_22

class _ld_39(Spelling):
    b64: _ld_37
    f64: _ld_37
    s64: _ld_37
    u64: _ld_37

class _ld_40(Spelling):
    b128: _ld_6
    b16: _ld_6
    b32: _ld_6
    b64: _ld_6
    b8: _ld_6
    f32: _ld_6
    f64: _ld_6
    global_: _ld_41
    s16: _ld_6
    s32: _ld_6
    s64: _ld_6
    s8: _ld_6
    u16: _ld_6
    u32: _ld_6
    u64: _ld_6
    u8: _ld_6

class _ld_41(Spelling):
    b128: _ld_6
    b16: _ld_6
    b32: _ld_6
    b64: _ld_6
    b8: _ld_6
    f32: _ld_6
    f64: _ld_6
    s16: _ld_6
    s32: _ld_6
    s64: _ld_6
    s8: _ld_6
    u16: _ld_6
    u32: _ld_6
    u64: _ld_6
    u8: _ld_6

class _ldmatrix(Spelling):
    sync: _ldmatrix_1

class _ldmatrix_1(Spelling):
    aligned: _ldmatrix_2

class _ldmatrix_2(Spelling):
    m16n16: _ldmatrix_3
    m8n16: _ldmatrix_4
    m8n8: _ldmatrix_5

class _ldmatrix_3(Spelling):
    x1: _ldmatrix_6
    x2: _ldmatrix_6

class _ldmatrix_4(Spelling):
    x1: _ldmatrix_7
    x2: _ldmatrix_7
    x4: _ldmatrix_7

class _ldmatrix_5(Spelling):
    x1: _ldmatrix_8
    x2: _ldmatrix_8
    x4: _ldmatrix_8

class _ldmatrix_6(Spelling):
    trans: _ldmatrix_9

class _ldmatrix_7(Spelling):
    b8x16: _ldmatrix_10
    s8: _ldmatrix_11
    shared: _ldmatrix_12
    shared__cta: _ldmatrix_12

class _ldmatrix_8(Spelling):
    b16: _ldmatrix_13
    shared: _ldmatrix_14
    shared__cta: _ldmatrix_14
    trans: _ldmatrix_15

class _ldmatrix_9(Spelling):
    b8: _ldmatrix_13
    b8x16: _ldmatrix_10
    shared: _ldmatrix_16
    shared__cta: _ldmatrix_16

class _ldmatrix_10(Spelling):
    b4x16_p64: _ldmatrix_13
    b6x16_p32: _ldmatrix_13

class _ldmatrix_11(Spelling):
    s4: _ldmatrix_13

class _ldmatrix_12(Spelling):
    b8x16: _ldmatrix_10
    s8: _ldmatrix_11

class _ldmatrix_13(Spelling):
    @overload
    def __call__(self, r: _Vector, p: _Address, /, *, pred: _Guard = None) -> _Vector: ...
    @overload
    def __call__(self, p: _Address, /, *, pred: _Guard = None) -> list[Reg]: ...

class _ldmatrix_14(Spelling):
    b16: _ldmatrix_13

class _ldmatrix_15(Spelling):
    b16: _ldmatrix_13
    shared: _ldmatrix_14
    shared__cta: _ldmatrix_14

class _ldmatrix_16(Spelling):
    b8: _ldmatrix_13
    b8x16: _ldmatrix_10

class _ldu(Spelling):
    b128: _ldu_1
    b16: _ldu_1
    b32: _ldu_1
    b64: _ldu_1
    b8: _ldu_1
    f32: _ldu_1
    f64: _ldu_1
    global_: _ldu_2
    s16: _ldu_1
    s32: _ldu_1
    s64: _ldu_1
    s8: _ldu_1
    u16: _ldu_1
    u32: _ldu_1
    u64: _ldu_1
    u8: _ldu_1
    v2: _ldu_3
    v4: _ldu_4

class _ldu_1(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Address, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Address, /, *, pred: _Guard = None) -> Reg: ...

class _ldu_2(Spelling):
    b128: _ldu_1
    b16: _ldu_1
    b32: _ldu_1
    b64: _ldu_1
    b8: _ldu_1
    f32: _ldu_1
    f64: _ldu_1
    s16: _ldu_1
    s32: _ldu_1
    s64: _ldu_1
    s8: _ldu_1
    u16: _ldu_1
    u32: _ldu_1
    u64: _ldu_1
    u8: _ldu_1
    v2: _ldu_3
    v4: _ldu_4

class _ldu_3(Spelling):
    b16: _ldu_5
    b32: _ldu_5
    b64: _ldu_5
    b8: _ldu_5
    f32: _ldu_5
    f64: _ldu_5
    s16: _ldu_5
    s32: _ldu_5
    s64: _ldu_5
    s8: _ldu_5
    u16: _ldu_5
    u32: _ldu_5
    u64: _ldu_5
    u8: _ldu_5

class _ldu_4(Spelling):
    b16: _ldu_5
    b32: _ldu_5
    b8: _ldu_5
    f32: _ldu_5
    s16: _ldu_5
    s32: _ldu_5
    s8: _ldu_5
    u16: _ldu_5
    u32: _ldu_5
    u8: _ldu_5

class _ldu_5(Spelling):
    @overload
    def __call__(self, d: _Vector, a: _Address, /, *, pred: _Guard = None) -> _Vector: ...
    @overload
    def __call__(self, a: _Address, /, *, pred: _Guard = None) -> list[Reg]: ...

class _lg2(Spelling):
    approx: _lg2_1

class _lg2_1(Spelling):
    f32: _lg2_2
    ftz: _lg2_3

class _lg2_2(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _lg2_3(Spelling):
    f32: _lg2_2

class _lop3(Spelling):
    and_: _lop3_1
    b32: _lop3_2
    or_: _lop3_1

class _lop3_1(Spelling):
    b32: _lop3_3

class _lop3_2(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer,
        b: _Integer,
        c: _Integer,
        lut: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        a: _Integer,
        b: _Integer,
        c: _Integer,
        lut: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _lop3_3(Spelling):
    @overload
    def __call__(
        self,
        d: Pair,
        a: _Integer,
        b: _Integer,
        c: _Integer,
        lut: _Whole,
        q: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Pair: ...
    @overload
    def __call__(
        self,
        a: _Integer,
        b: _Integer,
        c: _Integer,
        lut: _Whole,
        q: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _mad(Spelling):
    hi: _mad_1
    lo: _mad_2
    rm: _mad_3
    rn: _mad_3
    rp: _mad_3
    rz: _mad_3
    wide: _mad_4

class _mad_1(Spelling):
    cc: _mad_5
    s16: _mad_6
    s32: _mad_6
    s64: _mad_6
    sat: _mad_7
    u16: _mad_6
    u32: _mad_6
    u64: _mad_6

class _mad_2(Spelling):
    cc: _mad_5
    s16: _mad_6
    s32: _mad_6
    s64: _mad_6
    u16: _mad_6
    u32: _mad_6
    u64: _mad_6

class _mad_3(Spelling):
    f32: _mad_8
    f64: _mad_8
    ftz: _mad_9
    sat: _mad_10

class _mad_4(Spelling):
    s16: _mad_6
    s32: _mad_6
    u16: _mad_6
    u32: _mad_6

class _mad_5(Spelling):
    s32: _mad_6
    s64: _mad_6
    u32: _mad_6
    u64: _mad_6

class _mad_6(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer,
        b: _Integer,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, c: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _mad_7(Spelling):
    s32: _mad_6

class _mad_8(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Float,
        b: _Float,
        c: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Float, b: _Float, c: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _mad_9(Spelling):
    f32: _mad_8
    sat: _mad_10

class _mad_10(Spelling):
    f32: _mad_8

class _mad24(Spelling):
    hi: _mad24_1
    lo: _mad24_2

class _mad24_1(Spelling):
    s32: _mad24_3
    sat: _mad24_4
    u32: _mad24_3

class _mad24_2(Spelling):
    s32: _mad24_3
    u32: _mad24_3

class _mad24_3(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer,
        b: _Integer,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, c: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _mad24_4(Spelling):
    s32: _mad24_3

class _madc(Spelling):
    hi: _madc_1
    lo: _madc_1

class _madc_1(Spelling):
    cc: _madc_2
    s32: _madc_3
    s64: _madc_3
    u32: _madc_3
    u64: _madc_3

class _madc_2(Spelling):
    s32: _madc_3
    s64: _madc_3
    u32: _madc_3
    u64: _madc_3

class _madc_3(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer,
        b: _Integer,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, c: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _mapa(Spelling):
    shared__cluster: _mapa_1
    u32: _mapa_2
    u64: _mapa_2

class _mapa_1(Spelling):
    u32: _mapa_3
    u64: _mapa_3

class _mapa_2(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Source, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _mapa_3(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Source | _Symbol,
        b: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Source | _Symbol, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _match(Spelling):
    all: _match_1
    any: _match_2

class _match_1(Spelling):
    sync: _match_3

class _match_2(Spelling):
    sync: _match_4

class _match_3(Spelling):
    b32: _match_5
    b64: _match_5

class _match_4(Spelling):
    b32: _match_6
    b64: _match_6

class _match_5(Spelling):
    @overload
    def __call__(
        self,
        d: _Two,
        a: _Integer,
        membermask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> _Two: ...
    @overload
    def __call__(self, a: _Integer, membermask: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _match_6(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer,
        membermask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, membermask: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _max(Spelling):
    NaN: _max_1
    abs: _max_2
    bf16: _max_3
    bf16x2: _max_3
    f16: _max_3
    f16x2: _max_3
    f32: _max_4
    f64: _max_5
    ftz: _max_6
    relu: _max_7
    s16: _max_8
    s16x2: _max_3
    s32: _max_8
    s64: _max_8
    s8x4: _max_3
    u16: _max_8
    u16x2: _max_3
    u32: _max_8
    u64: _max_8
    u8x4: _max_3
    xorsign: _max_9

class _max_1(Spelling):
    abs: _max_2
    bf16: _max_3
    bf16x2: _max_3
    f16: _max_3
    f16x2: _max_3
    f32: _max_4
    xorsign: _max_9

class _max_2(Spelling):
    f32: _max_10

class _max_3(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _max_4(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Float,
        b: _Float,
        c: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, d: Reg, a: _Float, b: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float, b: _Float, c: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float, b: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _max_5(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Float, b: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float, b: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _max_6(Spelling):
    NaN: _max_11
    abs: _max_2
    f16: _max_3
    f16x2: _max_3
    f32: _max_4
    xorsign: _max_12

class _max_7(Spelling):
    s16x2: _max_3
    s32: _max_8
    s8x4: _max_3

class _max_8(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _max_9(Spelling):
    abs: _max_13

class _max_10(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Float,
        b: _Float,
        c: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Float, b: _Float, c: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _max_11(Spelling):
    abs: _max_2
    f16: _max_3
    f16x2: _max_3
    f32: _max_4
    xorsign: _max_12

class _max_12(Spelling):
    abs: _max_14

class _max_13(Spelling):
    bf16: _max_3
    bf16x2: _max_3
    f16: _max_3
    f16x2: _max_3
    f32: _max_5

class _max_14(Spelling):
    f16: _max_3
    f16x2: _max_3
    f32: _max_5

class _mbarrier(Spelling):
    arrive: _mbarrier_1
    arrive_drop: _mbarrier_2
    check_layout: _mbarrier_3
    complete_tx: _mbarrier_4
    expect_tx: _mbarrier_4
    init: _mbarrier_5
    inval: _mbarrier_6
    pending_count: _mbarrier_7
    test_wait: _mbarrier_8
    try_wait: _mbarrier_9

class _mbarrier_1(Spelling):
    b64: _mbarrier_10
    expect_tx: _mbarrier_11
    multicast__cluster__32b: _mbarrier_12
    noComplete: _mbarrier_13
    relaxed: _mbarrier_14
    release: _mbarrier_14
    shared: _mbarrier_15
    shared__cluster: _mbarrier_16
    shared__cta: _mbarrier_15

class _mbarrier_2(Spelling):
    b64: _mbarrier_17
    expect_tx: _mbarrier_11
    multicast__cluster__32b: _mbarrier_12
    noComplete: _mbarrier_18
    relaxed: _mbarrier_19
    release: _mbarrier_19
    shared: _mbarrier_20
    shared__cluster: _mbarrier_16
    shared__cta: _mbarrier_20

class _mbarrier_3(Spelling):
    layout__v0: _mbarrier_21
    layout__v1: _mbarrier_21

class _mbarrier_4(Spelling):
    b64: _mbarrier_22
    multicast__cluster__32b: _mbarrier_23
    relaxed: _mbarrier_24
    shared: _mbarrier_25
    shared__cluster: _mbarrier_26
    shared__cta: _mbarrier_25

class _mbarrier_5(Spelling):
    b64: _mbarrier_27
    layout__v0: _mbarrier_28
    layout__v1: _mbarrier_28
    shared: _mbarrier_29
    shared__cta: _mbarrier_29

class _mbarrier_6(Spelling):
    b64: _mbarrier_30
    shared: _mbarrier_31
    shared__cta: _mbarrier_31

class _mbarrier_7(Spelling):
    b64: _mbarrier_32
    layout__v0: _mbarrier_33

class _mbarrier_8(Spelling):
    acquire: _mbarrier_34
    b64: _mbarrier_35
    parity: _mbarrier_36
    phase_type__primary: _mbarrier_37
    relaxed: _mbarrier_34
    shared: _mbarrier_38
    shared__cta: _mbarrier_38

class _mbarrier_9(Spelling):
    acquire: _mbarrier_39
    b64: _mbarrier_40
    parity: _mbarrier_41
    phase_type__primary: _mbarrier_42
    relaxed: _mbarrier_39
    shared: _mbarrier_43
    shared__cta: _mbarrier_43

class _mbarrier_10(Spelling):
    @overload
    def __call__(self, _: Sink, addr: _Address, /, *, pred: _Guard = None) -> None: ...
    @overload
    def __call__(self, state: Reg, addr: _Address, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(
        self,
        state: Reg,
        addr: _Address,
        count: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        state: Sink,
        addr: _Address,
        count: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Sink: ...
    @overload
    def __call__(self, addr: _Address, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, addr: _Address, count: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _mbarrier_11(Spelling):
    b64: _mbarrier_44
    multicast__cluster__32b: _mbarrier_45
    relaxed: _mbarrier_46
    release: _mbarrier_46
    shared: _mbarrier_47
    shared__cluster: _mbarrier_48
    shared__cta: _mbarrier_47

class _mbarrier_12(Spelling):
    b64: _mbarrier_49

class _mbarrier_13(Spelling):
    b64: _mbarrier_50
    release: _mbarrier_51
    shared: _mbarrier_52
    shared__cta: _mbarrier_52

class _mbarrier_14(Spelling):
    cluster: _mbarrier_53
    cta: _mbarrier_53

class _mbarrier_15(Spelling):
    b64: _mbarrier_10

class _mbarrier_16(Spelling):
    b64: _mbarrier_54
    multicast__cluster__32b: _mbarrier_12

class _mbarrier_17(Spelling):
    @overload
    def __call__(self, state: Reg, addr: _Address, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, state: Sink, addr: _Address, /, *, pred: _Guard = None) -> Sink: ...
    @overload
    def __call__(
        self,
        state: Reg,
        addr: _Address,
        count: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        state: Sink,
        addr: _Address,
        count: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Sink: ...
    @overload
    def __call__(self, addr: _Address, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, addr: _Address, count: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _mbarrier_18(Spelling):
    b64: _mbarrier_55
    release: _mbarrier_56
    shared: _mbarrier_57
    shared__cta: _mbarrier_57

class _mbarrier_19(Spelling):
    cluster: _mbarrier_58
    cta: _mbarrier_58

class _mbarrier_20(Spelling):
    b64: _mbarrier_17

class _mbarrier_21(Spelling):
    b64: _mbarrier_59
    shared__cta: _mbarrier_60

class _mbarrier_22(Spelling):
    def __call__(self, addr: _Address, txCount: _Integer, /, *, pred: _Guard = None) -> None: ...

class _mbarrier_23(Spelling):
    b64: _mbarrier_61

class _mbarrier_24(Spelling):
    cluster: _mbarrier_62
    cta: _mbarrier_62

class _mbarrier_25(Spelling):
    b64: _mbarrier_22

class _mbarrier_26(Spelling):
    b64: _mbarrier_22
    multicast__cluster__32b: _mbarrier_23

class _mbarrier_27(Spelling):
    def __call__(self, addr: _Address, count: _Integer, /, *, pred: _Guard = None) -> None: ...

class _mbarrier_28(Spelling):
    b64: _mbarrier_27
    shared: _mbarrier_29
    shared__cta: _mbarrier_29

class _mbarrier_29(Spelling):
    b64: _mbarrier_27

class _mbarrier_30(Spelling):
    def __call__(self, addr: _Address, /, *, pred: _Guard = None) -> None: ...

class _mbarrier_31(Spelling):
    b64: _mbarrier_30

class _mbarrier_32(Spelling):
    @overload
    def __call__(self, count: Reg, state: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, state: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _mbarrier_33(Spelling):
    b64: _mbarrier_32

class _mbarrier_34(Spelling):
    cluster: _mbarrier_63
    cta: _mbarrier_63

class _mbarrier_35(Spelling):
    @overload
    def __call__(
        self,
        waitComplete: Reg,
        addr: _Address,
        state: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, addr: _Address, state: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _mbarrier_36(Spelling):
    acquire: _mbarrier_64
    b64: _mbarrier_65
    phase_type__conditional: _mbarrier_66
    phase_type__primary: _mbarrier_67
    relaxed: _mbarrier_64
    shared: _mbarrier_68
    shared__cta: _mbarrier_68

class _mbarrier_37(Spelling):
    acquire: _mbarrier_69
    b64: _mbarrier_70
    relaxed: _mbarrier_69
    shared: _mbarrier_71
    shared__cta: _mbarrier_71

class _mbarrier_38(Spelling):
    b64: _mbarrier_35

class _mbarrier_39(Spelling):
    cluster: _mbarrier_72
    cta: _mbarrier_72

class _mbarrier_40(Spelling):
    @overload
    def __call__(
        self,
        waitComplete: Reg,
        addr: _Address,
        state: _Source,
        timeHint: _Integer = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        addr: _Address,
        state: _Source,
        timeHint: _Integer = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _mbarrier_41(Spelling):
    acquire: _mbarrier_73
    b64: _mbarrier_74
    phase_type__conditional: _mbarrier_75
    phase_type__primary: _mbarrier_76
    relaxed: _mbarrier_73
    shared: _mbarrier_77
    shared__cta: _mbarrier_77

class _mbarrier_42(Spelling):
    acquire: _mbarrier_78
    b64: _mbarrier_79
    relaxed: _mbarrier_78
    shared: _mbarrier_80
    shared__cta: _mbarrier_80

class _mbarrier_43(Spelling):
    b64: _mbarrier_40

class _mbarrier_44(Spelling):
    @overload
    def __call__(
        self,
        state: Reg,
        addr: _Address,
        txCount: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        state: Sink,
        addr: _Address,
        txCount: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Sink: ...
    @overload
    def __call__(self, addr: _Address, txCount: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _mbarrier_45(Spelling):
    b64: _mbarrier_81

class _mbarrier_46(Spelling):
    cluster: _mbarrier_82
    cta: _mbarrier_82

class _mbarrier_47(Spelling):
    b64: _mbarrier_44

class _mbarrier_48(Spelling):
    b64: _mbarrier_83
    multicast__cluster__32b: _mbarrier_45

class _mbarrier_49(Spelling):
    @overload
    def __call__(
        self,
        _: Sink,
        addr: _Address,
        count: _Integer,
        ctaMask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        _: Sink,
        addr: _Address,
        ctaMask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        addr: _Address,
        count: _Integer,
        ctaMask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(self, addr: _Address, ctaMask: _Integer, /, *, pred: _Guard = None) -> None: ...

class _mbarrier_50(Spelling):
    @overload
    def __call__(
        self,
        _: Sink,
        addr: _Address,
        count: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        state: Reg,
        addr: _Address,
        count: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, addr: _Address, count: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _mbarrier_51(Spelling):
    cta: _mbarrier_84

class _mbarrier_52(Spelling):
    b64: _mbarrier_50

class _mbarrier_53(Spelling):
    b64: _mbarrier_10
    multicast__cluster__32b: _mbarrier_12
    shared: _mbarrier_15
    shared__cluster: _mbarrier_16
    shared__cta: _mbarrier_15

class _mbarrier_54(Spelling):
    @overload
    def __call__(
        self,
        _: Sink,
        addr: _Address,
        count: _Integer = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        addr: _Address,
        count: _Integer = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _mbarrier_55(Spelling):
    @overload
    def __call__(
        self,
        state: Reg,
        addr: _Address,
        count: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        state: Sink,
        addr: _Address,
        count: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Sink: ...
    @overload
    def __call__(self, addr: _Address, count: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _mbarrier_56(Spelling):
    cta: _mbarrier_85

class _mbarrier_57(Spelling):
    b64: _mbarrier_55

class _mbarrier_58(Spelling):
    b64: _mbarrier_17
    multicast__cluster__32b: _mbarrier_12
    shared: _mbarrier_20
    shared__cluster: _mbarrier_16
    shared__cta: _mbarrier_20

class _mbarrier_59(Spelling):
    @overload
    def __call__(self, p: Reg, addr: _Address, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, addr: _Address, /, *, pred: _Guard = None) -> Reg: ...

class _mbarrier_60(Spelling):
    b64: _mbarrier_59

class _mbarrier_61(Spelling):
    def __call__(
        self,
        addr: _Address,
        txCount: _Integer,
        ctaMask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _mbarrier_62(Spelling):
    b64: _mbarrier_22
    multicast__cluster__32b: _mbarrier_23
    shared: _mbarrier_25
    shared__cluster: _mbarrier_26
    shared__cta: _mbarrier_25

class _mbarrier_63(Spelling):
    b64: _mbarrier_35
    shared: _mbarrier_38
    shared__cta: _mbarrier_38

class _mbarrier_64(Spelling):
    cluster: _mbarrier_86
    cta: _mbarrier_86

class _mbarrier_65(Spelling):
    @overload
    def __call__(
        self,
        waitComplete: Reg,
        addr: _Address,
        phaseParity: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, addr: _Address, phaseParity: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _mbarrier_66(Spelling):
    acquire: _mbarrier_64
    b64: _mbarrier_65
    relaxed: _mbarrier_64
    shared: _mbarrier_68
    shared__cta: _mbarrier_68

class _mbarrier_67(Spelling):
    acquire: _mbarrier_87
    b64: _mbarrier_88
    relaxed: _mbarrier_87
    shared: _mbarrier_89
    shared__cta: _mbarrier_89

class _mbarrier_68(Spelling):
    b64: _mbarrier_65

class _mbarrier_69(Spelling):
    cluster: _mbarrier_90
    cta: _mbarrier_90

class _mbarrier_70(Spelling):
    @overload
    def __call__(
        self,
        waitComplete: Pair,
        addr: _Address,
        state: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Pair: ...
    @overload
    def __call__(
        self,
        waitComplete: Pair,
        reportValue: Reg,
        addr: _Address,
        state: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Pair: ...
    @overload
    def __call__(
        self,
        waitComplete_or_reportValue: Reg,
        addr: _Address,
        state: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, addr: _Address, state: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _mbarrier_71(Spelling):
    b64: _mbarrier_70

class _mbarrier_72(Spelling):
    b64: _mbarrier_40
    shared: _mbarrier_43
    shared__cta: _mbarrier_43

class _mbarrier_73(Spelling):
    cluster: _mbarrier_91
    cta: _mbarrier_91

class _mbarrier_74(Spelling):
    @overload
    def __call__(
        self,
        waitComplete: Reg,
        addr: _Address,
        phaseParity: _Integer,
        timeHint: _Integer = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        addr: _Address,
        phaseParity: _Integer,
        timeHint: _Integer = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _mbarrier_75(Spelling):
    acquire: _mbarrier_73
    b64: _mbarrier_74
    relaxed: _mbarrier_73
    shared: _mbarrier_77
    shared__cta: _mbarrier_77

class _mbarrier_76(Spelling):
    acquire: _mbarrier_92
    b64: _mbarrier_93
    relaxed: _mbarrier_92
    shared: _mbarrier_94
    shared__cta: _mbarrier_94

class _mbarrier_77(Spelling):
    b64: _mbarrier_74

class _mbarrier_78(Spelling):
    cluster: _mbarrier_95
    cta: _mbarrier_95

class _mbarrier_79(Spelling):
    @overload
    def __call__(
        self,
        waitComplete: Pair,
        addr: _Address,
        state: _Source,
        timeHint: _Integer = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> Pair: ...
    @overload
    def __call__(
        self,
        waitComplete: Pair,
        reportValue: Reg,
        addr: _Address,
        state: _Source,
        timeHint: _Integer = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> Pair: ...
    @overload
    def __call__(
        self,
        waitComplete_or_reportValue: Reg,
        addr: _Address,
        state: _Source,
        timeHint: _Integer = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        addr: _Address,
        state: _Source,
        timeHint: _Integer = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _mbarrier_80(Spelling):
    b64: _mbarrier_79

class _mbarrier_81(Spelling):
    @overload
    def __call__(
        self,
        _: Sink,
        addr: _Address,
        txCount: _Integer,
        ctaMask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        addr: _Address,
        txCount: _Integer,
        ctaMask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _mbarrier_82(Spelling):
    b64: _mbarrier_44
    multicast__cluster__32b: _mbarrier_45
    shared: _mbarrier_47
    shared__cluster: _mbarrier_48
    shared__cta: _mbarrier_47

class _mbarrier_83(Spelling):
    @overload
    def __call__(
        self,
        _: Sink,
        addr: _Address,
        txCount: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(self, addr: _Address, txCount: _Integer, /, *, pred: _Guard = None) -> None: ...

class _mbarrier_84(Spelling):
    b64: _mbarrier_50
    shared: _mbarrier_52
    shared__cta: _mbarrier_52

class _mbarrier_85(Spelling):
    b64: _mbarrier_55
    shared: _mbarrier_57
    shared__cta: _mbarrier_57

class _mbarrier_86(Spelling):
    b64: _mbarrier_65
    shared: _mbarrier_68
    shared__cta: _mbarrier_68

class _mbarrier_87(Spelling):
    cluster: _mbarrier_96
    cta: _mbarrier_96

class _mbarrier_88(Spelling):
    @overload
    def __call__(
        self,
        waitComplete: Pair,
        addr: _Address,
        phaseParity: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Pair: ...
    @overload
    def __call__(
        self,
        waitComplete: Pair,
        reportValue: Reg,
        addr: _Address,
        phaseParity: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Pair: ...
    @overload
    def __call__(
        self,
        waitComplete_or_reportValue: Reg,
        addr: _Address,
        phaseParity: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, addr: _Address, phaseParity: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _mbarrier_89(Spelling):
    b64: _mbarrier_88

class _mbarrier_90(Spelling):
    b64: _mbarrier_70
    shared: _mbarrier_71
    shared__cta: _mbarrier_71

class _mbarrier_91(Spelling):
    b64: _mbarrier_74
    shared: _mbarrier_77
    shared__cta: _mbarrier_77

class _mbarrier_92(Spelling):
    cluster: _mbarrier_97
    cta: _mbarrier_97

class _mbarrier_93(Spelling):
    @overload
    def __call__(
        self,
        waitComplete: Pair,
        addr: _Address,
        phaseParity: _Integer,
        timeHint: _Integer = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> Pair: ...
    @overload
    def __call__(
        self,
        waitComplete: Pair,
        reportValue: Reg,
        addr: _Address,
        phaseParity: _Integer,
        timeHint: _Integer = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> Pair: ...
    @overload
    def __call__(
        self,
        waitComplete_or_reportValue: Reg,
        addr: _Address,
        phaseParity: _Integer,
        timeHint: _Integer = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        addr: _Address,
        phaseParity: _Integer,
        timeHint: _Integer = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _mbarrier_94(Spelling):
    b64: _mbarrier_93

class _mbarrier_95(Spelling):
    b64: _mbarrier_79
    shared: _mbarrier_80
    shared__cta: _mbarrier_80

class _mbarrier_96(Spelling):
    b64: _mbarrier_88
    shared: _mbarrier_89
    shared__cta: _mbarrier_89

class _mbarrier_97(Spelling):
    b64: _mbarrier_93
    shared: _mbarrier_94
    shared__cta: _mbarrier_94

class _membar(Spelling):
    cta: _membar_1
    gl: _membar_1
    proxy: _membar_2
    sys: _membar_1

class _membar_1(Spelling):
    def __call__(self, *, pred: _Guard = None) -> None: ...

class _membar_2(Spelling):
    alias: _membar_1
    async_: _membar_1

class _min(Spelling):
    NaN: _min_1
    abs: _min_2
    bf16: _min_3
    bf16x2: _min_3
    f16: _min_3
    f16x2: _min_3
    f32: _min_4
    f64: _min_5
    ftz: _min_6
    relu: _min_7
    s16: _min_8
    s16x2: _min_3
    s32: _min_8
    s64: _min_8
    s8x4: _min_3
    u16: _min_8
    u16x2: _min_3
    u32: _min_8
    u64: _min_8
    u8x4: _min_3
    xorsign: _min_9

class _min_1(Spelling):
    abs: _min_2
    bf16: _min_3
    bf16x2: _min_3
    f16: _min_3
    f16x2: _min_3
    f32: _min_4
    xorsign: _min_9

class _min_2(Spelling):
    f32: _min_10

class _min_3(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _min_4(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Float,
        b: _Float,
        c: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, d: Reg, a: _Float, b: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float, b: _Float, c: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float, b: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _min_5(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Float, b: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float, b: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _min_6(Spelling):
    NaN: _min_11
    abs: _min_2
    f16: _min_3
    f16x2: _min_3
    f32: _min_4
    xorsign: _min_12

class _min_7(Spelling):
    s16x2: _min_3
    s32: _min_8
    s8x4: _min_3

class _min_8(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _min_9(Spelling):
    abs: _min_13

class _min_10(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Float,
        b: _Float,
        c: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Float, b: _Float, c: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _min_11(Spelling):
    abs: _min_2
    f16: _min_3
    f16x2: _min_3
    f32: _min_4
    xorsign: _min_12

class _min_12(Spelling):
    abs: _min_14

class _min_13(Spelling):
    bf16: _min_3
    bf16x2: _min_3
    f16: _min_3
    f16x2: _min_3
    f32: _min_5

class _min_14(Spelling):
    f16: _min_3
    f16x2: _min_3
    f32: _min_5

class _mma(Spelling):
    sp: _mma_1
    sp__ordered_metadata: _mma_2
    sync: _mma_3

class _mma_1(Spelling):
    sync: _mma_4

class _mma_2(Spelling):
    sync: _mma_5

class _mma_3(Spelling):
    aligned: _mma_6

class _mma_4(Spelling):
    aligned: _mma_7

class _mma_5(Spelling):
    aligned: _mma_8

class _mma_6(Spelling):
    m16n8k128: _mma_9
    m16n8k16: _mma_10
    m16n8k256: _mma_9
    m16n8k32: _mma_11
    m16n8k4: _mma_12
    m16n8k64: _mma_13
    m16n8k8: _mma_14
    m8n8k128: _mma_9
    m8n8k16: _mma_15
    m8n8k32: _mma_16
    m8n8k4: _mma_17

class _mma_7(Spelling):
    m16n8k128: _mma_18
    m16n8k16: _mma_19
    m16n8k32: _mma_20
    m16n8k64: _mma_21
    m16n8k8: _mma_22

class _mma_8(Spelling):
    m16n8k128: _mma_23
    m16n8k16: _mma_19
    m16n8k32: _mma_20
    m16n8k64: _mma_24
    m16n8k8: _mma_22

class _mma_9(Spelling):
    row: _mma_25

class _mma_10(Spelling):
    row: _mma_26

class _mma_11(Spelling):
    row: _mma_27

class _mma_12(Spelling):
    row: _mma_28

class _mma_13(Spelling):
    row: _mma_29

class _mma_14(Spelling):
    row: _mma_30

class _mma_15(Spelling):
    row: _mma_31

class _mma_16(Spelling):
    row: _mma_32

class _mma_17(Spelling):
    col: _mma_33
    row: _mma_34

class _mma_18(Spelling):
    row: _mma_35

class _mma_19(Spelling):
    row: _mma_36

class _mma_20(Spelling):
    row: _mma_37

class _mma_21(Spelling):
    row: _mma_38

class _mma_22(Spelling):
    row: _mma_39

class _mma_23(Spelling):
    row: _mma_40

class _mma_24(Spelling):
    row: _mma_41

class _mma_25(Spelling):
    col: _mma_42

class _mma_26(Spelling):
    col: _mma_43

class _mma_27(Spelling):
    col: _mma_44

class _mma_28(Spelling):
    col: _mma_45

class _mma_29(Spelling):
    col: _mma_46

class _mma_30(Spelling):
    col: _mma_47

class _mma_31(Spelling):
    col: _mma_48

class _mma_32(Spelling):
    col: _mma_49

class _mma_33(Spelling):
    col: _mma_50
    row: _mma_50

class _mma_34(Spelling):
    col: _mma_51
    row: _mma_50

class _mma_35(Spelling):
    col: _mma_52

class _mma_36(Spelling):
    col: _mma_53

class _mma_37(Spelling):
    col: _mma_54

class _mma_38(Spelling):
    col: _mma_55

class _mma_39(Spelling):
    col: _mma_56

class _mma_40(Spelling):
    col: _mma_57

class _mma_41(Spelling):
    col: _mma_58

class _mma_42(Spelling):
    s32: _mma_59

class _mma_43(Spelling):
    f16: _mma_60
    f32: _mma_61
    f64: _mma_62
    rm: _mma_63
    rn: _mma_63
    rp: _mma_63
    rz: _mma_63
    s32: _mma_64
    satfinite: _mma_65

class _mma_44(Spelling):
    f16: _mma_66
    f32: _mma_67
    kind__f8f6f4: _mma_68
    kind__mxf8f6f4: _mma_69
    s32: _mma_70
    satfinite: _mma_71

class _mma_45(Spelling):
    f32: _mma_72
    f64: _mma_62
    rm: _mma_63
    rn: _mma_63
    rp: _mma_63
    rz: _mma_63

class _mma_46(Spelling):
    kind__mxf4: _mma_73
    kind__mxf4nvf4: _mma_74
    s32: _mma_75
    satfinite: _mma_76

class _mma_47(Spelling):
    f16: _mma_77
    f32: _mma_78
    f64: _mma_62
    rm: _mma_63
    rn: _mma_63
    rp: _mma_63
    rz: _mma_63

class _mma_48(Spelling):
    s32: _mma_64
    satfinite: _mma_65

class _mma_49(Spelling):
    s32: _mma_75
    satfinite: _mma_76

class _mma_50(Spelling):
    f16: _mma_77
    f32: _mma_79

class _mma_51(Spelling):
    f16: _mma_77
    f32: _mma_79
    f64: _mma_62
    rm: _mma_63
    rn: _mma_63
    rp: _mma_63
    rz: _mma_63

class _mma_52(Spelling):
    s32: _mma_80
    satfinite: _mma_81

class _mma_53(Spelling):
    f16: _mma_82
    f32: _mma_83

class _mma_54(Spelling):
    f16: _mma_82
    f32: _mma_84
    s32: _mma_85
    satfinite: _mma_86

class _mma_55(Spelling):
    f32: _mma_87
    s32: _mma_88
    satfinite: _mma_89

class _mma_56(Spelling):
    f32: _mma_90

class _mma_57(Spelling):
    kind__mxf4: _mma_91
    kind__mxf4nvf4: _mma_92
    s32: _mma_80
    satfinite: _mma_81

class _mma_58(Spelling):
    f32: _mma_87
    kind__f8f6f4: _mma_93
    kind__mxf8f6f4: _mma_94
    s32: _mma_88
    satfinite: _mma_89

class _mma_59(Spelling):
    b1: _mma_95

class _mma_60(Spelling):
    e4m3: _mma_96
    e5m2: _mma_96
    f16: _mma_97

class _mma_61(Spelling):
    bf16: _mma_98
    e4m3: _mma_99
    e5m2: _mma_99
    f16: _mma_100

class _mma_62(Spelling):
    f64: _mma_101

class _mma_63(Spelling):
    f64: _mma_62

class _mma_64(Spelling):
    s8: _mma_102
    u8: _mma_102

class _mma_65(Spelling):
    s32: _mma_64

class _mma_66(Spelling):
    e4m3: _mma_96
    e5m2: _mma_96

class _mma_67(Spelling):
    e4m3: _mma_99
    e5m2: _mma_99

class _mma_68(Spelling):
    f16: _mma_103
    f32: _mma_104

class _mma_69(Spelling):
    block_scale: _mma_105

class _mma_70(Spelling):
    s4: _mma_106
    s8: _mma_102
    u4: _mma_106
    u8: _mma_102

class _mma_71(Spelling):
    s32: _mma_70

class _mma_72(Spelling):
    tf32: _mma_107

class _mma_73(Spelling):
    block_scale: _mma_108

class _mma_74(Spelling):
    block_scale: _mma_109

class _mma_75(Spelling):
    s4: _mma_106
    u4: _mma_106

class _mma_76(Spelling):
    s32: _mma_75

class _mma_77(Spelling):
    f16: _mma_97

class _mma_78(Spelling):
    bf16: _mma_98
    f16: _mma_100
    tf32: _mma_107

class _mma_79(Spelling):
    f16: _mma_110

class _mma_80(Spelling):
    s4: _mma_111
    u4: _mma_111

class _mma_81(Spelling):
    s32: _mma_80

class _mma_82(Spelling):
    f16: _mma_112

class _mma_83(Spelling):
    bf16: _mma_113
    f16: _mma_114
    tf32: _mma_115

class _mma_84(Spelling):
    bf16: _mma_113
    f16: _mma_114

class _mma_85(Spelling):
    s8: _mma_116
    u8: _mma_116

class _mma_86(Spelling):
    s32: _mma_85

class _mma_87(Spelling):
    e4m3: _mma_117
    e5m2: _mma_117

class _mma_88(Spelling):
    s4: _mma_111
    s8: _mma_116
    u4: _mma_111
    u8: _mma_116

class _mma_89(Spelling):
    s32: _mma_88

class _mma_90(Spelling):
    tf32: _mma_115

class _mma_91(Spelling):
    block_scale: _mma_118

class _mma_92(Spelling):
    block_scale: _mma_119

class _mma_93(Spelling):
    f16: _mma_120
    f32: _mma_121

class _mma_94(Spelling):
    block_scale: _mma_122

class _mma_95(Spelling):
    b1: _mma_123

class _mma_96(Spelling):
    e4m3: _mma_124
    e5m2: _mma_124

class _mma_97(Spelling):
    f16: _mma_124

class _mma_98(Spelling):
    bf16: _mma_125

class _mma_99(Spelling):
    e4m3: _mma_125
    e5m2: _mma_125

class _mma_100(Spelling):
    f16: _mma_125

class _mma_101(Spelling):
    f64: _mma_126

class _mma_102(Spelling):
    s8: _mma_127
    u8: _mma_127

class _mma_103(Spelling):
    e2m1: _mma_128
    e2m3: _mma_128
    e3m2: _mma_128
    e4m3: _mma_128
    e5m2: _mma_128

class _mma_104(Spelling):
    e2m1: _mma_129
    e2m3: _mma_129
    e3m2: _mma_129
    e4m3: _mma_129
    e5m2: _mma_129

class _mma_105(Spelling):
    f32: _mma_130
    scale_vec__1X: _mma_131

class _mma_106(Spelling):
    s4: _mma_127
    u4: _mma_127

class _mma_107(Spelling):
    tf32: _mma_125

class _mma_108(Spelling):
    f32: _mma_132
    scale_vec__2X: _mma_133

class _mma_109(Spelling):
    scale_vec__2X: _mma_133
    scale_vec__4X: _mma_134

class _mma_110(Spelling):
    f16: _mma_135

class _mma_111(Spelling):
    s4: _mma_136
    u4: _mma_136

class _mma_112(Spelling):
    f16: _mma_137

class _mma_113(Spelling):
    bf16: _mma_138

class _mma_114(Spelling):
    f16: _mma_138

class _mma_115(Spelling):
    tf32: _mma_138

class _mma_116(Spelling):
    s8: _mma_136
    u8: _mma_136

class _mma_117(Spelling):
    e4m3: _mma_138
    e5m2: _mma_138

class _mma_118(Spelling):
    f32: _mma_139
    scale_vec__2X: _mma_140

class _mma_119(Spelling):
    scale_vec__2X: _mma_140
    scale_vec__4X: _mma_141

class _mma_120(Spelling):
    e2m1: _mma_142
    e2m3: _mma_142
    e3m2: _mma_142
    e4m3: _mma_142
    e5m2: _mma_142

class _mma_121(Spelling):
    e2m1: _mma_143
    e2m3: _mma_143
    e3m2: _mma_143
    e4m3: _mma_143
    e5m2: _mma_143

class _mma_122(Spelling):
    f32: _mma_144
    scale_vec__1X: _mma_145

class _mma_123(Spelling):
    s32: _mma_146

class _mma_124(Spelling):
    f16: _mma_147

class _mma_125(Spelling):
    f32: _mma_148

class _mma_126(Spelling):
    f64: _mma_149

class _mma_127(Spelling):
    s32: _mma_150

class _mma_128(Spelling):
    e2m1: _mma_124
    e2m3: _mma_124
    e3m2: _mma_124
    e4m3: _mma_124
    e5m2: _mma_124

class _mma_129(Spelling):
    e2m1: _mma_125
    e2m3: _mma_125
    e3m2: _mma_125
    e4m3: _mma_125
    e5m2: _mma_125

class _mma_130(Spelling):
    e2m1: _mma_151
    e2m3: _mma_151
    e3m2: _mma_151
    e4m3: _mma_151
    e5m2: _mma_151

class _mma_131(Spelling):
    f32: _mma_130

class _mma_132(Spelling):
    e2m1: _mma_152

class _mma_133(Spelling):
    f32: _mma_132

class _mma_134(Spelling):
    f32: _mma_153

class _mma_135(Spelling):
    f16: _mma_147
    f32: _mma_148

class _mma_136(Spelling):
    s32: _mma_154

class _mma_137(Spelling):
    f16: _mma_155

class _mma_138(Spelling):
    f32: _mma_156

class _mma_139(Spelling):
    e2m1: _mma_157

class _mma_140(Spelling):
    f32: _mma_139

class _mma_141(Spelling):
    f32: _mma_158

class _mma_142(Spelling):
    e2m1: _mma_137
    e2m3: _mma_137
    e3m2: _mma_137
    e4m3: _mma_137
    e5m2: _mma_137

class _mma_143(Spelling):
    e2m1: _mma_138
    e2m3: _mma_138
    e3m2: _mma_138
    e4m3: _mma_138
    e5m2: _mma_138

class _mma_144(Spelling):
    e2m1: _mma_159
    e2m3: _mma_159
    e3m2: _mma_159
    e4m3: _mma_159
    e5m2: _mma_159

class _mma_145(Spelling):
    f32: _mma_144

class _mma_146(Spelling):
    and_: _mma_160
    xor: _mma_160

class _mma_147(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        a: _Sources,
        b: _Sources,
        c: _Sources,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        a: _Sources,
        b: _Sources,
        c: _Sources,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _mma_148(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        a: _Sources,
        b: _Sources,
        c: _Floats,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        a: _Sources,
        b: _Sources,
        c: _Floats,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _mma_149(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        a: _Floats,
        b: _Floats,
        c: _Floats,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        a: _Floats,
        b: _Floats,
        c: _Floats,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _mma_150(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        a: _Sources,
        b: _Sources,
        c: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        a: _Sources,
        b: _Sources,
        c: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _mma_151(Spelling):
    e2m1: _mma_161
    e2m3: _mma_161
    e3m2: _mma_161
    e4m3: _mma_161
    e5m2: _mma_161

class _mma_152(Spelling):
    e2m1: _mma_161

class _mma_153(Spelling):
    e2m1: _mma_162

class _mma_154(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        a: _Sources,
        b: _Sources,
        c: _Integers,
        e: _Source,
        f: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        a: _Sources,
        b: _Sources,
        c: _Integers,
        e: _Source,
        f: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _mma_155(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        a: _Sources,
        b: _Sources,
        c: _Sources,
        e: _Source,
        f: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        a: _Sources,
        b: _Sources,
        c: _Sources,
        e: _Source,
        f: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _mma_156(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        a: _Sources,
        b: _Sources,
        c: _Floats,
        e: _Source,
        f: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        a: _Sources,
        b: _Sources,
        c: _Floats,
        e: _Source,
        f: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _mma_157(Spelling):
    e2m1: _mma_163

class _mma_158(Spelling):
    e2m1: _mma_164

class _mma_159(Spelling):
    e2m1: _mma_163
    e2m3: _mma_163
    e3m2: _mma_163
    e4m3: _mma_163
    e5m2: _mma_163

class _mma_160(Spelling):
    popc: _mma_150

class _mma_161(Spelling):
    f32: _mma_165

class _mma_162(Spelling):
    e2m1: _mma_166

class _mma_163(Spelling):
    f32: _mma_167

class _mma_164(Spelling):
    e2m1: _mma_168

class _mma_165(Spelling):
    ue8m0: _mma_169

class _mma_166(Spelling):
    f32: _mma_170

class _mma_167(Spelling):
    ue8m0: _mma_171

class _mma_168(Spelling):
    f32: _mma_172

class _mma_169(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        a: _Sources,
        b: _Sources,
        c: _Floats,
        scaleA: _Source,
        idA: _Integers,
        scaleB: _Source,
        idB: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        a: _Sources,
        b: _Sources,
        c: _Floats,
        scaleA: _Source,
        idA: _Integers,
        scaleB: _Source,
        idB: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _mma_170(Spelling):
    ue4m3: _mma_169
    ue8m0: _mma_169

class _mma_171(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        a: _Sources,
        b: _Sources,
        c: _Floats,
        e: _Source,
        f: _Whole,
        scaleA: _Source,
        idA: _Integers,
        scaleB: _Source,
        idB: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        a: _Sources,
        b: _Sources,
        c: _Floats,
        e: _Source,
        f: _Whole,
        scaleA: _Source,
        idA: _Integers,
        scaleB: _Source,
        idB: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _mma_172(Spelling):
    ue4m3: _mma_171
    ue8m0: _mma_171

class _mov(Spelling):
    b128: _mov_1
    b16: _mov_2
    b32: _mov_3
    b64: _mov_3
    f32: _mov_4
    f64: _mov_4
    pred: _mov_5
    s16: _mov_6
    s32: _mov_7
    s64: _mov_7
    u16: _mov_6
    u32: _mov_7
    u64: _mov_7

class _mov_1(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, d: Reg, a: _Integers, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, d: _Vector, a: _Source, /, *, pred: _Guard = None) -> _Vector: ...
    @overload
    def __call__(self, d: _Mixed, a: _Source, /, *, pred: _Guard = None) -> _Mixed: ...
    @overload
    def __call__(self, a: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integers, /, *, pred: _Guard = None) -> Reg: ...

class _mov_2(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer | Special, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, d: Reg, a: _Integers, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, d: _Vector, a: _Integer, /, *, pred: _Guard = None) -> _Vector: ...
    @overload
    def __call__(self, d: _Mixed, a: _Integer, /, *, pred: _Guard = None) -> _Mixed: ...
    @overload
    def __call__(self, a: _Integer | Special, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integers, /, *, pred: _Guard = None) -> Reg: ...

class _mov_3(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Special | _Symbol,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, d: Reg, a: _Integers, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, d: _Vector, a: _Integer, /, *, pred: _Guard = None) -> _Vector: ...
    @overload
    def __call__(self, d: _Mixed, a: _Integer, /, *, pred: _Guard = None) -> _Mixed: ...
    @overload
    def __call__(self, a: _Integer | Special | _Symbol, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integers, /, *, pred: _Guard = None) -> Reg: ...

class _mov_4(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Float | Special, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float | Special, /, *, pred: _Guard = None) -> Reg: ...

class _mov_5(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Source | Special, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, d: Reg, value: _Whole, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source | Special, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, value: _Whole, /, *, pred: _Guard = None) -> Reg: ...

class _mov_6(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer | Special, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer | Special, /, *, pred: _Guard = None) -> Reg: ...

class _mov_7(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Special | _Symbol,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Integer | Special | _Symbol, /, *, pred: _Guard = None) -> Reg: ...

class _movmatrix(Spelling):
    sync: _movmatrix_1

class _movmatrix_1(Spelling):
    aligned: _movmatrix_2

class _movmatrix_2(Spelling):
    m8n8: _movmatrix_3

class _movmatrix_3(Spelling):
    trans: _movmatrix_4

class _movmatrix_4(Spelling):
    b16: _movmatrix_5

class _movmatrix_5(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _mul(Spelling):
    bf16: _mul_1
    bf16x2: _mul_2
    e4m3x4: _mul_3
    e5m2x4: _mul_3
    f16: _mul_1
    f16x2: _mul_4
    f32: _mul_5
    f32x2: _mul_1
    f64: _mul_5
    ftz: _mul_6
    hi: _mul_7
    lo: _mul_7
    rm: _mul_8
    rn: _mul_9
    rp: _mul_8
    rz: _mul_10
    sat: _mul_11
    satfinite: _mul_12
    wide: _mul_13

class _mul_1(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _mul_2(Spelling):
    bf16x2: _mul_14
    @overload
    def __call__(self, d: Reg, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _mul_3(Spelling):
    e2m1p4x4: _mul_15
    e2m1x4: _mul_15
    e2m3x4: _mul_15
    e3m2x4: _mul_15
    e4m3x4: _mul_15
    e5m2x4: _mul_15
    ue8m0x4: _mul_15

class _mul_4(Spelling):
    f16x2: _mul_16
    @overload
    def __call__(self, d: Reg, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _mul_5(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Float, b: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float, b: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _mul_6(Spelling):
    f16: _mul_1
    f16x2: _mul_1
    f32: _mul_5
    f32x2: _mul_1
    sat: _mul_11

class _mul_7(Spelling):
    s16: _mul_17
    s32: _mul_17
    s64: _mul_17
    u16: _mul_17
    u32: _mul_17
    u64: _mul_17

class _mul_8(Spelling):
    f32: _mul_5
    f32x2: _mul_1
    f64: _mul_5
    ftz: _mul_18
    sat: _mul_19

class _mul_9(Spelling):
    bf16: _mul_1
    bf16x2: _mul_1
    e4m3x4: _mul_3
    e5m2x4: _mul_3
    f16: _mul_1
    f16x2: _mul_1
    f32: _mul_5
    f32x2: _mul_1
    f64: _mul_5
    ftz: _mul_6
    sat: _mul_11
    satfinite: _mul_12

class _mul_10(Spelling):
    bf16x2: _mul_20
    f32: _mul_5
    f32x2: _mul_1
    f64: _mul_5
    ftz: _mul_21
    sat: _mul_19

class _mul_11(Spelling):
    f16: _mul_1
    f16x2: _mul_1
    f32: _mul_5

class _mul_12(Spelling):
    e4m3x4: _mul_3
    e5m2x4: _mul_3

class _mul_13(Spelling):
    s16: _mul_17
    s32: _mul_17
    u16: _mul_17
    u32: _mul_17

class _mul_14(Spelling):
    f16x2: _mul_22

class _mul_15(Spelling):
    e2m1p4x4: _mul_22
    e2m1x4: _mul_22
    e2m3x4: _mul_22
    e3m2x4: _mul_22
    e4m3x4: _mul_22
    e5m2x4: _mul_22
    ue8m0x4: _mul_22

class _mul_16(Spelling):
    bf16x2: _mul_22

class _mul_17(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _mul_18(Spelling):
    f32: _mul_5
    f32x2: _mul_1
    sat: _mul_19

class _mul_19(Spelling):
    f32: _mul_5

class _mul_20(Spelling):
    f32x2: _mul_23

class _mul_21(Spelling):
    f16x2: _mul_20
    f32: _mul_5
    f32x2: _mul_1
    sat: _mul_19

class _mul_22(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Source, c: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, c: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _mul_23(Spelling):
    f32x2: _mul_22

class _mul24(Spelling):
    hi: _mul24_1
    lo: _mul24_1

class _mul24_1(Spelling):
    s32: _mul24_2
    u32: _mul24_2

class _mul24_2(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _multimem(Spelling):
    cp: _multimem_1
    ld_reduce: _multimem_2
    red: _multimem_3
    st: _multimem_4

class _multimem_1(Spelling):
    async_: _multimem_5
    reduce: _multimem_6

class _multimem_2(Spelling):
    acquire: _multimem_7
    add: _multimem_8
    and_: _multimem_9
    global_: _multimem_10
    max: _multimem_11
    min: _multimem_11
    or_: _multimem_9
    relaxed: _multimem_7
    weak: _multimem_12
    xor: _multimem_9

class _multimem_3(Spelling):
    add: _multimem_13
    and_: _multimem_14
    async_: _multimem_15
    global_: _multimem_16
    max: _multimem_17
    min: _multimem_17
    or_: _multimem_14
    relaxed: _multimem_18
    release: _multimem_18
    xor: _multimem_14

class _multimem_4(Spelling):
    async_: _multimem_19
    b32: _multimem_20
    b64: _multimem_20
    bf16x2: _multimem_21
    e4m3x4: _multimem_21
    e5m2x4: _multimem_21
    f16x2: _multimem_21
    f32: _multimem_22
    f64: _multimem_22
    global_: _multimem_23
    relaxed: _multimem_24
    release: _multimem_24
    s32: _multimem_20
    s64: _multimem_20
    u32: _multimem_20
    u64: _multimem_20
    v2: _multimem_25
    v4: _multimem_26
    v8: _multimem_27
    weak: _multimem_28

class _multimem_5(Spelling):
    bulk: _multimem_29

class _multimem_6(Spelling):
    async_: _multimem_30

class _multimem_7(Spelling):
    cluster: _multimem_12
    cta: _multimem_12
    gpu: _multimem_12
    sys: _multimem_12

class _multimem_8(Spelling):
    acc__f16: _multimem_31
    acc__f32: _multimem_32
    bf16x2: _multimem_33
    e4m3x4: _multimem_33
    e5m2x4: _multimem_33
    f16x2: _multimem_33
    f32: _multimem_33
    f64: _multimem_33
    s32: _multimem_33
    u32: _multimem_33
    u64: _multimem_33
    v2: _multimem_34
    v4: _multimem_35
    v8: _multimem_36

class _multimem_9(Spelling):
    b32: _multimem_33
    b64: _multimem_33

class _multimem_10(Spelling):
    add: _multimem_8
    and_: _multimem_9
    max: _multimem_11
    min: _multimem_11
    or_: _multimem_9
    xor: _multimem_9

class _multimem_11(Spelling):
    bf16x2: _multimem_33
    e4m3x4: _multimem_33
    e5m2x4: _multimem_33
    f16x2: _multimem_33
    s32: _multimem_33
    s64: _multimem_33
    u32: _multimem_33
    u64: _multimem_33
    v2: _multimem_37
    v4: _multimem_38
    v8: _multimem_36

class _multimem_12(Spelling):
    add: _multimem_8
    and_: _multimem_9
    global_: _multimem_10
    max: _multimem_11
    min: _multimem_11
    or_: _multimem_9
    xor: _multimem_9

class _multimem_13(Spelling):
    bf16x2: _multimem_21
    f16x2: _multimem_21
    f32: _multimem_22
    f64: _multimem_22
    s32: _multimem_20
    u32: _multimem_20
    u64: _multimem_20
    v2: _multimem_39
    v4: _multimem_39
    v8: _multimem_40

class _multimem_14(Spelling):
    b32: _multimem_20
    b64: _multimem_20

class _multimem_15(Spelling):
    release: _multimem_41

class _multimem_16(Spelling):
    add: _multimem_13
    and_: _multimem_14
    max: _multimem_17
    min: _multimem_17
    or_: _multimem_14
    xor: _multimem_14

class _multimem_17(Spelling):
    s32: _multimem_20
    s64: _multimem_20
    u32: _multimem_20
    u64: _multimem_20

class _multimem_18(Spelling):
    cluster: _multimem_42
    cta: _multimem_42
    gpu: _multimem_42
    sys: _multimem_42

class _multimem_19(Spelling):
    release: _multimem_43

class _multimem_20(Spelling):
    def __call__(self, a: _Address, b: _Integer, /, *, pred: _Guard = None) -> None: ...

class _multimem_21(Spelling):
    def __call__(self, a: _Address, b: _Source, /, *, pred: _Guard = None) -> None: ...

class _multimem_22(Spelling):
    def __call__(self, a: _Address, b: _Float, /, *, pred: _Guard = None) -> None: ...

class _multimem_23(Spelling):
    b32: _multimem_20
    b64: _multimem_20
    bf16x2: _multimem_21
    e4m3x4: _multimem_21
    e5m2x4: _multimem_21
    f16x2: _multimem_21
    f32: _multimem_22
    f64: _multimem_22
    s32: _multimem_20
    s64: _multimem_20
    u32: _multimem_20
    u64: _multimem_20
    v2: _multimem_25
    v4: _multimem_26
    v8: _multimem_27

class _multimem_24(Spelling):
    cluster: _multimem_28
    cta: _multimem_28
    gpu: _multimem_28
    sys: _multimem_28

class _multimem_25(Spelling):
    bf16: _multimem_44
    bf16x2: _multimem_44
    e4m3x2: _multimem_44
    e4m3x4: _multimem_44
    e5m2x2: _multimem_44
    e5m2x4: _multimem_44
    f16: _multimem_44
    f16x2: _multimem_44
    f32: _multimem_45

class _multimem_26(Spelling):
    bf16: _multimem_44
    bf16x2: _multimem_44
    e4m3: _multimem_44
    e4m3x2: _multimem_44
    e4m3x4: _multimem_44
    e5m2: _multimem_44
    e5m2x2: _multimem_44
    e5m2x4: _multimem_44
    f16: _multimem_44
    f16x2: _multimem_44
    f32: _multimem_45

class _multimem_27(Spelling):
    bf16: _multimem_44
    e4m3: _multimem_44
    e4m3x2: _multimem_44
    e5m2: _multimem_44
    e5m2x2: _multimem_44
    f16: _multimem_44

class _multimem_28(Spelling):
    b32: _multimem_20
    b64: _multimem_20
    bf16x2: _multimem_21
    e4m3x4: _multimem_21
    e5m2x4: _multimem_21
    f16x2: _multimem_21
    f32: _multimem_22
    f64: _multimem_22
    global_: _multimem_23
    s32: _multimem_20
    s64: _multimem_20
    u32: _multimem_20
    u64: _multimem_20
    v2: _multimem_25
    v4: _multimem_26
    v8: _multimem_27

class _multimem_29(Spelling):
    global_: _multimem_46
    relaxed: _multimem_47
    weak: _multimem_48

class _multimem_30(Spelling):
    bulk: _multimem_49

class _multimem_31(Spelling):
    e4m3x4: _multimem_33
    e5m2x4: _multimem_33
    v2: _multimem_50
    v4: _multimem_51
    v8: _multimem_52

class _multimem_32(Spelling):
    bf16x2: _multimem_33
    f16x2: _multimem_33
    v2: _multimem_53
    v4: _multimem_53
    v8: _multimem_54

class _multimem_33(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Address, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Address, /, *, pred: _Guard = None) -> Reg: ...

class _multimem_34(Spelling):
    bf16: _multimem_55
    bf16x2: _multimem_55
    e4m3x2: _multimem_55
    e4m3x4: _multimem_55
    e5m2x2: _multimem_55
    e5m2x4: _multimem_55
    f16: _multimem_55
    f16x2: _multimem_55
    f32: _multimem_55

class _multimem_35(Spelling):
    bf16: _multimem_55
    bf16x2: _multimem_55
    e4m3: _multimem_55
    e4m3x2: _multimem_55
    e4m3x4: _multimem_55
    e5m2: _multimem_55
    e5m2x2: _multimem_55
    e5m2x4: _multimem_55
    f16: _multimem_55
    f16x2: _multimem_55
    f32: _multimem_55

class _multimem_36(Spelling):
    bf16: _multimem_55
    e4m3: _multimem_55
    e4m3x2: _multimem_55
    e5m2: _multimem_55
    e5m2x2: _multimem_55
    f16: _multimem_55

class _multimem_37(Spelling):
    bf16: _multimem_55
    bf16x2: _multimem_55
    e4m3x2: _multimem_55
    e4m3x4: _multimem_55
    e5m2x2: _multimem_55
    e5m2x4: _multimem_55
    f16: _multimem_55
    f16x2: _multimem_55

class _multimem_38(Spelling):
    bf16: _multimem_55
    bf16x2: _multimem_55
    e4m3: _multimem_55
    e4m3x2: _multimem_55
    e4m3x4: _multimem_55
    e5m2: _multimem_55
    e5m2x2: _multimem_55
    e5m2x4: _multimem_55
    f16: _multimem_55
    f16x2: _multimem_55

class _multimem_39(Spelling):
    bf16: _multimem_44
    bf16x2: _multimem_44
    f16: _multimem_44
    f16x2: _multimem_44
    f32: _multimem_45

class _multimem_40(Spelling):
    bf16: _multimem_44
    f16: _multimem_44

class _multimem_41(Spelling):
    gpu: _multimem_56
    sys: _multimem_56

class _multimem_42(Spelling):
    add: _multimem_13
    and_: _multimem_14
    global_: _multimem_16
    max: _multimem_17
    min: _multimem_17
    or_: _multimem_14
    xor: _multimem_14

class _multimem_43(Spelling):
    gpu: _multimem_57
    sys: _multimem_57

class _multimem_44(Spelling):
    def __call__(self, a: _Address, b: _Sources, /, *, pred: _Guard = None) -> None: ...

class _multimem_45(Spelling):
    def __call__(self, a: _Address, b: _Floats, /, *, pred: _Guard = None) -> None: ...

class _multimem_46(Spelling):
    shared__cta: _multimem_58

class _multimem_47(Spelling):
    cluster: _multimem_59
    cta: _multimem_59
    gpu: _multimem_59
    sys: _multimem_59

class _multimem_48(Spelling):
    global_: _multimem_46

class _multimem_49(Spelling):
    global_: _multimem_60
    relaxed: _multimem_61

class _multimem_50(Spelling):
    e4m3x2: _multimem_55
    e4m3x4: _multimem_55
    e5m2x2: _multimem_55
    e5m2x4: _multimem_55

class _multimem_51(Spelling):
    e4m3: _multimem_55
    e4m3x2: _multimem_55
    e4m3x4: _multimem_55
    e5m2: _multimem_55
    e5m2x2: _multimem_55
    e5m2x4: _multimem_55

class _multimem_52(Spelling):
    e4m3: _multimem_55
    e4m3x2: _multimem_55
    e5m2: _multimem_55
    e5m2x2: _multimem_55

class _multimem_53(Spelling):
    bf16: _multimem_55
    bf16x2: _multimem_55
    f16: _multimem_55
    f16x2: _multimem_55

class _multimem_54(Spelling):
    bf16: _multimem_55
    f16: _multimem_55

class _multimem_55(Spelling):
    @overload
    def __call__(self, d: _Vector, a: _Address, /, *, pred: _Guard = None) -> _Vector: ...
    @overload
    def __call__(self, a: _Address, /, *, pred: _Guard = None) -> list[Reg]: ...

class _multimem_56(Spelling):
    add: _multimem_62
    global_: _multimem_63

class _multimem_57(Spelling):
    b16: _multimem_21
    b32: _multimem_21
    b64: _multimem_21
    b8: _multimem_21
    f32: _multimem_21
    f64: _multimem_21
    global_: _multimem_64
    s16: _multimem_21
    s32: _multimem_21
    s64: _multimem_21
    s8: _multimem_21
    u16: _multimem_21
    u32: _multimem_21
    u64: _multimem_21
    u8: _multimem_21

class _multimem_58(Spelling):
    bulk_group: _multimem_65

class _multimem_59(Spelling):
    global_: _multimem_66

class _multimem_60(Spelling):
    shared__cta: _multimem_67

class _multimem_61(Spelling):
    cluster: _multimem_68
    cta: _multimem_68
    gpu: _multimem_68
    sys: _multimem_68

class _multimem_62(Spelling):
    s32: _multimem_21
    u32: _multimem_21
    u64: _multimem_21

class _multimem_63(Spelling):
    add: _multimem_62

class _multimem_64(Spelling):
    b16: _multimem_21
    b32: _multimem_21
    b64: _multimem_21
    b8: _multimem_21
    f32: _multimem_21
    f64: _multimem_21
    s16: _multimem_21
    s32: _multimem_21
    s64: _multimem_21
    s8: _multimem_21
    u16: _multimem_21
    u32: _multimem_21
    u64: _multimem_21
    u8: _multimem_21

class _multimem_65(Spelling):
    cp_mask: _multimem_69
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        size: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _multimem_66(Spelling):
    shared__cta: _multimem_70

class _multimem_67(Spelling):
    bulk_group: _multimem_71

class _multimem_68(Spelling):
    global_: _multimem_60

class _multimem_69(Spelling):
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        size: _Integer,
        byteMask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _multimem_70(Spelling):
    bulk_group: _multimem_72

class _multimem_71(Spelling):
    add: _multimem_73
    and_: _multimem_74
    dec: _multimem_75
    inc: _multimem_75
    max: _multimem_76
    min: _multimem_76
    or_: _multimem_74
    xor: _multimem_74

class _multimem_72(Spelling):
    b128: _multimem_77
    cp_mask: _multimem_78

class _multimem_73(Spelling):
    f32: _multimem_77
    f64: _multimem_77
    noftz: _multimem_79
    s32: _multimem_77
    u32: _multimem_77
    u64: _multimem_77

class _multimem_74(Spelling):
    b32: _multimem_77
    b64: _multimem_77

class _multimem_75(Spelling):
    u32: _multimem_77

class _multimem_76(Spelling):
    bf16: _multimem_77
    f16: _multimem_77
    s32: _multimem_77
    s64: _multimem_77
    u32: _multimem_77
    u64: _multimem_77

class _multimem_77(Spelling):
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        size: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _multimem_78(Spelling):
    b128: _multimem_69

class _multimem_79(Spelling):
    bf16: _multimem_77
    f16: _multimem_77
    f32: _multimem_77

class _nanosleep(Spelling):
    u32: _nanosleep_1

class _nanosleep_1(Spelling):
    def __call__(self, t: _Integer, /, *, pred: _Guard = None) -> None: ...

class _neg(Spelling):
    bf16: _neg_1
    bf16x2: _neg_1
    f16: _neg_1
    f16x2: _neg_1
    f32: _neg_2
    f64: _neg_2
    ftz: _neg_3
    s16: _neg_4
    s32: _neg_4
    s64: _neg_4
    s8x4: _neg_1

class _neg_1(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _neg_2(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _neg_3(Spelling):
    f16: _neg_1
    f16x2: _neg_1
    f32: _neg_2

class _neg_4(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _not(Spelling):
    b16: _not_1
    b32: _not_1
    b64: _not_1
    pred: _not_2

class _not_1(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _not_2(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _or(Spelling):
    b16: _or_1
    b32: _or_1
    b64: _or_1
    pred: _or_2

class _or_1(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _or_2(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _pmevent(Spelling):
    mask: _pmevent_1
    def __call__(self, a: _Whole, /, *, pred: _Guard = None) -> None: ...

class _pmevent_1(Spelling):
    def __call__(self, a: _Whole, /, *, pred: _Guard = None) -> None: ...

class _popc(Spelling):
    b32: _popc_1
    b64: _popc_1

class _popc_1(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _prefetch(Spelling):
    L1: _prefetch_1
    L1__32B: _prefetch_2
    L2: _prefetch_1
    const: _prefetch_3
    global_: _prefetch_4
    local: _prefetch_5
    param: _prefetch_3
    tensormap: _prefetch_1

class _prefetch_1(Spelling):
    def __call__(self, a: _Address, /, *, pred: _Guard = None) -> None: ...

class _prefetch_2(Spelling):
    valid_addr: _prefetch_1

class _prefetch_3(Spelling):
    tensormap: _prefetch_1

class _prefetch_4(Spelling):
    L1: _prefetch_1
    L1__32B: _prefetch_2
    L2: _prefetch_1
    L2__evict_last: _prefetch_1
    L2__evict_normal: _prefetch_1

class _prefetch_5(Spelling):
    L1: _prefetch_1
    L2: _prefetch_1

class _prefetchu(Spelling):
    L1: _prefetchu_1

class _prefetchu_1(Spelling):
    def __call__(self, a: _Address, /, *, pred: _Guard = None) -> None: ...

class _prmt(Spelling):
    b32: _prmt_1

class _prmt_1(Spelling):
    b4e: _prmt_2
    ecl: _prmt_2
    ecr: _prmt_2
    f4e: _prmt_2
    rc16: _prmt_2
    rc8: _prmt_2
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer,
        b: _Integer,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, c: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _prmt_2(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer,
        b: _Integer,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, c: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _rcp(Spelling):
    approx: _rcp_1
    rm: _rcp_2
    rn: _rcp_2
    rp: _rcp_2
    rz: _rcp_2

class _rcp_1(Spelling):
    f32: _rcp_3
    ftz: _rcp_4

class _rcp_2(Spelling):
    f32: _rcp_3
    f64: _rcp_3
    ftz: _rcp_5

class _rcp_3(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _rcp_4(Spelling):
    f32: _rcp_3
    f64: _rcp_3

class _rcp_5(Spelling):
    f32: _rcp_3

class _red(Spelling):
    add: _red_1
    and_: _red_2
    async_: _red_3
    cluster: _red_4
    cta: _red_4
    dec: _red_5
    global_: _red_6
    gpu: _red_4
    inc: _red_5
    max: _red_7
    min: _red_7
    or_: _red_2
    relaxed: _red_8
    release: _red_8
    shared: _red_9
    shared__cluster: _red_9
    shared__cta: _red_9
    sys: _red_4
    xor: _red_2

class _red_1(Spelling):
    L2__cache_hint: _red_10
    f32: _red_11
    f64: _red_11
    noftz: _red_12
    s32: _red_13
    u32: _red_13
    u64: _red_13
    v2: _red_14
    v4: _red_14

class _red_2(Spelling):
    L2__cache_hint: _red_15
    b32: _red_13
    b64: _red_13

class _red_3(Spelling):
    mmio: _red_16
    relaxed: _red_17
    release: _red_18

class _red_4(Spelling):
    add: _red_1
    and_: _red_2
    dec: _red_5
    global_: _red_6
    inc: _red_5
    max: _red_7
    min: _red_7
    or_: _red_2
    shared: _red_9
    shared__cluster: _red_9
    shared__cta: _red_9
    xor: _red_2

class _red_5(Spelling):
    L2__cache_hint: _red_19
    u32: _red_13

class _red_6(Spelling):
    add: _red_1
    and_: _red_2
    dec: _red_5
    inc: _red_5
    max: _red_7
    min: _red_7
    or_: _red_2
    xor: _red_2

class _red_7(Spelling):
    L2__cache_hint: _red_20
    noftz: _red_21
    s32: _red_13
    s64: _red_13
    u32: _red_13
    u64: _red_13

class _red_8(Spelling):
    add: _red_1
    and_: _red_2
    cluster: _red_4
    cta: _red_4
    dec: _red_5
    global_: _red_6
    gpu: _red_4
    inc: _red_5
    max: _red_7
    min: _red_7
    or_: _red_2
    shared: _red_9
    shared__cluster: _red_9
    shared__cta: _red_9
    sys: _red_4
    xor: _red_2

class _red_9(Spelling):
    add: _red_22
    and_: _red_23
    dec: _red_24
    inc: _red_24
    max: _red_25
    min: _red_25
    or_: _red_23
    xor: _red_23

class _red_10(Spelling):
    f32: _red_26
    f64: _red_26
    s32: _red_27
    u32: _red_27
    u64: _red_27
    v2: _red_28
    v4: _red_28

class _red_11(Spelling):
    def __call__(self, a: _Address, b: _Float, /, *, pred: _Guard = None) -> None: ...

class _red_12(Spelling):
    L2__cache_hint: _red_29
    bf16: _red_30
    bf16x2: _red_30
    f16: _red_30
    f16x2: _red_30
    f32: _red_11
    v2: _red_31
    v4: _red_31
    v8: _red_32

class _red_13(Spelling):
    def __call__(self, a: _Address, b: _Integer, /, *, pred: _Guard = None) -> None: ...

class _red_14(Spelling):
    f32: _red_33

class _red_15(Spelling):
    b32: _red_27
    b64: _red_27

class _red_16(Spelling):
    release: _red_34

class _red_17(Spelling):
    cluster: _red_35

class _red_18(Spelling):
    gpu: _red_36
    sys: _red_36

class _red_19(Spelling):
    u32: _red_27

class _red_20(Spelling):
    s32: _red_27
    s64: _red_27
    u32: _red_27
    u64: _red_27

class _red_21(Spelling):
    L2__cache_hint: _red_37
    v2: _red_38
    v4: _red_38
    v8: _red_32

class _red_22(Spelling):
    f32: _red_11
    f64: _red_11
    noftz: _red_39
    s32: _red_13
    u32: _red_13
    u64: _red_13

class _red_23(Spelling):
    b32: _red_13
    b64: _red_13

class _red_24(Spelling):
    u32: _red_13

class _red_25(Spelling):
    s32: _red_13
    s64: _red_13
    u32: _red_13
    u64: _red_13

class _red_26(Spelling):
    def __call__(
        self,
        a: _Address,
        b: _Float,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _red_27(Spelling):
    def __call__(
        self,
        a: _Address,
        b: _Integer,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _red_28(Spelling):
    f32: _red_40

class _red_29(Spelling):
    bf16: _red_41
    bf16x2: _red_41
    f16: _red_41
    f16x2: _red_41
    f32: _red_26
    v2: _red_42
    v4: _red_42
    v8: _red_43

class _red_30(Spelling):
    def __call__(self, a: _Address, b: _Source, /, *, pred: _Guard = None) -> None: ...

class _red_31(Spelling):
    bf16: _red_44
    bf16x2: _red_44
    f16: _red_44
    f16x2: _red_44
    f32: _red_33

class _red_32(Spelling):
    bf16: _red_44
    f16: _red_44

class _red_33(Spelling):
    def __call__(self, a: _Address, b: _Floats, /, *, pred: _Guard = None) -> None: ...

class _red_34(Spelling):
    sys: _red_36

class _red_35(Spelling):
    mbarrier__complete_tx__bytes: _red_45
    shared__cluster: _red_46

class _red_36(Spelling):
    add: _red_47
    global_: _red_48

class _red_37(Spelling):
    v2: _red_49
    v4: _red_49
    v8: _red_43

class _red_38(Spelling):
    bf16: _red_44
    bf16x2: _red_44
    f16: _red_44
    f16x2: _red_44

class _red_39(Spelling):
    bf16: _red_30
    bf16x2: _red_30
    f16: _red_30
    f16x2: _red_30
    f32: _red_11

class _red_40(Spelling):
    def __call__(
        self,
        a: _Address,
        b: _Floats,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _red_41(Spelling):
    def __call__(
        self,
        a: _Address,
        b: _Source,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _red_42(Spelling):
    bf16: _red_50
    bf16x2: _red_50
    f16: _red_50
    f16x2: _red_50
    f32: _red_40

class _red_43(Spelling):
    bf16: _red_50
    f16: _red_50

class _red_44(Spelling):
    def __call__(self, a: _Address, b: _Sources, /, *, pred: _Guard = None) -> None: ...

class _red_45(Spelling):
    add: _red_51
    and_: _red_52
    dec: _red_53
    inc: _red_53
    max: _red_54
    min: _red_54
    or_: _red_52
    xor: _red_52

class _red_46(Spelling):
    mbarrier__complete_tx__bytes: _red_45

class _red_47(Spelling):
    s32: _red_30
    s64: _red_30
    u32: _red_30
    u64: _red_30

class _red_48(Spelling):
    add: _red_47

class _red_49(Spelling):
    bf16: _red_50
    bf16x2: _red_50
    f16: _red_50
    f16x2: _red_50

class _red_50(Spelling):
    def __call__(
        self,
        a: _Address,
        b: _Sources,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _red_51(Spelling):
    s32: _red_55
    u32: _red_55
    u64: _red_55

class _red_52(Spelling):
    b32: _red_55

class _red_53(Spelling):
    u32: _red_55

class _red_54(Spelling):
    s32: _red_55
    u32: _red_55

class _red_55(Spelling):
    def __call__(
        self,
        a: _Address,
        b: _Integer,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _redux(Spelling):
    sync: _redux_1

class _redux_1(Spelling):
    add: _redux_2
    and_: _redux_3
    max: _redux_4
    min: _redux_4
    or_: _redux_3
    xor: _redux_3

class _redux_2(Spelling):
    s32: _redux_5
    u32: _redux_5

class _redux_3(Spelling):
    b32: _redux_5

class _redux_4(Spelling):
    NaN: _redux_6
    abs: _redux_7
    f32: _redux_8
    s32: _redux_5
    u32: _redux_5

class _redux_5(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer,
        membermask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, membermask: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _redux_6(Spelling):
    f32: _redux_8

class _redux_7(Spelling):
    NaN: _redux_6
    f32: _redux_8

class _redux_8(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Float,
        membermask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Float, membermask: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _rem(Spelling):
    s16: _rem_1
    s32: _rem_1
    s64: _rem_1
    u16: _rem_1
    u32: _rem_1
    u64: _rem_1

class _rem_1(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _ret(Spelling):
    uni: _ret_1
    def __call__(self, *, pred: _Guard = None) -> None: ...

class _ret_1(Spelling):
    def __call__(self, *, pred: _Guard = None) -> None: ...

class _rsqrt(Spelling):
    approx: _rsqrt_1

class _rsqrt_1(Spelling):
    f32: _rsqrt_2
    f64: _rsqrt_2
    ftz: _rsqrt_3

class _rsqrt_2(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _rsqrt_3(Spelling):
    f32: _rsqrt_2
    f64: _rsqrt_2

class _sad(Spelling):
    s16: _sad_1
    s32: _sad_1
    s64: _sad_1
    u16: _sad_1
    u32: _sad_1
    u64: _sad_1

class _sad_1(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer,
        b: _Integer,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, c: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _selp(Spelling):
    b16: _selp_1
    b32: _selp_1
    b64: _selp_1
    f32: _selp_2
    f64: _selp_2
    s16: _selp_1
    s32: _selp_1
    s64: _selp_1
    u16: _selp_1
    u32: _selp_1
    u64: _selp_1

class _selp_1(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer,
        b: _Integer,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, c: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _selp_2(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Float,
        b: _Float,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Float, b: _Float, c: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _set(Spelling):
    eq: _set_1
    equ: _set_2
    ge: _set_3
    geu: _set_2
    gt: _set_3
    gtu: _set_2
    hi: _set_4
    hs: _set_4
    le: _set_3
    leu: _set_2
    lo: _set_4
    ls: _set_4
    lt: _set_3
    ltu: _set_2
    nan: _set_2
    ne: _set_1
    neu: _set_2
    num: _set_2

class _set_1(Spelling):
    and_: _set_5
    bf16: _set_6
    bf16x2: _set_7
    f16: _set_8
    f16x2: _set_9
    f32: _set_10
    ftz: _set_11
    or_: _set_5
    s16: _set_12
    s16x2: _set_13
    s32: _set_14
    s8x4: _set_13
    u16: _set_12
    u16x2: _set_13
    u32: _set_14
    u8x4: _set_13
    xor: _set_5

class _set_2(Spelling):
    and_: _set_15
    bf16: _set_16
    bf16x2: _set_7
    f16: _set_17
    f16x2: _set_9
    f32: _set_18
    ftz: _set_11
    or_: _set_15
    s16: _set_12
    s32: _set_19
    u16: _set_12
    u32: _set_19
    xor: _set_15

class _set_3(Spelling):
    and_: _set_20
    bf16: _set_21
    bf16x2: _set_7
    f16: _set_22
    f16x2: _set_9
    f32: _set_23
    ftz: _set_11
    or_: _set_20
    s16: _set_12
    s16x2: _set_13
    s32: _set_24
    s8x4: _set_13
    u16: _set_12
    u16x2: _set_13
    u32: _set_24
    u8x4: _set_13
    xor: _set_20

class _set_4(Spelling):
    and_: _set_25
    bf16: _set_26
    f16: _set_26
    f32: _set_26
    or_: _set_25
    s32: _set_26
    u16x2: _set_13
    u32: _set_26
    u8x4: _set_13
    xor: _set_25

class _set_5(Spelling):
    bf16: _set_27
    bf16x2: _set_28
    f16: _set_29
    f16x2: _set_30
    f32: _set_31
    ftz: _set_32
    s16: _set_33
    s32: _set_34
    u16: _set_33
    u32: _set_34

class _set_6(Spelling):
    b16: _set_35
    b32: _set_35
    b64: _set_35
    bf16: _set_13
    f16: _set_13
    f32: _set_36
    f64: _set_36
    s16: _set_35
    s32: _set_35
    s64: _set_35
    u16: _set_35
    u32: _set_35
    u64: _set_35

class _set_7(Spelling):
    bf16x2: _set_13

class _set_8(Spelling):
    b16: _set_35
    b32: _set_35
    b64: _set_35
    f16: _set_13
    f32: _set_36
    f64: _set_36
    s16: _set_35
    s32: _set_35
    s64: _set_35
    u16: _set_35
    u32: _set_35
    u64: _set_35

class _set_9(Spelling):
    f16x2: _set_13

class _set_10(Spelling):
    b16: _set_35
    b32: _set_35
    b64: _set_35
    f32: _set_36
    f64: _set_36
    s16: _set_35
    s32: _set_35
    s64: _set_35
    u16: _set_35
    u32: _set_35
    u64: _set_35

class _set_11(Spelling):
    f16: _set_37
    f16x2: _set_9
    f32: _set_38
    s16: _set_39
    s32: _set_40
    u16: _set_39
    u32: _set_40

class _set_12(Spelling):
    bf16: _set_13
    f16: _set_13

class _set_13(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _set_14(Spelling):
    b16: _set_35
    b32: _set_35
    b64: _set_35
    bf16: _set_13
    bf16x2: _set_13
    f16: _set_13
    f16x2: _set_13
    f32: _set_36
    f64: _set_36
    s16: _set_35
    s32: _set_35
    s64: _set_35
    u16: _set_35
    u32: _set_35
    u64: _set_35

class _set_15(Spelling):
    bf16: _set_41
    bf16x2: _set_28
    f16: _set_42
    f16x2: _set_30
    f32: _set_43
    ftz: _set_32
    s16: _set_33
    s32: _set_44
    u16: _set_33
    u32: _set_44

class _set_16(Spelling):
    bf16: _set_13
    f16: _set_13
    f32: _set_36
    f64: _set_36

class _set_17(Spelling):
    f16: _set_13
    f32: _set_36
    f64: _set_36

class _set_18(Spelling):
    f32: _set_36
    f64: _set_36

class _set_19(Spelling):
    bf16: _set_13
    bf16x2: _set_13
    f16: _set_13
    f16x2: _set_13
    f32: _set_36
    f64: _set_36

class _set_20(Spelling):
    bf16: _set_45
    bf16x2: _set_28
    f16: _set_46
    f16x2: _set_30
    f32: _set_47
    ftz: _set_32
    s16: _set_33
    s32: _set_48
    u16: _set_33
    u32: _set_48

class _set_21(Spelling):
    bf16: _set_13
    f16: _set_13
    f32: _set_36
    f64: _set_36
    s16: _set_35
    s32: _set_35
    s64: _set_35
    u16: _set_35
    u32: _set_35
    u64: _set_35

class _set_22(Spelling):
    f16: _set_13
    f32: _set_36
    f64: _set_36
    s16: _set_35
    s32: _set_35
    s64: _set_35
    u16: _set_35
    u32: _set_35
    u64: _set_35

class _set_23(Spelling):
    f32: _set_36
    f64: _set_36
    s16: _set_35
    s32: _set_35
    s64: _set_35
    u16: _set_35
    u32: _set_35
    u64: _set_35

class _set_24(Spelling):
    bf16: _set_13
    bf16x2: _set_13
    f16: _set_13
    f16x2: _set_13
    f32: _set_36
    f64: _set_36
    s16: _set_35
    s32: _set_35
    s64: _set_35
    u16: _set_35
    u32: _set_35
    u64: _set_35

class _set_25(Spelling):
    bf16: _set_49
    f16: _set_49
    f32: _set_49
    s32: _set_49
    u32: _set_49

class _set_26(Spelling):
    u16: _set_35
    u32: _set_35
    u64: _set_35

class _set_27(Spelling):
    b16: _set_50
    b32: _set_50
    b64: _set_50
    bf16: _set_51
    f16: _set_51
    f32: _set_52
    f64: _set_52
    s16: _set_50
    s32: _set_50
    s64: _set_50
    u16: _set_50
    u32: _set_50
    u64: _set_50

class _set_28(Spelling):
    bf16x2: _set_51

class _set_29(Spelling):
    b16: _set_50
    b32: _set_50
    b64: _set_50
    f16: _set_51
    f32: _set_52
    f64: _set_52
    s16: _set_50
    s32: _set_50
    s64: _set_50
    u16: _set_50
    u32: _set_50
    u64: _set_50

class _set_30(Spelling):
    f16x2: _set_51

class _set_31(Spelling):
    b16: _set_50
    b32: _set_50
    b64: _set_50
    f32: _set_52
    f64: _set_52
    s16: _set_50
    s32: _set_50
    s64: _set_50
    u16: _set_50
    u32: _set_50
    u64: _set_50

class _set_32(Spelling):
    f16: _set_53
    f16x2: _set_30
    f32: _set_54
    s16: _set_55
    s32: _set_56
    u16: _set_55
    u32: _set_56

class _set_33(Spelling):
    bf16: _set_51
    f16: _set_51

class _set_34(Spelling):
    b16: _set_50
    b32: _set_50
    b64: _set_50
    bf16: _set_51
    bf16x2: _set_51
    f16: _set_51
    f16x2: _set_51
    f32: _set_52
    f64: _set_52
    s16: _set_50
    s32: _set_50
    s64: _set_50
    u16: _set_50
    u32: _set_50
    u64: _set_50

class _set_35(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _set_36(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Float, b: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float, b: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _set_37(Spelling):
    f16: _set_13
    f32: _set_36

class _set_38(Spelling):
    f32: _set_36

class _set_39(Spelling):
    f16: _set_13

class _set_40(Spelling):
    f16: _set_13
    f16x2: _set_13
    f32: _set_36

class _set_41(Spelling):
    bf16: _set_51
    f16: _set_51
    f32: _set_52
    f64: _set_52

class _set_42(Spelling):
    f16: _set_51
    f32: _set_52
    f64: _set_52

class _set_43(Spelling):
    f32: _set_52
    f64: _set_52

class _set_44(Spelling):
    bf16: _set_51
    bf16x2: _set_51
    f16: _set_51
    f16x2: _set_51
    f32: _set_52
    f64: _set_52

class _set_45(Spelling):
    bf16: _set_51
    f16: _set_51
    f32: _set_52
    f64: _set_52
    s16: _set_50
    s32: _set_50
    s64: _set_50
    u16: _set_50
    u32: _set_50
    u64: _set_50

class _set_46(Spelling):
    f16: _set_51
    f32: _set_52
    f64: _set_52
    s16: _set_50
    s32: _set_50
    s64: _set_50
    u16: _set_50
    u32: _set_50
    u64: _set_50

class _set_47(Spelling):
    f32: _set_52
    f64: _set_52
    s16: _set_50
    s32: _set_50
    s64: _set_50
    u16: _set_50
    u32: _set_50
    u64: _set_50

class _set_48(Spelling):
    bf16: _set_51
    bf16x2: _set_51
    f16: _set_51
    f16x2: _set_51
    f32: _set_52
    f64: _set_52
    s16: _set_50
    s32: _set_50
    s64: _set_50
    u16: _set_50
    u32: _set_50
    u64: _set_50

class _set_49(Spelling):
    u16: _set_50
    u32: _set_50
    u64: _set_50

class _set_50(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer,
        b: _Integer,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, c: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _set_51(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Source,
        b: _Source,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Source, b: _Source, c: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _set_52(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Float,
        b: _Float,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Float, b: _Float, c: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _set_53(Spelling):
    f16: _set_51
    f32: _set_52

class _set_54(Spelling):
    f32: _set_52

class _set_55(Spelling):
    f16: _set_51

class _set_56(Spelling):
    f16: _set_51
    f16x2: _set_51
    f32: _set_52

class _setmaxnreg(Spelling):
    dec: _setmaxnreg_1
    inc: _setmaxnreg_1

class _setmaxnreg_1(Spelling):
    sync: _setmaxnreg_2

class _setmaxnreg_2(Spelling):
    aligned: _setmaxnreg_3

class _setmaxnreg_3(Spelling):
    u32: _setmaxnreg_4

class _setmaxnreg_4(Spelling):
    def __call__(self, n: _Whole, /, *, pred: _Guard = None) -> None: ...

class _setp(Spelling):
    eq: _setp_1
    equ: _setp_2
    ge: _setp_3
    geu: _setp_2
    gt: _setp_3
    gtu: _setp_2
    hi: _setp_4
    hs: _setp_4
    le: _setp_3
    leu: _setp_2
    lo: _setp_4
    ls: _setp_4
    lt: _setp_3
    ltu: _setp_2
    nan: _setp_2
    ne: _setp_1
    neu: _setp_2
    num: _setp_2

class _setp_1(Spelling):
    and_: _setp_5
    b16: _setp_6
    b32: _setp_6
    b64: _setp_6
    bf16: _setp_7
    bf16x2: _setp_8
    f16: _setp_7
    f16x2: _setp_8
    f32: _setp_9
    f64: _setp_9
    ftz: _setp_10
    or_: _setp_5
    s16: _setp_6
    s32: _setp_6
    s64: _setp_6
    u16: _setp_6
    u32: _setp_6
    u64: _setp_6
    xor: _setp_5

class _setp_2(Spelling):
    and_: _setp_11
    bf16: _setp_7
    bf16x2: _setp_8
    f16: _setp_7
    f16x2: _setp_8
    f32: _setp_9
    f64: _setp_9
    ftz: _setp_10
    or_: _setp_11
    xor: _setp_11

class _setp_3(Spelling):
    and_: _setp_12
    bf16: _setp_7
    bf16x2: _setp_8
    f16: _setp_7
    f16x2: _setp_8
    f32: _setp_9
    f64: _setp_9
    ftz: _setp_10
    or_: _setp_12
    s16: _setp_6
    s32: _setp_6
    s64: _setp_6
    u16: _setp_6
    u32: _setp_6
    u64: _setp_6
    xor: _setp_12

class _setp_4(Spelling):
    and_: _setp_13
    or_: _setp_13
    u16: _setp_6
    u32: _setp_6
    u64: _setp_6
    xor: _setp_13

class _setp_5(Spelling):
    b16: _setp_14
    b32: _setp_14
    b64: _setp_14
    bf16: _setp_15
    bf16x2: _setp_16
    f16: _setp_15
    f16x2: _setp_16
    f32: _setp_17
    f64: _setp_17
    ftz: _setp_18
    s16: _setp_14
    s32: _setp_14
    s64: _setp_14
    u16: _setp_14
    u32: _setp_14
    u64: _setp_14

class _setp_6(Spelling):
    @overload
    def __call__(self, p: _Two, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> _Two: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _setp_7(Spelling):
    @overload
    def __call__(self, p: Reg, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _setp_8(Spelling):
    @overload
    def __call__(self, p: Pair, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Pair: ...
    @overload
    def __call__(self, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _setp_9(Spelling):
    @overload
    def __call__(self, p: _Two, a: _Float, b: _Float, /, *, pred: _Guard = None) -> _Two: ...
    @overload
    def __call__(self, a: _Float, b: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _setp_10(Spelling):
    f16: _setp_7
    f16x2: _setp_8
    f32: _setp_9

class _setp_11(Spelling):
    bf16: _setp_15
    bf16x2: _setp_16
    f16: _setp_15
    f16x2: _setp_16
    f32: _setp_17
    f64: _setp_17
    ftz: _setp_18

class _setp_12(Spelling):
    bf16: _setp_15
    bf16x2: _setp_16
    f16: _setp_15
    f16x2: _setp_16
    f32: _setp_17
    f64: _setp_17
    ftz: _setp_18
    s16: _setp_14
    s32: _setp_14
    s64: _setp_14
    u16: _setp_14
    u32: _setp_14
    u64: _setp_14

class _setp_13(Spelling):
    u16: _setp_14
    u32: _setp_14
    u64: _setp_14

class _setp_14(Spelling):
    @overload
    def __call__(
        self,
        p: _Two,
        a: _Integer,
        b: _Integer,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Two: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, c: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _setp_15(Spelling):
    @overload
    def __call__(
        self,
        p: Reg,
        a: _Source,
        b: _Source,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Source, b: _Source, c: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _setp_16(Spelling):
    @overload
    def __call__(
        self,
        p: Pair,
        a: _Source,
        b: _Source,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Pair: ...
    @overload
    def __call__(self, a: _Source, b: _Source, c: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _setp_17(Spelling):
    @overload
    def __call__(
        self,
        p: _Two,
        a: _Float,
        b: _Float,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Two: ...
    @overload
    def __call__(self, a: _Float, b: _Float, c: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _setp_18(Spelling):
    f16: _setp_15
    f16x2: _setp_16
    f32: _setp_17

class _shf(Spelling):
    l: _shf_1
    r: _shf_1

class _shf_1(Spelling):
    clamp: _shf_2
    wrap: _shf_2

class _shf_2(Spelling):
    b32: _shf_3

class _shf_3(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer,
        b: _Integer,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, c: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _shfl(Spelling):
    sync: _shfl_1

class _shfl_1(Spelling):
    bfly: _shfl_2
    down: _shfl_2
    idx: _shfl_2
    up: _shfl_2

class _shfl_2(Spelling):
    b32: _shfl_3

class _shfl_3(Spelling):
    @overload
    def __call__(
        self,
        d: _Two,
        a: _Integer,
        b: _Integer,
        c: _Integer,
        membermask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> _Two: ...
    @overload
    def __call__(
        self,
        a: _Integer,
        b: _Integer,
        c: _Integer,
        membermask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _shl(Spelling):
    b16: _shl_1
    b32: _shl_1
    b64: _shl_1

class _shl_1(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _shr(Spelling):
    b16: _shr_1
    b32: _shr_1
    b64: _shr_1
    s16: _shr_1
    s32: _shr_1
    s64: _shr_1
    u16: _shr_1
    u32: _shr_1
    u64: _shr_1

class _shr_1(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _sin(Spelling):
    approx: _sin_1

class _sin_1(Spelling):
    f32: _sin_2
    ftz: _sin_3

class _sin_2(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _sin_3(Spelling):
    f32: _sin_2

class _slct(Spelling):
    b16: _slct_1
    b32: _slct_1
    b64: _slct_1
    f32: _slct_2
    f64: _slct_2
    ftz: _slct_3
    s16: _slct_1
    s32: _slct_1
    s64: _slct_1
    u16: _slct_1
    u32: _slct_1
    u64: _slct_1

class _slct_1(Spelling):
    f32: _slct_4
    s32: _slct_5

class _slct_2(Spelling):
    f32: _slct_6
    s32: _slct_7

class _slct_3(Spelling):
    b16: _slct_8
    b32: _slct_8
    b64: _slct_8
    f32: _slct_9
    f64: _slct_9
    s16: _slct_8
    s32: _slct_8
    s64: _slct_8
    u16: _slct_8
    u32: _slct_8
    u64: _slct_8

class _slct_4(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer,
        b: _Integer,
        c: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, c: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _slct_5(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer,
        b: _Integer,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, c: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _slct_6(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Float,
        b: _Float,
        c: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Float, b: _Float, c: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _slct_7(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Float,
        b: _Float,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Float, b: _Float, c: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _slct_8(Spelling):
    f32: _slct_4

class _slct_9(Spelling):
    f32: _slct_6

class _spcompress(Spelling):
    b16: _spcompress_1
    b8: _spcompress_1

class _spcompress_1(Spelling):
    b2: _spcompress_2
    b4: _spcompress_2

class _spcompress_2(Spelling):
    sp__2_4: _spcompress_3

class _spcompress_3(Spelling):
    x1: _spcompress_4
    x16: _spcompress_4
    x2: _spcompress_4
    x32: _spcompress_4
    x4: _spcompress_4
    x64: _spcompress_4
    x8: _spcompress_4

class _spcompress_4(Spelling):
    @overload
    def __call__(
        self,
        mdata: _Vector,
        cdata: _Registers,
        data: _Sources,
        spdesc: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        cdata: _Registers,
        data: _Sources,
        spdesc: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _spdecompress(Spelling):
    b16: _spdecompress_1
    b8: _spdecompress_2

class _spdecompress_1(Spelling):
    b2: _spdecompress_3
    b4: _spdecompress_4

class _spdecompress_2(Spelling):
    b2: _spdecompress_5
    b4: _spdecompress_6

class _spdecompress_3(Spelling):
    sp__1_2: _spdecompress_7
    sp__1_4: _spdecompress_7
    sp__2_4: _spdecompress_7

class _spdecompress_4(Spelling):
    sp__1_16: _spdecompress_8
    sp__1_2: _spdecompress_7
    sp__1_4: _spdecompress_7
    sp__1_8: _spdecompress_9
    sp__2_16: _spdecompress_8
    sp__2_4: _spdecompress_7
    sp__2_8: _spdecompress_9

class _spdecompress_5(Spelling):
    sp__1_2: _spdecompress_10
    sp__1_4: _spdecompress_7
    sp__2_4: _spdecompress_7

class _spdecompress_6(Spelling):
    sp__1_16: _spdecompress_9
    sp__1_2: _spdecompress_10
    sp__1_4: _spdecompress_7
    sp__1_8: _spdecompress_7
    sp__2_16: _spdecompress_9
    sp__2_4: _spdecompress_7
    sp__2_8: _spdecompress_7
    sp__4_16: _spdecompress_9
    sp__4_8: _spdecompress_7

class _spdecompress_7(Spelling):
    x1: _spdecompress_11
    x16: _spdecompress_11
    x2: _spdecompress_11
    x32: _spdecompress_11
    x4: _spdecompress_11
    x64: _spdecompress_11
    x8: _spdecompress_11

class _spdecompress_8(Spelling):
    x1: _spdecompress_11
    x16: _spdecompress_11
    x2: _spdecompress_11
    x4: _spdecompress_11
    x8: _spdecompress_11

class _spdecompress_9(Spelling):
    x1: _spdecompress_11
    x16: _spdecompress_11
    x2: _spdecompress_11
    x32: _spdecompress_11
    x4: _spdecompress_11
    x8: _spdecompress_11

class _spdecompress_10(Spelling):
    x16: _spdecompress_11
    x2: _spdecompress_11
    x32: _spdecompress_11
    x4: _spdecompress_11
    x64: _spdecompress_11
    x8: _spdecompress_11

class _spdecompress_11(Spelling):
    @overload
    def __call__(
        self,
        data: _Vector,
        mdata: _Sources,
        cdata: _Sources,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        mdata: _Sources,
        cdata: _Sources,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _sqrt(Spelling):
    approx: _sqrt_1
    rm: _sqrt_2
    rn: _sqrt_2
    rp: _sqrt_2
    rz: _sqrt_2

class _sqrt_1(Spelling):
    f32: _sqrt_3
    ftz: _sqrt_4

class _sqrt_2(Spelling):
    f32: _sqrt_3
    f64: _sqrt_3
    ftz: _sqrt_4

class _sqrt_3(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _sqrt_4(Spelling):
    f32: _sqrt_3

class _st(Spelling):
    L1__evict_first: _st_1
    L1__evict_last: _st_1
    L1__evict_normal: _st_1
    L1__evict_unchanged: _st_1
    L1__no_allocate: _st_1
    L2__cache_hint: _st_2
    L2__evict_first: _st_3
    L2__evict_last: _st_3
    L2__evict_normal: _st_3
    async_: _st_4
    b128: _st_5
    b16: _st_6
    b32: _st_6
    b64: _st_6
    b8: _st_6
    bulk: _st_7
    cg: _st_8
    cs: _st_8
    f32: _st_9
    f64: _st_9
    global_: _st_10
    local: _st_11
    mmio: _st_12
    param: _st_13
    param__func: _st_13
    relaxed: _st_14
    release: _st_14
    s16: _st_6
    s32: _st_6
    s64: _st_6
    s8: _st_6
    shared: _st_11
    shared__cluster: _st_11
    shared__cta: _st_11
    u16: _st_6
    u32: _st_6
    u64: _st_6
    u8: _st_6
    v2: _st_15
    v4: _st_15
    v8: _st_16
    volatile: _st_17
    wb: _st_8
    weak: _st_18
    wt: _st_8

class _st_1(Spelling):
    L2__cache_hint: _st_2
    L2__evict_first: _st_3
    L2__evict_last: _st_3
    L2__evict_normal: _st_3
    b128: _st_5
    b16: _st_6
    b32: _st_6
    b64: _st_6
    b8: _st_6
    f32: _st_9
    f64: _st_9
    s16: _st_6
    s32: _st_6
    s64: _st_6
    s8: _st_6
    u16: _st_6
    u32: _st_6
    u64: _st_6
    u8: _st_6
    v2: _st_15
    v4: _st_15
    v8: _st_16

class _st_2(Spelling):
    b128: _st_19
    b16: _st_20
    b32: _st_20
    b64: _st_20
    b8: _st_20
    f32: _st_21
    f64: _st_21
    s16: _st_20
    s32: _st_20
    s64: _st_20
    s8: _st_20
    u16: _st_20
    u32: _st_20
    u64: _st_20
    u8: _st_20
    v2: _st_22
    v4: _st_22
    v8: _st_23

class _st_3(Spelling):
    L2__cache_hint: _st_24
    v4: _st_25
    v8: _st_16

class _st_4(Spelling):
    mbarrier__complete_tx__bytes: _st_26
    mmio: _st_27
    release: _st_28
    shared__cluster: _st_29
    weak: _st_30

class _st_5(Spelling):
    def __call__(self, a: _Address, b: _Source, /, *, pred: _Guard = None) -> None: ...

class _st_6(Spelling):
    def __call__(self, a: _Address, b: _Integer, /, *, pred: _Guard = None) -> None: ...

class _st_7(Spelling):
    shared__cta: _st_31
    weak: _st_32
    def __call__(
        self,
        a: _Address,
        size: _Integer,
        initval: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _st_8(Spelling):
    L2__cache_hint: _st_2
    b128: _st_5
    b16: _st_6
    b32: _st_6
    b64: _st_6
    b8: _st_6
    f32: _st_9
    f64: _st_9
    s16: _st_6
    s32: _st_6
    s64: _st_6
    s8: _st_6
    u16: _st_6
    u32: _st_6
    u64: _st_6
    u8: _st_6
    v2: _st_15
    v4: _st_15
    v8: _st_16

class _st_9(Spelling):
    def __call__(self, a: _Address, b: _Float, /, *, pred: _Guard = None) -> None: ...

class _st_10(Spelling):
    L1__evict_first: _st_1
    L1__evict_last: _st_1
    L1__evict_normal: _st_1
    L1__evict_unchanged: _st_1
    L1__no_allocate: _st_1
    L2__cache_hint: _st_2
    L2__evict_first: _st_3
    L2__evict_last: _st_3
    L2__evict_normal: _st_3
    b128: _st_5
    b16: _st_6
    b32: _st_6
    b64: _st_6
    b8: _st_6
    cg: _st_8
    cs: _st_8
    f32: _st_9
    f64: _st_9
    s16: _st_6
    s32: _st_6
    s64: _st_6
    s8: _st_6
    u16: _st_6
    u32: _st_6
    u64: _st_6
    u8: _st_6
    v2: _st_15
    v4: _st_15
    v8: _st_16
    wb: _st_8
    wt: _st_8

class _st_11(Spelling):
    b128: _st_5
    b16: _st_6
    b32: _st_6
    b64: _st_6
    b8: _st_6
    cg: _st_13
    cs: _st_13
    f32: _st_9
    f64: _st_9
    s16: _st_6
    s32: _st_6
    s64: _st_6
    s8: _st_6
    u16: _st_6
    u32: _st_6
    u64: _st_6
    u8: _st_6
    v2: _st_15
    v4: _st_33
    wb: _st_13
    wt: _st_13

class _st_12(Spelling):
    relaxed: _st_34
    release: _st_34

class _st_13(Spelling):
    b128: _st_5
    b16: _st_6
    b32: _st_6
    b64: _st_6
    b8: _st_6
    f32: _st_9
    f64: _st_9
    s16: _st_6
    s32: _st_6
    s64: _st_6
    s8: _st_6
    u16: _st_6
    u32: _st_6
    u64: _st_6
    u8: _st_6
    v2: _st_15
    v4: _st_33

class _st_14(Spelling):
    cluster: _st_35
    cta: _st_35
    gpu: _st_35
    sys: _st_35

class _st_15(Spelling):
    b16: _st_36
    b32: _st_36
    b64: _st_36
    b8: _st_36
    f32: _st_37
    f64: _st_37
    s16: _st_36
    s32: _st_36
    s64: _st_36
    s8: _st_36
    u16: _st_36
    u32: _st_36
    u64: _st_36
    u8: _st_36

class _st_16(Spelling):
    b32: _st_36
    f32: _st_37
    s32: _st_36
    u32: _st_36

class _st_17(Spelling):
    b128: _st_5
    b16: _st_6
    b32: _st_6
    b64: _st_6
    b8: _st_6
    f32: _st_9
    f64: _st_9
    global_: _st_38
    local: _st_13
    s16: _st_6
    s32: _st_6
    s64: _st_6
    s8: _st_6
    shared: _st_13
    shared__cluster: _st_13
    shared__cta: _st_13
    u16: _st_6
    u32: _st_6
    u64: _st_6
    u8: _st_6
    v2: _st_15
    v4: _st_15
    v8: _st_16

class _st_18(Spelling):
    L1__evict_first: _st_1
    L1__evict_last: _st_1
    L1__evict_normal: _st_1
    L1__evict_unchanged: _st_1
    L1__no_allocate: _st_1
    L2__cache_hint: _st_2
    L2__evict_first: _st_3
    L2__evict_last: _st_3
    L2__evict_normal: _st_3
    b128: _st_5
    b16: _st_6
    b32: _st_6
    b64: _st_6
    b8: _st_6
    cg: _st_8
    cs: _st_8
    f32: _st_9
    f64: _st_9
    global_: _st_10
    local: _st_11
    param: _st_13
    param__func: _st_13
    s16: _st_6
    s32: _st_6
    s64: _st_6
    s8: _st_6
    shared: _st_11
    shared__cluster: _st_11
    shared__cta: _st_11
    u16: _st_6
    u32: _st_6
    u64: _st_6
    u8: _st_6
    v2: _st_15
    v4: _st_15
    v8: _st_16
    wb: _st_8
    wt: _st_8

class _st_19(Spelling):
    def __call__(
        self,
        a: _Address,
        b: _Source,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _st_20(Spelling):
    def __call__(
        self,
        a: _Address,
        b: _Integer,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _st_21(Spelling):
    def __call__(
        self,
        a: _Address,
        b: _Float,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _st_22(Spelling):
    b16: _st_39
    b32: _st_39
    b64: _st_39
    b8: _st_39
    f32: _st_40
    f64: _st_40
    s16: _st_39
    s32: _st_39
    s64: _st_39
    s8: _st_39
    u16: _st_39
    u32: _st_39
    u64: _st_39
    u8: _st_39

class _st_23(Spelling):
    b32: _st_39
    f32: _st_40
    s32: _st_39
    u32: _st_39

class _st_24(Spelling):
    v4: _st_41
    v8: _st_23

class _st_25(Spelling):
    b64: _st_36
    f64: _st_37
    s64: _st_36
    u64: _st_36

class _st_26(Spelling):
    b128: _st_42
    b32: _st_43
    b64: _st_43
    f32: _st_44
    f64: _st_44
    s32: _st_43
    s64: _st_43
    u32: _st_43
    u64: _st_43
    v2: _st_45
    v4: _st_46

class _st_27(Spelling):
    release: _st_47

class _st_28(Spelling):
    gpu: _st_48
    sys: _st_48

class _st_29(Spelling):
    mbarrier__complete_tx__bytes: _st_26

class _st_30(Spelling):
    mbarrier__complete_tx__bytes: _st_26
    shared__cluster: _st_29

class _st_31(Spelling):
    def __call__(
        self,
        a: _Address,
        size: _Integer,
        initval: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _st_32(Spelling):
    shared__cta: _st_31
    def __call__(
        self,
        a: _Address,
        size: _Integer,
        initval: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _st_33(Spelling):
    b16: _st_36
    b32: _st_36
    b8: _st_36
    f32: _st_37
    s16: _st_36
    s32: _st_36
    s8: _st_36
    u16: _st_36
    u32: _st_36
    u8: _st_36

class _st_34(Spelling):
    sys: _st_49

class _st_35(Spelling):
    L1__evict_first: _st_1
    L1__evict_last: _st_1
    L1__evict_normal: _st_1
    L1__evict_unchanged: _st_1
    L1__no_allocate: _st_1
    L2__cache_hint: _st_2
    L2__evict_first: _st_3
    L2__evict_last: _st_3
    L2__evict_normal: _st_3
    b128: _st_5
    b16: _st_6
    b32: _st_6
    b64: _st_6
    b8: _st_6
    f32: _st_9
    f64: _st_9
    global_: _st_50
    s16: _st_6
    s32: _st_6
    s64: _st_6
    s8: _st_6
    shared: _st_13
    shared__cluster: _st_13
    shared__cta: _st_13
    u16: _st_6
    u32: _st_6
    u64: _st_6
    u8: _st_6
    v2: _st_15
    v4: _st_15
    v8: _st_16

class _st_36(Spelling):
    def __call__(self, a: _Address, b: _Integers, /, *, pred: _Guard = None) -> None: ...

class _st_37(Spelling):
    def __call__(self, a: _Address, b: _Floats, /, *, pred: _Guard = None) -> None: ...

class _st_38(Spelling):
    b128: _st_5
    b16: _st_6
    b32: _st_6
    b64: _st_6
    b8: _st_6
    f32: _st_9
    f64: _st_9
    s16: _st_6
    s32: _st_6
    s64: _st_6
    s8: _st_6
    u16: _st_6
    u32: _st_6
    u64: _st_6
    u8: _st_6
    v2: _st_15
    v4: _st_15
    v8: _st_16

class _st_39(Spelling):
    def __call__(
        self,
        a: _Address,
        b: _Integers,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _st_40(Spelling):
    def __call__(
        self,
        a: _Address,
        b: _Floats,
        policy: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _st_41(Spelling):
    b64: _st_39
    f64: _st_40
    s64: _st_39
    u64: _st_39

class _st_42(Spelling):
    def __call__(
        self,
        a: _Address,
        b: _Source,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _st_43(Spelling):
    def __call__(
        self,
        a: _Address,
        b: _Integer,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _st_44(Spelling):
    def __call__(
        self,
        a: _Address,
        b: _Float,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _st_45(Spelling):
    b32: _st_51
    b64: _st_51
    f32: _st_52
    f64: _st_52
    s32: _st_51
    s64: _st_51
    u32: _st_51
    u64: _st_51

class _st_46(Spelling):
    b32: _st_51
    f32: _st_52
    s32: _st_51
    u32: _st_51

class _st_47(Spelling):
    sys: _st_48

class _st_48(Spelling):
    b16: _st_5
    b32: _st_5
    b64: _st_5
    b8: _st_5
    f32: _st_5
    f64: _st_5
    global_: _st_53
    s16: _st_5
    s32: _st_5
    s64: _st_5
    s8: _st_5
    u16: _st_5
    u32: _st_5
    u64: _st_5
    u8: _st_5

class _st_49(Spelling):
    b128: _st_5
    b16: _st_6
    b32: _st_6
    b64: _st_6
    b8: _st_6
    f32: _st_9
    f64: _st_9
    global_: _st_54
    s16: _st_6
    s32: _st_6
    s64: _st_6
    s8: _st_6
    u16: _st_6
    u32: _st_6
    u64: _st_6
    u8: _st_6

class _st_50(Spelling):
    L1__evict_first: _st_1
    L1__evict_last: _st_1
    L1__evict_normal: _st_1
    L1__evict_unchanged: _st_1
    L1__no_allocate: _st_1
    L2__cache_hint: _st_2
    L2__evict_first: _st_3
    L2__evict_last: _st_3
    L2__evict_normal: _st_3
    b128: _st_5
    b16: _st_6
    b32: _st_6
    b64: _st_6
    b8: _st_6
    f32: _st_9
    f64: _st_9
    s16: _st_6
    s32: _st_6
    s64: _st_6
    s8: _st_6
    u16: _st_6
    u32: _st_6
    u64: _st_6
    u8: _st_6
    v2: _st_15
    v4: _st_15
    v8: _st_16

class _st_51(Spelling):
    def __call__(
        self,
        a: _Address,
        b: _Integers,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _st_52(Spelling):
    def __call__(
        self,
        a: _Address,
        b: _Floats,
        mbar: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _st_53(Spelling):
    b16: _st_5
    b32: _st_5
    b64: _st_5
    b8: _st_5
    f32: _st_5
    f64: _st_5
    s16: _st_5
    s32: _st_5
    s64: _st_5
    s8: _st_5
    u16: _st_5
    u32: _st_5
    u64: _st_5
    u8: _st_5

class _st_54(Spelling):
    b128: _st_5
    b16: _st_6
    b32: _st_6
    b64: _st_6
    b8: _st_6
    f32: _st_9
    f64: _st_9
    s16: _st_6
    s32: _st_6
    s64: _st_6
    s8: _st_6
    u16: _st_6
    u32: _st_6
    u64: _st_6
    u8: _st_6

class _stackrestore(Spelling):
    u32: _stackrestore_1
    u64: _stackrestore_1

class _stackrestore_1(Spelling):
    def __call__(self, a: _Source, /, *, pred: _Guard = None) -> None: ...

class _stacksave(Spelling):
    u32: _stacksave_1
    u64: _stacksave_1

class _stacksave_1(Spelling):
    @overload
    def __call__(self, d: Reg, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, *, pred: _Guard = None) -> Reg: ...

class _stmatrix(Spelling):
    sync: _stmatrix_1

class _stmatrix_1(Spelling):
    aligned: _stmatrix_2

class _stmatrix_2(Spelling):
    m16n8: _stmatrix_3
    m8n8: _stmatrix_4

class _stmatrix_3(Spelling):
    x1: _stmatrix_5
    x2: _stmatrix_5
    x4: _stmatrix_5

class _stmatrix_4(Spelling):
    x1: _stmatrix_6
    x2: _stmatrix_6
    x4: _stmatrix_6

class _stmatrix_5(Spelling):
    trans: _stmatrix_7

class _stmatrix_6(Spelling):
    b16: _stmatrix_8
    shared: _stmatrix_9
    shared__cta: _stmatrix_9
    trans: _stmatrix_10

class _stmatrix_7(Spelling):
    b8: _stmatrix_8
    shared: _stmatrix_11
    shared__cta: _stmatrix_11

class _stmatrix_8(Spelling):
    def __call__(self, p: _Address, r: _Sources, /, *, pred: _Guard = None) -> None: ...

class _stmatrix_9(Spelling):
    b16: _stmatrix_8

class _stmatrix_10(Spelling):
    b16: _stmatrix_8
    shared: _stmatrix_9
    shared__cta: _stmatrix_9

class _stmatrix_11(Spelling):
    b8: _stmatrix_8

class _sub(Spelling):
    bf16: _sub_1
    bf16x2: _sub_1
    cc: _sub_2
    e4m3x4: _sub_3
    e5m2x4: _sub_3
    f16: _sub_1
    f16x2: _sub_1
    f32: _sub_4
    f32x2: _sub_5
    f64: _sub_6
    ftz: _sub_7
    rm: _sub_8
    rn: _sub_9
    rp: _sub_8
    rz: _sub_10
    s16: _sub_11
    s32: _sub_11
    s64: _sub_11
    s8x4: _sub_1
    sat: _sub_12
    satfinite: _sub_13
    u16: _sub_11
    u32: _sub_11
    u64: _sub_11
    u8x4: _sub_1

class _sub_1(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _sub_2(Spelling):
    s32: _sub_11
    s64: _sub_11
    u32: _sub_11
    u64: _sub_11

class _sub_3(Spelling):
    e2m1p4x4: _sub_14
    e2m1x4: _sub_14
    e2m3x4: _sub_14
    e3m2x4: _sub_14
    e4m3x4: _sub_14
    e5m2x4: _sub_14
    ue8m0x4: _sub_14

class _sub_4(Spelling):
    bf16: _sub_15
    f16: _sub_15
    @overload
    def __call__(self, d: Reg, a: _Float, b: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float, b: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _sub_5(Spelling):
    bf16x2: _sub_16
    f16x2: _sub_16
    @overload
    def __call__(self, d: Reg, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _sub_6(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Float, b: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float, b: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _sub_7(Spelling):
    f16: _sub_1
    f16x2: _sub_1
    f32: _sub_6
    f32x2: _sub_1
    sat: _sub_17

class _sub_8(Spelling):
    f32: _sub_4
    f32x2: _sub_5
    f64: _sub_6
    ftz: _sub_18
    sat: _sub_19

class _sub_9(Spelling):
    bf16: _sub_1
    bf16x2: _sub_1
    e4m3x4: _sub_3
    e5m2x4: _sub_3
    f16: _sub_1
    f16x2: _sub_1
    f32: _sub_4
    f32x2: _sub_5
    f64: _sub_6
    ftz: _sub_7
    sat: _sub_20
    satfinite: _sub_13

class _sub_10(Spelling):
    bf16x2: _sub_21
    f32: _sub_4
    f32x2: _sub_5
    f64: _sub_6
    ftz: _sub_22
    sat: _sub_19

class _sub_11(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _sub_12(Spelling):
    f16: _sub_1
    f16x2: _sub_1
    f32: _sub_4
    s32: _sub_11
    s8x4: _sub_1
    u8x4: _sub_1

class _sub_13(Spelling):
    e4m3x4: _sub_3
    e5m2x4: _sub_3

class _sub_14(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Source, c: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, c: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _sub_15(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Source, c: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, c: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _sub_16(Spelling):
    f32x2: _sub_14

class _sub_17(Spelling):
    f16: _sub_1
    f16x2: _sub_1
    f32: _sub_6

class _sub_18(Spelling):
    f32: _sub_6
    f32x2: _sub_1
    sat: _sub_23

class _sub_19(Spelling):
    f32: _sub_4

class _sub_20(Spelling):
    f16: _sub_1
    f16x2: _sub_1
    f32: _sub_4

class _sub_21(Spelling):
    f32x2: _sub_16

class _sub_22(Spelling):
    f16x2: _sub_21
    f32: _sub_6
    f32x2: _sub_1
    sat: _sub_23

class _sub_23(Spelling):
    f32: _sub_6

class _subc(Spelling):
    cc: _subc_1
    s32: _subc_2
    s64: _subc_2
    u32: _subc_2
    u64: _subc_2

class _subc_1(Spelling):
    s32: _subc_2
    s64: _subc_2
    u32: _subc_2
    u64: _subc_2

class _subc_2(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _suld(Spelling):
    b: _suld_1

class _suld_1(Spelling):
    _1d: _suld_2
    _2d: _suld_2
    _3d: _suld_2
    a1d: _suld_2
    a2d: _suld_2

class _suld_2(Spelling):
    b16: _suld_3
    b32: _suld_3
    b64: _suld_3
    b8: _suld_3
    ca: _suld_4
    cg: _suld_4
    cs: _suld_4
    cv: _suld_4
    v2: _suld_5
    v4: _suld_6

class _suld_3(Spelling):
    clamp: _suld_7
    trap: _suld_7
    zero: _suld_7

class _suld_4(Spelling):
    b16: _suld_3
    b32: _suld_3
    b64: _suld_3
    b8: _suld_3
    v2: _suld_5
    v4: _suld_6

class _suld_5(Spelling):
    b16: _suld_8
    b32: _suld_8
    b64: _suld_8
    b8: _suld_8

class _suld_6(Spelling):
    b16: _suld_8
    b32: _suld_8
    b8: _suld_8

class _suld_7(Spelling):
    @overload
    def __call__(self, d: Reg, surf: _Position, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, surf: _Position, /, *, pred: _Guard = None) -> Reg: ...

class _suld_8(Spelling):
    clamp: _suld_9
    trap: _suld_9
    zero: _suld_9

class _suld_9(Spelling):
    @overload
    def __call__(self, d: _Vector, surf: _Position, /, *, pred: _Guard = None) -> _Vector: ...
    @overload
    def __call__(self, surf: _Position, /, *, pred: _Guard = None) -> list[Reg]: ...

class _suq(Spelling):
    array_size: _suq_1
    channel_data_type: _suq_1
    channel_order: _suq_1
    depth: _suq_1
    height: _suq_1
    memory_layout: _suq_1
    width: _suq_1

class _suq_1(Spelling):
    b32: _suq_2

class _suq_2(Spelling):
    @overload
    def __call__(self, d: Reg, surf: _Address, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, surf: _Address, /, *, pred: _Guard = None) -> Reg: ...

class _sured(Spelling):
    b: _sured_1
    p: _sured_2

class _sured_1(Spelling):
    add: _sured_3
    and_: _sured_4
    max: _sured_5
    min: _sured_5
    or_: _sured_4

class _sured_2(Spelling):
    add: _sured_4
    and_: _sured_4
    max: _sured_6
    min: _sured_6
    or_: _sured_4

class _sured_3(Spelling):
    _1d: _sured_7
    _2d: _sured_7
    _3d: _sured_7

class _sured_4(Spelling):
    _1d: _sured_8
    _2d: _sured_8
    _3d: _sured_8

class _sured_5(Spelling):
    _1d: _sured_9
    _2d: _sured_9
    _3d: _sured_9

class _sured_6(Spelling):
    _1d: _sured_10
    _2d: _sured_10
    _3d: _sured_10

class _sured_7(Spelling):
    s32: _sured_11
    u32: _sured_11
    u64: _sured_11

class _sured_8(Spelling):
    b32: _sured_11

class _sured_9(Spelling):
    s32: _sured_11
    s64: _sured_11
    u32: _sured_11
    u64: _sured_11

class _sured_10(Spelling):
    b32: _sured_11
    b64: _sured_11

class _sured_11(Spelling):
    clamp: _sured_12
    trap: _sured_12
    zero: _sured_12

class _sured_12(Spelling):
    def __call__(self, surf: _Position, c: _Integer, /, *, pred: _Guard = None) -> None: ...

class _sust(Spelling):
    b: _sust_1
    p: _sust_2

class _sust_1(Spelling):
    _1d: _sust_3
    _2d: _sust_3
    _3d: _sust_3
    a1d: _sust_3
    a2d: _sust_3

class _sust_2(Spelling):
    _1d: _sust_4
    _2d: _sust_4
    _3d: _sust_4
    a1d: _sust_4
    a2d: _sust_4

class _sust_3(Spelling):
    b16: _sust_5
    b32: _sust_5
    b64: _sust_5
    b8: _sust_5
    cg: _sust_6
    cs: _sust_6
    v2: _sust_7
    v4: _sust_8
    wb: _sust_6
    wt: _sust_6

class _sust_4(Spelling):
    b32: _sust_5
    v2: _sust_9
    v4: _sust_9

class _sust_5(Spelling):
    clamp: _sust_10
    trap: _sust_10
    zero: _sust_10

class _sust_6(Spelling):
    b16: _sust_5
    b32: _sust_5
    b64: _sust_5
    b8: _sust_5
    v2: _sust_7
    v4: _sust_8

class _sust_7(Spelling):
    b16: _sust_11
    b32: _sust_11
    b64: _sust_11
    b8: _sust_11

class _sust_8(Spelling):
    b16: _sust_11
    b32: _sust_11
    b8: _sust_11

class _sust_9(Spelling):
    b32: _sust_11

class _sust_10(Spelling):
    def __call__(self, surf: _Position, c: _Source, /, *, pred: _Guard = None) -> None: ...

class _sust_11(Spelling):
    clamp: _sust_12
    trap: _sust_12
    zero: _sust_12

class _sust_12(Spelling):
    def __call__(self, surf: _Position, c: _Sources, /, *, pred: _Guard = None) -> None: ...

class _szext(Spelling):
    clamp: _szext_1
    wrap: _szext_1

class _szext_1(Spelling):
    s32: _szext_2
    u32: _szext_2

class _szext_2(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _tanh(Spelling):
    approx: _tanh_1

class _tanh_1(Spelling):
    bf16: _tanh_2
    bf16x2: _tanh_2
    f16: _tanh_2
    f16x2: _tanh_2
    f32: _tanh_3

class _tanh_2(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, /, *, pred: _Guard = None) -> Reg: ...

class _tanh_3(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _tcgen05(Spelling):
    alloc: _tcgen05_1
    commit: _tcgen05_2
    cp: _tcgen05_3
    dealloc: _tcgen05_4
    fence__after_thread_sync: _tcgen05_5
    fence__before_thread_sync: _tcgen05_5
    ld: _tcgen05_6
    mma: _tcgen05_7
    relinquish_alloc_permit: _tcgen05_8
    shift: _tcgen05_9
    st: _tcgen05_10
    wait__ld: _tcgen05_11
    wait__st: _tcgen05_11

class _tcgen05_1(Spelling):
    cta_group__1: _tcgen05_12
    cta_group__2: _tcgen05_12
    exclusive: _tcgen05_13

class _tcgen05_2(Spelling):
    cta_group__1: _tcgen05_14
    cta_group__2: _tcgen05_14

class _tcgen05_3(Spelling):
    cta_group__1: _tcgen05_15
    cta_group__2: _tcgen05_15

class _tcgen05_4(Spelling):
    cta_group__1: _tcgen05_16
    cta_group__2: _tcgen05_16
    exclusive: _tcgen05_17

class _tcgen05_5(Spelling):
    def __call__(self, *, pred: _Guard = None) -> None: ...

class _tcgen05_6(Spelling):
    red: _tcgen05_18
    spcompress: _tcgen05_19
    sync: _tcgen05_20

class _tcgen05_7(Spelling):
    cta_group__1: _tcgen05_21
    cta_group__2: _tcgen05_21
    sp: _tcgen05_22
    ws: _tcgen05_23

class _tcgen05_8(Spelling):
    cta_group__1: _tcgen05_11
    cta_group__2: _tcgen05_11

class _tcgen05_9(Spelling):
    cta_group__1: _tcgen05_24
    cta_group__2: _tcgen05_24

class _tcgen05_10(Spelling):
    sync: _tcgen05_25

class _tcgen05_11(Spelling):
    sync: _tcgen05_26

class _tcgen05_12(Spelling):
    sync: _tcgen05_27

class _tcgen05_13(Spelling):
    cta_group__1: _tcgen05_12
    cta_group__2: _tcgen05_12

class _tcgen05_14(Spelling):
    mbarrier__arrive__one: _tcgen05_28

class _tcgen05_15(Spelling):
    _128x128b: _tcgen05_29
    _128x256b: _tcgen05_29
    _32x128b: _tcgen05_30
    _4x256b: _tcgen05_29
    _64x128b: _tcgen05_31

class _tcgen05_16(Spelling):
    sync: _tcgen05_32

class _tcgen05_17(Spelling):
    cta_group__1: _tcgen05_16
    cta_group__2: _tcgen05_16

class _tcgen05_18(Spelling):
    spcompress: _tcgen05_33
    sync: _tcgen05_34

class _tcgen05_19(Spelling):
    sync: _tcgen05_35

class _tcgen05_20(Spelling):
    aligned: _tcgen05_36

class _tcgen05_21(Spelling):
    kind__f16: _tcgen05_37
    kind__f8f6f4: _tcgen05_38
    kind__i8: _tcgen05_39
    kind__mxf4: _tcgen05_40
    kind__mxf4nvf4: _tcgen05_41
    kind__mxf8f6f4: _tcgen05_42
    kind__tf32: _tcgen05_37
    kind__ti16: _tcgen05_43

class _tcgen05_22(Spelling):
    cta_group__1: _tcgen05_44
    cta_group__2: _tcgen05_44

class _tcgen05_23(Spelling):
    cta_group__1: _tcgen05_45
    sp: _tcgen05_46

class _tcgen05_24(Spelling):
    down: _tcgen05_47

class _tcgen05_25(Spelling):
    aligned: _tcgen05_48

class _tcgen05_26(Spelling):
    aligned: _tcgen05_5

class _tcgen05_27(Spelling):
    aligned: _tcgen05_49

class _tcgen05_28(Spelling):
    b64: _tcgen05_50
    multicast__cluster: _tcgen05_51
    multicast__cluster__16b: _tcgen05_51
    multicast__cluster__32b: _tcgen05_51
    shared__cluster: _tcgen05_52
    sync_restrict__shared__read__mma__a: _tcgen05_53

class _tcgen05_29(Spelling):
    b8x16: _tcgen05_54
    def __call__(self, taddr: _Address, sDesc: _Source, /, *, pred: _Guard = None) -> None: ...

class _tcgen05_30(Spelling):
    warpx4: _tcgen05_29

class _tcgen05_31(Spelling):
    warpx2__01_23: _tcgen05_29
    warpx2__02_13: _tcgen05_29

class _tcgen05_32(Spelling):
    aligned: _tcgen05_55

class _tcgen05_33(Spelling):
    sync: _tcgen05_56

class _tcgen05_34(Spelling):
    aligned: _tcgen05_57

class _tcgen05_35(Spelling):
    aligned: _tcgen05_58

class _tcgen05_36(Spelling):
    _16x128b: _tcgen05_59
    _16x256b: _tcgen05_60
    _16x32bx2: _tcgen05_61
    _16x64b: _tcgen05_62
    _32x32b: _tcgen05_62

class _tcgen05_37(Spelling):
    ashift: _tcgen05_63
    collector__a__discard: _tcgen05_64
    collector__a__fill: _tcgen05_64
    collector__a__lastuse: _tcgen05_64
    collector__a__use: _tcgen05_64
    collector__b__discard: _tcgen05_65
    collector__b__fill: _tcgen05_65
    collector__b__lastuse: _tcgen05_65
    collector__b__use: _tcgen05_65
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        idesc: _Integer,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_38(Spelling):
    ashift: _tcgen05_66
    collector__a__discard: _tcgen05_67
    collector__a__fill: _tcgen05_67
    collector__a__lastuse: _tcgen05_67
    collector__a__use: _tcgen05_67
    collector__b__discard: _tcgen05_68
    collector__b__fill: _tcgen05_68
    collector__b__lastuse: _tcgen05_68
    collector__b__use: _tcgen05_68
    decompress__lut__b: _tcgen05_69
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_39(Spelling):
    ashift: _tcgen05_70
    collector__a__discard: _tcgen05_68
    collector__a__fill: _tcgen05_68
    collector__a__lastuse: _tcgen05_68
    collector__a__use: _tcgen05_68
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_40(Spelling):
    block_scale: _tcgen05_71

class _tcgen05_41(Spelling):
    block_scale: _tcgen05_72

class _tcgen05_42(Spelling):
    block_scale: _tcgen05_73

class _tcgen05_43(Spelling):
    ashift: _tcgen05_66
    collector__a__discard: _tcgen05_67
    collector__a__fill: _tcgen05_67
    collector__a__lastuse: _tcgen05_67
    collector__a__use: _tcgen05_67
    collector__b__discard: _tcgen05_68
    collector__b__fill: _tcgen05_68
    collector__b__lastuse: _tcgen05_68
    collector__b__use: _tcgen05_68
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_44(Spelling):
    kind__f16: _tcgen05_74
    kind__f8f6f4: _tcgen05_75
    kind__i8: _tcgen05_76
    kind__mxf4: _tcgen05_77
    kind__mxf4nvf4: _tcgen05_78
    kind__mxf8f6f4: _tcgen05_79
    kind__tf32: _tcgen05_74
    kind__ti16: _tcgen05_75

class _tcgen05_45(Spelling):
    kind__f16: _tcgen05_80
    kind__f8f6f4: _tcgen05_80
    kind__i8: _tcgen05_80
    kind__tf32: _tcgen05_80
    kind__ti16: _tcgen05_80

class _tcgen05_46(Spelling):
    cta_group__1: _tcgen05_81

class _tcgen05_47(Spelling):
    def __call__(self, taddr: _Address, /, *, pred: _Guard = None) -> None: ...

class _tcgen05_48(Spelling):
    _16x128b: _tcgen05_82
    _16x256b: _tcgen05_83
    _16x32bx2: _tcgen05_84
    _16x64b: _tcgen05_85
    _32x32b: _tcgen05_85

class _tcgen05_49(Spelling):
    b32: _tcgen05_86
    shared__cta: _tcgen05_87

class _tcgen05_50(Spelling):
    def __call__(self, mbar: _Address, /, *, pred: _Guard = None) -> None: ...

class _tcgen05_51(Spelling):
    b64: _tcgen05_88

class _tcgen05_52(Spelling):
    b64: _tcgen05_50
    multicast__cluster: _tcgen05_51
    multicast__cluster__16b: _tcgen05_51
    multicast__cluster__32b: _tcgen05_51

class _tcgen05_53(Spelling):
    b64: _tcgen05_50
    multicast__cluster: _tcgen05_51
    multicast__cluster__16b: _tcgen05_51
    multicast__cluster__32b: _tcgen05_51
    shared__cluster: _tcgen05_52

class _tcgen05_54(Spelling):
    b4x16_p64: _tcgen05_89
    b6x16_p32: _tcgen05_89

class _tcgen05_55(Spelling):
    b32: _tcgen05_90

class _tcgen05_56(Spelling):
    aligned: _tcgen05_91

class _tcgen05_57(Spelling):
    _16x32bx2: _tcgen05_92
    _32x32b: _tcgen05_93

class _tcgen05_58(Spelling):
    _32x32b: _tcgen05_94

class _tcgen05_59(Spelling):
    x1: _tcgen05_95
    x16: _tcgen05_95
    x2: _tcgen05_95
    x32: _tcgen05_95
    x4: _tcgen05_95
    x64: _tcgen05_95
    x8: _tcgen05_95

class _tcgen05_60(Spelling):
    x1: _tcgen05_95
    x16: _tcgen05_95
    x2: _tcgen05_95
    x32: _tcgen05_95
    x4: _tcgen05_95
    x8: _tcgen05_95

class _tcgen05_61(Spelling):
    x1: _tcgen05_96
    x128: _tcgen05_96
    x16: _tcgen05_96
    x2: _tcgen05_96
    x32: _tcgen05_96
    x4: _tcgen05_96
    x64: _tcgen05_96
    x8: _tcgen05_96

class _tcgen05_62(Spelling):
    x1: _tcgen05_95
    x128: _tcgen05_95
    x16: _tcgen05_95
    x2: _tcgen05_95
    x32: _tcgen05_95
    x4: _tcgen05_95
    x64: _tcgen05_95
    x8: _tcgen05_95

class _tcgen05_63(Spelling):
    collector__a__discard: _tcgen05_97
    collector__a__lastuse: _tcgen05_97
    collector__b__discard: _tcgen05_98
    collector__b__fill: _tcgen05_98
    collector__b__lastuse: _tcgen05_98
    collector__b__use: _tcgen05_98
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_64(Spelling):
    collector__b__discard: _tcgen05_65
    collector__b__fill: _tcgen05_65
    collector__b__lastuse: _tcgen05_65
    collector__b__use: _tcgen05_65
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        idesc: _Integer,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_65(Spelling):
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        idesc: _Integer,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_66(Spelling):
    collector__a__discard: _tcgen05_99
    collector__a__lastuse: _tcgen05_99
    collector__b__discard: _tcgen05_100
    collector__b__fill: _tcgen05_100
    collector__b__lastuse: _tcgen05_100
    collector__b__use: _tcgen05_100
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_67(Spelling):
    collector__b__discard: _tcgen05_68
    collector__b__fill: _tcgen05_68
    collector__b__lastuse: _tcgen05_68
    collector__b__use: _tcgen05_68
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_68(Spelling):
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_69(Spelling):
    collector__a__discard: _tcgen05_101
    collector__a__fill: _tcgen05_101
    collector__a__lastuse: _tcgen05_101
    collector__a__use: _tcgen05_101
    collector__b__discard: _tcgen05_102
    collector__b__fill: _tcgen05_102
    collector__b__lastuse: _tcgen05_102
    collector__b__use: _tcgen05_102
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        bMeta: _Address,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        bMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        bMeta: _Address,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        bMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_70(Spelling):
    collector__a__discard: _tcgen05_100
    collector__a__lastuse: _tcgen05_100
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_71(Spelling):
    block32: _tcgen05_103
    collector__a__discard: _tcgen05_104
    collector__a__fill: _tcgen05_104
    collector__a__lastuse: _tcgen05_104
    collector__a__use: _tcgen05_104
    collector__b__discard: _tcgen05_105
    collector__b__fill: _tcgen05_105
    collector__b__lastuse: _tcgen05_105
    collector__b__use: _tcgen05_105
    scale_vec__2X: _tcgen05_103
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_72(Spelling):
    block16: _tcgen05_103
    block32: _tcgen05_103
    scale_vec__2X: _tcgen05_103
    scale_vec__4X: _tcgen05_103

class _tcgen05_73(Spelling):
    block32: _tcgen05_103
    collector__a__discard: _tcgen05_104
    collector__a__fill: _tcgen05_104
    collector__a__lastuse: _tcgen05_104
    collector__a__use: _tcgen05_104
    collector__b__discard: _tcgen05_105
    collector__b__fill: _tcgen05_105
    collector__b__lastuse: _tcgen05_105
    collector__b__use: _tcgen05_105
    decompress__lut__b: _tcgen05_106
    scale_vec__1X: _tcgen05_103
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_74(Spelling):
    ashift: _tcgen05_107
    collector__a__discard: _tcgen05_108
    collector__a__fill: _tcgen05_108
    collector__a__lastuse: _tcgen05_108
    collector__a__use: _tcgen05_108
    collector__b__discard: _tcgen05_109
    collector__b__fill: _tcgen05_109
    collector__b__lastuse: _tcgen05_109
    collector__b__use: _tcgen05_109
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_75(Spelling):
    ashift: _tcgen05_110
    collector__a__discard: _tcgen05_111
    collector__a__fill: _tcgen05_111
    collector__a__lastuse: _tcgen05_111
    collector__a__use: _tcgen05_111
    collector__b__discard: _tcgen05_112
    collector__b__fill: _tcgen05_112
    collector__b__lastuse: _tcgen05_112
    collector__b__use: _tcgen05_112
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_76(Spelling):
    ashift: _tcgen05_113
    collector__a__discard: _tcgen05_112
    collector__a__fill: _tcgen05_112
    collector__a__lastuse: _tcgen05_112
    collector__a__use: _tcgen05_112
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_77(Spelling):
    block_scale: _tcgen05_114

class _tcgen05_78(Spelling):
    block_scale: _tcgen05_115

class _tcgen05_79(Spelling):
    block_scale: _tcgen05_116

class _tcgen05_80(Spelling):
    collector__b0__discard: _tcgen05_117
    collector__b0__fill: _tcgen05_117
    collector__b0__lastuse: _tcgen05_117
    collector__b0__use: _tcgen05_117
    collector__b1__discard: _tcgen05_117
    collector__b1__fill: _tcgen05_117
    collector__b1__lastuse: _tcgen05_117
    collector__b1__use: _tcgen05_117
    collector__b2__discard: _tcgen05_117
    collector__b2__fill: _tcgen05_117
    collector__b2__lastuse: _tcgen05_117
    collector__b2__use: _tcgen05_117
    collector__b3__discard: _tcgen05_117
    collector__b3__fill: _tcgen05_117
    collector__b3__lastuse: _tcgen05_117
    collector__b3__use: _tcgen05_117
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        enableInputD: _Source,
        zeroColumnMaskDesc: _Integer = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        idesc: _Integer,
        enableInputD: _Source,
        zeroColumnMaskDesc: _Integer = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_81(Spelling):
    kind__f16: _tcgen05_118
    kind__f8f6f4: _tcgen05_118
    kind__i8: _tcgen05_118
    kind__tf32: _tcgen05_118
    kind__ti16: _tcgen05_118

class _tcgen05_82(Spelling):
    x1: _tcgen05_119
    x16: _tcgen05_119
    x2: _tcgen05_119
    x32: _tcgen05_119
    x4: _tcgen05_119
    x64: _tcgen05_119
    x8: _tcgen05_119

class _tcgen05_83(Spelling):
    x1: _tcgen05_119
    x16: _tcgen05_119
    x2: _tcgen05_119
    x32: _tcgen05_119
    x4: _tcgen05_119
    x8: _tcgen05_119

class _tcgen05_84(Spelling):
    x1: _tcgen05_120
    x128: _tcgen05_120
    x16: _tcgen05_120
    x2: _tcgen05_120
    x32: _tcgen05_120
    x4: _tcgen05_120
    x64: _tcgen05_120
    x8: _tcgen05_120

class _tcgen05_85(Spelling):
    x1: _tcgen05_119
    x128: _tcgen05_119
    x16: _tcgen05_119
    x2: _tcgen05_119
    x32: _tcgen05_119
    x4: _tcgen05_119
    x64: _tcgen05_119
    x8: _tcgen05_119

class _tcgen05_86(Spelling):
    def __call__(self, dst: _Address, nCols: _Integer, /, *, pred: _Guard = None) -> None: ...

class _tcgen05_87(Spelling):
    b32: _tcgen05_86

class _tcgen05_88(Spelling):
    def __call__(self, mbar: _Address, ctaMask: _Integer, /, *, pred: _Guard = None) -> None: ...

class _tcgen05_89(Spelling):
    def __call__(self, taddr: _Address, sDesc: _Source, /, *, pred: _Guard = None) -> None: ...

class _tcgen05_90(Spelling):
    def __call__(self, taddr: _Source, nCols: _Integer, /, *, pred: _Guard = None) -> None: ...

class _tcgen05_91(Spelling):
    _32x32b: _tcgen05_121

class _tcgen05_92(Spelling):
    x128: _tcgen05_122
    x16: _tcgen05_122
    x2: _tcgen05_122
    x32: _tcgen05_122
    x4: _tcgen05_122
    x64: _tcgen05_122
    x8: _tcgen05_122

class _tcgen05_93(Spelling):
    x128: _tcgen05_123
    x16: _tcgen05_123
    x2: _tcgen05_123
    x32: _tcgen05_123
    x4: _tcgen05_123
    x64: _tcgen05_123
    x8: _tcgen05_123

class _tcgen05_94(Spelling):
    x128: _tcgen05_124
    x16: _tcgen05_124
    x32: _tcgen05_124
    x4: _tcgen05_124
    x64: _tcgen05_124
    x8: _tcgen05_124

class _tcgen05_95(Spelling):
    b32: _tcgen05_125
    pack__16b: _tcgen05_126

class _tcgen05_96(Spelling):
    b32: _tcgen05_127
    pack__16b: _tcgen05_128

class _tcgen05_97(Spelling):
    collector__b__discard: _tcgen05_98
    collector__b__fill: _tcgen05_98
    collector__b__lastuse: _tcgen05_98
    collector__b__use: _tcgen05_98
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_98(Spelling):
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_99(Spelling):
    collector__b__discard: _tcgen05_100
    collector__b__fill: _tcgen05_100
    collector__b__lastuse: _tcgen05_100
    collector__b__use: _tcgen05_100
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_100(Spelling):
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_101(Spelling):
    collector__b__discard: _tcgen05_102
    collector__b__fill: _tcgen05_102
    collector__b__lastuse: _tcgen05_102
    collector__b__use: _tcgen05_102
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        bMeta: _Address,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        bMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        bMeta: _Address,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        bMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_102(Spelling):
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        bMeta: _Address,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        bMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        bMeta: _Address,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        bMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_103(Spelling):
    collector__a__discard: _tcgen05_104
    collector__a__fill: _tcgen05_104
    collector__a__lastuse: _tcgen05_104
    collector__a__use: _tcgen05_104
    collector__b__discard: _tcgen05_105
    collector__b__fill: _tcgen05_105
    collector__b__lastuse: _tcgen05_105
    collector__b__use: _tcgen05_105
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_104(Spelling):
    collector__b__discard: _tcgen05_105
    collector__b__fill: _tcgen05_105
    collector__b__lastuse: _tcgen05_105
    collector__b__use: _tcgen05_105
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_105(Spelling):
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_106(Spelling):
    block32: _tcgen05_129
    collector__a__discard: _tcgen05_130
    collector__a__fill: _tcgen05_130
    collector__a__lastuse: _tcgen05_130
    collector__a__use: _tcgen05_130
    collector__b__discard: _tcgen05_131
    collector__b__fill: _tcgen05_131
    collector__b__lastuse: _tcgen05_131
    collector__b__use: _tcgen05_131
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        bMeta: _Address,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        bMeta: _Address,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_107(Spelling):
    collector__a__discard: _tcgen05_132
    collector__a__lastuse: _tcgen05_132
    collector__b__discard: _tcgen05_133
    collector__b__fill: _tcgen05_133
    collector__b__lastuse: _tcgen05_133
    collector__b__use: _tcgen05_133
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_108(Spelling):
    collector__b__discard: _tcgen05_109
    collector__b__fill: _tcgen05_109
    collector__b__lastuse: _tcgen05_109
    collector__b__use: _tcgen05_109
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_109(Spelling):
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_110(Spelling):
    collector__a__discard: _tcgen05_134
    collector__a__lastuse: _tcgen05_134
    collector__b__discard: _tcgen05_135
    collector__b__fill: _tcgen05_135
    collector__b__lastuse: _tcgen05_135
    collector__b__use: _tcgen05_135
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_111(Spelling):
    collector__b__discard: _tcgen05_112
    collector__b__fill: _tcgen05_112
    collector__b__lastuse: _tcgen05_112
    collector__b__use: _tcgen05_112
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_112(Spelling):
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_113(Spelling):
    collector__a__discard: _tcgen05_135
    collector__a__lastuse: _tcgen05_135
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_114(Spelling):
    block32: _tcgen05_136
    collector__a__discard: _tcgen05_137
    collector__a__fill: _tcgen05_137
    collector__a__lastuse: _tcgen05_137
    collector__a__use: _tcgen05_137
    collector__b__discard: _tcgen05_138
    collector__b__fill: _tcgen05_138
    collector__b__lastuse: _tcgen05_138
    collector__b__use: _tcgen05_138
    scale_vec__2X: _tcgen05_136
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_115(Spelling):
    block16: _tcgen05_136
    block32: _tcgen05_136
    scale_vec__2X: _tcgen05_136
    scale_vec__4X: _tcgen05_136

class _tcgen05_116(Spelling):
    block32: _tcgen05_136
    collector__a__discard: _tcgen05_137
    collector__a__fill: _tcgen05_137
    collector__a__lastuse: _tcgen05_137
    collector__a__use: _tcgen05_137
    collector__b__discard: _tcgen05_138
    collector__b__fill: _tcgen05_138
    collector__b__lastuse: _tcgen05_138
    collector__b__use: _tcgen05_138
    scale_vec__1X: _tcgen05_136
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_117(Spelling):
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        idesc: _Integer,
        enableInputD: _Source,
        zeroColumnMaskDesc: _Integer = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        idesc: _Integer,
        enableInputD: _Source,
        zeroColumnMaskDesc: _Integer = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_118(Spelling):
    collector__b0__discard: _tcgen05_139
    collector__b0__fill: _tcgen05_139
    collector__b0__lastuse: _tcgen05_139
    collector__b0__use: _tcgen05_139
    collector__b1__discard: _tcgen05_139
    collector__b1__fill: _tcgen05_139
    collector__b1__lastuse: _tcgen05_139
    collector__b1__use: _tcgen05_139
    collector__b2__discard: _tcgen05_139
    collector__b2__fill: _tcgen05_139
    collector__b2__lastuse: _tcgen05_139
    collector__b2__use: _tcgen05_139
    collector__b3__discard: _tcgen05_139
    collector__b3__fill: _tcgen05_139
    collector__b3__lastuse: _tcgen05_139
    collector__b3__use: _tcgen05_139
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        zeroColumnMaskDesc: _Integer = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        zeroColumnMaskDesc: _Integer = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_119(Spelling):
    b32: _tcgen05_140
    unpack__16b: _tcgen05_141

class _tcgen05_120(Spelling):
    b32: _tcgen05_142
    unpack__16b: _tcgen05_143

class _tcgen05_121(Spelling):
    x128: _tcgen05_144
    x16: _tcgen05_144
    x32: _tcgen05_144
    x4: _tcgen05_144
    x64: _tcgen05_144
    x8: _tcgen05_144

class _tcgen05_122(Spelling):
    max: _tcgen05_145
    min: _tcgen05_145

class _tcgen05_123(Spelling):
    max: _tcgen05_146
    min: _tcgen05_146

class _tcgen05_124(Spelling):
    max: _tcgen05_147
    min: _tcgen05_147

class _tcgen05_125(Spelling):
    @overload
    def __call__(self, r: _Vector, taddr: _Address, /, *, pred: _Guard = None) -> _Vector: ...
    @overload
    def __call__(self, taddr: _Address, /, *, pred: _Guard = None) -> list[Reg]: ...

class _tcgen05_126(Spelling):
    b32: _tcgen05_125

class _tcgen05_127(Spelling):
    @overload
    def __call__(
        self,
        r: _Vector,
        taddr: _Address,
        immHalfSplitoff: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        taddr: _Address,
        immHalfSplitoff: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _tcgen05_128(Spelling):
    b32: _tcgen05_127

class _tcgen05_129(Spelling):
    collector__a__discard: _tcgen05_130
    collector__a__fill: _tcgen05_130
    collector__a__lastuse: _tcgen05_130
    collector__a__use: _tcgen05_130
    collector__b__discard: _tcgen05_131
    collector__b__fill: _tcgen05_131
    collector__b__lastuse: _tcgen05_131
    collector__b__use: _tcgen05_131
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        bMeta: _Address,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        bMeta: _Address,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_130(Spelling):
    collector__b__discard: _tcgen05_131
    collector__b__fill: _tcgen05_131
    collector__b__lastuse: _tcgen05_131
    collector__b__use: _tcgen05_131
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        bMeta: _Address,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        bMeta: _Address,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_131(Spelling):
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        bMeta: _Address,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        bMeta: _Address,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_132(Spelling):
    collector__b__discard: _tcgen05_133
    collector__b__fill: _tcgen05_133
    collector__b__lastuse: _tcgen05_133
    collector__b__use: _tcgen05_133
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_133(Spelling):
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        scaleInputD: _Whole = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_134(Spelling):
    collector__b__discard: _tcgen05_135
    collector__b__fill: _tcgen05_135
    collector__b__lastuse: _tcgen05_135
    collector__b__use: _tcgen05_135
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_135(Spelling):
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        disableOutputLane: _Sources,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_136(Spelling):
    collector__a__discard: _tcgen05_137
    collector__a__fill: _tcgen05_137
    collector__a__lastuse: _tcgen05_137
    collector__a__use: _tcgen05_137
    collector__b__discard: _tcgen05_138
    collector__b__fill: _tcgen05_138
    collector__b__lastuse: _tcgen05_138
    collector__b__use: _tcgen05_138
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_137(Spelling):
    collector__b__discard: _tcgen05_138
    collector__b__fill: _tcgen05_138
    collector__b__lastuse: _tcgen05_138
    collector__b__use: _tcgen05_138
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_138(Spelling):
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        scaleA: _Address,
        scaleB: _Address,
        enableInputD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_139(Spelling):
    @overload
    def __call__(
        self,
        d: _Address,
        a: _Address,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        zeroColumnMaskDesc: _Integer = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...
    @overload
    def __call__(
        self,
        d: _Address,
        aDesc: _Source,
        bDesc: _Source,
        spMeta: _Address,
        idesc: _Integer,
        enableInputD: _Source,
        zeroColumnMaskDesc: _Integer = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_140(Spelling):
    def __call__(self, taddr: _Address, r: _Sources, /, *, pred: _Guard = None) -> None: ...

class _tcgen05_141(Spelling):
    b32: _tcgen05_140

class _tcgen05_142(Spelling):
    def __call__(
        self,
        taddr: _Address,
        immHalfSplitoff: _Whole,
        r: _Sources,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tcgen05_143(Spelling):
    b32: _tcgen05_142

class _tcgen05_144(Spelling):
    max: _tcgen05_148
    min: _tcgen05_148

class _tcgen05_145(Spelling):
    NaN: _tcgen05_149
    abs: _tcgen05_150
    f32: _tcgen05_151
    s32: _tcgen05_151
    u32: _tcgen05_151

class _tcgen05_146(Spelling):
    NaN: _tcgen05_152
    abs: _tcgen05_153
    f32: _tcgen05_154
    s32: _tcgen05_154
    u32: _tcgen05_154

class _tcgen05_147(Spelling):
    sp__2_4: _tcgen05_155

class _tcgen05_148(Spelling):
    sp__2_4: _tcgen05_156

class _tcgen05_149(Spelling):
    f32: _tcgen05_151

class _tcgen05_150(Spelling):
    NaN: _tcgen05_149
    f32: _tcgen05_151

class _tcgen05_151(Spelling):
    @overload
    def __call__(
        self,
        r: _Vector,
        redval: Reg,
        taddr: _Address,
        immHalfSplitoff: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        redval: Reg,
        taddr: _Address,
        immHalfSplitoff: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _tcgen05_152(Spelling):
    f32: _tcgen05_154

class _tcgen05_153(Spelling):
    NaN: _tcgen05_152
    f32: _tcgen05_154

class _tcgen05_154(Spelling):
    @overload
    def __call__(
        self,
        r: _Vector,
        redval: Reg,
        taddr: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(self, redval: Reg, taddr: _Address, /, *, pred: _Guard = None) -> list[Reg]: ...

class _tcgen05_155(Spelling):
    abs: _tcgen05_157
    f32: _tcgen05_158

class _tcgen05_156(Spelling):
    NaN: _tcgen05_159
    abs: _tcgen05_160
    f32: _tcgen05_161

class _tcgen05_157(Spelling):
    f32: _tcgen05_158

class _tcgen05_158(Spelling):
    b2: _tcgen05_162

class _tcgen05_159(Spelling):
    f32: _tcgen05_161

class _tcgen05_160(Spelling):
    NaN: _tcgen05_159
    f32: _tcgen05_161

class _tcgen05_161(Spelling):
    b2: _tcgen05_163

class _tcgen05_162(Spelling):
    @overload
    def __call__(
        self,
        mdata: _Vector,
        cdata: _Registers,
        taddr: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        cdata: _Registers,
        taddr: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _tcgen05_163(Spelling):
    @overload
    def __call__(
        self,
        mdata: _Vector,
        cdata: _Registers,
        redval: Reg,
        taddr: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        cdata: _Registers,
        redval: Reg,
        taddr: _Address,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _tensormap(Spelling):
    cp_fenceproxy: _tensormap_1
    replace: _tensormap_2

class _tensormap_1(Spelling):
    global_: _tensormap_3

class _tensormap_2(Spelling):
    tile: _tensormap_4

class _tensormap_3(Spelling):
    shared__cta: _tensormap_5

class _tensormap_4(Spelling):
    box_dim: _tensormap_6
    element_stride: _tensormap_6
    elemtype: _tensormap_7
    fill_mode: _tensormap_8
    global_address: _tensormap_9
    global_dim: _tensormap_6
    global_stride: _tensormap_10
    interleave_layout: _tensormap_8
    rank: _tensormap_11
    swizzle_atomicity: _tensormap_8
    swizzle_mode: _tensormap_12

class _tensormap_5(Spelling):
    tensormap__generic: _tensormap_13

class _tensormap_6(Spelling):
    b1024: _tensormap_14
    global_: _tensormap_15
    shared__cta: _tensormap_15

class _tensormap_7(Spelling):
    b1024: _tensormap_16
    global_: _tensormap_17
    shared__cta: _tensormap_17

class _tensormap_8(Spelling):
    b1024: _tensormap_18
    global_: _tensormap_19
    shared__cta: _tensormap_19

class _tensormap_9(Spelling):
    b1024: _tensormap_20
    global_: _tensormap_21
    shared__cta: _tensormap_21

class _tensormap_10(Spelling):
    b1024: _tensormap_22
    global_: _tensormap_23
    shared__cta: _tensormap_23

class _tensormap_11(Spelling):
    b1024: _tensormap_24
    global_: _tensormap_25
    shared__cta: _tensormap_25

class _tensormap_12(Spelling):
    b1024: _tensormap_26
    global_: _tensormap_27
    shared__cta: _tensormap_27

class _tensormap_13(Spelling):
    release: _tensormap_28

class _tensormap_14(Spelling):
    b32: _tensormap_29

class _tensormap_15(Spelling):
    b1024: _tensormap_14

class _tensormap_16(Spelling):
    b32: _tensormap_30

class _tensormap_17(Spelling):
    b1024: _tensormap_16

class _tensormap_18(Spelling):
    b32: _tensormap_31

class _tensormap_19(Spelling):
    b1024: _tensormap_18

class _tensormap_20(Spelling):
    b64: _tensormap_32

class _tensormap_21(Spelling):
    b1024: _tensormap_20

class _tensormap_22(Spelling):
    b64: _tensormap_29

class _tensormap_23(Spelling):
    b1024: _tensormap_22

class _tensormap_24(Spelling):
    b32: _tensormap_32

class _tensormap_25(Spelling):
    b1024: _tensormap_24

class _tensormap_26(Spelling):
    b32: _tensormap_33

class _tensormap_27(Spelling):
    b1024: _tensormap_26

class _tensormap_28(Spelling):
    cluster: _tensormap_34
    cta: _tensormap_34
    gpu: _tensormap_34
    sys: _tensormap_34

class _tensormap_29(Spelling):
    def __call__(
        self,
        addr: _Address,
        ord: _Whole,
        new_val: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tensormap_30(Spelling):
    def __call__(
        self,
        addr: _Address,
        new_val_or_sub_byte_type: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tensormap_31(Spelling):
    def __call__(self, addr: _Address, new_val: _Whole, /, *, pred: _Guard = None) -> None: ...

class _tensormap_32(Spelling):
    def __call__(self, addr: _Address, new_val: _Integer, /, *, pred: _Guard = None) -> None: ...

class _tensormap_33(Spelling):
    def __call__(
        self,
        addr: _Address,
        new_val_or_swizzle_96B: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _tensormap_34(Spelling):
    sync: _tensormap_35

class _tensormap_35(Spelling):
    aligned: _tensormap_36

class _tensormap_36(Spelling):
    def __call__(
        self,
        dst: _Address,
        src: _Address,
        size: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _testp(Spelling):
    finite: _testp_1
    infinite: _testp_1
    normal: _testp_1
    notanumber: _testp_1
    number: _testp_1
    subnormal: _testp_1

class _testp_1(Spelling):
    f32: _testp_2
    f64: _testp_2

class _testp_2(Spelling):
    @overload
    def __call__(self, p: Reg, a: _Float, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Float, /, *, pred: _Guard = None) -> Reg: ...

class _tex(Spelling):
    _1d: _tex_1
    _2d: _tex_1
    _2dms: _tex_2
    _3d: _tex_3
    a1d: _tex_1
    a2d: _tex_1
    a2dms: _tex_2
    acube: _tex_4
    base: _tex_5
    cube: _tex_4
    grad: _tex_6
    level: _tex_7

class _tex_1(Spelling):
    v2: _tex_8
    v4: _tex_9

class _tex_2(Spelling):
    v2: _tex_10
    v4: _tex_11

class _tex_3(Spelling):
    v2: _tex_12
    v4: _tex_13

class _tex_4(Spelling):
    v2: _tex_14
    v4: _tex_15

class _tex_5(Spelling):
    _1d: _tex_1
    _2d: _tex_1
    _2dms: _tex_2
    _3d: _tex_3
    a1d: _tex_1
    a2d: _tex_1
    a2dms: _tex_2
    acube: _tex_4
    cube: _tex_4

class _tex_6(Spelling):
    _1d: _tex_16
    _2d: _tex_16
    _3d: _tex_17
    a1d: _tex_16
    a2d: _tex_16
    acube: _tex_18
    cube: _tex_18

class _tex_7(Spelling):
    _1d: _tex_19
    _2d: _tex_19
    _3d: _tex_20
    a1d: _tex_19
    a2d: _tex_19
    acube: _tex_21
    cube: _tex_21

class _tex_8(Spelling):
    f16x2: _tex_22

class _tex_9(Spelling):
    f16: _tex_22
    f32: _tex_22
    s32: _tex_22
    u32: _tex_22

class _tex_10(Spelling):
    f16x2: _tex_23

class _tex_11(Spelling):
    f16: _tex_23
    f32: _tex_23
    s32: _tex_23
    u32: _tex_23

class _tex_12(Spelling):
    f16x2: _tex_24

class _tex_13(Spelling):
    f16: _tex_24
    f32: _tex_24
    s32: _tex_24
    u32: _tex_24

class _tex_14(Spelling):
    f16x2: _tex_25

class _tex_15(Spelling):
    f16: _tex_25
    f32: _tex_25
    s32: _tex_25
    u32: _tex_25

class _tex_16(Spelling):
    v2: _tex_26
    v4: _tex_27

class _tex_17(Spelling):
    v2: _tex_28
    v4: _tex_29

class _tex_18(Spelling):
    v2: _tex_30
    v4: _tex_31

class _tex_19(Spelling):
    v2: _tex_32
    v4: _tex_33

class _tex_20(Spelling):
    v2: _tex_34
    v4: _tex_35

class _tex_21(Spelling):
    v2: _tex_36
    v4: _tex_37

class _tex_22(Spelling):
    f32: _tex_38
    s32: _tex_39

class _tex_23(Spelling):
    s32: _tex_39

class _tex_24(Spelling):
    f32: _tex_39
    s32: _tex_39

class _tex_25(Spelling):
    f32: _tex_40

class _tex_26(Spelling):
    f16x2: _tex_41

class _tex_27(Spelling):
    f16: _tex_41
    f32: _tex_41
    s32: _tex_41
    u32: _tex_41

class _tex_28(Spelling):
    f16x2: _tex_42

class _tex_29(Spelling):
    f16: _tex_42
    f32: _tex_42
    s32: _tex_42
    u32: _tex_42

class _tex_30(Spelling):
    f16x2: _tex_43

class _tex_31(Spelling):
    f16: _tex_43
    f32: _tex_43
    s32: _tex_43
    u32: _tex_43

class _tex_32(Spelling):
    f16x2: _tex_44

class _tex_33(Spelling):
    f16: _tex_44
    f32: _tex_44
    s32: _tex_44
    u32: _tex_44

class _tex_34(Spelling):
    f16x2: _tex_45

class _tex_35(Spelling):
    f16: _tex_45
    f32: _tex_45
    s32: _tex_45
    u32: _tex_45

class _tex_36(Spelling):
    f16x2: _tex_46

class _tex_37(Spelling):
    f16: _tex_46
    f32: _tex_46
    s32: _tex_46
    u32: _tex_46

class _tex_38(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        tex: _Position,
        e: _Integers = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: RawPair,
        tex: _Position,
        e: _Integers = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> RawPair: ...
    @overload
    def __call__(
        self,
        d: _Vector,
        tex: _Position,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: _Vector,
        tex: _Position,
        e: _Integers,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: RawPair,
        tex: _Position,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> RawPair: ...
    @overload
    def __call__(
        self,
        d: RawPair,
        tex: _Position,
        e: _Integers,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> RawPair: ...
    @overload
    def __call__(
        self,
        tex: _Position,
        e: _Integers = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...
    @overload
    def __call__(self, tex: _Position, f: _Float, /, *, pred: _Guard = None) -> list[Reg]: ...
    @overload
    def __call__(
        self,
        tex: _Position,
        e: _Integers,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _tex_39(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        tex: _Position,
        e: _Integers = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: RawPair,
        tex: _Position,
        e: _Integers = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> RawPair: ...
    @overload
    def __call__(
        self,
        tex: _Position,
        e: _Integers = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _tex_40(Spelling):
    @overload
    def __call__(self, d: _Vector, tex: _Position, /, *, pred: _Guard = None) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: _Vector,
        tex: _Position,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(self, d: RawPair, tex: _Position, /, *, pred: _Guard = None) -> RawPair: ...
    @overload
    def __call__(
        self,
        d: RawPair,
        tex: _Position,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> RawPair: ...
    @overload
    def __call__(self, tex: _Position, /, *, pred: _Guard = None) -> list[Reg]: ...
    @overload
    def __call__(self, tex: _Position, f: _Float, /, *, pred: _Guard = None) -> list[Reg]: ...

class _tex_41(Spelling):
    f32: _tex_47
    s32: _tex_48

class _tex_42(Spelling):
    f32: _tex_48
    s32: _tex_48

class _tex_43(Spelling):
    f32: _tex_49

class _tex_44(Spelling):
    f32: _tex_50
    s32: _tex_51

class _tex_45(Spelling):
    f32: _tex_52
    s32: _tex_51

class _tex_46(Spelling):
    f32: _tex_53

class _tex_47(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        tex: _Position,
        dPdx: _Floats,
        dPdy: _Floats,
        e: _Integers = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: RawPair,
        tex: _Position,
        dPdx: _Floats,
        dPdy: _Floats,
        e: _Integers = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> RawPair: ...
    @overload
    def __call__(
        self,
        d: _Vector,
        tex: _Position,
        dPdx: _Floats,
        dPdy: _Floats,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: _Vector,
        tex: _Position,
        dPdx: _Floats,
        dPdy: _Floats,
        e: _Integers,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: RawPair,
        tex: _Position,
        dPdx: _Floats,
        dPdy: _Floats,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> RawPair: ...
    @overload
    def __call__(
        self,
        d: RawPair,
        tex: _Position,
        dPdx: _Floats,
        dPdy: _Floats,
        e: _Integers,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> RawPair: ...
    @overload
    def __call__(
        self,
        tex: _Position,
        dPdx: _Floats,
        dPdy: _Floats,
        e: _Integers = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...
    @overload
    def __call__(
        self,
        tex: _Position,
        dPdx: _Floats,
        dPdy: _Floats,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...
    @overload
    def __call__(
        self,
        tex: _Position,
        dPdx: _Floats,
        dPdy: _Floats,
        e: _Integers,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _tex_48(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        tex: _Position,
        dPdx: _Floats,
        dPdy: _Floats,
        e: _Integers = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: RawPair,
        tex: _Position,
        dPdx: _Floats,
        dPdy: _Floats,
        e: _Integers = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> RawPair: ...
    @overload
    def __call__(
        self,
        tex: _Position,
        dPdx: _Floats,
        dPdy: _Floats,
        e: _Integers = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _tex_49(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        tex: _Position,
        dPdx: _Floats,
        dPdy: _Floats,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: _Vector,
        tex: _Position,
        dPdx: _Floats,
        dPdy: _Floats,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: RawPair,
        tex: _Position,
        dPdx: _Floats,
        dPdy: _Floats,
        /,
        *,
        pred: _Guard = None,
    ) -> RawPair: ...
    @overload
    def __call__(
        self,
        d: RawPair,
        tex: _Position,
        dPdx: _Floats,
        dPdy: _Floats,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> RawPair: ...
    @overload
    def __call__(
        self,
        tex: _Position,
        dPdx: _Floats,
        dPdy: _Floats,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...
    @overload
    def __call__(
        self,
        tex: _Position,
        dPdx: _Floats,
        dPdy: _Floats,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _tex_50(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        tex: _Position,
        lod: _Float,
        e: _Integers = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: RawPair,
        tex: _Position,
        lod: _Float,
        e: _Integers = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> RawPair: ...
    @overload
    def __call__(
        self,
        d: _Vector,
        tex: _Position,
        lod: _Float,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: _Vector,
        tex: _Position,
        lod: _Float,
        e: _Integers,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: RawPair,
        tex: _Position,
        lod: _Float,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> RawPair: ...
    @overload
    def __call__(
        self,
        d: RawPair,
        tex: _Position,
        lod: _Float,
        e: _Integers,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> RawPair: ...
    @overload
    def __call__(
        self,
        tex: _Position,
        lod: _Float,
        e: _Integers = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...
    @overload
    def __call__(
        self,
        tex: _Position,
        lod: _Float,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...
    @overload
    def __call__(
        self,
        tex: _Position,
        lod: _Float,
        e: _Integers,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _tex_51(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        tex: _Position,
        lod: _Integer,
        e: _Integers = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: RawPair,
        tex: _Position,
        lod: _Integer,
        e: _Integers = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> RawPair: ...
    @overload
    def __call__(
        self,
        tex: _Position,
        lod: _Integer,
        e: _Integers = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _tex_52(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        tex: _Position,
        lod: _Float,
        e: _Integers = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: RawPair,
        tex: _Position,
        lod: _Float,
        e: _Integers = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> RawPair: ...
    @overload
    def __call__(
        self,
        tex: _Position,
        lod: _Float,
        e: _Integers = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _tex_53(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        tex: _Position,
        lod: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: _Vector,
        tex: _Position,
        lod: _Float,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: RawPair,
        tex: _Position,
        lod: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> RawPair: ...
    @overload
    def __call__(
        self,
        d: RawPair,
        tex: _Position,
        lod: _Float,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> RawPair: ...
    @overload
    def __call__(self, tex: _Position, lod: _Float, /, *, pred: _Guard = None) -> list[Reg]: ...
    @overload
    def __call__(
        self,
        tex: _Position,
        lod: _Float,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _tld4(Spelling):
    a: _tld4_1
    b: _tld4_1
    g: _tld4_1
    r: _tld4_1

class _tld4_1(Spelling):
    _2d: _tld4_2
    a2d: _tld4_2
    acube: _tld4_3
    cube: _tld4_3

class _tld4_2(Spelling):
    v4: _tld4_4

class _tld4_3(Spelling):
    v4: _tld4_5

class _tld4_4(Spelling):
    f32: _tld4_6
    s32: _tld4_6
    u32: _tld4_6

class _tld4_5(Spelling):
    f32: _tld4_7
    s32: _tld4_7
    u32: _tld4_7

class _tld4_6(Spelling):
    f32: _tld4_8

class _tld4_7(Spelling):
    f32: _tld4_9

class _tld4_8(Spelling):
    @overload
    def __call__(self, d: _Vector, tex: _Position, /, *, pred: _Guard = None) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: _Vector,
        tex: _Position,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: _Vector,
        tex: _Position,
        e: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: _Vector,
        tex: _Position,
        e: _Integers,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(self, d: RawPair, tex: _Position, /, *, pred: _Guard = None) -> RawPair: ...
    @overload
    def __call__(
        self,
        d: RawPair,
        tex: _Position,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> RawPair: ...
    @overload
    def __call__(
        self,
        d: RawPair,
        tex: _Position,
        e: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> RawPair: ...
    @overload
    def __call__(
        self,
        d: RawPair,
        tex: _Position,
        e: _Integers,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> RawPair: ...
    @overload
    def __call__(self, tex: _Position, /, *, pred: _Guard = None) -> list[Reg]: ...
    @overload
    def __call__(self, tex: _Position, f: _Float, /, *, pred: _Guard = None) -> list[Reg]: ...
    @overload
    def __call__(self, tex: _Position, e: _Integers, /, *, pred: _Guard = None) -> list[Reg]: ...
    @overload
    def __call__(
        self,
        tex: _Position,
        e: _Integers,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _tld4_9(Spelling):
    @overload
    def __call__(self, d: _Vector, tex: _Position, /, *, pred: _Guard = None) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: _Vector,
        tex: _Position,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(self, d: RawPair, tex: _Position, /, *, pred: _Guard = None) -> RawPair: ...
    @overload
    def __call__(
        self,
        d: RawPair,
        tex: _Position,
        f: _Float,
        /,
        *,
        pred: _Guard = None,
    ) -> RawPair: ...
    @overload
    def __call__(self, tex: _Position, /, *, pred: _Guard = None) -> list[Reg]: ...
    @overload
    def __call__(self, tex: _Position, f: _Float, /, *, pred: _Guard = None) -> list[Reg]: ...

class _trap(Spelling):
    def __call__(self, *, pred: _Guard = None) -> None: ...

class _txq(Spelling):
    addr_mode_0: _txq_1
    addr_mode_1: _txq_1
    addr_mode_2: _txq_1
    array_size: _txq_1
    channel_data_type: _txq_1
    channel_order: _txq_1
    depth: _txq_1
    filter_mode: _txq_1
    force_unnormalized_coords: _txq_1
    height: _txq_1
    level: _txq_2
    normalized_coords: _txq_1
    num_mipmap_levels: _txq_1
    num_samples: _txq_1
    width: _txq_1

class _txq_1(Spelling):
    b32: _txq_3

class _txq_2(Spelling):
    depth: _txq_4
    height: _txq_4
    width: _txq_4

class _txq_3(Spelling):
    @overload
    def __call__(self, d: Reg, tex: _Address, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, tex: _Address, /, *, pred: _Guard = None) -> Reg: ...

class _txq_4(Spelling):
    b32: _txq_5

class _txq_5(Spelling):
    @overload
    def __call__(self, d: Reg, tex: _Address, lod: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, tex: _Address, lod: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _vabsdiff(Spelling):
    s32: _vabsdiff_1
    u32: _vabsdiff_1

class _vabsdiff_1(Spelling):
    s32: _vabsdiff_2
    u32: _vabsdiff_2

class _vabsdiff_2(Spelling):
    s32: _vabsdiff_3
    u32: _vabsdiff_3

class _vabsdiff_3(Spelling):
    add: _vabsdiff_4
    max: _vabsdiff_4
    min: _vabsdiff_4
    sat: _vabsdiff_5
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part,
        b: _Integer | Part,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        d: Part,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Part: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part,
        b: _Integer | Part,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vabsdiff_4(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vabsdiff_5(Spelling):
    add: _vabsdiff_4
    max: _vabsdiff_4
    min: _vabsdiff_4
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part,
        b: _Integer | Part,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        d: Part,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Part: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part,
        b: _Integer | Part,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vabsdiff2(Spelling):
    s32: _vabsdiff2_1
    u32: _vabsdiff2_1

class _vabsdiff2_1(Spelling):
    s32: _vabsdiff2_2
    u32: _vabsdiff2_2

class _vabsdiff2_2(Spelling):
    s32: _vabsdiff2_3
    u32: _vabsdiff2_3

class _vabsdiff2_3(Spelling):
    add: _vabsdiff2_4
    sat: _vabsdiff2_4
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vabsdiff2_4(Spelling):
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vabsdiff4(Spelling):
    s32: _vabsdiff4_1
    u32: _vabsdiff4_1

class _vabsdiff4_1(Spelling):
    s32: _vabsdiff4_2
    u32: _vabsdiff4_2

class _vabsdiff4_2(Spelling):
    s32: _vabsdiff4_3
    u32: _vabsdiff4_3

class _vabsdiff4_3(Spelling):
    add: _vabsdiff4_4
    sat: _vabsdiff4_4
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vabsdiff4_4(Spelling):
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vadd(Spelling):
    s32: _vadd_1
    u32: _vadd_1

class _vadd_1(Spelling):
    s32: _vadd_2
    u32: _vadd_2

class _vadd_2(Spelling):
    s32: _vadd_3
    u32: _vadd_3

class _vadd_3(Spelling):
    add: _vadd_4
    max: _vadd_4
    min: _vadd_4
    sat: _vadd_5
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part,
        b: _Integer | Part,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        d: Part,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Part: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part,
        b: _Integer | Part,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vadd_4(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vadd_5(Spelling):
    add: _vadd_4
    max: _vadd_4
    min: _vadd_4
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part,
        b: _Integer | Part,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        d: Part,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Part: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part,
        b: _Integer | Part,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vadd2(Spelling):
    s32: _vadd2_1
    u32: _vadd2_1

class _vadd2_1(Spelling):
    s32: _vadd2_2
    u32: _vadd2_2

class _vadd2_2(Spelling):
    s32: _vadd2_3
    u32: _vadd2_3

class _vadd2_3(Spelling):
    add: _vadd2_4
    sat: _vadd2_4
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vadd2_4(Spelling):
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vadd4(Spelling):
    s32: _vadd4_1
    u32: _vadd4_1

class _vadd4_1(Spelling):
    s32: _vadd4_2
    u32: _vadd4_2

class _vadd4_2(Spelling):
    s32: _vadd4_3
    u32: _vadd4_3

class _vadd4_3(Spelling):
    add: _vadd4_4
    sat: _vadd4_4
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vadd4_4(Spelling):
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vavrg2(Spelling):
    s32: _vavrg2_1
    u32: _vavrg2_1

class _vavrg2_1(Spelling):
    s32: _vavrg2_2
    u32: _vavrg2_2

class _vavrg2_2(Spelling):
    s32: _vavrg2_3
    u32: _vavrg2_3

class _vavrg2_3(Spelling):
    add: _vavrg2_4
    sat: _vavrg2_4
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vavrg2_4(Spelling):
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vavrg4(Spelling):
    s32: _vavrg4_1
    u32: _vavrg4_1

class _vavrg4_1(Spelling):
    s32: _vavrg4_2
    u32: _vavrg4_2

class _vavrg4_2(Spelling):
    s32: _vavrg4_3
    u32: _vavrg4_3

class _vavrg4_3(Spelling):
    add: _vavrg4_4
    sat: _vavrg4_4
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vavrg4_4(Spelling):
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vmad(Spelling):
    s32: _vmad_1
    u32: _vmad_1

class _vmad_1(Spelling):
    s32: _vmad_2
    u32: _vmad_2

class _vmad_2(Spelling):
    s32: _vmad_3
    u32: _vmad_3

class _vmad_3(Spelling):
    po: _vmad_4
    sat: _vmad_5
    shr15: _vmad_6
    shr7: _vmad_6
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part,
        b: _Integer | Part,
        c: Minus,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part | Minus,
        b: _Integer | Part | Minus,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part,
        b: _Integer | Part,
        c: Minus,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part | Minus,
        b: _Integer | Part | Minus,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vmad_4(Spelling):
    sat: _vmad_7
    shr15: _vmad_8
    shr7: _vmad_8
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vmad_5(Spelling):
    shr15: _vmad_6
    shr7: _vmad_6
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part,
        b: _Integer | Part,
        c: Minus,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part | Minus,
        b: _Integer | Part | Minus,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part,
        b: _Integer | Part,
        c: Minus,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part | Minus,
        b: _Integer | Part | Minus,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vmad_6(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part,
        b: _Integer | Part,
        c: Minus,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part | Minus,
        b: _Integer | Part | Minus,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part,
        b: _Integer | Part,
        c: Minus,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part | Minus,
        b: _Integer | Part | Minus,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vmad_7(Spelling):
    shr15: _vmad_8
    shr7: _vmad_8
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vmad_8(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vmax(Spelling):
    s32: _vmax_1
    u32: _vmax_1

class _vmax_1(Spelling):
    s32: _vmax_2
    u32: _vmax_2

class _vmax_2(Spelling):
    s32: _vmax_3
    u32: _vmax_3

class _vmax_3(Spelling):
    add: _vmax_4
    max: _vmax_4
    min: _vmax_4
    sat: _vmax_5
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part,
        b: _Integer | Part,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        d: Part,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Part: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part,
        b: _Integer | Part,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vmax_4(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vmax_5(Spelling):
    add: _vmax_4
    max: _vmax_4
    min: _vmax_4
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part,
        b: _Integer | Part,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        d: Part,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Part: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part,
        b: _Integer | Part,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vmax2(Spelling):
    s32: _vmax2_1
    u32: _vmax2_1

class _vmax2_1(Spelling):
    s32: _vmax2_2
    u32: _vmax2_2

class _vmax2_2(Spelling):
    s32: _vmax2_3
    u32: _vmax2_3

class _vmax2_3(Spelling):
    add: _vmax2_4
    sat: _vmax2_4
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vmax2_4(Spelling):
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vmax4(Spelling):
    s32: _vmax4_1
    u32: _vmax4_1

class _vmax4_1(Spelling):
    s32: _vmax4_2
    u32: _vmax4_2

class _vmax4_2(Spelling):
    s32: _vmax4_3
    u32: _vmax4_3

class _vmax4_3(Spelling):
    add: _vmax4_4
    sat: _vmax4_4
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vmax4_4(Spelling):
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vmin(Spelling):
    s32: _vmin_1
    u32: _vmin_1

class _vmin_1(Spelling):
    s32: _vmin_2
    u32: _vmin_2

class _vmin_2(Spelling):
    s32: _vmin_3
    u32: _vmin_3

class _vmin_3(Spelling):
    add: _vmin_4
    max: _vmin_4
    min: _vmin_4
    sat: _vmin_5
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part,
        b: _Integer | Part,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        d: Part,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Part: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part,
        b: _Integer | Part,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vmin_4(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vmin_5(Spelling):
    add: _vmin_4
    max: _vmin_4
    min: _vmin_4
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part,
        b: _Integer | Part,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        d: Part,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Part: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part,
        b: _Integer | Part,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vmin2(Spelling):
    s32: _vmin2_1
    u32: _vmin2_1

class _vmin2_1(Spelling):
    s32: _vmin2_2
    u32: _vmin2_2

class _vmin2_2(Spelling):
    s32: _vmin2_3
    u32: _vmin2_3

class _vmin2_3(Spelling):
    add: _vmin2_4
    sat: _vmin2_4
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vmin2_4(Spelling):
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vmin4(Spelling):
    s32: _vmin4_1
    u32: _vmin4_1

class _vmin4_1(Spelling):
    s32: _vmin4_2
    u32: _vmin4_2

class _vmin4_2(Spelling):
    s32: _vmin4_3
    u32: _vmin4_3

class _vmin4_3(Spelling):
    add: _vmin4_4
    sat: _vmin4_4
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vmin4_4(Spelling):
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vote(Spelling):
    sync: _vote_1

class _vote_1(Spelling):
    all: _vote_2
    any: _vote_2
    ballot: _vote_3
    uni: _vote_2

class _vote_2(Spelling):
    pred: _vote_4

class _vote_3(Spelling):
    b32: _vote_4

class _vote_4(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Source,
        membermask: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(self, a: _Source, membermask: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _vset(Spelling):
    s32: _vset_1
    u32: _vset_1

class _vset_1(Spelling):
    s32: _vset_2
    u32: _vset_2

class _vset_2(Spelling):
    eq: _vset_3
    ge: _vset_3
    gt: _vset_3
    le: _vset_3
    lt: _vset_3
    ne: _vset_3

class _vset_3(Spelling):
    add: _vset_4
    max: _vset_4
    min: _vset_4
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part,
        b: _Integer | Part,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        d: Part,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Part: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part,
        b: _Integer | Part,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vset_4(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vset2(Spelling):
    s32: _vset2_1
    u32: _vset2_1

class _vset2_1(Spelling):
    s32: _vset2_2
    u32: _vset2_2

class _vset2_2(Spelling):
    eq: _vset2_3
    ge: _vset2_3
    gt: _vset2_3
    le: _vset2_3
    lt: _vset2_3
    ne: _vset2_3

class _vset2_3(Spelling):
    add: _vset2_4
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vset2_4(Spelling):
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vset4(Spelling):
    s32: _vset4_1
    u32: _vset4_1

class _vset4_1(Spelling):
    s32: _vset4_2
    u32: _vset4_2

class _vset4_2(Spelling):
    eq: _vset4_3
    ge: _vset4_3
    gt: _vset4_3
    le: _vset4_3
    lt: _vset4_3
    ne: _vset4_3

class _vset4_3(Spelling):
    add: _vset4_4
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vset4_4(Spelling):
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vshl(Spelling):
    s32: _vshl_1
    u32: _vshl_1

class _vshl_1(Spelling):
    s32: _vshl_2
    u32: _vshl_2

class _vshl_2(Spelling):
    u32: _vshl_3

class _vshl_3(Spelling):
    clamp: _vshl_4
    sat: _vshl_5
    wrap: _vshl_4

class _vshl_4(Spelling):
    add: _vshl_6
    max: _vshl_6
    min: _vshl_6
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part,
        b: _Integer | Part,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        d: Part,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Part: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part,
        b: _Integer | Part,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vshl_5(Spelling):
    clamp: _vshl_4
    wrap: _vshl_4

class _vshl_6(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vshr(Spelling):
    s32: _vshr_1
    u32: _vshr_1

class _vshr_1(Spelling):
    s32: _vshr_2
    u32: _vshr_2

class _vshr_2(Spelling):
    u32: _vshr_3

class _vshr_3(Spelling):
    clamp: _vshr_4
    sat: _vshr_5
    wrap: _vshr_4

class _vshr_4(Spelling):
    add: _vshr_6
    max: _vshr_6
    min: _vshr_6
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part,
        b: _Integer | Part,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        d: Part,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Part: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part,
        b: _Integer | Part,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vshr_5(Spelling):
    clamp: _vshr_4
    wrap: _vshr_4

class _vshr_6(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vsub(Spelling):
    s32: _vsub_1
    u32: _vsub_1

class _vsub_1(Spelling):
    s32: _vsub_2
    u32: _vsub_2

class _vsub_2(Spelling):
    s32: _vsub_3
    u32: _vsub_3

class _vsub_3(Spelling):
    add: _vsub_4
    max: _vsub_4
    min: _vsub_4
    sat: _vsub_5
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part,
        b: _Integer | Part,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        d: Part,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Part: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part,
        b: _Integer | Part,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vsub_4(Spelling):
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vsub_5(Spelling):
    add: _vsub_4
    max: _vsub_4
    min: _vsub_4
    @overload
    def __call__(
        self,
        d: Reg,
        a: _Integer | Part,
        b: _Integer | Part,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...
    @overload
    def __call__(
        self,
        d: Part,
        a: _Integer | Part,
        b: _Integer | Part,
        c: _Integer,
        /,
        *,
        pred: _Guard = None,
    ) -> Part: ...
    @overload
    def __call__(
        self,
        a: _Integer | Part,
        b: _Integer | Part,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vsub2(Spelling):
    s32: _vsub2_1
    u32: _vsub2_1

class _vsub2_1(Spelling):
    s32: _vsub2_2
    u32: _vsub2_2

class _vsub2_2(Spelling):
    s32: _vsub2_3
    u32: _vsub2_3

class _vsub2_3(Spelling):
    add: _vsub2_4
    sat: _vsub2_4
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vsub2_4(Spelling):
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vsub4(Spelling):
    s32: _vsub4_1
    u32: _vsub4_1

class _vsub4_1(Spelling):
    s32: _vsub4_2
    u32: _vsub4_2

class _vsub4_2(Spelling):
    s32: _vsub4_3
    u32: _vsub4_3

class _vsub4_3(Spelling):
    add: _vsub4_4
    sat: _vsub4_4
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _vsub4_4(Spelling):
    @overload
    def __call__(
        self,
        d: _Selected,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Selected: ...
    @overload
    def __call__(
        self,
        a: _Source | Part,
        b: _Source | Part,
        c: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> Reg: ...

class _wgmma(Spelling):
    commit_group: _wgmma_1
    fence: _wgmma_1
    mma_async: _wgmma_2
    wait_group: _wgmma_3

class _wgmma_1(Spelling):
    sync: _wgmma_4

class _wgmma_2(Spelling):
    sp: _wgmma_5
    sync: _wgmma_6

class _wgmma_3(Spelling):
    sync: _wgmma_7

class _wgmma_4(Spelling):
    aligned: _wgmma_8

class _wgmma_5(Spelling):
    sync: _wgmma_9

class _wgmma_6(Spelling):
    aligned: _wgmma_10

class _wgmma_7(Spelling):
    aligned: _wgmma_11

class _wgmma_8(Spelling):
    def __call__(self, *, pred: _Guard = None) -> None: ...

class _wgmma_9(Spelling):
    aligned: _wgmma_12

class _wgmma_10(Spelling):
    m64n104k16: _wgmma_13
    m64n104k32: _wgmma_14
    m64n104k8: _wgmma_15
    m64n112k16: _wgmma_13
    m64n112k256: _wgmma_16
    m64n112k32: _wgmma_17
    m64n112k8: _wgmma_15
    m64n120k16: _wgmma_13
    m64n120k32: _wgmma_14
    m64n120k8: _wgmma_15
    m64n128k16: _wgmma_13
    m64n128k256: _wgmma_16
    m64n128k32: _wgmma_17
    m64n128k8: _wgmma_15
    m64n136k16: _wgmma_13
    m64n136k32: _wgmma_14
    m64n136k8: _wgmma_15
    m64n144k16: _wgmma_13
    m64n144k256: _wgmma_16
    m64n144k32: _wgmma_17
    m64n144k8: _wgmma_15
    m64n152k16: _wgmma_13
    m64n152k32: _wgmma_14
    m64n152k8: _wgmma_15
    m64n160k16: _wgmma_13
    m64n160k256: _wgmma_16
    m64n160k32: _wgmma_17
    m64n160k8: _wgmma_15
    m64n168k16: _wgmma_13
    m64n168k32: _wgmma_14
    m64n168k8: _wgmma_15
    m64n16k16: _wgmma_13
    m64n16k256: _wgmma_16
    m64n16k32: _wgmma_17
    m64n16k8: _wgmma_15
    m64n176k16: _wgmma_13
    m64n176k256: _wgmma_16
    m64n176k32: _wgmma_17
    m64n176k8: _wgmma_15
    m64n184k16: _wgmma_13
    m64n184k32: _wgmma_14
    m64n184k8: _wgmma_15
    m64n192k16: _wgmma_13
    m64n192k256: _wgmma_16
    m64n192k32: _wgmma_17
    m64n192k8: _wgmma_15
    m64n200k16: _wgmma_13
    m64n200k32: _wgmma_14
    m64n200k8: _wgmma_15
    m64n208k16: _wgmma_13
    m64n208k256: _wgmma_16
    m64n208k32: _wgmma_17
    m64n208k8: _wgmma_15
    m64n216k16: _wgmma_13
    m64n216k32: _wgmma_14
    m64n216k8: _wgmma_15
    m64n224k16: _wgmma_13
    m64n224k256: _wgmma_16
    m64n224k32: _wgmma_17
    m64n224k8: _wgmma_15
    m64n232k16: _wgmma_13
    m64n232k32: _wgmma_14
    m64n232k8: _wgmma_15
    m64n240k16: _wgmma_13
    m64n240k256: _wgmma_16
    m64n240k32: _wgmma_17
    m64n240k8: _wgmma_15
    m64n248k16: _wgmma_13
    m64n248k32: _wgmma_14
    m64n248k8: _wgmma_15
    m64n24k16: _wgmma_13
    m64n24k256: _wgmma_16
    m64n24k32: _wgmma_17
    m64n24k8: _wgmma_15
    m64n256k16: _wgmma_13
    m64n256k256: _wgmma_16
    m64n256k32: _wgmma_17
    m64n256k8: _wgmma_15
    m64n32k16: _wgmma_13
    m64n32k256: _wgmma_16
    m64n32k32: _wgmma_17
    m64n32k8: _wgmma_15
    m64n40k16: _wgmma_13
    m64n40k32: _wgmma_14
    m64n40k8: _wgmma_15
    m64n48k16: _wgmma_13
    m64n48k256: _wgmma_16
    m64n48k32: _wgmma_17
    m64n48k8: _wgmma_15
    m64n56k16: _wgmma_13
    m64n56k32: _wgmma_14
    m64n56k8: _wgmma_15
    m64n64k16: _wgmma_13
    m64n64k256: _wgmma_16
    m64n64k32: _wgmma_17
    m64n64k8: _wgmma_15
    m64n72k16: _wgmma_13
    m64n72k32: _wgmma_14
    m64n72k8: _wgmma_15
    m64n80k16: _wgmma_13
    m64n80k256: _wgmma_16
    m64n80k32: _wgmma_17
    m64n80k8: _wgmma_15
    m64n88k16: _wgmma_13
    m64n88k32: _wgmma_14
    m64n88k8: _wgmma_15
    m64n8k16: _wgmma_13
    m64n8k256: _wgmma_16
    m64n8k32: _wgmma_17
    m64n8k8: _wgmma_15
    m64n96k16: _wgmma_13
    m64n96k256: _wgmma_16
    m64n96k32: _wgmma_17
    m64n96k8: _wgmma_15

class _wgmma_11(Spelling):
    def __call__(self, n: _Whole, /, *, pred: _Guard = None) -> None: ...

class _wgmma_12(Spelling):
    m64n104k16: _wgmma_18
    m64n104k32: _wgmma_19
    m64n104k64: _wgmma_20
    m64n112k16: _wgmma_18
    m64n112k32: _wgmma_19
    m64n112k64: _wgmma_21
    m64n120k16: _wgmma_18
    m64n120k32: _wgmma_19
    m64n120k64: _wgmma_20
    m64n128k16: _wgmma_18
    m64n128k32: _wgmma_19
    m64n128k64: _wgmma_21
    m64n136k16: _wgmma_18
    m64n136k32: _wgmma_19
    m64n136k64: _wgmma_20
    m64n144k16: _wgmma_18
    m64n144k32: _wgmma_19
    m64n144k64: _wgmma_21
    m64n152k16: _wgmma_18
    m64n152k32: _wgmma_19
    m64n152k64: _wgmma_20
    m64n160k16: _wgmma_18
    m64n160k32: _wgmma_19
    m64n160k64: _wgmma_21
    m64n168k16: _wgmma_18
    m64n168k32: _wgmma_19
    m64n168k64: _wgmma_20
    m64n16k16: _wgmma_18
    m64n16k32: _wgmma_19
    m64n16k64: _wgmma_21
    m64n176k16: _wgmma_18
    m64n176k32: _wgmma_19
    m64n176k64: _wgmma_21
    m64n184k16: _wgmma_18
    m64n184k32: _wgmma_19
    m64n184k64: _wgmma_20
    m64n192k16: _wgmma_18
    m64n192k32: _wgmma_19
    m64n192k64: _wgmma_21
    m64n200k16: _wgmma_18
    m64n200k32: _wgmma_19
    m64n200k64: _wgmma_20
    m64n208k16: _wgmma_18
    m64n208k32: _wgmma_19
    m64n208k64: _wgmma_21
    m64n216k16: _wgmma_18
    m64n216k32: _wgmma_19
    m64n216k64: _wgmma_20
    m64n224k16: _wgmma_18
    m64n224k32: _wgmma_19
    m64n224k64: _wgmma_21
    m64n232k16: _wgmma_18
    m64n232k32: _wgmma_19
    m64n232k64: _wgmma_20
    m64n240k16: _wgmma_18
    m64n240k32: _wgmma_19
    m64n240k64: _wgmma_21
    m64n248k16: _wgmma_18
    m64n248k32: _wgmma_19
    m64n248k64: _wgmma_20
    m64n24k16: _wgmma_18
    m64n24k32: _wgmma_19
    m64n24k64: _wgmma_21
    m64n256k16: _wgmma_18
    m64n256k32: _wgmma_19
    m64n256k64: _wgmma_21
    m64n32k16: _wgmma_18
    m64n32k32: _wgmma_19
    m64n32k64: _wgmma_21
    m64n40k16: _wgmma_18
    m64n40k32: _wgmma_19
    m64n40k64: _wgmma_20
    m64n48k16: _wgmma_18
    m64n48k32: _wgmma_19
    m64n48k64: _wgmma_21
    m64n56k16: _wgmma_18
    m64n56k32: _wgmma_19
    m64n56k64: _wgmma_20
    m64n64k16: _wgmma_18
    m64n64k32: _wgmma_19
    m64n64k64: _wgmma_21
    m64n72k16: _wgmma_18
    m64n72k32: _wgmma_19
    m64n72k64: _wgmma_20
    m64n80k16: _wgmma_18
    m64n80k32: _wgmma_19
    m64n80k64: _wgmma_21
    m64n88k16: _wgmma_18
    m64n88k32: _wgmma_19
    m64n88k64: _wgmma_20
    m64n8k16: _wgmma_18
    m64n8k32: _wgmma_19
    m64n8k64: _wgmma_21
    m64n96k16: _wgmma_18
    m64n96k32: _wgmma_19
    m64n96k64: _wgmma_21

class _wgmma_13(Spelling):
    f16: _wgmma_22
    f32: _wgmma_23

class _wgmma_14(Spelling):
    f16: _wgmma_24
    f32: _wgmma_24

class _wgmma_15(Spelling):
    f32: _wgmma_25

class _wgmma_16(Spelling):
    s32: _wgmma_26

class _wgmma_17(Spelling):
    f16: _wgmma_24
    f32: _wgmma_24
    s32: _wgmma_27
    satfinite: _wgmma_28

class _wgmma_18(Spelling):
    f32: _wgmma_29

class _wgmma_19(Spelling):
    f16: _wgmma_30
    f32: _wgmma_31

class _wgmma_20(Spelling):
    f16: _wgmma_32
    f32: _wgmma_32

class _wgmma_21(Spelling):
    f16: _wgmma_32
    f32: _wgmma_32
    s32: _wgmma_33
    satfinite: _wgmma_34

class _wgmma_22(Spelling):
    f16: _wgmma_35

class _wgmma_23(Spelling):
    bf16: _wgmma_36
    f16: _wgmma_35

class _wgmma_24(Spelling):
    e4m3: _wgmma_37
    e5m2: _wgmma_37

class _wgmma_25(Spelling):
    tf32: _wgmma_38

class _wgmma_26(Spelling):
    b1: _wgmma_39

class _wgmma_27(Spelling):
    s8: _wgmma_40
    u8: _wgmma_40

class _wgmma_28(Spelling):
    s32: _wgmma_27

class _wgmma_29(Spelling):
    tf32: _wgmma_41

class _wgmma_30(Spelling):
    f16: _wgmma_42

class _wgmma_31(Spelling):
    bf16: _wgmma_43
    f16: _wgmma_42

class _wgmma_32(Spelling):
    e4m3: _wgmma_44
    e5m2: _wgmma_44

class _wgmma_33(Spelling):
    s8: _wgmma_45
    u8: _wgmma_45

class _wgmma_34(Spelling):
    s32: _wgmma_33

class _wgmma_35(Spelling):
    f16: _wgmma_46

class _wgmma_36(Spelling):
    bf16: _wgmma_46

class _wgmma_37(Spelling):
    e4m3: _wgmma_47
    e5m2: _wgmma_47

class _wgmma_38(Spelling):
    tf32: _wgmma_47

class _wgmma_39(Spelling):
    b1: _wgmma_48

class _wgmma_40(Spelling):
    s8: _wgmma_49
    u8: _wgmma_49

class _wgmma_41(Spelling):
    tf32: _wgmma_50

class _wgmma_42(Spelling):
    f16: _wgmma_51

class _wgmma_43(Spelling):
    bf16: _wgmma_51

class _wgmma_44(Spelling):
    e4m3: _wgmma_50
    e5m2: _wgmma_50

class _wgmma_45(Spelling):
    s8: _wgmma_52
    u8: _wgmma_52

class _wgmma_46(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        aDesc: _Source,
        bDesc: _Source,
        scaleD: _Source,
        immScaleA: _Whole,
        immScaleB: _Whole,
        immTransA: _Whole,
        immTransB: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: _Vector,
        a: _Sources,
        bDesc: _Source,
        scaleD: _Source,
        immScaleA: _Whole,
        immScaleB: _Whole,
        immTransB: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...

class _wgmma_47(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        aDesc: _Source,
        bDesc: _Source,
        scaleD: _Source,
        immScaleA: _Whole,
        immScaleB: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: _Vector,
        a: _Sources,
        bDesc: _Source,
        scaleD: _Source,
        immScaleA: _Whole,
        immScaleB: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...

class _wgmma_48(Spelling):
    and_: _wgmma_53

class _wgmma_49(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        aDesc: _Source,
        bDesc: _Source,
        scaleD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: _Vector,
        a: _Sources,
        bDesc: _Source,
        scaleD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...

class _wgmma_50(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        aDesc: _Source,
        bDesc: _Source,
        spMeta: _Source,
        spSel: _Whole,
        scaleD: _Source,
        immScaleA: _Whole,
        immScaleB: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: _Vector,
        a: _Sources,
        bDesc: _Source,
        spMeta: _Source,
        spSel: _Whole,
        scaleD: _Source,
        immScaleA: _Whole,
        immScaleB: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...

class _wgmma_51(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        aDesc: _Source,
        bDesc: _Source,
        spMeta: _Source,
        spSel: _Whole,
        scaleD: _Source,
        immScaleA: _Whole,
        immScaleB: _Whole,
        immTransA: _Whole,
        immTransB: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: _Vector,
        a: _Sources,
        bDesc: _Source,
        spMeta: _Source,
        spSel: _Whole,
        scaleD: _Source,
        immScaleA: _Whole,
        immScaleB: _Whole,
        immTransB: _Whole,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...

class _wgmma_52(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        aDesc: _Source,
        bDesc: _Source,
        spMeta: _Source,
        spSel: _Whole,
        scaleD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        d: _Vector,
        a: _Sources,
        bDesc: _Source,
        spMeta: _Source,
        spSel: _Whole,
        scaleD: _Source,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...

class _wgmma_53(Spelling):
    popc: _wgmma_49

class _wmma(Spelling):
    load: _wmma_1
    mma: _wmma_2
    store: _wmma_3

class _wmma_1(Spelling):
    a: _wmma_4
    b: _wmma_5
    c: _wmma_6

class _wmma_2(Spelling):
    and_: _wmma_7
    sync: _wmma_8
    xor: _wmma_7

class _wmma_3(Spelling):
    d: _wmma_9

class _wmma_4(Spelling):
    sync: _wmma_10

class _wmma_5(Spelling):
    sync: _wmma_11

class _wmma_6(Spelling):
    sync: _wmma_12

class _wmma_7(Spelling):
    popc: _wmma_13

class _wmma_8(Spelling):
    aligned: _wmma_14

class _wmma_9(Spelling):
    sync: _wmma_15

class _wmma_10(Spelling):
    aligned: _wmma_16

class _wmma_11(Spelling):
    aligned: _wmma_17

class _wmma_12(Spelling):
    aligned: _wmma_18

class _wmma_13(Spelling):
    sync: _wmma_19

class _wmma_14(Spelling):
    col: _wmma_20
    row: _wmma_21

class _wmma_15(Spelling):
    aligned: _wmma_22

class _wmma_16(Spelling):
    col: _wmma_23
    row: _wmma_24

class _wmma_17(Spelling):
    col: _wmma_24
    row: _wmma_23

class _wmma_18(Spelling):
    col: _wmma_25
    row: _wmma_25

class _wmma_19(Spelling):
    aligned: _wmma_26

class _wmma_20(Spelling):
    col: _wmma_27
    row: _wmma_27

class _wmma_21(Spelling):
    col: _wmma_28
    row: _wmma_27

class _wmma_22(Spelling):
    col: _wmma_29
    row: _wmma_29

class _wmma_23(Spelling):
    m16n16k16: _wmma_30
    m16n16k8: _wmma_31
    m32n8k16: _wmma_30
    m8n32k16: _wmma_30
    m8n8k4: _wmma_32

class _wmma_24(Spelling):
    m16n16k16: _wmma_30
    m16n16k8: _wmma_31
    m32n8k16: _wmma_30
    m8n32k16: _wmma_30
    m8n8k128: _wmma_33
    m8n8k32: _wmma_34
    m8n8k4: _wmma_32

class _wmma_25(Spelling):
    m16n16k16: _wmma_35
    m16n16k8: _wmma_36
    m32n8k16: _wmma_35
    m8n32k16: _wmma_35
    m8n8k128: _wmma_37
    m8n8k32: _wmma_37
    m8n8k4: _wmma_32

class _wmma_26(Spelling):
    row: _wmma_38

class _wmma_27(Spelling):
    m16n16k16: _wmma_39
    m16n16k8: _wmma_40
    m32n8k16: _wmma_39
    m8n32k16: _wmma_39
    m8n8k4: _wmma_41

class _wmma_28(Spelling):
    m16n16k16: _wmma_39
    m16n16k8: _wmma_40
    m32n8k16: _wmma_39
    m8n32k16: _wmma_39
    m8n8k32: _wmma_42
    m8n8k4: _wmma_41

class _wmma_29(Spelling):
    m16n16k16: _wmma_43
    m16n16k8: _wmma_44
    m32n8k16: _wmma_43
    m8n32k16: _wmma_43
    m8n8k128: _wmma_45
    m8n8k32: _wmma_45
    m8n8k4: _wmma_46

class _wmma_30(Spelling):
    bf16: _wmma_47
    f16: _wmma_47
    global_: _wmma_48
    s8: _wmma_47
    shared: _wmma_48
    shared__cta: _wmma_48
    u8: _wmma_47

class _wmma_31(Spelling):
    global_: _wmma_49
    shared: _wmma_49
    shared__cta: _wmma_49
    tf32: _wmma_47

class _wmma_32(Spelling):
    f64: _wmma_47
    global_: _wmma_50
    shared: _wmma_50
    shared__cta: _wmma_50

class _wmma_33(Spelling):
    b1: _wmma_47
    global_: _wmma_51
    shared: _wmma_51
    shared__cta: _wmma_51

class _wmma_34(Spelling):
    global_: _wmma_52
    s4: _wmma_47
    shared: _wmma_52
    shared__cta: _wmma_52
    u4: _wmma_47

class _wmma_35(Spelling):
    f16: _wmma_47
    f32: _wmma_47
    global_: _wmma_53
    s32: _wmma_47
    shared: _wmma_53
    shared__cta: _wmma_53

class _wmma_36(Spelling):
    f32: _wmma_47
    global_: _wmma_54
    shared: _wmma_54
    shared__cta: _wmma_54

class _wmma_37(Spelling):
    global_: _wmma_55
    s32: _wmma_47
    shared: _wmma_55
    shared__cta: _wmma_55

class _wmma_38(Spelling):
    col: _wmma_56

class _wmma_39(Spelling):
    f16: _wmma_57
    f32: _wmma_58
    s32: _wmma_59

class _wmma_40(Spelling):
    f32: _wmma_60

class _wmma_41(Spelling):
    f64: _wmma_61
    rm: _wmma_62
    rn: _wmma_62
    rp: _wmma_62
    rz: _wmma_62

class _wmma_42(Spelling):
    s32: _wmma_63

class _wmma_43(Spelling):
    f16: _wmma_64
    f32: _wmma_65
    global_: _wmma_66
    s32: _wmma_67
    shared: _wmma_66
    shared__cta: _wmma_66

class _wmma_44(Spelling):
    f32: _wmma_65
    global_: _wmma_68
    shared: _wmma_68
    shared__cta: _wmma_68

class _wmma_45(Spelling):
    global_: _wmma_69
    s32: _wmma_67
    shared: _wmma_69
    shared__cta: _wmma_69

class _wmma_46(Spelling):
    f64: _wmma_65
    global_: _wmma_70
    shared: _wmma_70
    shared__cta: _wmma_70

class _wmma_47(Spelling):
    @overload
    def __call__(
        self,
        r: _Vector,
        p: _Address,
        stride: _Integer = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        p: _Address,
        stride: _Integer = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _wmma_48(Spelling):
    bf16: _wmma_47
    f16: _wmma_47
    s8: _wmma_47
    u8: _wmma_47

class _wmma_49(Spelling):
    tf32: _wmma_47

class _wmma_50(Spelling):
    f64: _wmma_47

class _wmma_51(Spelling):
    b1: _wmma_47

class _wmma_52(Spelling):
    s4: _wmma_47
    u4: _wmma_47

class _wmma_53(Spelling):
    f16: _wmma_47
    f32: _wmma_47
    s32: _wmma_47

class _wmma_54(Spelling):
    f32: _wmma_47

class _wmma_55(Spelling):
    s32: _wmma_47

class _wmma_56(Spelling):
    m8n8k128: _wmma_71

class _wmma_57(Spelling):
    f16: _wmma_72
    f32: _wmma_73

class _wmma_58(Spelling):
    bf16: _wmma_74
    f16: _wmma_72
    f32: _wmma_73

class _wmma_59(Spelling):
    s8: _wmma_75
    u8: _wmma_76

class _wmma_60(Spelling):
    tf32: _wmma_77

class _wmma_61(Spelling):
    f64: _wmma_78

class _wmma_62(Spelling):
    f64: _wmma_61

class _wmma_63(Spelling):
    s4: _wmma_79
    u4: _wmma_80

class _wmma_64(Spelling):
    def __call__(
        self,
        p: _Address,
        r: _Sources,
        stride: _Integer = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _wmma_65(Spelling):
    def __call__(
        self,
        p: _Address,
        r: _Floats,
        stride: _Integer = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _wmma_66(Spelling):
    f16: _wmma_64
    f32: _wmma_65
    s32: _wmma_67

class _wmma_67(Spelling):
    def __call__(
        self,
        p: _Address,
        r: _Integers,
        stride: _Integer = ...,
        /,
        *,
        pred: _Guard = None,
    ) -> None: ...

class _wmma_68(Spelling):
    f32: _wmma_65

class _wmma_69(Spelling):
    s32: _wmma_67

class _wmma_70(Spelling):
    f64: _wmma_65

class _wmma_71(Spelling):
    s32: _wmma_81

class _wmma_72(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        a: _Sources,
        b: _Sources,
        c: _Sources,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        a: _Sources,
        b: _Sources,
        c: _Sources,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _wmma_73(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        a: _Sources,
        b: _Sources,
        c: _Floats,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        a: _Sources,
        b: _Sources,
        c: _Floats,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _wmma_74(Spelling):
    bf16: _wmma_82

class _wmma_75(Spelling):
    s8: _wmma_83

class _wmma_76(Spelling):
    u8: _wmma_83

class _wmma_77(Spelling):
    tf32: _wmma_82

class _wmma_78(Spelling):
    f64: _wmma_84

class _wmma_79(Spelling):
    s4: _wmma_83

class _wmma_80(Spelling):
    u4: _wmma_83

class _wmma_81(Spelling):
    b1: _wmma_85

class _wmma_82(Spelling):
    f32: _wmma_73

class _wmma_83(Spelling):
    s32: _wmma_86

class _wmma_84(Spelling):
    f64: _wmma_87

class _wmma_85(Spelling):
    b1: _wmma_88

class _wmma_86(Spelling):
    satfinite: _wmma_89
    @overload
    def __call__(
        self,
        d: _Vector,
        a: _Sources,
        b: _Sources,
        c: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        a: _Sources,
        b: _Sources,
        c: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _wmma_87(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        a: _Floats,
        b: _Floats,
        c: _Floats,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        a: _Floats,
        b: _Floats,
        c: _Floats,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _wmma_88(Spelling):
    s32: _wmma_89

class _wmma_89(Spelling):
    @overload
    def __call__(
        self,
        d: _Vector,
        a: _Sources,
        b: _Sources,
        c: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> _Vector: ...
    @overload
    def __call__(
        self,
        a: _Sources,
        b: _Sources,
        c: _Integers,
        /,
        *,
        pred: _Guard = None,
    ) -> list[Reg]: ...

class _xor(Spelling):
    b16: _xor_1
    b32: _xor_1
    b64: _xor_1
    pred: _xor_2

class _xor_1(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Integer, b: _Integer, /, *, pred: _Guard = None) -> Reg: ...

class _xor_2(Spelling):
    @overload
    def __call__(self, d: Reg, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...
    @overload
    def __call__(self, a: _Source, b: _Source, /, *, pred: _Guard = None) -> Reg: ...
class Instructions:
    """The root of the namespace; its attributes are opcodes."""

    abs: _abs
    """Absolute value of a signed integer.

    Absolute value.
    Absolute value of 16-bit numbers.
    """
    activemask: _activemask
    """The lanes that execute this instruction together."""
    add: _add
    """Add two integers.

    Add and keep the carry-out.
    Add two numbers.
    Add a 16-bit number to an f32.
    Add fours of small numbers.
    Add 16-bit numbers.
    """
    addc: _addc
    """Add with the carry-in."""
    alloca: _alloca
    """Allocate bytes on the stack; the result is an address in local memory."""
    and_: _and
    """Bitwise and."""
    applypriority: _applypriority
    """Change the eviction priority of 128 bytes of a cache.

    Change the eviction priority of a range of a cache without waiting.
    Change the eviction priority of a box of a tensor without waiting.
    """
    atom: _atom
    """Read, change and write memory as one step."""
    bar: _bar
    """Synchronize warps of the CTA at a barrier.

    Synchronize lanes of a warp.
    """
    barrier: _barrier
    """Synchronize threads of the CTA at a barrier.

    Synchronize threads of the cluster.
    """
    bfe: _bfe
    """Extract a bit field."""
    bfi: _bfi
    """Insert a bit field."""
    bfind: _bfind
    """Position of the most significant bit that is not the sign."""
    bmsk: _bmsk
    """Make a mask of a run of bits."""
    bra: _bra
    """Branch to a label."""
    brev: _brev
    """Reverse the order of the bits."""
    brkpt: _brkpt
    """Stop at a breakpoint."""
    brx: _brx
    """Branch to one label of a list."""
    clmad: _clmad
    """Multiply without carries, and add without carries."""
    clusterlaunchcontrol: _clusterlaunchcontrol
    """Ask for the launch of a cluster that has not started to be cancelled.

    Whether a launch was cancelled, and which cluster it was.
    """
    clz: _clz
    """Count the leading zeros."""
    cnot: _cnot
    """1 where the operand is zero, else 0."""
    copysign: _copysign
    """Copy the sign of one number to the magnitude of another."""
    cos: _cos
    """Cosine of an angle in radians."""
    cp: _cp
    """Copy 4, 8 or 16 bytes from global to shared memory without waiting.

    Put the copies since the last group into a new group.
    Wait until no more than n of this thread's latest groups of copies are under way.
    Arrive at an mbarrier once this thread's copies so far are complete.
    Copy a multiple of 16 bytes without waiting.
    Combine an array in shared memory with one elsewhere without waiting.
    Bring a multiple of 16 bytes into the L2 cache.
    Put the bulk copies since the last bulk group into a new one.
    Wait until no more than n of this thread's latest bulk groups are under way, or reading.
    Copy a box of a tensor without waiting.
    Combine a box of a tensor with shared memory without waiting.
    Bring a box of a tensor into the L2 cache.
    """
    createpolicy: _createpolicy
    """Make a cache policy for instructions with a cache hint."""
    cvt: _cvt
    """Convert to another type.

    Convert two integers to a narrower type and pack them.
    """
    cvta: _cvta
    """Convert an address of a state space to a generic one, or back."""
    discard: _discard
    """Drop 128 bytes of a cache without writing them back."""
    div: _div
    """Divide integers, rounding towards zero.

    Divide one number by another.
    """
    dp2a: _dp2a
    """Dot product of two 16-bit integers with two bytes, added to a 32-bit integer."""
    dp4a: _dp4a
    """Dot product of four bytes each, added to a 32-bit integer."""
    elect: _elect
    """Choose one lane of a warp."""
    ex2: _ex2
    """Power of 2.

    Power of 2 of 16-bit numbers.
    """
    exit: _exit
    """End the thread."""
    fabric: _fabric
    """Copy from an endpoint to shared memory.

    Copy from shared memory to an endpoint.
    Combine memory behind an endpoint with shared memory.
    Combine what several endpoints hold into shared memory.
    Change 16 bytes behind an endpoint as one step, and copy what was there.
    Hand this thread's fabric operations so far to the fabric.
    Wait until what this thread's submitted fabric operations read has been read.
    """
    fence: _fence
    """Order memory accesses."""
    fma: _fma
    """Multiply and add with one rounding.

    Multiply 16-bit numbers and add an f32 with one rounding.
    Multiply and add fours of small numbers with one rounding.
    Multiply and add 16-bit numbers with one rounding.
    """
    fns: _fns
    """Position of the n-th bit that is set."""
    getctarank: _getctarank
    """Rank of the CTA of the cluster that owns an address."""
    griddepcontrol: _griddepcontrol
    """Let dependent grids start, or wait for the grids this one depends on."""
    isspacep: _isspacep
    """Test whether a generic address lies in a state space."""
    istypep: _istypep
    """Whether a handle is of a kind."""
    ld: _ld
    """Load from memory.

    Load from global memory that no one writes, through the read-only cache.
    Load what a call gives back or a function is passed.
    """
    ldmatrix: _ldmatrix
    """Load matrices from shared memory, spread over the warp."""
    ldu: _ldu
    """Load from an address that is the same in the whole warp."""
    lg2: _lg2
    """Logarithm to base 2."""
    lop3: _lop3
    """Any logical function of three operands."""
    mad: _mad
    """Multiply integers and add a third.

    Multiply integers, add a third and keep the carry-out.
    Multiply and add: fma by its older name.
    """
    mad24: _mad24
    """Multiply the low 24 bits of integers and add a third."""
    madc: _madc
    """Multiply integers, add a third with the carry-in."""
    mapa: _mapa
    """Address of a shared variable in another CTA of the cluster."""
    match: _match
    """Find the lanes of a warp that hold the same value."""
    max: _max
    """Larger of two integers.

    Larger of two or three numbers.
    Larger of 16-bit numbers.
    """
    mbarrier: _mbarrier
    """Make an mbarrier object that waits for so many arrivals in every phase.

    End the life of an mbarrier object; its memory may hold something else.
    Expect so many more bytes in the current phase.
    Count bytes as arrived, as an asynchronous copy does.
    Arrive at an mbarrier.
    Arrive at an mbarrier and stay away from its later phases.
    Test whether the phase of a state, or of a parity, is complete.
    How many arrivals a state still waits for.
    Test whether an mbarrier object was made in a layout.
    """
    membar: _membar
    """Order memory accesses, by the older name."""
    min: _min
    """Smaller of two integers.

    Smaller of two or three numbers.
    Smaller of 16-bit numbers.
    """
    mma: _mma
    """Multiply matrices of the warp and add.

    Multiply matrices of the warp, the first with half its elements left out, and add.
    """
    mov: _mov
    """Copy a register, a constant, a special register or the address of a variable.

    Pack a vector into a register, or unpack a register into a vector.
    """
    movmatrix: _movmatrix
    """Transpose a matrix that is spread over the warp."""
    mul: _mul
    """Multiply integers; keep the high half, the low half or the whole product.

    Multiply two numbers.
    Multiply pairs of different types.
    Multiply fours of small numbers.
    Multiply 16-bit numbers.
    """
    mul24: _mul24
    """Multiply the low 24 bits of integers."""
    multimem: _multimem
    """Copy a multiple of 16 bytes to all places of a multimem address without waiting.

    Combine shared memory with all places of a multimem address without waiting.
    Store to all places of a multimem address without waiting.
    Change memory at all places of a multimem address without waiting.
    Load from all places of a multimem address, and combine the values.
    Store to all places of a multimem address.
    Change memory as one step at each place of a multimem address.
    """
    nanosleep: _nanosleep
    """Sleep for about so many nanoseconds."""
    neg: _neg
    """Negate a signed integer.

    Negate a number.
    Negate 16-bit numbers.
    """
    not_: _not
    """Invert every bit."""
    or_: _or
    """Bitwise or."""
    pmevent: _pmevent
    """Trigger performance monitor events."""
    popc: _popc
    """Count the bits that are set."""
    prefetch: _prefetch
    """Bring a line into a cache."""
    prefetchu: _prefetchu
    """Bring a line into the uniform cache."""
    prmt: _prmt
    """Pick four bytes out of a pair of registers."""
    rcp: _rcp
    """Reciprocal.

    Reciprocal of the upper half of an f64, coarsely approximated.
    """
    red: _red
    """Change memory as one step without waiting.

    Change memory as one step.
    """
    redux: _redux
    """Reduce a value over the lanes of a warp."""
    rem: _rem
    """Remainder of an integer division."""
    ret: _ret
    """Return; in a kernel the thread ends."""
    rsqrt: _rsqrt
    """Reciprocal of the square root.

    Reciprocal square root of the upper half of an f64, coarsely approximated.
    """
    sad: _sad
    """Add the absolute difference of two integers."""
    selp: _selp
    """Choose by a predicate."""
    set: _set
    """Compare, perhaps combine with a predicate, and write the truth as a number.

    Compare 16-bit numbers, perhaps combine with a predicate, and write the truth as a number.
    """
    setmaxnreg: _setmaxnreg
    """Give registers back, or wait for more of them, in a warpgroup."""
    setp: _setp
    """Compare, perhaps combine with a predicate, and write the truth to a predicate and its opposite to a second one.

    Compare 16-bit numbers, perhaps combine with a predicate, and write the truth to a predicate, of pairs to one each.
    """
    shf: _shf
    """Shift a pair of registers."""
    shfl: _shfl
    """Read a register of another lane of the warp."""
    shl: _shl
    """Shift left, filling with zeros."""
    shr: _shr
    """Shift right, filling with zeros or the sign."""
    sin: _sin
    """Sine of an angle in radians."""
    slct: _slct
    """Choose by the sign of a number."""
    spcompress: _spcompress
    """Keep two of every four elements, and where they stood."""
    spdecompress: _spdecompress
    """Put elements back where they stood, and zeros between them."""
    sqrt: _sqrt
    """Square root."""
    st: _st
    """Store to memory.

    Store without waiting.
    Fill shared memory with zeros.
    Store what a call passes or a function returns.
    """
    stackrestore: _stackrestore
    """Set the stack pointer, and so free what was allocated since it was saved."""
    stacksave: _stacksave
    """The stack pointer."""
    stmatrix: _stmatrix
    """Store matrices that are spread over the warp to shared memory."""
    sub: _sub
    """Subtract one integer from another.

    Subtract and keep the borrow-out.
    Subtract one number from another.
    Subtract an f32 from a 16-bit number.
    Subtract fours of small numbers.
    Subtract 16-bit numbers.
    """
    subc: _subc
    """Subtract with the borrow-in."""
    suld: _suld
    """Load from a surface."""
    suq: _suq
    """Ask for an attribute of a surface."""
    sured: _sured
    """Change an element of a surface as one step."""
    sust: _sust
    """Store to a surface."""
    szext: _szext
    """Sign- or zero-extend from a bit position."""
    tanh: _tanh
    """Hyperbolic tangent.

    Hyperbolic tangent of 16-bit numbers.
    """
    tcgen05: _tcgen05
    """Allocate columns of Tensor Memory, free them, or give up allocating.

    Load registers of a warp from Tensor Memory.
    Store registers of a warp to Tensor Memory.
    Wait until this thread's loads from, or stores to, Tensor Memory are complete.
    Copy from shared to Tensor Memory without waiting.
    Move the rows of a matrix in Tensor Memory down by one.
    Multiply matrices of shared or Tensor Memory and add, in Tensor Memory, without waiting.
    Multiply like tcgen05.mma, with the second matrix held in place.
    Make an mbarrier follow the asynchronous instructions of this thread so far.
    Order asynchronous instructions of Tensor Cores with those of other threads.
    """
    tensormap: _tensormap
    """Change one field of a tensor map.

    Copy a tensor map to global memory and order that with its later use.
    """
    testp: _testp
    """Test a property of a number."""
    tex: _tex
    """Look up a texture at coordinates."""
    tld4: _tld4
    """Read one component of the four texels that bilinear interpolation would use."""
    trap: _trap
    """Abort the kernel."""
    txq: _txq
    """Ask for an attribute of a texture or sampler."""
    vabsdiff: _vabsdiff
    """The absolute difference."""
    vabsdiff2: _vabsdiff2
    """The absolute difference, two at once."""
    vabsdiff4: _vabsdiff4
    """The absolute difference, four at once."""
    vadd: _vadd
    """Add."""
    vadd2: _vadd2
    """Add, two at once."""
    vadd4: _vadd4
    """Add, four at once."""
    vavrg2: _vavrg2
    """The average, two at once."""
    vavrg4: _vavrg4
    """The average, four at once."""
    vmad: _vmad
    """Multiply, add and scale."""
    vmax: _vmax
    """The greater."""
    vmax2: _vmax2
    """The greater, two at once."""
    vmax4: _vmax4
    """The greater, four at once."""
    vmin: _vmin
    """The lesser."""
    vmin2: _vmin2
    """The lesser, two at once."""
    vmin4: _vmin4
    """The lesser, four at once."""
    vote: _vote
    """Combine a predicate over the lanes of a warp."""
    vset: _vset
    """Compare."""
    vset2: _vset2
    """Compare, two at once."""
    vset4: _vset4
    """Compare, four at once."""
    vshl: _vshl
    """Shift left."""
    vshr: _vshr
    """Shift right."""
    vsub: _vsub
    """Subtract."""
    vsub2: _vsub2
    """Subtract, two at once."""
    vsub4: _vsub4
    """Subtract, four at once."""
    wgmma: _wgmma
    """Multiply a matrix in shared memory or registers by one in shared memory and add.

    Multiply by a matrix in shared memory one with half its elements left out, and add.
    Order what was done to registers and shared memory before the next multiplication.
    Put the multiplications since the last group into a new group.
    Wait until no more than n of the warpgroup's latest groups are under way.
    """
    wmma: _wmma
    """Load a matrix, spread over the warp.

    Store a matrix that is spread over the warp.
    Multiply matrices that wmma.load has spread over the warp, and add.
    """
    xor: _xor
    """Bitwise exclusive or."""
    def __getitem__(self, spelling: str) -> Callable[..., Any]: ...

inst: Final[Instructions]
