"""A kernel traced for sizes, compile-time values and a target: its text, its code, its image."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property

from pyptx import _assemble as assemble
from pyptx import _emulator as emulator
from pyptx import _text as text
from pyptx._ir import Kernel, Module
from pyptx._layouts import TensorMap
from pyptx._source import UNKNOWN, SourceLocation
from pyptx._target import Target
from pyptx._trace.core.batch import Batch
from pyptx._trace.tensors.access_widths import access_widths


@dataclass(frozen=True, slots=True)
class Key:
    """What one trace depends on besides the function."""

    dims: tuple[tuple[str, int], ...]
    constants: tuple[tuple[str, object], ...]
    target: Target
    by_reference: bool
    batch: Batch | None
    partial: bool


@dataclass(frozen=True)
class Specialisation:
    """A kernel traced for sizes, compile-time values and a target; `location` defines it."""

    module: Module
    written: text.Text
    contract: bool
    shared: int | None
    location: SourceLocation = UNKNOWN

    @property
    def image(self) -> bytes:
        """The emulator's program, whose source lines the core knows."""
        self._sources.keep()
        return self._image

    @cached_property
    def _image(self) -> bytes:
        return emulator.encode(self.shown, self.module.target, self.module)

    @cached_property
    def _sources(self) -> emulator.Sources:
        def register() -> None:
            linked = emulator.link(self.module.kernels[0], self.module)
            emulator.register_sources(
                self._image, self.shown, self.locations, defined=self.location,
                registers=linked.register_names,
            )  # fmt: skip

        return emulator.Sources(register)

    @property
    def shown(self) -> Kernel:
        """The kernel with the names of tensors that findings show."""
        return self.module.kernels[0]

    @property
    def locations(self) -> tuple[SourceLocation, ...]:
        """The line of each instruction of the emulator's program."""
        linked = emulator.link(self.module.kernels[0], self.module)
        return tuple(i.location for i in linked.program)

    @cached_property
    def dynamic_shared(self) -> int:
        """Bytes of dynamic shared memory: what is allocated so, and what `smem=` asks beyond."""
        layout = self.module.kernels[0].shared
        static = 0 if layout.dynamic else layout.size
        return max(self.shared or 0, layout.size) - static

    @property
    def tensor_maps(self) -> tuple[tuple[int, TensorMap], ...]:
        """The maps that are its last parameters, each with the number of its tensor."""
        parameters = self.module.kernels[0].parameters
        return tuple((p.of, p.tensor_map) for p in parameters if p.tensor_map is not None)

    def access_widths(self, count: int) -> tuple[int, ...]:
        """The widest access in bytes of each of its `count` tensors."""
        return access_widths(self.module.kernels[0], count)

    @property
    def all_shared(self) -> int:
        """Bytes of shared memory of one CTA."""
        return max(self.shared or 0, self.module.kernels[0].shared.size)

    def assemble(self, *, line_info: bool = False) -> assemble.Cubin:
        """The cubin, from the disk cache where it has it. Raises AssembleError."""
        return self._assembled(self.written, line_info=line_info)

    def launched(self) -> assemble.Cubin:
        """The cubin of compiled programs; with $PYPTX_LINE_INFO=1, profilers show Python in it."""
        if os.environ.get("PYPTX_LINE_INFO") != "1":
            return self.assemble()
        return self._assembled(text.write(self.module, lines=True), line_info=True)

    def _assembled(self, written: text.Text, *, line_info: bool) -> assemble.Cubin:
        return assemble.assemble(
            written.ptx,
            self.module.target,
            contract=self.contract,
            line_info=line_info,
            lines=written.lines,
        )
