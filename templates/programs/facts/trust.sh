#!/bin/sh
# What facts/trust.py reads: the ssh user, our key pair's public half, sshd's public keys, and our lines of
# authorized_keys. Whom the connection logged in as: sudo says who called it.


user=${SUDO_USER:-$(id -un)}
home=$(getent passwd "$user" | cut -d: -f6)
. ./trust_look.sh
