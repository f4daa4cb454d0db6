#!/bin/sh
# Installs an archive that assets/dist/package made. Nothing is changed before the archive is proved to be the one meant,
# to be for this machine, and to run here.
set -eu

usage='usage: install.sh ARCHIVE SHA256 [--to DIR]
  ARCHIVE  hermes-….tar.gz: a path, or an http or https address
  SHA256   the 64 figures beside it, or a .sha256 file
  --to DIR where the program goes (~/.local/bin)'

refuse() {
    printf 'install.sh: %s\nNothing was installed.\n' "$1" >&2
    exit 1
}

archive='' sum='' to=''
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help) printf '%s\n' "$usage" && exit 0 ;;
    --to) [ $# -gt 1 ] || refuse '--to needs a folder'; to=$2 && shift ;;
    --to=*) to=${1#--to=} ;;
    -*) refuse "$1 is no option.
$usage" ;;
    *) if [ -z "$archive" ]; then archive=$1; elif [ -z "$sum" ]; then sum=$1; else refuse "one argument too many: $1.
$usage"; fi ;;
    esac
    shift
done
[ -n "$archive" ] || refuse "no archive was named.
$usage"
[ -n "$sum" ] || refuse "no SHA-256 was given, and without it nobody knows what the archive is.
$usage"
[ -n "$to" ] || to=${HOME:?install.sh: HOME is not set; say where with --to DIR}/.local/bin

if [ -f "$sum" ]; then sum=$(cut -d ' ' -f 1 <"$sum"); fi
sum=$(printf '%s' "$sum" | tr 'A-F' 'a-f')
case $sum in *[!0-9a-f]*) refuse "$sum is not a SHA-256 and no file" ;; esac
[ ${#sum} -eq 64 ] || refuse "a SHA-256 has 64 figures, this has ${#sum}: $sum"

work=$(mktemp -d)
new=''
trap 'rm -rf "$work"; [ -z "$new" ] || rm -f "$new"' EXIT
trap 'exit 1' HUP INT TERM

case $archive in
http://* | https://*)
    if command -v curl >/dev/null 2>&1; then
        curl --fail --silent --show-error --location --output "$work/archive" "$archive" || refuse "$archive could not be fetched"
    elif command -v wget >/dev/null 2>&1; then
        wget -q -O "$work/archive" "$archive" || refuse "$archive could not be fetched"
    else
        refuse 'neither curl nor wget is installed; fetch the archive by other means and name its path'
    fi
    ;;
*)
    [ -f "$archive" ] || refuse "$archive is not a file"
    cp "$archive" "$work/archive"
    ;;
esac

if command -v sha256sum >/dev/null 2>&1; then found=$(sha256sum "$work/archive"); else found=$(shasum -a 256 "$work/archive"); fi
found=${found%% *}
[ "$found" = "$sum" ] || refuse "$archive is not the archive that was meant, or it is damaged.
  its SHA-256: $found
  expected:    $sum"

mkdir "$work/all"
tar -xzf "$work/archive" -C "$work/all" || refuse "$archive could not be unpacked"
for folder in "$work"/all/*; do :; done
[ -f "$folder/PLATFORM" ] && [ -f "$folder/hermes" ] || refuse "$archive is not an archive of Hermes"

needs() { sed -n "s/^$1 //p" "$folder/PLATFORM"; }
system=$(uname -s) machine=$(uname -m) glibc=$(needs glibc)
case $machine in amd64) machine=x86_64 ;; arm64) machine=aarch64 ;; esac
[ "$system $machine" = "$(needs system) $(needs machine)" ] ||
    refuse "this archive is for $(needs system) on $(needs machine), and this machine is $system on $machine"
if [ "$glibc" != none ]; then
    here=$(getconf GNU_LIBC_VERSION 2>/dev/null | cut -d ' ' -f 2) || here=''
    [ -n "$here" ] || refuse "this archive needs glibc $glibc, and this machine has another C library; take the static archive"
    [ "$(printf '%s\n%s\n' "$glibc" "$here" | sort -V | head -n 1)" = "$glibc" ] ||
        refuse "this archive needs glibc $glibc or later, and this machine has $here; take the static archive"
fi
version=$("$folder/hermes" --version) || refuse 'the program of this archive does not run here'

mkdir -p "$to" || refuse "$to could not be made"
before=''
if [ -e "$to/hermes" ]; then before=$("$to/hermes" --version 2>/dev/null) || before='a program that does not run'; fi
# A rename: whoever runs the program that was there keeps it, and there is no moment without one.
new=$(mktemp "$to/.hermes.XXXXXX") || refuse "$to cannot be written to"
cp "$folder/hermes" "$new" || refuse "$to has no room for the program"
chmod 755 "$new"
mv -f "$new" "$to/hermes" || refuse "$to/hermes cannot be replaced"
new=''

printf 'Checked the SHA-256 of %s.\n' "$archive"
[ -z "$before" ] || printf 'Replaced %s.\n' "$before"
printf 'Installed %s in %s/hermes.\n' "$version" "$to"
case :$PATH: in
*:"$to":*) ;;
*) printf '%s is not in your PATH. Add it, for example: export PATH="%s:$PATH"\n' "$to" "$to" ;;
esac
