"""What `import worldgauge` offers: runs whose results show themselves, in a script and in a notebook."""
