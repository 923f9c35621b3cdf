"""What a host's own name leads to."""

from sparkrig.facts.noun import Noun
from sparkrig.host import hostname


class Hostname(Noun[hostname.Hostname]):
    """The host's name, and the IPv4 addresses that the host itself finds for it."""

    parse = staticmethod(hostname.parse)
    script = r"""
printf 'name %s\n' "$(uname -n)"
timeout -k 2 10 getent ahostsv4 "$(uname -n)" | sed -n 's/^\([0-9.]*\) .*/address \1/p'
"""
