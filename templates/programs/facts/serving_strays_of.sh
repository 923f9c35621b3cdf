#!/bin/sh
# strays_of FOLDER: the first link in it that leads nowhere in a container, which has that folder and no other


strays_of() {
  real=$(readlink -f "$1")
  find -H "$1" -type l | while read -r link; do
    case "$(readlink "$link") $(readlink -f "$link")" in
    /*) ;;
    *" $real/"*) continue ;;
    esac
    printf '%s\n' "${link#"$1"}"
    break
  done
}
