"""Instances, skins, morph targets and accessors without a view: by hand, and as the specification states them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from support.glb import QUAD, TRIANGLE, Glb, triangle
from worldgauge.core.errors import DataError
from worldgauge.worlds.scan.gltf import READ, read_gltf
from worldgauge.worlds.scan.mesh import ScanMesh, theirs

CASES = Path(__file__).parents[2] / "cases"
INSTANCING = "EXT_mesh_gpu_instancing"


def read(made: Glb, folder: Path) -> ScanMesh:
    return read_gltf(made.write(folder / "file.glb"))


def places(mesh: ScanMesh) -> Any:
    """Corners (T, 3, 3) in the axes of the file."""
    return theirs(mesh.vertices[mesh.triangles].reshape(-1, 3), "y").reshape(-1, 3, 3)


def matrix(translation: Any = (0, 0, 0), rotation: Any = (0, 0, 0, 1), scale: Any = (1, 1, 1)) -> Any:
    made = np.eye(4)
    made[:3, :3] = Rotation.from_quat(rotation).as_matrix() * np.asarray(scale)
    made[:3, 3] = translation
    return made


def moved(points: Any, by: Any) -> Any:
    return np.asarray(points) @ by[:3, :3].T + by[:3, 3]


@pytest.mark.parametrize(
    ("name", "side", "triangles"),
    [("gpu_instancing", 5, 6), ("skinned_scaled_armature", 1, 2), ("accessor_without_view", 1, 2)],
)
def test_files_of_others(name: str, side: float, triangles: int) -> None:
    mesh = read_gltf(CASES / f"glb_{name}.glb")
    assert (float(np.ptp(mesh.vertices, 0).max()), len(mesh.triangles)) == (pytest.approx(side), triangles)


def instanced(rotation: str = "f4", parts: str = "TRS") -> tuple[Glb, Any]:
    """Five instances of a triangle below a node that turns and scales, and where they are."""
    rng = np.random.default_rng(3)
    translation, scale = rng.normal(size=(5, 3)), rng.uniform(0.5, 2, (5, 3)) * [1, 1, -1]
    turns = Rotation.random(5, random_state=1).as_quat()
    most = {"f4": 1, "i2": 32767, "i1": 127}[rotation]
    held = np.rint(turns * most) if most > 1 else turns
    made = triangle()
    attributes = {
        "TRANSLATION": made.array(translation),
        "ROTATION": made.array(held, rotation, **({"normalized": True} if most > 1 else {})),
        "SCALE": made.array(scale),
        "_ID": made.array([0.0, 1, 2, 3, 4]),
    }
    attributes = {key: value for key, value in attributes.items() if key[0] in parts + "_"}
    above, own = ([1, 2, 3], [0, 0.6, 0, 0.8], [2, 2, 2]), ([0, 1, 0], [0, 0, 0, 1], [1, 3, 1])
    made.content["extensionsUsed"] = ["EXT_mesh_gpu_instancing"]
    made.content["nodes"] = [
        {**dict(zip(("translation", "rotation", "scale"), above, strict=True)), "children": [1]},
        {"mesh": 0, "name": "chair", "translation": own[0], "scale": own[2]},
    ]
    made.content["nodes"][1]["extensions"] = {"EXT_mesh_gpu_instancing": {"attributes": attributes}}
    world = matrix(*above) @ matrix(*own)
    usual = zip("TRS", (translation, held, scale), matrix.__defaults__, strict=True)
    columns = [values if key in parts else [default] * 5 for key, values, default in usual]
    return made, np.array([moved(TRIANGLE, world @ matrix(*row)) for row in zip(*columns, strict=True)])


@pytest.mark.parametrize(
    ("rotation", "parts"), [("f4", "TRS"), ("i2", "TRS"), ("i1", "TRS"), ("f4", "R"), ("f4", "TS")]
)
def test_instances(tmp_path: Path, rotation: str, parts: str) -> None:
    made, right = instanced(rotation, parts)
    mesh = read(made, tmp_path)
    flipped = right[:, ::-1] if "S" in parts else right
    np.testing.assert_allclose(places(mesh), flipped, atol=1e-6)
    assert mesh.instance.tolist() == [1, 2, 3, 4, 5]
    assert mesh.categories == ("void", "chair")
    assert not mesh.notes


def skinned(
    sets: int = 1, weight: str = "f4", sum_to: float = 1.0, *, bind: bool = True, armature: float = 0.01
) -> tuple[Glb, Any]:
    """A quad on five joints below an armature of a small scale, and where it is."""
    rng = np.random.default_rng(5)
    joints = rng.integers(0, 5, (4, 4 * sets))
    weights = rng.uniform(0.1, 1, (4, 4 * sets))
    weights *= sum_to / weights.sum(1, keepdims=True)
    most = {"f4": 1, "u2": 65535, "u1": 255}[weight]
    held = weights if most == 1 else np.rint(weights * most)
    made = Glb()
    attributes: dict[str, int] = {"POSITION": made.array(QUAD)}
    for n in range(sets):
        part = slice(4 * n, 4 * n + 4)
        more = {"normalized": True} if most > 1 else {}
        attributes[f"JOINTS_{n}"] = made.array(joints[:, part], "u1" if n else "u2")
        attributes[f"WEIGHTS_{n}"] = made.array(held[:, part], weight, **more)
    mesh = made.add(
        "meshes", {"primitives": [{"attributes": attributes, "indices": made.array([0, 1, 2, 0, 2, 3], "u2")}]}
    )
    world, nodes, worlds = matrix(scale=[armature] * 3), [], []
    for n in range(5):
        own = (rng.normal(size=3) / armature, Rotation.random(random_state=n).as_quat(), rng.uniform(0.9, 1.1, 3))
        world = world @ matrix(*own)
        worlds.append(world)
        nodes.append(
            {"translation": own[0].tolist(), "rotation": own[1].tolist(), "scale": own[2].tolist(), "children": [n + 1]}
        )
    nodes[4]["children"] = []
    inverse = np.linalg.inv(np.stack([matrix(rng.normal(size=3)) for _ in range(5)])) @ matrix(scale=[1 / armature] * 3)
    skin: dict[str, Any] = {"joints": [0, 1, 2, 3, 4]}
    if bind:
        view = made.view(inverse.swapaxes(1, 2).astype("<f4").tobytes())
        accessor = {"bufferView": view, "componentType": 5126, "count": 5, "type": "MAT4"}
        skin["inverseBindMatrices"] = made.add("accessors", accessor)
    made.add("skins", skin)
    made.content["nodes"] = [
        *nodes,
        {"scale": [armature] * 3, "children": [0, 6]},
        {"mesh": mesh, "skin": 0, "translation": [50, 60, 70]},
    ]
    made.content["scenes"][0]["nodes"] = [5]
    turns = np.stack(worlds) @ (inverse if bind else np.eye(4))
    shares = held / held.sum(1, keepdims=True)
    right = np.array([
        sum(shares[v, k] * moved(QUAD[v], turns[joints[v, k]]) for k in range(4 * sets)) for v in range(4)
    ])  # fmt: skip
    return made, right


SKINS: dict[str, dict[str, Any]] = {
    "plain": {},
    "two sets": {"sets": 2},
    "bytes": {"weight": "u1"},
    "shorts, two sets": {"weight": "u2", "sets": 2},
    "weights that are not 1 in sum": {"sum_to": 0.4},
    "no inverse bind matrices": {"bind": False, "armature": 1.0},
}


@pytest.mark.parametrize("options", SKINS.values(), ids=SKINS)
def test_skins_in_the_pose_of_the_file(tmp_path: Path, options: dict[str, Any]) -> None:
    made, right = skinned(**options)
    found = places(read(made, tmp_path))
    np.testing.assert_allclose(found[0], right[[0, 1, 2]], atol=2e-4)
    np.testing.assert_allclose(found[1], right[[0, 2, 3]], atol=2e-4)


def test_skins_that_mirror_turn_their_triangles_round(tmp_path: Path) -> None:
    made, _ = skinned(armature=1.0)
    plain = places(read(made, tmp_path))
    made.content["nodes"][5]["scale"] = [-1, 1, 1]
    mirrored = places(read(made, tmp_path))
    np.testing.assert_allclose(mirrored[:, ::-1], plain * [-1, 1, 1], atol=1e-5)


def test_a_mesh_without_joints_stands_at_its_node(tmp_path: Path) -> None:
    made, _ = skinned()
    attributes = made.content["meshes"][0]["primitives"][0]["attributes"]
    del attributes["JOINTS_0"], attributes["WEIGHTS_0"]
    np.testing.assert_allclose(places(read(made, tmp_path))[0, 0], [0.5, 0.6, 0.7], atol=1e-6)


def morphed() -> Glb:
    made = triangle()
    sparse = {
        "count": 1,
        "indices": {"bufferView": made.view(np.array([1], "<u2").tobytes()), "componentType": 5123},
        "values": {"bufferView": made.view(np.array([[0, 4, 0]], "<f4").tobytes())},
    }
    still = {"componentType": 5126, "count": 3, "type": "VEC3"}
    made.content["meshes"][0]["primitives"][0]["targets"] = [
        {"POSITION": made.array([[1, 0, 0]] * 3)},
        {"POSITION": made.add("accessors", {**still, "sparse": sparse})},
        {"POSITION": made.add("accessors", still), "NORMAL": made.add("accessors", still)},
    ]
    return made


@pytest.mark.parametrize(
    ("of_mesh", "of_node", "right"),
    [
        (None, None, TRIANGLE),
        ([0, 0.5, 1], None, [[0, 0, 0], [1, 2, 0], [0, 1, 0]]),
        ([9, 9, 9], [2, 0, 0], [[2, 0, 0], [3, 0, 0], [2, 1, 0]]),
        (None, [0, 1, 1], [[0, 0, 0], [1, 4, 0], [0, 1, 0]]),
    ],
)
def test_morph_targets_by_their_weights(tmp_path: Path, of_mesh: Any, of_node: Any, right: Any) -> None:
    made = morphed()
    if of_mesh:
        made.content["meshes"][0]["weights"] = of_mesh
    if of_node:
        made.content["nodes"][0]["weights"] = of_node
    np.testing.assert_allclose(places(read(made, tmp_path))[0], right)


def test_two_nodes_morph_one_mesh_each_in_its_way(tmp_path: Path) -> None:
    made = morphed()
    made.content["nodes"] = [{"mesh": 0, "weights": [n, 0, 0]} for n in (1, 0, 3)]
    made.content["scenes"][0]["nodes"] = [0, 1, 2]
    assert places(read(made, tmp_path))[:, 0, 0].tolist() == [1, 0, 3]


def test_corners_that_are_not_there_reach_no_other_mesh(tmp_path: Path) -> None:
    made = Glb()
    made.mesh({"attributes": {"POSITION": made.array(TRIANGLE)}, "indices": made.array([0, 1, 5], "u1")})
    made.mesh({"attributes": {"POSITION": made.array(QUAD)}, "mode": 6})
    assert read(made, tmp_path).triangles.tolist() == [[0, 1, -1], [3, 4, 5], [3, 5, 6]]


def test_what_is_left_out_is_named(tmp_path: Path) -> None:
    made = triangle()
    unknown = ["KHR_lights_punctual", "EXT_mesh_features", "KHR_node_visibility", "ACME_secret"]
    made.content |= {"extensionsUsed": [*unknown, *READ], "animations": [{}], "scenes": [{"nodes": [0]}, {"nodes": []}]}
    glow = made.add("materials", {"emissiveFactor": [1, 0, 0]})
    made.content["meshes"][0]["primitives"][0]["material"] = glow
    notes = " ".join(read(made, tmp_path).notes)
    for word in (*unknown, "animations", "scenes", "light"):
        assert word in notes
    assert not any(name in notes for name in READ)


def test_diffuse_colours_are_base_colours(tmp_path: Path) -> None:
    made = triangle()
    gloss = {"diffuseFactor": [0.5, 0.25, 1, 1], "specularFactor": [1, 1, 1]}
    part = {"extensions": {"KHR_materials_pbrSpecularGlossiness": gloss}}
    made.content["meshes"][0]["primitives"][0]["material"] = made.add("materials", part)
    assert read(made, tmp_path).materials[0].factor == (0.5, 0.25, 1, 1)


def test_a_texture_without_a_picture_is_missing(tmp_path: Path) -> None:
    made = triangle()
    made.add("textures", {"extensions": {"EXT_texture_avif": {"source": 0}}})
    part = {"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}
    made.content["meshes"][0]["primitives"][0]["material"] = made.add("materials", part)
    mesh = read(made, tmp_path)
    assert mesh.missing == (True,)
    assert "no image of a supported kind" in mesh.notes[0]


def quaternions(turns: Any) -> bytes:
    """The filter QUATERNION of meshopt, by its specification: the largest of four is left out."""
    rows = np.zeros((len(turns), 4), "<i2")
    for row, turn in zip(rows, turns, strict=True):
        most = int(np.argmax(np.abs(turn)))
        rest = np.array([turn[(most + k) % 4] for k in (1, 2, 3)]) * (1 if turn[most] >= 0 else -1)
        row[:3], row[3] = np.rint(rest * np.sqrt(2) * 32767), (32767 & ~3) | most
    return rows.tobytes()


def test_rotations_of_instances_by_meshopt(tmp_path: Path) -> None:
    meshoptimizer = pytest.importorskip("meshoptimizer")
    made, right = instanced(parts="R")
    turns = Rotation.random(5, random_state=1).as_quat()
    packed = meshoptimizer.encode_vertex_buffer(np.frombuffer(quaternions(turns), np.void(bytes(8)).dtype), 5, 8)
    held = {"buffer": 0, "byteOffset": 0, "byteLength": len(packed), "byteStride": 8, "count": 5}
    held |= {"mode": "ATTRIBUTES", "filter": "QUATERNION"}
    view = made.view(bytes(40), extensions={"EXT_meshopt_compression": held})
    held["byteOffset"] = made.content["bufferViews"][made.view(bytes(packed))]["byteOffset"]
    accessor = {"bufferView": view, "componentType": 5122, "normalized": True, "count": 5, "type": "VEC4"}
    attributes = made.content["nodes"][1]["extensions"]["EXT_mesh_gpu_instancing"]["attributes"]
    attributes["ROTATION"] = made.add("accessors", accessor)
    np.testing.assert_allclose(places(read(made, tmp_path)), right, atol=2e-3)
    held["filter"] = "COLOR"
    with pytest.raises(DataError, match="filter"):
        read(made, tmp_path)


MANY = {"componentType": 5126, "count": 9_000_000, "type": "VEC3"}


def with_attribute(name: str, value: Any) -> Glb:
    """Instances with another attribute."""
    made, _ = instanced()
    held = made.add("accessors", value) if isinstance(value, dict) else made.array(value)
    made.content["nodes"][1]["extensions"]["EXT_mesh_gpu_instancing"]["attributes"][name] = held
    return made


def with_change(made: Glb, part: str, index: int, change: Any) -> Glb:
    """A file with another item of a list of its document."""
    made.content[part][index].update(change)
    return made


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (with_change(instanced()[0], "nodes", 1, {"extensions": {INSTANCING: {"attributes": {}}}}), "no"),
        (with_attribute("SCALE", [[1, 1, 1]]), r"\[1, 5\]"),
        (with_attribute("ROTATION", [[0, 0, 0, 0]] * 5), "zero"),
        (with_attribute("_A", MANY), r"\[5, 9000000\]"),
        (with_change(instanced()[0], "nodes", 1, {"skin": 0}), "cannot be instanced"),
        (with_change(skinned()[0], "skins", 0, {"joints": [0, 1]}), "of 2"),
        (with_change(skinned()[0], "skins", 0, {"joints": [0, 99]}), "no node of the scene"),
        (with_change(skinned()[0], "skins", 0, {"joints": []}), "no node of the scene"),
        (with_change(skinned()[0], "accessors", -1, {"count": 3}), "3 inverse"),
        (with_change(skinned()[0], "accessors", 1, {"type": "VEC3"}), "JOINTS_0"),
        (with_change(skinned()[0], "nodes", 6, {"skin": 4}), r"skins\[4\]"),
    ],
)
def test_damage_is_one_line(tmp_path: Path, made: Glb, words: str) -> None:
    with pytest.raises(DataError, match=words) as error:
        read(made, tmp_path)
    assert "\n" not in str(error.value)


def test_more_instances_than_are_drawn_are_refused(tmp_path: Path) -> None:
    made, _ = instanced()
    made.content["nodes"][1]["extensions"][INSTANCING]["attributes"] = {"_A": made.add("accessors", MANY)}
    with pytest.raises(DataError, match="draw more than"):
        read(made, tmp_path)


def test_zeros_have_a_limit(tmp_path: Path) -> None:
    made = triangle()
    made.content["accessors"][0] = {"componentType": 5126, "count": 190_000_000, "type": "VEC3"}
    with pytest.raises(DataError, match="pass the limit"):
        read(made, tmp_path)
