"""Trials at a table: their file, and how they are collected."""
