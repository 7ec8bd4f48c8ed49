"""Another renderer of scans: OpenGL by moderngl, on whatever EGL offers; here llvmpipe, which is Mesa in software."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from worldgauge.core.geometry import Camera, FloatArray
from worldgauge.worlds.scan.mesh import ScanMesh

_VERTEX = """
#version 330
uniform mat4 projection;
in vec3 place; in vec2 at;
out vec2 uv;
void main() { gl_Position = projection * vec4(place, 1.0); uv = at; }
"""
_FRAGMENT = """
#version 330
uniform sampler2D page;
in vec2 uv; out vec4 colour;
void main() { colour = texture(page, uv); }
"""
_NEAR_M, _FAR_M = 0.01, 100.0


def context() -> Any:
    """An OpenGL context without a screen; the test is skipped where there is none."""
    moderngl = pytest.importorskip("moderngl")
    try:
        return moderngl.create_standalone_context(backend="egl")
    except Exception as error:  # whatever the driver says
        pytest.skip(f"no OpenGL without a screen: {error}")


class OpenGl:
    """A mesh with one texture a material, on the side of OpenGL.

    Args:
        gl: A context.
        mesh: The mesh.
    """

    def __init__(self, gl: Any, mesh: ScanMesh) -> None:
        self.gl = gl
        self.program = gl.program(vertex_shader=_VERTEX, fragment_shader=_FRAGMENT)
        self.parts = []
        for number, material in enumerate(mesh.materials):
            chosen = mesh.triangles[mesh.material == number].reshape(-1)
            if not len(chosen):
                continue
            page = mesh.pages[material.page]
            texture = gl.texture((page.shape[1], page.shape[0]), 4, np.ascontiguousarray(page).tobytes())
            texture.build_mipmaps()
            texture.filter = gl.LINEAR_MIPMAP_LINEAR, gl.LINEAR
            texture.repeat_x = texture.repeat_y = False
            rows = np.concatenate([mesh.vertices[chosen], mesh.uv[chosen]], 1).astype("<f4")
            self.parts.append((texture, gl.vertex_array(self.program, gl.buffer(rows.tobytes()), "place", "at")))

    def draw(self, pose: FloatArray, camera: Camera) -> NDArray[np.uint8]:
        """Colours (H, W, 3), trilinear, from the front; with the depth buffer read back as well."""
        gl, size = self.gl, (camera.width, camera.height)
        self.program["projection"].write(np.ascontiguousarray(_projection(pose, camera).T.astype("<f4")).tobytes())
        target = gl.framebuffer([gl.renderbuffer(size, 4, dtype="f1")], gl.depth_renderbuffer(size))
        target.use()
        gl.clear(0.0, 0.0, 0.0)
        gl.enable(gl.DEPTH_TEST | gl.CULL_FACE)
        for texture, part in self.parts:
            texture.use()
            part.render()
        target.read(components=1, attachment=-1, dtype="f4")
        data = np.frombuffer(target.read(components=3, alignment=1), np.uint8)
        return data.reshape(camera.height, camera.width, 3)[::-1]


def _projection(pose: FloatArray, camera: Camera) -> FloatArray:
    """World to clip space: x right, y up, for a camera whose y is down."""
    lens = np.array(
        [
            [2 * camera.fx / camera.width, 0, 2 * camera.cx / camera.width - 1, 0],
            [0, -2 * camera.fy / camera.height, 1 - 2 * camera.cy / camera.height, 0],
            [0, 0, (_FAR_M + _NEAR_M) / (_FAR_M - _NEAR_M), -2 * _FAR_M * _NEAR_M / (_FAR_M - _NEAR_M)],
            [0, 0, 1, 0],
        ]
    )
    return np.asarray(lens @ np.linalg.inv(pose))
