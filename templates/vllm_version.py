"""Which vLLM an image has; sent to a container as an argument, of the standard library alone."""

from importlib.metadata import version

print("version", version("vllm"))
