"""Nothing that is installed with worldgauge may have a licence that its users could not live with."""

import pytest

from support.licences import licences, refused


@pytest.mark.parametrize(
    ("text", "bad"),
    [
        ("MIT", False),
        ("LGPL-2.1-or-later", False),
        ("GNU Lesser General Public License v3 (LGPLv3)", False),
        ("GPL-3.0-only OR MIT", False),
        ("GPL-3.0-only", True),
        ("MIT AND GPL-2.0-or-later", True),
        ("AGPL-3.0", True),
        ("GNU General Public License v3 (GPLv3)", True),
        ("GNU Affero General Public License v3", True),
        ("CC-BY-NC-4.0", True),
        ("Creative Commons NonCommercial", True),
        ("", True),
    ],
)
def test_what_is_refused(text: str, bad: bool) -> None:
    assert refused(text) is bad


def test_every_dependency_tells_a_licence_that_is_allowed() -> None:
    found = licences()
    assert len(found) > 20
    assert {"worldgauge", "numpy", "av", "typer"} <= found.keys()
    assert not {name: text for name, text in found.items() if refused(text)}
