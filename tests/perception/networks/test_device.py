"""Where networks run: what is refused, and that nothing is rounded while one is asked, whichever thread asks."""

import threading
from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'torch'")

from worldgauge.core.errors import UsageError  # noqa: E402
from worldgauge.perception.networks import choose_device, inference, networks, usual_precision  # noqa: E402  # noqa: E402


def flags() -> tuple[bool, bool]:
    return torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32


def test_devices_and_precisions() -> None:
    assert choose_device("cpu").dtype is torch.float32
    with pytest.raises(UsageError, match="precision is 'float8'"):
        choose_device("cpu", "float8")
    with pytest.raises(UsageError, match="device 'tpu' is not here"):
        choose_device("tpu")
    halved = {entry.name for entry in networks if usual_precision(entry.name, "cuda:1") == "float16"}
    assert halved == {"dinov3-b16", "dinov2-b14", "clip-laion"}
    assert {usual_precision(entry.name, "cpu") for entry in networks} == {"float32"}


@pytest.fixture
def rounding() -> Iterator[None]:
    before = flags()
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    yield
    torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = before


@pytest.mark.usefixtures("rounding")
def test_products_keep_their_bits_while_any_thread_asks() -> None:
    entered, leave, seen = threading.Event(), threading.Event(), []

    def other() -> None:
        with inference(choose_device("cpu")):
            entered.set()
            leave.wait(10)
            seen.append(flags())

    thread = threading.Thread(target=other)
    with inference(choose_device("cpu")):
        assert not torch.is_grad_enabled()
        thread.start()
        assert entered.wait(10)
        assert flags() == (False, False)
    assert flags() == (False, False), "the other one is still inside"
    leave.set()
    thread.join()
    assert seen == [(False, False)]
    assert flags() == (True, True)
