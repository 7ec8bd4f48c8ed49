"""World decoders: the camera path that a video shows, in metres and on the ground (Target-Bench, world decoder).

Each is registered in `decoders` under its name and has the method `decode(DecodeRequest) -> DecodedPath`.
"""

from worldgauge.perception.decoders.cache import as_json, decode_cached, path_of_json
from worldgauge.perception.decoders.contract import (
    N_POINTS,
    DecodedPath,
    Decoder,
    DecodeRequest,
    Status,
    decoders,
    digest_of,
    open_decoder,
    settings_taken,
)

__all__ = [
    "N_POINTS",
    "DecodeRequest",
    "DecodedPath",
    "Decoder",
    "Status",
    "as_json",
    "decode_cached",
    "decoders",
    "digest_of",
    "open_decoder",
    "path_of_json",
    "settings_taken",
]
