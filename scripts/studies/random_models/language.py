"""Language models of transformers from configurations: random weights, small widths, two layers.

MODELS maps a name to a function that returns a module and the inputs that it is exported with.
"""

import torch
import transformers

VOCABULARY, LENGTH = 120, 12
SMALL = {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
         "intermediate_size": 64, "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1,
         "eos_token_id": 2}
GROUPED = {**SMALL, "num_key_value_heads": 2}
WIDE_HEADS = {**GROUPED, "head_dim": 8}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
DEEPSEEK = {"q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8,
            "n_routed_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "n_group": 2,
            "topk_group": 1, "first_k_dense_replace": 1, "n_shared_experts": 1}
GPT = {"vocab_size": VOCABULARY, "n_positions": 64, "n_embd": 32, "n_layer": 2, "n_head": 4, "bos_token_id": 1,
       "eos_token_id": 2}
# name: (class of the model, its configuration)
DECODERS = {
    "gpt2": ("GPT2LMHeadModel", GPT),
    "gptj": ("GPTJForCausalLM", {**GPT, "rotary_dim": 4}),
    "gpt_bigcode": ("GPTBigCodeForCausalLM", GPT),
    "codegen": ("CodeGenForCausalLM", {**GPT, "rotary_dim": 4}),
    "gpt_neo": ("GPTNeoForCausalLM", {"vocab_size": VOCABULARY, "hidden_size": 32, "num_layers": 2, "num_heads": 4,
                                      "attention_types": [[["global", "local"], 1]],
                                      "max_position_embeddings": 64, "window_size": 4}),
    "gpt_neox": ("GPTNeoXForCausalLM", SMALL),
    "opt": ("OPTForCausalLM", {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2,
                               "num_attention_heads": 4, "ffn_dim": 64, "max_position_embeddings": 64,
                               "word_embed_proj_dim": 32}),
    "bloom": ("BloomForCausalLM", {"vocab_size": VOCABULARY, "hidden_size": 32, "n_layer": 2, "n_head": 4}),
    "falcon": ("FalconForCausalLM", {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2,
                                     "num_attention_heads": 4}),
    "mpt": ("MptForCausalLM", {"vocab_size": VOCABULARY, "d_model": 32, "n_heads": 4, "n_layers": 2,
                               "max_seq_len": 64}),
    "llama": ("LlamaForCausalLM", GROUPED),
    "mistral": ("MistralForCausalLM", {**GROUPED, "sliding_window": 8}),
    "qwen2": ("Qwen2ForCausalLM", GROUPED),
    "qwen3": ("Qwen3ForCausalLM", WIDE_HEADS),
    "gemma": ("GemmaForCausalLM", WIDE_HEADS),
    "gemma2": ("Gemma2ForCausalLM", {**WIDE_HEADS, "sliding_window": 8}),
    "gemma3": ("Gemma3ForCausalLM", {**WIDE_HEADS, "sliding_window": 8}),
    "phi": ("PhiForCausalLM", SMALL),
    "phi3": ("Phi3ForCausalLM", GROUPED),
    "olmo2": ("Olmo2ForCausalLM", GROUPED),
    "stablelm": ("StableLmForCausalLM", GROUPED),
    "cohere": ("CohereForCausalLM", GROUPED),
    "glm4": ("Glm4ForCausalLM", WIDE_HEADS),
    "granite": ("GraniteForCausalLM", GROUPED),
    "smollm3": ("SmolLM3ForCausalLM", GROUPED),
    "mixtral": ("MixtralForCausalLM", {**GROUPED, "num_local_experts": 4, "num_experts_per_tok": 2}),
    "olmoe": ("OlmoeForCausalLM", {**GROUPED, "num_experts": 4, "num_experts_per_tok": 2}),
    "qwen3_moe": ("Qwen3MoeForCausalLM", {**WIDE_HEADS, **EXPERTS}),
    "gpt_oss": ("GptOssForCausalLM", {**WIDE_HEADS, "num_local_experts": 4, "num_experts_per_tok": 2,
                                      "sliding_window": 8}),
    "deepseek_v3": ("DeepseekV3ForCausalLM", {**SMALL, "num_key_value_heads": 4, **DEEPSEEK}),
    "mamba": ("MambaForCausalLM", {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2,
                                   "state_size": 8, "time_step_rank": 4}),
    "rwkv": ("RwkvForCausalLM", {"vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2,
                                 "attention_hidden_size": 32, "intermediate_size": 64, "context_length": 64}),
}
ENCODERS = {
    "bert": ("BertModel", SMALL),
    "bert_masked": ("BertForMaskedLM", SMALL),
    "roberta": ("RobertaModel", SMALL),
    "distilbert": ("DistilBertModel", {"vocab_size": VOCABULARY, "dim": 32, "n_layers": 2, "n_heads": 4,
                                       "hidden_dim": 64, "max_position_embeddings": 64}),
    "electra": ("ElectraModel", {**SMALL, "embedding_size": 16}),
    "albert": ("AlbertModel", {**SMALL, "embedding_size": 16}),
    "mobilebert": ("MobileBertModel", {**SMALL, "embedding_size": 32, "true_hidden_size": 32,
                                       "intra_bottleneck_size": 32}),
    "deberta_v2": ("DebertaV2Model", {**SMALL, "relative_attention": True, "max_relative_positions": 16,
                                      "pos_att_type": ["p2c", "c2p"]}),
    "mpnet": ("MPNetModel", SMALL),
    "modernbert": ("ModernBertModel", {**SMALL, "local_attention": 8}),
    "squeezebert": ("SqueezeBertModel", {**SMALL, "embedding_size": 32, "q_groups": 2, "k_groups": 2, "v_groups": 2,
                                         "post_attention_groups": 1, "intermediate_groups": 2, "output_groups": 2}),
    "roformer": ("RoFormerModel", {**SMALL, "embedding_size": 32}),
    "fnet": ("FNetModel", SMALL),
}
PAIRS = {
    "t5": ("T5ForConditionalGeneration", {"vocab_size": VOCABULARY, "d_model": 32, "d_kv": 8, "d_ff": 64,
                                          "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0}),
    "bart": ("BartForConditionalGeneration", {
        "vocab_size": VOCABULARY, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2,
        "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64,
        "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
        "forced_eos_token_id": 2, "decoder_start_token_id": 2}),
}


def tokens(length=LENGTH):
    return torch.arange(2 * length).view(2, length).mul(11).remainder(VOCABULARY - 3).add(3)


def made(class_name, settings, **more):
    """The model of a configuration that has these settings."""
    model_class = getattr(transformers, class_name)
    config = model_class.config_class(**settings, **more)
    config.use_cache = False
    return model_class(config)


def decoder(class_name, settings, **more):
    return made(class_name, settings, **more), {"input_ids": tokens()}


def encoder(class_name, settings):
    mask = torch.ones(2, LENGTH, dtype=torch.int64)
    mask[1, LENGTH - 3:] = 0
    given = {"input_ids": tokens()} if class_name == "FNetModel" else {"input_ids": tokens(), "attention_mask": mask}
    return made(class_name, settings), given


def pair(class_name, settings):
    return made(class_name, settings), {"input_ids": tokens(), "decoder_input_ids": tokens(8).flip(1)}


def rows(table, build, **more):
    return {name: (lambda row=row: build(*row, **more)) for name, row in table.items()}


EAGER = {f"{name}_eager": DECODERS[name] for name in ("gpt2", "llama", "gemma3", "qwen3")}
MODELS = {**rows(DECODERS, decoder), **rows(EAGER, decoder, attn_implementation="eager"), **rows(ENCODERS, encoder),
          **rows(PAIRS, pair)}
