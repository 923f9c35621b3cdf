#!/bin/sh
# path_word PATH: a path as one word of a row, read by sparkrig.parsing.rows.path. A blank or a newline in it would
# make other words and rows of it, so such a path goes in base64; so do all bytes that are no plain letters.

path_word() {
  case $1 in *[!A-Za-z0-9/._@:+~-]*) printf %s "$1" | base64 -w0 ;; *) printf %s "$1" ;; esac
}
