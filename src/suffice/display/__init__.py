"""Summaries as text, HTML and for the terminal: one table renderer, numbers, and names made harmless."""
