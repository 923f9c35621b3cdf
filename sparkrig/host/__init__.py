"""What one Spark is, apart from its networks: one resource a file, each with a parser and a judgement."""
