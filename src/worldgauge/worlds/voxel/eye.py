"""The walker's eye, as LoopNav's viewer has it: height and field of view of every frame, published or made here."""

EYE_HEIGHT_M = 1.6
"""Above the feet. The game's own physics has 1.62."""

VERTICAL_FOV_DEG = 75.0
"""With square pixels: 107.51 degrees across at 640x360."""
