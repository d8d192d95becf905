#!/usr/bin/env bash
# Writes COUNT distinct pairs such as "a c d b<TAB>b d c a" to standard output: LEAST to MOST letters, and the same letters in reverse order.
# A small encoder-decoder learns this task. The same arguments give the same bytes with any awk.
set -euo pipefail

refuse() {
  printf 'reversal-pairs: %s\nusage: scripts/reversal-pairs.sh COUNT SEED [LEAST MOST]   > pairs.tsv\n' "$1" >&2
  printf '  COUNT 1 to 10000000   SEED 0 to 999999999   LEAST, MOST 1 to 1000, by default 5 and 20\n' >&2
  exit 2
}

# Accepts whole numbers without leading zeros, which bash would read as octal.
in_range() { [[ $1 =~ ^(0|[1-9][0-9]{0,8})$ ]] && (($1 >= $2 && $1 <= $3)); }

[ $# -eq 2 ] || [ $# -eq 4 ] || refuse "$# arguments, expected 2 or 4"
count=$1 seed=$2 least=${3:-5} most=${4:-20}
in_range "$count" 1 10000000 || refuse "COUNT is '$count'"
in_range "$seed" 0 999999999 || refuse "SEED is '$seed'"
in_range "$least" 1 1000 || refuse "LEAST is '$least'"
in_range "$most" "$least" 1000 || refuse "MOST is '$most', expected LEAST ($least) or more"

# More than half of all sequences are refused, since most draws would then be repetitions.
power=1 possible=0  # the number of sequences of `length` letters, and of LEAST to `length` letters
for ((length = 1; length <= most && power < 2 * count; ++length)); do
  power=$((26 * power))
  possible=$((possible + (length < least ? 0 : power)))
done
((power >= 2 * count || possible >= 2 * count)) || refuse "there are only $possible sequences of $least to $most letters, expected at least twice COUNT"

# x -> 48271 x mod 2^31 - 1 (Park and Miller): every product stays below 2^53, so doubles compute it exactly.
exec awk -v count="$count" -v seed="$seed" -v least="$least" -v most="$most" '
  function draw(n) {
    state = state * 48271 % 2147483647
    return state % n
  }
  BEGIN {
    state = seed + 1
    for (i = 0; i < 10; ++i) draw(1)  # adjacent seeds give similar first numbers
    while (written < count) {
      size = least + draw(most - least + 1)
      source = target = ""
      for (i = 0; i < size; ++i) {
        letter = substr("abcdefghijklmnopqrstuvwxyz", draw(26) + 1, 1)
        source = i ? source " " letter : letter
        target = i ? letter " " target : letter
      }
      if (!(source in seen)) {
        seen[source]
        ++written
        print source "\t" target
      }
    }
  }'
