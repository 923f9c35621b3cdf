"""What is claimed about launching vLLM on a Spark: rows of models/lint/, and a topic a file what is computed.

An error is a hard fact: vLLM, docker or arithmetic refuses in every case. What people disagree on is a warning
that names both sides, for community lore goes stale [@docai-122b]. A note is advice.
"""
