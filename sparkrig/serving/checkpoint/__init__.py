"""A model from the files of its checkpoint: config.json, quantization, index of the weights."""
