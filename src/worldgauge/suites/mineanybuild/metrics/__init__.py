"""Metrics of builds and answers: reading, matching, soundness, grades and votes."""
