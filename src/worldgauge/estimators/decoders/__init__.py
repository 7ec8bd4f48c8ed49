"""World decoders: the camera path that a video shows, in metres and on the ground (Target-Bench, world decoder).

Each is registered in `estimators` under its name and answers `decode(DecodeRequest) -> DecodedPath`.
"""

# Imported for what they register; what is heavy in them is imported when a video is decoded.
from worldgauge.estimators.decoders import exact, klt, recorded, served, sfm  # noqa: F401
from worldgauge.estimators.decoders.cache import as_json, decode_cached, path_of_json
from worldgauge.estimators.decoders.contract import N_POINTS, DecodedPath, Decoder, DecodeRequest, Status
from worldgauge.estimators.decoders.opening import decoder_names, open_decoder

__all__ = [
    "N_POINTS",
    "DecodeRequest",
    "DecodedPath",
    "Decoder",
    "Status",
    "as_json",
    "decode_cached",
    "decoder_names",
    "open_decoder",
    "path_of_json",
]
