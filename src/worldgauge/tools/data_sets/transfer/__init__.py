"""Data sets on the way: pushed to any address of fsspec as Parquet and videos, and pulled from there."""

from worldgauge.tools.data_sets.transfer.pull import pull
from worldgauge.tools.data_sets.transfer.push import push
from worldgauge.tools.data_sets.transfer.remote import Moved

__all__ = ["Moved", "pull", "push"]
