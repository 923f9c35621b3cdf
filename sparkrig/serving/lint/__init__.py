"""What is claimed about launching vLLM on a Spark: a topic a file, each rule beside what judges it.

An error is a hard fact: vLLM, docker or arithmetic refuses in every case. What people disagree on is a warning
that names both sides, for community lore goes stale [@docai-122b]. A note is advice.
"""
