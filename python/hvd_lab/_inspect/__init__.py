"""The inspector: watches a program that trains with PyTorch or Horovod, without a change to it, and sends what it sees to the lab.

It never judges, and whatever breaks in here never breaks the program: then the inspector says so and stops looking.
"""
