"""Optimizers, as a program names them. The trainer has the update rules."""


class Optimizer:
    """An update rule with a learning rate, which callbacks may change from batch to batch."""

    name = None

    def __init__(self, learning_rate, momentum=0.0):
        self.learning_rate = learning_rate
        self.momentum = momentum

    @property
    def lr(self):
        """The old name of `learning_rate`."""
        return self.learning_rate

    @lr.setter
    def lr(self, rate):
        self.learning_rate = rate

    def __repr__(self):
        return "{}(learning_rate={})".format(type(self).__name__, self.learning_rate)


class SGD(Optimizer):
    """Stochastic gradient descent with momentum."""

    name = "sgd"

    def __init__(self, learning_rate=0.01, momentum=0.0):
        super().__init__(learning_rate, momentum)


class NovoGrad(Optimizer):
    """Normalises the gradient layer by layer, which large batches need."""

    name = "novograd"

    def __init__(self, learning_rate=0.01):
        super().__init__(learning_rate)


class LAMB(Optimizer):
    """Adam, with a rate for each layer by the norm of its weights."""

    name = "lamb"

    def __init__(self, learning_rate=0.01):
        super().__init__(learning_rate)


class Adadelta(Optimizer):
    """Adapts the rate of each weight; made for a learning rate of 1."""

    name = "adadelta"

    def __init__(self, learning_rate=1.0):
        super().__init__(learning_rate)
