# SPDX-License-Identifier: Apache-2.0
"""The networks that the generator knows, with what their sizes must come to."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from graph_builder import GraphBuilder

from networks import (
    alexnet,
    bert,
    convnext,
    densenet,
    efficientnet,
    googlenet,
    inception,
    mobilenet_v2,
    mobilenet_v3,
    regnet,
    resnet,
    shufflenet,
    squeezenet,
    unet,
    vgg,
    vision_transformer,
)


@dataclasses.dataclass(frozen=True)
class Network:
    """How to build one network, and two sums that prove its layers right.

    mmac: millions of multiply-adds in convolutions and matrix products for one
    input.  parameters: learned ones of the published implementation (torchvision
    without auxiliary heads; BERT and the U-Net from their own papers' code).
    """

    build: Callable[[GraphBuilder], None]
    opset: int
    mmac: int
    parameters: int


NETWORKS = {
    "squeezenet1_1": Network(squeezenet.build, 13, 349, 1_235_496),
    "shufflenet_v2_x1_0": Network(shufflenet.build, 13, 145, 2_278_604),
    "mobilenet_v2": Network(mobilenet_v2.build, 13, 301, 3_504_872),
    "mobilenet_v3_large": Network(mobilenet_v3.build, 14, 217, 5_483_032),
    "efficientnet_b0": Network(efficientnet.build, 13, 386, 5_288_548),
    "regnet_y_400mf": Network(regnet.build, 13, 402, 4_344_144),
    "alexnet": Network(alexnet.build, 13, 714, 61_100_840),
    "googlenet": Network(googlenet.build, 13, 1498, 6_624_904),
    "resnet18": Network(resnet.build_resnet18, 17, 1814, 11_689_512),
    "resnet50": Network(resnet.build_resnet50, 17, 4089, 25_557_032),
    "vgg16": Network(vgg.build, 13, 15470, 138_357_544),
    "densenet121": Network(densenet.build, 13, 2834, 7_978_856),
    "inception_v3": Network(inception.build, 15, 5713, 23_834_568),
    "convnext_tiny": Network(convnext.build, 16, 4456, 28_589_128),
    "vit_b_16": Network(vision_transformer.build, 14, 17564, 86_567_656),
    "bert_base": Network(bert.build, 13, 11174, 109_482_240),
    "unet": Network(unet.build, 13, 12071, 7_763_041),
}
