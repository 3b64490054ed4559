/* Data in both directions, from the wire to the disk and back. */
#include "iscsi_rig.h"

static struct ini ini;
static uint8_t pattern[262144];

static int
up(void **state)
{
	rig_init(1);
	rig_start(1);
	ini_session(&ini, 0, 1);
	return 0;
}

static int
down(void **state)
{
	ini_close(&ini);
	rig_stop();
	return 0;
}

static uint8_t *
disk(void)
{
	return fakes.fake[0].mem;
}

static void
cuts_cover_a_transfer_in_pieces_that_fit(void **state)
{
	static const uint32_t dsls[] = { 512, 1000, 8192, 65536, 262144 };
	static const uint32_t bursts[] = { 512, 1000, 65536, 262144, 16777215 };
	static const uint32_t lens[] = { 1, 511, 512, 513, 8192, 65536, 100000 };

	for (unsigned d = 0; d < ARRAY_LEN(dsls); d++)
		for (unsigned b = 0; b < ARRAY_LEN(bursts); b++)
			for (unsigned l = 0; l < ARRAY_LEN(lens); l++) {
				uint32_t at = 0, in_burst = 0, n;
				bool final = false;

				while (at < lens[l]) {
					n = data_in_cut(at, lens[l], dsls[d], bursts[b], &final);
					assert_true(n && n <= dsls[d] && n <= lens[l] - at);
					in_burst += n;
					assert_true(in_burst <= bursts[b]);
					at += n;
					assert_int_equal(final, in_burst == bursts[b] || at == lens[l]);
					if (final)
						in_burst = 0;
				}
				assert_true(final);
			}
}

/* Reads back what is expected, all of it, with the status in the last PDU. */
static void
read_back(struct ini *i, uint32_t lba, uint16_t blocks, const uint8_t *want)
{
	struct iscsi_scsi_cmd h = req_rw(i, SCSI_CMD_F | SCSI_CMD_R, lba, blocks);
	uint32_t at = 0, sn = 0;

	ini_send(i, &h, NULL, 0);
	do {
		ini_expect(i, &rig_in, ISCSI_DATA_IN);
		assert_int_equal(get32(rig_in.data_in.itt), get32(h.itt));
		assert_int_equal(get32(rig_in.data_in.data_sn), sn++);
		assert_int_equal(get32(rig_in.data_in.offset), at);
		assert_memory_equal(rig_in.data, want + at, rig_in.len);
		at += rig_in.len;
	} while (!(rig_in.data_in.flags & DATA_IN_S));
	assert_true(rig_in.data_in.flags & DATA_IN_F);
	assert_int_equal(rig_in.data_in.status, SCSI_GOOD);
	assert_int_equal(at, blocks * 512u);
}

/* Answers R2Ts in PDUs of at most `part` bytes until the response is here. */
static void
serve_r2ts(struct ini *i, be32 itt, const uint8_t *data, uint32_t part)
{
	for (;;) {
		uint32_t at, end, sn = 0, n;
		struct iscsi_r2t r2t;

		assert_true(ini_recv(i, &rig_in));
		if (rig_in.bhs.opcode == ISCSI_SCSI_RSP)
			break;
		assert_int_equal(rig_in.bhs.opcode, ISCSI_R2T);
		r2t = rig_in.r2t;
		at = get32(r2t.offset);
		end = at + get32(r2t.length);
		for (; at < end; at += n) {
			struct iscsi_data_out h;

			n = MIN(part, end - at);
			h = req_data(&r2t, sn++, at, at + n == end);
			ini_send(i, &h, data + at, n);
		}
	}
	assert_int_equal(get32(rig_in.rsp.itt), get32(itt));
	assert_int_equal(rig_in.rsp.status, SCSI_GOOD);
	assert_int_equal(rig_in.rsp.flags, ISCSI_F);
}

static void
write_all_ways(struct ini *i)
{
	static const struct { uint16_t blocks; uint32_t immediate, first; uint32_t part; } rows[] = {
		{ 8, 4096, 0, 0 }, { 8, 0, 0, 4096 }, { 8, 512, 0, 1000 }, { 8, 1000, 0, 700 },
		{ 8, 0, 4096, 512 }, { 8, 1024, 3072, 1024 }, { 32, 16384, 0, 0 },
		{ 33, 16384, 0, 512 }, { 100, 4096, 12288, 4096 }, { 300, 0, 16384, 65536 },
		{ 512, 16384, 0, 65536 }, { 512, 8192, 8192, 10000 }, { 1, 1, 511, 1 },
	};

	for (unsigned k = 0; k < ARRAY_LEN(rows); k++) {
		uint32_t first = rows[k].immediate + rows[k].first, at = rows[k].immediate, sn = 0, n;
		uint8_t more = rows[k].first ? 0 : SCSI_CMD_F;
		struct iscsi_scsi_cmd h = req_rw(i, more | SCSI_CMD_W, 3 * k, rows[k].blocks);

		rig_pattern(pattern, rows[k].blocks * 512u, k + 1);
		ini_send(i, &h, pattern, rows[k].immediate);
		for (; at < first; at += n) {
			struct iscsi_data_out d;

			n = MIN(rows[k].part, first - at);
			d = req_first(&h, sn++, at, at + n == first);
			ini_send(i, &d, pattern + at, n);
		}
		serve_r2ts(i, h.itt, pattern, rows[k].part);
		assert_memory_equal(disk() + 3 * k * 512, pattern, rows[k].blocks * 512u);
		read_back(i, 3 * k, rows[k].blocks, pattern);
	}
}

static void
writes_in_all_ways_that_were_agreed(void **state)
{
	write_all_ways(&ini);
}

static void
the_same_with_digests(void **state)
{
	struct ini i;

	ini_open(&i, 0);
	INI_LOGIN(&i, 2, "HeaderDigest=CRC32C\0DataDigest=CRC32C\0InitialR2T=No\0ImmediateData=Yes\0"
	    "FirstBurstLength=16384\0MaxBurstLength=65536\0MaxOutstandingR2T=2");
	i.header_digest = i.data_digest = true;
	ini_quiet_units(&i, 1);
	write_all_ways(&i);
	ini_close(&i);
}

static void
small_segments_and_odd_ones(void **state)
{
	struct ini i;

	ini_open(&i, 0);
	INI_LOGIN(&i, 3, "MaxBurstLength=5000\0HeaderDigest=None");
	ini_quiet_units(&i, 1);
	rig_pattern(disk(), 65536, 9);
	memcpy(pattern, disk(), 65536);
	read_back(&i, 0, 128, pattern);
	ini_close(&i);
}

static void
a_bad_data_digest_costs_the_command_not_the_session(void **state)
{
	uint8_t bytes[8192], before[4096];
	struct iscsi_scsi_cmd h;
	struct iscsi_data_out d;
	struct iscsi_r2t r2t;
	struct ini i;
	size_t n;

	ini_open(&i, 0);
	INI_LOGIN(&i, 4, "DataDigest=CRC32C\0ImmediateData=Yes");
	i.data_digest = true;
	ini_quiet_units(&i, 1);
	rig_pattern(pattern, 4096, 5);
	memcpy(before, disk(), 4096);
	/* Immediate data, in one piece and cut. */
	for (unsigned cut = 0; cut <= 1; cut++) {
		h = req_rw(&i, SCSI_CMD_F | SCSI_CMD_W, 0, 8);
		n = ini_pack(&i, &h, pattern, 4096, bytes);
		bytes[100] ^= 1;
		ini_write(&i, bytes, cut ? 1000 : n);
		if (cut) {
			fake_settle();
			usleep(20000);
			ini_write(&i, bytes + 1000, n - 1000);
		}
		ini_expect(&i, &rig_in, ISCSI_REJECT);
		assert_int_equal(rig_in.reject.reason, ISCSI_REJECT_DATA_DIGEST);
		assert_int_equal(rig_in.len, ISCSI_BHS);
		assert_memory_equal(rig_in.data, &h, ISCSI_BHS);
		ini_aborted(&i, &rig_in, h.itt, GATHER_CRC);
	}
	/* Solicited data; the command ends with its burst. */
	h = req_rw(&i, SCSI_CMD_F | SCSI_CMD_W, 0, 8);
	ini_send(&i, &h, NULL, 0);
	ini_expect(&i, &rig_in, ISCSI_R2T);
	r2t = rig_in.r2t;
	d = req_data(&r2t, 0, 0, false);
	n = ini_pack(&i, &d, pattern, 2048, bytes);
	bytes[n - 1] ^= 1;
	ini_write(&i, bytes, n);
	ini_expect(&i, &rig_in, ISCSI_REJECT);
	ini_quiet(&i);
	d = req_data(&r2t, 1, 2048, true);
	ini_send(&i, &d, pattern, 2048);
	ini_aborted(&i, &rig_in, h.itt, GATHER_CRC);
	assert_memory_equal(disk(), before, 4096);
	h = req_tur(&i);
	ini_send(&i, &h, NULL, 0);
	ini_response(&i, &rig_in, h.itt, SCSI_GOOD);
	ini_close(&i);
}

static void
a_bad_header_digest_ends_the_connection(void **state)
{
	uint8_t bytes[ISCSI_BHS + 4];
	struct iscsi_scsi_cmd h;
	struct ini i;

	ini_open(&i, 0);
	INI_LOGIN(&i, 5, "HeaderDigest=CRC32C");
	i.header_digest = true;
	h = req_tur(&i);
	ini_pack(&i, &h, NULL, 0, bytes);
	bytes[33] ^= 1;
	ini_write(&i, bytes, sizeof(bytes));
	ini_eof(&i);
}

/* Each of these leaves the disk as it was and the session alive. */
static void
data_outs_that_are_wrong(void **state)
{
	static const struct { uint32_t sn, offset, len; bool final; int ttt; } rows[] = {
		{ 1, 0, 4096, true, 0 }, { 0, 512, 3584, true, 0 }, { 0, 0, 4097, true, 0 },
		{ 0, 0, 8192, true, 0 }, { 0, 0xfffffe00, 4096, true, 0 }, { 0, 0, 2048, true, 0 },
		{ 0, 0, 4096, true, 1 }, { 0, 0, 4096, true, -1 },
	};
	uint8_t before[8192];

	rig_pattern(pattern, sizeof(pattern), 77);
	memcpy(before, disk(), sizeof(before));
	for (unsigned k = 0; k < ARRAY_LEN(rows); k++) {
		struct iscsi_scsi_cmd h = req_rw(&ini, SCSI_CMD_F | SCSI_CMD_W, 0, 8);
		struct iscsi_data_out d;

		ini_send(&ini, &h, NULL, 0);
		ini_expect(&ini, &rig_in, ISCSI_R2T);
		d = req_data(&rig_in.r2t, rows[k].sn, rows[k].offset, rows[k].final);
		if (rows[k].ttt)
			d.ttt = rows[k].ttt < 0 ? put32(ISCSI_NO_TAG) : put32(get32(d.ttt) + 1);
		ini_send(&ini, &d, pattern, rows[k].len);
		if (rows[k].ttt)
			ini_expect(&ini, &rig_in, ISCSI_REJECT);
		ini_aborted(&ini, &rig_in, h.itt, GATHER_AMOUNT);
		/* Late data is for nobody. */
		ini_send(&ini, &d, pattern, 512);
		ini_ping(&ini, &rig_in);
		assert_memory_equal(disk(), before, sizeof(before));
	}
}

static void
a_data_out_with_another_lun_is_refused(void **state)
{
	struct iscsi_scsi_cmd h = req_rw(&ini, SCSI_CMD_F | SCSI_CMD_W, 0, 8);
	struct iscsi_data_out d;

	ini_send(&ini, &h, NULL, 0);
	ini_expect(&ini, &rig_in, ISCSI_R2T);
	d = req_data(&rig_in.r2t, 0, 0, true);
	d.lun[1] ^= 1;
	ini_send(&ini, &d, pattern, 4096);
	ini_expect(&ini, &rig_in, ISCSI_REJECT);
	assert_int_equal(rig_in.reject.reason, ISCSI_REJECT_FIELD);
	ini_aborted(&ini, &rig_in, h.itt, GATHER_AMOUNT);
}

static void
too_much_and_unexpected_data_with_the_command(void **state)
{
	struct iscsi_scsi_cmd h = req_rw(&ini, SCSI_CMD_F | SCSI_CMD_W, 0, 64);
	struct ini i;

	ini_send(&ini, &h, pattern, 16385);
	ini_aborted(&ini, &rig_in, h.itt, GATHER_AMOUNT);
	h = req_rw(&ini, SCSI_CMD_F | SCSI_CMD_W, 0, 1);
	ini_send(&ini, &h, pattern, 600);
	ini_aborted(&ini, &rig_in, h.itt, GATHER_AMOUNT);
	h = req_rw(&ini, SCSI_CMD_F | SCSI_CMD_R, 0, 1);
	ini_send(&ini, &h, pattern, 512);
	ini_expect(&ini, &rig_in, ISCSI_REJECT);
	assert_int_equal(rig_in.reject.reason, ISCSI_REJECT_PROTOCOL);
	/* Nothing of the kind was agreed here. */
	ini_open(&i, 0);
	INI_LOGIN(&i, 6, "ImmediateData=No\0InitialR2T=Yes");
	ini_quiet_units(&i, 1);
	h = req_rw(&i, SCSI_CMD_F | SCSI_CMD_W, 0, 1);
	ini_send(&i, &h, pattern, 512);
	ini_aborted(&i, &rig_in, h.itt, GATHER_UNEXPECTED);
	h = req_rw(&i, SCSI_CMD_W, 0, 1);
	ini_send(&i, &h, NULL, 0);
	ini_quiet(&i);
	{
		struct iscsi_data_out d = req_first(&h, 0, 0, true);

		ini_send(&i, &d, pattern, 512);
	}
	ini_aborted(&i, &rig_in, h.itt, GATHER_UNEXPECTED);
	ini_close(&i);
}

/* The unit refuses at once; what is still on its way is swallowed. */
static void
data_of_a_refused_command_is_swallowed(void **state)
{
	struct iscsi_scsi_cmd h = req_rw(&ini, SCSI_CMD_W, 0xfffffff0, 32);
	struct iscsi_data_out d = req_first(&h, 0, 4096, true);

	ini_send(&ini, &h, pattern, 4096);
	ini_send(&ini, &d, pattern, 8192);
	ini_response(&ini, &rig_in, h.itt, SCSI_CHECK_CONDITION);
	ini_ping(&ini, &rig_in);
	ini_quiet(&ini);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cuts_cover_a_transfer_in_pieces_that_fit),
		cmocka_unit_test_setup_teardown(writes_in_all_ways_that_were_agreed, up, down),
		cmocka_unit_test_setup_teardown(the_same_with_digests, up, down),
		cmocka_unit_test_setup_teardown(small_segments_and_odd_ones, up, down),
		cmocka_unit_test_setup_teardown(a_bad_data_digest_costs_the_command_not_the_session, up, down),
		cmocka_unit_test_setup_teardown(a_bad_header_digest_ends_the_connection, up, down),
		cmocka_unit_test_setup_teardown(data_outs_that_are_wrong, up, down),
		cmocka_unit_test_setup_teardown(a_data_out_with_another_lun_is_refused, up, down),
		cmocka_unit_test_setup_teardown(too_much_and_unexpected_data_with_the_command, up, down),
		cmocka_unit_test_setup_teardown(data_of_a_refused_command_is_swallowed, up, down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
