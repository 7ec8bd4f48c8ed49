"""World decoders: the camera path that a video shows, in metres and on the ground (Target-Bench, world decoder).

Each is registered in `estimators` under its name and answers `decode(DecodeRequest) -> DecodedPath`.
"""

from worldgauge.estimators.decoders.contract import N_POINTS, DecodedPath, Decoder, DecodeRequest, Status

__all__ = ["N_POINTS", "DecodeRequest", "DecodedPath", "Decoder", "Status"]
