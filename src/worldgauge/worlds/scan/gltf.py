"""glTF 2.0 and GLB files: geometry, base colours and names, with the extensions of `READ`.

Skins, morph targets and instances are drawn in the pose that the file states; animations are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from worldgauge.core.episode import short
from worldgauge.core.errors import DataError, MissingExtraError, WorldError
from worldgauge.core.geometry import rotation_of_quaternion
from worldgauge.worlds.scan._document import (
    MOST_ELEMENTS,
    Damaged,
    Document,
    checked_list,
    checked_object,
    draco_arrays,
    extension,
    numbers,
    whole,
)
from worldgauge.worlds.scan.mesh import (
    CLAMP,
    MIRROR,
    REPEAT,
    ScanMaterial,
    ScanMesh,
    Up,
    Wrap,
    cap_px,
    checks,
    decode_texture,
    ours,
)

READ = frozenset(
    {
        "KHR_materials_unlit", "KHR_mesh_quantization", "KHR_texture_transform", "KHR_texture_basisu",
        "EXT_texture_webp", "GOOGLE_texture_basis", "KHR_draco_mesh_compression", "EXT_meshopt_compression",
        "EXT_mesh_gpu_instancing", "KHR_materials_pbrSpecularGlossiness",
    }
)  # fmt: skip
"""Extensions that are supported."""
_LOOKS = re.compile(r"KHR_materials_.*|KHR_lights_punctual|KHR_xmp.*|MSFT_.*")
"""Extensions that a file may require all the same: shapes and base colours do not depend on them."""
_DIFFUSE = "Factor", "Texture"
_BASIS = "KHR_texture_basisu", "GOOGLE_texture_basis", "EXT_texture_webp"
_WRAPS = {10497: REPEAT, 33071: CLAMP, 33648: MIRROR}
_MOST_TEXELS = 2**30
"""Of all textures together, reduced: 4 GB. A small file can claim far more."""
_DEEPEST = 256
_MOST_DRAWN = 100_000
"""Meshes that are drawn, counted once for every node."""


def read_gltf(path: Path, *, up: Up = "y") -> ScanMesh:
    """Read a glTF or GLB file in the pose that it states; y is up by the standard.
    Things are the nodes that have `extras.instance`, else those that have a name."""
    try:
        return _Reader(Document(path)).mesh(up)
    except Damaged as error:
        raise DataError(f"{path}: {error}") from error
    except WorldError as error:
        raise WorldError(f"{path}: {error}") from error


def linked_files(path: Path) -> tuple[Path, ...]:
    """Files that a .gltf file names and that are there, in its order."""
    try:
        document = Document(path)
    except Damaged as error:
        raise DataError(f"{path}: {error}") from error
    held = [one for kind in ("buffers", "images") for one in document.content.get(kind, []) if isinstance(one, dict)]
    names = [one["uri"] for one in held if isinstance(one.get("uri"), str) and not one["uri"].startswith("data:")]
    beside = [path.parent / unquote(name) for name in names if "\0" not in unquote(name)]
    folder = path.parent.resolve()
    return tuple(dict.fromkeys(one for one in beside if one.resolve().is_relative_to(folder) and one.is_file()))


class _Drawn(NamedTuple):
    """A mesh at a node: where it stands and what it is, its skin, and weights of its morph targets."""

    mesh: int
    matrix: NDArray[np.float64]
    name: str
    instance: int | None
    category: str | None
    skin: int | None
    weights: tuple[float, ...]


class _Part(NamedTuple):
    """Arrays of a primitive."""

    places: NDArray[np.float64]  # (V, 3)
    uv: NDArray[np.float64]  # (V, 2)
    colours: NDArray[np.uint8] | None  # (V, 4)
    triangles: NDArray[np.int64]  # (T, 3)
    material: int
    bones: tuple[NDArray[np.int64], NDArray[np.float64]] | None  # (V, K) joints and their weights, if skinned


class _Reader:
    """Turns the parts of a document into arrays; each mesh and texture is read once."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.notes: list[str] = []
        self._pages: dict[int, int] = {}
        self._images: list[NDArray[np.uint8]] = []
        self._missing: list[bool] = []
        self._materials: list[ScanMaterial] = []
        self._known: dict[int, tuple[int, int, NDArray[np.float64] | None]] = {}
        self._parts: dict[tuple[int, tuple[float, ...]], list[_Part]] = {}
        self._worlds: dict[int, NDArray[np.float64]] = {}
        self._skins: dict[int, NDArray[np.float64]] = {}

    def mesh(self, up: Up) -> ScanMesh:
        document = self.document
        for name in document.extensions("extensionsRequired"):
            if name not in READ and not _LOOKS.fullmatch(name):
                raise Damaged(
                    f"it requires the extension {short(name)}, which is not supported; export it without, or with "
                    f"{', '.join(sorted(READ))}"
                )
        if unknown := sorted({*document.extensions("extensionsUsed")} - READ):
            self.notes.append(f"extensions that are not supported are left out: {', '.join(unknown)[:1000]}")
        if document.content.get("animations"):
            self.notes.append("animations are left out: the pose that the file states is drawn")
        drawn = self._drawn()
        placed = [(one, part) for one in drawn for part in self._parts_of(one.mesh, one.weights)]
        if not placed:
            raise Damaged("it holds no triangles")
        if sum(part.triangles.size for _, part in placed) > MOST_ELEMENTS:
            raise Damaged(f"its nodes draw more than {MOST_ELEMENTS} indices")
        instances, categories, names = _named(drawn)
        places, colours, triangles = [], [], []
        first = 0
        coloured = any(part.colours is not None for _, part in placed)
        number = {id(one): n for n, one in enumerate(drawn)}
        for one, part in placed:
            points, turned = self._points(one, part)
            places.append(points)
            if coloured:
                white = np.full((len(part.places), 4), 255, np.uint8)
                colours.append(white if part.colours is None else part.colours)
            faces = np.where(turned[:, None], part.triangles[:, ::-1], part.triangles)
            triangles.append(np.where(faces < 0, -1, faces + first))
            first += len(part.places)
        counts = [len(part.triangles) for _, part in placed]
        return ScanMesh(
            ours(np.concatenate(places), up),
            np.concatenate(triangles).astype(np.int32),
            np.concatenate([part.uv for _, part in placed]),
            np.concatenate(colours) if coloured else None,
            np.repeat(np.array([part.material for _, part in placed], np.int32), counts),
            np.repeat(np.array([instances[number[id(one)]] for one, _ in placed], np.uint16), counts),
            np.repeat(np.array([categories[number[id(one)]] for one, _ in placed], np.uint16), counts),
            tuple(self._materials),
            tuple(self._images),
            names,
            tuple(dict.fromkeys(self.notes)),
            tuple(self._missing),
        )

    def _drawn(self) -> list[_Drawn]:
        """Nodes with a mesh, in the order of the tree."""
        document = self.document
        if "scenes" in document.content:
            scene = document.item("scenes", document.content.get("scene", 0), "scene")
            if len(document.content["scenes"]) > 1:
                self.notes.append(f"one of its {len(document.content['scenes'])} scenes is drawn, the default one")
            roots = checked_list(scene.get("nodes", []), "scenes.nodes")
        else:
            held = checked_list(document.content.get("nodes", []), "nodes")
            children = {
                child
                for node in held
                if isinstance(node, dict) and isinstance(node.get("children"), list)
                for child in node["children"]
                if isinstance(child, int)
            }
            roots = [n for n in range(len(held)) if n not in children]
        found: list[_Drawn] = []
        stack: list[tuple[Any, NDArray[np.float64], tuple[int, ...]]] = [
            (root, np.eye(4), ()) for root in reversed(roots)
        ]
        visits = 0
        while stack:
            index, above, line = stack.pop()
            visits += 1
            node = document.item("nodes", index, "nodes")
            where = f"nodes[{index}]"
            if index in line:
                raise Damaged(f"{where} is its own ancestor")
            if len(line) >= _DEEPEST or visits > 10 * _MOST_DRAWN:
                raise Damaged(f"{where}: the tree of nodes is too deep or too large")
            matrix = above @ _matrix(node, where)
            self._worlds[index] = matrix
            if "mesh" in node:
                one = self._placed(node, where, matrix)
                found += [one._replace(matrix=matrix @ own) for own in self._instances(node, where, len(found))]
                if len(found) > _MOST_DRAWN:
                    raise Damaged(f"its nodes draw more than {_MOST_DRAWN} meshes")
            below = checked_list(node.get("children", []), f"{where}.children")
            stack += [(child, matrix, (*line, index)) for child in reversed(below)]
        return found

    def _placed(self, node: Mapping[str, Any], where: str, matrix: NDArray[np.float64]) -> _Drawn:
        name, extras = node.get("name", ""), node.get("extras")
        mesh = self.document.item("meshes", node["mesh"], where)
        weights = checked_list(node.get("weights", mesh.get("weights", [])), f"{where}.weights")
        instance = category = None
        if isinstance(extras, dict):
            if "instance" in extras:
                instance = whole(extras, "instance", f"{where}.extras", 0, 65535)
            category = extras["category"] if isinstance(extras.get("category"), str) else None
        return _Drawn(
            node["mesh"],
            matrix,
            name if isinstance(name, str) else "",
            instance,
            category,
            whole(node, "skin", where, 0, MOST_ELEMENTS) if "skin" in node else None,
            numbers({"weights": weights}, "weights", where, (0.0,) * len(weights)),
        )

    def _instances(self, node: Mapping[str, Any], where: str, drawn: int) -> Iterable[NDArray[np.float64]]:
        """Matrices (N, 4, 4) of the instances of a node's mesh; of one that is not instanced, the identity."""
        instancing = extension(node, "EXT_mesh_gpu_instancing", where)
        if instancing is None:
            return np.eye(4)[None]
        where = f"{where}.EXT_mesh_gpu_instancing"
        attributes = checked_object(instancing.get("attributes"), f"{where}.attributes")
        if "skin" in node:
            raise Damaged(f"{where}: a skinned mesh cannot be instanced")
        usual = {"TRANSLATION": (0.0, 0.0, 0.0), "ROTATION": (0.0, 0.0, 0.0, 1.0), "SCALE": (1.0, 1.0, 1.0)}
        held = [self.document.item("accessors", index, where) for index in attributes.values()]
        counts = {whole(one, "count", where, 1, 2**32) for one in held}
        if len(counts) != 1:
            raise Damaged(f"{where}: its attributes have {sorted(counts) or 'no'} elements")
        (count,) = counts
        if drawn + count > _MOST_DRAWN:
            raise Damaged(f"{where}: its nodes draw more than {_MOST_DRAWN} meshes")
        found = {
            name: _doubles(self.document.array(index, (len(usual[name]),), f"{where}.{name}"))
            for name, index in attributes.items()
            if name in usual
        }
        values = {name: found.get(name, np.tile(one, (count, 1))) for name, one in usual.items()}
        matrices = np.tile(np.eye(4), (count, 1, 1))
        matrices[:, :3, :3] = _rotations(values["ROTATION"], where) * values["SCALE"][:, None]
        matrices[:, :3, 3] = values["TRANSLATION"]
        return matrices

    def _points(self, one: _Drawn, part: _Part) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """Places (V, 3) of a part in the scene, and which of its triangles (T,) are mirrored."""
        with np.errstate(invalid="ignore", over="ignore"):
            if one.skin is None or part.bones is None:
                mirrored = np.full(len(part.triangles), np.linalg.det(one.matrix[:3, :3]) < 0)
                return part.places @ one.matrix[:3, :3].T + one.matrix[:3, 3], mirrored
            # Where the node stands is of no account: its joints place a skinned mesh.
            turns, (joints, weights) = self._skin(one.skin), part.bones
            if joints.max() >= len(turns):
                raise Damaged(f"skins[{one.skin}]: joint {int(joints.max())} of {len(turns)}")
            blend = np.zeros((len(part.places), 4, 4))
            for k in range(joints.shape[1]):
                blend += weights[:, k, None, None] * turns[joints[:, k]]
            points = (blend[:, :3, :3] @ part.places[..., None])[..., 0] + blend[:, :3, 3]
            return points, (np.linalg.det(blend[:, :3, :3]) < 0)[part.triangles[:, 0]]

    def _skin(self, index: int) -> NDArray[np.float64]:
        """Matrices (J, 4, 4) by which the joints of a skin move places, in the pose of the nodes."""
        if index not in self._skins:
            skin, where = self.document.item("skins", index, "nodes"), f"skins[{index}]"
            joints = checked_list(skin.get("joints"), f"{where}.joints")
            if not joints or any(type(joint) is not int or joint not in self._worlds for joint in joints):
                raise Damaged(f"{where}: a joint is no node of the scene")
            turns = np.stack([self._worlds[joint] for joint in joints])
            if "inverseBindMatrices" in skin:
                inverse = _doubles(self.document.array(skin["inverseBindMatrices"], (16,), where))
                if len(inverse) < len(joints):
                    raise Damaged(f"{where}: {len(inverse)} inverseBindMatrices of {len(joints)} joints")
                turns = turns @ inverse[: len(joints)].reshape(-1, 4, 4).swapaxes(1, 2)
            self._skins[index] = turns
        return self._skins[index]

    def _parts_of(self, index: int, weights: tuple[float, ...]) -> list[_Part]:
        if (index, weights) not in self._parts:
            mesh = self.document.item("meshes", index, "nodes")
            where = f"meshes[{index}]"
            primitives = checked_list(mesh.get("primitives"), f"{where}.primitives")
            parts = [
                self._part(checked_object(one, where), weights, f"{where}.primitives[{n}]")
                for n, one in enumerate(primitives)
            ]
            self._parts[index, weights] = [part for part in parts if part is not None]
        return self._parts[index, weights]

    def _part(self, primitive: Mapping[str, Any], weights: tuple[float, ...], where: str) -> _Part | None:
        mode = whole(primitive, "mode", where, 0, 6, 4)
        if mode < 4:
            self.notes.append("points and lines are left out")
            return None
        attributes = checked_object(primitive.get("attributes"), f"{where}.attributes")
        faces, packed = self._draco(primitive, where)

        def get(name: str, widths: tuple[int, ...]) -> NDArray[Any] | None:
            if name in packed:
                return self._unpacked(packed[name], attributes.get(name), widths, f"{where}: {name}")
            return self.document.array(attributes[name], widths, f"{where}.{name}") if name in attributes else None

        places = get("POSITION", (3,))
        if places is None:
            raise Damaged(f"{where}: it has no POSITION")
        if faces is None:
            faces = self._triangles(primitive, mode, len(places), where)
        material, uv_set, transform = self._material(primitive, where)
        uv = get(f"TEXCOORD_{uv_set}", (2,))
        uv = np.zeros((len(places), 2)) if uv is None else _doubles(uv)
        if transform is not None:
            uv = uv @ transform[:2, :2].T + transform[:2, 2]
        colours = get("COLOR_0", (3, 4))
        bones = _bones(get, where)
        lengths = {len(one) for one in (places, uv, colours, *(bones or ())) if one is not None}
        if len(lengths) > 1:
            raise Damaged(f"{where}: its attributes have {sorted(lengths)} elements")
        faces = np.where((faces < 0) | (faces >= len(places)), -1, faces)
        places = self._morphed(_doubles(places), primitive, weights, where)
        return _Part(places, uv, _bytes_of(colours), faces, material, bones)

    def _morphed(
        self, places: NDArray[np.float64], primitive: Mapping[str, Any], weights: tuple[float, ...], where: str
    ) -> NDArray[np.float64]:
        """Places (V, 3) moved to the morph targets by their weights."""
        targets = checked_list(primitive.get("targets", []), f"{where}.targets")
        for weight, target in zip(weights, targets, strict=False):
            moved = checked_object(target, f"{where}.targets")
            if weight and "POSITION" in moved:
                way = _doubles(self.document.array(moved["POSITION"], (3,), f"{where}.targets"))
                if len(way) != len(places):
                    raise Damaged(f"{where}: a morph target has {len(way)} elements of {len(places)}")
                places = places + weight * way
            if weight and any(not name.startswith(("POSITION", "NORMAL", "TANGENT")) for name in moved):
                self.notes.append("morph targets move places only: their colours and textures are left out")
        return places

    def _draco(
        self, primitive: Mapping[str, Any], where: str
    ) -> tuple[NDArray[np.int64] | None, dict[str, NDArray[Any]]]:
        """Triangles and attributes that a primitive has compressed; none without."""
        draco = extension(primitive, "KHR_draco_mesh_compression", where)
        if draco is None:
            return None, {}
        held = checked_object(draco.get("attributes"), f"{where}.KHR_draco_mesh_compression.attributes")
        ids = {name: whole(held, name, where, 0, 2**31) for name in held}
        faces, arrays = draco_arrays(bytes(self.document.bytes_of(draco.get("bufferView"), where)), ids, where)
        return faces.astype(np.int64), arrays

    def _unpacked(self, values: NDArray[Any], accessor: Any, widths: tuple[int, ...], where: str) -> NDArray[Any]:
        if values.shape[1] not in widths:
            raise Damaged(f"{where} has {values.shape[1]} numbers an element")
        if values.dtype.kind in "iu" and self.document.item("accessors", accessor, where).get("normalized") is True:
            return values.astype(np.float32) / np.float32(np.iinfo(values.dtype).max)
        return values

    def _triangles(self, primitive: Mapping[str, Any], mode: int, count: int, where: str) -> NDArray[np.int64]:
        if "indices" in primitive:
            index = self.document.array(primitive["indices"], (1,), f"{where}.indices", exact=True)[:, 0]
            if index.dtype.kind != "u":
                raise Damaged(f"{where}: its indices are no whole numbers of 8, 16 or 32 bits without sign")
            order = index.astype(np.int64)
        else:
            order = np.arange(count, dtype=np.int64)
        if mode == 4:
            return order[: len(order) // 3 * 3].reshape(-1, 3)
        if len(order) < 3:
            return np.zeros((0, 3), np.int64)
        if mode == 6:
            return np.stack([np.full(len(order) - 2, order[0]), order[1:-1], order[2:]], -1)
        strip = np.stack([order[:-2], order[1:-1], order[2:]], -1)
        strip[1::2] = strip[1::2][:, [1, 0, 2]]
        return strip

    def _material(self, primitive: Mapping[str, Any], where: str) -> tuple[int, int, NDArray[np.float64] | None]:
        """Index of the material, its set of texture coordinates, and a transform (3, 3) of those."""
        index = primitive.get("material", -1)
        content = {} if index == -1 else self.document.item("materials", index, where)
        if index not in self._known:
            material, uv = self._read_material(content, f"materials[{index}]")
            self._known[index] = (len(self._materials), *uv)
            self._materials.append(material)
        return self._known[index]

    def _read_material(
        self, content: Mapping[str, Any], where: str
    ) -> tuple[ScanMaterial, tuple[int, NDArray[np.float64] | None]]:
        pbr = checked_object(content.get("pbrMetallicRoughness", {}), f"{where}.pbrMetallicRoughness")
        other = extension(content, "KHR_materials_pbrSpecularGlossiness", where)
        if other is not None:
            pbr = {f"baseColor{name}": other[f"diffuse{name}"] for name in _DIFFUSE if f"diffuse{name}" in other}
        if any(numbers(content, "emissiveFactor", where, (0.0, 0.0, 0.0))):
            self.notes.append("light that materials give off is left out: their base colours are drawn")
        factor = numbers(pbr, "baseColorFactor", where, (1.0, 1.0, 1.0, 1.0))
        mode = content.get("alphaMode", "OPAQUE")
        if mode not in ("OPAQUE", "MASK", "BLEND"):
            raise Damaged(f"{where}: alphaMode {short(mode)} is unknown")
        (cutoff,) = numbers({"c": [content["alphaCutoff"]]} if "alphaCutoff" in content else {}, "c", where, (0.5,))
        if mode == "BLEND":
            self.notes.append("blended materials are cut at half opacity")
            cutoff = 0.5
        r, g, b, a = (min(max(one, 0.0), 1.0) for one in factor)
        material = ScanMaterial(
            factor=(r, g, b, a),
            two_sided=content.get("doubleSided") is True,
            cutoff=0.0 if mode == "OPAQUE" else max(cutoff, 1 / 255),
        )
        if "baseColorTexture" not in pbr:
            return material, (0, None)
        used = checked_object(pbr["baseColorTexture"], f"{where}.baseColorTexture")
        page, wrap, nearest = self._texture(used.get("index"), where)
        uv_set = whole(used, "texCoord", where, 0, 15, 0)
        transform = None
        moved = extension(used, "KHR_texture_transform", where)
        if moved is not None:
            uv_set = whole(moved, "texCoord", where, 0, 15, uv_set)
            ox, oy = numbers(moved, "offset", where, (0.0, 0.0))
            sx, sy = numbers(moved, "scale", where, (1.0, 1.0))
            (angle,) = numbers({"r": [moved["rotation"]]} if "rotation" in moved else {}, "r", where, (0.0,))
            c, s = np.cos(angle), np.sin(angle)
            transform = np.array([[c * sx, s * sy, ox], [-s * sx, c * sy, oy], [0.0, 0.0, 1.0]])
        return replace(material, page=page, wrap=wrap, nearest=nearest), (uv_set, transform)

    def _texture(self, index: Any, user: str) -> tuple[int, Wrap, bool]:
        texture, where = self.document.item("textures", index, user), f"textures[{index}]"
        wrap, nearest = (REPEAT, REPEAT), False
        if "sampler" in texture:
            sampler = self.document.item("samplers", texture["sampler"], where)
            wraps = [sampler.get(name, 10497) for name in ("wrapS", "wrapT")]
            if any(not isinstance(one, int) or one not in _WRAPS for one in wraps):
                raise Damaged(f"{where}: its sampler wraps by {short(wraps)}")
            wrap = _WRAPS[wraps[0]], _WRAPS[wraps[1]]
            nearest = sampler.get("magFilter") == 9728
        source = texture.get("source")
        for name in _BASIS:
            other = extension(texture, name, where)
            if other is not None:
                source = other.get("source")
                break
        image = {} if source is None else self.document.item("images", source, where)
        source = -1 if source is None else source
        if source not in self._pages:
            texels, missing = self._image(image, where if source < 0 else f"images[{source}]")
            self._pages[source] = len(self._images)
            self._images.append(texels)
            self._missing.append(missing)
            if sum(one.shape[0] * one.shape[1] for one in self._images) > _MOST_TEXELS:
                raise Damaged(
                    f"its textures hold more than {_MOST_TEXELS} texels; WORLDGAUGE_SCAN_TEXTURE_PX={cap_px() // 2} "
                    "reads them smaller"
                )
        return self._pages[source], wrap, nearest

    def _image(self, image: Mapping[str, Any], where: str) -> tuple[NDArray[np.uint8], bool]:
        """Texels, and whether they only stand in for what cannot be read."""
        try:
            if not image:
                raise Damaged(f"{where}: it has no image of a supported kind")
            if "uri" in image:
                data = self.document.linked(image["uri"], where)
            else:
                data = bytes(self.document.bytes_of(image.get("bufferView"), where))
            return decode_texture(data, where), False
        except (Damaged, DataError, MissingExtraError) as error:
            self.notes.append(f"texture drawn as magenta checks: {error}")
            return checks(), True


def _doubles(values: NDArray[Any]) -> NDArray[np.float64]:
    """Numbers in double precision. Those of a damaged file may be NaN of the kind that signals."""
    with np.errstate(invalid="ignore"):
        return values.astype(np.float64)


def _bones(get: Any, where: str) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
    """Joints (V, K) of a primitive, and their weights, which become 1 in sum; None without."""
    joints: list[NDArray[np.int64]] = []
    weights: list[NDArray[np.float64]] = []
    while (own := get(f"JOINTS_{len(joints)}", (4,))) is not None:
        weight = get(f"WEIGHTS_{len(joints)}", (4,))
        if own.dtype.kind not in "iu" or own.min() < 0 or weight is None or len(weight) != len(own):
            raise Damaged(f"{where}: JOINTS_{len(joints)} are no whole numbers, or have no weights")
        joints.append(own.astype(np.int64))
        weights.append(np.maximum(np.nan_to_num(_doubles(weight)), 0.0))
    if not joints:
        return None
    if len({len(own) for own in joints}) > 1:
        raise Damaged(f"{where}: its sets of joints differ in length")
    weight = np.concatenate(weights, 1)
    total = weight.sum(1, keepdims=True)
    weight = np.where(total > 0, weight / np.where(total > 0, total, 1.0), np.eye(1, weight.shape[1]))
    return np.where(weight > 0, np.concatenate(joints, 1), 0), weight


def _named(drawn: list[_Drawn]) -> tuple[list[int], list[int], tuple[str, ...]]:
    """Instance and category of each drawn mesh, and the names of categories."""
    told = any(one.instance is not None for one in drawn)
    names: dict[str, int] = {"void": 0}
    instances, categories = [], []
    for n, one in enumerate(drawn):
        instance = (one.instance or 0) if told else (n + 1 if one.name else 0)
        if instance > 65535:
            raise Damaged("it has more than 65,535 things")
        name = one.category or (plain_name(one.name) if instance else "")
        category = names.setdefault(name, len(names)) if name else 0
        if category > 65535:
            raise Damaged("it has more than 65,535 categories")
        instances.append(instance)
        categories.append(category)
    return instances, categories, tuple(names)


def plain_name(name: str) -> str:
    """A node's name as a category: "Chair_02.001" is "chair"."""
    words = re.sub(r"[_\-.\s]+", " ", name[:200]).strip()
    return re.sub(r"(\s*\d+)+$", "", words).strip().lower()


def _matrix(node: Mapping[str, Any], where: str) -> NDArray[np.float64]:
    if "matrix" in node:
        eye = tuple(float(v) for v in np.eye(4).ravel())
        return np.array(numbers(node, "matrix", where, eye)).reshape(4, 4).T
    matrix = np.eye(4)
    matrix[:3, :3] = _rotations(np.array([numbers(node, "rotation", where, (0.0, 0.0, 0.0, 1.0))]), where)[0]
    matrix[:3, :3] *= np.array(numbers(node, "scale", where, (1.0, 1.0, 1.0)))
    matrix[:3, 3] = numbers(node, "translation", where, (0.0, 0.0, 0.0))
    return matrix


def _rotations(quaternions: NDArray[np.float64], where: str) -> NDArray[np.float64]:
    """Rotations (N, 3, 3) of quaternions (N, 4) in the order x, y, z, w, of any length but zero."""
    length = np.sqrt((quaternions * quaternions).sum(1, keepdims=True))
    if not (length >= 1e-6).all():
        raise Damaged(f"{where}: its rotation is zero")
    return rotation_of_quaternion(quaternions / length)


def _bytes_of(colours: NDArray[Any] | None) -> NDArray[np.uint8] | None:
    """Colours as bytes, opaque where they have no fourth number."""
    if colours is None:
        return None
    if colours.dtype.kind in "iu":
        raise Damaged("COLOR_0 holds whole numbers that are not normalised")
    scaled = np.full((len(colours), 4), 255, np.uint8)
    known = np.clip(np.nan_to_num(colours.astype(np.float64), nan=0.0), 0.0, 1.0)
    # They are linear by the standard; a picture is sRGB (IEC 61966-2-1).
    known[:, :3] = np.where(known[:, :3] <= 0.0031308, 12.92 * known[:, :3], 1.055 * known[:, :3] ** (1 / 2.4) - 0.055)
    scaled[:, : colours.shape[1]] = (known * 255 + 0.5).astype(np.uint8)
    return scaled
