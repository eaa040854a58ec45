"""Inspect one image with one model: prediction, attention, relevance, distances, tokens, figures and files."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from vitviz.analysis.attention import FloatArray, Fusion, fuse_heads, map_of_token
from vitviz.analysis.explanation_methods import METHODS
from vitviz.data.image_preprocessing import Prepared, prepare, seen_crop
from vitviz.models.abilities import abilities, as_vit
from vitviz.models.loaded_model import LoadedModel
from vitviz.models.token_layout import TokenLayout, layout_of_layer
from vitviz.pin import Pin
from vitviz.plots.attention_images import attention_image, png, sheet
from vitviz.plots.attention_message import explorer_layers_view
from vitviz.plots.live_explorer import LiveModel, live_explorer_view, runs_in_browser
from vitviz.probe.capture import (
    attention_distances,
    capture,
    limit_threads,
    window_attention_distances,
)
from vitviz.probe.explanation_maps import Recipe, method_maps_of
from vitviz.probe.explorer_layers import AttentionLayer, capture_layers, capture_pool, describe_scene
from vitviz.view_inputs import find_index, read_number, require

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from vitviz.browser.notebook_output import Explorer

Query = str | int | tuple[int, int] | None
TILE_PX = 280
_ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, eq=False)
class View:
    """One image as one model sees it; layers and heads count from 0, negative numbers from the end.

    Attributes:
        image: the whole image, (H, W, 3) uint8.
        prepared: what the model takes: its square, resized and normalised.

    Example:
        >>> import numpy as np, vitviz
        >>> view = vitviz.inspect("digits_vit", np.zeros((64, 64), np.uint8))
        >>> view.attention(layer=-1, head=0, query="cls").shape
        (8, 8)
    """

    model: LoadedModel
    image: NDArray[np.uint8]
    prepared: Prepared

    def __repr__(self) -> str:
        height, width = self.image.shape[:2]
        return f"View({self.model!r}, image of {width} × {height} px)"

    @property
    def prediction(self) -> list[tuple[str, float]]:
        """Every class with its probability in [0, 1], the most probable first.

        Probabilities of several labels are independent; a regression gives its values, the largest first.

        Raises:
            ValueError: if the model has no classifier head.

        Example:
            >>> import numpy as np, vitviz
            >>> view = vitviz.inspect("digits_vit", np.eye(16))
            >>> len(view.prediction), view.prediction[0][0] in view.model.classes
            (10, True)
        """
        if not self._is_regression:
            require(abilities(self.model.config).class_head)
        order = np.argsort(-self._probabilities, kind="stable")
        return [(self.model.classes[index], float(self._probabilities[index])) for index in order]

    def classes_above(self, threshold: float = 0.5) -> list[str]:
        """Return the classes whose probability is above a threshold, the most probable first: the labels of an image.

        Raises:
            ValueError: if the model has no classifier head, or predicts values.

        Example:
            >>> import numpy as np, vitviz
            >>> view = vitviz.inspect("digits_vit", np.eye(16))
            >>> view.classes_above(0.0) == [name for name, _ in view.prediction]
            True
        """
        require(abilities(self.model.config).class_head)
        least = read_number("threshold", threshold)
        return [name for name, probability in self.prediction if probability > least]

    @property
    def _is_regression(self) -> bool:
        return getattr(self.model.config, "class_output", "") == "raw"

    def attention(
        self, layer: int | None = None, head: int | Fusion | None = None, query: Query = None
    ) -> FloatArray:
        """Return all attention weights, (layers, heads, tokens, tokens), or with any argument one map, (rows, cols).

        Without an argument, row i of a head holds what token i attends to and sums to 1; `layout` says which tokens
        they are. A map holds one query's weights on all patches, which sum to 1 together with those on prefix tokens;
        outside a Swin's window they are 0. A Swin's layers differ in tokens, so it has maps alone.

        Args:
            layer: index of the layer; None: the last.
            head: index of the head, or 'mean', 'max' or 'min' over the heads; None: the mean.
            query: 'cls', 'dist' or 'reg1'; a patch as (row, col); a token's index; None for [CLS], or the centre;
                'pool' for the learned query that pools all tokens after the last layer, as in SigLIP.

        Raises:
            ValueError: if the model has no attention over patches, or no such layer, head or token.

        Example:
            >>> import numpy as np, vitviz
            >>> view = vitviz.inspect("digits_vit", np.zeros((64, 64), np.uint8))
            >>> view.attention().shape, view.attention(layer=0, head=3).shape, view.layout.prefix
            ((4, 4, 65, 65), (8, 8), ('cls',))
        """
        if layer is None and head is None and query is None:
            able = abilities(self.model.config)
            require(able.attention)
            require(able.heads_over_all)
            return np.stack([np.asarray(layer.rows) for layer in self._layers])
        lines, layout = self._weights(-1 if layer is None else layer, query)
        if head is None or isinstance(head, str):
            line = fuse_heads(lines[:, None], head or "mean")[0]
        else:
            line = lines[find_index("head", head, len(lines))]
        return np.asarray(line[layout.num_prefix_tokens :].reshape(layout.grid))

    def rollout(self, fusion: Fusion = "mean", discard: float = 0.0) -> FloatArray:
        """Return attention rollout at the token that the class is read from (Abnar and Zuidema 2020), (rows, cols).

        Args:
            fusion: of the heads: 'mean', 'max' or 'min'.
            discard: share of the lowest weights that every layer drops, in [0, 1).

        Raises:
            ValueError: if rollout has no meaning for this model.

        Example:
            >>> import numpy as np, vitviz
            >>> view = vitviz.inspect("digits_vit", np.eye(16))
            >>> rollout = view.rollout(discard=0.1)
            >>> rollout.shape, bool((rollout >= 0).all())
            ((8, 8), True)
        """
        require(abilities(self.model.config).rollout)
        return self._explain(Recipe(None, fusion, read_number("discard", discard)), "rollout")

    def relevance(self, target: str | int | None = None) -> FloatArray:
        """Return the gradient-weighted rollout of a class (Chefer et al. 2021), (rows, cols), not negative.

        Args:
            target: a class name or index; None for the predicted class.

        Raises:
            ValueError: if there is no such class, or the method has no meaning for this model.

        Example:
            >>> import numpy as np, vitviz
            >>> view = vitviz.inspect("digits_vit", np.eye(16))
            >>> view.relevance("8").shape
            (8, 8)
        """
        return self.explain("gradient", target)

    def explain(
        self, method: str = "legrad", target: str | int | None = None, from_layer: int = 0
    ) -> FloatArray:
        """Return the map of an explanation method, (rows, cols), not negative.

        Args:
            method: 'raw' (attention of the last layer), 'rollout', 'gradient' (gradient-weighted rollout), 'legrad'
                (Bousselham et al. 2024), 'attnlrp' (Achtibat et al. 2024) or 'input' (gradient times input).
            target: a class name or index; None for the predicted class; 'raw' and 'rollout' explain no class.
            from_layer: the first layer that counts; of 'attnlrp', the layer whose input tokens get the relevance.

        Raises:
            ValueError: if there is no such method, class or layer, or the method has no meaning for this model.

        Example:
            >>> import numpy as np, vitviz
            >>> view = vitviz.inspect("digits_vit", np.eye(16))
            >>> view.explain("attnlrp", "8", from_layer=2).shape
            (8, 8)
        """
        if method not in METHODS:
            raise ValueError(f"method must be one of {', '.join(METHODS)}, received {method!r}")
        able, first = abilities(self.model.config), 0
        if method != "input":
            require(able.rollout)
            first = find_index("from_layer", from_layer, as_vit(self.model.config).depth)
        if method in ("raw", "rollout"):
            return self._explain(Recipe(None, "mean", 0.0, first), method)
        require(able.class_head)
        return self._explain(Recipe(self._find_class(target), "mean", 0.0, first), method)

    def distances(self) -> FloatArray:
        """Return the mean attention distance of every head in pixels of the model's input, (layers, heads).

        Each query's distance to all patches is averaged by its attention weights, then over queries (Dosovitskiy et al.
        2021, figure 11). NaN fills the rows of a Swin's stages that have fewer heads.

        Raises:
            ValueError: if the model has no attention over a grid of patches.

        Example:
            >>> import numpy as np, vitviz
            >>> view = vitviz.inspect("digits_vit", np.eye(16))
            >>> distances = view.distances()
            >>> distances.shape, bool(distances.max() < 32 * 2**0.5)
            ((4, 4), True)
        """
        able = abilities(self.model.config)
        require(able.distance)
        batch = self.prepared.input[None]
        with limit_threads(batch):
            if able.heads_over_all:
                return np.asarray(
                    attention_distances(self.model.model, batch, with_mean=False).distance_px[0]
                )
            return np.asarray(window_attention_distances(self.model.model, batch)[1][0])

    def tokens(self, layer: int = -1) -> FloatArray:
        """Return the tokens after a layer, (tokens, width): prefix tokens, then patches in reading order.

        Raises:
            ValueError: if the model has no attention over patches, or no such layer.

        Example:
            >>> import numpy as np, vitviz
            >>> view = vitviz.inspect("digits_vit", np.eye(16))
            >>> view.tokens(layer=0).shape
            (65, 64)
        """
        require(abilities(self.model.config).attention)
        name = self._layers[find_index("layer", layer, len(self._layers))].name
        token_rows = capture(self.model.model, self.prepared.input[None], record=(name,))[name][0]
        return np.asarray(token_rows.reshape(-1, token_rows.shape[-1]))

    def figure(self, name: str = "attention", *, layer: int = -1, query: Query = None) -> "Figure":
        """Return a Plotly figure.

        Args:
            name: 'attention' (all heads of a layer), 'distances' (every head against depth), 'prediction',
                'relevance', or a method as `explain` takes it.
            layer: of 'attention'.
            query: of 'attention'.

        Raises:
            ValueError: if there is no such figure, or the model does not have what it shows.

        Example:
            >>> import numpy as np, vitviz
            >>> view = vitviz.inspect("digits_vit", np.eye(16))
            >>> len(view.figure("attention", layer=0).data)  # one map per head
            4
        """
        from vitviz.plots import notebook_figures

        if name == "attention":
            lines, layout = self._weights(layer, query)
            maps = lines[:, layout.num_prefix_tokens :].reshape(-1, *layout.grid)
            return notebook_figures.maps_figure(
                maps, [f"head {head}" for head in range(len(maps))]
            ).to_plotly()
        if name == "distances":
            return notebook_figures.distances_figure(self.distances()).to_plotly()
        if name == "prediction":
            unit = None if self._is_regression else "probability, %"
            return notebook_figures.prediction_figure(self.prediction[:5], unit).to_plotly()
        if name == "relevance" or name in METHODS:
            method = "gradient" if name == "relevance" else name
            return notebook_figures.maps_figure(self.explain(method)[None], [name]).to_plotly()
        raise ValueError(
            "expected the figure attention, distances, prediction, relevance or a method"
            f" ({', '.join(METHODS)}), received {name!r}"
        )

    def save(self, path: str | Path, layers: list[int] | None = None, query: Query = None) -> Path:
        """Write attention to a file: all heads as one image (.png), or the explorer (.html).

        An HTML file holds its code and data: it opens from the disk, without a server or a network.

        Args:
            path: ends in .png or .html.
            layers: the rows of the image, from 0; None for all layers. An HTML file has all of them, from 1.
            query: as `attention` takes it.

        Returns:
            The path.

        Raises:
            ValueError: if the file has another ending, or as `attention`.
            TypeError: if an argument has another type.
            OSError: if the file cannot be written.

        Example:
            >>> import tempfile, numpy as np, vitviz
            >>> view = vitviz.inspect("digits_vit", np.eye(16))
            >>> view.save(f"{tempfile.mkdtemp()}/heads.png", layers=[0], query=(2, 3)).name
            'heads.png'
        """
        if not isinstance(path, str | os.PathLike):
            raise TypeError(f"path must be a path, received {type(path).__name__}")
        path = Path(path)
        if path.suffix.lower() == ".png":
            path.write_bytes(self._draw_sheet(layers, query))
        elif path.suffix.lower() == ".html":
            from vitviz.browser.html import render_html

            title = f"Attention of {self.model.title}"
            path.write_text(render_html(title, [self.live_message(query)]), "utf-8")
        else:
            raise ValueError(f"expected a path that ends in .png or .html, received {path}")
        return path

    def explore(self, query: Query = None) -> "Explorer":
        """Return the attention explorer as a notebook's output: an image and HTML, which need no kernel.

        The HTML contains the model if it then has at most 1 MB.

        Raises:
            ValueError: as `attention`.

        Example:
            >>> import numpy as np, vitviz
            >>> view = vitviz.inspect("digits_vit", np.eye(16))
            >>> type(view.explore()).__name__  # the last line of a notebook's cell draws it
            'Explorer'
        """
        from vitviz.browser.html import render_html
        from vitviz.browser.notebook_output import MOST_BYTES, Explorer

        title, message = f"Attention of {self.model.title}", self.live_message(query)
        if len(render_html(title, [message])) > MOST_BYTES:
            message = self.explorer_message(query)
        return Explorer(title, message, self._draw_sheet([-1], query))

    def explorer_message(self, query: Query = None) -> bytes:
        """Return the data of the explorer with the attention of every layer and head.

        Raises:
            ValueError: as `attention`.
        """
        layers = self._layers
        last = layout_of_layer(self.model.config, self.layout, len(layers))
        pin = Pin.of_token(last, self._find_token(query, last))
        scenes = [
            describe_scene(self.model, self.layout, i, "mean", "view") for i in range(1, len(layers) + 1)
        ]
        ground = seen_crop(self.image, self.model.preparation)
        return explorer_layers_view(scenes, ground, [layer.rows for layer in layers], {"pin": str(pin)})

    def live_message(self, query: Query = None) -> bytes:
        """Return the data of the explorer with its model, or without one that a browser cannot run.

        Raises:
            ValueError: as `attention`.
        """
        from vitviz.checkpoints import pack_model

        stored = self.explorer_message(query)
        if not runs_in_browser(self.model.config) or not abilities(self.model.config).class_head:
            return stored
        live = LiveModel(
            config=self.model.config,
            preparation=self.model.preparation,
            classes=self.model.classes,
            checkpoints={self.model.step: pack_model(self.model)},
            step=self.model.step,
            layers=[layer.name for layer in self._layers],
            pixels=self.prepared.input,
            probabilities=self._probabilities,
        )
        return live_explorer_view(stored, live)

    @property
    def layout(self) -> TokenLayout:
        """The tokens of the first layer.

        Example:
            >>> import numpy as np, vitviz
            >>> view = vitviz.inspect("digits_vit", np.eye(16))
            >>> view.layout.prefix, view.layout.grid, view.layout.num_tokens
            (('cls',), (8, 8), 65)
        """
        return self.model.layout(*self.prepared.input.shape[-2:])

    @cached_property
    def _probabilities(self) -> FloatArray:
        logits = capture(self.model.model, self.prepared.input[None], record=False).logits[0]
        return self.model.probabilities(logits)

    @cached_property
    def _layers(self) -> list[AttentionLayer]:
        require(abilities(self.model.config).attention)
        return capture_layers(self.model, self.prepared.input)

    def _weights(self, layer: int, query: Query) -> tuple[FloatArray, TokenLayout]:
        """Return a query's weights in every head of a layer, (heads, tokens), and the layer's tokens."""
        if isinstance(query, str) and query == "pool":
            return capture_pool(self.model, self.layout, self.prepared.input), self.layout
        index = find_index("layer", layer, len(self._layers))
        layout = layout_of_layer(self.model.config, self.layout, index + 1)
        token, rows = self._find_token(query, layout), self._layers[index].rows
        return np.asarray(rows[:, token]) if isinstance(rows, np.ndarray) else map_of_token(
            rows, token
        ), layout

    def _find_token(self, query: Query, layout: TokenLayout) -> int:
        if isinstance(query, np.ndarray | Tensor) and query.ndim:
            query = query.tolist()
        if query is None:
            return Pin(None, "cls").token(layout)
        if isinstance(query, str):
            if query in layout.prefix:
                return layout.prefix.index(query)
            names = ", ".join(layout.prefix) or "none"
            raise ValueError(f"expected a patch (row, col) or a prefix token ({names}), received {query!r}")
        if not isinstance(query, list | tuple):
            return find_index("query", query, layout.num_tokens)
        if len(query) != 2:
            raise ValueError(f"a patch is (row, col), received {query!r}")
        row = find_index("row", query[0], layout.grid[0])
        return (
            layout.num_prefix_tokens + row * layout.grid[1] + find_index("column", query[1], layout.grid[1])
        )

    def _find_class(self, target: str | int | None) -> int:
        classes = self.model.classes
        if target is None:
            return int(self._probabilities.argmax())
        if not isinstance(target, str):
            return find_index("class", target, len(classes))
        matches = [i for i, name in enumerate(classes) if target == name] or [
            i for i, name in enumerate(classes) if target.lower() in name.lower()
        ]
        if len(matches) == 1:
            return matches[0]
        names = ", ".join(classes[i] for i in matches[:5] or range(min(5, len(classes))))
        raise ValueError(
            f"expected the name of one of {len(classes)} classes ({names}, …), received {target!r}"
        )

    def _explain(self, recipe: Recipe, name: str) -> FloatArray:
        return method_maps_of(self.model, self.prepared.input, recipe)[name].reshape(self.layout.grid)

    def _draw_sheet(self, layers: list[int] | None, query: Query) -> bytes:
        if not isinstance(layers, Iterable | None) or isinstance(layers, str):
            raise TypeError(f"layers must be a list of whole numbers, received {layers!r}")
        ground, tiles, labels = seen_crop(self.image, self.model.preparation), [], []
        for layer in range(len(self._layers)) if layers is None else layers:
            lines, layout = self._weights(layer, query)
            token = self._find_token(query, layout) - layout.num_prefix_tokens
            cell = divmod(token, layout.grid[1]) if token >= 0 else None
            for head, line in enumerate(lines):
                weights = line[layout.num_prefix_tokens :]
                tiles.append(attention_image(ground, weights, layout.grid, size_px=TILE_PX, query=cell))
                labels.append(f"layer {layer % len(self._layers)}, head {head}")
        if not tiles:
            raise ValueError("layers must name at least one layer, received none")
        labels[0] += " (counted from 0)"
        return png(sheet(tiles, labels, min(12, len(tiles) if len(lines) > 12 else len(lines))))


def inspect_pixels(model: LoadedModel, pixels: NDArray[np.uint8]) -> View:
    """Return the view of an image (H, W, 3) uint8."""
    return View(model, pixels, prepare(pixels, model.preparation))


def app(model: str | Path | nn.Module | LoadedModel = "digits_vit", *, port: int = 0) -> None:
    """Open the app on a model in the browser, and return when the app is stopped.

    Args:
        port: of 127.0.0.1; 0 is any free one.

    Raises:
        OSError: if the port is taken.
        RuntimeError: if vitviz was installed without its app.
    """
    if not (_ROOT / "app.py").is_file():
        raise RuntimeError(
            "The app is not part of the installed package: clone the repository, then run `pip install -r"
            " requirements.txt && streamlit run app.py` in it."
        )
    from vitviz.app_server import run_app

    run_app(_ROOT, model, port)
