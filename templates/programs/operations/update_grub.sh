#!/bin/sh
# entry_of RELEASE: GRUB's ordinary entry of a kernel, by the ids of its menu, as grub-reboot takes it; as
# /etc/grub.d/10_linux of Debian and Ubuntu writes them. keep_default RELEASE: this kernel stays the default, by its
# id and not by its place in the menu, and a kernel that panics boots again. free_default: as it was before. A menu is
# made beside the old one, and takes its place whole: grub-mkconfig itself writes the old one anew.


dropin=/etc/default/grub.d/zz-sparkrig-update.cfg
menu=/boot/grub/grub.cfg
entry_of() {
  kernel=$(printf %s "$1" | sed 's/[.+]/[&]/g')
  submenu=$(sed -n "s/^submenu .*'\(gnulinux-advanced-[A-Za-z0-9-]*\)'.*/\1/p" $menu | head -n 1)
  entry=$(sed -n "s/^[[:space:]]*menuentry .*'\(gnulinux-$kernel-advanced-[A-Za-z0-9-]*\)'.*/\1/p" $menu | head -n 1)
  if [ -z "$entry" ]; then echo "GRUB's menu has no entry of $1" >&2; return 1; fi
  printf '%s\n' "${submenu:+$submenu>}$entry"
}
# menu_anew [TEXT]: which has to be in it
menu_anew() {
  if grub-mkconfig -o $menu.sparkrig >/dev/null 2>&1 && { [ -z "${1-}" ] || grep -qF "$1" $menu.sparkrig; } &&
    sync -f $menu.sparkrig && mv -fT $menu.sparkrig $menu && sync -f $menu; then return 0; fi
  rm -f $menu.sparkrig
  echo "GRUB's menu cannot be made anew${1:+ with $1}" >&2
  return 1
}
keep_default() {
  stays=$(entry_of "$1") || return 1
  mkdir -p "${dropin%/*}"
  cat >$dropin <<EOF || return 1
# while sparkrig update boots another kernel
GRUB_DEFAULT='$stays'
GRUB_CMDLINE_LINUX="\$GRUB_CMDLINE_LINUX panic=30"
EOF
  if menu_anew "set default=\"$stays\""; then return 0; fi
  rm -f $dropin
  return 1
}
free_default() {
  if [ ! -e $dropin ]; then return 0; fi
  : >$dropin # empty until the menu is there, so that a second try does it again
  menu_anew && rm -f $dropin && sync -f "${dropin%/*}"
}
# one_shot: whether GRUB itself can forget what it is to boot once; it writes on these alone
one_shot() {
  if [ -z "$(grub-probe --target=abstraction /boot/grub 2>/dev/null)" ]; then
    case $(grub-probe --target=fs /boot/grub 2>/dev/null) in ext* | xfs | fat) return 0 ;; esac
  fi
  echo 'GRUB cannot forget on /boot/grub what it boots once, so a kernel that hangs would be booted again' >&2
  return 1
}
