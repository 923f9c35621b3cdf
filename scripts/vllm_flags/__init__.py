"""What each version of vLLM takes on its command line, read from its published source: models/vllm/flags.yaml.

vLLM is never imported or built: its files are parsed, and the little that its parser's set-up does is followed.
"""
