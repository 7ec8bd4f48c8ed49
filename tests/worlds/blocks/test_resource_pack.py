import struct
import zipfile

import numpy as np
import pytest

from worldgauge.core.errors import DataError
from worldgauge.core.image import png
from worldgauge.worlds.blocks import resource_pack
from worldgauge.worlds.blocks.blueprint import Blueprint
from worldgauge.worlds.blocks.colours import OPAQUE, look_of
from worldgauge.worlds.blocks.mesh import mesh_of
from worldgauge.worlds.blocks.resource_pack import FOLDER, ResourcePack


def flat(*colour: int, height: int = 16) -> bytes:
    return png(np.full((height, 16, 3), colour, np.uint8))


PICTURES = {
    "stone": flat(10, 20, 30),
    "oak_planks": flat(200, 100, 50),
    "oak_log": flat(50, 40, 30),
    "oak_log_top": flat(210, 110, 60),
    "grass_block_top": flat(100, 100, 100),
    "grass_block_side": flat(90, 80, 70),
    "dirt": flat(60, 50, 40),
    "glass": flat(250, 250, 250),
}


def folder_of(path, pictures=PICTURES):
    (path / FOLDER).mkdir(parents=True)
    for name, data in pictures.items():
        (path / FOLDER / f"{name}.png").write_bytes(data)
    return path


def zip_of(path, pictures=PICTURES):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in pictures.items():
            archive.writestr(f"{FOLDER}{name}.png", data)
    return path


def test_colours_are_means_of_pictures(tmp_path):
    pack = ResourcePack.open(folder_of(tmp_path / "pack"))
    stone = pack.look_of("stone")
    assert stone is not None
    assert stone.top == stone.side == stone.bottom == (10, 20, 30)
    log = pack.look_of("oak_log")
    assert log is not None
    assert (log.top, log.side, log.bottom) == ((210, 110, 60), (50, 40, 30), (210, 110, 60))
    grass = pack.look_of("grass_block")
    assert grass is not None
    # The grey picture is tinted as on plains: 100 * (145, 189, 89) / 255.
    assert (grass.top, grass.side) == ((57, 74, 35), (90, 80, 70))
    # What is made of a material takes its picture and others our palette.
    stairs = pack.look_of("oak_stairs")
    assert stairs is not None
    assert stairs.side == (200, 100, 50)
    pane = pack.look_of("glass_pane")
    assert pane is not None
    assert (pane.side, pane.opacity) == ((250, 250, 250), look_of("glass").opacity)
    assert pack.look_of("bricks") is None
    mesh = mesh_of(Blueprint(np.array([[[1, 2]]]), ("stone", "bricks")), pack)
    assert {tuple(c) for c in mesh.colours.tolist()} == {(10, 20, 30, OPAQUE), (*look_of("bricks").side, OPAQUE)}


def test_a_zip_and_a_folder_are_read_alike(tmp_path):
    one, other = ResourcePack.open(folder_of(tmp_path / "pack")), ResourcePack.open(zip_of(tmp_path / "pack.zip"))
    assert one.means == other.means
    assert one.palette == other.palette
    assert one.palette.startswith("pack-")
    changed = ResourcePack.open(zip_of(tmp_path / "other.zip", {**PICTURES, "stone": flat(11, 20, 30)}))
    assert changed.palette != one.palette


def test_means_leave_out_what_is_clear_and_all_but_the_first_frame(tmp_path):
    half = np.zeros((16, 16, 4), np.uint8)
    half[:8] = (30, 60, 90, 255)
    import cv2

    _, data = cv2.imencode(".png", half[..., [2, 1, 0, 3]])
    frames = np.full((64, 16, 3), 7, np.uint8)
    frames[16:] = 250
    grey = png(np.full((16, 16), 40 * 257, np.uint16))
    pack = ResourcePack.open(
        folder_of(tmp_path / "pack", {"fern_": data.tobytes(), "lava_still": png(frames), "clay": grey})
    )
    assert pack.means["fern_"] == (30, 60, 90)
    assert pack.means["clay"] == (40, 40, 40)
    lava = pack.look_of("lava")
    assert lava is not None
    assert lava.side == (7, 7, 7)


def test_pictures_that_cannot_be_used_are_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no pictures in assets"):
        ResourcePack.open(tmp_path / "empty")
    with pytest.raises(DataError, match="not a resource pack"):
        ResourcePack.open(tmp_path / "missing.zip")
    (tmp_path / "text.zip").write_text("no zip")
    with pytest.raises(DataError, match="not a resource pack"):
        ResourcePack.open(tmp_path / "text.zip")
    # Broken and enormous pictures are refused by name.
    head = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR"
    huge = head + struct.pack(">II", 100_000, 100_000) + b"\x08\x02\0\0\0" + b"\0" * 4
    for name, data, said in (
        ("text", b"hello", "no PNG picture"),
        ("huge", huge, "100000x100000 pixels pass the limit"),
        ("cut", flat(1, 2, 3)[:40], "cannot be decoded"),
    ):
        with pytest.raises(DataError, match=said) as caught:
            ResourcePack.open(folder_of(tmp_path / name, {**PICTURES, f"bad_{name}": data}))
        assert f"bad_{name}.png" in str(caught.value)


def test_limits_hold_before_anything_is_unpacked(tmp_path, monkeypatch):
    pack = zip_of(tmp_path / "pack.zip", {"zeros": b"\0" * 3_000_000})
    assert pack.stat().st_size < 10_000
    monkeypatch.setattr(resource_pack, "MOST_PICTURE_BYTES", 1_000_000)
    monkeypatch.setattr(zipfile.ZipFile, "open", lambda *_: pytest.fail("unpacked"))
    with pytest.raises(DataError, match=r"zeros\.png of 3000000 bytes passes the limit"):
        ResourcePack.open(pack)
    monkeypatch.setattr(resource_pack, "MOST_FILES", 3)
    with pytest.raises(DataError, match="8 pictures of blocks pass the limit of 3"):
        ResourcePack.open(folder_of(tmp_path / "pack"))
    monkeypatch.setattr(resource_pack, "MOST_FILES", 30)
    monkeypatch.setattr(resource_pack, "MOST_BYTES", 300)
    with pytest.raises(DataError, match="bytes of pictures pass the limit of 300"):
        ResourcePack.open(tmp_path / "pack")


def test_zips_that_lie_and_links_that_lead_elsewhere(tmp_path):
    path = zip_of(tmp_path / "pack.zip", {"stone": PICTURES["stone"]})
    data = bytearray(path.read_bytes())
    size = struct.pack("<I", len(PICTURES["stone"]))
    directory = data.rindex(b"PK\x01\x02")
    at = data.index(size, directory + 20)
    data[at : at + 4] = struct.pack("<I", 20)
    path.write_bytes(bytes(data))
    with pytest.raises(DataError):
        ResourcePack.open(path)
    # Names and links that lead elsewhere are left out.
    path = tmp_path / "pack.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{FOLDER}../../../../evil.png", flat(1, 1, 1))
        archive.writestr(f"{FOLDER}stone.png", flat(2, 2, 2))
    assert set(ResourcePack.open(path).means) == {"stone"}
    folder = folder_of(tmp_path / "pack", {"stone": flat(2, 2, 2)})
    (tmp_path / "secret.png").write_bytes(flat(3, 3, 3))
    (folder / FOLDER / "linked.png").symlink_to(tmp_path / "secret.png")
    assert set(ResourcePack.open(folder).means) == {"stone"}
