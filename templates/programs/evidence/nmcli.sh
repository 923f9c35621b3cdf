#!/bin/sh
# NetworkManager's state, and the names of the files that define netdevs.

. ./run.sh
run nmcli general status; run nmcli device status; run nmcli connection show; run nmcli device show
run ls -l /etc/NetworkManager/system-connections /run/NetworkManager/system-connections /etc/netplan
