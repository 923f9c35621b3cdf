#!/bin/sh
# make.sh RELEASE FILE: the switch's whole system as an initramfs of the guests' kernel. Runs in the new root, and
# takes programs, libraries and modules from there. There is no disk: a switch that starts is a new one.
set -eu
release=$1 out=$2
here=$(dirname "$0")
root=$(mktemp -d)
mkdir -p "$root/bin" "$root/proc" "$root/sys" "$root/dev"
for library in lib lib64; do ln -s "usr/$library" "$root/$library"; done

for program in sh cut stty mount modprobe ip bridge tc; do
  path=$(PATH=$PATH:/usr/sbin:/sbin command -v "$program")
  cp -L "$path" "$root/bin/$program"
  # /lib64/ld-linux-x86-64.so.2 (0x...), and libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x...)
  ldd "$path" | grep -o '/[^ ]*' | while read -r library; do
    mkdir -p "$root/usr$(dirname "$library" | sed 's|^/usr||')"
    cp -L "$library" "$root/usr${library#/usr}"
  done
done

# each with those that it needs, without what is built in
read -r modules <"$here/modules"
for module in $modules; do
  modprobe --set-version "$release" --show-depends "$module" | sed -n 's/^insmod \([^ ]*\).*/\1/p'
done | sort -u | while read -r module; do
  mkdir -p "$root/usr${module%/*}"
  cp "$module" "$root/usr$module"
done
cp "/lib/modules/$release/modules.builtin" "/lib/modules/$release/modules.order" "$root/usr/lib/modules/$release/"
depmod --basedir "$root" "$release"

cp "$here/init" "$here/modules" "$root"
chmod 755 "$root/init"
(cd "$root" && find . | sort | cpio --quiet -o -H newc -R 0:0 | zstd -q -10) >"$out"
rm -r "$root"
