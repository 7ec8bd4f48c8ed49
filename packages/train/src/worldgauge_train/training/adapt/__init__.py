"""Post-training of brought pipelines: recipes, prompts, and what the papers' own trainer reads."""
