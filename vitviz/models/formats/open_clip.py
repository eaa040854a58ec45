"""open_clip's (and OpenAI's) visual towers; a tower that is a timm model is read as timm's."""

from vitviz.config import ViTConfig
from vitviz.models.formats.checkpoint_settings import Settings
from vitviz.models.formats.safetensors_header import Shapes
from vitviz.models.formats.tensor_names import RULES, Format, State, describe_vit, read_activation, rename
from vitviz.models.pretrained_list import PretrainedError


def translate(state: State) -> State:
    """Return a visual tower's tensors under this project's names."""
    state = rename(state, RULES["open_clip"])
    for name, shape in (("cls_token", (1, 1, -1)), ("pos_embed", (1, *state["pos_embed"].shape))):
        if name in state:
            state[name] = state[name].reshape(shape)
    if "head.weight" in state:
        state["head.weight"] = state["head.weight"].mT
    return state


def describe(shapes: Shapes, settings: Settings) -> ViTConfig:
    """Return the config of a visual tower."""
    if settings.get("pool_type") not in (None, "tok"):
        raise PretrainedError(
            f"its pooling (pool_type {settings.get('pool_type')!r:.40}) is not supported: only 'tok' is"
        )
    if "norm_pre.weight" not in shapes and settings.get("pool_type", "embed_dim") is None:
        raise PretrainedError(
            "without a norm before the blocks its names do not show its pooling (CLIPA's is a mean): open it with its"
            " open_clip_config.json"
        )
    quick = settings.get("quick_gelu")
    if quick is None and not settings.get("embed_dim", "act_layer"):
        settings.assume(
            "The file does not state its activation: GELU is assumed (OpenAI's weights need QuickGELU)."
        )
    return describe_vit(
        {name: shape for name, shape in shapes.items() if name != "head.weight"},
        settings,
        activation="quick_gelu" if quick else read_activation(settings),
        projection=shapes.get("head.weight", (0,))[0],
        norm_eps=settings.number("layer_norm_eps", 1e-5),
    )


VIT = Format(
    "an open_clip visual tower",
    r"^(?P<prefix>(?:[\w-]+\.)*?)conv1\.weight$",
    translate,
    describe,
    needs=r"^transformer\.resblocks\.0\.attn\.in_proj_weight$",
)
