# One LUN over both transports: what is written over one is read over the other, and so are reservations.
. "$(dirname "$0")/srp_lib.sh"

srp_conf "      - { name: ram, driver: ram, size: 32M }" '    luns: [ { lun: 0, disk: ram } ]'
ok "soft-RoCE" rdma_up
ok "the daemon starts" daemon_start || exit 0
initiator_start
ok "ib_srp" srp_load
ok "login over iSCSI" eval 'discover && login'
ok "login over SRP" srp_login
tcp=$(disk 0) rdma=$(srp_disk 0)
ok "both are the same disk" test "$(cat /sys/block/"${tcp#/dev/}"/device/wwid)" = \
	"$(cat /sys/block/"${rdma#/dev/}"/device/wwid)"
head -c 4M /dev/urandom > "$work/random"
ok "written over iSCSI" dd if="$work/random" of="$tcp" bs=64k oflag=direct
ok "read over SRP" eval 'dd if=$rdma of=$work/back bs=64k count=64 iflag=direct && cmp $work/random $work/back'
head -c 4M /dev/urandom > "$work/random"
ok "written over SRP" dd if="$work/random" of="$rdma" bs=64k oflag=direct
ok "read over iSCSI" eval 'dd if=$tcp of=$work/back bs=64k count=64 iflag=direct && cmp $work/random $work/back'

# pr ARGUMENT... DEVICE
pr() {
	sg_persist --no-inquiry "$@"
}

ok "a key is registered over iSCSI" pr --out --register --param-sark=0xabc "$tcp"
ok "and reserves" pr --out --reserve --param-rk=0xabc --prout-type=1 "$tcp"
ok "SRP sees the key" eval 'pr --in --read-keys $rdma | tee $work/keys && grep -q 0xabc $work/keys'
ok "SRP sees the reservation" eval 'pr --in --read-reservation $rdma | tee $work/holder && grep -q 0xabc $work/holder'
ok "a write over SRP is refused" refused dd if="$work/random" of="$rdma" bs=64k count=1 oflag=direct
ok "a read over SRP is not" dd if="$rdma" of=/dev/null bs=64k count=1 iflag=direct
ok "a write over iSCSI is not" dd if="$work/random" of="$tcp" bs=64k count=1 oflag=direct
ok "SRP registers, too" pr --out --register --param-sark=0xdef "$rdma"
ok "and takes the reservation away" pr --out --preempt --param-rk=0xdef --param-sark=0xabc --prout-type=1 "$rdma"
ok "now a write over iSCSI is refused" refused dd if="$work/random" of="$tcp" bs=64k count=1 oflag=direct
ok "and one over SRP is not" dd if="$work/random" of="$rdma" bs=64k count=1 oflag=direct
ok "all keys are cleared" pr --out --clear --param-rk=0xdef "$rdma"
ok "logout over SRP" srp_logout
ok "iSCSI goes on" dd if="$tcp" of=/dev/null bs=64k count=16 iflag=direct
ok "logout over iSCSI" logout
