#!/bin/sh
# sum_of FOLDER: sets size to the bytes that it takes on the disk, kept to those of them that another name outside
# of it keeps, and read to when a file of weights in it was read last, by the disk's notes. Each is `-` where there
# are more than $most entries, or they take longer than $each seconds. `hf cache` reads the same time, of the blobs.

# shellcheck disable=SC2034 # they are for the caller
sum_of() {
  found=$({
    timeout -k 2 "${each:?}" find "$1" -xdev \
      -type f \( -name '*.safetensors' -o -name '*.gguf' -o -name '*.bin' -o -name '*.pt' -o -name '*.pth' -o \
      -path '*/blobs/*' \) -printf 'w %n %i %b %A@\n' -o -type f -printf 'f %n %i %b 0\n' -o -printf 'd 1 %i %b 0\n'
    [ $? -lt 124 ] || echo cut
  } 2>/dev/null | head -n $((${most:?} + 1)) | awk -v most="$most" '
    NR > most || $1 == "cut" { cut = 1; exit }
    $1 == "w" && $5 > read { read = $5 }
    !($3 in seen) { size += $4 * 512; names[$3] = $2; of[$3] = $4 * 512 }
    { seen[$3]++ }
    END {
      for (each in seen) if (names[each] > seen[each]) kept += of[each]
      if (cut) print "- - -"; else printf "%.0f %.0f %.0f\n", size, kept, read
    }')
  size=${found%% *} read=${found##* } kept=${found#* } kept=${kept% *}
}
