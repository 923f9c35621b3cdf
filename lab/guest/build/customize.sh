#!/bin/sh
# Runs once in the new root (as /lab/guest/build/customize.sh): what the package list and the files of root/ do not say.
# Leaves in /lab/out what the host needs: the kernel, host keys, the toolkit repository's fingerprint.
set -eu
cd /
out=/lab/out
mkdir "$out"

release=$(basename /lib/modules/*)
cp "/boot/vmlinuz-$release" "$out/vmlinuz"
sh /lab/guest/build/boot-loader.sh
sh /lab/guest/build/switch/make.sh "$release" "$out/switch.initrd"

useradd --create-home --shell /bin/bash --groups adm,sudo nvidia
install -d -m 700 -o nvidia -g nvidia /home/nvidia/.ssh
install -m 600 -o nvidia -g nvidia /lab/authorized_keys /home/nvidia/.ssh/authorized_keys
chmod 440 /etc/sudoers.d/nvidia

# Debian's second kernel, which a guest has in its own repository and installs with an update.
second=$(python3 -c 'import sys; from lab.guest.build import kernels; print(kernels.second(sys.argv[1]))' "$release")
mkdir /lab/debian
(cd /lab/debian && apt-get --quiet download "linux-image-$second")

# What a deploy installs of the distribution itself (the setting watch_metrics), and what gives a login a user manager
# (tests/lab/test_schedule.py), for a guest has no way out.
mkdir /lab/others
(cd /lab/others && apt-get --quiet download prometheus-node-exporter libpam-systemd dbus-user-session)

# The only repositories of a guest are its own, so that apt answers without any network.
rm -f /etc/apt/sources.list /etc/apt/sources.list.d/0000*
python3 -m lab.guest.build.repositories "$release" /lab/debian/*.deb /lab/others /srv "$out"
dpkg --install /srv/dgx-os/factory/*.deb
apt-get --quiet update

# Timers would all fire at once when a restored guest's clock is set, and then hold apt's lock.
systemctl mask NetworkManager-wait-online.service apt-daily.timer apt-daily-upgrade.timer
systemctl disable unattended-upgrades.service e2scrub_all.timer fstrim.timer
# Modules of hardware that a guest has not, 5 to 7 s each to look for in vain (2026-11-21, emulated).
systemctl mask modprobe@drm.service modprobe@efi_pstore.service modprobe@fuse.service
systemctl enable NetworkManager-dispatcher.service docker.service

# What a login costs on an emulated processor, and `lab reset` waits for (2026-11-22, two guests on two slow cores):
# scripts that write a greeting nobody reads 0.4 s, and sudo, which nothing but the clock needed, 1.3 s.
chmod -x /etc/update-motd.d/*
install -D -m 4755 /usr/bin/date /usr/lib/sparkrig-lab/set-clock

# The board's firmware, as both tools show it: one stand-in, which is either by its name.
ln -s ../lib/sparkrig-lab/firmware /usr/bin/fwupdmgr
ln -s ../lib/sparkrig-lab/firmware /usr/sbin/dmidecode

# Identity is a node's own: `become` puts it in place at first boot.
rm -f /etc/ssh/ssh_host_*
for node in $LAB_NODES; do
    name=${node#*=} node=${node%%=*}
    etc=/usr/lib/sparkrig-lab/nodes/$node/etc
    mkdir -p "$etc/ssh"
    echo "$name" >"$etc/hostname"
    printf '127.0.0.1 localhost %s\n::1 localhost ip6-localhost\n' "$name" >"$etc/hosts"
    systemd-id128 new >"$etc/machine-id"
    ssh-keygen -q -t ed25519 -N '' -C "root@$name" -f "$etc/ssh/ssh_host_ed25519_key"
    cp "$etc/ssh/ssh_host_ed25519_key.pub" "$out/$node.pub"
done
chmod 700 /usr/lib/sparkrig-lab/nodes

# Nothing is newer than the first boot, so that it has neither caches nor users to make.
touch /etc/.updated /var/.updated
