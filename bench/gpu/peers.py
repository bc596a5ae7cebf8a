# SPDX-License-Identifier: Apache-2.0
"""PyTorch as the other contestant, and as the measure of the machine. Everything works, and says
why, where it is not installed or sees no GPU."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

MODES = ("eager", "reduce-overhead", "max-autotune")
# Compiling with a search of kernels takes minutes; it is left out where less is left.
FEWEST_SECONDS = {"eager": 5, "reduce-overhead": 60, "max-autotune": 180}
_kept: list[Any] = []  # tensors whose addresses others have


def _torch() -> Any:
    import torch

    if not torch.cuda.is_available():
        raise RuntimeError("PyTorch sees no GPU")
    return torch


def on_gpu(inputs: dict[str, np.ndarray]) -> dict[str, int]:
    """Addresses of copies on the GPU, which stay there; none without PyTorch."""
    try:
        torch = _torch()
    except (ImportError, RuntimeError):
        return {}
    tensors = {name: torch.from_numpy(value).cuda() for name, value in inputs.items()}
    torch.cuda.synchronize()
    _kept.append(tensors)
    return {name: tensor.data_ptr() for name, tensor in tensors.items()}


def _module(name: str) -> Any:
    """The same network with random weights: its time does not depend on them."""
    if name == "bert_base":
        import transformers

        return transformers.BertModel(transformers.BertConfig())
    import torchvision

    return torchvision.models.get_model(name, weights=None)


def prepared(
    name: str, inputs: dict[str, np.ndarray], precision: str, mode: str, seconds: float
) -> Callable[[], None]:
    """Runs once and waits; compiled and warm."""
    torch = _torch()
    if seconds < FEWEST_SECONDS[mode]:
        raise RuntimeError("not reached in the time of a part")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
    torch.backends.cudnn.benchmark = True
    module = _module(name).cuda().eval()
    if precision == "float16":
        module = module.half()
    tensors = {key: torch.from_numpy(value).cuda() for key, value in inputs.items()}
    if precision == "float16":
        tensors = {k: v.half() if v.is_floating_point() else v for k, v in tensors.items()}
    if name != "bert_base":
        module = module.to(memory_format=torch.channels_last)
        tensors = {
            k: v.contiguous(memory_format=torch.channels_last) for k, v in tensors.items()
        }
    call = module if mode == "eager" else torch.compile(module, mode=mode)
    arguments = tensors if name == "bert_base" else {"x": tensors["input"]}

    def run() -> None:
        with torch.inference_mode():
            call(**arguments)
        torch.cuda.synchronize()

    for _ in range(3):
        run()
    return run


def _seconds(torch: Any, work: Callable[[], Any], runs: int = 20) -> float:
    work()
    torch.cuda.synchronize()
    started = time.perf_counter()
    for _ in range(runs):
        work()
    torch.cuda.synchronize()
    return (time.perf_counter() - started) / runs


def machine() -> dict[str, Any]:
    """Name, GB/s of a copy (bytes read and written), TFLOP/s of a product of 8192 x 8192."""
    torch = _torch()
    big = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
    other = torch.empty_like(big)
    facts: dict[str, Any] = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
    facts["copy_gb_s"] = 2 * big.numel() / _seconds(torch, lambda: other.copy_(big)) / 1e9
    for name, kind, tf32 in (
        ("float32", torch.float32, False),
        ("tf32", torch.float32, True),
        ("float16", torch.float16, False),
        ("bfloat16", torch.bfloat16, False),
    ):
        torch.backends.cuda.matmul.allow_tf32 = tf32
        a, b = (torch.randn(8192, 8192, dtype=kind, device="cuda") for _ in range(2))
        elapsed = _seconds(torch, lambda a=a, b=b: a @ b)
        facts[f"{name}_tflop_s"] = 2 * 8192**3 / elapsed / 1e12
    return facts
