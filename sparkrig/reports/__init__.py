"""The documents that verbs print: drift, doctor, plan, and the schema of each."""
