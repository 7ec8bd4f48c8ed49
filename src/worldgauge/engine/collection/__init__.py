"""Collecting data sets: what a collection defines, how items are made, and how a folder of data is checked."""
