# make-disk.sh SIZE <root.tar >disk.qcow2: a root file system as tar becomes an ext4 disk of SIZE.
set -eu
PATH=$PATH:/usr/sbin:/sbin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/root"
# Device nodes only real root may make, and the kernel brings its own /dev.
tar -x --numeric-owner --exclude='./dev/*' -C "$work/root"
# Nothing is left for the guest's kernel to initialise later, behind a snapshot's back.
mke2fs -q -t ext4 -L root -E lazy_itable_init=0,lazy_journal_init=0 -d "$work/root" "$work/raw" "$1" >&2
qemu-img convert -O qcow2 "$work/raw" "$work/qcow2" >&2
cat "$work/qcow2"
