#!/bin/sh
# Runs once in the new root: GRUB as grub-install and update-grub leave it on a disk that is not there yet. make-disk.sh
# then gives the file system its UUID, and writes boot.img and core.img to the disk's first sectors.
set -eu
uuid=$(cat /proc/sys/kernel/random/uuid)
echo "UUID=$uuid / ext4 defaults 0 0" >/etc/fstab
mkdir -p /boot/grub
cp -r /usr/lib/grub/i386-pc /boot/grub/
grub-mkimage -O i386-pc -o /boot/grub/i386-pc/core.img -p '(hd0,msdos1)/boot/grub' biosdisk part_msdos ext2
grub-editenv /boot/grub/grubenv create

# What grub-probe will say on the guest. grub-mkconfig asks it by its full path.
probe=/usr/sbin/grub-probe
dpkg-divert --quiet --local --rename --add "$probe"
cat >"$probe" <<EOF
#!/bin/sh
case "\$*" in
*device*=device* | *-t\ device* | *--target=device*) echo /dev/vda1 ;;
*fs_uuid*) echo $uuid ;;
*partmap*) echo msdos ;;
*hints_string*) echo --hint-bios=hd0,msdos1 ;;
*abstraction*) ;;
*fs*) echo ext2 ;;
*drive*) echo '(hd0,msdos1)' ;;
esac
EOF
chmod 755 "$probe"
update-grub
rm "$probe"
dpkg-divert --quiet --local --rename --remove "$probe"
