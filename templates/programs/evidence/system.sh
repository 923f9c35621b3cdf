#!/bin/sh
# The system: kernel, memory, disks, modules, what failed.

. ./run.sh
run uname -srvm; [ ! -f /etc/os-release ] || run cat /etc/os-release
run cat /proc/cmdline; run uptime; run free -m; run df -hl; run lsmod
[ ! -f /etc/dgx-release ] || { echo '$ cat /etc/dgx-release'; sed /SERIAL/d /etc/dgx-release; }
run systemctl --failed --no-pager --plain; run ls /lib/modules
run sysctl net.ipv4.conf.all.rp_filter net.ipv4.conf.all.arp_ignore net.ipv4.conf.all.arp_announce \
  net.core.rmem_max net.core.wmem_max vm.swappiness vm.overcommit_memory kernel.numa_balancing
