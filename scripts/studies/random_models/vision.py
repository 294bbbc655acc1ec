"""Models of images and sounds of transformers and timm from configurations: random weights, small widths."""

import torch
import transformers
from language import GROUPED, LENGTH, SMALL, tokens

IMAGE = {"image_size": 32, "patch_size": 8, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
         "intermediate_size": 64}
CLIP_TEXT = {**SMALL, "projection_dim": 16}
# name: (class of the model, its configuration, the size of the image)
IMAGES = {
    "vit": ("ViTModel", IMAGE, 32),
    "deit": ("DeiTModel", IMAGE, 32),
    "beit": ("BeitModel", {**IMAGE, "use_relative_position_bias": True}, 32),
    "dinov2": ("Dinov2Model", {**IMAGE, "mlp_ratio": 2}, 32),
    "siglip_vision": ("SiglipVisionModel", IMAGE, 32),
    "clip_vision": ("CLIPVisionModel", {**IMAGE, "projection_dim": 16}, 32),
    "swin": ("SwinModel", {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [2, 2], "num_heads": [2, 4],
                           "window_size": 4}, 32),
    "convnext": ("ConvNextModel", {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 2, 1]}, 64),
    "convnextv2": ("ConvNextV2Model", {"hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 2, 1]}, 64),
    "resnet": ("ResNetModel", {"embedding_size": 8, "hidden_sizes": [8, 16, 24, 32], "depths": [1, 1, 1, 1]}, 64),
    "mobilenet_v2": ("MobileNetV2Model", {"depth_multiplier": 0.25, "image_size": 64}, 64),
    "segformer": ("SegformerModel", {"hidden_sizes": [8, 16, 16, 32], "depths": [1, 1, 1, 1],
                                     "num_attention_heads": [1, 2, 2, 4], "decoder_hidden_size": 32}, 64),
    "poolformer": ("PoolFormerModel", {"hidden_sizes": [8, 16, 16, 32], "depths": [1, 1, 1, 1]}, 64),
}
TIMM = ["vit_tiny_patch16_224", "resnet18", "mobilenetv3_small_050", "efficientnet_b0", "regnetx_002",
        "convnext_atto", "ghostnet_050", "xcit_nano_12_p16_224", "pit_ti_224", "levit_128s", "edgenext_xx_small",
        "densenet121", "mixer_s32_224"]


def picture(side, batch=1):
    return torch.rand(batch, 3, side, side) * 2 - 1


def of_image(class_name, settings, side):
    model_class = getattr(transformers, class_name)
    return model_class(model_class.config_class(**settings)), {"pixel_values": picture(side)}


def of_timm(name):
    import timm

    return timm.create_model(name, pretrained=False), (picture(224),)


def of_text(class_name, settings):
    model_class = getattr(transformers, class_name)
    return model_class(model_class.config_class(**settings)), {"input_ids": tokens()}


def whisper():
    config = transformers.WhisperConfig(
        vocab_size=120, num_mel_bins=8, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=64, decoder_ffn_dim=64, max_source_positions=20,
        max_target_positions=20, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1,
        use_cache=False)
    return transformers.WhisperForConditionalGeneration(config), {
        "input_features": torch.randn(2, 8, 40), "decoder_input_ids": tokens(LENGTH)}


def wav2vec2():
    config = transformers.Wav2Vec2Config(
        **SMALL, conv_dim=(16, 16), conv_kernel=(10, 3), conv_stride=(5, 2), num_conv_pos_embeddings=4,
        num_conv_pos_embedding_groups=2, num_feat_extract_layers=2)
    return transformers.Wav2Vec2Model(config), {"input_values": torch.randn(1, 400)}


def llava():
    """A tower of images, a projector, and a decoder of text with places for the image."""
    config = transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(**IMAGE, projection_dim=16),
        text_config=transformers.LlamaConfig(**GROUPED), image_token_id=3, image_seq_length=16,
        vision_feature_layer=-1, use_cache=False)
    given = torch.full((1, 24), 5)
    given[0, 2:18] = 3
    return transformers.LlavaForConditionalGeneration(config), {"input_ids": given, "pixel_values": picture(32)}


MODELS = {**{name: (lambda row=row: of_image(*row)) for name, row in IMAGES.items()},
          **{f"timm_{name}": (lambda name=name: of_timm(name)) for name in TIMM},
          "clip_text": lambda: of_text("CLIPTextModel", CLIP_TEXT),
          "siglip_text": lambda: of_text("SiglipTextModel", CLIP_TEXT),
          "whisper": whisper, "wav2vec2": wav2vec2, "llava": llava}
