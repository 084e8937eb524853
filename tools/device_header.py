"""Writes the emulator's header of what GPUs have, from `pyptx.device`: `make device`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from pyptx import device
from pyptx._target import TARGETS

PATH: Final = Path(__file__).parents[1] / "src/pyptx/_native/src/emulator/machine/device.h"

_HEADER: Final = """\
// What GPUs have, by compute capability. Written by `make device` from pyptx/device.py.
#pragma once

#include <cstdint>

namespace pyptx::emulator {{

struct Device {{
  uint32_t sm;               // compute capability times ten
  uint32_t multiprocessors;  // of the product that is modelled
  uint32_t threads;          // resident on an SM, at most
  uint32_t ctas;             // resident on an SM, at most
  uint32_t shared;           // bytes of an SM
  uint32_t cta_shared;       // bytes of a CTA, at most
  uint32_t reserved_shared;  // bytes of an SM that each CTA takes besides its own
}};

inline constexpr Device kDevices[] = {{
{rows}
}};

inline constexpr uint32_t kGridLimits[] = {{{grid}}};
inline constexpr uint32_t kBlockLimits[] = {{{block}}};
inline constexpr uint32_t kCtaThreads = {threads};
inline constexpr uint32_t kClusterLimit = {cluster};

// The device of a compute capability; of one that is not listed, the last one before it.
inline const Device& device_of(uint32_t sm) {{
  const Device* found = kDevices;
  for (const Device& device : kDevices) {{
    if (device.sm <= sm) found = &device;
  }}
  return *found;
}}

}}  // namespace pyptx::emulator
"""


def text() -> str:
    """The header."""
    plain = [target for target in TARGETS if not target.suffix]
    rows = (
        f"    {{{target.sm}, {d.multiprocessors}, {d.threads}, {d.ctas}, {d.shared}, "
        f"{d.cta_shared}, {d.reserved_shared}}},"
        for target in plain
        for d in (device.of(target),)
    )
    return _HEADER.format(
        rows="\n".join(rows),
        grid=", ".join(map(str, device.GRID_LIMITS)),
        block=", ".join(map(str, device.BLOCK_LIMITS)),
        threads=device.CTA_THREADS,
        cluster=device.CLUSTER_LIMIT,
    )


if __name__ == "__main__":
    PATH.write_text(text())
    print(f"wrote {PATH}", file=sys.stderr)
