# mypy: disable-error-code="valid-type, no-untyped-def, no-untyped-call, no-any-unimported"
"""What kernels fill."""

import warp as wp


@wp.struct
class Pictures:
    """Arrays (N, H, W, ...) to paint; position has no views when it is not asked for."""

    rgb: wp.array(dtype=wp.uint8, ndim=4)
    depth: wp.array(dtype=wp.float32, ndim=3)
    category: wp.array(dtype=wp.uint16, ndim=3)
    instance: wp.array(dtype=wp.uint16, ndim=3)
    position: wp.array(dtype=wp.float32, ndim=4)
