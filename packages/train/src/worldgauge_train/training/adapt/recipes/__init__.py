"""Recipes for brought pipelines that come with worldgauge."""
