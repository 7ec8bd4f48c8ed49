"""Every set of weights that the networks can load: its owner, its licence, and the bytes it must have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class WeightFile:
    """One file of a set.

    Attributes:
        sha256: Digest in hexadecimal: all 64 digits, or the first ones when only they are published. Empty when none
            are; then the first copy that is downloaded is recorded, and later copies must be equal to it.
    """

    name: str
    url: str
    bytes: int | None = None
    sha256: str = ""

    @property
    def published(self) -> bool:
        """Whether the whole digest is known before the download."""
        return len(self.sha256) == 64


@dataclass(frozen=True)
class WeightSet:
    """The files that one network loads.

    Attributes:
        licence: Short name of the licence, as the owner writes it.
        gated: Whether the owner requires an account that has accepted the licence.
        runs_code: Whether a file is a program (TorchScript), which is run only when its digest is known.
    """

    name: str
    title: str
    source: str
    licence: str
    serves: tuple[str, ...]
    files: tuple[WeightFile, ...]
    gated: bool = False
    runs_code: bool = False

    @property
    def bytes(self) -> int | None:
        """Size of all files; None when one of them is not known in advance."""
        sizes = [file.bytes for file in self.files]
        return None if None in sizes else sum(size for size in sizes if size is not None)


# Sets that are single files. No digest here is from memory: LPIPS's heads were hashed as they lie in the wheels of
# lpips 0.1.4 and torchmetrics 1.9.0 on PyPI, which are equal. The others are printed, all 64 digits, by several public
# projects that check what they download from these addresses; digits that end a file's name are the first of them.
_TORCHVISION = "https://download.pytorch.org/models"
_LPIPS = (
    "https://raw.githubusercontent.com/richzhang/PerceptualSimilarity/"
    "082bb24f84c091ea94de2867d34c4544f68e0963/lpips/weights/v0.1"
)

FILE_SETS = (
    WeightSet(
        name="lpips-alex",
        title="LPIPS 0.1 on AlexNet",
        source="https://github.com/richzhang/PerceptualSimilarity",
        licence="BSD-2-Clause (LPIPS), BSD-3-Clause (torchvision's AlexNet)",
        serves=("lpips",),
        files=(
            WeightFile(
                "alexnet-owt-7be5be79.pth",
                f"{_TORCHVISION}/alexnet-owt-7be5be79.pth",
                244_408_911,
                "7be5be791159472b1fbf3c69796f7cb30dca7ad8466c2df70058c37116cdee02",
            ),
            WeightFile(
                "alex.pth",
                f"{_LPIPS}/alex.pth",
                6_009,
                "df73285e35b22355a2df87cdb6b70b343713b667eddbda73e1977e0c860835c0",
            ),
        ),
    ),
    WeightSet(
        name="lpips-vgg",
        title="LPIPS 0.1 on VGG-16",
        source="https://github.com/richzhang/PerceptualSimilarity",
        licence="BSD-2-Clause (LPIPS), BSD-3-Clause (torchvision's VGG-16)",
        serves=("lpips",),
        files=(
            WeightFile(
                "vgg16-397923af.pth",
                f"{_TORCHVISION}/vgg16-397923af.pth",
                553_433_881,
                "397923af8e79cdbb6a7127f12361acd7a2f83e06b05044ddf496e83de57a5bf0",
            ),
            WeightFile(
                "vgg.pth",
                f"{_LPIPS}/vgg.pth",
                7_289,
                "a78928a0af1e5f0fcb1f3b9e8f8c3a2a5a3de244d830ad5c1feddc79b8432868",
            ),
        ),
    ),
    WeightSet(
        name="i3d",
        title="I3D of Kinetics-400 as a TorchScript program",
        source="https://github.com/universome/fvd-comparison",
        licence="none stated",
        serves=("fvd", "fvd_pair"),
        files=(
            WeightFile(
                "i3d_torchscript.pt",
                "https://www.dropbox.com/s/ge9e5ujwgetktms/i3d_torchscript.pt?dl=1",
                51_235_320,
                "bec6519f66ea534e953026b4ae2c65553c17bf105611c746d904657e5860a5e2",
            ),
        ),
        runs_code=True,
    ),
    WeightSet(
        name="musiq-spaq",
        title="MUSIQ trained on SPAQ",
        source="https://huggingface.co/chaofengc/IQA-PyTorch-Weights",
        licence="CC-BY-NC-SA-4.0",
        serves=("imaging",),
        files=(
            WeightFile(
                "musiq_spaq_ckpt-358bb6af.pth",
                "https://github.com/chaofengc/IQA-PyTorch/releases/download/v0.1-weights/musiq_spaq_ckpt-358bb6af.pth",
                None,  # printed nowhere to the byte
                "358bb6af275e28ea56821d44fb55c6cb83645db11f394d3ad65b2d149965ab50",
            ),
        ),
    ),
)


# Sets as their owners keep them on the Hugging Face hub: always one revision, so that no file can change. Only what is
# read is fetched: config.json, model.safetensors, and tokenizer.json where text is encoded. Digests and sizes are those
# that several public projects print for that revision; where none is certain, the first copy that comes is recorded.
_HUB = "https://huggingface.co"
_CLIP = f"{_HUB}/openai/clip-vit-large-patch14/resolve/32bd64288804d66eefd0ccbe215aa642df71cc41"
_DINOV2 = f"{_HUB}/facebook/dinov2-with-registers-base/resolve/a1d738ccfa7ae170945f210395d99dde8adb1805"
_DINOV3 = f"{_HUB}/facebook/dinov3-vitb16-pretrain-lvd1689m/resolve/5931719e67bbdb9737e363e781fb0c67687896bc"
_SAM2 = f"{_HUB}/facebook/sam2.1-hiera-large/resolve/665f8e2ad61cf5f53d65644ff27c8ee525124610"
_SAM3 = f"{_HUB}/facebook/sam3/resolve/3c879f39826c281e95690f02c7821c4de09afae7"
_GROUNDING = f"{_HUB}/IDEA-Research/grounding-dino-base/resolve/12bdfa3120f3e7ec7b434d90674b3396eccf88eb"
_DEPTH = (
    f"{_HUB}/depth-anything/Depth-Anything-V2-Metric-Outdoor-Small-hf/resolve/fd2c22027eaf20374204f14099b8341e1925ad39"
)


def _file(root: str, name: str, bytes: int | None = None, sha256: str = "") -> WeightFile:
    return WeightFile(name, f"{root}/{name}", bytes, sha256)


HUB_SETS = (
    WeightSet(
        name="dinov3-b16",
        title="DINOv3 ViT-B/16",
        source="https://huggingface.co/facebook/dinov3-vitb16-pretrain-lvd1689m",
        licence="DINOv3 License",
        serves=("dino_mse",),
        files=(
            _file(_DINOV3, "config.json"),
            _file(
                _DINOV3,
                "model.safetensors",
                342_662_192,
                "9a21ac3df0c63839d62612dda6f454d816c25611cc7a52966ed5a5a94921dc8b",
            ),
        ),
        gated=True,
    ),
    WeightSet(
        name="dinov2-b14",
        title="DINOv2 ViT-B/14 with registers",
        source="https://huggingface.co/facebook/dinov2-with-registers-base",
        licence="Apache-2.0",
        serves=("dino_mse",),
        files=(
            _file(_DINOV2, "config.json", None, "6af60aa760138fc90db0ba37b7701730b140b9bf1742514412d03050e72bf7e0"),
            _file(
                _DINOV2, "model.safetensors", None, "7a6f7b3b9fa4b8732e707476a03cd6cdce210048582f21aafb7991c17d98e362"
            ),
        ),
    ),
    WeightSet(
        name="clip-laion",
        title="CLIP ViT-L/14 and LAION's linear aesthetic head",
        source="https://huggingface.co/openai/clip-vit-large-patch14",
        licence="none stated on the page, MIT in CLIP's repository; MIT (LAION's head)",
        serves=("aesthetic",),
        files=(
            _file(_CLIP, "config.json", 4_519, "8a09b467700c58138c29d53c605b34ebc69beaadd13274a8a2af8ad2c2f4032a"),
            _file(
                _CLIP,
                "model.safetensors",
                1_710_540_580,
                "a2bf730a0c7debf160f7a6b50b3aaf3703e7e88ac73de7a314903141db026dcb",
            ),
            WeightFile(
                "sa_0_4_vit_l_14_linear.pth",
                "https://raw.githubusercontent.com/LAION-AI/aesthetic-predictor/main/sa_0_4_vit_l_14_linear.pth",
                4_071,
                "2cd4e60f4f24ae3bcd57b847b13c1f3ba27edc28cc1a7f9ce74ee9f421243cba",
            ),
        ),
    ),
    WeightSet(
        name="sam3",
        title="SAM 3, masks of what words name",
        source="https://huggingface.co/facebook/sam3",
        licence="SAM License",
        serves=("sgcs",),
        files=(
            _file(_SAM3, "config.json", 25_843, "4616385e4b21f2e5e22c875b65679185cbccfa95de42542b9166f7dc3d57160f"),
            _file(
                _SAM3,
                "model.safetensors",
                3_439_938_512,
                "6d06f0a5f84e435071fe6603e61d0b4cc7b40e0d39d487cfd4d67d8cc11cc14a",
            ),
            _file(
                _SAM3, "tokenizer.json", 3_642_073, "6d9109cc838977f3ca94a379eec36aecc7c807e1785cd729660ca2fc0171fb35"
            ),
        ),
        gated=True,
    ),
    WeightSet(
        name="sam2",
        title="SAM 2.1 Hiera-L, boxes followed through a clip",
        source="https://huggingface.co/facebook/sam2.1-hiera-large",
        licence="Apache-2.0",
        serves=("box-tracking", "landmarks"),
        files=(
            _file(_SAM2, "config.json", 5_705, "00446988cf4d617118d2d347eabe2c46aebed744628facdd540508be30b69ec3"),
            _file(
                _SAM2,
                "model.safetensors",
                897_897_416,
                "dc407dce21301fd94abb395c5099b4f2c455fdc8a8f261ac3d0ea6d4cd197230",
            ),
        ),
    ),
    WeightSet(
        name="grounding-dino",
        title="Grounding DINO base, boxes of what words name",
        source="https://huggingface.co/IDEA-Research/grounding-dino-base",
        licence="Apache-2.0",
        serves=("landmarks",),
        files=(
            _file(_GROUNDING, "config.json", 1_737, "eda416dae6f49419ff831b1c190ec430a060b19aae688dbaf2425a075b650608"),
            _file(
                _GROUNDING,
                "model.safetensors",
                933_400_872,
                "5548f844c928c4b6f411fa8cbcc2bfa8dbbba437cb1d513975519f93c2a9ed21",
            ),
            _file(
                _GROUNDING,
                "tokenizer.json",
                711_396,
                "d241a60d5e8f04cc1b2b3e9ef7a4921b27bf526d9f6050ab90f9267a1f9e5c66",
            ),
        ),
    ),
    WeightSet(
        name="depth-anything",
        title="Depth Anything V2 small, outdoors, in metres",
        source="https://huggingface.co/depth-anything/Depth-Anything-V2-Metric-Outdoor-Small-hf",
        licence="none stated on the page, Apache-2.0 in its repository for small models",
        serves=("depth",),
        files=(
            _file(_DEPTH, "config.json", 1_063),
            _file(
                _DEPTH,
                "model.safetensors",
                99_173_660,
                "ad065c77a7421ca55159a1f0db9433397a607690f2d76bb8a6fc54b1be7a3124",
            ),
        ),
    ),
)

catalogue: Mapping[str, WeightSet] = {each.name: each for each in (*FILE_SETS, *HUB_SETS)}
"""Every set by its name."""
