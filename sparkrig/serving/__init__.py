"""Serving: models, what they need, and how vLLM is launched. Pure, but for what reads the catalogue."""
