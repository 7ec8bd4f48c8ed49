"""Sets that are single files: LPIPS, I3D, MUSIQ.

No digest here is from memory. LPIPS's heads were hashed as they lie in the wheels of lpips 0.1.4 and torchmetrics 1.9.0
on PyPI, which are equal. The others are printed, all 64 digits, by several public projects that do not know of each
other and check what they download from these addresses; where a file's name ends in digits, those are the first ones.
"""

from __future__ import annotations

from worldgauge.weights.weight_set import WeightFile, WeightSet

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
