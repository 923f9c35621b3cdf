# make-disk.sh SIZE_MIB <root.tar >disk.qcow2: a root file system as tar becomes a disk that boots: GRUB before the
# first partition, which is ext4 and has the UUID that the root's own fstab names.
set -eu
PATH=$PATH:/usr/sbin:/sbin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/root"
# Device nodes only real root may make, and the kernel brings its own /dev.
tar -x --numeric-owner --exclude='./dev/*' -C "$work/root"
uuid=$(sed -n 's|^UUID=\([^ ]*\) / .*|\1|p' "$work/root/etc/fstab")
truncate -s "$1M" "$work/raw"
echo 'start=1MiB, type=83, bootable' | sfdisk --quiet --label dos "$work/raw" >&2
# As grub-install does it; both images expect one another in the first sectors, and leave the table between them be.
dd if="$work/root/boot/grub/i386-pc/boot.img" of="$work/raw" bs=440 count=1 conv=notrunc status=none
dd if="$work/root/boot/grub/i386-pc/core.img" of="$work/raw" bs=512 seek=1 conv=notrunc status=none
# Nothing is left for the guest's kernel to initialise later, behind a snapshot's back.
mke2fs -q -F -t ext4 -L root -U "$uuid" -d "$work/root" \
  -E offset=1048576,lazy_itable_init=0,lazy_journal_init=0 "$work/raw" "$(($1 - 1))M" >&2
qemu-img convert -O qcow2 "$work/raw" "$work/qcow2" >&2
cat "$work/qcow2"
