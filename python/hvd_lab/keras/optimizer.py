"""An optimizer whose gradients are averaged over the ranks."""
from ..optimizers import Optimizer
from . import _ranks


class DistributedOptimizer(Optimizer):
    """Averages the gradients over all ranks, then lets the optimizer that it wraps apply them.

    The averages are on their way while backward still computes the gradients of earlier layers.
    """

    def __init__(self, optimizer, name=None):
        if isinstance(optimizer, DistributedOptimizer):
            raise ValueError("this optimizer averages its gradients already: wrap it in hvd.DistributedOptimizer once")
        if not isinstance(optimizer, Optimizer):
            raise TypeError("hvd.DistributedOptimizer takes an optimizer such as SGD, not {!r}".format(optimizer))
        # Without the other ranks there is nothing to average with.
        _ranks.size()
        super().__init__(optimizer.learning_rate, optimizer.momentum)
        self.name = optimizer.name
        self.wrapped = optimizer

    def __repr__(self):
        return "DistributedOptimizer({!r})".format(self.wrapped)
