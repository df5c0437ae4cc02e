"""The models from which corpus.py captures graphs, and which part of the corpus each is in. All of them are on meta tensors, with
random sizes of language models. Architectures of one part are in no other part, and none is one of those that no training may see:
ResNet, DenseNet, Inception, VGG, AlexNet, SqueezeNet, ShuffleNet, ZFNet, GNMT, plain BERT (simulator/instances/README.md)."""
from lib.capture_models import on_meta, with_loss

BATCH = 16  # Examples of a step, in all micro-batches together.
TOKENS = 128  # Length of a sequence.
WORDS = 8192  # Vocabulary of language models.
HEAD = 64  # Width of a head.
LANGUAGE_SIZES = ((2, 256), (4, 512), (12, 768))  # Layers and width.

VISION = {
    "train": {
        "torchvision": ("mobilenet_v2", "mobilenet_v3_small", "mobilenet_v3_large", "mnasnet0_5", "mnasnet1_3", "efficientnet_b0",
                        "efficientnet_b3", "efficientnet_v2_s", "convnext_tiny", "convnext_small", "vit_b_16", "vit_b_32", "maxvit_t"),
        "timm": ("mobilenetv4_conv_small", "mobilenetv4_hybrid_medium", "efficientnet_lite0", "tinynet_a", "fbnetc_100", "hardcorenas_a",
                 "rexnet_100", "convnext_atto", "convnextv2_femto", "vit_tiny_patch16_224", "deit_tiny_patch16_224", "deit3_small_patch16_224",
                 "cait_xxs24_224", "beit_base_patch16_224", "crossvit_tiny_240", "levit_128s", "levit_256", "coat_lite_tiny", "coatnet_nano_rw_224",
                 "convit_tiny", "visformer_tiny", "tiny_vit_5m_224", "efficientformer_l1", "efficientvit_b0", "edgenext_xx_small",
                 "mobilevit_xxs", "mobilevitv2_050", "fastvit_t8", "repghostnet_050", "ghostnet_050", "ghostnetv2_100", "xcit_nano_12_p16_224",
                 "mixer_s32_224", "resmlp_12_224", "gmlp_s16_224", "gmixer_24_224", "convmixer_768_32", "nfnet_f0", "dm_nfnet_f1",
                 "cspdarknet53", "darknet53", "dla34", "dla60", "ese_vovnet19b_dw", "ese_vovnet39b", "hgnet_tiny", "selecsls42b"),
    },
    "validation": {
        "torchvision": ("swin_t", "swin_s", "swin_v2_t"),
        "timm": ("swin_tiny_patch4_window7_224", "swinv2_tiny_window8_256", "regnetx_002", "regnety_016", "poolformer_s12", "poolformerv2_s12",
                 "pvt_v2_b0", "pvt_v2_b2", "volo_d1_224"),
    },
    "test": {
        "torchvision": (),
        "timm": ("hrnet_w18_small", "hrnet_w18", "twins_svt_small", "twins_pcpvt_small", "nest_tiny", "pit_xs_224", "focalnet_tiny_srf",
                 "davit_tiny", "mvitv2_tiny", "sequencer2d_s", "starnet_s1"),
    },
}
PLAIN_MASK = ("bloom", "falcon")  # They make a whole mask themselves.
CAUSAL, MASKED, TO_TEXT = "CausalLM", "MaskedLM", "Seq2SeqLM"  # Auto classes of transformers.
LANGUAGE = {
    "train": {"gpt2": CAUSAL, "gpt_neo": CAUSAL, "opt": CAUSAL, "llama": CAUSAL, "mistral": CAUSAL, "mixtral": CAUSAL, "qwen2": CAUSAL,
              "gemma": CAUSAL, "olmo": CAUSAL, "phi3": CAUSAL, "starcoder2": CAUSAL, "cohere": CAUSAL, "roberta": MASKED, "distilbert": MASKED,
              "albert": MASKED, "electra": MASKED, "mpnet": MASKED, "bart": TO_TEXT, "pegasus": TO_TEXT, "marian": TO_TEXT},
    "validation": {"bloom": CAUSAL, "falcon": CAUSAL, "modernbert": MASKED},
    "test": {"gpt_neox": CAUSAL, "gptj": CAUSAL, "deberta-v2": MASKED, "t5": TO_TEXT},
}


def models():
    """(part, library, model) of all, with libraries in turn, so that the first ones are of all kinds."""
    columns = []
    for part, by_library in VISION.items():
        columns += [[(part, library, name) for name in names] for library, names in by_library.items()]
    for part, names in LANGUAGE.items():
        columns.append([(part, "transformers", f"{name}_{layers}x{width}") for layers, width in LANGUAGE_SIZES for name in names])
    return [column[row] for row in range(max(map(len, columns))) for column in columns if row < len(column)]


def _own_sizes(name, layers, width):
    """What a configuration calls otherwise, or has besides."""
    heads = width // HEAD
    encoder_decoder = {"d_model": width, "encoder_layers": layers, "decoder_layers": layers, "encoder_attention_heads": heads,
                       "decoder_attention_heads": heads, "encoder_ffn_dim": 4 * width, "decoder_ffn_dim": 4 * width, "decoder_start_token_id": 2}
    return {"gemma": {"head_dim": HEAD}, "mixtral": {"num_local_experts": 4}, "gptj": {"rotary_dim": HEAD // 4},
            "gpt_neo": {"num_layers": layers, "num_heads": heads, "attention_types": [[["global", "local"], layers // 2]]},
            "opt": {"ffn_dim": 4 * width, "word_embed_proj_dim": width},
            "distilbert": {"dim": width, "hidden_dim": 4 * width, "n_layers": layers, "n_heads": heads},
            "albert": {"embedding_size": 128}, "electra": {"embedding_size": 128}, "modernbert": {"cls_token_id": 1, "sep_token_id": 2},
            "t5": {"d_model": width, "d_kv": HEAD, "d_ff": 4 * width, "num_layers": layers, "num_heads": heads, "decoder_start_token_id": 0},
            "bart": encoder_decoder, "pegasus": encoder_decoder, "marian": encoder_decoder}.get(name, {})


def _vision(library, name, train):
    import torch
    if library == "torchvision":
        import torchvision
        model = on_meta(lambda: torchvision.models.get_model(name, weights=None))
        size = 256 if name == "swin_v2_t" else 224
    else:
        import timm
        model = on_meta(lambda: timm.create_model(name))
        size = model.default_cfg["input_size"][-1]
    model.train(train)
    return with_loss(model, lambda result: result) if train else model, (torch.empty(BATCH, 3, size, size, device="meta"),), {}


def _language(name, train):
    import torch
    import transformers
    name, _, size = name.rpartition("_")
    layers, width = map(int, size.split("x"))
    sizes = {"vocab_size": WORDS, "hidden_size": width, "intermediate_size": 4 * width, "num_hidden_layers": layers,
             "num_attention_heads": width // HEAD, "num_key_value_heads": width // HEAD // 2, "max_position_embeddings": 512,
             "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "use_cache": False} | _own_sizes(name, layers, width)
    kind = next(kinds[name] for kinds in LANGUAGE.values() if name in kinds)
    auto = getattr(transformers, f"AutoModelFor{kind}")
    model = on_meta(lambda: auto.from_config(transformers.AutoConfig.for_model(name, **sizes))).train(train)
    ids = torch.empty(BATCH, TOKENS, dtype=torch.long, device="meta")
    batch = {"input_ids": ids}
    if kind != TO_TEXT:
        # A whole mask: without one, the models look at the values of what they are given.
        shape = (BATCH, TOKENS) if name in PLAIN_MASK else (BATCH, 1, TOKENS, TOKENS)
        batch["attention_mask"] = torch.empty(shape, device="meta")
    elif not train:
        batch["decoder_input_ids"] = ids
    return model, (), batch | ({"labels": ids} if train else {})


def make(library, name, train):
    """(model, args, kwargs) on meta tensors; with train, the model returns its loss."""
    return _language(name, train) if library == "transformers" else _vision(library, name, train)
