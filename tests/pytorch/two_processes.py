"""Two processes of PyTorch that run one test."""

import os
import socket
import sys
import traceback

import pytest
import torch
import torch.multiprocessing as processes

COUNT = 2


def _start(rank, port, test, failures):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), OMP_NUM_THREADS="1")
    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", rank=rank, world_size=COUNT)
    try:
        torch.manual_seed(0)  # the same tensors in both
        test(rank)
        torch.distributed.barrier()  # a process that ends first would fail the other
    except Exception:  # noqa: BLE001
        failures.put(f"process {rank}: {traceback.format_exc()}")
    finally:
        torch.distributed.destroy_process_group()
    sys.stderr.flush()
    os._exit(0)  # threads of PyTorch may be under way when the interpreter ends, which aborts it


def mesh():
    return torch.distributed.device_mesh.init_device_mesh("cpu", (COUNT,), mesh_dim_names=("rows",))


def run(test):
    """`test(rank)` in each process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = processes.get_context("spawn")
    failures = context.SimpleQueue()
    started = [
        context.Process(target=_start, args=(rank, port, test, failures)) for rank in range(COUNT)
    ]
    for each in started:
        each.start()
    for each in started:
        each.join(timeout=240)
    if not failures.empty():
        pytest.fail(failures.get())
    assert [each.exitcode for each in started] == [0, 0]
