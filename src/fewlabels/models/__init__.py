"""Networks, their averages, and how to build them by name."""

from fewlabels.models.backbones import BACKBONES, build
from fewlabels.models.batchnorm import frozen_statistics
from fewlabels.models.ema import Ema
from fewlabels.models.small import SmallNet
from fewlabels.models.wide_resnet import WideResNet

__all__ = ["BACKBONES", "Ema", "SmallNet", "WideResNet", "build", "frozen_statistics"]
