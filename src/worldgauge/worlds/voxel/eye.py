"""The walker's eye, as LoopNav's viewer has it: height and field of view of every frame, published or made here."""

EYE_HEIGHT_M = 1.6
"""Above the feet. The game's own physics has 1.62."""

VERTICAL_FOV_DEG = 75.0
"""Of the viewer that LoopNav recorded with (specification of its data)."""

HORIZONTAL_FOV_DEG = 107.51
"""What that is across, at 640x360 with square pixels."""
