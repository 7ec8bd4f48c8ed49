"""The model in the loop of training: a few tasks of a suite, asked every now and then, within a time limit."""
