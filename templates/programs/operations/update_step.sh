#!/bin/sh
# $1 a step that is done

. ./update_note.sh

note "$1"
