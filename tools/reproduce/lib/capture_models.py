"""Small models of transformers, diffusers and timm with random weights, and arguments as their pages give them; and what other scripts
make models with, too: on_meta() and with_loss()."""
BATCH, LENGTH, WORDS = 4, 12, 120

# Sizes of a language model; each configuration takes those that it knows.
SIZES = {"vocab_size": WORDS, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2, "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
CAUSAL = {"llama": {}, "mistral": {}, "qwen2": {}, "qwen3": {"head_dim": 8}, "gemma": {"head_dim": 8}, "gemma2": {"head_dim": 8}, "gpt2": {},
          "gpt_neo": {"num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]]}, "gpt_neox": {}, "gptj": {"rotary_dim": 4},
          "opt": {"ffn_dim": 64, "word_embed_proj_dim": 32}, "bloom": {}, "falcon": {}, "phi": {}, "phi3": {}, "mixtral": {"num_local_experts": 4},
          "qwen2_moe": {"num_experts": 4, "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32}, "olmo": {}, "stablelm": {},
          "starcoder2": {}, "granite": {}, "cohere": {}}
MASKED = {"bert": {}, "roberta": {}, "distilbert": {"dim": 32, "hidden_dim": 64, "n_layers": 2, "n_heads": 4}, "albert": {"embedding_size": 16},
          "electra": {"embedding_size": 16}, "deberta": {}, "deberta-v2": {}, "mpnet": {}, "camembert": {}, "xlm-roberta": {},
          "modernbert": {"cls_token_id": 1, "sep_token_id": 2}}
_ENCODER_DECODER = {"d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4,
                    "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "decoder_start_token_id": 2}
TO_TEXT = {"t5": {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0},
           "bart": _ENCODER_DECODER, "mbart": _ENCODER_DECODER, "pegasus": _ENCODER_DECODER, "marian": _ENCODER_DECODER}
_PATCHES = {"image_size": 32, "patch_size": 8, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
            "num_labels": 5}
VISION = {"vit": _PATCHES, "deit": _PATCHES, "beit": _PATCHES, "dinov2": _PATCHES,
          "swin": {"image_size": 32, "patch_size": 4, "embed_dim": 16, "depths": [1, 1], "num_heads": [2, 4], "window_size": 4, "num_labels": 5},
          "convnext": {"hidden_sizes": [8, 16, 32, 32], "depths": [1, 1, 1, 1], "num_labels": 5}}

# By class: sizes, and the arguments of a call as shapes; "time" and "classes" are whole numbers for each example.
_BLOCKS = {"block_out_channels": (16, 32), "norm_num_groups": 4}
_UNET = _BLOCKS | {"sample_size": 16, "layers_per_block": 1}
_CROSS = {"cross_attention_dim": 16, "attention_head_dim": 4, "down_block_types": ("CrossAttnDownBlock2D", "DownBlock2D")}
_VAE = _BLOCKS | {"down_block_types": ("DownEncoderBlock2D",) * 2, "up_block_types": ("UpDecoderBlock2D",) * 2}
_HEADS = {"num_attention_heads": 2, "attention_head_dim": 16, "num_layers": 2}
_IMAGE, _LATENT, _TEXT = (3, 16, 16), (4, 16, 16), (6, 16)
DIFFUSERS = {
    "UNet2DModel": (_UNET | {"down_block_types": ("DownBlock2D", "AttnDownBlock2D"), "up_block_types": ("AttnUpBlock2D", "UpBlock2D"),
                             "attention_head_dim": 8}, {"sample": _IMAGE, "timestep": "time"}),
    "UNet2DConditionModel": (_UNET | _CROSS | {"up_block_types": ("UpBlock2D", "CrossAttnUpBlock2D")},
                             {"sample": _LATENT, "timestep": "time", "encoder_hidden_states": _TEXT}),
    "ControlNetModel": (_BLOCKS | _CROSS | {"layers_per_block": 1, "conditioning_embedding_out_channels": (8, 16)},
                        {"sample": _LATENT, "timestep": "time", "encoder_hidden_states": _TEXT, "controlnet_cond": (3, 32, 32)}),
    "UNet3DConditionModel": (_UNET | {"cross_attention_dim": 16, "attention_head_dim": 8,
                                      "down_block_types": ("CrossAttnDownBlock3D", "DownBlock3D"),
                                      "up_block_types": ("UpBlock3D", "CrossAttnUpBlock3D")},
                             {"sample": (4, 4, 16, 16), "timestep": "time", "encoder_hidden_states": _TEXT}),
    "UNet1DModel": ({"block_out_channels": (16, 32), "down_block_types": ("DownBlock1DNoSkip", "DownBlock1D"),
                     "up_block_types": ("UpBlock1D", "UpBlock1DNoSkip"), "in_channels": 4, "out_channels": 4, "extra_in_channels": 32,
                     "sample_size": 32}, {"sample": (4, 32), "timestep": "time"}),
    "AutoencoderKL": (_VAE, {"sample": (3, 32, 32)}),
    "AsymmetricAutoencoderKL": ({"down_block_types": ("DownEncoderBlock2D",) * 2, "down_block_out_channels": (16, 32), "norm_num_groups": 4,
                                 "up_block_types": ("UpDecoderBlock2D",) * 2, "up_block_out_channels": (16, 32)}, {"sample": (3, 32, 32)}),
    "AutoencoderTiny": ({"encoder_block_out_channels": (16, 16), "decoder_block_out_channels": (16, 16), "num_encoder_blocks": (1, 1),
                         "num_decoder_blocks": (1, 1)}, {"sample": (3, 32, 32)}),
    "VQModel": (_VAE | {"latent_channels": 3, "num_vq_embeddings": 32}, {"sample": (3, 32, 32)}),
    "DiTTransformer2DModel": (_HEADS | {"sample_size": 8, "in_channels": 4, "num_embeds_ada_norm": 1000},
                              {"hidden_states": (4, 8, 8), "timestep": "time", "class_labels": "classes"}),
    "Transformer2DModel": (_HEADS | {"in_channels": 32, "norm_num_groups": 4, "cross_attention_dim": 16},
                           {"hidden_states": (32, 8, 8), "encoder_hidden_states": _TEXT}),
    "PixArtTransformer2DModel": (_HEADS | {"sample_size": 8, "cross_attention_dim": 32, "caption_channels": 16, "use_additional_conditions": False},
                                 {"hidden_states": (4, 8, 8), "timestep": "time", "encoder_hidden_states": _TEXT}),
    "SD3Transformer2DModel": (_HEADS | {"sample_size": 8, "in_channels": 4, "joint_attention_dim": 16, "caption_projection_dim": 32,
                                        "pooled_projection_dim": 24, "out_channels": 4, "pos_embed_max_size": 8},
                              {"hidden_states": (4, 8, 8), "encoder_hidden_states": _TEXT, "pooled_projections": (24,), "timestep": "time"}),
    "PriorTransformer": (_HEADS | {"num_embeddings": 6, "embedding_dim": 16, "additional_embeddings": 4},
                         {"hidden_states": (16,), "timestep": "time", "proj_embedding": (16,), "encoder_hidden_states": (6, 16)}),
    "AuraFlowTransformer2DModel": ({"sample_size": 8, "patch_size": 2, "in_channels": 4, "num_mmdit_layers": 1, "num_single_dit_layers": 1,
                                    "attention_head_dim": 16, "num_attention_heads": 2, "joint_attention_dim": 16, "caption_projection_dim": 32,
                                    "pos_embed_max_size": 64}, {"hidden_states": (4, 8, 8), "encoder_hidden_states": _TEXT, "timestep": "fraction"}),
    "SanaTransformer2DModel": (_HEADS | {"sample_size": 8, "patch_size": 1, "in_channels": 4, "out_channels": 4, "num_cross_attention_heads": 2,
                                         "cross_attention_head_dim": 16, "cross_attention_dim": 32, "caption_channels": 16},
                               {"hidden_states": (4, 8, 8), "encoder_hidden_states": _TEXT, "timestep": "time"}),
    "CogVideoXTransformer3DModel": (_HEADS | {"in_channels": 4, "out_channels": 4, "time_embed_dim": 8, "text_embed_dim": 16, "sample_width": 8,
                                              "sample_height": 8, "sample_frames": 9, "max_text_seq_length": 6},
                                    {"hidden_states": (3, 4, 8, 8), "encoder_hidden_states": _TEXT, "timestep": "time"}),
}
TIMM = ("resnet18", "mobilenetv3_small_050", "efficientnet_b0", "convnext_atto", "vit_tiny_patch16_224", "deit_tiny_patch16_224", "mixer_s32_224",
        "resmlp_12_224", "poolformer_s12", "regnetx_002", "densenet121", "hrnet_w18_small", "levit_128s", "xcit_nano_12_p16_224", "ghostnet_050",
        "edgenext_xx_small", "mobilevit_xxs", "fastvit_t8", "pvt_v2_b0", "repvgg_a0", "swin_tiny_patch4_window7_224", "vgg11_bn")
NAMES = tuple(f"{library}/{name}" for library, names in (
    ("transformers", (*CAUSAL, *MASKED, *TO_TEXT, *VISION)), ("diffusers", DIFFUSERS), ("timm", TIMM)) for name in names)


def on_meta(build):
    """What `build` builds, on meta tensors."""
    import torch
    try:
        with torch.device("meta"):
            return build()
    except RuntimeError:  # It computes its sizes with tensors.
        return build().to("meta")


def mean_square(tensor):
    """A loss of a model's result, a tensor of any shape."""
    return tensor.float().square().mean()


def with_loss(model, output, loss=mean_square):
    """The model with a loss of what `output` takes from its result."""
    from torch import nn

    class Trained(nn.Module):
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *args, **kwargs):
            return loss(output(self.model(*args, **kwargs)))
    return Trained()


def of_transformers(name, train):
    """A model and a batch with padding, with labels to train."""
    import torch
    import transformers
    for known, auto in ((CAUSAL, transformers.AutoModelForCausalLM), (MASKED, transformers.AutoModelForMaskedLM),
                        (TO_TEXT, transformers.AutoModelForSeq2SeqLM), (VISION, transformers.AutoModelForImageClassification)):
        if name in known:
            sizes = known[name] if known is VISION else SIZES | known[name]
            model = auto.from_config(transformers.AutoConfig.for_model(name, **sizes)).train(train)
            break
    if name in VISION:
        batch = {"pixel_values": torch.randn(BATCH, 3, 32, 32)}
        labels = torch.randint(0, 5, (BATCH,))
    else:
        ids = torch.randint(3, WORDS, (BATCH, LENGTH))
        mask = torch.ones_like(ids)
        mask[1, -3:] = 0
        batch = {"input_ids": ids, "attention_mask": mask}
        labels = ids
        if name in TO_TEXT and not train:
            batch["decoder_input_ids"] = ids
    return model, (), batch | ({"labels": labels} if train else {})


def of_diffusers(name, train):
    import diffusers
    import torch
    sizes, arguments = DIFFUSERS[name]
    model = getattr(diffusers, name)(**sizes).train(train)
    make_argument = {"time": lambda: torch.randint(0, 1000, (BATCH,)), "classes": lambda: torch.randint(0, 1000, (BATCH,)),
                     "fraction": lambda: torch.rand(BATCH)}
    kwargs = {key: make_argument[shape]() if isinstance(shape, str) else torch.randn(BATCH, *shape) for key, shape in arguments.items()}
    if name == "VQModel" and train:
        kwargs["return_dict"] = False  # It gives its loss of the codes apart.
    if train:
        model = with_loss(model, _first_tensor)
    return model, (), kwargs


def _first_tensor(result):
    """The prediction of a model of diffusers."""
    import torch
    while not isinstance(result, torch.Tensor):
        result = result[0] if isinstance(result, (tuple, list)) else next(iter(result.values()))
    return result


def of_timm(name, train):
    import timm
    import torch
    size = 64
    try:
        model = timm.create_model(name, num_classes=5, img_size=size)
    except TypeError:  # Models of convolutions take any size.
        model = timm.create_model(name, num_classes=5)
        size = model.default_cfg["input_size"][-1] if model.default_cfg.get("fixed_input_size") else size
    labels = torch.arange(BATCH) % 5
    if train:
        model = with_loss(model, lambda result: result, lambda logits: torch.nn.functional.cross_entropy(logits, labels[:len(logits)]))
    return model.train(train), (torch.randn(BATCH, 3, size, size),), {}


def make(name, train):
    """(model, args, kwargs); with train, the model returns its loss."""
    library, _, model = name.partition("/")
    return {"transformers": of_transformers, "diffusers": of_diffusers, "timm": of_timm}[library](model, train)


def refuse_unknown(parser, models, known=NAMES):
    """Ends a script where a model is none of these."""
    unknown = set(models) - set(known)
    if unknown:
        parser.error(f"there is no model {min(unknown)}, expected some of {', '.join(known)}")
