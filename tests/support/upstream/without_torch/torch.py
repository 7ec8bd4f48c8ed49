"""The few things of torch that adapters need at the border of a repository, for tests where torch is not installed."""

from contextlib import nullcontext

import numpy as np

bfloat16, float16, float32, int64 = "bfloat16", "float16", "float32", "int64"


class Tensor:
    """An array with torch's names. bfloat16 is kept as float32, its name in `dtype`."""

    def __init__(self, array, dtype=None, device="cpu"):
        self.array, self.dtype, self.device = array, dtype or array.dtype.name, str(device)
        self.shape = array.shape

    def dim(self):
        return self.array.ndim

    def to(self, *wanted, device=None, dtype=None):
        for one in wanted:
            if one in (bfloat16, float16, float32, int64):
                dtype = one
            else:
                device = one
        kept = self.array.astype("float32" if dtype == bfloat16 else dtype) if dtype else self.array
        return Tensor(kept, dtype or self.dtype, device or self.device)

    def float(self):
        return self.to(float32)

    def cpu(self):
        return self.to("cpu")

    def numpy(self):
        if self.dtype == bfloat16:
            raise TypeError("Got unsupported ScalarType BFloat16")
        if self.device != "cpu":
            raise TypeError(f"can't convert {self.device} device type tensor to numpy")
        return self.array

    def __getitem__(self, index):
        return Tensor(self.array[index], self.dtype, self.device)

    def __len__(self):
        return len(self.array)


def from_numpy(array):
    assert isinstance(array, np.ndarray)
    return Tensor(array)


def as_tensor(values):
    return Tensor(np.asarray(values))


def no_grad():
    return nullcontext()


def manual_seed(seed):
    np.random.default_rng(seed)


def load(path, map_location, weights_only):
    assert weights_only, "nothing is unpickled"
    with open(path, "rb") as file:
        return dict.fromkeys(("decoder.a", "conv2.a", "encoder.a"), file.read())


def autocast(kind, dtype):
    assert kind in ("cpu", "cuda")
    assert dtype == bfloat16
    return nullcontext()


class cuda:
    @staticmethod
    def is_available():
        return False

    @staticmethod
    def is_initialized():
        return False
