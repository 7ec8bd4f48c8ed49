"""No client sends what is meant for this machine to a proxy, and what fails behind a proxy names it."""

import os

import pytest
from adapters.realtime import Realtime

from support.realtime_server import realtime_server
from worldgauge.tools import transfer_remote as remote
from worldgauge.weights import download
from worldgauge_serve import is_local_host, proxy_note


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http", "https", "all", "no"):
        monkeypatch.delenv(f"{name}_proxy", raising=False)
        monkeypatch.delenv(f"{name}_proxy".upper(), raising=False)


@pytest.mark.parametrize(
    ("host", "local"),
    [
        *((host, True) for host in ("127.0.0.1", "127.8.9.1", "127.1", "2130706433", "::1", "[::1]", "0.0.0.0", "::")),
        *((host, True) for host in ("localhost", "LOCALHOST.", "a.localhost", "ip6-localhost", "::ffff:127.0.0.1")),
        *((host, False) for host in ("", "10.0.0.1", "128.0.0.1", "localhost.example", "127.0.0.1.example", "fe80::1")),
        *((host, False) for host in ("model.example", "mylocalhost", "cafe", "::ffff:10.0.0.1", "127.0.0.1 x")),
    ],
)
def test_local_hosts(host: str, local: bool) -> None:
    assert is_local_host(host) == local


@pytest.mark.parametrize(
    ("url", "note"),
    [
        ("http://model.example/v1", " (through the proxy proxy.example:3128 of http_proxy)"),
        ("https://model.example/v1", ""),
        ("ws://model.example", " (through the proxy proxy.example:3128 of http_proxy)"),
        ("http://127.0.0.1:8000", ""),
        ("http://inner.example", ""),
    ],
)
def test_the_proxy_on_the_way_is_named(monkeypatch: pytest.MonkeyPatch, url: str, note: str) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://me:canary@proxy.example:3128")
    monkeypatch.setenv("no_proxy", "inner.example")
    assert proxy_note(url) == note


def test_local_hosts_leave_proxies_out(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "https_proxy", "socks_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with realtime_server() as server:
        for host in ("127.0.0.1", "localhost", "127.0.0.1."):
            model = Realtime(server.url.replace("127.0.0.1", host), size="64x32")
            assert model._local
    for host, handlers in (("localhost", False), ("127.3.2.1", False), ("hub.example", True)):
        opener = download._opener(download._address(f"https://{host}/x"))
        assert any(type(one).__name__ == "ProxyHandler" for one in opener.handlers) == handlers
    monkeypatch.setenv("NO_PROXY", "inner.example")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.9:9000")
    monkeypatch.setenv("no_proxy", "inner.example")
    remote.Remote("memory://set")
    for name in ("no_proxy", "NO_PROXY"):
        assert set(os.environ[name].split(",")) == {"inner.example", "localhost", "127.0.0.1", "127.0.0.9", "::1"}
