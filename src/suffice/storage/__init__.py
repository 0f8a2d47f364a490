"""Plain data as JSON, files that are written whole or not at all, and what reading one may cost."""
