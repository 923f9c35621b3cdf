"""Attacks on what sparkrig reads, shows and writes. docs/security.md has the guard of each kind.

A kind, what is thrown (a module here, with its table beside it), and the tests that throw it:

- Secrets by name and by structure: `secrecy`, names in every spelling and texts that are made around them;
  unit/redaction.
- Secrets and identifiers in a text: `canaries`, in every spelling, and `lines`, as tools print them;
  unit/redaction, unit/test_attacks.py, and the whole verb in plan/test_support.py.
- Patterns that never end: `patterns`, all of the product, and `growth`, time against size;
  unit/test_patterns.py, unit/redaction/test_growth.py.
- Answers of servers without a bound: `servers`, which hang, drip or flood;
  unit/io/test_notify.py, test_checkpoint_source.py, unit/templates/test_watch.py, test_blackbox_metrics.py.
- Files of others: links, pipes and devices, and archives, beside what tests them;
  unit/io/test_atomic_write.py, unit/test_special_files.py, unit/redaction/test_archive.py.
- Lines that forge: `texts`, codes of a terminal and markup;
  unit/io/test_terminal.py, unit/test_cure.py, unit/reports/test_schedule.py, unit/templates/test_blackbox.py.
- Native parsers and bytes: `texts`, depth, aliases and odd values;
  unit/test_hostile.py, unit/test_inventory_file.py, unit/serving/test_launch_text_hostile.py.
- A host that prints garbage: `looks`, recordings with one thing wrong, or all;
  unit/test_hostile.py, and every verb in plan/test_hostile.py, test_hostile_walk.py, test_hostile_ssh.py.
- MCP: `texts`, and calls that hang; plan/test_mcp.py.

An attack of a kind that is here is a row: a line with «KIND» for its value in lines.yaml, a structure in
secrecy.yaml, a canary in canaries.yaml, a value in texts.py. The tests of its kind find it by themselves.
A new kind gets a module here that makes its attacks and says what is left of them, a test that fails without its
guard, a row above, and one in docs/security.md.
"""
