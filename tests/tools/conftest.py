"""The report's made-up suite and runs serve the viewer's tests, which ask for them; a server of buckets."""

import logging
from collections.abc import Iterator

import pytest

from report.conftest import runs, toyloop

__all__ = ["runs", "toyloop"]


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """Address of a server that speaks S3 on this machine."""
    moto = pytest.importorskip("moto.server", reason="moto is not installed")
    pytest.importorskip("s3fs", reason="s3fs is not installed")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    running = moto.ThreadedMotoServer(port=0)
    running.start()
    yield "http://{}:{}".format(*running.get_host_and_port())
    running.stop()
