"""Tiny pipelines of diffusers with random weights, really built, saved as a user's would be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

WORDS = ["[PAD]", "[UNK]", "</s>", "walk", "turn", "left", "right", "forward", "."]


def tiny_pipeline(kind: str, folder: Path) -> Path:
    """Write a pipeline of a kind: wan21, wan22, ti2v, skyreels, forcing, ltx, svd or cosmos."""
    import torch

    torch.manual_seed(0)
    kinds = (_wan21, _wan22, _ti2v, _skyreels, _forcing, _ltx, _svd, _cosmos)
    pipe = {make.__name__: make for make in kinds}[f"_{kind}"]()
    if kind == "cosmos":  # the makers' checker is no part of what is trained
        pipe.register_modules(safety_checker=None)
    pipe.save_pretrained(folder)
    return folder


def words() -> dict[str, Any]:
    """A text encoder and its tokenizer."""
    import tokenizers
    import transformers

    known = {word: number for number, word in enumerate(WORDS)}
    tokens = tokenizers.Tokenizer(tokenizers.models.WordLevel(known, unk_token="[UNK]"))
    tokens.normalizer = tokenizers.normalizers.Lowercase()
    tokens.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokens, pad_token="[PAD]", eos_token="</s>")
    sizes = {"vocab_size": len(WORDS), "d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}
    return {"tokenizer": fast, "sizes": {**sizes, "pad_token_id": 0}}


def _umt5() -> dict[str, Any]:
    import transformers

    made = words()
    config = transformers.UMT5Config(**made["sizes"])
    return {"tokenizer": made["tokenizer"], "text_encoder": transformers.UMT5EncoderModel(config)}


def _clip() -> dict[str, Any]:
    import transformers

    vision = transformers.CLIPVisionConfig(
        hidden_size=4,
        projection_dim=4,
        num_hidden_layers=2,
        num_attention_heads=2,
        image_size=32,
        intermediate_size=16,
        patch_size=16,
    )
    return {
        "image_encoder": transformers.CLIPVisionModel(vision),
        "image_processor": transformers.CLIPImageProcessor(crop_size=32, size=32),
    }


def _vae(planes: int = 4) -> Any:
    import diffusers

    return diffusers.AutoencoderKLWan(
        base_dim=3,
        z_dim=planes,
        dim_mult=[1, 1, 1, 1],
        num_res_blocks=1,
        temperal_downsample=[False, True, True],
        latents_mean=[0.1] * planes,
        latents_std=[1.5] * planes,
    )


def _transformer(kind: Any, **sizes: Any) -> Any:
    usual = {
        "patch_size": (1, 2, 2),
        "num_attention_heads": 2,
        "attention_head_dim": 12,
        "out_channels": 4,
        "text_dim": 16,
        "freq_dim": 16,
        "ffn_dim": 16,
        "num_layers": 2,
        "cross_attn_norm": True,
        "qk_norm": "rms_norm_across_heads",
        "rope_max_seq_len": 32,
    }
    return kind(**{**usual, **sizes})


def _flow() -> Any:
    import diffusers

    return diffusers.FlowMatchEulerDiscreteScheduler(shift=5.0)


def _unipc() -> Any:
    import diffusers

    return diffusers.UniPCMultistepScheduler(flow_shift=5.0, use_flow_sigmas=True, prediction_type="flow_prediction")


def _wan21() -> Any:
    import diffusers

    return diffusers.WanImageToVideoPipeline(
        vae=_vae(),
        scheduler=_flow(),
        transformer=_transformer(diffusers.WanTransformer3DModel, in_channels=12, image_dim=4),
        **_umt5(),
        **_clip(),
    )


def _wan22() -> Any:
    import diffusers

    both = [_transformer(diffusers.WanTransformer3DModel, in_channels=12) for _ in range(2)]
    parts = {"vae": _vae(), "scheduler": _flow(), "transformer": both[0], "transformer_2": both[1], **_umt5()}
    return diffusers.WanImageToVideoPipeline(boundary_ratio=0.9, image_encoder=None, image_processor=None, **parts)


def _ti2v() -> Any:
    import diffusers

    parts = {
        "vae": _vae(),
        "scheduler": _flow(),
        "transformer": _transformer(diffusers.WanTransformer3DModel, in_channels=4),
        **_umt5(),
    }
    return diffusers.WanImageToVideoPipeline(expand_timesteps=True, image_encoder=None, image_processor=None, **parts)


def _skyreels() -> Any:
    import diffusers

    return diffusers.SkyReelsV2ImageToVideoPipeline(
        vae=_vae(),
        scheduler=_unipc(),
        transformer=_transformer(diffusers.SkyReelsV2Transformer3DModel, in_channels=12, image_dim=4),
        **_umt5(),
        **_clip(),
    )


def _forcing() -> Any:
    import diffusers

    return diffusers.SkyReelsV2DiffusionForcingImageToVideoPipeline(
        vae=_vae(),
        scheduler=_unipc(),
        transformer=_transformer(diffusers.SkyReelsV2Transformer3DModel, in_channels=4, inject_sample_info=False),
        **_umt5(),
    )


def _t5() -> dict[str, Any]:
    import transformers

    made = words()
    config = transformers.T5Config(**made["sizes"])
    return {"tokenizer": made["tokenizer"], "text_encoder": transformers.T5EncoderModel(config)}


def _ltx() -> Any:
    import diffusers

    blocks = (8, 8, 8, 8)
    return diffusers.LTXImageToVideoPipeline(
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(),
        vae=diffusers.AutoencoderKLLTXVideo(
            latent_channels=8,
            block_out_channels=blocks,
            decoder_block_out_channels=blocks,
            layers_per_block=(1,) * 5,
            decoder_layers_per_block=(1,) * 5,
        ),
        transformer=diffusers.LTXVideoTransformer3DModel(
            in_channels=8,
            out_channels=8,
            num_attention_heads=2,
            attention_head_dim=8,
            cross_attention_dim=16,
            num_layers=1,
            caption_channels=16,
        ),
        **_t5(),
    )


def _svd() -> Any:
    import diffusers
    import transformers

    vision = transformers.CLIPVisionConfig(
        hidden_size=16,
        projection_dim=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        patch_size=32,
    )
    return diffusers.StableVideoDiffusionPipeline(
        vae=diffusers.AutoencoderKLTemporalDecoder(
            block_out_channels=(32, 32), down_block_types=("DownEncoderBlock2D",) * 2, latent_channels=4
        ),
        image_encoder=transformers.CLIPVisionModelWithProjection(vision),
        unet=diffusers.UNetSpatioTemporalConditionModel(
            sample_size=16,
            block_out_channels=(32, 32),
            down_block_types=("CrossAttnDownBlockSpatioTemporal", "DownBlockSpatioTemporal"),
            up_block_types=("UpBlockSpatioTemporal", "CrossAttnUpBlockSpatioTemporal"),
            cross_attention_dim=16,
            num_attention_heads=2,
            layers_per_block=1,
            projection_class_embeddings_input_dim=96,
            addition_time_embed_dim=32,
        ),
        scheduler=diffusers.EulerDiscreteScheduler(
            prediction_type="v_prediction", timestep_type="continuous", use_karras_sigmas=True, sigma_max=700.0
        ),
        feature_extractor=transformers.CLIPImageProcessor(crop_size=32, size=32),
    )


def _cosmos() -> Any:
    import diffusers

    from worldgauge_train.nets.brought_pipelines import Unwatched

    return diffusers.Cosmos2VideoToWorldPipeline(
        vae=_vae(),
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(use_karras_sigmas=True),
        transformer=diffusers.CosmosTransformer3DModel(
            in_channels=5,
            out_channels=4,
            num_attention_heads=2,
            attention_head_dim=16,
            num_layers=2,
            mlp_ratio=2,
            text_embed_dim=16,
            adaln_lora_dim=4,
            max_size=(4, 32, 32),
            patch_size=(1, 2, 2),
            rope_scale=(1.0, 4.0, 4.0),
            concat_padding_mask=False,
            extra_pos_embed_type=None,
        ),
        safety_checker=Unwatched(),
        **_t5(),
    )
