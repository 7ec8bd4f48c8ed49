"""Tables, plots, films and the HTML page."""
